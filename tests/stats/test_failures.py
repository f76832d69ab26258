"""Runs that failed: how often a run is better with them, and Fisher's tests of their shares."""

import dataclasses
import itertools

import numpy as np
import pytest
from scipy import stats

from jaxeval.report.comparison import answers
from jaxeval.runs.scores import Scores, Status
from jaxeval.stats import Rules, failures, gaps, multiple, samples, study
from tests.stats.cubes import runs, task


@pytest.mark.parametrize("lower", [False, True])
def test_how_often_a_run_is_better_counts_failed_ones_as_the_worst(lower: bool) -> None:
    """Against a loop over all pairs of runs, on two data sets; dies if a failed run is left out,
    is better than a loss, or is not tied with another failed one."""
    draw = np.random.default_rng(3)
    cells: dict[tuple[str, str], list[float | None]] = {}
    for model, dataset, lost in (("A", "x", 3), ("B", "x", 1), ("A", "y", 0), ("B", "y", 2)):
        scores = draw.normal(60, 1, 8).round(2).tolist()
        cells[model, dataset] = [*scores[lost:], *[None] * lost]
    lost = {key: [np.nan if s is None else s for s in of] for key, of in cells.items()}
    by_data_set = {name: {model: lost[model, name] for model in "AB"} for name in "xy"}
    found = study.study(runs(by_data_set, higher=not lower), Rules(resamples=99))
    expected = []
    for pair in found.pairs:
        wins = 0.0
        for x, y in itertools.product(
            cells["A", pair.data_set or ""], cells["B", pair.data_set or ""]
        ):
            if x is None or y is None:
                wins += 0.5 if x is y else float(y is None)
            else:
                wins += 0.5 if x == y else float((x < y) if lower else (x > y))
        expected.append(wins / 64)
        assert pair.effects["probability_of_improvement"].estimate == pytest.approx(wins / 64)
        assert pair.effects["probability_of_improvement"].n == (8, 8)
        assert pair.n[0] == sum(s is not None for s in cells["A", pair.data_set or ""])
    across = found.run_design and found.run_design.across
    assert across is not None and across.aggregates is not None
    ((_, overall),) = across.aggregates.improvement.items()
    assert overall.estimate == pytest.approx(np.mean(expected))


def test_a_unit_that_has_a_score_did_not_fail() -> None:
    """Dies if a split counts as failed, and as the worst, of which another seed has a score."""
    read = runs({"": {"a": [0.5, 0.6, np.nan, np.nan], "b": [0.5, 0.6, 0.7, 0.8]}})
    (data,) = read.data_sets
    splits = {"split": np.array(["1", "2", "2", "3"], object)}
    models = {m: dataclasses.replace(of, labels=splits) for m, of in data.models.items()}
    read = dataclasses.replace(read, data_sets=(dataclasses.replace(data, models=models),))
    found = samples.samples(read, "split")
    assert found.failed == {"": {"a": ["3"]}}
    assert [len(of.scores) for of in found.by_data_set[""].values()] == [2, 3]


def test_pairs_of_which_one_failed_are_lost_by_it() -> None:
    """Splits decide pair by pair; dies if a split on which A failed is left out."""
    a = [np.nan, np.nan, 0.72, 0.73, 0.74, 0.75, 0.76]
    b = [0.60, np.nan, 0.62, 0.62, 0.63, 0.64, 0.66]
    of = runs({"": {"A": a, "B": b}})
    for model in of.data_sets[0].models.values():
        model.labels["split"] = model.labels.pop("seed")  # type: ignore[index, attr-defined]
    found = study.study(of, Rules(resamples=99))
    (pair,) = found.pairs
    assert pair.primary == "paired_t" and pair.effects["difference"].n == (5,)
    assert pair.effects["probability_of_improvement"].estimate == pytest.approx(5.5 / 7)


def test_rates_against_scipy_and_the_other_way_round() -> None:
    """Dies if rates are tested one-sided, or without the correction over all pairs."""
    lost = {"A": 9, "B": 0, "C": 4}
    of = {model: [np.nan] * n + [0.5] * (10 - n) for model, n in lost.items()}
    found = failures.compare(runs({"x": of}))
    assert found is not None and [test.higher for test in found.tests] == [1, 1, -1]
    p_values = [
        stats.fisher_exact([(lost[m], 10 - lost[m]) for m in (t.a, t.b)]).pvalue
        for t in found.tests
    ]
    assert [test.p_value for test in found.tests] == pytest.approx(p_values)
    adjusted = multiple.adjust_p_values(p_values, "holm")
    assert [test.p_adjusted for test in found.tests] == pytest.approx(adjusted)
    mirrored = failures.compare(runs({"x": dict(reversed(of.items()))}))
    assert mirrored is not None
    assert {(t.b, t.a): (-t.higher, t.p_adjusted) for t in mirrored.tests} == {
        (t.a, t.b): (t.higher, pytest.approx(t.p_adjusted)) for t in found.tests
    }
    assert failures.compare(runs({"x": {"A": [0.5, 0.6], "B": [0.5]}})) is None


@pytest.mark.parametrize("lower", [False, True])
def test_scores_of_runs_that_seem_to_have_failed_are_named(lower: bool) -> None:
    """Dies if three of ten runs at chance level pass for scores like others, on either side, or
    normal scores, or a tail of one score, are called so."""
    draw = np.random.default_rng(5)
    good, usual = draw.normal(0.7, 0.01, (2, 10))
    some = np.where(np.arange(10) < 3, 0.1, good)
    sign = -1 if lower else 1
    of = {"A": usual * sign, "B": some * sign, "C": np.append(usual[:9], 0.65) * sign}
    found = study.study(runs({"": of}, higher=not lower), Rules(resamples=99))
    (line,) = [line for line in answers.answer(found) if "far worse" in line]
    assert line.startswith("3 of 10 scores of B are")
    assert f"({0.1 * sign:.4g} at best, the others from {good[3:].min() * sign:.4g})" in line


