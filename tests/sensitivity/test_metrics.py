"""The sensitivity metrics against plain loops, by hand, and against published figures."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from jaxeval import space
from jaxeval.errors import ConfigError, DataError
from jaxeval.sensitivity import metrics
from jaxeval.sensitivity.analysis import analyze, difference
from jaxeval.sensitivity.metrics import axes

DRAW = np.random.default_rng(0)
SCORES = np.round(DRAW.beta(4, 1, 60), 3)
BATCH = DRAW.choice([16, 32, 64, 128, 256], 60)
RATE = 10 ** DRAW.uniform(-5, -2, 60)


def quick(scores: np.ndarray, values: dict, **how: object) -> dict[str, float]:
    return analyze(scores, values, resamples=0, **how).values  # type: ignore[arg-type]


def test_scores_against_loops() -> None:
    """Dies if k is off by one, the best counts as its own equal, or the margin its border."""
    found = quick(SCORES, {}, ks=(1, 25, 60, 61))
    falling = sorted(SCORES, reverse=True)
    for k, score in ((1, falling[0]), (25, falling[24]), (60, falling[59])):
        assert found[f"rel_at_k.{k}"] == pytest.approx(100 * score / falling[0])
    assert found["mean_at_k.25"] == pytest.approx(100 * np.mean(falling[:25]) / falling[0])
    assert "rel_at_k.61" not in found
    assert (found["max"], found["mean"]) == (100 * falling[0], 100 * SCORES.mean())
    whole = [round(1000 * s) for s in SCORES]
    near = sum(max(whole) - s <= 10 for s in whole) - 1
    pairs = sum(abs(a - b) <= 10 for a, b in itertools.permutations(whole, 2))
    assert found["best_equivalent"] == pytest.approx(100 * near / 59)
    assert found["expected_equivalent"] == pytest.approx(100 * pairs / 60 / 59)
    assert quick(np.array([0.98, 0.97, 0.5]), {})["best_equivalent"] == 50  # .98 - .97 > .01


@pytest.mark.parametrize("values", [BATCH, RATE])
def test_profiles_against_loops(values: np.ndarray) -> None:
    """Dies if ties are not averaged, ends count as maxima, or distances are not in ranks."""
    found = quick(SCORES, {"x": values})
    distinct = sorted(set(values))
    line = [SCORES[values == v].mean() for v in distinct]
    inner = range(1, len(line) - 1)
    maxima = sum(line[k - 1] < line[k] > line[k + 1] for k in inner)
    assert found["by_hyperparameter.x.maxima"] == maxima
    assert metrics._ups_and_downs(np.array([0.0, 1, 1, 0]))[0] == 0  # a flat top is none
    change = 100 * np.mean([abs(line[k] - line[k - 1]) for k in range(1, len(line))])
    assert found["by_hyperparameter.x.mean_change"] == pytest.approx(change)
    ranks = np.array([distinct.index(v) for v in values])
    best = np.flatnonzero(SCORES.max() == SCORES)
    rhos = [stats.spearmanr(np.abs(ranks - ranks[b]), -SCORES).statistic for b in best]
    assert found["by_hyperparameter.x.rho"] == pytest.approx(np.mean(rhos))


def test_all_hyperparameters_together_against_loops() -> None:
    """Dies if distances are not Gower's from the best run, or words are more than same or not."""
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
    parts = [
        [abs(rank - of[best]) / (1 if name == "cell" else max(of)) for rank in of]
        for name, of in ranks.items()
    ]
    path = np.mean(np.minimum(parts, 1), axis=0)
    line = [scores[path == place].mean() for place in sorted({*path})]
    found = quick(scores, values)
    rho = stats.spearmanr(path, -scores).statistic
    assert found["all_hyperparameters.rho"] == pytest.approx(rho)
    maxima = sum(line[k - 1] < line[k] > line[k + 1] for k in range(1, len(line) - 1))
    assert found["all_hyperparameters.maxima"] == maxima
    change = 100 * np.abs(np.diff(line)).sum() / (len(line) - 1)
    assert found["all_hyperparameters.mean_change"] == pytest.approx(change)


