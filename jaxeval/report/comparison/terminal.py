"""A comparison in the terminal: the answer, then what it rests on."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from jaxeval.report import folding, standings, tables, text
from jaxeval.report.comparison import answer, overall, single, verdict
from jaxeval.report.comparison import tables as rows
from jaxeval.report.items import answer as item_answer
from jaxeval.report.items import terminal as of_items
from jaxeval.report.items import verdict as item_verdict
from jaxeval.report.scores import ScoreFormat
from jaxeval.stats import study_warnings
from jaxeval.stats.comparison import Pair
from jaxeval.stats.items import leaderboard
from jaxeval.stats.study import Described, ScoreStudy

if TYPE_CHECKING:
    from rich.console import Console

Row = Sequence[str]
Table = tuple[Row, list[Row]]  # head and rows
_MOST_PAIRS = 12  # of which lines are printed
_MOST_DATASETS = 3  # of which each model has a line


def print_study(study: ScoreStudy, details: bool = False) -> None:
    """The answer, models, pairs and notes.

    Args:
      details: every test of every pair too, what data sets say together, and notes as they are.
    """
    console, scale = tables.console(), verdict.scale_of(study)
    console.print()
    for line in [*answer.sentences(study, scale), *_item_by_item(study)]:
        console.print(line, markup=False, style="bold")
    for head, body, words in () if details else _tables(study, scale):
        console.print()
        tables.print_table(console, head, body, words)
    if details:
        _print_details(console, study, scale)
    console.print()
    for line in folding.lines(_notes(study, details), "model", details):
        console.print(line, markup=False, style="yellow")
    for line in [verdict.signature(study)] if details else _short(study):
        console.print(line, markup=False, style="dim")


def _item_by_item(study: ScoreStudy) -> list[str]:
    """The answer of all runs over their items, where these are known."""
    if study.items is None:
        return []
    said = item_answer.sentences(study.items, leaderboard.of(study.items))
    return [f"Item by item, {line.replace('No difference', 'no difference', 1)}" for line in said]


def _notes(study: ScoreStudy, details: bool) -> list[str]:
    """What is to be known of the scores; with details also what the answer says, or leaves out."""
    table = study.table
    if details:
        return [*verdict.counted(table), *study.warnings]
    behind = {*study_warnings.of_details(study.samples, study.comparison, study.across)}
    known = [*table.notes, *(line for line in study.warnings if line not in behind)]
    others = [of for of in table.unusable if of.row not in table.failed.rows]
    return [text.unusable(others, table.missing), *known] if others else known


def _short(study: ScoreStudy) -> Iterator[str]:
    """The tests in a line; where the rest is."""
    yield f"{study.table.source} | {verdict.direction(study)} | {verdict.unit(study)}"
    behind = "--details: all tests, spread, power, notes"
    if study.comparison.primary.comparisons == 1:
        behind = f"{verdict.primary(study.comparison)} | {behind}"
    elif study.comparison.pairs:
        yield f"{verdict.primary(study.comparison)}; intervals are not corrected"
    yield behind


def _tables(study: ScoreStudy, scale: ScoreFormat) -> Iterator[tuple[Row, list[Row], range]]:
    """Models; then a line a pair, or of many data sets a line two models."""
    pairs, datasets = len(study.comparison.pairs), len(study.samples.datasets)
    if datasets > _MOST_DATASETS:
        yield (*_by_dataset(study, scale), range(1))
    else:
        yield (*_models(study, scale), range(min(datasets, 2)))
    if datasets > 1 and pairs > _MOST_PAIRS:
        yield (*_counts(study, scale), range(2))
    elif pairs > 1:
        yield (*_pairs(study, scale), range(1 + min(datasets, 2)))


def _models(study: ScoreStudy, scale: ScoreFormat) -> Table:
    """A row a model and data set, best first."""
    several = len(study.samples.datasets) > 1
    confidence = f"{100 * study.comparison.rules.confidence:g} % CI"
    metric = scale.label(study.table.metric or "score")
    failed = study.failures
    head = (
        *(metric, *(["data set"] if several else []), *(["failed"] if failed else [])),
        *("n", "mean", confidence, "sd"),
    )
    models = [*answer.order(study)]
    models += [model for model in study.table.models if model not in models]
    places = study.samples.datasets.index
    body: list[Row] = [
        (
            *(of.model, *([of.dataset] if several else [])),
            *([str(failed.of(of.model, of.dataset).failed)] if failed else []),
            *(str(of.summary.n), scale(of.summary.mean)),
            *(scale.interval(of.summary.mean_interval), scale(of.summary.sd)),
        )
        for of in sorted(
            study.described, key=lambda of: (places(of.dataset), models.index(of.model))
        )
    ]
    return head, body


def _by_dataset(study: ScoreStudy, scale: ScoreFormat) -> Table:
    """A row a data set, a column a model: mean (sd), the number of runs in the head."""
    cells: dict[str, dict[str, Described]] = {}
    for of in study.described:
        cells.setdefault(of.dataset, {})[of.model] = of
    models = answer.order(study)
    metric = scale.label(study.table.metric or "score")
    counts = {of.summary.n for of in study.described}
    head = (f"{metric}, mean (sd)", *(["n"] if len(counts) == 1 else []), *models)
    body: list[Row] = []
    for dataset, cell in cells.items():
        shown = [
            f"{scale(cell[model].summary.mean)} ({scale(cell[model].summary.sd)})"
            if model in cell
            else "-"
            for model in models
        ]
        body.append((dataset, *([str(*counts)] if len(counts) == 1 else []), *shown))
    return head, body


def _pairs(study: ScoreStudy, scale: ScoreFormat) -> Table:
    """A row a pair: of many those with the best model. A is placed better, or B the control."""
    rules, models = study.comparison.rules, answer.order(study)
    control = answer.control(study)
    models.sort(key=lambda model: model == control)
    several = len(study.samples.datasets) > 1
    pairs = study.comparison.pairs
    if len(pairs) > _MOST_PAIRS:
        best = standings.first(models, answer.shown(study))
        pairs = tuple(pair for pair in pairs if best in (pair.scores.a, pair.scores.b))
    confidence = f"{100 * rules.confidence:g} % CI"
    margin = [] if rules.margin is None else ["equivalent"]
    head = ("A", "B", *(["data set"] if several else []), "A - B", confidence, "P(A better)")
    placed = sorted(pairs, key=lambda pair: _places(pair, study, models))
    corrected = "p" if len(study.comparison.pairs) == 1 else "corrected p"
    return (*head, *margin, corrected), [_pair(pair, study, scale, models) for pair in placed]


def _places(pair: Pair, study: ScoreStudy, models: Sequence[str]) -> tuple[int, ...]:
    of = pair.scores
    places = sorted(map(models.index, (of.a, of.b)))
    return study.samples.datasets.index(of.dataset), *places


def _pair(pair: Pair, study: ScoreStudy, scale: ScoreFormat, models: Sequence[str]) -> Row:
    of, gap = pair.scores, pair.effects["difference"]
    won = pair.effects["probability_of_improvement"]
    turned = models.index(of.a) > models.index(of.b)
    size, chance, interval, bounds = gap.estimate, won.estimate, gap.interval, won.interval
    if turned:
        size, chance = -size, 1 - chance
        interval = interval._replace(low=-gap.interval.high, high=-gap.interval.low)
        bounds = bounds._replace(low=1 - won.interval.high, high=1 - won.interval.low)
    names = (of.b, of.a) if turned else (of.a, of.b)
    within = "yes" if study.comparison.rules.margin and answer.is_equivalent(pair, study) else "-"
    return (
        *(*names, *([of.dataset] if len(study.samples.datasets) > 1 else [])),
        *(scale(size), scale.interval(interval)),
        f"{chance:.2f}" + ("" if bounds.absent else f" {text.bounds(bounds)}"),
        *([] if study.comparison.rules.margin is None else [within]),
        text.p_cell(pair.adjusted[of.location_test]),
    )


def _counts(study: ScoreStudy, scale: ScoreFormat) -> Table:
    """A row two models: on how many data sets each was shown to be better."""
    models, found = answer.order(study), answer.shown(study)
    gaps: dict[tuple[str, str], list[float]] = {}
    for pair in study.comparison.pairs:
        a, b = pair.scores.a, pair.scores.b
        sign = 1 if models.index(a) < models.index(b) else -1
        key = (a, b) if sign > 0 else (b, a)
        gaps.setdefault(key, []).append(sign * pair.effects["difference"].estimate)
    head = ("A", "B", "A better", "B better", "not shown", "A - B, least", "most")
    body: list[Row] = []
    for (a, b), of in sorted(gaps.items(), key=lambda item: [*map(models.index, item[0])]):
        counts = map(str, map(len, standings.record(found, a, b)))
        body.append((a, b, *counts, scale(min(of)), scale(max(of))))
    return head, body


def _print_details(console: "Console", study: ScoreStudy, scale: ScoreFormat) -> None:
    """What data sets say together, then all tests of all pairs, of single models and of items."""
    for line in overall.headline(study, scale):
        console.print(f"\n{line}", markup=False, style="bold")
    if study.across is not None:
        console.print()
        tables.print_table(console, *overall.model_table(study, scale))
        head, improvement = overall.improvement_table(study)
        if improvement:
            console.print()
            tables.print_table(console, head, improvement)
    for line in _ranked(study):
        console.print(line, markup=False)
    head, models = rows.models(study, scale)
    console.print()
    tables.print_table(console, head, models, (0, 1) if head[0] == "data set" else (0,))
    console.print()
    tables.print_table(console, *rows.pairs(study, scale), (0, 1, 2))
    for pair in study.comparison.pairs:
        _print_pair(console, pair, study, scale)
    if study.single is not None:
        console.print("\nSingle trained models, item by item", markup=False, style="bold")
        for line in single.of_study(study, scale):
            console.print(f"  {line}", markup=False)
    _print_items(console, study)


def _print_items(console: "Console", study: ScoreStudy) -> None:
    """What other runs, other items and both would bring, side by side."""
    if study.items is None:
        return
    console.print("\nAll runs, item by item", markup=False, style="bold")
    said = (line for pair in study.items.pairs for line in pair.difference.warnings)
    for line in dict.fromkeys((*study.items.warnings, *said)):
        console.print(f"  {line}", markup=False)
    console.print()
    tables.print_table(console, *of_items.differences(study.items), (0, 1, 2, 3))
    console.print()
    for line in item_verdict.all_claims(study.items):
        console.print(f"  {line}", markup=False)


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
