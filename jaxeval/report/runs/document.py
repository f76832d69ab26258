"""What is said of experiments: a line, a table and remarks each; on a page all members too."""

import json
from collections.abc import Callable, Iterator, Sequence

from jaxeval.report import scores, text
from jaxeval.report.document import Block, Document, Figure, Heading, Table
from jaxeval.report.runs.summary import ExperimentSummary
from jaxeval.runs import records
from jaxeval.runs.records import MemberRow

FEW = 5  # fewer scores than this: quartiles say little
_MOST_TABLES = 4  # experiments of which each has its table
_NUMBERS = ("n", "min", "q1", "median", "q3", "max", "mean", "sd")
_OF_SETTINGS = (
    "; each has a setting of its own, so that the spread is that of settings, not of seeds"
)
# of a kind of experiment: what is said after its name, after its members, and where they are few
_KINDS = {
    "seeds": ("", "; sd with n - 1", "train more seeds"),
    "sweep": (": a random sweep", _OF_SETTINGS, "draw more runs"),
    "tuning": (
        ": the settings of a search",
        "; each has a setting that a search proposed: no fair sample of settings or seeds; test "
        "is for the best one, trained with fresh seeds",
        "try more settings",
    ),
    "noise": (
        ": repeated runs",
        "; the runs of a seed count once, by their mean; sd with n - 1",
        "train more seeds",
    ),
    "neighbourhood": (": settings near a config's", _OF_SETTINGS, "try more settings"),
}


def document(
    groups: Sequence[Sequence[MemberRow]],
    summaries: Sequence[ExperimentSummary],
    location: str,
    figures: Callable[[], Sequence[Figure]] = tuple,
    last: Sequence[str] = (),
) -> Document:
    """Of experiments, each as its members and what is said of it; read at a location."""
    tables = [block for each in summaries for block in _blocks(each)]
    few = len(summaries) <= _MOST_TABLES
    details: list[Block] = [] if few else tables
    for members, each in zip(groups, summaries, strict=True):
        details += _details(members, each)
    return Document(
        answer=[line(each) for each in summaries] or [f"{location}: no runs"],
        blocks=tables if few else (),
        details=details,
        figures=figures,
        title=f"Score distributions: {', '.join(each.name for each in summaries)}",
        signature=f"{location} | quartiles by linear interpolation | {text.versions()}",
        noun="experiment",
        last=last,
    )


def _title(summary: ExperimentSummary) -> str:
    return f"{summary.name} ({summary.experiment}){_KINDS[summary.kind][0]}"


def line(summary: ExperimentSummary) -> str:
    """The experiment and its test scores (of a search dev scores) in a line."""
    part, known = [*summary.parts.items()][-1]
    unit, statuses = summary.unit, text.statuses(summary.statuses)
    if summary.sweep is not None and summary.sweep.missing:
        statuses += f", {summary.sweep.missing} more have not ended"
    if known is None:
        return f"{_title(summary)}: no {part} scores; {statuses}"
    median, low, high = (scores.shown(v, unit) for v in (known.median, known.min, known.max))
    label = scores.label(summary.metric, unit)
    return f"{_title(summary)}: {part} {label} median {median}, {low} to {high}; {statuses}"


def listing(summaries: Sequence[ExperimentSummary]) -> Table:
    """A row an experiment."""
    head = ("experiment", "id", "members", "metric", "n of dev", "dev", "n of test", "test")
    rows = []
    for each in summaries:
        label = scores.label(each.metric, each.unit)
        cells = [each.name, each.experiment, text.statuses(each.statuses), label]
        for known in (each.dev, each.test):
            median = None if known is None else known.median
            cells += [str(known.n if known else 0), scores.shown(median, each.unit)]
        rows.append(cells)
    return Table(head, rows, "dev and test: medians over n members", 4)


