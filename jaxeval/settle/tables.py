"""Comparisons of recorded scores, which may grow while one looks."""

import dataclasses
import itertools
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxeval import cli, sources
from jaxeval.bandits import Settle
from jaxeval.bandits.rules import State
from jaxeval.errors import ConfigError, DataError, argument, meant
from jaxeval.report import text
from jaxeval.report.settlements import settlement
from jaxeval.report.settlements.settlement import Settlement
from jaxeval.runs import tables as runs_tables
from jaxeval.runs.layout import Layout
from jaxeval.runs.scores import OVERLAPPING, Scores
from jaxeval.stats import datasets, failures, samples
from jaxeval.stats.samples import Samples

_FAR = 100  # so many numbers in a row that no model has: seeds are not consecutive
_HEAD = 2**16  # bytes in which a table has a row
_LISTED = 8  # seeds in a message


def settle(
    source: Any,
    layout: Layout,
    rule: Settle,
    seeds: Sequence[int],
    item: str | None,
    *,
    follow: float | None,
    quiet: bool,
) -> Settlement:
    """Settles the first model of a source, the base, against the second.

    Args:
      rule, seeds, item: as of `settled`.
      follow: seconds after which the source is read again while nothing is decided.

    Raises:
      ConfigError: scores in memory are to be followed.
      DataError: as of `settled`; or the source cannot be read, or scores changed in between.
    """
    if follow is not None and not isinstance(source, str | Path):
        expected = "expected a file, a folder or a database, which may grow"
        raise ConfigError(f"{argument('follow')}: {expected}")
    said, seen = "", dict[str, Sequence[float]]()
    while True:
        try:
            scores, growing = _read(source, layout, item), follow is not None
            found = settled(scores, rule, seeds, "" if item is None else "item", growing)
            document = found.document()
            answer = (sentence.removesuffix(".") for sentence in document.answer)
            line = "; ".join([*answer, *document.notes[1:]])
            torn = follow is not None and _torn(source)
            for model, before in seen.items():  # scores that a look saw: else no claim holds
                for k, (old, new) in enumerate(zip(before, found.scores[model], strict=False), 1):
                    if old != new:
                        changed = f"score {k} of {model} was {old:g} and is {new:g} now"
                        raise DataError(f"{changed}: expected scores that are final", str(source))
            if not torn:  # a file that is being written anew is shorter for a moment
                seen = {m: max(seen.get(m, ()), of, key=len) for m, of in found.scores.items()}
            done = found.verdict != "undecided" or found.looks >= rule.most
            if follow is None or (done and (line == said or not torn)):
                return found
        except DataError as error:
            missing = follow and _missing(source, layout, item, error)
            if follow is None or not missing:
                raise
            line = f"waiting: {missing}"
        if line != said:
            cli.say(line, quiet)
        said = line
        time.sleep(follow)


def _read(source: Any, layout: Layout, item: str | None) -> Scores:
    """Returns scores of runs; of items, those of one item are of one split."""
    if item is None:
        scores = sources.scores([source, *layout.models], layout)[0]
        if scores.overlap:
            raise DataError(OVERLAPPING, scores.source)
        return scores
    table = sources.read_columns(source)
    free = {name: of for name, of in table.values.items() if name not in (item, "split")}
    values = {**free, "split": table[item]}
    return runs_tables.from_table(dataclasses.replace(table, values=values), layout)


def _missing(source: Any, layout: Layout, item: str | None, error: DataError) -> str | None:
    """Returns what a source lacks so far; None if it is whole, so that its error stays."""
    if not isinstance(source, str | Path):
        return None
    path, lacks = Path(source), str(error)
    if not path.exists():
        return lacks
    if path.is_file():  # a device or a pipe has no end
        with path.open("rb") as stream:
            if len(stream.read(_HEAD).splitlines()) < 2 or _torn(source):
                return lacks
    elif not path.is_dir():
        return None
    try:
        there = _read(source, dataclasses.replace(layout, models=()), item).models
    except DataError:
        return lacks if path.is_dir() else None
    absent = [model for model in layout.models if model not in there]
    if not absent or (len(there) > 1 and len(absent) == len(layout.models)):
        return None
    near = meant(absent[0], {*there} - {*layout.models})
    hint = f"; {near}" if near else ""
    return f"{source}: no model {absent[0]!r} so far, but {text.listed(there)}{hint}"


def _torn(source: Any) -> bool:
    """Returns whether a file ends within a line, whose number may not be whole."""
    if not isinstance(source, str | Path) or not Path(source).is_file():
        return False
    with Path(source).open("rb") as stream:
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - 1))
        return stream.read(1) not in (b"", b"\n")


def settled(
    scores: Scores, rule: Settle, seeds: Sequence[int] = (), noun: str = "", growing: bool = False
) -> Settlement:
    """Settles the first of two models, the base, against the second, by the scores so far.

    Of several data sets, the mean of each seed over all of them counts.

    Args:
      rule: its direction, and whether scores are pairs, are the scores'.
      seeds: those that count, in their order; (): all.
      noun: what each score is of; "": as the scores say.
      growing: numbers that both lack between others are under way, and later ones wait for them;
        else they were never run.

    Raises:
      DataError: there are not two models with scores, the base has a failed run, scores of data
        sets have no mean, or seeds of a growing table are not consecutive.
    """
    each = _mean_over_data_sets(scores, growing)
    higher = scores.higher_is_better
    rule = dataclasses.replace(rule, paired=each.unit == "split", higher_is_better=higher)
    state, order = _state(scores, each, seeds, rule.most, growing)
    places = [data.name for data in scores.data_sets]
    mean = [f"mean over the data sets {', '.join(places)}"] * (len(places) > 1)
    gap = _gap(rule, state, order, noun or each.unit, growing)
    more = {
        "metric": scores.metric or None,
        "unit": scores.stored_unit or "",
        "direction_assumed": scores.direction == "assumed",
        "notes": [*failures.collapsed(scores, each), *scores.warnings, *mean, *gap],
    }
    return settlement.settlement(rule, state, None, more, seeds_shared=each.unit != "row")


