"""Configs of all tasks: chosen by their task, read, planned, trained by one verb."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from jaxeval import experiment, train
from jaxeval.contracts import Member
from jaxeval.errors import ConfigError
from jaxeval.experiment import base, saved, sweeping
from jaxeval.sweep import __main__ as sweep
from jaxeval.sweep import cohorts

CONFIGS = Path(__file__).parents[1] / "configs"
SHIPPED = [p for p in sorted(CONFIGS.glob("*/*.toml")) if not p.stem.startswith("space_")]


def _text(folder: Path) -> str:
    for part, times in (("train", 80), ("valid", 6), ("test", 5)):
        (folder / f"{part}.txt").write_text("the cat sat on the mat .\na dog ran .\n" * times)
    return str(folder)


SMALL = ["task=language", "data.window=8", "data.turn=15", "training.batch_size=4"]
MODEL = ["model.hidden=16", "model.dropout.input=0.1", "model.dropout.state=0.0"]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_every_shipped_config_is_valid(path: Path) -> None:
    """Dies if a shipped config has a key that is no more, or is of another task."""
    config = experiment.read(str(path))
    assert config.name == path.stem


@pytest.mark.parametrize(
    "cell", [[], ["model.kind=rhn", "model.gates=tied", "model.depth=2"], ["model.kind=nas"]]
)
def test_a_language_model_is_trained_by_the_verb(
    tmp_path: Path, capsys: pytest.CaptureFixture, cell: list[str]
) -> None:
    """Dies if a task needs a line in the trainer, or perplexity is ranked the wrong way round."""
    words = [*SMALL, *MODEL, *cell, "training.epochs=6", "training.patience=0"]
    given = [*words, "--data", _text(tmp_path), "--seeds", "2", "--out", str(tmp_path / "r")]
    assert train.main([*given, "--json", "-"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert tree["metric"] == "perplexity" and not tree["higher_is_better"]
    assert tree["test"]["n"] == 2 and 1 < tree["best_dev"] < 9
    assert tree["best_dev"] == tree["dev"]["min"]


def test_a_plan_names_the_solved_sizes(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if the counted parameters are not those of the initialised model."""
    words = [*SMALL, "model.budget=5000", "model.ratio=0.5", "--data", _text(tmp_path)]
    assert train.main([*words, "--dry-run", "--json", "-"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["parameters"] == plan["counted_parameters"] <= 5000
    assert plan["embedding"] == round(plan["hidden"] / 2)
    assert plan["tokens"] == {"train": 1040, "dev": 78, "test": 65}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["task=speech"], "task: expected one of tagging, language"),
        (["model.kind=rhn", "model.gates=capped"], "rhn: expected gates untied or tied"),
        (["model.kind=nas", "model.gates=tied"], "gates of its own"),
        (["model.hidden=8", "model.budget=9000"], "expected without budget"),
        (["model.depth=3"], "lstm: depth is of rhn"),
        (["model.kind=nas", "model.clip=1.0"], "clip and layer_norm are of lstm"),
        (["model.embedding=8"], "expected hidden too"),
        (["model.dropout.imput=0.1"], "did you mean model.dropout.input"),
        (["training.plateau.factor=2.0"], "factor"),
    ],
)
def test_impossible_configs_are_explained(changes: list[str], message: str) -> None:
    """Dies if a config that cannot work is read."""
    with pytest.raises(ConfigError, match=message):
        experiment.read(None, ["task=language", *changes])


