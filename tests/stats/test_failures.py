"""Runs that failed: how often a run is better with them, and Fisher's tests of their shares."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import jaxeval
from jaxeval.errors import DataError
from jaxeval.runs import flat
from jaxeval.runs.layout import Layout
from jaxeval.stats import failures, multiple, study
from jaxeval.stats.failures import Counts
from jaxeval.stats.pairwise import Rules
from jaxeval.stats.study import ScoreStudy


def _table(folder: Path, cells: dict[tuple[str, str], list[float | None]], axis: str) -> str:
    path = folder / "t.csv"
    rows = [f"model,dataset,{axis},status,f1"]
    for (model, dataset), scores in cells.items():
        for k, score in enumerate(scores):
            ended = f"diverged,{'' if score is None else score}"
            rows.append(f"{model},{dataset},{k},{ended if score is None else f'finished,{score}'}")
    path.write_text("\n".join(rows))
    return str(path)


def _study(path: str, lower: bool = False) -> ScoreStudy:
    layout = Layout(higher_is_better=not lower)
    return study.study(flat.read(path, layout), Rules(resamples=99))


@pytest.mark.parametrize("lower", [False, True])
def test_how_often_a_run_is_better_counts_failed_ones_as_the_worst(
    tmp_path: Path, lower: bool
) -> None:
    """Against a loop over all pairs of runs, on two data sets; dies if a failed run is left out,
    is better than a loss, or is not tied with another failed one."""
    draw = np.random.default_rng(3)
    cells: dict[tuple[str, str], list[float | None]] = {}
    for model, dataset, lost in (("A", "x", 3), ("B", "x", 1), ("A", "y", 0), ("B", "y", 2)):
        scores = draw.normal(60, 1, 8).round(2).tolist()
        cells[model, dataset] = [*scores[lost:], *[None] * lost]
    found = _study(_table(tmp_path, cells, "seed"), lower)
    expected = []
    for pair in found.comparison.pairs:
        of = pair.scores
        wins = 0.0
        for x, y in itertools.product(cells["A", of.dataset], cells["B", of.dataset]):
            if x is None or y is None:
                wins += 0.5 if x is y else float(y is None)
            else:
                wins += 0.5 if x == y else float((x < y) if lower else (x > y))
        expected.append(wins / 64)
        assert pair.effects["probability_of_improvement"].estimate == pytest.approx(wins / 64)
        assert pair.effects["probability_of_improvement"].n == (8, 8)
        assert len(of.first) == sum(s is not None for s in cells["A", of.dataset])
    assert found.across is not None and found.across.aggregates is not None
    ((_, overall),) = found.across.aggregates.improvement.items()
    assert overall.estimate == pytest.approx(np.mean(expected))


def test_pairs_of_which_one_failed_are_lost_by_it(tmp_path: Path) -> None:
    """Splits decide pair by pair; dies if a split on which A failed is left out."""
    a: list[float | None] = [None, None, 0.72, 0.73, 0.74, 0.75, 0.76]
    b: list[float | None] = [0.60, None, 0.62, 0.62, 0.63, 0.64, 0.66]
    found = _study(_table(tmp_path, {("A", "x"): a, ("B", "x"): b}, "split"))
    (pair,) = found.comparison.pairs
    assert pair.scores.by_pairs and pair.effects["difference"].n == (5,)
    assert pair.effects["probability_of_improvement"].estimate == pytest.approx(5.5 / 7)


def test_rates_against_scipy_and_the_other_way_round() -> None:
    """Dies if rates are tested one-sided, or without the correction over all pairs."""
    counts = {("A", "x"): Counts(9, 1), ("B", "x"): Counts(0, 10), ("C", "x"): Counts(4, 6)}
    found = failures.failures(counts)
    assert found is not None and [test.higher for test in found.tests] == [1, 1, -1]
    p_values = [
        stats.fisher_exact([counts[t.a, "x"], counts[t.b, "x"]]).pvalue for t in found.tests
    ]
    assert [test.p_value for test in found.tests] == pytest.approx(p_values)
    adjusted = multiple.adjust_p_values(p_values, "holm")
    assert [test.p_adjusted for test in found.tests] == pytest.approx(adjusted)
    mirrored = failures.failures(dict(reversed(counts.items())))
    assert mirrored is not None
    assert {(t.b, t.a): (-t.higher, t.p_adjusted) for t in mirrored.tests} == {
        (t.a, t.b): (t.higher, pytest.approx(t.p_adjusted)) for t in found.tests
    }
    assert failures.failures({("A", ""): Counts(0, 5), ("B", ""): Counts(0, 4)}) is None


def test_records_and_all_runs_of_a_model_failed() -> None:
    """Dies if records with a status are read otherwise, or if a model without scores is passed
    over in silence or ends in a traceback."""
    ended = {"A": ["diverged"] * 5 + ["finished"] * 5, "B": ["finished"] * 10}
    scores = {"A": 0.9, "B": 0.84, "C": 0.7}
    records = [
        {"model": m, "seed": k, "status": s, "f1": scores[m] + k / 1000}
        for m, of in ended.items()
        for k, s in enumerate(of)
    ]
    tree = jaxeval.compare(records).to_dict()
    assert tree["failures"]["counts"] == [
        {"model": "A", "dataset": "", "runs": 10, "n_failed": 5},
        {"model": "B", "dataset": "", "runs": 10, "n_failed": 0},
    ]
    (test,) = tree["failures"]["fisher_exact"]
    assert test["p_value"] == pytest.approx(0.0325, abs=1e-4) and test["higher"] == 1
    assert any("A: 5 of its scores are of runs whose status is" in w for w in tree["warnings"])
    lost = [r | {"status": "crashed", "f1": None} if r["model"] == "A" else r for r in records]
    with pytest.raises(DataError, match="all 10 runs of A failed: no scores to compare"):
        jaxeval.compare(lost)
    few = [r for r in records if r["model"] == "B" or r["seed"] < 6]
    with pytest.raises(DataError, match=r"A: 1 score, .*; runs that failed: 5 of A$"):
        jaxeval.compare(few)
    more = [{**r, "model": "C", "f1": r["f1"] - 0.1} for r in records if r["model"] == "B"]
    answer = jaxeval.compare([*lost, *more]).to_dict()["answer"]
    assert answer[0].startswith("Of the runs that finished, B is better than C")
    assert any("10 of 10 runs of A failed (10 crashed)" in line for line in answer)