def _blocks(summary: ExperimentSummary) -> Iterator[Block]:
    """A table of both parts, and what to know beside it."""
    yield Heading(_title(summary))
    rows = []
    for part, known in summary.parts.items():
        numbers = [None if known is None else getattr(known, name) for name in _NUMBERS[1:]]
        shown = (scores.shown(number, summary.unit) for number in numbers)
        rows.append((part, str(known.n if known else 0), *shown))
    yield Table((scores.label(summary.metric, summary.unit), *_NUMBERS), rows)
    yield from _remarks(summary)


def _remarks(summary: ExperimentSummary) -> Iterator[str]:
    unit, sweep = summary.unit, summary.sweep
    _, members, more = _KINDS[summary.kind]
    yield f"members: {text.statuses(summary.statuses)}{members}"
    if sweep is not None and sweep.missing:
        yield (
            f"{sweep.missing} more of its runs have not ended: those that have are no fair "
            "sample; the command that began the sweep goes on with it"
        )
    if summary.dev is None and summary.test is None:
        yield "none of them has a score"
        return
    if summary.best_seed is not None:
        split = f", split {summary.best_split}" if summary.best_split else ""
        tie = f" (one of {summary.ties} with this dev score)" if summary.ties > 1 else ""
        test = f", test {scores.shown(summary.best_test, unit)}"
        yield (
            f"best dev: seed {summary.best_seed}{split}{tie}, dev "
            f"{scores.shown(summary.best_dev, unit)}{'' if summary.kind == 'tuning' else test}"
        )
    if sweep is not None and sweep.setting is not None and summary.dev is not None:
        drawn = (
            f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in sweep.setting.items()
        )
        yield f"its setting: {', '.join(drawn)}"
        margin = scores.difference(sweep.margin, unit)
        yield f"{sweep.near} of the {summary.dev.n} dev scores are within {margin} of the best"
    if summary.kind != "tuning":
        rho = f"not defined ({summary.rho_note})" if summary.rho is None else f"{summary.rho:.2f}"
        yield f"Spearman's rho between dev and test: {rho}"
    if summary.never_learned:
        yield (
            f"{summary.never_learned} of {sum(summary.statuses.values())} never learned: dev "
            f"{summary.metric} stayed 0, and their test score is that of the last epoch"
        )
    if summary.best_epochs is not None:
        low, median, high = summary.best_epochs
        others = " of the others" if summary.never_learned else ""
        yield f"scored epoch{others}: median {median:g}, {low} to {high}"
    if any(known is None or known.n < FEW for known in summary.parts.values()):
        yield f"fewer than {FEW} scores: quartiles and sd say little; {more}"


def _details(members: Sequence[MemberRow], summary: ExperimentSummary) -> Iterator[Block]:
    """All members, what trained them, and the whole config."""
    first, better = members[0], "higher" if summary.higher_is_better else "lower"
    yield Heading(f"{_title(summary)}: members and config")
    yield (
        f"task {first.task}; metric {scores.label(first.metric, first.unit)}, {better} is "
        f"better; data {first.data} ({first.data_hash})"
    )
    versions = {
        f"jax {r.jax}, flax {r.flax}, jaxeval {r.jaxeval}, {r.device}, lanes {r.lanes}"
        for r in members
    }
    yield f"versions: {'; '.join(sorted(versions))}"
    lead = ["status", *(["changes"] if any(row.hparams != "{}" for row in members) else [])]
    shown = [
        [
            *[f"{row.status}{': ' if row.message else ''}{row.message}", row.hparams][: len(lead)],
            *(str(value) for value in (row.seed, row.split, row.repeat, row.epochs)),
            scores.shown(row.dev, row.unit),
            "-" if summary.kind == "tuning" else scores.shown(row.test, row.unit),
        ]
        for row in members
    ]
    head = (*lead, "seed", "split", "repeat", "epochs", "dev", "test")
    yield Table(head, shown, words=len(lead))
    leaves = records.leaves(json.loads(first.config))
    yield Table(("key", "value"), [(key, json.dumps(value)) for key, value in leaves], words=2)
