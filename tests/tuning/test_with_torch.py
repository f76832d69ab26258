"""Engines that need torch, their whole path; skipped where they are not installed."""

import numpy as np
import pytest

from jaxeval.space import space as spaces
from jaxeval.tuning import Tuner, methods
from jaxeval.tuning import history as histories
from jaxeval.tuning import search as searches
from jaxeval.tuning.search import Search, is_setting
from tests.tuning.engines import SPACE, loss, searched

NEEDED = {"optuna:gp": ("optuna", "torch"), "botorch": ("botorch", "torch")}


@pytest.fixture(params=NEEDED)
def method(request: pytest.FixtureRequest) -> methods.Name:
    """Each engine that is installed."""
    for package in NEEDED[request.param]:
        pytest.importorskip(package)
    name: methods.Name = request.param
    return name


def test_the_whole_path(method: methods.Name) -> None:
    """Dies if conditions, grids or failures are lost, a setting is proposed twice, nothing is
    learned, or a search that was killed goes on otherwise than one that was not."""
    search = Search(SPACE, method, 3)
    history = searched(search, 16)
    values = [evaluation.values for evaluation in history.evaluations]
    assert all(is_setting(SPACE, of) for of in values)
    assert len({histories.identity(of) for of in values}) == len(values)
    random = [spaces.draw(SPACE, 1, run) for run in range(200)]
    assert np.median([loss(of) for of in values[10:]]) < np.median([loss(of) for of in random])
    half = searched(search, 12)
    on_disk = histories.from_dict(histories.to_dict(half))
    assert searched(search, 16, on_disk) == history
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
