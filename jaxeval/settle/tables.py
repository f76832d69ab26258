"""Comparisons of recorded scores, which may grow while one looks."""

import dataclasses
import difflib
import itertools
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxeval import cli, sources
from jaxeval.bandits.rules import State
from jaxeval.bandits.settling import Settle
from jaxeval.errors import ConfigError, DataError, argument
from jaxeval.report import text
from jaxeval.report.settlements import settlement
from jaxeval.report.settlements.settlement import Settlement
from jaxeval.runs import tables as runs_tables
from jaxeval.runs.layout import Layout
from jaxeval.runs.scores import Scores
from jaxeval.stats import datasets, samples
from jaxeval.stats.samples import Samples, Unit
from jaxeval.stats.sequential import FIRST_LOOK

_FAR = 100  # so many numbers in a row that no model has: seeds are not consecutive
_HEAD = 2**16  # bytes in which a table has a row
_LISTED = 8  # seeds in a message


def settle(
    source: Any,
    layout: Layout,
    rule: Settle,
    seeds: Sequence[int] = (),
    item: str | None = None,
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
      DataError: the source cannot be read, has not two models with scores, or gets another data
        set after the first look.
    """
    if follow is not None and not isinstance(source, str | Path):
        expected = "expected a file, a folder or a database, which may grow"
        raise ConfigError(f"{argument('follow')}: {expected}")
    said, begun = "", list[str]()
    while True:
        try:
            scores = _read(source, layout, item)
            found = settled(scores, rule, seeds, item, growing=follow is not None)
            places = [data.name for data in scores.data_sets]
            if begun and (new := [place for place in places if place not in begun]):
                known = f"expected that of the first look, {', '.join(begun)}"
                said = f"another data set, {', '.join(new)}: {known}; settle again for the mean"
                raise DataError(f"{said} over all", str(source))
            begun = places if found.looks >= FIRST_LOOK else []
            document = found.document()
            line = "; ".join([*document.answer, *document.notes[1:]])
            done = found.verdict != "undecided" or found.looks >= rule.most
            if follow is None or (done and (line == said or not _torn(source))):
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
        return sources.scores([source, *layout.models], layout)[0]
    table = sources.read_columns(source)
    free = {name: of for name, of in table.values.items() if name not in (item, "split")}
    values = {**free, "split": table[item]}
    return runs_tables.from_columns(dataclasses.replace(table, values=values), layout)


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
    near = difflib.get_close_matches(absent[0], {*there} - {*layout.models}, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"{source}: no model {absent[0]!r} so far, but {text.listed(there)}{hint}"


def _torn(source: Any) -> bool:
    """Returns whether a file ends within a line, whose number may not be whole."""
    if not isinstance(source, str | Path) or not Path(source).is_file():
        return False
    with Path(source).open("rb") as stream:
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - 1))
        return stream.read(1) not in (b"", b"\n")


def settled(
    scores: Scores,
    rule: Settle,
    seeds: Sequence[int] = (),
    item: str | None = None,
    growing: bool = False,
) -> Settlement:
    """Settles the first of two models, the base, against the second, by the scores so far.

    Of several data sets, the mean of each seed over those that both models have counts.

    Args:
      rule: its direction, and whether scores are pairs, are the scores'.
      seeds: those that count, in their order; (): all.
      item: column of items: each is a pair.
      growing: numbers that both lack between others are under way, and later ones wait for them,
        as for data sets that one lacks; else they were never run.

    Raises:
      DataError: there are not two models with scores, the base has a failed run, scores of data
        sets have no mean, or seeds of a growing table are not consecutive.
    """
    if len(scores.models) != 2:
        found = f"{text.counted(len(scores.models), 'model')} ({', '.join(scores.models)})"
        expected = "expected the names of a base and a candidate"
        raise DataError(f"{expected}, found {found}", scores.source)
    each = samples.samples(scores, _unit(scores, item))
    places, notes = _data_sets(scores, each, growing)
    mean = each.averaged_over(places)
    ended = {model for model, of in mean.by_data_set[""].items() if len(of.labels)}
    ended |= {model for model, labels in mean.failed[""].items() if labels}
    if not growing and (absent := [model for model in scores.models if model not in ended]):
        where = f" on all of {', '.join(places)}" if len(places) > 1 else ""
        raise DataError(f"{absent[0]}: no usable score{where}", scores.source)
    paired, higher = each.unit == "split", scores.higher_is_better
    rule = dataclasses.replace(rule, paired=paired, higher_is_better=higher)
    order = _order(each, places, seeds, growing, scores.source)
    state = _state(scores.models, mean, rule, order)
    noun = each.unit if item is None else "item"
    more = {
        "metric": scores.metric or None,
        "unit": scores.stored_unit or "",
        "direction_assumed": scores.direction == "assumed",
        "data_sets": places if len(places) > 1 else (),
        "notes": [*scores.warnings, *notes, *_gap(rule, state, order, noun, growing)],
    }
    return settlement.settlement(rule, state, None, more, seeds_shared=each.unit != "row")


def _unit(scores: Scores, item: str | None) -> Unit | None:
    """Returns what scores of several data sets are averaged by; None for one data set."""
    if len(scores.data_sets) < 2:
        return None
    named = ", ".join(data.name for data in scores.data_sets)
    if item is not None:
        raise DataError(f"expected items of one data set, found {named}", scores.source)
    every = [of.labels for data in scores.data_sets for of in data.models.values()]
    units: tuple[Unit, Unit] = ("split", "seed")
    found = {unit: {*itertools.chain(*(of.get(unit, ()) for of in every))} for unit in units}
    unit = max(units, key=lambda unit: min(2, len(found[unit])))
    if not found[unit]:
        expected = f"expected seeds or splits, whose scores on {named} have a mean"
        raise DataError(f"{expected}; found neither", scores.source)
    return unit


def _data_sets(scores: Scores, each: Samples, growing: bool) -> tuple[tuple[str, ...], list[str]]:
    """Returns the data sets that count, and notes about them."""
    having: dict[str, set[str]] = {}  # data set -> models with runs that ended
    for place, cell in [*each.by_data_set.items(), *each.failed.items()]:
        having.setdefault(place, set()).update(cell)
    both = tuple(place for place, models in having.items() if growing or len(models) == 2)
    places = both or tuple(having)
    left_out = [place for place in having if place not in places]
    notes = [f"without {', '.join(left_out)}, where a model has no score"] * bool(left_out)
    if len(places) < 2:
        return places, notes
    cells = [each.by_data_set.get(place, {}) for place in places]
    if all(len(cell) == 2 for cell in cells):
        means = ([cell[model].scores.mean() for cell in cells] for model in scores.models)
        if not datasets.one_scale(map(np.array, means)):
            named = ", ".join(places)
            expected = "expected scores of one scale, or a file of one data set"
            raise DataError(f"{named}: scores differ more than tenfold; {expected}", scores.source)
    return places, [f"mean over the data sets {', '.join(places)}", *notes]


def _state(
    models: Sequence[str], mean: Samples, rule: Settle, order: Mapping[object, int]
) -> State:
    """Returns the scores by place; rows without seeds have their places in their model."""
    cell, lost = mean.by_data_set[""], mean.failed[""]
    state = State.begin(models)
    for model in models:
        failed = lost.get(model, ())
        known = (
            dict(zip(*map(np.ndarray.tolist, cell[model]), strict=True)) if model in cell else {}
        )
        places = order or {label: k for k, label in enumerate(sorted([*known, *failed]), 1)}
        places = {label: place for label, place in places.items() if place <= rule.most}
        numbered = {places[label]: x for label, x in known.items() if label in places}
        state = dataclasses.replace(state, scores={**state.scores, model: numbered})
        for label in (label for label in failed if label in places):
            state = state.lose(model, places[label], f"{mean.noun} {label} failed")
    return state


def _gap(
    rule: Settle, state: State, order: Mapping[object, int], unit: str, growing: bool
) -> list[str]:
    """Says which score is missing, if later ones are there and do not count."""
    each = [{**state.scores[m], **state.lost.get(m, {})} for m in state.models]
    following = rule.looks(state) + 1
    if (
        rule.stopped(state)
        or not order
        or following > min(rule.most, max(map(max, filter(None, each)), default=0))
    ):
        return []
    lacking = [m for m, of in zip(state.models, each, strict=True) if following not in of]
    names = {place: str(name) for name, place in order.items()}
    label = names.get(following) or int(names[1]) + following - 1
    whole = [name for place, name in names.items() if all(place in of for of in each)]
    listed = ",".join(whole[:_LISTED]) + ",..." * (len(whole) > _LISTED) if whole else None
    said = f"{unit} {label} of {text.listed(lacking)} has no score: later ones do not count"
    named = argument("seeds", listed)
    if growing:
        return [f"{said} (only if it can never come, {named} names those that do)"]
    return [f"{said} ({named} names those that do)"]


def _order(
    by_unit: Samples,
    data_sets: Sequence[str],
    seeds: Sequence[int],
    growing: bool,
    source: str,
) -> dict[object, int]:
    """Returns the place of each label, from 1: whole numbers by size, others as they come.

    Runs that end early come first: while a table grows, a number that is missing has its place.
    Rows without seeds have no order of their own.
    """
    if seeds:
        if by_unit.unit == "row":
            raise DataError(f"no column of seeds for {argument('seeds')}", source)
        return {str(label): place for place, label in enumerate(seeds, 1)}
    if by_unit.unit == "row":
        return {}
    cells = [by_unit.by_data_set.get(place, {}) for place in data_sets]
    scored = [of.labels.tolist() for cell in cells for of in cell.values()]
    lost = [by_unit.failed.get(place, {}) for place in data_sets]
    failed = [labels for cell in lost for labels in cell.values()]
    every = [*dict.fromkeys(itertools.chain(*scored, *failed))]
    if all(label.isdecimal() for label in every):
        every.sort(key=int)
        if growing:
            for one, other in itertools.pairwise(map(int, every)):
                if other - one > _FAR:
                    listed = argument("seeds", f"{one},{other},...")
                    expected = f"expected consecutive ones, or {listed}"
                    raise DataError(f"no seed between {one} and {other}: {expected}", source)
            return {label: int(label) - int(every[0]) + 1 for label in every}
    return {label: place for place, label in enumerate(every, 1)}
