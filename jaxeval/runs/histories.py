"""Rows of one run: steps and items, which are no repetitions of it, and the row that counts.

Compared as if they were runs, any two models differ.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import metrics, texts
from jaxeval.runs.columns import Columns, counted
from jaxeval.runs.cross_validation import FOLDS, is_of_mlr3
from jaxeval.runs.layout import (
    AXES,
    PICKS,
    Layout,
    is_run,
    item_roles,
    may_be_stratum,
    role,
    words_of,
)
from jaxeval.runs.metrics import higher_is_better

_MOST_RISING = 0.8  # share of neighbouring rows that makes a column of steps a history
_MANY = 20  # values of a column that may hold items
_ONE_RUN = "rows of one run, not independent runs"
_ITEMS = "rows are items of a run, not runs; jaxeval compare logs (or compare items) reads them"
_RESAMPLES = "rows look like resamples of a run, not runs; if each was trained separately,"


def one_row_a_run(
    table: Columns, layout: Layout, there: Mapping[str, str], score: str
) -> tuple[Columns, Layout, list[str]]:
    """Returns a row of each run, as the columns `last` or `best` choose it, and a note.

    Args:
      there: role -> column.
      score: the column of scores, or the likely one.
    """
    for axis in AXES:
        if axis not in layout.columns:
            continue
        name = layout.columns[axis]
        kind = role(name)
        folds = axis == "split" and name == FOLDS and is_of_mlr3(table)
        if kind in ("step", "time") and not folds:
            asked = argument("column", {axis: name})
            why = f"{asked}: steps and times are not units; {_remedy(table, name, score)}"
            raise DataError(why, table.source)
        if kind == "item" and axis != "dataset" and not may_be_stratum(name):
            raise DataError(f"{argument('column', {axis: name})}: {_ITEMS}", table.source)
    if picks := {role: name for role, name in layout.columns.items() if role in PICKS}:
        rest = {role: name for role, name in layout.columns.items() if role not in PICKS}
        places, note = _pick(table, layout, picks, score, _runs(table, there, layout.models))
        return table.select(places), dataclasses.replace(layout, columns=rest), [note]
    free = [n for n in table.values if n not in (*layout.columns.values(), *layout.models)]
    steps = [name for name in free if role(name) == "step"]
    answers = item_roles(free)
    both = {"gold", "predicted"} <= answers.keys() and "score" not in answers
    items = {answers["gold"]: _ITEMS} if both else {}
    for name in (n for n in free if role(n) == "item"):
        doubt = f"; {argument('column', {'dataset': name})} if each is a data set or a setting"
        items[name] = _ITEMS + doubt * may_be_stratum(name)
    for name in (n for n in free if role(n) == "resample"):  # no setting, as bootstrap=True is
        if any(map(str.isdigit, "".join(texts.encode(table[name]).names))):
            items[name] = f"{_RESAMPLES} {argument('column', {'split': name})}"
    if not (steps or items):
        return table, layout, []
    run = _runs(table, there, layout.models)
    model = texts.encode(table[there["model"]]).codes if "model" in there else 0 * run
    for name, why in items.items():
        if _has_several(run, model, texts.encode(table[name]).codes, may_be_stratum(name)):
            raise DataError(f"column {name}: {why}", table.source)  # several in a run
    known = {"seed", "split"} & there.keys() or any(map(is_run, table.values))
    for name in steps:
        if _is_history(table, name, run, named="model" in there and bool(known)):
            why = f"column {name}: {_ONE_RUN}; {_remedy(table, name, score)}"
            raise DataError(why, table.source)
    return table, layout, []


def _has_several(run: np.ndarray, model: np.ndarray, item: np.ndarray, doubtful: bool) -> bool:
    """True if a run has several items.

    Doubtful ones are many, and each is once in a run.
    """
    of_run = texts.dense(texts.pair_codes(run, item))
    several = of_run.max() > run.max()
    if several and doubtful:
        of_model = np.unique(np.stack([model, item]), axis=1)[0]
        several = np.bincount(of_model).max() >= _MANY and of_run.max() + 1 == len(run)
    return bool(several)


def refuse_history(table: Columns) -> None:
    """Raises DataError if rows are steps of runs, where each row has to be a run of its own."""
    there = {role: role for role in ("model", *AXES, "metric") if role in table.values}
    run = _runs(table, there, ())
    for name in filter(lambda name: role(name) == "step", table.values):
        if _is_history(table, name, run, named=False):
            expected = "expected one row of each run, such as its last"
            raise DataError(f"column {name}: {_ONE_RUN}; {expected}", table.source)


def _remedy(table: Columns, step: str, score: str) -> str:
    """Returns how to read one step of each run."""
    known = {} if score in ("score", "NAME") else {"score": score}
    devs = [n for n in table.values if metrics.DEV & {*words_of(n)} and n != score and not role(n)]
    dev = next(iter(metrics.sort_scores(devs)), "DEV")
    last, best = (argument("column", known | pick) for pick in ({"last": step}, {"best": dev}))
    runs = argument("column", {"model": "NAME", "seed": "NAME"})
    choices = f"{last} reads the last of each run, {best} the best by {dev}"
    return f"{choices}; {runs} tells several runs apart"


def _runs(table: Columns, there: Mapping[str, str], models: Sequence[str]) -> np.ndarray:
    """Returns [N] the number of each row's run, as far as columns tell runs apart."""
    columns = [there[role] for role in ("model", *AXES, "metric") if role in there]
    taken = {*there.values(), *models}
    columns += [name for name in table.values if is_run(name) and name not in taken]
    run = np.zeros(len(table), np.int64)
    for name in columns:
        run = texts.dense(texts.pair_codes(run, texts.encode(table[name]).codes))
    return run


