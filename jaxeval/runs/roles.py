"""Roles of a table's columns: as asked for, else by name; one error where names do not say it.

A column of folds, ids or dates that is taken for a model would be compared, and win.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import checks, names, steps, wandb
from jaxeval.runs import layout as layouts
from jaxeval.runs.imported import Columns, listed
from jaxeval.runs.layout import Layout


def completed(table: Columns, layout: Layout) -> tuple[Columns, Layout, tuple[str, ...]]:
    """The table with a row a run, a layout with the roles that names tell, and notes on both.

    Raises:
      DataError: no column of scores or of models, or a column that may be another; rows are epochs
        or items of a run.
    """
    table, exported = wandb.tidied(table, layout)
    for column in layout.columns.values():
        if column != "number":
            table[column]  # one that was named must exist
    known = _by_name(table, layout)
    whole = layout.having(known)
    if layouts.is_tidy(table, whole) and "score" not in layouts.present(table, whole):
        scores = _scores(table, whole)
        if len(scores) == 1:
            known["score"] = scores[0]
            whole = whole.having(known)
    table, whole, picked = steps.one_a_run(table, whole, _meant(table, whole))
    if layouts.is_tidy(table, whole):
        if "score" not in layouts.present(table, whole):
            raise _unclear(table, "no column score", {"score": _meant(table, whole)})
    elif not layout.models:
        _refuse_others(table, whole)
    read = (
        f"column {column} is read as the {role}; {argument('column', {'ROLE': column})} says "
        "otherwise"
        for role, column in known.items()
    )
    return table, whole, (*exported, *picked, *read, *_unread(table, whole))


def _by_name(table: Columns, layout: Layout) -> dict[str, str]:
    """Role -> column, of roles that nothing else names: axes, the model, how runs ended."""
    taken = layouts.present(table, layout)
    free = [c for c in table.values if c not in (*taken.values(), *layout.models)]
    settled = layouts.is_tidy(table, layout) or bool({*layout.models} & table.values.keys())
    found: dict[str, list[str]] = {}
    for name in free:
        role = names.role(name)
        if role is not None and role not in taken and _fits(role, table.values[name]):
            found.setdefault(role, []).append(name)
    models = found.get("model", [])
    known = {role: found[role][0] for role in layouts.AXES if role in found}
    if len(models) == 1 and not settled:
        known["model"] = models[0]
    if "status" in found and ("model" in known or layouts.is_tidy(table, layout)):
        known["status"] = found["status"][0]
    return known


def _fits(role: str, values: Sequence[object]) -> bool:
    """Whether a column may have the role that its name means: fractions are no seeds."""
    if role == "status":
        words = {checks.word(value) for value in values} - {""}
        return bool(words) and words <= checks.ENDED
    numbers = _numbers(values)
    return not len(numbers) if role == "model" else role in layouts.AXES and _are_whole(numbers)


def _scores(table: Columns, layout: Layout) -> list[str]:
    """Columns of numbers without a role that may be scores, those of test data first.

    Steps, times, settings and scores of training are none.
    """
    taken = {*layouts.present(table, layout).values(), *layout.columns.values(), ""}
    found = []
    for name, values in table.values.items():
        other = names.is_step(name) or names.is_time(name) or names.is_training(name)
        numbers = np.zeros(0) if name in taken or other else _numbers(values)
        if len(numbers) and not names.is_setting(name, whole_numbers=_are_whole(numbers)):
            found.append(name)
    return names.by_worth(found)


def _meant(table: Columns, layout: Layout) -> str:
    """The column of scores, or the one that may be: a metric by its name, else fractions."""
    if "score" in (known := layouts.present(table, layout)):
        return known["score"]
    scores = _scores(table, layout)
    metrics = [name for name in scores if names.is_metric(name)]
    fractions = [name for name in scores if not _are_whole(_numbers(table.values[name]))]
    return next(iter(metrics or fractions or scores), "NAME")


def _unclear(table: Columns, why: str, advice: Mapping[str, str]) -> DataError:
    """The error where names do not say what a column is."""
    named = argument("column", advice)
    return DataError(f"{why}; the columns are {listed(table.values)}: {named}", table.source)


def _refuse_others(table: Columns, layout: Layout) -> None:
    """Refuses columns that would be taken for models and are something else."""
    columns = layouts.score_columns(table, layout)
    if "score" in layouts.present(table, layout):
        return  # refused as a table without a column of models
    unnamed = [""] if "" in table.values and not len(_numbers(table.values[""])) else []
    numbers = {name: _numbers(table.values[name]) for name in (*unnamed, *columns)}
    metrics = [name for name in columns if names.is_metric(name)]
    if len(metrics) > 1:
        best = names.by_worth(metrics)[0]
        why = f"{listed(metrics, 4)} look like metrics of one model"
        raise _unclear(table, why, {"score": best, "model": "NAME"})
    if len(table) and columns and not any(map(len, numbers.values())):
        for name in columns:  # beside columns of numbers 1,5 need be no score
            checks.refuse_notation(table.values[name][0], name, table.rows[0], table.source)
    fractions = [name for name, of in numbers.items() if not _are_whole(of)]
    for name, of in numbers.items():
        beside = any(other != name for other in fractions[:2])
        what = _looks_like(name, table.values[name], of, beside=beside)
        if what is not None:
            why = f"column {name!r} looks like {what}, not like the scores of a model"
            rest = listed([other for other in columns if other != name], 4)
            said = f"{why}; name the models to compare ({rest}), or the column's role"
            raise _unclear(table, said, {"ROLE": name})


def _looks_like(
    name: str, values: Sequence[object], numbers: np.ndarray, *, beside: bool
) -> str | None:
    """What a column holds if it is no scores; None where it may well be.

    Args:
      beside: another column holds fractions.
    """
    if not len(numbers):
        texts = dict.fromkeys(str(v) for v in values if checks.word(v) not in checks.MISSING)
        # a bad score in one row is an error of its own
        return f"text ({listed(texts, 2)})" if texts and len(values) > 1 else None
    whole = _are_whole(numbers)
    if names.is_time(name) or names.is_step(name):
        return "a time or a step"
    if not name or names.is_setting(name, whole_numbers=whole):
        return "an index or a setting"
    return f"whole numbers ({numbers[0]:g} ...) beside fractions" if whole and beside else None


def _unread(table: Columns, layout: Layout) -> list[str]:
    """A note on the columns of a tidy table that are not read."""
    read = {*layouts.present(table, layout).values(), "number", ""}
    rest = [name for name in table.values if name not in read]
    if not rest or not layouts.is_tidy(table, layout):
        return []
    named = argument("column", {"dataset": rest[0]})
    doubt = f"where one holds data sets or settings, {named} (or split, seed) parts the scores"
    return [f"not read: {listed(rest)}; {doubt}"]


def _numbers(values: Sequence[object]) -> np.ndarray:
    numbers = checks.floats(values)
    return numbers[np.isfinite(numbers)]


def _are_whole(known: np.ndarray) -> bool:
    return bool(np.all(known == np.round(known)))
