"""The table for a paper: bold only where a model was shown to be better than all others."""

from typing import Any

import numpy as np
import pytest

from jaxeval.report import Bold, Heading, comparison
from jaxeval.report.comparison import Comparison, tables
from jaxeval.stats import Rules, hypotheses, study
from jaxeval.stats.study import Study
from tests.stats import cubes


def _study(means: dict[str, list[float]], seeds: int, higher: bool = True) -> Study:
    """Models with means on data sets d0, d1 ...; the same noise in all cells."""
    noise = np.random.default_rng(1).normal(0, 0.01, seeds)
    count = len(next(iter(means.values())))
    cells = {f"d{d}": {m: of[d] + noise for m, of in means.items()} for d in range(count)}
    return study.study(cubes.runs(cells, higher, "f1"), Rules(resamples=99))  # type: ignore[arg-type]


def _bold(of: Study) -> set[tuple[str, str]]:
    table = tables.for_paper(of)[0]
    cells = [
        (row[0], name, cell)
        for row in table.rows
        for name, cell in zip(table.columns, row, strict=True)
    ]
    return {(row, name) for row, name, cell in cells if isinstance(cell, Bold)}


@pytest.mark.parametrize("higher", [True, False])
def test_the_best_is_bold_where_it_was_shown(higher: bool) -> None:
    """Dies if the highest mean alone makes a cell bold, or ties are, or losses are turned."""
    means = {"a": [0.5, 0.5, 0.5], "b": [0.7, 0.5, 0.7], "c": [0.6, 0.501, 0.7001]}
    of = _study(means, 10, higher)
    assert _bold(of) == ({("b", "d0")} if higher else {("a", "d0"), ("a", "d2")})
    caption = tables.for_paper(of)[0].caption()
    assert f"({'higher' if higher else 'lower'} is better) over 10 runs" in caption
    assert "(Welch's t, Bergmann-Hommel over 9 comparisons, level .05, two-sided)" in caption
    assert not _bold(_study({"a": [0.5, 0.501], "b": [0.501, 0.5]}, 5))


def test_a_title_says_how_many_models_it_does_not_name() -> None:
    """Dies if the title of a page passes some of the models for all of them."""
    names = [f"m{k}" for k in range(12)]
    title = Comparison(_study({name: [0.5] for name in names}, 5)).document().title
    assert title == "Comparison of m0, m1, m2, m3, m4 and 7 more"


def test_many_pairs_have_only_the_tests_that_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if tests that nobody reads are made, or pairs lose them without a word."""
    for most in ("_MOST_IN_DETAIL", "_MOST_IN_JSON"):
        monkeypatch.setattr(comparison, most, 14)
    made = []
    test = hypotheses.brunner_munzel
    monkeypatch.setattr(
        hypotheses, "brunner_munzel", lambda *a, **k: made.append(a) or test(*a, **k)
    )
    of = Comparison(_study({f"m{k}": [0.1 * k] for k in range(6)}, 5))
    assert len(of.document().blocks) == 4 and not made
    told = "of 15 pairs, the 5 with m5 are shown with all tests; to see others, name their models"
    details = [*of.details()]
    assert told in details and sum(isinstance(block, Heading) for block in details) == 5
    found: Any = of.to_dict()
    assert told in found["notes"] and all(pair["p_adjusted"] < 1 for pair in found["pairs"])
    assert [pair["b"] for pair in found["pairs"] if pair["tests"] and pair["plan"]] == ["m5"] * 5


def test_many_data_sets_go_down_and_single_scores_have_no_sd() -> None:
    """Dies if a table of eight data sets is wider than a page, or single scores have an sd or are
    bold without a test."""
    of = _study({"a": [0.5] * 8, "b": [0.7] * 8}, 10)
    table = tables.for_paper(of)[0]
    assert (len(table.columns), len(table.rows)) == (3, 8)
    assert _bold(of) == {(f"d{d}", "b") for d in range(8)}
    single = _study({"a": [0.5] * 8, "b": [0.7] * 8}, 1)
    table = tables.for_paper(single)[0]
    assert "±" not in "".join(map("".join, table.rows)) and "none is tested" in table.title
    assert not _bold(single)


@pytest.mark.parametrize("higher", [True, False])
def test_a_row_of_two_models_has_the_better_one_first(higher: bool) -> None:
    """Dies if names and numbers of a row are turned apart, or a worse model stands first."""
    *_, pairs = tables.shown(_study({"a": [0.5], "b": [0.7], "c": [0.6]}, 10, higher))
    signs = {row[:2]: row[2].startswith("-") for row in pairs.rows}
    best = "bca" if higher else "acb"
    assert signs == {(best[i], best[k]): not higher for i, k in ((0, 1), (0, 2), (1, 2))}
    assert {row[4] for row in pairs.rows} == {"1.00 [0.80, 1.00]"}


def test_scores_of_data_sets_have_the_decimals_of_their_differences() -> None:
    """Dies if data sets, which differ by far more than models, leave a difference of 1 to 0."""
    cells = {f"d{d}": {"a": [5.0 * d], "b": [5.0 * d + 1 + 0.1 * (d % 3)]} for d in range(12)}
    of = study.study(cubes.runs(cells), Rules(resamples=99))
    assert [row[2] for row in tables.models(of, ["mean"]).rows] == ["28.600", "27.500"]


def test_every_model_has_its_row_beside_a_control() -> None:
    """Dies if of many pairs only those of the best model are shown, of which there is one."""
    cells = {"": {f"m{k:02}": [0.5 + 0.1 * k, 0.6 + 0.1 * k, 0.7] for k in range(15)}}
    of = study.study(cubes.runs(cells), Rules(resamples=99), control="m03")
    *_, pairs = tables.shown(of)
    assert len(pairs.rows) == 14 and {row[1] for row in pairs.rows} == {"m03"}