def test_ties_of_the_best_and_order_of_hyperparameters_change_nothing() -> None:
    """Dies if sums in another order tear equal distances apart, or the first best run counts
    alone."""
    draw = np.random.default_rng(1)
    values = {f"x{n}": draw.choice(n, 40).astype(float).tolist() for n in (4, 6, 7, 8)}
    scores = np.minimum(np.round(draw.beta(4, 1, 40), 2), 0.95)
    bests = np.flatnonzero(scores == 0.95)
    for of in values.values():  # of three best runs two are of one setting
        of[bests[1]] = of[bests[0]]
    assert len(bests) > 2
    ranks = {name: [sorted({*of}).index(value) for value in of] for name, of in values.items()}
    rhos = []
    for best in bests:
        gaps = [
            sum(Fraction(abs(of[k] - of[best]), max(of)) for of in ranks.values())
            for k in range(40)
        ]
        places = [sorted({*gaps}).index(gap) for gap in gaps]
        rhos.append(stats.spearmanr(places, -scores).statistic)
    for order in itertools.permutations(values):
        turned = quick(scores, {x: values[x] for x in order})
        assert turned["all_hyperparameters.rho"] == pytest.approx(np.mean(rhos))


def test_the_profile_from_several_best_runs_does_not_collapse() -> None:
    """Dies if distances from both corners of a grid are averaged: all runs are one point then."""
    grid = {"lr": [1, 1, 1, 2, 2, 2, 3, 3, 3], "bs": [1, 2, 3] * 3}
    scores = np.array([0.9, 0.5, 0.3, 0.4, 0.7, 0.2, 0.6, 0.1, 0.9])
    tied, first, last = (quick(scores - 1e-9 * (np.arange(9) == k), grid) for k in (-1, 8, 0))
    for key in ("maxima", "mean_change"):
        path = f"all_hyperparameters.{key}"
        assert tied[path] > 0
        assert tied[path] == pytest.approx((first[path] + last[path]) / 2, abs=1e-5)


def test_what_the_published_way_counts_otherwise() -> None:
    """Dies if its off-by-ones are taken over."""
    scores, x = np.array([0.5, 1.0, 0.995, 0.8, 0.8]), {"x": [1, 2, 2, 3, 3]}
    ours = quick(scores, x, ks=(1, 2))
    assert (ours["rel_at_k.1"], ours["rel_at_k.2"]) == (100.0, pytest.approx(99.5))
    assert ours["best_equivalent"] == pytest.approx(25.0)
    change = 100 * (0.4975 + 0.1975) / 2
    assert ours["by_hyperparameter.x.mean_change"] == pytest.approx(change)


def test_conditions_and_orders() -> None:
    """Dies if inactive runs count, or categories are ordered by their spelling."""
    values = {
        "scheduler": ["none", "plateau", "plateau", "warm", "plateau", "none"],
        "factor": ["", "0.1", "0.2", "0.9", "0.3", ""],
    }
    scores = np.array([0.1, 0.5, 0.9, 0.2, 0.6, 0.3])
    tree: dict = {
        "scheduler": {"choices": ["none", "plateau", "warm"], "ordered": True},
        "factor": {"uniform": [0, 1], "when": {"scheduler": ["plateau"]}},
    }
    found = analyze(scores, values, space=space.from_dict(tree), resamples=0)
    assert found.with_effect == {"scheduler": 6, "factor": 3}
    assert found.values["by_hyperparameter.factor.maxima"] == 1
    assert found.values["by_hyperparameter.scheduler.maxima"] == 1
    ranked = axes(values, 6, space.from_dict(tree))
    (gaps,) = metrics._gower(ranked, np.array([2]))  # over what has an effect in both runs
    assert gaps.tolist() == [0.5, 0.25, 0.0, 0.5, 0.25, 0.5]
    free = analyze(scores, values, resamples=0)
    assert free.with_effect["factor"] == 4  # an empty number has no place
    assert "by_hyperparameter.scheduler.maxima" not in free.values  # words have no order
    tree["scheduler"]["choices"] = ["none", "plateau"]
    with pytest.raises(ConfigError, match="the order lacks 'warm'"):
        quick(scores, values, space=space.from_dict(tree))
    with pytest.raises(ConfigError, match="factor: its condition names scheduler"):
        quick(scores, {"factor": values["factor"]}, space=space.from_dict(tree))


