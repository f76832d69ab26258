"""`import jaxeval` from Python: imported at first use, trains, compares, selects, shows;
goes on where a plan or a state was damaged."""

import importlib
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import jaxeval
from jaxeval import errors, state_files
from jaxeval.studies import running
from tests import from_python
from tests.from_python import TOY, A, B, compare
from tests.studies import toy_kind

_toys = from_python.toys  # a fixture of all tests here


def test_the_import_is_quick_and_lazy() -> None:
    """Dies if the package imports at once what only some functions need."""
    code = """
import sys, time
begin = time.process_time()
import jaxeval
ours = time.process_time() - begin
loaded = {*sys.modules} & {"jax", "numpy", "matplotlib", "scipy", "pydantic"}
begin = time.process_time()
import numpy
print(ours / (time.process_time() - begin), *loaded)
jaxeval.compare  # its module is light
print(*({*sys.modules} & {"jax", "matplotlib", "scipy.stats"}))
"""
    command = [sys.executable, "-c", code]
    root = Path(__file__).parents[1]
    done = [
        subprocess.run(command, capture_output=True, text=True, check=True, cwd=root).stdout
        for _ in range(3)
    ]
    ratios, later = zip(*(text.splitlines() for text in done), strict=True)
    assert set(later) == {""}
    assert min(float(ratio) for ratio in ratios) < 1  # and no name beside the number


def test_modules_of_verbs_leave_the_functions_alone() -> None:
    """Dies if importing a verb replaces the function of its name, or cannot reach the verb."""
    for name in ("train", "noise", "evaluate", "compare", "select", "tune", "plan"):
        module = importlib.import_module(f"jaxeval.{name}")
        assert module is sys.modules[f"jaxeval.{name}"] is not getattr(jaxeval, name)
        assert callable(getattr(jaxeval, name))
    assert {*jaxeval.__all__} <= {*dir(jaxeval)}
    with pytest.raises(AttributeError, match="no attribute 'tarin'"):
        jaxeval.tarin  # type: ignore[attr-defined]  # noqa: B018


def test_trained_compared_loaded(capsys: pytest.CaptureFixture) -> None:
    """Dies if configs of Python train otherwise, runs get lost, or quiet is not."""
    slow = jaxeval.train(
        TOY, seeds=5, quiet=True, changes={"name": "slow", "training.patience": 0}
    )
    fast = jaxeval.train(toy_kind.Config(name="fast"), seeds=[2, 3, 5, 7, 9], quiet=True)
    assert capsys.readouterr() == ("", "")
    assert len(slow) == len(fast) == 5 and [row.seed for row in fast.rows] == [2, 3, 5, 7, 9]
    assert slow.scores().shape == (5,) and (slow.scores("dev") != slow.scores("test")).any()
    whole = jaxeval.load("runs")
    assert whole.names == ("fast", "slow") and len(whole) == 10
    assert "fast" in whole and whole.rows[0] in whole and "fas" not in whole
    assert whole["slow"].rows == slow.rows
    found = compare(fast, slow)
    assert any("fast and slow differ in training." in note for note in found.document().notes)
    for other in (("runs", "fast", "slow"), (whole,), (jaxeval.read_scores("runs"),)):
        assert compare(*other).to_dict()["pairs"] == found.to_dict()["pairs"]
    assert re.match(r"slow \(\w+\): test accuracy median .* 5 finished", str(slow))
    again = jaxeval.train(TOY, seeds=5, changes={"name": "slow", "training": {"patience": 0}})
    assert again.rows == slow.rows
    assert "5 recorded already" in capsys.readouterr().err


def test_tuned(capsys: pytest.CaptureFixture) -> None:
    """Dies if a search of Python is another one than the verb's, is not retrained, or is loud."""
    space = {"rate": {"key": "model.rate", "uniform": [0.0, 0.9]}}
    changes = {"training.patience": 0, "training.epochs": 4}
    tuned: Any = jaxeval.tune(
        TOY, space=space, trials=np.int64(5), method="sobol", parallel=2, halving=2, retrain=2,
        quiet=True, changes=changes,
    )  # fmt: skip
    assert capsys.readouterr() == ("", "")
    tree = tuned.to_dict()
    assert tree["trials"] == 5 and [*tuned.values] == ["rate"] and Path(tuned.config).exists()
    assert "Take setting" in str(tuned) and "2 fresh seeds" in str(tuned)
    assert "<table" in tuned._repr_html_() and tuned.plot("slices").axes
    again: Any = jaxeval.train(tuned.config, seeds=[1_000_001, 1_000_002], quiet=True)
    assert list(again.scores("dev")) == tuned.retrained.scores["dev"]
    with pytest.raises(errors.ConfigError, match="expected one of best_so_far"):
        tuned.plot("pie")


