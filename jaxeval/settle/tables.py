"""Comparisons of recorded scores, which may grow while one looks."""

import dataclasses
import itertools
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jaxeval import cli, sources
from jaxeval.bandits.rules import State
from jaxeval.bandits.settling import Settle
from jaxeval.errors import DataError, argument
from jaxeval.report import text
from jaxeval.report.settlements import settlement
from jaxeval.report.settlements.settlement import Settlement
from jaxeval.runs import tables as runs_tables
from jaxeval.runs.layout import Layout
from jaxeval.runs.scores import Scores
from jaxeval.stats import samples
from jaxeval.stats.claims import Statistic
from jaxeval.stats.samples import Samples

_FAR = 100  # so many numbers in a row that no model has: seeds are not consecutive
_HEAD = 2**16  # bytes in which a table has a row


class Asked(NamedTuple):
    """What is asked of a comparison of recorded scores."""

    seeds: int | Sequence[int] | None = None  # most of each model, or which ones; None: all
    margin: float = 0.0
    alpha: float = 0.05
    statistic: Statistic = "t"
    item: str | None = None  # column of items: each is a pair


def settle(
    source: Any, layout: Layout, asked: Asked, follow: float | None, quiet: bool
) -> Settlement:
    """Settles the first model of a source, the base, against the second.

    Args:
      follow: seconds after which the source is read again while nothing is decided.

    Raises:
      DataError: the source cannot be read, or has not two models with scores on one data set.
    """
    said = ""
    while True:
        try:
            scores = _read(source, layout, asked.item)
            found = settled(scores, asked, growing=follow is not None)
            document = found.document()
            line = "; ".join([*document.answer, *document.notes[1:]])
            done = found.verdict != "undecided" or found.looks >= _most(asked)
            if follow is None or (done and (line == said or not _torn(source))):
                return found
        except DataError as error:
            if follow is None or not _may_come(source, layout, asked.item):
                raise
            line = f"waiting: {error}"
        if line != said:
            cli.say(line, quiet)
        said = line
        time.sleep(follow)


def _most(asked: Asked) -> int:
    if asked.seeds is None:
        return sys.maxsize
    return asked.seeds if isinstance(asked.seeds, int) else len(asked.seeds)


def _read(source: Any, layout: Layout, item: str | None) -> Scores:
    """Returns scores of runs; of items, those of one item are of one split."""
    if item is None:
        return sources.scores([source, *layout.models], layout)[0]
    table = sources.read_columns(source)
    free = {name: of for name, of in table.values.items() if name not in (item, "split")}
    values = {**free, "split": table[item]}
    return runs_tables.from_columns(dataclasses.replace(table, values=values), layout)


def _may_come(source: Any, layout: Layout, item: str | None) -> bool:
    """Returns whether a source is not there yet, is being written, or lacks a model so far."""
    if not isinstance(source, str | Path):
        return False
    path = Path(source)
    if path.is_dir() or not path.exists():
        return True
    with path.open("rb") as stream:
        if len(stream.read(_HEAD).splitlines()) < 2 or _torn(source):
            return True
    try:
        there = _read(source, dataclasses.replace(layout, models=()), item).models
    except DataError:
        return False
    return not {*layout.models} <= {*there}


def _torn(source: Any) -> bool:
    """Returns whether a file ends within a line, whose number may not be whole."""
    if not isinstance(source, str | Path) or not Path(source).is_file():
        return False
    with Path(source).open("rb") as stream:
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - 1))
        return stream.read(1) not in (b"", b"\n")


