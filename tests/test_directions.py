"""Which scores are better: what a table or runs record, what is asked for, and what is assumed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxeval
from jaxeval import tuning
from jaxeval.errors import ConfigError, DataError, JaxevalError
from jaxeval.stats import configurations, describe, ranking
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


def test_tables_that_were_read_before(tmp_path: Path) -> None:
    """Dies if a direction that is asked for is not heard, or contradicts what is recorded."""
    path = _tidy(tmp_path, "model,score")
    read = jaxeval.read_scores(path)
    for source in (path, read):
        lower = compare(source, "A", "B", lower_is_better=True)
        (pair,) = lower.study.pairs
        assert pair.better == 1 and pair.shown == -1  # A has the lower scores
        assert "score: higher is better" in _said(source, "A", "B", lower_is_better=False)
    assert "assumed" in _said(read, "A", "B")  # what was read stays as it is
    path = _tidy(tmp_path, "model,score,higher_is_better", "false")
    read = jaxeval.read_scores(path)
    for source in (path, read):
        assert "lower is better" in _said(source, lower_is_better=True)
        with pytest.raises(DataError, match="the table says that lower score is better"):
            compare(source, lower_is_better=False)


def test_a_name_is_overruled_of_a_table_that_was_read_too(tmp_path: Path) -> None:
    """Dies if what a metric's name says passes for recorded, or what was asked for when the table
    was read is overruled later."""
    path = _tidy(tmp_path, "model,nll")
    read = jaxeval.read_scores(path, score="nll")
    assert "nll: lower is better" in _said(read)
    for asked, said in ((False, "higher"), (True, "lower")):
        other = compare(read, lower_is_better=asked)
        assert f"nll: {said} is better" in _said(read, lower_is_better=asked)
        named = jaxeval.read_scores(path, score="nll", lower_is_better=asked)
        assert other.to_dict()["pairs"] == compare(named).to_dict()["pairs"]
        with pytest.raises(DataError, match=f"the table says that {said} nll is better"):
            compare(named, lower_is_better=not asked)


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
        ("model,score,metric", ["nll"], "score is nll, of which lower is better"),
        ("model,score,higher_is_better", ["False"], "score, of which lower is better"),
        ("model,score,metric,higher_is_better", ["f1", "false"], "score is f1, of which lower"),
        ("model,loss", [], "loss, of which lower is better"),
        ("model,loss,metric,higher_is_better", ["loss", "true"], None),
        ("model,nll,metric", ["accuracy"], None),
        ("model,loss,metric", ["cosine"], "loss is cosine, of which lower is better"),
    ],
)
def test_sensitivity_reads_what_is_recorded(
    tmp_path: Path, head: str, cells: list[str], said: str | None
) -> None:
    """Dies if losses are analysed as if higher were better, or a column's name comes first."""
    table = _tidy(tmp_path, head, *cells)
    asked = {"score": head.split(",")[1], "hyperparameters": ["model"]}
    if said is None:
        assert jaxeval.sensitivity(str(table), **asked).sweeps[0].n == 12
    else:
        with pytest.raises(ConfigError, match=said):
            jaxeval.sensitivity(str(table), **asked)


def test_metrics_of_two_directions(tmp_path: Path) -> None:
    """Dies if accuracies and losses are analysed as one."""
    path = tmp_path / "two.csv"
    rows = [f"{k % 2},{s},{m}" for m in ("f1", "nll") for k, s in enumerate(_LOW)]
    path.write_text("rate,score,metric\n" + "\n".join(rows) + "\n")
    with pytest.raises(DataError, match=r"several metrics \(f1, nll\)"):
        jaxeval.sensitivity(str(path), hyperparameters=["rate"])


@pytest.mark.parametrize(
    ("names", "asked", "said"),
    [
        (("f1", "nll"), "--lower-is-better", r"several metrics \(f1, nll\)"),
        (("f1", "regret"), "--lower-is-better", r"several metrics \(f1, regret\)"),
        (("f1", "regret"), "--no-lower-is-better", None),
        (("cosine", "regret"), "--lower-is-better", None),
    ],
)
def test_one_word_does_not_turn_one_of_several_metrics(
    tmp_path: Path, names: tuple[str, ...], asked: str, said: str | None
) -> None:
    """Dies if a flag that is right of a loss is taken of the accuracies beside it."""
    words = ["options", tmp_path / "two.csv", "--option", "rate", "--score", "score"]
    rows = [f"{k % 2},{k // 2},{s},{m}" for m in names for k, s in enumerate(_LOW)]
    (tmp_path / "two.csv").write_text("rate,run,score,metric\n" + "\n".join(rows) + "\n")
    if said is None:
        assert comparing.main(*words, "--group", "metric", asked) == 0
    else:
        with pytest.raises(DataError, match=said):
            comparing.main(*words, "--group", "metric", asked)


def test_messages_of_python_name_its_arguments(tmp_path: Path) -> None:
    """Dies if a call from Python is answered with flags."""
    path = _tidy(tmp_path, "model,score,higher_is_better", "false")
    with pytest.raises(DataError, match="lower_is_better=False: the table says"):
        jaxeval.read_scores(path, lower_is_better=False)
    read = jaxeval.read_scores(_tidy(tmp_path, "model,f1"), score="f1")
    with pytest.raises(ConfigError, match=r"^margin=3: the scores are fractions; 3 points are 0"):
        compare(read, margin=3)
    several = tmp_path / "several.csv"
    several.write_text("model,score,metric\nA,1,f1\nA,2,nll\n")
    with pytest.raises(DataError, match=r"choose one with metric='NAME'"):
        jaxeval.read_scores(several)


@pytest.mark.parametrize(
    ("metric", "said"),
    [("log_likelihood", "higher is better (assumed"), ("score", "lower is better")],
)
def test_a_unit_is_of_its_metric(tmp_path: Path, metric: str, said: str) -> None:
    """Dies if the unit of a likelihood makes its column of scores one of losses."""
    table = _tidy(tmp_path, "model,score,metric,unit", metric, "nats")
    assert f"{metric}: {said}" in _said(table)
    assert (jaxeval.read_scores(table).direction == "assumed") is (metric != "score")


_COLUMNS = {"a": [1.0, 2, 3], "b": [2.0, 3, 4], "c": [3.0, 4, 6]}
_TABLE = {"option": ["x", "y"] * 3, "key": [1, 1, 2, 2, 3, 3], "score": [1.0, 2, 3, 4, 5, 7]}


def _turned(higher: Any) -> Any:
    """The same of lower scores; what is no direction stays so."""
    return not higher if isinstance(higher, bool | np.bool_) else higher


CALLS: dict[str, Callable[[Any], Any]] = {
    "compare": lambda said: compare(_LOW, _HIGH, lower_is_better=_turned(said)).to_dict()["pairs"],
    "read_scores": lambda said: (
        jaxeval.read_scores("tidy.csv", lower_is_better=_turned(said)).higher_is_better
    ),
    "Tuner": lambda said: (
        tuning.Tuner({"x": {"uniform": [0, 1]}}, higher_is_better=said).history.higher_is_better
    ),
    "nemenyi": lambda said: ranking.nemenyi(_COLUMNS, higher_is_better=said).models,
    "against": lambda said: ranking.against(_COLUMNS, "a", higher_is_better=said),
    "options": lambda said: (
        configurations.paired_options(
            _TABLE, "option", "score", key=["key"], higher_is_better=said
        )[0].best
    ),
    "expected_validation_performance": lambda said: describe.expected_validation_performance(
        _LOW, higher_is_better=said
    ).tolist(),
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
