"""Configs of all tasks: chosen by their task, read, planned, trained by one verb."""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from jaxeval import studies
from jaxeval.studies import cohorts, costs, padding, prepared
from tests.verbs import train

CONFIGS = Path(__file__).parents[2] / "configs"
SHIPPED = [p for p in sorted(CONFIGS.glob("*/*.toml")) if not p.stem.startswith("space_")]


def _text(folder: Path) -> str:
    for part, times in (("train", 80), ("valid", 6), ("test", 5)):
        (folder / f"{part}.txt").write_text("the cat sat on the mat .\na dog ran .\n" * times)
    return str(folder)


SMALL = ["task=language", "data.window=8", "data.steps_per_epoch=15", "training.batch_size=4"]
MODEL = ["model.hidden=16", "model.dropout.input=0.1", "model.dropout.state=0.0"]


def _cohort(config: Any) -> cohorts.Cohort:
    trials = prepared.seeds_by_splits(config, [1])
    (cohort,) = cohorts.by_program(cohorts.entries(trials, prepared.Loader()))
    return cohort


def test_every_shipped_config_is_valid() -> None:
    """Dies if a shipped config has a key that is no more, or is of another task."""
    assert SHIPPED
    for path in SHIPPED:
        assert studies.read(str(path)).name == path.stem


def test_a_plan_names_the_solved_sizes(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if the counted parameters are not those of the initialised model."""
    words = [*SMALL, "model.budget=5000", "model.ratio=0.5", "--data", _text(tmp_path)]
    assert train([*words, "--dry-run", "--json", "-"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["parameters"] == plan["counted_parameters"] <= 5000
    assert plan["embedding"] == round(plan["hidden"] / 2)
    assert plan["tokens"] == {"train": 1040, "dev": 78, "test": 65}


def test_a_plan_names_the_batch_that_is_asked_for_and_the_one_that_is_taken() -> None:
    """Dies if parts are taken for updates, or a bucket's last batch for a whole one."""
    changes = ["training.batch_size=48", "training.micro_batch=32", "data.train_sentences=100"]
    config = studies.read(None, [*changes, "data.max_widths=1"])
    verb = importlib.import_module("jaxeval.train")  # of the package, it is the function
    (batch,) = verb._described(_cohort(config))["batches"]
    expected = {"nominal": 48, "at_once": 32, "micro_batches": 2, "updates_an_epoch": 3}
    assert batch == {**expected, "effective": 33.3}


@pytest.mark.parametrize(
    ("lane_mode", "mode"), [("auto", "map"), ("map", "map"), ("vmap", "vmap")]
)
def test_members_of_several_sizes_do_not_wait_for_one_another(
    lane_mode: str, mode: str, tmp_path: Path
) -> None:
    """Dies if an accelerator's cohort goes in lock step without having been asked to, or is not
    as large as its largest member."""
    for part, letters in (("train", "abc"), ("dev", "ab"), ("test", "bc")):
        (tmp_path / f"{part}.tsv").write_text(f"{letters}\t{letters[::-1]}\n" * 4)
    changes = ["task=seq2seq", f"training.lane_mode={lane_mode}", f"data.path={tmp_path}"]
    configs = [studies.read(None, [*changes, f"model.hidden={size}"]) for size in (24, 40)]
    loader = prepared.Loader()
    trials = [prepared.seeds_by_splits(config, [1])[0] for config in configs]
    entries = cohorts.entries(trials, loader)
    small, large = (job.shape for job in padding.jobs(entries))
    both = costs.Estimate((0, 1), small.joined(large), 64, 1.0, 1.0, 1.0, 1.0)
    (cohort,) = padding.by_estimates(entries, [both], loader)
    config = cohort.config
    assert config.training.lane_mode == mode
    sizes = config.model.hidden, config.training.batch_size, config.training.micro_batch
    assert sizes == (40, 64, 64)
    assert [dict(member.hparams)["hidden"] for member in cohort.members] == [24, 40]
