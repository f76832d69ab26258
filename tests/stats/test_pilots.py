"""What a pilot says of the spread, and how sure that is."""

import numpy as np
import pytest

from jaxeval.errors import DataError
from jaxeval.stats import pilots
from jaxeval.stats.pilots import Pilot
from tests.stats.cubes import task

TRUE = pilots.Spread(0.3, 0.05, 0.4, 0.6)
ITEMS, R, K = 40, 5, 2


def _pilot(a: np.ndarray, b: np.ndarray) -> Pilot:
    return pilots.pilot(task("", "", {"a": a, "b": b}), "a", "b")


def _draw(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two models' normal scores [items, R, K] whose difference has the variances above."""
    item = generator.normal(size=(ITEMS, 1, 1)) * np.sqrt(TRUE.items)
    scores = []
    for sign in (0.5, -0.5):
        run, cell, answer = (
            generator.normal(size=shape) * np.sqrt(variance / 2)
            for shape, variance in (
                ((1, R, 1), TRUE.runs),
                ((ITEMS, R, 1), TRUE.items_x_runs),
                ((ITEMS, R, K), TRUE.samples),
            )
        )
        scores.append(sign * item + run + cell + answer)
    return scores[0], scores[1]


def test_intervals_hold_the_variances() -> None:
    """Dies if a variance's mean square, divisor or subtracted part is another's: of 300 pilots
    95 % intervals hold each true variance in .90 to .99, and means of estimates are true."""
    generator = np.random.default_rng(0)
    held: dict[str, list[bool]] = {
        name: [] for name in ("items", "runs", "items_x_runs", "samples")
    }
    estimates: dict[str, list[float]] = {name: [] for name in held}
    for _ in range(300):
        pilot = _pilot(*_draw(generator))
        assert pilot.size == (ITEMS, R, K) and pilot.low is not None
        for name in held:
            low, high, true = (getattr(of, name) for of in (pilot.low, pilot.high, TRUE))
            held[name].append(low <= true <= high)
            estimates[name].append(getattr(pilot.spread, name))
    for name, of in held.items():
        assert 0.90 <= np.mean(of) <= 0.99, (name, np.mean(of))
        assert np.mean(estimates[name]) == pytest.approx(getattr(TRUE, name), rel=0.1)


def test_a_pilot_without_spread_is_refused() -> None:
    """Dies if rounding passes for spread, or the message is that of a number given by hand."""
    scores = np.random.default_rng(4).normal(size=(30, 1))
    for other in (scores, scores + 0.1):
        with pytest.raises(DataError, match=r"pilot shows no spread: .* on all of its 30 items"):
            _pilot(scores, other)


def test_runs_of_one_model_alone_are_in_items() -> None:
    """Dies if items x runs of the one model that has several runs count as a part of their own,
    which no other pilot of one run has, or are left out: as a run of each says, on average."""
    generator, estimates = np.random.default_rng(5), []
    for _ in range(40):
        a, b = (of[..., 0] for of in _draw(generator))
        several, size = _pilot(a, b[:, :1])[:2]
        assert size.runs == 1 and several.runs == several.items_x_runs == 0
        estimates.append((several.items, _pilot(a[:, :1], b[:, :1]).spread.items))
    expected = TRUE.items + TRUE.items_x_runs + TRUE.samples
    assert np.mean(estimates, axis=0) == pytest.approx([expected] * 2, rel=0.1)
    for pilot in (_pilot(a, b[:, :1]), _pilot(b[:, :1], a)):
        assert pilot.spread.items == pytest.approx(estimates[-1][0])
        assert pilot.low is not None and pilot.high.items_x_runs == 0
        assert pilot.low.items < pilot.spread.items < pilot.high.items
