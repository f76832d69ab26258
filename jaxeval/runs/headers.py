"""What the columns of a table are that no one has named: axes, scores of a model, or neither.

A table with one column per model often has others: folds, seeds, ids, dates. Such a column taken
for a model would be compared, and win. Names that mean one thing make an axis; what does not look
like scores is asked about, since a guess either way would be silent.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import checks, names, unread
from jaxeval.runs import layout as layouts
from jaxeval.runs.imported import Columns, listed
from jaxeval.runs.layout import Layout

# how runs ended, in the words of this program, of Weights & Biases and of MLflow
# explains a missing score
FAILED = ("diverged", "failed", "crashed", "killed", "error", "canceled", "cancelled", "timeout")
_UNFINISHED = ("running", "preempted", "preempting")  # a score may not be the last
_OTHERS = ("finished", "early_stopped", "completed", "success", "pending", "scheduled")
_FEWEST = 3  # values that may be called a sequence
_FEWEST_INCREASING = 5  # by chance, scores are in increasing order once in 120 times
_APART = 10.0  # scores of models on the same data are of one size


def completed(table: Columns, layout: Layout) -> tuple[Layout, tuple[str, ...]]:
    """The layout with the axes and status that names tell, notes on them and on what is not read.

    Raises:
      DataError: a column about to be taken for a model holds something else.
    """
    axes = _axes(table, layout) | _status(table, layout)
    whole = dataclasses.replace(layout, columns={**layout.columns, **axes})
    _refuse_nameless_score(table, whole)
    if not (layout.models or {"model", "score"} & set(layouts.present(table, layout))):
        _refuse_metrics(table, whole)
        _refuse_others(table, layouts.score_columns(table, whole))
    known = (_note(role, column) for role, column in axes.items())
    return whole, (*known, *unread.notes(table, whole))


def is_failed(status: object) -> bool:
    """Whether a status explains a missing score."""
    return _word(status) in FAILED


def is_unfinished(status: object) -> bool:
    """Whether a run has not come to its end, so that its score may not be its last."""
    return _word(status) in _UNFINISHED


def _word(status: object) -> str:
    return "" if status is None else str(status).strip().lower()


def _note(role: str, column: str) -> str:
    named = argument("column", {"ROLE": column})
    return f"column {column} is read as the {role}; {named} says otherwise"


def _axes(table: Columns, layout: Layout) -> dict[str, str]:
    """Axis -> column, of axes that nothing else names."""
    taken = layouts.present(table, layout)
    axes: dict[str, str] = {}
    for name, values in table.values.items():
        axis = names.axis(name)
        if axis is None or axis in {**taken, **axes}:
            continue
        if name not in (*taken.values(), *layout.models) and not _has_fractions(values):
            axes[axis] = name
    return axes


def _status(table: Columns, layout: Layout) -> dict[str, str]:
    """A column State (Weights & Biases) or STATUS that says how runs ended, by all its values.

    Where it is empty nothing is known.
    """
    known = {*FAILED, *_UNFINISHED, *_OTHERS}
    if "status" in layouts.present(table, layout) or not layouts.is_tidy(table, layout):
        return {}
    for name, values in table.values.items():
        ended = names.is_status(name) and name not in layout.columns.values()
        said = {*map(_word, values)} - {""} if ended else set()
        if said and said <= known:
            return {"status": name}
    return {}


def _refuse_nameless_score(table: Columns, layout: Layout) -> None:
    """One row per score, whose column is not named."""
    if "score" in layout.columns or not layouts.is_tidy(table, layout):
        return
    scores = _likely_scores(table, layout)
    if "score" not in table.values and scores:
        named = argument("column", {"score": scores[0]})
        raise DataError(
            f"a column model, but no column score; {named} compares by {scores[0]}"
            + (f" (or one of {listed(scores[1:], 4)})" if scores[1:] else ""),
            table.source,
        )


def _refuse_metrics(table: Columns, layout: Layout) -> None:
    """Columns of metrics, which would be compared as if they were models."""
    columns = layouts.score_columns(table, layout)
    models = [c for c in columns if names.is_of_models(c) and not len(_numbers(table.values[c]))]
    scores = _likely_scores(table, layout)
    if models and scores:
        named = argument("column", {"model": models[0], "score": scores[0]})
        raise DataError(
            f"column {models[0]!r} looks like the names of models; {named} compares them by "
            f"{scores[0]}",
            table.source,
        )
    metrics = [column for column in columns if names.is_metric(column)]
    if len(metrics) > 1:
        named = argument("column", {"score": metrics[0], "model": "NAME"})
        raise DataError(
            f"{listed(metrics, 4)} look like metrics of one model; compare models by one of "
            f"them, with a column NAME of models: {named}; or, if these are models, name them",
            table.source,
        )


def _likely_scores(table: Columns, layout: Layout) -> list[str]:
    """Columns that may hold the scores of a tidy table, metrics by name before all others."""
    taken = set(layouts.present(table, layout).values())
    numeric = [c for c, v in table.values.items() if c and c not in taken and len(_numbers(v))]
    metrics = [column for column in numeric if names.is_metric(column)]
    fractions = [column for column in numeric if _has_fractions(table.values[column])]
    return metrics or [c for c in fractions if not names.is_no_score(c, whole_numbers=False)]


def _refuse_others(table: Columns, columns: Sequence[str]) -> None:
    unnamed = [""] if "" in table.values and not _numbers(table.values[""]).size else []
    for name in [*unnamed, *columns]:
        rest = [other for other in columns if other != name]
        others = [_numbers(table.values[other]) for other in rest]
        # beside columns of numbers a text such as 1,5 need be no score in another notation
        if len(table) and not any(map(len, (_numbers(table.values[name]), *others))):
            checks.refuse_notation(table.values[name][0], name, table.rows[0], table.source)
        looks = _looks_like(name, table.values[name], others)
        if looks is not None:
            named = argument("column", {"split": name})
            say = f"say what it is with {named} (or seed, dataset)"
            raise DataError(
                f"column {name!r} looks like {looks}, not like the scores of a model; name the "
                f"models to compare ({listed(rest, 4)}), or "
                + (say if name else "give it a name: dataset, split or seed"),
                table.source,
            )


def _looks_like(name: str, values: Sequence[object], others: Sequence[np.ndarray]) -> str | None:
    """What a column holds if it is no scores; None where it may well be.

    Args:
      others: the numbers of every other column.
    """
    known = _numbers(values)
    if not len(known):
        texts = _texts(values)  # a bad score beside good ones is an error of its own
        return f"text ({listed(texts, 2)})" if texts and len(values) > 1 else None
    if names.is_time(name):
        return "a time"
    whole = _are_whole(known)
    if names.is_no_score(name, whole_numbers=whole):
        return "an index or a setting"
    begin = ", ".join(f"{value:g}" for value in known[:3])
    if whole and not all(map(_are_whole, others)):
        return f"whole numbers ({begin} ...) beside fractions"
    long = len(known) >= _FEWEST_INCREASING
    if whole and len(known) >= _FEWEST and np.all(np.diff(known) == 1):
        # counts, such as of correct answers, are whole numbers in every column
        return f"consecutive numbers ({begin} ...)" if long or known[0] in (0, 1) else None
    return f"numbers of another size ({begin} ...)" if _is_apart(known, others) else None


def _is_apart(known: np.ndarray, others: Sequence[np.ndarray]) -> bool:
    """Whether all of a column is more than ten times above or below all of two or more others.

    Of two columns either could be the odd one: percent and fractions have a warning of their own.
    """
    sizes = [np.abs(numbers) for numbers in others if len(numbers)]
    if len(sizes) < 2:
        return False
    size, rest = np.abs(known), np.concatenate(sizes)
    return bool(size.min() > _APART * rest.max() or _APART * size.max() < rest.min())


def _texts(values: Sequence[object]) -> list[str]:
    """Distinct texts, without those that stand for a missing score."""
    texts = dict.fromkeys(str(value) for value in values if value is not None)
    return [text for text in texts if text.strip().lower() not in checks.MISSING]


def _numbers(values: Sequence[object]) -> np.ndarray:
    numbers = checks.floats(values)
    return numbers[np.isfinite(numbers)]


def _has_fractions(values: Sequence[object]) -> bool:
    return not _are_whole(_numbers(values))


def _are_whole(known: np.ndarray) -> bool:
    return bool(np.all(known == np.round(known)))
