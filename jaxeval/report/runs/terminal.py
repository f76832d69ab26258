"""Tables for the terminal (rich, imported late)."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jaxeval.report import summary
from jaxeval.runs.records import Experiment

_WIDEST = 400  # columns of a table


def print_summary(found: summary.Summary) -> None:
    """The distribution of dev and test scores, and what to know beside it."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, soft_wrap=True)
    columns = ("n", "min", "q1", "median", "q3", "max", "mean", "sd")
    table = Table(summary.in_unit(found.metric), *columns, box=None, pad_edge=False)
    for part, d in (("dev", found.dev), ("test", found.test)):
        if d is None:
            table.add_row(part, "0")
            continue
        values = (d.minimum, d.lower_quartile, d.median, d.upper_quartile, d.maximum, d.mean, d.sd)
        table.add_row(part, str(d.n), *(summary.shown(v, found.metric) for v in values))
    kind = ": a random sweep" if found.sweep else ""
    console.print(f"\n{found.name} ({found.experiment}){kind}", markup=False, style="bold")
    console.print(table)
    for line in remarks(found):
        console.print(line, markup=False)


def remarks(found: summary.Summary) -> Iterator[str]:
    """What to know beside the table, a line each."""
    counts = ", ".join(f"{n} {status.replace('_', ' ')}" for status, n in found.statuses.items())
    if found.sweep is None:
        yield f"members: {counts}; sd with n - 1"
    else:
        yield from _of_sweep(found, found.sweep, counts)
    if found.best_seed is not None:
        split = f", split {found.best_split}" if found.best_split else ""
        tie = f" (one of {found.ties} with this dev score)" if found.ties > 1 else ""
        yield (
            f"best dev: seed {found.best_seed}{split}{tie}, "
            f"dev {summary.shown(found.best_dev, found.metric)}, "
            f"test {summary.shown(found.best_test, found.metric)}"
        )
    if found.sweep is not None and found.sweep.setting is not None:
        yield f"its setting: {_setting(found.sweep.setting)}"
    rho = f"{found.rho:.2f}" if found.rho is not None else f"not defined ({found.rho_note})"
    yield f"Spearman's rho between dev and test: {rho}"
    if found.best_epochs is not None:
        low, median, high = found.best_epochs
        yield f"best epoch: median {median:g}, {low} to {high}"
    if found.test is None or found.test.n < summary.FEW:
        more = "draw more runs" if found.sweep else "train more seeds"
        yield f"fewer than {summary.FEW} scores: quartiles and sd say little; {more}"


def _of_sweep(found: summary.Summary, sweep: summary.OfSweep, counts: str) -> Iterator[str]:
    runs = sum(found.statuses.values())
    yield (
        f"{runs} runs of a random sweep: {counts}; each has a setting of its own, so that the "
        "spread is that of settings, not of seeds"
    )
    if sweep.missing:
        yield (
            f"{sweep.missing} more of its runs have not ended: those that have are no fair "
            "sample; the command that began the sweep goes on with it"
        )
    if found.dev is None:
        return
    best, median = (summary.shown(v, found.metric) for v in (found.best_dev, found.dev.median))
    near = summary.nearness(summary.is_fraction(found.metric), sweep.rope)
    scored = f"{found.dev.n} runs with a score"
    without = f" ({runs - found.dev.n} have none)" if runs > found.dev.n else ""
    yield (
        f"dev: best {best}, median {median} of the {scored}{without}; {sweep.near} of them within "
        f"{near} of the best"
    )


def _setting(values: Mapping[str, Any]) -> str:
    """Drawn values, real numbers to three digits."""
    return ", ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in values.items()
    )


def print_table(
    console: Any,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    words: Sequence[int] = (0,),
) -> None:
    """A plain table; columns of words to the left, numbers to the right. Markup is not read."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for place, name in enumerate(head):
        table.add_column(name, justify="left" if place in words else "right", no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    width = console.width
    console.width = max(width, _WIDEST)  # wider than the terminal rather than cut
    console.print(table)
    console.width = width


def print_wrapped(console: Any, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table of words, wrapped to the terminal's width; elsewhere a line a row, nothing cut."""
    if not console.is_terminal:
        print_table(console, head, rows, range(len(head)))
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None)
    for place, name in enumerate(head):
        table.add_column(name, no_wrap=not place, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)


def print_start(record: Experiment, members: int, done: int) -> None:
    """What is about to happen, on stderr."""
    kept = f"; {done} are recorded already" if done else ""
    head = f"{record.name} ({record.id}): {members} members of task {record.task}{kept}"
    print(head, file=sys.stderr, flush=True)


def print_findings(remarks: Sequence[str], warnings: Sequence[str]) -> None:
    """What was found when the data were read, a line each, on stderr."""
    for line in (*remarks, *(f"warning: {line}" for line in warnings)):
        print(line, file=sys.stderr)