def _state(
    scores: Scores, each: Samples, seeds: Sequence[int], most: int, growing: bool
) -> tuple[State, dict[str, int]]:
    """Returns scores and failures by place, and the place of each seed; rows have no seeds."""
    cell = next(iter(each.by_data_set.values()), {})
    lost = next(iter(each.failed.values()), {})
    known = {m: dict(zip(*(x.tolist() for x in of), strict=True)) for m, of in cell.items()}
    ended = {m: [*known.get(m, ()), *lost.get(m, ())] for m in scores.models}
    if not growing and (absent := [model for model, labels in ended.items() if not labels]):
        raise DataError(f"{absent[0]}: no usable score", scores.source)
    order: dict[str, int] = {}
    if each.unit == "row":  # rows have no order of their own
        if seeds:
            raise DataError(f"no column of seeds for {argument('seeds')}", scores.source)
        places = {m: {k: n for n, k in enumerate(sorted(of), 1)} for m, of in ended.items()}
    else:
        labels = dict.fromkeys(itertools.chain(*known.values(), *lost.values()))
        order = _order([*labels], seeds, growing, scores.source)
        places = dict.fromkeys(scores.models, order)
    found, failed = {}, {}
    for model, of in places.items():
        counted = {label: place for label, place in of.items() if place <= most}
        own = known.get(model, {})
        without = lost.get(model, ())
        found[model] = {counted[label]: x for label, x in own.items() if label in counted}
        why = f"{'run' if each.unit == 'row' else each.unit} {{}} failed".format
        failed[model] = {counted[label]: why(label) for label in without if label in counted}
    return dataclasses.replace(State.begin(scores.models), scores=found, lost=failed), order


def _mean_over_data_sets(scores: Scores, growing: bool) -> Samples:
    """Averages each seed over the data sets; one that lacks a data set does not count."""
    if len(scores.models) != 2:
        given = f"{text.counted(len(scores.models), 'model')} ({', '.join(scores.models)})"
        expected = "expected the names of a base and a candidate"
        raise DataError(f"{expected}, found {given}", scores.source)
    each = samples.samples(scores)
    names = [data.name for data in scores.data_sets]
    if len(names) == 1:
        return each
    found = f"found {', '.join(names)}"
    if growing:
        expected = "expected scores of one data set: a later one would change the mean"
        raise DataError(f"{argument('follow')}: {expected}; {found}", scores.source)
    if each.unit not in ("seed", "split"):
        raise DataError(f"expected several seeds of each data set; {found}", scores.source)
    cells = [each.by_data_set.get(name, {}) for name in names]
    for name, cell in zip(names, cells, strict=True):
        if absent := [model for model in scores.models if model not in cell]:
            expected = "expected scores on all data sets, or a table without this one"
            raise DataError(f"{absent[0]}: no usable score on {name}; {expected}", scores.source)
    means = ([cell[model].scores.mean() for cell in cells] for model in scores.models)
    if not datasets.one_scale(map(np.array, means)):
        expected = "expected scores of one scale, or of one data set"
        raise DataError(f"scores differ more than tenfold: {expected}; {found}", scores.source)
    return each.averaged_over(names)


def _gap(
    rule: Settle, state: State, order: Mapping[str, int], unit: str, growing: bool
) -> list[str]:
    """Says which score is missing, if later ones are there and do not count."""
    each = [{**state.scores[m], **state.lost.get(m, {})} for m in state.models]
    following = rule.looks(state) + 1
    last = max(map(max, filter(None, each)), default=0) if growing else len(order)
    if not order or rule.stopped(state) or following > min(rule.most, last):
        return []
    lacking = [m for m, of in zip(state.models, each, strict=True) if following not in of]
    names = {place: name for name, place in order.items()}
    label = names.get(following) or int(names[1]) + following - 1
    whole = [name for place, name in names.items() if all(place in of for of in each)]
    listed = ",".join(whole[:_LISTED]) + ",..." * (len(whole) > _LISTED) if whole else None
    said = f"{unit} {label} of {text.listed(lacking)} has no score, so later ones do not count"
    never = "only if it can never come: " * growing
    return [f"{said} ({never}{argument('seeds', listed)} lists those that do)"]


def _order(labels: list[str], seeds: Sequence[int], growing: bool, source: str) -> dict[str, int]:
    """Returns the place of each label, from 1: whole numbers by size, others as they come.

    Runs that end early come first: while a table grows, a number that is missing has its place.
    """
    if seeds:
        return {str(label): place for place, label in enumerate(seeds, 1)}
    if not all(label.isdecimal() for label in labels):
        return {label: place for place, label in enumerate(labels, 1)}
    labels.sort(key=int)
    if not growing:
        return {label: place for place, label in enumerate(labels, 1)}
    for one, other in itertools.pairwise(map(int, labels)):
        if other - one > _FAR:
            expected = f"expected consecutive ones, or {argument('seeds', f'{one},{other},...')}"
            raise DataError(f"no seed between {one} and {other}: {expected}", source)
    return {label: int(label) - int(labels[0]) + 1 for label in labels}
