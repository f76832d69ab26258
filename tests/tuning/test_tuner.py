"""Ask and tell over functions."""

import math
import subprocess
import sys

import pytest

import jaxeval
from jaxeval import tuning
from jaxeval.errors import ConfigError, DataError

SPACE = {"x": {"uniform": [-5.0, 5.0]}, "kind": {"choices": ["a", "b"]}}


def test_a_tuner_finds_the_low_point_of_a_function() -> None:
    """Dies if the direction is lost between ask, tell and best."""
    tuner = jaxeval.tuning.Tuner(SPACE, higher_is_better=False, method="sobol")
    for _ in range(16):
        for trial in tuner.ask(4):
            penalty = 0.0 if trial.values["kind"] == "b" else 5.0
            tuner.tell(trial.number, (float(trial.values["x"]) - 2) ** 2 + penalty)
    best = tuner.best()
    assert best.values["kind"] == "b" and abs(float(best.values["x"]) - 2) < 0.5


def test_results_of_all_sorts() -> None:
    """Dies if a score that is no number ends the search, or counts as one."""
    tuner = tuning.Tuner(SPACE, seeds=2, method="random")
    numbers = [trial.number for trial in tuner.ask(4)]
    assert numbers == [0, 1, 2, 3]
    tuner.tell(3, [0.5, 0.7])
    tuner.tell(1, [0.9, math.nan])
    tuner.tell(0, "out of memory")
    results = [evaluation.result for evaluation in tuner.history.evaluations]
    assert results[2] is None and results[3] == tuning.Result((0.5, 0.7))
    assert [r.failure for r in results[:2] if r] == ["out of memory", "the score is nan"]
    assert tuner.best().numbers == (3,)
    with pytest.raises(DataError, match="expected 2 scores"):
        tuner.tell(2, 0.5)


def test_a_tuner_goes_on_from_a_history() -> None:
    """Dies if proposals of a tuner that was begun again differ from those of one that was not."""
    whole, first = (tuning.Tuner(SPACE, seed=5) for _ in range(2))
    trials = [*whole.ask(3), *whole.ask(4)]
    first.ask(3)
    second = tuning.Tuner(SPACE, seed=5, history=first.history)
    assert [*second.history.evaluations, *second.ask(4)][:3] == trials[:3]
    assert list(second.history.evaluations) == trials


def test_what_cannot_be_is_refused() -> None:
    """Dies if a wrong method or space is found out later than at the start."""
    with pytest.raises(ConfigError, match=r"method: expected one of .*, got 'grid'"):
        tuning.Tuner(SPACE, method="grid")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"space: x\.normal: unknown key"):
        tuning.Tuner({"x": {"normal": [0, 1]}})
    with pytest.raises(DataError, match="seeds: expected at least 1"):
        tuning.Tuner(SPACE, seeds=0)


def test_tuning_needs_no_jax() -> None:
    """Dies if `jaxeval.tuning` is not there at its first use, or brings jax with it."""
    code = "import sys, jaxeval; jaxeval.tuning.Tuner; print('jax' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_adaptive_seeds_go_to_old_settings_too() -> None:
    """Dies if further seeds are not asked for, or share a seed with another evaluation."""
    few = {"x": {"choices": [1, 2, 3, 4]}}
    tuner = tuning.Tuner(few, adaptive=True)
    for _ in range(4):
        for trial in tuner.ask(3):
            tuner.tell(trial.number, float(trial.values["x"]) + (trial.seeds[0] * 7 % 5) / 2)
    assert len(tuner.history.evaluations) == 12
    assert len({trial.seeds for trial in tuner.history.evaluations}) == 12
    assert len(tuner.best().scores) > 1 and tuner.best().values["x"] in (3, 4)
    for more in ({"method": "random"}, {"seeds": 2}):
        with pytest.raises(ConfigError, match="adaptive seeds: expected method gp, and one seed"):
            tuning.Tuner(few, adaptive=True, **more)  # type: ignore[arg-type]