def test_a_sweep_crosses_the_end_of_the_projection(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if a ratio above 1, or a single layer, stops a sweep that draws rates for them."""
    space = tmp_path / "space.toml"
    space.write_text(
        '[ratio]\nkey = "model.ratio"\nuniform = [0.5, 1.5]\n'
        '[layers]\nkey = "model.layers"\ninteger = [1, 2]\n'
    )
    rates = ["model.dropout.projected=0.2", "model.dropout.inter_layer=0.3", "model.budget=4000"]
    words = [*SMALL, *rates, "--data", _text(tmp_path), "--space", str(space), "--runs", "6"]
    assert sweep.main([*words, "--dry-run", "--json", "-"]) == 0
    drawn = json.loads(capsys.readouterr().out)["runs"]
    assert {run["layers"] for run in drawn} == {1, 2}
    assert min(run["ratio"] for run in drawn) < 1 < max(run["ratio"] for run in drawn)


def test_members_hold_their_schedules_and_differ_from_their_config_in_nothing() -> None:
    """Dies if a plateau or a warm-up is static, or counts as a difference from the config."""
    changes = ["training.optimiser.warmup=500", "training.plateau.floor=0.0001"]
    config = experiment.read(None, ["task=language", *changes])
    who = experiment.members(config, [1], [0])[0]
    schedules = {"plateau_after": 26, "plateau_factor": 0.1, "plateau_floor": 1e-4, "warmup": 500}
    assert schedules.items() <= dict(who.hparams).items()
    assert experiment.hparams_json(config, who) == "{}"
    steady = dict(experiment.members(experiment.read(None), [1], [0])[0].hparams)
    assert not schedules.keys() & steady.keys()


def test_a_plan_names_the_batch_that_is_asked_for_and_the_one_that_is_taken() -> None:
    """Dies if parts are taken for updates, or a bucket's last batch for a whole one."""
    changes = ["training.batch_size=48", "training.micro_batch=32", "data.train_sentences=100"]
    prepared = experiment.prepare(experiment.read(None, [*changes, "data.most_widths=1"]))
    (batch,) = experiment.plan(prepared, experiment.members(prepared.config, [1], [0]))["batches"]
    expected = {"nominal": 48, "at_once": 32, "micro_batches": 2, "updates_an_epoch": 3}
    assert batch == {**expected, "effective": 33.3}


def test_batches_that_carry_state_are_not_cut(tmp_path: Path) -> None:
    """Dies if heads of a text would be read by parts, or a limit beyond the batch is refused."""
    words = [*SMALL, "model.hidden=8", f"data.path={_text(tmp_path)}"]
    with pytest.raises(ConfigError, match=r"training\.micro_batch: this task carries state"):
        experiment.prepare(experiment.read(None, [*words, "training.micro_batch=2"]))
    experiment.prepare(experiment.read(None, [*words, "training.micro_batch=4"]))


def test_a_language_model_needs_a_text() -> None:
    """Dies if the default without a path is a traceback."""
    with pytest.raises(ConfigError, match="data: a language model needs a text"):
        experiment.prepare(experiment.read(None, ["task=language"]))


@pytest.mark.parametrize(("asked", "mode"), [("auto", "map"), ("map", "map"), ("vmap", "vmap")])
def test_members_of_several_sizes_do_not_wait_for_one_another(asked: str, mode: str) -> None:
    """Dies if an accelerator's cohort goes in lock step without having been asked to."""
    config = experiment.read(None, ["task=seq2seq", f"training.lane_mode={asked}"])
    extent = SimpleNamespace(sizes=lambda: {"hidden": 40})
    room = sweeping.Room("{}", extent)
    cohort = cohorts.Cohort((0,), room, 64, 1.0, 1.0, 1.0, 1.0, (1.0,))
    made = sweeping.config_of(cohort, [sweeping.Run({}, config)])
    assert made.training.lane_mode == mode
    assert (made.model.hidden, made.training.batch_size, made.training.micro_batch) == (40, 64, 64)


@pytest.mark.parametrize("data", ["", " "])
def test_an_empty_data_path_is_refused(data: str) -> None:
    """Dies if --data of a shell variable that is not set trains on the generated corpus."""
    with pytest.raises(ConfigError, match=r"--data: got .*a shell variable"):
        train.main(["--data", data, "--dry-run"])


def test_random_splits_of_a_task_without(tmp_path: Path) -> None:
    """Dies if the plan of a text passes though its training would not."""
    with pytest.raises(ConfigError, match="leave --splits out"):
        train.main([*SMALL, *MODEL, "--data", _text(tmp_path), "--splits", "3", "--dry-run"])


def test_random_splits_have_the_vocabulary_of_all(capsys: pytest.CaptureFixture) -> None:
    """Dies if train does not build the corpus for the splits that it is asked for."""
    parameters = []
    for splits in ([], ["--splits", "2"]):
        assert train.main(["--dry-run", "--json", "-", *splits]) == 0
        parameters.append(json.loads(capsys.readouterr().out)["parameters"])
    assert parameters[0] < parameters[1]


def _both_ways(*changes: str) -> tuple[base.Prepared, base.Prepared]:
    """A config prepared for the given split and for random ones."""
    config = experiment.read(None, ["data.train_sentences=30", *changes])
    given, dealt = (experiment.prepare(config, random_splits=r) for r in (False, True))
    return given, dealt


def test_other_parameters_are_another_experiment(tmp_path: Path) -> None:
    """Dies if random splits, whose vocabulary is larger, write over the given split's files."""
    frozen = ["model.words.trained=false", "training.keep_models=true"]
    both = _both_ways(*frozen)
    assert both[0].place != both[1].place
    for prepared, split in zip(both, (0, 1), strict=True):
        who = Member(1, split, ())
        saved.save(tmp_path, prepared, who, {"bias": np.zeros(2)})
        folder = saved.path_of(tmp_path, prepared, who).parent
        with np.load(folder / "tables.npz") as tables:
            np.testing.assert_array_equal(tables["vectors"], prepared.data.table.vectors)
    sizes = [len(prepared.data.table.vectors) for prepared in both]
    assert sizes[0] < sizes[1]


def test_the_vocabulary_of_all_is_one_experiment_on_any_split() -> None:
    """Dies if the given split and random ones are kept apart though nothing differs."""
    given, dealt = _both_ways("data.vocabulary=all")
    assert given.record == dealt.record and given.data.split(1)
    assert dealt.record == _both_ways()[1].record
