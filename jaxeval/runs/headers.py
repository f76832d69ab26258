"""What the columns of a table are that no one has named: axes, scores of a model, or neither.

A table with one column per model often has others: folds, seeds, ids, dates. Such a column taken
for a model would be compared, and win. Names that mean one thing make an axis; what does not look
like scores is asked about, since a guess either way would be silent.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import checks, names, rows, unread, wandb
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


def completed(table: Columns, layout: Layout) -> tuple[Columns, Layout, tuple[str, ...]]:
    """The table with a row a score, and a layout with the roles that names tell; notes on both.

    Raises:
      DataError: a column about to be taken for a model holds something else; rows are epochs or
        items of a run.
    """
    table, exported = wandb.tidied(table, layout)
    told: dict[str, str] = {}
    whole = layout
    for roles in (_axes, _model, _status, _score):
        found = roles(table, whole)
        told |= found
        whole = dataclasses.replace(whole, columns={**whole.columns, **found})
    table, whole, picked = rows.one_a_run(table, whole, _meant(table, whole))
    _refuse_nameless_score(table, whole)
    if not (layout.models or {"model", "score"} & set(layouts.present(table, whole))):
        _refuse_metrics(table, whole)
        _refuse_others(table, layouts.score_columns(table, whole))
    known = (_note(role, column) for role, column in told.items())
    return table, whole, (*exported, *picked, *known, *unread.notes(table, whole))


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


def _model(table: Columns, layout: Layout) -> dict[str, str]:
    """The one column of text that is named as models are, in a table without a column model."""
    if layouts.is_tidy(table, layout) or {*layout.models} & table.values.keys():
        return {}
    columns = _of_models(table, layout)
    return {"model": columns[0]} if len(columns) == 1 else {}


def _of_models(table: Columns, layout: Layout) -> list[str]:
    """Columns that hold names of models; name alone may be that of a run or a person."""
    taken = set(layouts.present(table, layout).values())
    columns = [c for c in table.values if names.is_of_models(c) and c not in taken]
    texts = [c for c in columns if not len(_numbers(table.values[c]))]
    repeated = [c for c in texts if len({*table.texts(c)}) < len(table)]
    return [c for c in texts if not wandb.is_run(c)] or repeated


def _score(table: Columns, layout: Layout) -> dict[str, str]:
    """The only column of numbers that can be the score of a tidy table."""
    if "score" in layouts.present(table, layout) or not layouts.is_tidy(table, layout):
        return {}
    columns = _candidates(table, layout)
    return {"score": columns[0]} if len(columns) == 1 else {}


def _meant(table: Columns, layout: Layout) -> str:
    """The column of scores, or the likeliest of several; "": there is none."""
    known = layouts.present(table, layout).get("score")
    return known or next(iter(_likely_scores(table, layout)), "")


def _refuse_nameless_score(table: Columns, layout: Layout) -> None:
    """One row per score, whose column is not named."""
    if "score" in layout.columns or not layouts.is_tidy(table, layout):
        return
    scores = _likely_scores(table, layout)
    if "score" not in table.values and scores:
        named = argument("column", {"score": scores[0]})
        raise DataError(
            f"a column {layout.columns.get('model', 'model')}, but no column score; {named} "
            f"compares by {scores[0]}"
            + (f" (or one of {listed(scores[1:], 4)})" if scores[1:] else ""),
            table.source,
        )


def _refuse_metrics(table: Columns, layout: Layout) -> None:
    """Columns of metrics, which would be compared as if they were models."""
    columns = layouts.score_columns(table, layout)
    models, scores = _of_models(table, layout), _likely_scores(table, layout)
    if models and scores:
        named = argument("column", {"model": models[0], "score": scores[0]})
        raise DataError(
            f"column {models[0]!r} looks like the names of models; {named} compares them by "
            f"{scores[0]}",
            table.source,
        )
    metrics = [column for column in columns if names.is_metric(column)]
    if len(metrics) > 1:
        named = argument("column", {"score": names.by_worth(metrics)[0], "model": "NAME"})
        raise DataError(
            f"{listed(metrics, 4)} look like metrics of one model; compare models by one of "
            f"them, with a column NAME of models: {named}; or, if these are models, name them",
            table.source,
        )


def _candidates(table: Columns, layout: Layout) -> list[str]:
    """Columns of numbers that may be scores; those that never vary only where there are no others.

    Steps, times, settings and scores of training are none.
    """
    taken = set(layouts.present(table, layout).values())
    numbers = {
        name: known
        for name, values in table.values.items()
        if name and name not in taken and len(known := _numbers(values))
    }
    free = [
        name
        for name, known in numbers.items()
        if not (names.is_step(name) or names.is_time(name) or names.is_training(name))
        and not names.is_no_score(name, whole_numbers=_are_whole(known))
    ]
    return [name for name in free if np.ptp(numbers[name])] or free


def _likely_scores(table: Columns, layout: Layout) -> list[str]:
    """Columns that may hold the scores of a tidy table: metrics by name, else fractions, else all.

    Of training only where there is no other.
    """
    columns = _candidates(table, layout)
    metrics = [column for column in columns if names.is_metric(column)]
    fractions = [column for column in columns if _has_fractions(table.values[column])]
    trained = [c for c, v in table.values.items() if names.is_training(c) and len(_numbers(v))]
    return names.by_worth(metrics or fractions or columns or trained)


def _refuse_others(table: Columns, columns: Sequence[str]) -> None:
    """Columns that are taken for models, and look like something else."""
    unnamed = [""] if "" in table.values and not _numbers(table.values[""]).size else []
    known = {name: _numbers(table.values[name]) for name in (*unnamed, *columns)}
    if len(table) and not any(map(len, known.values())):
        for name in known:  # beside columns of numbers 1,5 need be no score in another notation
            checks.refuse_notation(table.values[name][0], name, table.rows[0], table.source)
    apart = _apart({name: np.abs(of) for name, of in known.items() if len(of)})
    fractions = [name for name, of in known.items() if not _are_whole(of)]
    for name, numbers in known.items():
        beside = any(other != name for other in fractions[:2])
        looks = _looks_like(name, table.values[name], numbers, beside, name in apart)
        if looks is not None:
            rest = [other for other in columns if other != name]
            raise DataError(
                f"column {name!r} looks like {looks}, not like the scores of a model; name the "
                f"models to compare ({listed(rest, 4)}), or {_remedy(name)}",
                table.source,
            )


def _remedy(name: str) -> str:
    """What to do with a column; of a setting or a time no axis is made."""
    if not name:
        return "give it a name: dataset, split or seed"
    setting = names.is_no_score(name, whole_numbers=False) or names.is_time(name)
    if setting and names.axis(name) is None:
        return "leave the column out of the table"
    return f"say what it is with {argument('column', {'dataset': name})} (or split, seed)"


def _looks_like(
    name: str, values: Sequence[object], known: np.ndarray, beside: bool, apart: bool
) -> str | None:
    """What a column holds if it is no scores; None where it may well be.

    Args:
      known: its numbers.
      beside: another column holds fractions.
      apart: its numbers are of another size than those of all others.
    """
    if not len(known):
        texts = _texts(values)  # a bad score beside good ones is an error of its own
        return f"text ({listed(texts, 2)})" if texts and len(values) > 1 else None
    if names.is_time(name):
        return "a time"
    whole = _are_whole(known)
    if names.is_no_score(name, whole_numbers=whole):
        return "an index or a setting"
    begin = ", ".join(f"{value:g}" for value in known[:3])
    if whole and beside:
        return f"whole numbers ({begin} ...) beside fractions"
    long = len(known) >= _FEWEST_INCREASING
    if whole and len(known) >= _FEWEST and np.all(np.diff(known) == 1):
        # counts, such as of correct answers, are whole numbers in every column
        return f"consecutive numbers ({begin} ...)" if long or known[0] in (0, 1) else None
    return f"numbers of another size ({begin} ...)" if apart else None


def _apart(sizes: Mapping[str, np.ndarray]) -> set[str]:
    """Columns of which all is more than ten times above or below all of two or more others.

    Of two columns either could be the odd one: percent and fractions have a message of their own.
    """
    if len(sizes) <= 2:
        return set()
    lows = sorted(float(size.min()) for size in sizes.values())
    highs = sorted(float(size.max()) for size in sizes.values())
    return {
        name
        for name, size in sizes.items()
        if size.min() > _APART * highs[-1 if size.max() < highs[-1] else -2]
        or _APART * size.max() < lows[0 if size.min() > lows[0] else 1]
    }


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
