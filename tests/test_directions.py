"""Which scores are better: what a table or runs record, what is asked for, and what is assumed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxeval
from jaxeval.errors import ConfigError, DataError, JaxevalError
from tests import comparing, from_python
from tests.from_python import TOY, compare

_toys = from_python.toys  # a fixture of all tests here
_LOW = [0.10, 0.101, 0.102, 0.099, 0.098, 0.1005]
_HIGH = [0.20, 0.201, 0.202, 0.199, 0.198, 0.2005]


def _tidy(folder: Path, head: str, *cells: str) -> Path:
    """Of A the lower scores; the same cells in every row after model and score."""
    path = folder / "tidy.csv"
    rows = [[m, str(s), *cells] for m, of in (("A", _LOW), ("B", _HIGH)) for s in of]
    path.write_text("\n".join([head, *map(",".join, rows)]) + "\n")
    return path


def _said(*words: Any, **more: Any) -> str:
    return " ".join(map(str, compare(*words, **more).document().blocks))


def test_runs_know_their_direction(capsys: pytest.CaptureFixture) -> None:
    """Dies if runs of an accuracy are compared as losses, if what runs say is put down to a table,
    or flags are not named."""
    a = jaxeval.train(TOY, seeds=3, quiet=True)
    b = jaxeval.train(TOY, seeds=3, quiet=True, changes={"name": "b", "model.width": 3})
    assert "higher is better" in _said(a, b, lower_is_better=False)
    for models in ((a, b), ("runs",), (jaxeval.load("runs"),)):
        with pytest.raises(DataError, match=r"lower_is_better=True: the runs say that higher "):
            compare(*models, lower_is_better=True)
    for words in (["runs"], ["options", "runs", "--option", "name", "--score", "test"]):
        with pytest.raises(DataError, match=r"--lower-is-better: the runs say that higher "):
            comparing.main(*words, "--lower-is-better")
    words = ["runs", "--option", "name", "--score", "wall_seconds", "--key", "seed"]
    shown = comparing.shown(capsys, "options", *words, "--lower-is-better")
    assert "wall_seconds: lower is better" in shown


@pytest.mark.parametrize(
    ("head", "cells", "said"),
    [
        ("model,score,metric", ["nll"], "nll, for which lower is better"),
        ("model,score,higher_is_better", ["False"], "score, for which lower is better"),
        ("model,score,metric,higher_is_better", ["f1", "false"], "f1, for which lower"),
        ("model,loss", [], "loss, for which lower is better"),
        ("model,loss,metric,higher_is_better", ["loss", "true"], None),
        ("model,loss,metric", ["cosine"], "cosine, for which lower is better"),
    ],
)
def test_sensitivity_reads_what_is_recorded(
    tmp_path: Path, head: str, cells: list[str], said: str | None
) -> None:
    """Dies if losses are analysed as if higher were better, or a column's name comes first."""
    table = _tidy(tmp_path, head, *cells)
    asked = {"score": head.split(",")[1], "hyperparameters": ["model"], "resamples": 0}
    if said is None:
        assert jaxeval.sensitivity(str(table), **asked).sweeps[0].n == 12
    else:
        with pytest.raises(ConfigError, match=said):
            jaxeval.sensitivity(str(table), **asked)


def _turned(higher: Any) -> Any:
    """The same of lower scores; what is no direction stays so."""
    return not higher if isinstance(higher, bool | np.bool_) else higher


CALLS: dict[str, Callable[[Any], Any]] = {
    "compare": lambda said: compare(_LOW, _HIGH, lower_is_better=_turned(said)).to_dict()["pairs"],
    "read_scores": lambda said: (
        jaxeval.read_scores("tidy.csv", lower_is_better=_turned(said)).higher_is_better
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_direction_is_true_or_false_everywhere(call: str, tmp_path: Path) -> None:
    """Dies if numpy's False, which a test of an array gives, means True, or None means False."""
    _tidy(tmp_path, "model,score")
    of = CALLS[call]
    lower, higher = str(of(False)), str(of(True))
    assert str(of(np.False_)) == lower != higher == str(of(np.True_))
    assert "assumed" in (unsaid := str(of(None))) or unsaid == higher
    for wrong in (0, "no", np.array([False])):
        with pytest.raises(JaxevalError, match=r"_is_better: expected True or False, (found|got)"):
            of(wrong)
