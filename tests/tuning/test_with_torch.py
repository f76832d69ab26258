"""Engines that need torch, their whole path; skipped where they are not installed."""

from typing import Any

import numpy as np
import pytest

from jaxeval.space import space as spaces
from jaxeval.tuning import Tuner, methods
from jaxeval.tuning import history as histories
from jaxeval.tuning import search as searches
from jaxeval.tuning.history import History, Result
from jaxeval.tuning.search import Search
from jaxeval.tuning.tuner import is_setting

SPACE = spaces.from_dict(
    {
        "rate": {"log_uniform": [1e-4, 1.0]},
        "rows": {"choices": [8, 16, 64], "ordered": True},
        "layers": {"integer": [1, 8], "step": 2},
        "cell": {"choices": ["lstm", "gru"]},
        "peephole": {"uniform": [0.0, 1.0], "when": {"cell": ["lstm"]}},
    }
)
NEEDED = {"optuna:gp": ("optuna", "torch"), "botorch": ("botorch", "torch")}


@pytest.fixture(params=NEEDED)
def method(request: pytest.FixtureRequest) -> methods.Name:
    """Each engine that is installed."""
    for package in NEEDED[request.param]:
        pytest.importorskip(package)
    name: methods.Name = request.param
    return name


def _loss(values: Any) -> float:
    return abs(np.log10(values["rate"]) + 2) + (values["cell"] == "gru") + values["layers"] / 8


def _searched(search: Search, trials: int, history: History | None = None) -> History:
    """Four at once; every fifth one fails."""
    history = history or History((), higher_is_better=False)
    while len(histories.ended(history)) < trials:
        history, _ = searches.ask(search, history, 4 - len(histories.pending(history)))
        evaluation = histories.pending(history)[0]
        failed = evaluation.number % 5 == 4
        result = Result(failure="diverged") if failed else Result((_loss(evaluation.values),))
        history = histories.tell(history, evaluation.number, result)
    return history


def test_the_whole_path(method: methods.Name) -> None:
    """Dies if conditions, grids or failures are lost, a setting is proposed twice, nothing is
    learned, or a search that was killed goes on otherwise than one that was not."""
    search = Search(SPACE, method, 3)
    history = _searched(search, 16)
    values = [evaluation.values for evaluation in history.evaluations]
    assert all(is_setting(SPACE, of) for of in values)
    assert len({histories.identity(of) for of in values}) == len(values)
    random = [spaces.draw(SPACE, 1, run) for run in range(200)]
    assert np.median([_loss(of) for of in values[10:]]) < np.median([_loss(of) for of in random])
    half = _searched(search, 12)
    on_disk = histories.from_dict(histories.to_dict(half))
    assert _searched(search, 16, on_disk) == history
    at_once = [dict(of.values) for of in searches.ask(search, history, 2)[1]]
    singly, (first,) = searches.ask(search, history, 1)
    assert at_once == [dict(first.values), dict(searches.ask(search, singly, 1)[1][0].values)]


def test_scores_of_any_kind(method: methods.Name) -> None:
    """Dies if equal scores, failures alone or one huge score stop the engine."""
    for results in (["diverged"] * 9, [1.0] * 9, [1.0, 1e14, 2.0, *["diverged"] * 6]):
        tuner = Tuner(SPACE, method=method)
        for trial, result in zip(tuner.ask(9), results, strict=True):
            tuner.tell(trial.number, result)
        assert len(tuner.ask(2)) == 2


def test_a_small_space_is_exhausted(method: methods.Name) -> None:
    """Dies if an engine that repeats itself ends the search early, or never."""
    small = spaces.from_dict({"x": {"choices": [1, 2, 3]}, "y": {"integer": [1, 4]}})
    tuner = Tuner(small, method=method)
    for trial in tuner.ask(9):
        tuner.tell(trial.number, float(trial.values["x"]))
    assert len(tuner.ask(10)) == 3 and not tuner.ask(1)
