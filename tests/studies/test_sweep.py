"""The sweep verb end to end: drawn, recorded, killed, continued, extended, answered."""

import itertools
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxeval import runs
from jaxeval.runs import store
from tests import processes

SPACE = """
[batch_size]
key = "training.batch_size"
integer = [8, 24]
step = 8
[learning_rate]
key = "training.optimiser.hyperparameters.learning_rate"
log_uniform = [1e-3, 3e-2]
[scheduler]
choices = ["none", "plateau", "warmup"]
[warmup]
key = "training.optimiser.warmup"
integer = [8, 64]
when = { scheduler = ["warmup"] }
[plateau_factor]
key = "training.plateau.factor"
uniform = [0.1, 0.9]
when = { scheduler = ["plateau"] }
[embedding]
key = "model.embedding"
integer = [4, 8]
step = 2
[hidden]
key = "model.hidden"
choices = [4, 8]
"""
CONFIG = """
name = "toy"
task = "seq2seq"
[data]
max_widths = 1
[model]
architecture = "attentive_lstm"
dropout = 0.1
[training]
epochs = 3
patience = 0
evaluation_batch_size = 16
checkpoint_every = 1
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A config, a space, and words to be reversed."""
    sweep_folder = tmp_path_factory.mktemp("sweep")
    generator = np.random.default_rng(0)
    (sweep_folder / "data").mkdir()
    for part, count in (("train", 48), ("dev", 12), ("test", 12)):
        words = ["".join(generator.choice(list("abc"), 3)) for _ in range(count)]
        lines = [f"{word}\t{word[::-1]}\n" for word in words]
        (sweep_folder / "data" / f"{part}.tsv").write_text("".join(lines))
    (sweep_folder / "config.toml").write_text(CONFIG)
    (sweep_folder / "space.toml").write_text(SPACE)
    return sweep_folder


@pytest.fixture(scope="module", autouse=True)
def environment(folder: Path) -> Iterator[None]:
    """One compilation cache for all processes, two devices."""
    own = {
        "JAX_COMPILATION_CACHE_DIR": str(folder / "cache"),
        "JAX_NUM_CPU_DEVICES": "2",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in own.items():
            patch.setenv(name, value)
        yield


def _words(out: str, count: int, *more: str) -> list[str]:
    head = ["config.toml", "--space", "space.toml", "--data", "data"]
    return [*head, "--out", out, "--runs", str(count), *more]


def _run(
    folder: Path, out: str, count: int, *more: str, **options: Any
) -> subprocess.CompletedProcess:
    return processes.run("jaxeval.sweep", *_words(out, count, *more), folder=folder, **options)


def _die_when_two_epochs_are_recorded() -> None:
    """Lets this process kill itself (SIGKILL)."""
    original, calls = store.Store.record, itertools.count(1)

    def deadly(*arguments: Any) -> None:
        original(*arguments)
        if next(calls) == 2:
            os.kill(os.getpid(), signal.SIGKILL)

    store.Store.record = deadly  # type: ignore[method-assign]


def _scores(folder: Path) -> dict[tuple, tuple]:
    return {(row.seed, row.hparams): (row.dev, row.test) for row in runs.load(str(folder))}


@pytest.fixture(scope="module")
def whole(folder: Path) -> dict[tuple, tuple]:
    """Scores of four runs that nothing interrupted, in one program."""
    done = _run(folder, "whole", 4, "--most-cohorts", "1")
    assert done.returncode == 0, done.stderr
    assert "4 runs, 1 program" in done.stderr and "1 programs" not in done.stderr
    return _scores(folder / "whole")


def test_draws_are_recorded_and_are_the_members(folder: Path, whole: dict) -> None:
    """Dies if what is trained is not what was drawn."""
    (path,) = (folder / "whole" / "sweeps").glob("*.json")
    plan = json.loads(path.read_text())
    drawn = {(k, json.dumps(v, sort_keys=True)) for k, v in enumerate(plan["runs"], 1)}
    assert drawn == {(s, json.dumps(json.loads(h), sort_keys=True)) for s, h in whole}
    assert sorted(n for cohort in plan["cohorts"] for n in cohort["runs"]) == [1, 2, 3, 4]
    assert len(set(whole.values())) > 1


def test_killed_and_continued(folder: Path, whole: dict) -> None:
    """Dies if kill -9 changes a draw or a score, or trains a finished run again."""
    before = _die_when_two_epochs_are_recorded
    killed = _run(folder, "killed", 4, "--most-cohorts", "1", before=before)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    (path,) = (folder / "killed" / "sweeps").glob("*.json")
    plan = path.read_text()
    done = _run(folder, "killed", 4, "--most-cohorts", "1")
    assert done.returncode == 0, done.stderr
    assert path.read_text() == plan
    assert _scores(folder / "killed") == whole


def test_a_longer_sweep_keeps_the_runs_of_the_shorter(folder: Path, whole: dict) -> None:
    """Dies if more --runs draws others, or trains the first again."""
    shutil.copytree(folder / "whole", folder / "longer")
    done = _run(folder, "longer", 5, "--most-cohorts", "1")
    assert done.returncode == 0, done.stderr
    assert "4 are recorded already" in done.stderr
    after = _scores(folder / "longer")
    assert len(after) == 5
    assert whole.items() <= after.items()
    fewer = _run(folder, "longer", 4)
    assert fewer.returncode == 2
    assert "holds 5 runs; ask for as many" in fewer.stderr


def test_sensitivity_and_report_know_the_sweep(folder: Path, whole: dict) -> None:
    """Dies if the answers need anything but the runs folder."""
    for verb in ("sensitivity", "report"):
        done = processes.run(f"jaxeval.{verb}.__main__", "whole", folder=folder)
        assert done.returncode == 0, done.stderr
        assert "toy" in done.stdout


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ('[size]\nkey = "model.hiden"\ninteger = [4, 8]\n', "did you mean model.hidden?"),
        ('[size]\nkey = "model.hidden"\nuniform = [4, 8]\n', "run 1, drawn as"),
        ("[size]\ninteger = [8, 4]\n", "size"),
        ('[size]\nkey = "data.max_length"\ninteger = [4, 8]\n', "a sweep is of one corpus"),
        (
            '[a]\nchoices = ["x", "y"]\n[size]\nkey = "training.epochs"\ninteger = [4, 8]\n'
            'when = { a = ["x"] }\n',
            "which all others would have",
        ),
    ],
)
def test_what_cannot_be_is_refused_before_training(folder: Path, space: str, message: str) -> None:
    """Dies if a run's mistake is found only when its turn comes."""
    (folder / "wrong.toml").write_text(space)
    done = _run(folder, "refused", 2, "--space", "wrong.toml")
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (folder / "refused").exists()


def test_dry_run_plans_and_touches_nothing(folder: Path) -> None:
    """Dies if a plan trains, or lacks what padding costs."""
    done = _run(folder, "dry", 6, "--dry-run", "--json", "-")
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    assert len(plan["runs"]) == 6
    assert {"runs", "size", "micro_batch", "wasted"} <= set(plan["cohorts"][0])
    assert 0 <= plan["wasted"] < 1
    assert not (folder / "dry").exists()


def test_a_plan_tells_what_is_odd_about_the_data(folder: Path) -> None:
    """Dies if dev words that stand in train too are seen only once training has begun."""
    done = _run(folder, "planned", 2, "--dry-run", "--json", "-")
    warnings = json.loads(done.stdout)["warnings"]
    assert warnings and [f"warning: {line}" for line in warnings] == [
        line for line in done.stderr.splitlines() if line.startswith("warning: ")
    ]
