"""What a row of a table is: one score of a run, or else one of its epochs or items.

Epochs and items of one run are no repetitions of it: compared as if they were, any two models
differ. The last epoch of each run is read, or the best by dev, where the caller says which.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import checks, names
from jaxeval.runs import layout as layouts
from jaxeval.runs.imported import Columns, listed, pick
from jaxeval.runs.layout import AXES, PICKS, Layout
from jaxeval.runs.metrics import higher_is_better

_MOST_RISING = 0.8  # of neighbouring rows, that make a column of steps the history of a run


def one_a_run(
    table: Columns, layout: Layout, score: str
) -> tuple[Columns, Layout, tuple[str, ...]]:
    """The rows to compare: one a run where columns `last` or `best` choose it; and notes.

    Args:
      score: the column of scores, or the one that may be meant.

    Raises:
      DataError: rows are epochs or items of a run, or are asked for as units.
    """
    asked = {role: name for role, name in layout.columns.items() if role in PICKS}
    for axis in AXES:
        name = layout.columns.get(axis, "")
        if names.is_step(name) or names.is_time(name):
            said = f"steps and times are no units; {_ways(table, name, score)}"
            raise DataError(f"{argument('column', {axis: name})}: {said}", table.source)
        if names.role(name) == "item" and axis != "dataset":
            found = argument("column", {axis: name})
            raise DataError(f"{found}: {_of_items(table)}", table.source)
    if asked:
        rest = {role: name for role, name in layout.columns.items() if role not in PICKS}
        layout = dataclasses.replace(layout, columns=rest)
        places, notes = _picked(table, layout, asked, score)
        return pick(table, places), layout, notes
    free = {*table.values} - {*layout.columns.values(), *layout.models}
    answers = {role: n for role, n in names.of_items(table.values).items() if n in free}
    counts = [name for name in table.values if name in free and names.is_step(name)]
    answered = {"gold", "predicted"} <= answers.keys() and "score" not in answers
    cells = _several(table, layout) if counts or answered or "item" in answers else []
    values = table.texts(answers["item"]) if "item" in answers else []
    items = any(len({values[k] for k in cell}) > 1 for cell in cells) if values else False
    if items or (answered and cells):
        column = answers["item" if items else "gold"]
        raise DataError(f"column {column}: {_of_items(table)}", table.source)
    for name in counts:
        if _is_history(table, layout, name, cells):
            said = f"rows of one run, which are no repetitions of it; {_ways(table, name, score)}"
            raise DataError(f"column {name}: {said}", table.source)
    return table, layout, ()


def _ways(table: Columns, step: str, score: str) -> str:
    """How the steps of runs are read."""
    known = {} if score in ("score", "NAME") else {"score": score}
    ways = [f"{argument('column', {**known, 'last': step})} reads the last of each run"]
    devs = [k for k in table.values if names.is_dev(k) and k != score and not names.is_step(k)]
    for dev in names.by_worth(devs)[:1]:
        ways.append(f"{argument('column', {**known, 'best': dev})} the best by {dev}")
    runs = argument("column", {"model": "NAME", "seed": "NAME"})
    return f"{', '.join(ways)}; {runs} tells several runs apart"


def _of_items(table: Columns) -> str:
    """Why items are no units, and how they are compared."""
    found = names.of_items(table.values).keys()
    answers = "correct" in found or {"gold", "predicted"} <= found
    verb = "items" if answers else "logs"
    return (
        f"rows are items of a run, not runs; jaxeval compare {verb} {table.source} compares both"
    )


def _runs(table: Columns, layout: Layout) -> list[list[int]]:
    """The rows of each run, as far as columns tell them apart."""
    roles = layouts.present(table, layout)
    of_run = [roles[role] for role in ("model", *AXES, "metric") if role in roles]
    taken = {*roles.values(), *layout.models}
    of_run += [name for name in table.values if names.is_run(name) and name not in taken]
    cells: dict[tuple[str, ...], list[int]] = {}
    keys = zip(*map(table.texts, of_run), strict=True) if of_run else [()] * len(table)
    for k, key in enumerate(keys):
        cells.setdefault(key, []).append(k)
    return [*cells.values()]


def _several(table: Columns, layout: Layout) -> list[list[int]]:
    """The rows of each run that has several."""
    return [cell for cell in _runs(table, layout) if len(cell) > 1]


def refuse_history(table: Columns) -> None:
    """Refuses the steps of runs, where each row is to be a run with settings of its own.

    Raises:
      DataError: a column of steps that rises within runs.
    """
    cells = _several(table, Layout())
    for name in filter(names.is_step, table.values):
        if _is_history(table, None, name, cells):
            what = "rows of one run, which are no repetitions of it"
            expected = "expected one row of each run, such as its last"
            raise DataError(f"column {name}: {what}; {expected}", table.source)


def _is_history(
    table: Columns, layout: Layout | None, name: str, cells: Sequence[Sequence[int]]
) -> bool:
    """Whether a column of steps counts within runs, and is not how long each run took.

    Without names of runs, or a layout, it does where most neighbouring rows of a cell rise.
    """
    steps = checks.floats(table[name])
    of_runs = [steps[cell] for cell in cells]
    of_runs = [of for of in of_runs if np.isfinite(of).all() and np.ptp(of) > 0]
    if layout is not None and layouts.is_tidy(table, layout):
        known = {"seed", "split"} & layouts.present(table, layout).keys()
        if known or any(map(names.is_run, table.values)):
            return bool(of_runs)
    gaps = np.concatenate([np.zeros(0), *map(np.diff, of_runs)])
    return len(gaps) > 1 and bool(np.mean(gaps > 0) >= _MOST_RISING)


def _picked(
    table: Columns, layout: Layout, asked: Mapping[str, str], score: str
) -> tuple[list[int], tuple[str, ...]]:
    """A row of each run, and what it is.

    Raises:
      DataError: both are asked for, the column holds no numbers or is that of the test scores, or
        a run has several such rows.
    """
    (role, name), *others = asked.items()
    flag = argument("column", asked)
    if others:
        raise DataError(f"{flag}: expected one of them", table.source)
    if role == "best" and (name == score or names.is_test(name)):
        why = "chosen by what is compared, the best is too good; expected a column of dev scores"
        raise DataError(f"{flag}: {why}", table.source)
    by = checks.floats(table[name])
    if not np.isfinite(by).any():
        raise DataError(f"{flag}: expected a column of numbers", table.source)
    known = (higher_is_better(name), layout.higher_is_better, higher_is_better(score))
    lowest = role == "best" and next((said for said in known if said is not None), True) is False
    values = table.values.get(score, [1.0] * len(table))
    scored = np.array([value not in (None, "") for value in values])  # NaN is one that diverged
    places = []
    for run in _runs(table, layout):
        best = _best(run, scored, -by if lowest else by)
        if not best or (role == "last" and len(best) > 1):
            at = " and ".join(str(table.rows[k]) for k in (best or run)[:2])
            seed = argument("column", {"seed": "NAME"})
            what = "expected numbers that differ" if best else f"no row has {name} and a score"
            message = f"{flag}: rows {at} are of one run: {what}; {seed} tells runs apart"
            raise DataError(message, table.source)
        places.append(best[0])
    which = "last" if role == "last" else "lowest" if lowest else "highest"
    read = f"{len(places)} of {len(table)} rows"
    notes = [f"of each run the row with the {which} {name} is read: {read}"]
    ends = dict.fromkeys(str(table[name][k]) for k in places)
    if role == "last" and len(ends) > 1:
        notes.append(f"runs end at different values of {name} ({listed(ends, 4)})")
    return sorted(places), tuple(notes)


def _best(run: list[int], scored: np.ndarray, by: np.ndarray) -> list[int]:
    """The rows of a run that are largest by a column; of a run without scores its last."""
    rows = np.array(run)
    both = rows[scored[rows] & np.isfinite(by[rows])]
    if not len(both):
        failed = not scored[rows].any() or not np.isfinite(by[rows]).any()
        return run[-1:] if failed else []
    return [int(k) for k in both[by[both] == by[both].max()]]
