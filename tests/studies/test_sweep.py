"""The sweep verb end to end: drawn, recorded, ended, continued, extended, answered."""

import contextlib
import io
import itertools
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jaxeval import runs, tasks
from jaxeval import space as spaces
from jaxeval.errors import DataError, JaxevalError
from jaxeval.runs import store
from jaxeval.studies import padding, running
from jaxeval.studies.cohorts import Cohort
from tests.golden import commands
from tests.studies import toy_sizes
from tests.verbs import sweep

# that of tests/golden, but for the sizes of the model
_WIDTH = '[width]\nkey = "model.width"\ninteger = [4, 8]\nstep = 2\n'
SPACE = commands.SPACE.partition("[dropout]")[0] + _WIDTH
CONFIG = """
task = "sizes"
[training]
epochs = 3
checkpoint_every = 1
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A config and a space; tests/golden sweeps a model that is no toy."""
    sweep_folder = tmp_path_factory.mktemp("sweep")
    (sweep_folder / "config.toml").write_text(CONFIG)
    (sweep_folder / "space.toml").write_text(SPACE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "KINDS", toy_sizes.KINDS)
        yield sweep_folder


def _words(folder: Path, out: str, count: int, *more: str) -> list[str]:
    head = [str(folder / "config.toml"), "--space", str(folder / "space.toml")]
    return [*head, "--out", str(folder / out), "--trials", str(count), *more]


def _sweep(folder: Path, out: str, count: int, *more: str) -> str:
    """What a sweep of this process says on stderr."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        assert sweep(_words(folder, out, count, *more)) == 0
    return said.getvalue()


def _plan(folder: Path, out: str) -> dict[str, Any]:
    (path,) = (folder / out / "sweeps").glob("*.json")
    plan: dict[str, Any] = json.loads(path.read_text())
    return plan


def _scores(folder: Path) -> dict[tuple, tuple]:
    return {(row.seed, row.hparams): (row.dev, row.test) for row in runs.load(str(folder))}


@pytest.fixture(scope="module")
def whole(folder: Path) -> dict[tuple, tuple]:
    """Scores of four runs that nothing interrupted, in one program."""
    said = _sweep(folder, "whole", 4, "--programs", "1")
    assert "4 runs, 1 program" in said and "1 programs" not in said
    return _scores(folder / "whole")


class _Death(BaseException):
    """Of the process; `tests/test_train.py` kills a real one."""


def test_ended_and_continued(folder: Path, whole: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a death changes a draw or a score, or trains a finished run again."""
    record, calls = store.Store.record, itertools.count(1)

    def deadly(*arguments: Any) -> None:
        record(*arguments)
        if next(calls) == 2:
            raise _Death

    with monkeypatch.context() as patch, pytest.raises(_Death):
        patch.setattr(store.Store, "record", deadly)
        _sweep(folder, "killed", 4, "--programs", "1")
    with pytest.raises(DataError, match="no member has ended"):
        runs.load(folder / "killed")
    plan = _plan(folder, "killed")
    _sweep(folder, "killed", 4, "--programs", "1")
    assert _plan(folder, "killed") == plan
    assert _scores(folder / "killed") == whole and len(set(whole.values())) > 1
    drawn = {(k, json.dumps(v, sort_keys=True)) for k, v in enumerate(plan["runs"], 1)}
    assert drawn == {(s, json.dumps(json.loads(h), sort_keys=True)) for s, h in whole}


def test_a_longer_sweep_keeps_the_runs_of_the_shorter(
    folder: Path, whole: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if more --trials draws others, or trains the first again."""
    shutil.copytree(folder / "whole", folder / "longer")
    trained: list[int] = []

    def noted(cohort: Cohort, waiting: Any, *others: Any) -> Iterator[Any]:
        trained.extend(member.seed for member in waiting)
        return iter(())

    monkeypatch.setattr(running, "_train", noted)
    assert "4 recorded already" in _sweep(folder, "longer", 5, "--programs", "1")
    assert trained == [5] and _scores(folder / "longer") == whole
    before, after = _plan(folder, "whole"), _plan(folder, "longer")
    assert after["runs"][:4] == before["runs"] and len(after["runs"]) == 5
    assert after["cohorts"][0] == before["cohorts"][0] and after["cohorts"][1]["runs"] == [5]
    with pytest.raises(JaxevalError, match="holds 5 runs; ask for as many"):
        _sweep(folder, "longer", 4)


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ('[size]\nkey = "model.widht"\ninteger = [4, 8]\n', r"did you mean model\.width\?"),
        ('[size]\nkey = "model.width"\nuniform = [4, 8]\n', "run 1, drawn as"),
        ("[size]\ninteger = [4, 8]\n", r"size: sets nothing; add key = \.\.\.$"),
        (
            '[a]\nchoices = ["x", "y"]\n[size]\nkey = "training.epochs"\ninteger = [4, 8]\n'
            'when = { a = ["x"] }\n',
            r"which all others would have; set training\.epochs=\d+$",
        ),
    ],
)
def test_what_cannot_be_is_refused_before_training(folder: Path, space: str, message: str) -> None:
    """Dies if a run's mistake is found only when its turn comes."""
    (folder / "wrong.toml").write_text(space)
    with pytest.raises(JaxevalError, match=message) as refused:
        _sweep(folder, "refused", 2, "--space", str(folder / "wrong.toml"))
    assert "\n" not in str(refused.value)
    assert not (folder / "refused").exists()


def test_dry_run_plans_and_touches_nothing(folder: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a plan trains, or lacks what padding costs or what is odd about the data."""
    assert sweep(_words(folder, "dry", 6, "--dry-run", "--json", "-")) == 0
    shown = capsys.readouterr()
    plan = json.loads(shown.out)
    assert len(plan["runs"]) == 6
    assert {"runs", "size", "micro_batch", "wasted"} <= set(plan["cohorts"][0])
    assert 0 <= plan["wasted"] < 1
    assert not (folder / "dry").exists()
    assert plan["warnings"] and [f"warning: {line}" for line in plan["warnings"]] == [
        line for line in shown.err.splitlines() if line.startswith("warning: ")
    ]


def test_the_largest_sizes_are_those_of_the_space() -> None:
    """Dies if a program that settings are padded into has no room for one that is drawn later."""
    space = spaces.from_dict({"width": {"key": "model.width", "integer": [2, 12]}})
    assert {of["width"] for of in padding.sample(space, {"model.width"})[1]} == {12}
