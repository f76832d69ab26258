"""The sensitivity to all hyperparameters together, against plain loops and by hand."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from jaxeval.sensitivity import analyze
from tests.sensitivity.test_metrics import SCORES, quick


@pytest.mark.parametrize("convention", ["default", "text"])
def test_all_hyperparameters_together_against_loops(convention: str) -> None:
    """Dies if distances are not Gower's from the best run, words are more than the same or not, or
    the average of ranks is another order; distances are multiples of 1/32, without rounding."""
    draw = np.random.default_rng(2)
    values: dict[str, list] = {
        "batch": draw.choice([16, 32, 64, 128, 256], 60).tolist(),
        "layers": draw.choice(9, 60).tolist(),
        "depth": draw.choice([1, 2, 4], 60).tolist(),
        "cell": draw.choice(["gru", "lstm", "nas"], 60).tolist(),
    }
    scores = 0.9 * SCORES + 1e-5 * np.arange(60)
    best = int(np.argmax(scores))
    ranks = {name: [sorted({*of}).index(value) for value in of] for name, of in values.items()}
    if convention == "default":
        parts = [
            [abs(rank - of[best]) / (1 if name == "cell" else max(of)) for rank in of]
            for name, of in ranks.items()
        ]
        path = np.mean(np.minimum(parts, 1), axis=0)
        line = [scores[path == place].mean() for place in sorted({*path})]
        distance, steps = path, len(line) - 1
    else:
        path = np.mean([*ranks.values()], axis=0)
        line = [scores[k] for k in sorted(range(60), key=lambda k: (-path[k], -scores[k]))]
        distance, steps = np.abs(path - path[best]), 60
    actual = quick(scores, values, convention=convention).all_hyperparameters
    assert actual.rho == pytest.approx(stats.spearmanr(distance, -scores).statistic)
    assert actual.points == len(line) > 9
    inner = range(1, len(line) - 1)
    assert actual.maxima == sum(line[k - 1] < line[k] > line[k + 1] for k in inner)
    assert actual.mean_change == pytest.approx(100 * np.abs(np.diff(line)).sum() / steps)


def _spearman_from_every_best(values: dict[str, list[float]], scores: np.ndarray) -> float:
    """Of ordered hyperparameters, with distances as fractions."""
    ranks = {name: [sorted({*of}).index(value) for value in of] for name, of in values.items()}
    rhos = []
    for best in np.flatnonzero(scores == scores.max()):
        distance = [
            sum(Fraction(abs(of[k] - of[best]), max(of)) for of in ranks.values())
            for k in range(len(scores))
        ]
        places = [sorted({*distance}).index(d) for d in distance]
        rhos.append(stats.spearmanr(places, -scores).statistic)
    return float(np.mean(rhos))


@pytest.mark.parametrize("seed", range(4))
def test_order_of_hyperparameters_and_ties_of_the_best_change_nothing(seed: int) -> None:
    """Dies if sums of ranks in another order tear equal distances apart, or of several best runs
    the first alone counts."""
    draw = np.random.default_rng(seed)
    values = {f"x{n}": draw.choice(n, 40).astype(float).tolist() for n in (4, 6, 7, 8)}
    scores = np.minimum(np.round(draw.beta(4, 1, 40), 2), 0.95)
    assert np.sum(scores == 0.95) > 1
    first = quick(scores, values).all_hyperparameters
    assert first.rho == pytest.approx(_spearman_from_every_best(values, scores))
    for order in itertools.permutations(values):
        turned = quick(scores, {x: values[x] for x in order}).all_hyperparameters
        assert turned == pytest.approx(first)
    for convention in ("default", "published", "text"):
        one, other = (
            quick(
                scores[rows],
                {x: np.array(of)[rows] for x, of in values.items()},
                convention=convention,
            ).all_hyperparameters
            for rows in (np.arange(40), np.arange(40)[::-1])
        )
        assert one == pytest.approx(other)


def test_one_hyperparameter_is_all_of_them() -> None:
    """Dies if 1/3 from below and from above the best are two distances."""
    alone = quick(np.array([0.5, 0.6, 0.7, 0.4]), {"lr": [1, 2, 3, 4]}, ks=(2,))
    assert alone.all_hyperparameters.rho == alone.by_hyperparameter["lr"].rho
    assert alone.all_hyperparameters.points == 3
    failed = analyze(np.full(10, 0.5), {}, ks=(5,), resamples=50).intervals["share_zero"]
    assert failed.low >= 0 and math.copysign(1, failed.low) == 1


def test_the_profile_from_several_best_runs_does_not_collapse() -> None:
    """Dies if distances from both corners of a grid are averaged: all runs are one point then."""
    grid = {"lr": [1, 1, 1, 2, 2, 2, 3, 3, 3], "bs": [1, 2, 3] * 3}
    scores = np.array([0.9, 0.5, 0.3, 0.4, 0.7, 0.2, 0.6, 0.1, 0.9])
    tied = quick(scores, grid, ks=(2,)).all_hyperparameters
    from_first, from_last = (
        quick(scores - 1e-9 * (np.arange(9) == k), grid, ks=(2,)).all_hyperparameters
        for k in (8, 0)
    )
    for name in ("maxima", "mean_change", "points"):
        mean = (getattr(from_first, name) + getattr(from_last, name)) / 2
        assert getattr(tied, name) == pytest.approx(mean, abs=1e-5) and mean > 0
