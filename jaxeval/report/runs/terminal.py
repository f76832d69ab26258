"""Experiments and their scores in the terminal."""

import sys
from collections.abc import Iterator, Mapping, Sequence

from jaxeval.report import scores, tables, text
from jaxeval.report.runs.summary import FEW, ExperimentSummary, OfSweep
from jaxeval.stats import describe


def print_all(summaries: Sequence[ExperimentSummary], details: bool) -> None:
    """Each experiment with its distribution; of many, without details, a line each."""
    if details or len(summaries) <= _MOST_TABLES:
        for summary in summaries:
            print_summary(summary)
        return
    console = tables.console()
    console.print()
    for summary in summaries:
        console.print(line(summary), markup=False)
    console.print("--details: a table of each, or --experiment NAME of one", style="dim")


def print_summary(summary: ExperimentSummary) -> None:
    """The distribution of dev and test scores, and what to know beside it."""
    console = tables.console()
    console.print(f"\n{title(summary)}", markup=False, style="bold")
    tables.print_table(console, *table(summary))
    for line in remarks(summary):
        console.print(line, markup=False)


def title(summary: ExperimentSummary) -> str:
    """The experiment's name and id."""
    return f"{summary.name} ({summary.experiment}){KINDS[summary.kind]}"


def line(summary: ExperimentSummary) -> str:
    """The experiment and its test scores (of a search dev scores) in a line."""
    part, known = [*parts(summary).items()][-1]
    unit, statuses = summary.unit, text.statuses(summary.statuses)
    if summary.sweep is not None and summary.sweep.missing:
        statuses += f", {summary.sweep.missing} more have not ended"
    if known is None:
        return f"{title(summary)}: no {part} scores; {statuses}"
    median, low, high = (scores.shown(v, unit) for v in (known.median, known.min, known.max))
    label = scores.label(summary.metric, unit)
    return f"{title(summary)}: {part} {label} median {median}, {low} to {high}; {statuses}"


def parts(summary: ExperimentSummary) -> dict[str, describe.Summary | None]:
    """What is shown of each part of the data: of a search dev alone."""
    of_dev = {"dev": summary.dev}
    return of_dev if summary.kind == "tuning" else {**of_dev, "test": summary.test}


def table(summary: ExperimentSummary) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Head, and a row of numbers for each part."""
    head = (scores.label(summary.metric, summary.unit), *_NUMBERS)
    return head, [_row(part, known, summary.unit) for part, known in parts(summary).items()]


KINDS = {  # after an experiment's name
    "seeds": "",
    "sweep": ": a random sweep",
    "tuning": ": the settings of a search",
    "noise": ": repeated runs",
    "neighbourhood": ": settings near a config's",
}
_MEMBERS = {  # after their number
    "seeds": "; sd with n - 1",
    "tuning": "; each has a setting that a search proposed: no fair sample of settings or seeds; "
    "test is for the best one, trained with fresh seeds",
    "noise": "; the runs of a seed count once, by their mean; sd with n - 1",
    "neighbourhood": "; each has a setting of its own, so that the spread is that of settings, "
    "not of seeds",
}
_MOST_TABLES = 4  # experiments of which each has its table
_MORE = {"sweep": "draw more runs", "tuning": "try more settings"}
_MORE |= {"neighbourhood": _MORE["tuning"]}
_NUMBERS = ("n", "min", "q1", "median", "q3", "max", "mean", "sd")


def _row(part: str, known: describe.Summary | None, unit: str) -> Sequence[str]:
    if known is None:
        return (part, "0")
    numbers = (getattr(known, name) for name in _NUMBERS[1:])
    return (part, str(known.n), *(scores.shown(number, unit) for number in numbers))


def remarks(summary: ExperimentSummary) -> Iterator[str]:
    """What to know beside the table, a line each."""
    counts = text.statuses(summary.statuses)
    if summary.sweep is None:
        yield f"members: {counts}{_MEMBERS.get(summary.kind, '')}"
    else:
        yield from _of_sweep(summary, summary.sweep, counts)
    if summary.dev is None and summary.test is None:
        yield "none of them has a score"
        return
    if summary.best_seed is not None:
        split = f", split {summary.best_split}" if summary.best_split else ""
        tie = f" (one of {summary.ties} with this dev score)" if summary.ties > 1 else ""
        yield (
            f"best dev: seed {summary.best_seed}{split}{tie}, "
            f"dev {scores.shown(summary.best_dev, summary.unit)}{_best_test(summary)}"
        )
    if summary.sweep is not None and summary.sweep.setting is not None:
        yield f"its setting: {_setting(summary.sweep.setting)}"
    if summary.kind != "tuning":
        rho = "not defined" if summary.rho is None else f"{summary.rho:.2f}"
        note = f" ({summary.rho_note})" if summary.rho is None else ""
        yield f"Spearman's rho between dev and test: {rho}{note}"
    if summary.never_learned:
        runs = sum(summary.statuses.values())
        yield (
            f"{summary.never_learned} of {runs} never learned: dev {summary.metric} stayed 0, and "
            "their test score is that of the last epoch"
        )
    if summary.best_epochs is not None:
        low, median, high = summary.best_epochs
        others = " of the others" if summary.never_learned else ""
        yield f"scored epoch{others}: median {median:g}, {low} to {high}"
    if any(known is None or known.n < FEW for known in parts(summary).values()):
        more = _MORE.get(summary.kind, "train more seeds")
        yield f"fewer than {FEW} scores: quartiles and sd say little; {more}"


def _best_test(summary: ExperimentSummary) -> str:
    """The test score of the best member of dev, where that is looked at."""
    if summary.kind == "tuning":
        return ""
    return f", test {scores.shown(summary.best_test, summary.unit)}"


def _of_sweep(summary: ExperimentSummary, sweep: OfSweep, counts: str) -> Iterator[str]:
    runs = sum(summary.statuses.values())
    yield (
        f"{runs} runs of a random sweep: {counts}; each has a setting of its own, so that the "
        "spread is that of settings, not of seeds"
    )
    if sweep.missing:
        yield (
            f"{sweep.missing} more of its runs have not ended: those that have are no fair "
            "sample; the command that began the sweep goes on with it"
        )
    if summary.dev is None:
        return
    dev = (summary.best_dev, summary.dev.median)
    best, median = (scores.shown(score, summary.unit) for score in dev)
    margin = scores.difference(sweep.margin, summary.unit)
    without = f" ({runs - summary.dev.n} have none)" if runs > summary.dev.n else ""
    yield (
        f"dev: best {best}, median {median} of the {summary.dev.n} runs with a score{without}; "
        f"{sweep.near} of them within {margin} of the best"
    )


def _setting(values: Mapping[str, object]) -> str:
    """Drawn values, real numbers to three digits."""
    return ", ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in values.items()
    )


def print_findings(remarks: Sequence[str], warnings: Sequence[str]) -> None:
    """What was found when the data were read, a line each, on stderr."""
    for line in (*remarks, *(f"warning: {line}" for line in warnings)):
        print(line, file=sys.stderr)