def test_a_thread_trains_with_progress(capsys: pytest.CaptureFixture) -> None:
    """Dies if signals are handled where they cannot be: a server's threads train as well."""
    trained: list[jaxeval.Runs] = []
    thread = threading.Thread(target=lambda: trained.append(jaxeval.train(TOY, seeds=1)))
    thread.start()
    thread.join()
    assert len(trained[0]) == 1 and "compiled: epoch" in capsys.readouterr().err


def test_selections() -> None:
    """Dies if functions or configs cannot be chosen from, or the wrong one is."""
    noise = np.random.default_rng(0).normal(0, 0.01, 100)
    functions = {"low": lambda k: 0.7 + noise[k], "high": lambda k: 0.8 + noise[k + 50]}
    how: Any = {"quiet": True}
    chosen = jaxeval.select_command(functions, **how)
    assert not Path("selection.json").exists()  # other functions may have these names next time
    assert chosen.best == "high" and str(chosen).startswith("high is the best with probability")
    assert jaxeval.select_command(functions, lower_is_better=True, **how).best == "low"
    assert ">high</td>" in chosen._repr_html_()
    short, long = ({**TOY, "name": f"{n}", "training": {"epochs": n}} for n in (1, 6))
    assert jaxeval.select(short, long, budget=8, quiet=True).best == "6"


class _Frame:
    """What pandas and polars have in common."""

    def __init__(self, records: list[dict[str, Any]]):
        self._values = {name: [record[name] for record in records] for name in records[0]}
        self.columns, self.index = [*self._values], SimpleNamespace(names=[None])

    def __getitem__(self, name: str) -> list[Any]:
        return self._values[name]

    def __len__(self) -> int:
        return len(self._values[self.columns[0]])

    def to_dict(self) -> dict[str, list[Any]]:
        return self._values


def test_one_table_is_compared_in_any_form(tmp_path: Path) -> None:
    """Dies if a path, records or a data frame are no table, or are read in another way."""
    records = [
        {"arch": name, "seed": k, "accuracy": float(score)}
        for name, scores in (("x", A), ("y", B))
        for k, score in enumerate(scores)
    ]
    path = tmp_path / "t.csv"
    path.write_text(
        "arch,seed,accuracy\n" + "\n".join(",".join(map(str, r.values())) for r in records)
    )
    read = compare(str(path)).to_dict()["pairs"]
    for of in (path, records, _Frame(records), jaxeval.read_scores(path)):
        assert compare(of).to_dict()["pairs"] == read
        assert jaxeval.read_scores(of, "y").models == ("y",)
        assert compare(of, "y", "x").study.scores.models == ("y", "x")
    wide = _Frame([{"x": a, "y": b} for a, b in zip(A, B, strict=False)])
    wide.index = SimpleNamespace(names=[None], values=[f"corpus{k}" for k in range(len(wide))])
    with pytest.raises(errors.DataError, match="column 'unnamed' looks like text"):
        compare(wide)
    pandas = pytest.importorskip("pandas")
    assert compare(pandas.DataFrame(records)).to_dict()["pairs"] == read


SPACE = {"rate": {"key": "model.rate", "uniform": [0.0, 0.9]}}
CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "sweep": (lambda: jaxeval.sweep(TOY, space=SPACE, trials=3, quiet=True).rows, "sweeps"),
    "tune": (
        lambda: _timeless(
            jaxeval.tune(TOY, space=SPACE, trials=6, parallel=3, retrain=2, quiet=True)
        ),
        "tunings",
    ),
}


def _timeless(tuned: Any) -> dict[str, object]:
    tree = tuned.to_dict()
    each = [{**e, "joined": None} for e in (*tree["evaluations"], tree["best"])]
    return {**tree, "seconds": 0, "evaluations": each, "best": None}


@pytest.mark.parametrize("name", CALLS)
def test_a_damaged_file_is_deleted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if the advice is another folder, where all would be trained again, or if deleting the
    file trains anything again or ends otherwise."""
    call, folder = CALLS[name]
    before = call()
    (file,) = Path("runs", folder).glob("*.json")
    whole = file.read_text()
    file.write_text(whole[:-20])
    with pytest.raises(errors.JaxevalError, match=r"delete .*: .* in the runs database"):
        call()
    file.unlink()
    trained = []
    train = running._train

    def noted(cohort: Any, waiting: Any, *more: Any) -> Any:
        trained.extend(waiting)
        return train(cohort, waiting, *more)

    monkeypatch.setattr(running, "_train", noted)
    assert call() == before and trained == []


def test_a_commands_scores_are_nowhere_else(tmp_path: Path) -> None:
    """Dies if deleting the only record of a command's scores is advised without saying so."""
    path = tmp_path / "state.json"
    path.write_text("{")
    head = {"evaluator": {"command": "./train.sh"}}
    with (
        state_files.open_state(path, "search", head) as file,
        pytest.raises(errors.ConfigError, match="if it was damaged: the command then runs"),
    ):
        file.read()
