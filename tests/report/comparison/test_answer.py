"""The first sentence of a comparison of scores, for designs of all sizes."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import jaxeval
from jaxeval.report.comparison import answer, verdict
from jaxeval.runs import flat
from jaxeval.runs.flat import ScoreTable
from jaxeval.runs.imported import Columns
from jaxeval.runs.layout import Layout
from jaxeval.stats import comparison
from jaxeval.stats import study as studies
from jaxeval.stats.pairwise import Rules
from jaxeval.stats.study import ScoreStudy


def _table(
    means: Mapping[str, float],
    datasets: int = 1,
    n: int = 6,
    sd: float = 0.01,
    failed: Mapping[str, int] | None = None,
    metric: str = "score",
    higher: bool = True,
) -> ScoreTable:
    """Normal scores, the same for a model wherever it stands in the table."""
    columns: dict[str, list[object]] = {
        name: [] for name in ("model", "seed", "dataset", metric, "status")
    }
    for model, mean in means.items():
        draw = np.random.default_rng(sum(map(ord, model)))
        for dataset in range(datasets):
            for seed, noise in enumerate(draw.normal(scale=sd, size=n)):
                fails = seed < (failed or {}).get(model, 0)
                score = None if fails else float(mean + noise)
                ended = "diverged" if fails else "finished"
                row = (model, seed, f"d{dataset}", score, ended)
                for column, value in zip(columns.values(), row, strict=True):
                    column.append(value)
    if datasets == 1:
        del columns["dataset"]
    given: Any = columns
    layout = Layout({"score": metric}, missing="drop", higher_is_better=higher)
    return flat.of_columns(Columns("t", given, range(1, 1 + len(columns["model"]))), layout)


def _study(
    table: ScoreTable, unit: Any = None, control: str | None = None, **rules: Any
) -> ScoreStudy:
    return studies.study(table, Rules(resamples=99, **rules), unit, control=control)


def _said(study: ScoreStudy) -> list[str]:
    return answer.sentences(study, verdict.scale_of(study))


@pytest.mark.parametrize("higher", [True, False])
@pytest.mark.parametrize("datasets", [1, 2, 6])
@pytest.mark.parametrize("models", [2, 3, 5])
def test_the_best_is_named_whichever_comes_first(models: int, datasets: int, higher: bool) -> None:
    """Dies if a direction is turned round, of losses too, or depends on the order of models."""
    means = {f"m{k}": 0.5 + 0.1 * k for k in range(models)}
    best, *others = sorted(means, key=lambda m: means[m], reverse=higher)
    where = {1: "", 2: " on both data sets", 6: " on all 6 data sets"}[datasets]
    side = "higher" if higher else "lower"
    for given in (means, dict(reversed(means.items()))):
        study = _study(_table(given, datasets, higher=higher))
        first, *rest = _said(study)
        if models > 2:
            named = re.match(r"(m\d) is best: it is better than (m\d)", first)
            assert named and named.groups() == (best, others[0])
            assert first.endswith(f"{where}.") and not rest
            continue
        assert first.startswith(f"{best} is better than {others[0]}{where}: score 0.")
        assert f" {side}, " in first and "(Welch's t, 6 runs each)" in first
        if datasets == 1:
            (pair,) = study.comparison.pairs
            size, low, high = map(float, re.findall(r"0\.\d+", first)[:3])
            assert 0 < low < size < high
            assert size == pytest.approx(abs(pair.effects["difference"].estimate), abs=1e-4)
            (chance,) = rest
            assert chance.startswith(f"A run of {best} is better than one of {others[0]} with ")
        else:
            assert "corrected p < .001" in first


def test_a_model_that_is_not_told_from_the_best_is_not_called_worse() -> None:
    """Dies if the sentence rests on means, or on p-values before the correction."""
    study = _study(_table({"a": 0.5, "b": 0.6, "c": 0.6}))
    shown = {
        (p.scores.a, p.scores.b): comparison.location(p, study.comparison.rules)
        for p in study.comparison.pairs
    }
    assert shown == {("a", "b"): -1, ("a", "c"): -1, ("b", "c"): 0}
    first, second, third = answer.order(study)
    assert _said(study) == [f"{first} scores best; {second} cannot be told from it; a is worse."]
    assert third == "a"
    of = {pair.scores.a + pair.scores.b: pair for pair in study.comparison.pairs}
    assert of["bc"].adjusted["welch_t"] > 0.05


@pytest.mark.parametrize(("models", "datasets"), [(2, 1), (2, 2), (2, 6), (3, 1), (5, 2)])
def test_nothing_shown_says_what_would_have_been_detected(models: int, datasets: int) -> None:
    """Dies if absence of a difference is called equality, or has no power beside it."""
    study = _study(_table({f"m{k}": 0.5 for k in range(models)}, datasets, n=5))
    assert not any(comparison.location(p, study.comparison.rules) for p in study.comparison.pairs)
    first = _said(study)[0]
    who = "m0 and m1" if models == 2 else f"the {models} models"
    assert re.match(f"No difference between ({who}|m1 and m0) was shown", first)
    on = {1: "", 2: " on either data set", 6: " on any of the 6 data sets"}[datasets]
    assert f" was shown{on}" in first
    sizes = [pair.plan.detectable_difference for pair in study.comparison.pairs]
    found = re.search(
        r"; a difference of ([\d.]+)(?: to ([\d.]+))? is detected \(power 80 %\)\.$", first
    )
    assert found
    ends = [float(end) for end in found.groups() if end]
    known = [size for size in sizes if size is not None]
    assert ends == pytest.approx([min(known), max(known)][: len(ends)], rel=0.02)


def test_a_difference_that_was_not_shown_keeps_its_sign() -> None:
    """Dies if the size belongs to the other order of the models."""
    for names in ("ab", "ba"):
        study = _study(_table(dict.fromkeys(names, 0.5)))
        (pair,) = study.comparison.pairs
        first = _said(study)[0]
        size = float(re.findall(r"score (-?[\d.]+) ", first)[0])
        assert f" ({names[0]} - {names[1]}), 95 % CI [" in first
        assert np.sign(size) == np.sign(pair.effects["difference"].estimate)


@pytest.mark.parametrize("models", [2, 5])
def test_a_design_that_can_show_nothing_says_so_first(models: int) -> None:
    """Dies if models that are wholly apart are called alike where two runs show nothing, or if
    the number of runs that would show something does not."""
    means = {f"m{k}": 0.1 * (k + 1) for k in range(models)}
    first = _said(_study(_table(means, n=2, sd=1e-4)))[0]
    who = "m0 and m1" if models == 2 else "5 models"
    found = re.fullmatch(
        rf"{who} with 2 runs each cannot show any difference at level \.05; (\d+) runs each would "
        r"show one of 3 sds\.",
        first,
    )
    assert found
    assert "cannot show" not in _said(_study(_table(means, n=int(found[1]), sd=1e-4)))[0]


def test_four_data_sets_show_nothing() -> None:
    """Dies if data sets are called runs, or a conclusion is drawn from four of them."""
    table = _table({"a": 0.5, "b": 0.6, "c": 0.7}, datasets=4, n=1)
    assert _said(_study(table))[0].startswith(
        "3 models with 4 data sets cannot show any difference at level .05; "
    )


@pytest.mark.parametrize(("gap", "shown"), [(0.0, True), (0.1, False)])
def test_equivalence_is_said_of_whom_it_was_shown(gap: float, shown: bool) -> None:
    """Dies if models beyond the margin are equivalent, or others are not named."""
    said = _said(_study(_table({"a": 0.5, "b": 0.5 + gap}), margin=0.05))
    assert said[-1].startswith(
        "Equivalent within 0.05" if shown else "Equivalence within 0.05 was n"
    )
    three = _said(_study(_table({"a": 0.5, "b": 0.5 + gap, "c": 0.9}), margin=0.05))
    assert three[1] == (
        "Equivalent within 0.05 (TOST): a and b."
        if shown
        else "Equivalence within 0.05 was not shown of any pair (TOST)."
    )


def test_failed_runs_are_in_the_answer() -> None:
    """Dies if five failures in ten leave the sentence as it was, or are not counted."""
    said = _said(_study(_table({"a": 0.5, "b": 0.6}, n=10, failed={"b": 5})))
    assert said[0].startswith("Of the runs that finished, b is better than a: ")
    assert "5 of 10 runs of b failed (5 diverged), none of 10 of a; " in said[-1]
    assert "b fails more often than a (p = .033, Fisher's exact test)." in said[-1]
    assert "probability 0.50" in said[1] and said[1].endswith("; failed runs count as the worst.")
    alike = _said(_study(_table({"a": 0.5, "c": 0.5}, n=10, failed={"c": 5})))
    assert alike[0].startswith("Of the runs that finished, no difference between a and c was ")
    assert "(Welch's t, 5 and 10 runs)" in alike[0]
    whole = _said(_study(_table({"a": 0.5, "b": 0.6}, n=10)))
    assert whole[0].startswith("b is better than a: ") and len(whole) == 2


def test_percent_and_fractions_are_points() -> None:
    """Dies if a difference of fractions is not in points, or one of percentages is multiplied."""
    said = _said(_study(_table({"a": 0.5, "b": 0.6}, metric="f1")))
    assert re.match(r"b is better than a: f1 (9|10)\.\d+ points higher, 95 % CI \[\d", said[0])
    said = _said(_study(_table({"a": 50.0, "b": 60.0}, metric="f1", sd=1.0)))
    assert re.match(r"b is better than a: f1 (9|10)\.\d+ higher, 95 % CI \[\d", said[0])


def test_a_control_is_the_one_that_others_are_compared_with() -> None:
    """Dies if a model is called better than another that it was not compared with."""
    means = {"base": 0.5, "good": 0.6, "bad": 0.4, "same": 0.5}
    said = _said(_study(_table(means), control="base"))
    assert said == ["Against base, better: good; worse: bad; no difference was shown: same."]


def test_measures_that_disagree_are_no_win() -> None:
    """Dies if a model of the lower mean is called better since most of its runs are."""
    k = np.arange(40)
    y = 0.7 + k * 1e-4
    x = y + np.where(k < 21, -5e-4 - k * 1e-5, 0.03 + k * 1e-3)
    (first, *_) = jaxeval.compare(x, y, paired=True).to_dict()["answer"]  # type: ignore[misc]
    assert first.startswith("Measures of location disagree: Wilcoxon signed-rank finds A's scores")
    assert "is better than" not in first


def test_equal_scores_at_all_seeds_are_said_to_be_one_run() -> None:
    """Dies if five copies of one score are compared, or nothing is said of them."""
    study = _study(_table({"a": 0.9, "b": 0.8}, sd=0.0))
    assert [line.split(" at every")[0] for line in _said(study)] == [
        "a gives 0.9000",
        "b gives 0.8000",
    ]
