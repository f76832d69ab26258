"""Experiments: their numbers in words, the list of a folder, and scores under conditions."""

import dataclasses
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jaxeval.report import Block, Document, Figure, Heading, Result, Table, scores, text
from jaxeval.report.runs.experiments import ExperimentSummary
from jaxeval.runs import layout, metrics
from jaxeval.runs.records import MemberRow
from jaxeval.stats import describe

_ID = 8  # letters of an id in a list
_FEW = 5  # scores: with fewer, quartiles say little
_MOST_TABLES = 4  # experiments that each have a table
_OVERVIEW = ("experiment", "id", "score", "members", "n", "median", "min", "max")
_NUMBERS = ("min", "q1", "median", "q3", "max", "mean", "sd")
_OF_SETTINGS = "; each has its own setting, so the spread is over settings, not over seeds"
# kind of experiment -> texts after its name and after its members, and advice if they are few
_KINDS = {
    "seeds": ("", "; sd with n - 1", "train more seeds"),
    "sweep": (": a random sweep", _OF_SETTINGS, "draw more runs"),
    "tuning": (
        ": the settings of a search",
        "; a search proposed each setting, so they are a biased sample; test scores are only for "
        "the best setting, trained with fresh seeds",
        "try more settings",
    ),
    "noise": (
        ": repeated runs",
        "; the runs of a seed count once, by their mean; sd with n - 1",
        "train more seeds",
    ),
    "neighbourhood": (": settings near a config's", _OF_SETTINGS, "try more settings"),
}
_CONDITIONS = ("n", "mean", "sd", "min", "max", "against the first", "sd")


def experiments_document(
    groups: Sequence[Sequence[MemberRow]],
    summaries: Sequence[ExperimentSummary],
    location: str,
    figures: Callable[[], Sequence[Figure]] = tuple,
    last: Sequence[str] = (),
) -> Document:
    """Returns the document of experiments, given as members and summaries."""
    both = [*zip(groups, summaries, strict=True)]
    tables = [block for of, each in both for block in _blocks(of, each)]
    few = len(summaries) <= _MOST_TABLES
    count = text.counted(len(summaries), "experiment")
    names = ", ".join(each.name for each in summaries) if few else count
    details: list[Block] = [] if few else tables
    lines = [_line(each) for each in summaries] if few else [f"{location}: {count}"]
    rows = [(f"{s.name}{_KINDS[s.kind][0]}", s.experiment[:_ID], *_cells(s)) for s in summaries]
    for members, each in both:
        details += _details(members, each)
    return Document(
        answer=lines or [f"{location}: no runs"],
        blocks=tables if few else [Table(_OVERVIEW, rows, words=4)],
        details=(lambda: details) if details else None,
        figures=figures,
        title=f"Score distributions: {names}",
        signature=f"{location} | quartiles by linear interpolation | {text.versions()}",
        noun="experiment",
        last=last,
    )


def _title(summary: ExperimentSummary) -> str:
    return f"{summary.name} ({summary.experiment}){_KINDS[summary.kind][0]}"


def _line(summary: ExperimentSummary) -> str:
    """Returns the experiment with its scores in one line."""
    label, members, n, median, low, high = _cells(summary)
    if n == "0":
        return f"{_title(summary)}: no {label.split()[0]} scores; {members}"
    return f"{_title(summary)}: {label} median {median}, range {low} to {high}; {members}"


def _cells(summary: ExperimentSummary) -> tuple[str, ...]:
    """Returns the cells of _OVERVIEW after name and id: test scores, dev scores of a search."""
    part, known = [*summary.parts.items()][-1]
    numbers = (known.median, known.min, known.max) if known else [None] * 3
    members = text.statuses(summary.statuses)
    if summary.sweep is not None and summary.sweep.missing:
        members += f", {summary.sweep.missing} more have not ended"
    label = f"{part} {scores.label(summary.metric, summary.unit)}"
    shown = (scores.shown(number, summary.unit) for number in numbers)
    return label, members, str(known.n if known else 0), *shown


def _blocks(members: Sequence[MemberRow], summary: ExperimentSummary) -> Iterator[Block]:
    """Yields the numbers of an experiment, remarks, and why members failed, each reason once."""
    yield Heading(_title(summary))
    rows = []
    for part, known in summary.parts.items():
        numbers = [None if known is None else getattr(known, name) for name in _NUMBERS]
        cells = (scores.shown(number, summary.unit) for number in numbers)
        rows.append((part, str(known.n if known else 0), *cells))
    yield Table((scores.label(summary.metric, summary.unit), "n", *_NUMBERS), rows)
    yield from _remarks(summary)
    why = Counter(f"{row.message}\n".splitlines()[0] for row in members if row.status == "failed")
    yield from (f"{count} failed: {reason}" for reason, count in why.items() if reason)


