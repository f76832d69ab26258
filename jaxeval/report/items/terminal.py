"""A comparison over items in the terminal."""

import math
from typing import TYPE_CHECKING

from jaxeval.report import tables, text
from jaxeval.report.items import verdict
from jaxeval.report.scores import ScoreFormat
from jaxeval.stats.items.study import ItemStudy, TaskPair

if TYPE_CHECKING:
    from rich.console import Console

Row = tuple[str, ...]
MOST_ROWS = 60  # pairs on tasks, of which differences are printed
TESTS = {"sign_flips": "paired permutation", "mcnemar": "McNemar"}


def print_study(study: ItemStudy, details: bool = False, gate: str = "") -> None:
    """Everything, in the order in which it is read.

    Args:
      details: the sentences and tests of all pairs, however many they are.
      gate: its last line, if there is one.
    """
    console = tables.console()
    console.print(f"\n{study.source}", markup=False)
    for line in verdict.directions(study):
        console.print(line, markup=False)
    for line in study.warnings:
        console.print(f"warning: {line}", markup=False, style="yellow")
    for line in verdict.headline(study):
        console.print(f"\n{line}", markup=False, style="bold")
    _print_places(console, study)
    console.print()
    tables.print_table(console, *means(study), (0, 1, 2))
    if details or len(study.pairs) <= MOST_ROWS:
        console.print()
        tables.print_table(console, *differences(study), (0, 1, 2, 3))
    shown = study.pairs if details else study.pairs[: verdict.MOST_PAIRS]
    by_task = verdict.scales(study)
    for pair in shown:
        _print_pair(console, pair, study, by_task[pair.task.task])
    if len(shown) < len(study.pairs):
        rest = len(study.pairs) - len(shown)
        console.print(
            f"\n{rest} more pairs: --details prints them, --json holds them", markup=False
        )
    console.print(f"\n{verdict.signature(study)}", markup=False, style="dim")
    if gate:
        console.print(f"\n{gate}", markup=False, style="bold")


def means(study: ItemStudy) -> tuple[Row, list[Row]]:
    """A row a model and task: head and rows."""
    head = ("task", "metric", "model", "mean", _level(study), "over", "items", "clusters", "runs")
    rows: dict[tuple[str, str], Row] = {}
    by_task = verdict.scales(study)
    for pair in study.pairs:
        scale = by_task[pair.task.task]
        for name, mean in zip((pair.a, pair.b), pair.means, strict=True):
            sizes = mean.sizes
            rows[pair.task.task, name] = (
                pair.task.task or "-",
                scale.label(pair.task.metric),
                name,
                scale(mean.value),
                scale.interval(mean.interval),
                " and ".join(mean.over),
                str(sizes.items),
                str(sizes.clusters) if sizes.clusters < sizes.items else "-",
                f"{sizes.runs[0]}" + (f" x {sizes.samples}" if sizes.samples > 1 else ""),
            )
    return head, list(rows.values())


def differences(study: ItemStudy) -> tuple[Row, list[Row]]:
    """A row a pair, task and generalisation; p-values are corrected over pairs and tasks."""
    head = ("task", "A", "B", "over", "A - B", _level(study), "p", "corrected p")
    rows: list[Row] = []
    by_task = verdict.scales(study)
    for pair in study.pairs:
        scale = by_task[pair.task.task]
        for estimate in pair.estimates:
            over = " and ".join(estimate.over)
            cited = estimate.over == pair.difference.over
            p_adjusted = pair.p_adjusted if cited else pair.adjusted[over]
            rows.append(
                (
                    pair.task.task or "-",
                    pair.a,
                    pair.b,
                    over,
                    scale(estimate.value),
                    scale.interval(estimate.possible),
                    text.p_cell(estimate.p_value),
                    text.p_cell(p_adjusted),
                )
            )
    return head, rows


def _level(study: ItemStudy) -> str:
    return f"{100 * study.rules.confidence:.3g} % CI"


def _print_places(console: "Console", study: ItemStudy) -> None:
    if len(study.models) < 3 or not study.suite.places:
        return
    scale = verdict.scale_of(study)
    of = "mean over tasks" if len(study.tasks) > 1 else scale.label(study.tasks[0].metric)
    head = ("rank", _level(study), "model", of)
    rows = [
        (str(place.rank), f"[{place.low}, {place.high}]", place.model, scale(place.mean))
        for place in study.suite.places
    ]
    console.print()
    tables.print_table(console, head, rows, (2,))


def _print_pair(console: "Console", pair: TaskPair, study: ItemStudy, scale: ScoreFormat) -> None:
    console.print(f"\n{verdict.title(pair)}", markup=False, style="bold")
    for line in verdict.of_pair(pair, study, scale):
        console.print(f"  {line}", markup=False)
    known = not math.isnan(pair.p_adjusted)  # else nothing is shown, as a warning says
    if pair.tests and known:
        said = "; ".join(
            f"{TESTS[name]}, corrected p {text.p_value(pair.adjusted[name])} ({test.method})"
            for name, test in pair.tests.items()
        )
        console.print(f"  Items alone: {said}.", markup=False)
