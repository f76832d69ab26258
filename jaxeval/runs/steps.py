"""What a row of a table is: one score of a run, or else one of its epochs or items.

Epochs and items of one run are no repetitions of it: compared as if they were, any two models
differ. The last epoch of each run is read, or the best by dev, where the caller says which.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import checks, names
from jaxeval.runs.imported import Columns, pick
from jaxeval.runs.layout import AXES, PICKS, Layout
from jaxeval.runs.metrics import higher_is_better

_MOST_RISING = 0.8  # of neighbouring rows, that make a column of steps the history of a run
_OF_RUN = "rows of one run, which are no repetitions of it"


def one_a_run(
    table: Columns, layout: Layout, roles: Mapping[str, str], score: str
) -> tuple[Columns, Layout, tuple[str, ...]]:
    """The rows to compare: one a run where columns `last` or `best` choose it; and notes.

    Raises DataError: rows are epochs or items of a run, or are asked for as units.

    Args:
      roles: role -> column, of those that are there.
      score: the column of scores, or the one that may be meant.
    """
    _refuse_units(table, layout, score)
    picks = {role: name for role, name in layout.columns.items() if role in PICKS}
    if picks:
        rest = {role: name for role, name in layout.columns.items() if role not in PICKS}
        runs = _runs(table, roles, layout.models)
        places, note = _picked(table, layout, picks, score, runs)
        return pick(table, places), dataclasses.replace(layout, columns=rest), (note,)
    free = {*table.values} - {*layout.columns.values(), *layout.models}
    answers = {role: n for role, n in names.of_items(table.values).items() if n in free}
    counts = [name for name in table.values if name in free and names.is_step(name)]
    answered = {"gold", "predicted"} <= answers.keys() and "score" not in answers
    if not (counts or answered or "item" in answers):
        return table, layout, ()
    several = [run for run in _runs(table, roles, layout.models) if len(run) > 1]
    values = table.values[answers["item"]] if "item" in answers else []
    items = any(len({values[k] for k in run}) > 1 for run in several) if values else False
    if items or (answered and several):
        column = answers["item" if items else "gold"]
        raise DataError(f"column {column}: {_of_items(table)}", table.source)
    runs_named = {"seed", "split"} & roles.keys() or any(map(names.is_run, table.values))
    for name in counts:
        if _is_history(table, name, several, named="model" in roles and bool(runs_named)):
            said = f"{_OF_RUN}; {_ways(table, name, score)}"
            raise DataError(f"column {name}: {said}", table.source)
    return table, layout, ()


def _refuse_units(table: Columns, layout: Layout, score: str) -> None:
    """Refuses steps, times and items in place of seeds, splits or data sets."""
    for axis in AXES:
        name = layout.columns.get(axis, "")
        asked = argument("column", {axis: name})
        if names.is_step(name) or names.is_time(name):
            said = f"steps and times are no units; {_ways(table, name, score)}"
            raise DataError(f"{asked}: {said}", table.source)
        if names.role(name) == "item" and axis != "dataset":
            raise DataError(f"{asked}: {_of_items(table)}", table.source)


def refuse_history(table: Columns) -> None:
    """Refuses the steps of runs, where each row is to be a run with settings of its own.

    Raises DataError: a column of steps that rises within runs.
    """
    roles = {role: role for role in ("model", *AXES, "metric") if role in table.values}
    several = [run for run in _runs(table, roles, ()) if len(run) > 1]
    for name in filter(names.is_step, table.values):
        if _is_history(table, name, several, named=False):
            expected = "expected one row of each run, such as its last"
            raise DataError(f"column {name}: {_OF_RUN}; {expected}", table.source)


def _ways(table: Columns, step: str, score: str) -> str:
    """How the steps of runs are read."""
    known = {} if score in ("score", "NAME") else {"score": score}
    devs = [n for n in table.values if names.is_of(n, "dev") and n != score]
    dev = next((n for n in names.by_worth(devs) if not names.is_step(n)), "DEV")
    last, best = (argument("column", known | of) for of in ({"last": step}, {"best": dev}))
    runs = argument("column", {"model": "NAME", "seed": "NAME"})
    said = f"{last} reads the last of each run, {best} the best by {dev}"
    return f"{said}; {runs} tells several runs apart"


def _of_items(table: Columns) -> str:
    """Why items are no units, and how they are compared."""
    found = names.of_items(table.values).keys()
    verb = "items" if "correct" in found or {"gold", "predicted"} <= found else "logs"
    said = f"jaxeval compare {verb} {table.source} compares both"
    return f"rows are items of a run, not runs; {said}"


def _runs(table: Columns, roles: Mapping[str, str], models: Sequence[str]) -> list[list[int]]:
    """The rows of each run, as far as columns tell them apart."""
    of_run = [roles[role] for role in ("model", *AXES, "metric") if role in roles]
    taken = {*roles.values(), *models}
    of_run += [name for name in table.values if names.is_run(name) and name not in taken]
    runs: dict[tuple[str, ...], list[int]] = {}
    keys = zip(*map(table.texts, of_run), strict=True) if of_run else [()] * len(table)
    for k, key in enumerate(keys):
        runs.setdefault(key, []).append(k)
    return [*runs.values()]


def _is_history(table: Columns, name: str, runs: Sequence[Sequence[int]], *, named: bool) -> bool:
    """Whether a column of steps counts within runs, and is not how long each run took."""
    steps = checks.floats(table[name])
    of_runs = [steps[run] for run in runs]
    of_runs = [of for of in of_runs if np.isfinite(of).all() and np.ptp(of) > 0]
    if named:
        return bool(of_runs)
    gaps = np.concatenate([np.zeros(0), *map(np.diff, of_runs)])
    return len(gaps) > 1 and bool(np.mean(gaps > 0) >= _MOST_RISING)


def _picked(
    table: Columns, layout: Layout, asked: Mapping[str, str], score: str, runs: list[list[int]]
) -> tuple[list[int], str]:
    """A row of each run, and what it is."""
    (role, name), *others = asked.items()
    by = checks.floats(table[name])
    wrong = "expected one of them" if others else ""
    if role == "best" and (name == score or names.is_of(name, "test")):
        wrong = "chosen by what is compared, the best is too good; expected a column of dev scores"
    elif not np.isfinite(by).any():
        wrong = "expected a column of numbers"
    if wrong:
        raise DataError(f"{argument('column', asked)}: {wrong}", table.source)
    known = (higher_is_better(name), layout.higher_is_better, higher_is_better(score))
    lowest = role == "best" and next((said for said in known if said is not None), True) is False
    values = table.values.get(score, [1.0] * len(table))
    scored = np.array([value not in (None, "") for value in values])  # NaN is one that diverged
    places = []
    for run in runs:
        rows = np.array(run)
        both = rows[scored[rows] & np.isfinite(by[rows])]
        if not len(both) and not (scored[rows].any() and np.isfinite(by[rows]).any()):
            places.append(run[-1])  # without a score: it failed
            continue
        worth = -by[both] if lowest else by[both]
        best = both[worth == worth.max(initial=-np.inf)].tolist()
        if not best or (role == "last" and len(best) > 1):
            at = " and ".join(str(table.rows[k]) for k in (best or run)[:2])
            seed = argument("column", {"seed": "NAME"})
            what = "expected numbers that differ" if best else f"no row has {name} and a score"
            said = f"rows {at} are of one run: {what}; {seed} tells runs apart"
            raise DataError(f"{argument('column', asked)}: {said}", table.source)
        places.append(best[0])
    which = "last" if role == "last" else "lowest" if lowest else "highest"
    return sorted(places), f"of each run the row with the {which} {name}: {len(places)} rows"