def _remarks(summary: ExperimentSummary) -> Iterator[str]:
    _, members, more = _KINDS[summary.kind]
    yield f"members: {text.statuses(summary.statuses)}{members}"
    if summary.sweep is not None and summary.sweep.missing:
        yield (
            f"{summary.sweep.missing} more of its runs have not ended, so those that have are a "
            "biased sample; the command that began the sweep continues it"
        )
    every = sum(summary.statuses.values())
    if lost := summary.statuses.get("diverged"):
        why = "the loss was not finite; counted as failed, whatever the scores before"
        yield f"{lost} of {every} diverged: {why}"
    if summary.dev is None and summary.test is None:
        yield "none of them has a score"
        return
    yield from _best(summary)
    if summary.kind != "tuning":
        rho = f"not defined ({summary.rho_note})" if summary.rho is None else f"{summary.rho:.2f}"
        yield f"Spearman's rho between dev and test: {rho}"
    if few := summary.never_learned:
        whose = "its" if few == 1 else "their"
        end = "" if summary.test is None else f", and {whose} test score is that of the last epoch"
        yield f"{few} of {every} never learned: dev {summary.metric} stayed 0{end}"
    if summary.best_epochs is not None:
        low, median, high = summary.best_epochs
        others = " of the others" if summary.never_learned else ""
        range_ = f"median {median:g}, {low} to {high}" if low < high else f"{low}"
        yield f"scored epoch{others}: {range_}"
    if any(known is None or known.n < _FEW for known in summary.parts.values()):
        yield f"fewer than {_FEW} scores: quartiles and sd say little; {more}"


def _best(summary: ExperimentSummary) -> Iterator[str]:
    unit, sweep = summary.unit, summary.sweep
    if summary.best_seed is not None:
        split = f", split {summary.best_split}" if summary.best_split else ""
        tie = f" (one of {summary.ties} with this dev score)" if summary.ties > 1 else ""
        dev, test = (scores.shown(v, unit) for v in (summary.best_dev, summary.best_test))
        test = "" if summary.kind == "tuning" else f", test {test}"
        yield f"best dev: seed {summary.best_seed}{split}{tie}, dev {dev}{test}"
    if sweep is not None and sweep.setting is not None and summary.dev is not None:
        drawn = (f"{name} {scores.setting(value)}" for name, value in sweep.setting.items())
        yield f"its setting: {', '.join(drawn)}"
        margin = scores.difference(sweep.margin, unit)
        others = text.counted(summary.dev.n - 1, "other dev score")
        yield f"within {margin} of the best: {sweep.near - 1} of {others}"


def _details(members: Sequence[MemberRow], summary: ExperimentSummary) -> Iterator[Block]:
    """Yields all members, the software that trained them, and the config."""
    first = members[0]
    better = "higher" if summary.higher_is_better else "lower"
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
    changed = any(row.hparams != "{}" for row in members)
    rows = []
    for row in members:
        words = [f"{row.status}: {row.message}".removesuffix(": "), row.hparams][: 1 + changed]
        test = None if summary.kind == "tuning" else row.test
        both = (scores.shown(score, row.unit) for score in (row.dev, test))
        rows.append([*words, *map(str, (row.seed, row.split, row.repeat, row.epochs)), *both])
    words = ["status", "changes"][: 1 + changed]
    yield Table((*words, "seed", "split", "repeat", "epochs", "dev", "test"), rows, "", len(words))
    leaves = layout.leaves(json.loads(first.config))
    yield Table(("key", "value"), [(key, json.dumps(value)) for key, value in leaves], words=2)


@dataclasses.dataclass(frozen=True, repr=False)
class Evaluation(Result):
    """Scores of saved models, a row each: condition, seed, part, metric, score."""

    scores: Sequence[dict[str, Any]]

    def document(self) -> Document:
        """Returns a row for each condition, with its differences from the first, seed by seed."""
        by_condition: dict[str, dict[int, float]] = {}
        for row in self.scores:
            by_condition.setdefault(row["condition"], {})[row["seed"]] = row["score"]
        columns = _CONDITIONS if len(by_condition) > 1 else _CONDITIONS[:-2]
        metric = self.scores[0]["metric"]
        first, *_ = by_condition.values()
        unit = metrics.unit_of(metric)
        cells = []
        notes: list[str] = []
        for name, by_seed in by_condition.items():
            finite = _finite(by_seed.values())
            gaps = _finite(by_seed[k] - first[k] for k in by_seed)
            if lost := len(by_seed) - len(finite):
                notes.append(f"{name}: {lost} of {len(by_seed)} diverged and are left out")
            numbers = [name, str(len(finite))]
            if finite:
                d = describe.summarize(finite)
                numbers += [scores.shown(value, unit) for value in (d.mean, d.sd, d.min, d.max)]
            if by_seed is not first and gaps:
                d = describe.summarize(gaps)
                sign = "+" if d.mean >= 0 else ""
                numbers += [sign + scores.shown(d.mean, unit), scores.shown(d.sd, unit)]
            cells.append(numbers + ["-"] * (1 + len(columns) - len(numbers)))
        if len(first) < _FEW:
            notes.append(f"fewer than {_FEW} seeds: means and sd say little")
        table = Table((scores.label(metric, unit), *columns), cells)
        answer = condition_line(self.scores, next(iter(by_condition)))
        return Document((answer,), (table, *notes), title="Evaluation")

    def to_dict(self) -> Any:
        """The rows: a table of scores that `compare` reads."""
        return [*self.scores]


def condition_line(rows: Sequence[Mapping[str, Any]], condition: str) -> str:
    """Returns the mean and sd of one condition in a line, with its model and part."""
    of = [row for row in rows if row["condition"] == condition]
    if not (finite := _finite(row["score"] for row in of)):
        return f"{of[0]['model']}: all {len(of)} diverged"
    metric = rows[0]["metric"]
    described = describe.summarize(finite)
    unit = metrics.unit_of(metric)
    mean, sd = (scores.shown(value, unit) for value in (described.mean, described.sd))
    label = f"{of[0]['part']} {scores.label(metric, unit)}"
    return f"{of[0]['model']}: {label} mean {mean}, sd {sd}"


def _finite(values: Iterable[float]) -> list[float]:
    return [value for value in values if np.isfinite(value)]
