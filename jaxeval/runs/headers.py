"""What the columns of a table are that no one has named: axes, scores of a model, or neither.

A table with a column a model often has others: folds, seeds, ids, dates. Such a column taken for a
model would be compared, and win. Names that mean one thing make an axis; what looks like no scores
is asked about, since a guess either way would be silent.
"""

import dataclasses
import re
from collections.abc import Sequence

import numpy as np

from jaxeval.errors import DataError
from jaxeval.runs import checks
from jaxeval.runs import layout as layouts
from jaxeval.runs.foreign import Columns, listed
from jaxeval.runs.layout import Layout

_AXES = {
    "seed": "seed randomseed run rep repeat repetition replicate replication trial",
    "split": "split fold cv cvfold crossvalidationfold",
    "dataset": "dataset data corpus treebank task benchmark game problem language lang domain "
    "env environment",
}
_AXIS_OF = {name: axis for axis, names in _AXES.items() for name in names.split()}
_NO_SCORES = re.compile(  # last words of names whose whole numbers are no scores
    "ids?|idx|index|number|no|nr|row|item|example|instance|sentence|document|sample|query|question"
    "|seed|fold|split|run|rep|repeat|trial|epochs?|steps?|iterations?|batch|size|count|n|date|day"
    "|year|month|version|parameters|params|layers?"
)
_TIMES = {"time", "timestamp", "duration", "seconds", "minutes", "hours"}
_FEWEST = 3  # values that may be called a sequence
_FEWEST_INCREASING = 5  # by chance, scores are in increasing order once in 120 times


def completed(table: Columns, layout: Layout) -> tuple[Layout, tuple[str, ...]]:
    """The layout with the axes that names alone tell, and a note on each of them.

    Raises:
      DataError: a column about to be taken for a model holds something else.
    """
    found = _axes(table, layout)
    whole = dataclasses.replace(layout, columns={**layout.columns, **found})
    if not (layout.models or {"model", "score"} & set(layouts.present(table, layout))):
        _refuse_others(table, layouts.score_columns(table, whole))
    notes = (
        f"column {column} is read as the {role}; --column ROLE={column} says otherwise"
        for role, column in found.items()
    )
    return whole, tuple(notes)


def _axes(table: Columns, layout: Layout) -> dict[str, str]:
    """Axis -> column, of axes that nothing else names."""
    taken = layouts.present(table, layout)
    found: dict[str, str] = {}
    for name, values in table.values.items():
        axis = _AXIS_OF.get("".join(_words(name)))
        if axis is None or axis in {**taken, **found}:
            continue
        if name not in (*taken.values(), *layout.models) and not _has_fractions(values):
            found[axis] = name
    return found


def _refuse_others(table: Columns, names: Sequence[str]) -> None:
    unnamed = [""] if "" in table.values and not _numbers(table.values[""]).size else []
    for name in [*unnamed, *names]:
        rest = [other for other in names if other != name]
        fractions = any(_has_fractions(table.values[other]) for other in rest)
        looks = _looks_like(name, table.values[name], fractions)
        if looks is not None:
            say = f"say what it is with --column split={name} (or seed, dataset)"
            raise DataError(
                f"column {name!r} looks like {looks}, not like the scores of a model; name the "
                f"models to compare ({listed(rest, 4)}), or "
                + (say if name else "give it a name: dataset, split or seed"),
                table.source,
            )


def _looks_like(name: str, values: Sequence[object], others_have_fractions: bool) -> str | None:
    """What a column holds if it is no scores; None where it may well be."""
    known, words = _numbers(values), _words(name)
    if not len(known):
        texts = _texts(values)  # a bad score beside good ones is an error of its own
        return f"text ({listed(texts, 2)})" if texts and len(values) > 1 else None
    if words and words[-1] in _TIMES:
        return "a time"
    if np.any(known != np.round(known)):
        return None
    if words and _NO_SCORES.fullmatch(words[-1]):
        return "an index or a setting"
    if len(known) < _FEWEST:
        return None
    begin = ", ".join(f"{value:g}" for value in known[:3])
    long = len(known) >= _FEWEST_INCREASING
    if np.all(np.diff(known) == 1) and (long or known[0] in (0, 1)):
        return f"consecutive numbers ({begin} ...)"
    if not others_have_fractions:
        return None  # counts, such as of correct answers, are whole numbers in every column
    if long and np.all(np.diff(known) > 0):
        return f"increasing whole numbers ({begin} ...)"
    return f"numbers of groups ({begin} ...)" if _is_grid(known) else None


def _is_grid(known: np.ndarray) -> bool:
    """0 1 2 0 1 2 or 0 0 1 1 2 2: every one of some consecutive numbers, equally often."""
    values, counts = np.unique(known, return_counts=True)
    if (
        len(values) < _FEWEST
        or set(counts) == {1}
        or len(set(counts)) > 1
        or not np.all(np.diff(values) == 1)
    ):
        return False
    repeats = len(known) // len(values)
    orders = (np.tile(values, repeats), np.repeat(values, repeats))
    return any(np.array_equal(known, order) for order in orders)


def _texts(values: Sequence[object]) -> list[str]:
    """Distinct texts, without those that stand for a missing score."""
    texts = dict.fromkeys(str(value) for value in values if value is not None)
    return [text for text in texts if text.strip().lower() not in checks.MISSING]


def _numbers(values: Sequence[object]) -> np.ndarray:
    numbers = checks.floats(values)
    return numbers[np.isfinite(numbers)]


def _has_fractions(values: Sequence[object]) -> bool:
    known = _numbers(values)
    return bool(np.any(known != np.round(known)))


def _words(name: str) -> list[str]:
    """Lower-case words of a name: cvFold, cv_fold and "CV fold" are alike."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return [word.lower() for word in re.split(r"[^A-Za-z0-9#]+", apart) if word]