def settled(scores: Scores, asked: Asked, growing: bool = False) -> Settlement:
    """Settles the first of two models, the base, against the second, by the scores so far.

    Args:
      growing: numbers that both lack between others are under way, and later ones wait for them;
        else they were never run.

    Raises:
      DataError: there are not two models with scores on one data set, the base has a failed run,
        or seeds of a growing table are not consecutive.
    """
    if len(scores.models) != 2:
        found = f"{text.counted(len(scores.models), 'model')} ({', '.join(scores.models)})"
        expected = "expected the names of a base and a candidate"
        raise DataError(f"{expected}, found {found}", scores.source)
    if len(scores.data_sets) > 1:
        named = ", ".join(data.name for data in scores.data_sets)
        raise DataError(f"expected one data set, found {named}", scores.source)
    by_unit = samples.samples(scores)
    cell = next(iter(by_unit.by_data_set.values()), {})
    if absent := [model for model in scores.models if model not in cell]:
        raise DataError(f"{absent[0]}: no usable score", scores.source)
    rule = Settle(
        higher_is_better=scores.higher_is_better,
        most=_most(asked),
        margin=asked.margin,
        alpha=asked.alpha,
        statistic=asked.statistic,
        paired=by_unit.unit == "split",
    )
    order = _order(by_unit, asked.seeds, growing, scores.source)
    state = _state(scores.models, by_unit, rule, order)
    noun = by_unit.unit if asked.item is None else "item"
    more = {
        "metric": scores.metric or None,
        "unit": scores.stored_unit or "",
        "direction_assumed": scores.direction == "assumed",
        "notes": [*scores.warnings, *_gap(rule, state, order, noun)],
    }
    return settlement.settlement(rule, state, None, more, seeds_shared=by_unit.unit != "row")


def _state(
    models: Sequence[str], by_unit: Samples, rule: Settle, order: Mapping[object, int]
) -> State:
    """Returns the scores by place; rows without seeds have their places in their model."""
    (cell,) = by_unit.by_data_set.values()
    lost = next(iter(by_unit.failed.values()), {})
    state = State.begin(models)
    for model in models:
        failed, of = lost.get(model, ()), cell[model]
        known = dict(zip(of.labels.tolist(), of.scores.tolist(), strict=True))
        places = order or {label: k for k, label in enumerate(sorted([*known, *failed]), 1)}
        places = {label: place for label, place in places.items() if place <= rule.most}
        numbered = {places[label]: x for label, x in known.items() if label in places}
        state = dataclasses.replace(state, scores={**state.scores, model: numbered})
        ordered = sorted((label for label in failed if label in places), key=places.__getitem__)
        for label in reversed(ordered):  # the first one is named
            state = rule.failed(state, model, places[label], f"{by_unit.noun} {label} failed")
    return state


def _gap(rule: Settle, state: State, order: Mapping[object, int], unit: str) -> list[str]:
    """Says which score is missing, if later ones are there and do not count."""
    following, last = (
        rule.looks(state) + 1,
        max(max(of, default=0) for of in state.scores.values()),
    )
    if state.excluded or not order or following > min(rule.most, last):
        return []
    lacking = [model for model in state.models if following not in state.scores[model]]
    names = {place: name for name, place in order.items()}
    label = names.get(following) or int(str(names[1])) + following - 1
    said = f"{unit} {label} of {text.listed(lacking)} has no score: later ones do not count"
    return [f"{said} ({argument('seeds')} names those that do)"]


def _order(
    by_unit: Samples, asked: int | Sequence[int] | None, growing: bool, source: str
) -> dict[object, int]:
    """Returns the place of each label, from 1: whole numbers by size, others as they come.

    Runs that end early come first: while a table grows, a number that is missing has its place.
    Rows without seeds have no order of their own.
    """
    if asked is not None and not isinstance(asked, int):
        if by_unit.unit == "row":
            raise DataError(f"no column of seeds for {argument('seeds')}", source)
        return {str(label): place for place, label in enumerate(asked, 1)}
    if by_unit.unit == "row":
        return {}
    scored = [of.labels.tolist() for cell in by_unit.by_data_set.values() for of in cell.values()]
    failed = [labels for cell in by_unit.failed.values() for labels in cell.values()]
    every = [*dict.fromkeys(itertools.chain(*scored, *failed))]
    if all(label.isdecimal() for label in every):
        every.sort(key=int)
        if growing:
            _refuse_far([*map(int, every)], source)
            return {label: int(label) - int(every[0]) + 1 for label in every}
    return {label: place for place, label in enumerate(every, 1)}


def _refuse_far(numbers: Sequence[int], source: str) -> None:
    """Raises DataError if seeds of a growing table are not consecutive, as far as one sees."""
    for one, other in itertools.pairwise(numbers):
        if other - one > _FAR:
            expected = f"expected consecutive ones, or {argument('seeds', f'{one},{other},...')}"
            raise DataError(f"no seed between {one} and {other}: {expected}", source)
