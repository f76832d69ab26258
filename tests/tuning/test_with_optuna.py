"""Samplers of Optuna as methods of the tuner; skipped where it is not installed."""

import builtins
from typing import Any

import numpy as np
import pytest

from jaxeval.errors import ConfigError
from jaxeval.space import space as spaces
from jaxeval.tuning import Tuner, methods, with_optuna
from jaxeval.tuning import history as histories
from jaxeval.tuning import search as searches
from jaxeval.tuning.search import Search, is_setting
from tests.tuning.engines import SPACE, loss, searched


def test_what_is_missing_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a package that is not installed is a traceback, or is imported before it is asked
    for."""
    real = builtins.__import__

    def without(name: str, *arguments: Any) -> Any:
        if name.split(".")[0] in ("optuna", "botorch"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name.split(".")[0])
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without)
    for name, package in (("optuna:tpe", "optuna"), ("botorch", "botorch")):
        tuner = Tuner(SPACE, method=name)  # type: ignore[arg-type]
        message = rf"method {name}: needs {package}, .* pip install 'jaxeval\[{package}\]'"
        with pytest.raises(ConfigError, match=message):
            tuner.ask(1)
    assert methods.method("gp") and methods.method("optuna:gp")


def test_proposals_are_settings_and_depend_on_the_history_alone() -> None:
    """Dies if conditions, grids or orders are lost, a setting is proposed twice, or what is
    proposed depends on how it was asked for."""
    pytest.importorskip("optuna")
    search = Search(SPACE, "optuna:tpe", 3)
    history = searched(search, 40, stopping=True)
    values = [evaluation.values for evaluation in history.evaluations]
    assert all(is_setting(SPACE, setting) for setting in values)
    assert len({histories.identity(setting) for setting in values}) == len(values)
    at_once = with_optuna.propose(SPACE, history, 3, 3, "tpe")
    one_by_one = []
    for _ in range(3):
        history, (proposed,) = searches.ask(search, history, 1)
        one_by_one.append(dict(proposed.values))
    assert at_once == one_by_one


def test_a_sampler_learns() -> None:
    """Dies if scores, their direction or the settings they belong to are lost on the way."""
    pytest.importorskip("optuna")
    losses = []
    for method in ("optuna:tpe", "random"):
        history = searched(Search(SPACE, method, 1), 60, stopping=True)  # type: ignore[arg-type]
        later = [loss(e.values) for e in history.evaluations[20:]]
        losses.append(np.median(later))
    assert losses[0] < losses[1] - 0.3


def test_a_small_space_is_exhausted() -> None:
    """Dies if a sampler that repeats itself ends the search before all settings are tried, or
    never ends it."""
    pytest.importorskip("optuna")
    small = spaces.from_dict({"x": {"choices": [1, 2, 3]}, "y": {"integer": [1, 2]}})
    tuner = Tuner(small, method="optuna:tpe")
    assert len(tuner.ask(10)) == 6 and not tuner.ask(1)


def test_choices_of_numbers_are_ordered_by_size() -> None:
    """Dies if a sampler is told the order in which numbers are written."""
    optuna = pytest.importorskip("optuna")
    (parameter,) = spaces.from_dict({"size": {"choices": [8, 2, 4]}}).parameters
    of = parameter.distribution
    assert [with_optuna._param(of, value) for value in (2, 4, 8)] == [0, 1, 2]
    for place, value in enumerate((2, 4, 8)):
        trial = optuna.trial.FixedTrial({"size": place})
        assert with_optuna._suggested_one(trial, "size", of) == value
