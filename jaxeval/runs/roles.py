"""Roles of a table's columns: as asked for, else by name; one error where names do not say it.

A column of folds, ids or dates that is taken for a model would be compared, and win.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import checks, names, steps, wandb
from jaxeval.runs.imported import Columns, listed
from jaxeval.runs.layout import AXES, ROLES, Layout


def completed(table: Columns, layout: Layout) -> tuple[Columns, Layout, tuple[str, ...]]:
    """The table with a row a run, a layout with the roles that names tell, and notes on both.

    Raises DataError: no column of scores or of models, or a column that may be another; rows are
    epochs or items of a run.
    """
    table, exported = wandb.tidied(table, layout)
    for column in layout.columns.values():
        if column != "number":
            table[column]  # one that was named must exist
    known = _by_name(table, layout)
    layout = dataclasses.replace(layout, columns={**known, **layout.columns})
    there = present(table, layout)
    scores = [] if "score" in there else _scores(table, layout)
    if "model" in there and len(scores) == 1:
        known["score"] = there["score"] = scores[0]
        layout = dataclasses.replace(layout, columns={**layout.columns, "score": scores[0]})
    metrics = [name for name in scores if names.is_metric(name)]
    fractions = [name for name in scores if not _are_whole(_numbers(table.values[name]))]
    meant = there.get("score") or (metrics or fractions or scores or ["NAME"])[0]
    table, layout, picked = steps.one_a_run(table, layout, there, meant)
    if "model" in there and "score" not in there:
        raise _unclear(table, "no column score", {"score": meant})
    if not ("model" in there or "score" in there or layout.models):
        _refuse_others(table, score_columns(table, layout))
    otherwise = f"{argument('column', {'ROLE': 'NAME'})} says otherwise"
    read = [f"column {column} is read as the {of}; {otherwise}" for of, column in known.items()]
    rest = [name for name in table.values if name not in {*there.values(), "number", ""}]
    if rest and "model" in there:
        named = argument("column", {"dataset": rest[0]})
        doubt = f"where one holds data sets or settings, {named} (or split, seed) parts the scores"
        read.append(f"not read: {listed(rest)}; {doubt}")
    return table, layout, (*exported, *picked, *read)


def present(table: Columns, layout: Layout) -> dict[str, str]:
    """Role -> column, for the roles that the table has; "model" of one with a row a score."""
    columns = {role: layout.columns.get(role, role) for role in ROLES}
    return {role: column for role, column in columns.items() if column in table.values}


def score_columns(table: Columns, layout: Layout) -> Sequence[str]:
    """The columns of a wide table that hold the scores of a model each."""
    taken = set(present(table, layout).values())
    return layout.models or [c for c in table.values if c and c not in taken]


def _by_name(table: Columns, layout: Layout) -> dict[str, str]:
    """Role -> column, of roles that nothing else names: axes, the model, how runs ended."""
    taken = present(table, layout)
    tidy = "model" in taken
    found: dict[str, list[str]] = {}
    for name, values in table.values.items():
        role = names.role(name)
        if role is None or role in taken or name in (*taken.values(), *layout.models):
            continue
        if role == "status":
            words = {checks.word(value) for value in values} - {""}
            fits = bool(words) and words <= checks.ENDED
        else:  # fractions are no seeds
            numbers = _numbers(values)
            fits = (role in AXES and _are_whole(numbers)) or (role == "model" and not len(numbers))
        if fits:
            found.setdefault(role, []).append(name)
    known = {role: found[role][0] for role in AXES if role in found}
    if len(found.get("model", ())) == 1 and not (tidy or {*layout.models} & table.values.keys()):
        known["model"] = found["model"][0]
    if "status" in found and (tidy or "model" in known):
        known["status"] = found["status"][0]
    return known


def _scores(table: Columns, layout: Layout) -> list[str]:
    """Columns of numbers without a role that may be scores, those of test data first."""
    taken = {*present(table, layout).values(), *layout.columns.values(), ""}
    found = []
    for name, values in table.values.items():
        other = names.is_step(name) or names.is_time(name) or names.is_training(name)
        numbers = np.zeros(0) if name in taken or other else _numbers(values)
        if len(numbers) and not names.is_setting(name, whole_numbers=_are_whole(numbers)):
            found.append(name)
    return names.by_worth(found)


def _unclear(table: Columns, why: str, advice: Mapping[str, str]) -> DataError:
    """The error where names do not say what a column is."""
    named = argument("column", advice)
    return DataError(f"{why}; the columns are {listed(table.values)}: {named}", table.source)


def _refuse_others(table: Columns, columns: Sequence[str]) -> None:
    """Refuses columns that would be taken for models and are something else."""
    numbers = {name: _numbers(table.values[name]) for name in columns}
    metrics = [name for name in columns if names.is_metric(name)]
    if len(metrics) > 1:
        best = names.by_worth(metrics)[0]
        why = f"{listed(metrics, 4)} look like metrics of one model"
        raise _unclear(table, why, {"score": best, "model": "NAME"})
    if not any(map(len, numbers.values())):
        for name in columns:  # beside columns of numbers 1,5 need be no score
            checks.refuse_notation(table.values[name][0], name, table.rows[0], table.source)
    if "" in table.values and not len(_numbers(table.values[""])):
        numbers[""] = np.zeros(0)
    fractions = {name for name, of in numbers.items() if not _are_whole(of)}
    for name, of in numbers.items():
        what, whole = "", name not in fractions
        texts = [of for of in table.values[name] if checks.word(of) not in checks.MISSING]
        if not len(of) and texts and len(table) > 1:  # a bad score in one row has its own error
            what = f"text ({listed(dict.fromkeys(texts), 2)})"
        elif names.is_time(name) or names.is_step(name):
            what = "a time or a step"
        elif len(of) and names.is_setting(name, whole_numbers=whole):
            what = "an index or a setting"
        elif len(of) and whole and fractions:
            what = f"whole numbers ({of[0]:g} ...) beside fractions"
        if what:
            why = f"column {name!r} looks like {what}, not like the scores of a model"
            rest = listed([other for other in columns if other != name], 4)
            said = f"{why}; name the models to compare ({rest}), or the column's role"
            raise _unclear(table, said, {"ROLE": name})


def _numbers(values: Sequence[object]) -> np.ndarray:
    numbers = checks.floats(values)
    return numbers[np.isfinite(numbers)]


def _are_whole(known: np.ndarray) -> bool:
    return bool(np.all(known == np.round(known)))
