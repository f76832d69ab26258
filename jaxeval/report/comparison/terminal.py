"""A comparison in the terminal."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxeval.report import tables, text
from jaxeval.report.comparison import overall, single, verdict
from jaxeval.report.comparison import tables as rows
from jaxeval.report.comparison.tables import MOST_PAIRS, is_large
from jaxeval.report.items import terminal as of_items
from jaxeval.report.items import verdict as item_verdict
from jaxeval.report.scores import ScoreFormat
from jaxeval.stats.comparison import Pair
from jaxeval.stats.study import ScoreStudy

if TYPE_CHECKING:
    from rich.console import Console


_MOST_ROWS = 60  # pairs of which differences over items are printed


def print_study(study: ScoreStudy, details: bool = False) -> None:
    """Everything, in the order in which it is read.

    Args:
      details: all models and pairs on all data sets, however many they are.
    """
    console = tables.console()
    scale = verdict.scale_of(study)
    console.print(f"\n{study.table.source}; {verdict.unit(study)}", markup=False)
    console.print(verdict.direction(study), markup=False)
    for line in verdict.counted(study.table):
        console.print(line, markup=False)
    for line in study.warnings:
        console.print(f"warning: {line}", markup=False, style="yellow")
    for of in study.copies:
        console.print(verdict.one_run(study, of, scale), markup=False)
    _print_together(console, study, scale)
    pairs = study.comparison.pairs
    if details or not is_large(study):
        _print_tables(console, study, scale)
        for pair in pairs if details else pairs[:MOST_PAIRS]:
            _print_pair(console, pair, study, scale)
    _print_single(console, study, scale, details)
    _print_items(console, study, details)
    if (len(pairs) > MOST_PAIRS or is_large(study)) and not details:
        console.print(f"\n{_behind(study)}", markup=False)
    console.print(f"\n{verdict.signature(study)}", markup=False, style="dim")


def _print_single(
    console: "Console", study: ScoreStudy, scale: ScoreFormat, details: bool
) -> None:
    """What is said of single trained models, or why nothing is."""
    if study.single is None:
        return
    if study.single.pairs:
        console.print("\nSingle trained models, item by item", markup=False, style="bold")
    else:
        console.print()
    for line in single.shown(study, scale, None if details else MOST_PAIRS):
        console.print(f"  {line}" if study.single.pairs else line, markup=False)


def _print_items(console: "Console", study: ScoreStudy, details: bool) -> None:
    """What other runs, other items and both would bring, side by side."""
    if study.items is None or not (details or len(study.items.pairs) <= _MOST_ROWS):
        return
    console.print("\nAll runs, item by item", markup=False, style="bold")
    said = (line for pair in study.items.pairs for line in pair.difference.warnings)
    for line in dict.fromkeys((*study.items.warnings, *said)):
        console.print(f"  {line}", markup=False)
    console.print()
    tables.print_table(console, *of_items.differences(study.items), (0, 1, 2, 3))
    console.print()
    for line in item_verdict.all_claims(study.items)[: None if details else MOST_PAIRS]:
        console.print(f"  {line}", markup=False)


def _behind(study: ScoreStudy) -> str:
    many = f"{len(study.comparison.pairs)} pairs"
    if study.across is not None and study.samples.unit != "dataset":
        many += " of models on single data sets"
    return f"{many}: --details prints their tests, --json holds them"


def _print_together(console: "Console", study: ScoreStudy, scale: ScoreFormat) -> None:
    """What the data sets together say."""
    for line in overall.headline(study, scale):
        console.print(f"\n{line}", markup=False, style="bold")
    if study.across is None:
        return
    console.print()
    tables.print_table(console, *overall.model_table(study, scale))
    head, improvement = overall.improvement_table(study)
    if improvement:
        console.print()
        tables.print_table(console, head, improvement)
    for line in _ranked(study):
        console.print(line, markup=False)


def _ranked(study: ScoreStudy) -> Iterator[str]:
    """The tests behind the ranks."""
    ranking = None if study.across is None else study.across.ranking
    if ranking is None:
        return
    plain, f = ranking.without_ties
    nemenyi = f"; Nemenyi's critical difference {ranking.critical_difference:.3f} at "
    nemenyi += f"{ranking.alpha:g}"
    chi_squared, davenport = ranking.friedman, ranking.iman_davenport
    tied = abs(plain - chi_squared.statistic) > 1e-9
    yield (
        f"\nFriedman chi-squared {chi_squared.statistic:.3f}, p "
        f"{text.p_value(chi_squared.p_value)}; Iman-Davenport F {davenport.statistic:.3f}, p "
        f"{text.p_value(davenport.p_value)} by permutation"
        + (f" (not corrected for ties: {plain:.3f} and {f:.3f})" if tied else "")
        + ("" if study.across and study.across.against else nemenyi)
    )


def _print_tables(console: "Console", study: ScoreStudy, scale: ScoreFormat) -> None:
    head, models = rows.models(study, scale)
    console.print()
    tables.print_table(console, head, models, (0, 1) if head[0] == "data set" else (0,))
    if len(study.comparison.pairs) > 1:
        console.print()
        tables.print_table(console, *rows.pairs(study, scale), (0, 1, 2))


def _print_pair(console: "Console", pair: Pair, study: ScoreStudy, scale: ScoreFormat) -> None:
    where = f" on {pair.scores.dataset}" if pair.scores.dataset else ""
    console.print(f"\n{pair.scores.a} against {pair.scores.b}{where}", markup=False, style="bold")
    for line in verdict.of_pair(pair, study.comparison.rules, scale):
        console.print(f"  {line}", markup=False)
    console.print()
    roles = {pair.scores.location_test: "primary", pair.scores.spread_test: "spread"}
    tests = [
        (
            f"  {verdict.TESTS[name]}",
            _number(test.statistic, 6),
            _number(test.p_value),
            _number(pair.adjusted[name]),
            roles.get(name, ""),
        )
        for name, test in pair.tests.items()
    ]
    tables.print_table(console, ("  test", "statistic", "p", "corrected p", ""), tests)


def _number(value: float, digits: int = 3) -> str:
    return "-" if math.isnan(value) else f"{value:.{digits}g}"
