"""The sensitivity metrics against plain loops, by hand, and in the three conventions."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from jaxeval.errors import ConfigError, DataError
from jaxeval.sensitivity import Analysis, analyze, difference
from jaxeval.sensitivity.hyperparameters import Declared

DRAW = np.random.default_rng(0)
SCORES = np.round(DRAW.beta(4, 1, 60), 3)
BATCH = DRAW.choice([16, 32, 64, 128, 256], 60)
RATE = 10 ** DRAW.uniform(-5, -2, 60)


def quick(scores: np.ndarray, values: dict, **how: object) -> Analysis:
    return analyze(scores, values, resamples=0, **how)  # type: ignore[arg-type]


def _shares(scores: np.ndarray) -> tuple[float, float]:
    """Other runs within a point of the best, and of any run, by loops on whole thousandths."""
    whole = [round(1000 * s) for s in scores]
    n, best = len(whole), max(whole)
    near = sum(best - s <= 10 for s in whole) - 1
    pairs = sum(abs(whole[i] - whole[j]) <= 10 for i in range(n) for j in range(n) if i != j)
    return 100 * near / (n - 1), 100 * pairs / n / (n - 1)


def test_scores_against_loops() -> None:
    """Dies if k is off by one, the best counts as its own equal, or the ROPE loses its border."""
    analysis = quick(SCORES, {}, ks=(1, 25, 60, 61))
    falling = sorted(SCORES, reverse=True)
    assert analysis.rel_at_k == pytest.approx(
        {1: 100.0, 25: 100 * falling[24] / falling[0], 60: 100 * falling[59] / falling[0]}
    )
    assert analysis.mean_at_k[25] == pytest.approx(100 * np.mean(falling[:25]) / falling[0])
    assert analysis.skipped == (61,)
    assert (analysis.best_equivalent, analysis.expected_equivalent) == pytest.approx(
        _shares(SCORES)
    )
    assert (analysis.n, analysis.max, analysis.mean) == (60, 100 * falling[0], 100 * SCORES.mean())


@pytest.mark.parametrize("values", [BATCH, RATE])
def test_profiles_against_loops(values: np.ndarray) -> None:
    """Dies if ties are not averaged, ends count as maxima, or distances are not in ranks."""
    profile = quick(SCORES, {"x": values}).by_hyperparameter["x"]
    distinct = sorted(set(values))
    line = [SCORES[values == v].mean() for v in distinct]
    inner = range(1, len(line) - 1)
    assert profile.maxima == sum(line[k - 1] < line[k] > line[k + 1] for k in inner)
    assert profile.mean_change == pytest.approx(
        100 * np.mean([abs(line[k] - line[k - 1]) for k in range(1, len(line))])
    )
    ranks = np.array([distinct.index(v) for v in values])
    best = np.flatnonzero(SCORES.max() == SCORES)
    rhos = [stats.spearmanr(np.abs(ranks - ranks[b]), -SCORES).statistic for b in best]
    assert profile.rho == pytest.approx(np.mean(rhos))
    assert profile.points == len(distinct)


def test_conventions_differ_as_documented() -> None:
    """Dies if published and text lose their off-by-ones (hand-computed)."""
    scores = np.array([0.5, 1.0, 0.995, 0.8, 0.8])
    values = {"x": [1, 2, 2, 3, 3]}
    published = quick(scores, values, ks=(1, 2), convention="published")
    assert published.rel_at_k == pytest.approx({1: 99.5, 2: 80.0})
    assert published.mean_at_k == pytest.approx({1: 100.0, 2: 99.75})
    assert published.best_equivalent == pytest.approx(100 * 2 / 4)
    assert published.expected_equivalent == pytest.approx(100 * 4 / 5 / 4)
    # laid out by falling x, then falling score: .8 .8 1 .995 .5
    of_published = published.by_hyperparameter["x"]
    assert (of_published.maxima, of_published.mean_change) == (
        1,
        pytest.approx(100 * (0.2 + 0.005 + 0.495) / 4),
    )
    text = quick(scores, values, ks=(1, 2), convention="text")
    assert text.rel_at_k == pytest.approx({1: 100.0, 2: 99.5})
    assert text.mean_at_k == pytest.approx({1: 99.5, 2: 89.75})
    assert text.by_hyperparameter["x"].mean_change == pytest.approx(100 * 0.7 / 5)
    default = quick(scores, values, ks=(1, 2))
    assert default.best_equivalent == pytest.approx(25.0)
    assert default.by_hyperparameter["x"].mean_change == pytest.approx(100 * (0.4975 + 0.1975) / 2)


def test_single_precision_scores_keep_their_decimals() -> None:
    """Dies if scores a point apart are not equivalent because they were stored as float32."""
    scores = np.array([0.99, 0.98, 0.5], np.float32).astype(np.float64)
    assert abs(scores[0] - scores[1]) != 0.01
    assert quick(scores, {}, ks=()).best_equivalent == pytest.approx(50.0)


def test_conditions_and_orders() -> None:
    """Dies if inactive runs count, or categories are ordered by their spelling."""
    values = {
        "scheduler": ["none", "plateau", "plateau", "warm", "plateau", "none"],
        "factor": ["", "0.1", "0.2", "0.9", "0.3", ""],
    }
    scores = np.array([0.1, 0.5, 0.9, 0.2, 0.6, 0.3])
    declared = Declared(
        {"scheduler": ["none", "plateau", "warm"]}, {"factor": {"scheduler": ["plateau"]}}
    )
    analysis = quick(scores, values, declared=declared, ks=())
    assert analysis.by_hyperparameter["factor"].n == 3
    assert analysis.by_hyperparameter["factor"].maxima == 1
    assert analysis.by_hyperparameter["scheduler"].maxima == 1
    free = quick(scores, values, ks=())
    assert free.by_hyperparameter["factor"].n == 4  # an empty number has no place
    assert free.by_hyperparameter["scheduler"].maxima is None  # words have no order
    with pytest.raises(ConfigError, match="the order lacks 'warm'"):
        quick(scores, values, declared=Declared({"scheduler": ["none", "plateau"]}))
    with pytest.raises(ConfigError, match="rate: no such hyperparameter"):
        quick(scores, values, declared=Declared({"rate": ["1"]}))
    with pytest.raises(ConfigError, match="its condition names optimiser"):
        quick(scores, values, declared=Declared({}, {"factor": {"optimiser": ["sgd"]}}))


@settings(max_examples=40, deadline=None)
@given(st.permutations(range(60)), st.floats(0.1, 10))
def test_order_of_runs_and_unit_of_values_change_nothing(order: list[int], unit: float) -> None:
    """Dies if a metric depends on the order of the table or the unit of a hyperparameter."""
    scores = SCORES + np.arange(60) * 1e-5 / 60  # no ties, so that one run is best
    scores = np.minimum(scores, 1.0)
    before = quick(scores, {"batch": BATCH, "rate": RATE})
    rows = np.array(order)
    other = quick(scores[rows], {"batch": BATCH[rows] * unit, "rate": RATE[rows] * unit})
    for name, profile in before.by_hyperparameter.items():
        assert profile == pytest.approx(other.by_hyperparameter[name])
    assert before.rel_at_k == other.rel_at_k
    assert before.all_hyperparameters == pytest.approx(other.all_hyperparameters)


def test_intervals_cover() -> None:
    """Dies if intervals are far too narrow: 90 % ones of sweeps with a known truth."""
    big = np.random.default_rng(1).beta(4, 1, 40_000)
    truth = quick(np.round(big, 4), {}, ks=()).expected_equivalent
    hit = 0
    for trial in range(60):
        scores = np.round(np.random.default_rng(100 + trial).beta(4, 1, 100), 4)
        analysis = analyze(scores, {}, ks=(), confidence=0.9, resamples=300, seed=trial)
        interval = analysis.intervals["expected_equivalent"]
        hit += interval.low <= truth <= interval.high
    assert hit / 60 >= 0.9 - 3 * np.sqrt(0.9 * 0.1 / 60)


def test_intervals_relative_to_the_best_cover() -> None:
    """Dies if they are percentiles: one run that stands out makes those cover .74 here."""
    population = np.append(np.full(30, 0.96), np.random.default_rng(7).beta(30, 3, 170))
    population[:2] = 0.999, 0.99  # two of 200 settings stand out
    draw = np.random.default_rng(8)
    many = -np.sort(-draw.choice(population, (4000, 100)))
    truth = {f"rel_at_k.{k}": np.mean(100 * many[:, k - 1] / many[:, 0]) for k in (5, 25)}
    hits = dict.fromkeys(truth, 0)
    for trial in range(100):
        analysis = analyze(draw.choice(population, 100), {}, ks=(5, 25), resamples=200, seed=trial)
        for path, value in truth.items():
            hits[path] += analysis.intervals[path].low <= value <= analysis.intervals[path].high
    assert min(hits.values()) >= 89


def test_a_difference_of_sweeps_has_an_interval() -> None:
    """Dies if the sign is lost, or equal sweeps are told apart."""
    worse = SCORES * 0.8
    a, b = (analyze(s, {"x": RATE}, resamples=200, seed=k) for k, s in enumerate((SCORES, worse)))
    gap = difference(a, b)["mean"]
    assert gap.estimate == pytest.approx(a.mean - b.mean)
    assert 0 < gap.interval.low < gap.estimate < gap.interval.high
    same = difference(a, analyze(SCORES, {"x": RATE}, resamples=200, seed=5))["mean"]
    assert same.interval.low < 0 < same.interval.high
    with pytest.raises(ConfigError, match="one convention"):
        difference(a, analyze(SCORES, {}, convention="text", resamples=0))


def test_a_difference_of_sweeps_ends_where_the_metric_does() -> None:
    """Dies if two percentages are said to differ by up to 123 points."""
    same, apart = np.append(np.full(11, 0.8), 0.1), np.append(np.linspace(0, 0.6, 11), 0.8)
    a, b = (analyze(s, {}, ks=(), resamples=300, seed=k) for k, s in enumerate((same, apart)))
    gap = difference(a, b)["best_equivalent"]
    assert (gap.estimate, gap.interval.high) == (pytest.approx(1000 / 11), 100)
    assert 0 < gap.interval.low < gap.estimate
    mirrored = difference(b, a)["best_equivalent"].interval
    assert (mirrored.low, mirrored.high) == (-100, pytest.approx(-gap.interval.low))


def test_degenerate_sweeps() -> None:
    """Dies if constant scores or hyperparameters divide by zero, or bad ones pass."""
    flat = analyze(np.full(10, 0.5), {"x": [1] * 10, "y": range(10)}, ks=(5,), resamples=50)
    assert flat.best_equivalent == flat.expected_equivalent == 100
    assert flat.by_hyperparameter["x"].rho is None and flat.by_hyperparameter["y"].rho is None
    assert set(flat.intervals) == {"share_zero"}  # of what resamples do not change there is none
    zero = analyze(np.zeros(10), {}, ks=(5,), resamples=50)
    assert (zero.share_zero, zero.rel_at_k[5]) == (100, 0)
    failed = zero.intervals["share_zero"]
    assert failed[:2] == pytest.approx((100 / (1 + 1.96**2 / 10), 100), abs=0.01)  # Wilson's
    gap = difference(flat, zero)
    assert set(gap) == {"share_zero"} and gap["share_zero"].interval.high < 0
    tiny = analyze([0.5, 0.6, 0.7], {}, ks=(1,), resamples=300)  # some draws hold one run alone
    assert tiny.expected_equivalent == 0
    for scores, message in (([0.5, 85, 1], "from 0 to 1, found 85"), ([0.5, 0.6], "at least 3")):
        with pytest.raises(DataError, match=message):
            analyze(scores, {})
    with pytest.raises(DataError, match="x: expected 3 values, one a run, found 2"):
        analyze([0.1, 0.2, 0.3], {"x": [1, 2]})
    with pytest.raises(ConfigError, match="convention"):
        analyze([0.1, 0.2, 0.3], {}, convention="paper")  # type: ignore[arg-type]


SWEEP = Path(os.environ.get("JAXEVAL_DATA", "/nowhere")) / "scores/wiemerslage2024"


@pytest.mark.skipif(not SWEEP.is_dir(), reason="JAXEVAL_DATA names no folder with the raw sweeps")
def test_published_figures_of_a_raw_sweep() -> None:
    """Dies if the published convention stops giving the printed figures (Albanian, LSTM)."""
    path = SWEEP / "albanian-attentive_lstm-sig-2017-inflection.tsv"
    with path.open() as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))[:200]
    analysis = quick(
        np.array([float(row["max_val_accuracy"] or 0) for row in rows]),
        {"batch_size": [row["batch_size"] for row in rows]},
        convention="published",
    )
    shown = (analysis.best_equivalent, analysis.expected_equivalent, analysis.mean_at_k[150])
    assert [round(v, 2) for v in (*shown, analysis.rel_at_k[150])] == [83.42, 71.32, 99.86, 99.5]
    profile = analysis.by_hyperparameter["batch_size"]
    assert profile.maxima == 37 and profile.mean_change == pytest.approx(10.82, abs=0.005)