def _is_history(table: Columns, name: str, run: np.ndarray, named: bool) -> bool:
    """True if a column of steps counts within runs; False if it is how long each run took.

    Args:
      run: [N] number of each row's run.
      named: columns name each run, so that several rows of one are steps.
    """
    order = np.argsort(run, kind="stable")
    gaps = np.diff(texts.to_floats(table[name])[order])[np.diff(run[order]) == 0]
    rising = len(gaps) > 1 and np.mean(gaps > 0) >= _MOST_RISING
    return bool(np.any(np.abs(gaps) > 0) if named else rising)


def _pick(
    table: Columns, layout: Layout, picks: Mapping[str, str], score: str, run: np.ndarray
) -> tuple[np.ndarray, str]:
    """Returns the place of a row of each run, and a note.

    `run`: [N] number of each row's run.
    """
    (pick, name), *others = picks.items()
    asked = argument("column", picks)
    by = texts.to_floats(table[name])
    wrong = "expected one of them" if others else ""
    if pick == "best" and (name == score or "test" in words_of(name)):
        wrong = "the best row by the compared score is too good; expected a column of dev scores"
    elif not np.isfinite(by).any():
        wrong = "expected a column of numbers"
    if wrong:
        raise DataError(f"{asked}: {wrong}", table.source)
    known = (higher_is_better(name), layout.higher_is_better, higher_is_better(score))
    lowest = pick == "best" and next((d for d in known if d is not None), True) is False
    scored = np.array([cell not in (None, "") for cell in table.values.get(score, by)])
    both = scored & np.isfinite(by)
    worth = np.where(both, -by if lowest else by, -np.inf)
    # the last of each run counts: of equal ones the first, of a run without a score its last row
    place = np.arange(len(table))
    order = np.lexsort((np.where(both, -place, place), worth, scored, run))
    last = np.flatnonzero(np.diff(run[order], append=-1))
    best = order[last]
    second = order[last - 1]
    tied = (run[second] == run[best]) & (second != best) & (worth[second] == worth[best])
    lost = scored[best] & (~both[best] | (tied & (pick == "last")))
    for first, other in zip(best[lost].tolist(), second[lost].tolist(), strict=True):
        found = f"no row of the run of row {table.rows[first]} has {name} and a score"
        if both[first]:
            at = f"{table.rows[first]} and {table.rows[other]}"
            found = f"rows {at} are of one run: expected numbers that differ"
        apart = f"{argument('column', {'seed': 'NAME'})} tells runs apart"
        raise DataError(f"{asked}: {found}; {apart}", table.source)
    which = "last" if pick == "last" else "lowest" if lowest else "highest"
    found = counted(len(best), "row")
    return np.sort(best), f"of each run the row with the {which} {name}: {found}"
