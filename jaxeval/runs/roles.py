"""Roles of a table's columns, as requested or by name.

A column of folds, ids or dates that is taken for a model would be compared, and win.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import histories, metrics, normal
from jaxeval.runs.columns import Columns, is_text, known_numbers, listed
from jaxeval.runs.cross_validation import FOLDS, are_folds, is_of_mlr3
from jaxeval.runs.layout import AXES, ROLES, Layout, item_roles, role, words_of
from jaxeval.runs.metrics import is_metric

_TOO_GOOD = "if test scores chose the epochs, scores are too high; choose epochs by dev scores"


def complete(
    table: Columns, layout: Layout, own: Sequence[str], read: str | None
) -> tuple[Columns, Layout, list[str]]:
    """Returns a table with a row a run, a layout with the roles that names mean, and notes.

    Raises DataError: no column of scores or models, a column with an unclear role, or rows that
    are epochs or items of a run.

    Args:
      own: the columns of the file.
      read: one that needs no role.
    """
    if "" in table.values and is_text(table.values[""]):  # numbers are those of rows
        values = {name or "unnamed": of for name, of in table.values.items()}
        table = dataclasses.replace(table, values=values)
    chosen = layout.metric if layout.metric in table.values else None  # a column of scores
    if chosen and "metric" not in present(table, layout) and "score" not in layout.columns:
        roles = {**layout.columns, "score": chosen}
        layout = dataclasses.replace(layout, columns=roles, metric=None)
    for column in {*layout.columns.values()} - {"number"}:
        table[column]  # it must exist
    known = _named_roles(table, layout)
    layout = dataclasses.replace(layout, columns={**known, **layout.columns})
    there = present(table, layout)
    asked = {*layout.columns.values()}
    scores = [] if "score" in there else _score_candidates(table, layout)
    if "model" in there and len(scores) == 1:
        known["score"] = there["score"] = scores[0]
        layout = dataclasses.replace(layout, columns={**layout.columns, "score": scores[0]})
    score = there.get("score", next(iter(scores), "NAME"))
    table, layout, notes = histories.one_row_a_run(table, layout, there, score)
    if "model" in there and "score" not in there:
        raise _unclear(table, _no_score(scores), {"score": score}, own)
    if not ("model" in there or "score" in there or layout.models):
        _refuse_other_columns(table, score_columns(table, layout), layout.single)
    for of, name in known.items():
        otherwise = f"{argument('column', {'ROLE': 'NAME'})} changes that"
        notes.append(f"column {name} is read as the {of}; {otherwise}")
    if {"best", "max"} & {*words_of(score)} and "test" in words_of(score):
        notes.append(f"{score}: {_TOO_GOOD}")
    used = {*there.values(), *asked, read, "number", ""}
    used |= {"resampling_id"} if there.get("split") == FOLDS else set()
    rest = [name for name in table.values if name not in used]
    if "model" not in there:  # other models are left out knowingly, names of data sets are not
        wide = {*score_columns(table, layout)}
        rest = [n for n in rest if n not in wide and is_text(table.values[n])]
    if rest:
        named = argument("column", {"dataset": rest[0]})
        doubt = f"if one holds data sets or settings, {named} (or split, seed) groups the scores"
        notes.append(f"not read: {listed(rest)}; {doubt}")
        values = {name: of for name, of in table.values.items() if name not in rest}
        table = dataclasses.replace(table, values=values)
    return table, layout, notes


def present(table: Columns, layout: Layout) -> dict[str, str]:
    """Returns role -> column of the roles that the table has; no "model" in a wide table."""
    columns = {role: layout.columns.get(role, role) for role in ROLES}
    return {role: column for role, column in columns.items() if column in table.values}


def score_columns(table: Columns, layout: Layout) -> Sequence[str]:
    """Returns the columns of a wide table that hold the scores of a model each."""
    taken = {*present(table, layout).values(), ""}
    return layout.models or [name for name in table.values if name not in taken]


def _named_roles(table: Columns, layout: Layout) -> dict[str, str]:
    """Returns role -> column of the axes, the model and the status by name."""
    taken = present(table, layout)
    used = {*taken.values(), *layout.columns.values(), *layout.models}
    free = [name for name in table.values if name not in used]
    meant = item_roles(free)
    for name in ("id2", "id", meant.get("resample")):  # of tidymodels, of caret
        if name in free and are_folds(map(str, table[name])):
            meant.setdefault("split", name)
    if FOLDS in free and not {"split"} & {*meant, *taken} and is_of_mlr3(table):
        meant["split"] = FOLDS
    if "metric" in meant and not is_text(table[meant["metric"]]):
        del meant["metric"]
    meaning = (*AXES, "model", "status", "metric")
    known = {of: name for of, name in meant.items() if of in meaning and of not in taken}
    models = [name for name in free if role(name) == "model"]
    plain = [name for name in models if "." not in name]  # of nested keys
    if {*layout.models} & table.values.keys() or len(plain or models) > 1:
        known.pop("model", None)
    if "model" not in {**taken, **known}:
        known.pop("status", None)
    return known


def _score_candidates(table: Columns, layout: Layout) -> list[str]:
    """Returns the columns named as metrics, else others of numbers without a role, else a loss."""
    taken = {*layout.columns.values(), *present(table, layout).values(), ""}
    free = [n for n in table.values if not (n in taken or metrics.is_training(n))]
    free = [n for n in free if role(n) in (None, "score", "metric")]  # Score; Metric of numbers
    named = [*filter(is_metric, free)]
    numbers = named or [n for n in free if len(known_numbers(table.values[n]))]
    losses = (name for name in table.values if name not in taken and words_of(name) == ("loss",))
    if not (numbers := numbers or [*losses]):
        for name in free:
            normal.refuse_notation(table.values[name][0], name, table.rows[0], table.source)
    return metrics.sort_scores(numbers)


def _no_score(candidates: Sequence[str]) -> str:
    found = f"{listed(candidates, 4)} could each be the" if candidates else "no column"
    expected = "expected one row per score, with their names in a column dataset (or split, seed)"
    advice = f"; if columns are data sets, splits or seeds, {expected}"
    return f"{found} score" + advice * (not any(map(is_metric, candidates)))


def _unclear(
    table: Columns, why: str, advice: Mapping[str, str], own: Sequence[str] = ()
) -> DataError:
    known = f"the columns are {listed(own or table.values)}"
    return DataError(f"{why}; {known}: {argument('column', advice)}", table.source)


def _refuse_other_columns(table: Columns, columns: Sequence[str], single: bool) -> None:
    """Refuses columns of a wide table that are no scores of a model."""
    named = [name for name in columns if is_metric(name)]
    model = {} if single else {"model": "NAME"}
    if len(named) > 1:
        why = f"{listed(named, 4)} look like metrics of one model"
        raise _unclear(table, why, {"score": metrics.sort_scores(named)[0]} | model)
    numbers = {name: known_numbers(table.values[name]) for name in columns}
    fractions = any(np.any(values % 1) for values in numbers.values())
    doubts: list[tuple[str, str, str]] = []  # column, its likely role, what it looks like
    for name, values in numbers.items():
        cells = enumerate(() if len(values) or len(table) == 1 else table.values[name])
        words = ((k, cell) for k, cell in cells if normal.word(cell) not in normal.MISSING)
        if found := next(words, None):
            normal.refuse_notation(found[1], name, table.rows[found[0]], table.source)
            if len(known_numbers([*table.values])):
                why = "the first line looks like a row of scores"
                raise DataError(f"{why}; expected a header, such as model,seed,f1", table.source)
            asked = "model" if len({*table.values[name]}) < len(table) else "ROLE"
            doubts.append((name, asked, f"text ({found[1]})"))
        elif role(name):
            doubts.append((name, "ROLE", "a time, a step, an index or a setting"))
        elif fractions and len(values) and not np.any(values % 1):
            doubts.append((name, "ROLE", f"whole numbers ({values[0]:g} ...) beside fractions"))
    if doubts:
        name, asked, what = doubts[0]
        rest = listed([other for other in columns if other != name], 4)
        why = f"column {name!r} looks like {what}, not like the scores of a model"
        roles = "name its role, such as model or dataset, or leave it out by naming models"
        many = 2 * len(doubts) > len(columns)  # no wide table
        advice = {**model, "score": "NAME"} if asked == "ROLE" and many else {asked: name}
        raise _unclear(table, f"{why}; {roles} ({rest})", advice)