@pytest.mark.parametrize("data_sets", [False, True])
def test_few_scores_that_seem_to_be_of_failed_runs_are_named(data_sets: bool) -> None:
    """Dies if one of three seeds, or of single scores of data sets, turns the answer unnoticed;
    if three seeds of a model that agree by chance are called so, or if a status is asked for that
    is there."""
    if data_sets:
        b = np.linspace(0.3, 0.7, 8)
        a = np.where(np.arange(8) == 5, 0.0, b + 0.02 + 0.001 * np.arange(8))
        of = {f"d{k}": {"A": [a[k]], "B": [b[k]]} for k in range(8)}
    else:
        of = {"": {"A": [0.81, 0.1, 0.82], "B": [0.79, 0.78, 0.8], "C": [0.7, 0.72, 0.7201]}}
    for ended, advice in (({}, "failed, say so in a column status."), ({"A": {"done": 3}}, "")):
        known = dataclasses.replace(runs(of, metric="accuracy"), statuses=ended)
        said = answers.answer(study.study(known, Rules(resamples=99)))
        (line,) = [line for line in said if "far worse" in line]
        assert line.startswith(f"1 of {8 if data_sets else 3} scores of A")
        assert (
            "(worst: d5)" in line if data_sets else "(10, the others from 81)" in line
        )  # percent
        assert line.endswith(advice or "and counts.")


def test_whose_differences_are_named_depends_on_no_order() -> None:
    """Dies if rows in another order name another model."""
    low = np.where(np.arange(8) == 5, -0.6, 0.0)
    of = {"A": 0.7 + low, "B": np.full(8, 0.7), "C": np.linspace(0.7, 0.72, 8)}
    for order in ("ABC", "ACB", "CBA"):
        scores = runs({f"d{k}": {m: [of[m][k]] for m in order} for k in range(8)})
        (line,) = failures.collapsed(scores, samples.samples(scores))
        assert line.startswith("1 of 8 scores of A, less those of C (worst: d5), is")


def test_differences_that_are_equal_but_for_rounding_are_alike() -> None:
    """Dies if one tie among gaps of .1 is called a failed run, as .9 - .8 is not .8 - .7."""
    low = [0.8, 0.8, 0.9, 0.7, 0.6, 0.5]
    of = {f"d{k}": {"A": [round(x + 0.1 * (k != 1), 1)], "B": [x]} for k, x in enumerate(low)}
    scores = runs(of)
    assert not failures.collapsed(scores, samples.samples(scores))


def test_items_with_a_failed_answer_are_counted() -> None:
    """Dies if an item counts as failed only where all its answers are."""
    data = task("t", "acc", {"a": np.ones((9, 2)), "b": np.ones((9, 2))})
    data.models["a"].status[:3, 0] = Status.FAILED
    found = failures.compare(Scores("scores", ("a", "b"), (data,)))
    assert found is not None and found.counts == {("a", "t"): (3, 6), ("b", "t"): (0, 9)}


def test_seeds_that_seem_to_draw_the_split_are_named() -> None:
    """Dies if scores that go together are compared as two samples without a word, or others are
    called so."""
    draw = np.random.default_rng(3)
    split, noise = draw.normal(0.8, 0.03, 8), draw.normal(0, 0.004, (2, 8))
    of = {"A": split + noise[0], "B": split + noise[1], "C": draw.normal(0.8, 0.03, 8)}
    found = study.study(runs({"": of}), Rules(resamples=99)).warnings
    (line,) = [line for line in found if "correlate" in line]
    assert line.startswith("A, B: scores of one seed correlate by 0.9")


@pytest.mark.parametrize(("low", "side"), [(0.7, "is lower"), (0.9, "is higher"), (0.8, "was")])
def test_one_score_beside_runs_is_not_without_an_answer(low: float, side: str) -> None:
    """Dies if the mean beside a deterministic model's score is on the other side of it."""
    of = {"A": np.full(5, 0.8), "B": low + np.linspace(-0.01, 0.01, 5)}
    (said,) = answers.answer(study.study(runs({"": of}), Rules(resamples=99)))
    assert f"If A is deterministic, the mean of B {side}" in said


def test_a_verdict_by_ranks_beside_an_interval_of_means_that_includes_zero() -> None:
    """Dies if one stands beside the other without a word."""
    of = {"A": np.append(np.linspace(0.80, 0.82, 10), 0.7), "B": np.linspace(0.77, 0.79, 11)}
    both = (runs({"": {m: of[m] for m in names}}) for names in ("AB", "BA"))
    said = [answers.answer(study.study(scores))[0] for scores in both]
    assert said[0] == said[1] and said[0].startswith("A is better than B")
    assert said[0].endswith(", though the CI of the means includes 0.")
    apart = {f"d{k}": {"A": [0.8 + k / 64], "B": [0.7 + k / 64]} for k in range(7)}
    assert "includes" not in answers.answer(study.study(runs(apart)))[0]


def test_small_scores_beside_huge_ones_keep_their_gaps() -> None:
    """Dies if a score that is rounded to the digits of a diverged one equals every other."""
    first, second = np.array([1e13, 2e13, 0.3]), np.array([1e13, 2e13, 0.1])
    np.testing.assert_allclose(gaps(first, second), [0, 0, 0.2])