def test_intervals_cover() -> None:
    """Dies if intervals are too narrow, or relative ones are percentiles: those cover .74 here."""
    population = np.append(np.full(30, 0.96), np.random.default_rng(7).beta(30, 3, 170))
    population[:2] = 0.999, 0.99  # two of 200 settings stand out
    draw = np.random.default_rng(8)
    many = -np.sort(-draw.choice(population, (4000, 100)))
    truth = {f"rel_at_k.{k}": np.mean(100 * many[:, k - 1] / many[:, 0]) for k in (5, 25)}
    pairs = np.abs(population[:, None] - population) <= 0.01
    truth["expected_equivalent"] = 100 * pairs.mean()
    hits = dict.fromkeys(truth, 0)
    for trial in range(100):
        analysis = analyze(draw.choice(population, 100), {}, ks=(5, 25), resamples=200, seed=trial)
        for path, value in truth.items():
            interval = analysis.metrics[path].interval
            assert interval is not None
            hits[path] += interval.low <= value <= interval.high
    assert min(hits.values()) >= 89


def test_a_difference_of_sweeps_has_an_interval() -> None:
    """Dies if the sign is lost, equal sweeps are told apart, or halves are not scaled up."""
    worse = SCORES * 0.8
    a, b = (analyze(s, {"x": RATE}, resamples=200, seed=k) for k, s in enumerate((SCORES, worse)))
    gap = difference(a, b)["mean"]
    assert gap.value == pytest.approx(a.values["mean"] - b.values["mean"])
    assert gap.interval is not None and 0 < gap.interval.low < gap.value < gap.interval.high
    change = "by_hyperparameter.x.mean_change"
    assert a.draws[change].mean() == pytest.approx(a.values[change])  # of halves, centred
    counts = np.unique(a.draws["by_hyperparameter.x.maxima"].round(6))  # of halves, to the whole
    assert np.diff(counts).min() == pytest.approx(58 / 28, abs=1e-5)
    same = difference(a, analyze(SCORES, {"x": RATE}, resamples=200, seed=5))["mean"].interval
    assert same is not None and same.low < 0 < same.high


def test_degenerate_sweeps() -> None:
    """Dies if constant scores or hyperparameters divide by zero, or bad ones pass."""
    flat = analyze(np.full(10, 0.5), {"x": [1] * 10, "y": range(10)}, ks=(5,), resamples=50)
    assert flat.values["best_equivalent"] == flat.values["expected_equivalent"] == 100
    assert not any(path.endswith(".rho") for path in flat.metrics)
    assert [path for path, of in flat.metrics.items() if of.interval] == ["share_zero"]
    zero = analyze(np.zeros(10), {}, ks=(5,), resamples=50)
    assert (zero.values["share_zero"], zero.values["rel_at_k.5"]) == (100, 0)
    failed = zero.metrics["share_zero"].interval
    assert failed is not None
    assert failed[:2] == pytest.approx((100 / (1 + 1.96**2 / 10), 100), abs=0.01)  # Wilson's
    tiny = analyze([0.5, 0.6, 0.7], {}, resamples=300)  # some draws hold one run alone
    assert tiny.values["expected_equivalent"] == 0
    for scores, x, message in (
        ([0.5, 85, 1], [], "from 0 to 1, found 85"),
        ([0.5, 0.6], [], "at least 3"),
        ([0.1, 0.2, 0.3], [1, 2], "x: expected 3 values, one per run, found 2"),
    ):
        with pytest.raises(DataError, match=message):
            analyze(scores, {"x": x})
