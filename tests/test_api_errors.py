"""Mistakes in calls from Python: one line that says what is wrong."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxeval
from jaxeval import errors, results, runs
from tests import from_python
from tests.from_python import TOY, A, B

_toys = from_python.toys  # a fixture of all tests here


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"parallel": -1}, "parallel: expected a whole number from 1 to 1000000, got -1"),
        ({"trials": 10**6, "seeds": 2}, "trials: expected at most 1000000 runs in all"),
        ({"halving": 1}, "halving: expected a factor of at least 2, got 1"),
        ({"halving": 2, "seeds": 2}, "seeds: expected 1 with halving"),
        ({"seeds": "x"}, "seeds: expected a whole number from 1"),
        ({"min_epochs": 2}, "min_epochs: needs halving"),
    ],
)
def test_a_search_refuses_what_the_command_refuses(options: dict[str, Any], said: str) -> None:
    """Dies if a call searches nothing, or for ever, where the command has a line to say."""
    with pytest.raises(errors.JaxevalError, match=said):
        space = {"rate": {"key": "model.rate", "uniform": [0.0, 0.9]}}
        jaxeval.tune(TOY, space=space, **options)


ARMS: dict[str, Callable[[int], float]] = {"a": lambda k: k % 2, "b": lambda k: k % 2 + 9}


def _any(value: object) -> Any:
    """What the types of the signature do not allow."""
    return value


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "config": (lambda: jaxeval.train("reimers2017/wnut_ner"), "did you mean reimers2017/wnut17"),
    "key": (lambda: jaxeval.train({"tsk": "toy"}), "did you mean task"),
    "task": (lambda: jaxeval.train({"task": ["toy"]}), "task: expected one of"),
    "no config": (lambda: jaxeval.train(3), "expected a config's file or name"),
    "change": (lambda: jaxeval.train(TOY, changes={"model.with": 3}), "did you mean model.width"),
    "seeds": (lambda: jaxeval.train(TOY, seeds=0), "seeds: expected a whole number from 1"),
    "outputs": (lambda: jaxeval.train(TOY, outputs=_any("no")), "outputs: expected True or False"),
    "no scores": (lambda: jaxeval.compare([{"model": "A"}]), "records: no column score"),
    "unequal": (
        lambda: jaxeval.compare(A[:6], A[:7], paired=True),
        "paired=True: expected as many scores of each model, A has 6, B has 7",
    ),
    "missing": (
        lambda: jaxeval.compare(A, [0.5, np.nan, None, 0.7]),  # type: ignore[list-item]
        "B: value 2 is missing (and 1 more); expected finite numbers",
    ),
    "margin": (lambda: jaxeval.compare(A, B, margin=_any("x")), "margin: expected a number above"),
    "folder": (lambda: jaxeval.load("nowhere"), "no runs here"),
    "rule": (
        lambda: jaxeval.select_table([{"model": "a", "score": 1}], rule="non-adaptive", batch=2),
        "rule='non-adaptive': takes no batch",
    ),
}


@pytest.mark.parametrize("call", WRONG)
def test_mistakes_are_one_line(call: str) -> None:
    """Dies if a mistake of the user's is a traceback of ours, or does not say what is wrong, or
    wrong input is no ValueError."""
    function, said = WRONG[call]
    with pytest.raises(errors.JaxevalError) as raised:
        function()
    assert said in str(raised.value) and "\n" not in str(raised.value)
    assert isinstance(raised.value, ValueError | errors.RunError)
    assert not Path("runs").exists()


def test_a_place_without_scores_is_one_kind_of_error(tmp_path: Path) -> None:
    """Dies if a caller has to catch two kinds."""
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(errors.DataError, match=str(place)):
            jaxeval.compare(place)


def test_scores_are_of_one_experiment() -> None:
    """Dies if scores of several experiments, or of no part, are silently put together."""
    rows = [row for name in "ab" for row in _rows(name)]
    both = results.Runs(tuple(rows), "here")
    with pytest.raises(errors.ConfigError, match=r"runs\['a'\]"):
        both.scores()
    assert both["b"].scores().tolist() == [0.5] and [*both] == rows
    with pytest.raises(errors.ConfigError, match="expected dev or test"):
        both["a"].scores("train")  # type: ignore[arg-type]
    with pytest.raises(errors.ConfigError, match=r"no runs of 'c'; has a \(a\), b \(b\)"):
        both["c"]
    assert [results.trained(rows[k:2], "r").exit_code for k in (0, 1)] == [0, 2]  # of train, sweep


def _rows(name: str) -> list[runs.MemberRow]:
    """A member with scores and one that diverged."""
    known = dict.fromkeys(runs.MemberRow._fields, "") | {"name": name, "experiment": name}
    known |= {"config": "{}", "hparams": "{}"}
    ended = {"test": 0.5, "dev": 0.4}, {"test": None, "dev": None}
    return [runs.MemberRow(**{**known, **scores}) for scores in ended]
