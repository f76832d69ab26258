"""Comparisons of recorded scores, which may grow while one looks."""

import os
import time
from pathlib import Path
from typing import Any

from jaxeval import cli, sources
from jaxeval.bandits.rules import State
from jaxeval.bandits.settling import Settle
from jaxeval.errors import DataError
from jaxeval.report import text
from jaxeval.report.settlements import settlement
from jaxeval.report.settlements.settlement import Settlement
from jaxeval.runs.layout import Layout
from jaxeval.runs.scores import Scores
from jaxeval.stats import samples


def settle(
    source: Any,
    layout: Layout,
    most: int,
    margin: float,
    alpha: float,
    follow: float | None,
    quiet: bool,
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
            given = [source, *layout.models]
            scores = sources.scores(given, layout)[0]
            found = settled(scores, most, margin, alpha, growing=follow is not None)
            line = found.document().answer[0]
            done = found.verdict != "undecided" or found.looks >= most
            if follow is None or (done and (line == said or not _torn(source))):
                return found
        except DataError as error:  # a file that is just being written, or a model without rows
            if follow is None:
                raise
            line = f"waiting: {error}"
        if line != said:
            cli.say(line, quiet)
        said = line
        time.sleep(follow)


def _torn(source: Any) -> bool:
    """Returns whether a file ends within a line, whose number may not be whole."""
    if not isinstance(source, str | Path) or not Path(source).is_file():
        return False
    with Path(source).open("rb") as stream:
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - 1))
        return stream.read(1) not in (b"", b"\n")


def settled(
    scores: Scores, most: int, margin: float, alpha: float, growing: bool = False
) -> Settlement:
    """Settles the first of two models, the base, against the second, by the scores so far.

    Args:
      growing: a whole number that both lack between others is under way, and later ones wait for
        it; else it was never run.

    Raises:
      DataError: there are not two models with scores on one data set.
    """
    if len(scores.models) != 2:
        named = ", ".join(scores.models)
        expected = "expected the names of a base and a candidate"
        count = text.counted(len(scores.models), "model")
        raise DataError(f"{expected}, found {count} ({named})", scores.source)
    if len(scores.data_sets) > 1:
        named = ", ".join(data.name for data in scores.data_sets)
        raise DataError(f"expected one data set, found {named}", scores.source)
    by_unit = samples.samples(scores)
    cell = next(iter(by_unit.by_data_set.values()), {})
    known: dict[str, dict[int, float]] = {}
    every = [label for sample in cell.values() for label in sample.labels.tolist()]
    order = _order(every, growing)
    for model in scores.models:
        sample = cell.get(model)
        if sample is None:
            raise DataError(f"{model}: no usable score", scores.source)
        numbers = [order[label] for label in sample.labels.tolist()]
        if by_unit.unit == "row":
            numbers = [*range(1, len(numbers) + 1)]
        known[model] = dict(zip(numbers, sample.scores.tolist(), strict=True))
    rule = Settle(
        higher_is_better=scores.higher_is_better,
        most=most,
        margin=margin,
        alpha=alpha,
        paired=by_unit.unit == "split",
    )
    lost = next(iter(by_unit.failed.values()), {})
    failed = {
        model: f"{by_unit.noun} {labels[0]} failed" for model, labels in lost.items() if labels
    }
    state = State(scores.models, known, dict.fromkeys(scores.models, ()), failed)
    return settlement.settlement(
        rule,
        state,
        None,
        {
            "metric": scores.metric or None,
            "unit": scores.stored_unit or "",
            "direction_assumed": scores.direction == "assumed",
            "notes": scores.warnings,
        },
    )


def _order(labels: list[Any], growing: bool) -> dict[Any, int]:
    """Returns the place of each label, from 1: whole numbers by size, others as they come.

    Runs that end early come first: while a table grows, a number that is missing has its place.
    """
    every = [*dict.fromkeys(labels)]
    if all(str(label).isdecimal() for label in every):
        every.sort(key=int)
        if growing and every:
            return {label: int(label) - int(every[0]) + 1 for label in every}
    return {label: place for place, label in enumerate(every, 1)}
