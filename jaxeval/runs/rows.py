"""What a row of a table is: one score of a run, or else one of its epochs or items.

Epochs and items of one run are no repetitions of it: compared as if they were, any two models
differ. The last epoch of each run is read, or the best by dev, where the caller says which.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import checks, names, wandb
from jaxeval.runs import layout as layouts
from jaxeval.runs.imported import Columns, listed, pick
from jaxeval.runs.layout import AXES, PICKS, Layout
from jaxeval.runs.metrics import higher_is_better

_MOST_RISING = 0.8  # of neighbouring rows, that make a column of steps the history of a run
_FEWEST = 3  # steps that all models have in common


def one_a_run(
    table: Columns, layout: Layout, score: str
) -> tuple[Columns, Layout, tuple[str, ...]]:
    """The rows to compare: one a run where columns `last` or `best` choose it; and notes.

    Args:
      score: the column of scores, or the one that may be meant; "": there is none.

    Raises:
      DataError: rows are epochs or items of a run, or are asked for as units.
    """
    asked = {role: name for role, name in layout.columns.items() if role in PICKS}
    _refuse_as_units(table, layout, score)
    if asked:
        rest = {role: name for role, name in layout.columns.items() if role not in PICKS}
        layout = dataclasses.replace(layout, columns=rest)
        places, note = _picked(table, layout, asked, score)
        return pick(table, places), layout, note
    taken = {*layout.columns.values(), *layout.models}
    free = [name for name in table.values if name not in taken]
    _refuse_items(table, layout, free)
    for name in free:
        if names.is_step(name) and _is_history(table, layout, name):
            raise DataError(f"column {name}: {_said_of(table, layout, name, score)}", table.source)
    return table, layout, ()


def _refuse_as_units(table: Columns, layout: Layout, score: str) -> None:
    """Steps, times and items that are named as seeds, splits or data sets."""
    for axis in AXES:
        name = layout.columns.get(axis, "")
        asked = argument("column", {axis: name})
        if names.is_step(name) or names.is_time(name):
            rest = {role: column for role, column in layout.columns.items() if role != axis}
            without = dataclasses.replace(layout, columns=rest)
            said = "steps and times are no units; leave it out where each row is a run"
            if name in table.values and _is_history(table, without, name):
                said = _said_of(table, without, name, score)
            raise DataError(f"{asked}: {said}", table.source)
        if names.is_item(name) and axis != "dataset":
            raise DataError(f"{asked}: {_items(table, layout)}", table.source)


def _said_of(table: Columns, layout: Layout, step: str, score: str) -> str:
    """Why steps are no units, and what to ask for."""
    head = "rows of one run, which are no repetitions of it"
    if not layouts.is_tidy(table, layout):
        last = argument("column", {"last": step})
        return (
            f"{head}; expected several runs of each model: columns model, seed, {step} and a "
            f"score, of which {last} reads the last row of each run"
        )
    known = {} if score in ("", layout.columns.get("score", "score")) else {"score": score}
    ways = [f"{argument('column', {**known, 'last': step})} reads the last of each run"]
    devs = [k for k in table.values if names.is_dev(k) and k != score and not names.is_step(k)]
    for dev in names.by_worth(devs)[:1]:
        ways.append(f"{argument('column', {**known, 'best': dev})} the best by {dev}")
    runs = argument("column", {"seed": "NAME"})
    return f"{head}; {', '.join(ways)}; if they are several runs, {runs} tells these apart"


def _items(table: Columns, layout: Layout) -> str:
    """Why items are no units, and how they are compared."""
    head = "rows are items of a run, not runs"
    if not layouts.is_tidy(table, layout):
        columns = "model, seed, item and correct"
        return f"{head}; jaxeval compare --items reads a row an item of a run: columns {columns}"
    answers = names.answers(table.values)
    flag = "items" if "correct" in answers or {"gold", "predicted"} <= answers.keys() else "log"
    return f"{head}; jaxeval compare --{flag} {table.source} compares runs and items"


def _refuse_items(table: Columns, layout: Layout, free: Sequence[str]) -> None:
    """Answers to items, whose rows are no runs, by a column of items or of answers."""
    of_items = [name for name in free if names.is_item(name)]
    answers = names.answers(free)
    answered = {"gold", "predicted"} <= answers.keys()
    if not (of_items or answered):
        return
    several = [cell for cell in _runs(table, layout) if len(cell) > 1]
    for name in of_items:
        values = table[name]
        if any(len({str(values[k]) for k in cell}) > 1 for cell in several):
            raise DataError(f"column {name}: {_items(table, layout)}", table.source)
    if answered and several and "score" not in layouts.present(table, layout):
        columns = f"{answers['gold']} and {answers['predicted']}"
        raise DataError(f"columns {columns}: {_items(table, layout)}", table.source)


def _runs(table: Columns, layout: Layout) -> list[list[int]]:
    """The rows of each run, as far as columns tell them apart."""
    roles = layouts.present(table, layout)
    of_run = [roles[role] for role in ("model", *AXES, "metric") if role in roles]
    taken = {*roles.values(), *layout.models}
    of_run += [name for name in table.values if wandb.is_run(name) and name not in taken]
    cells: dict[tuple[str, ...], list[int]] = {}
    keys = zip(*map(table.texts, of_run), strict=True) if of_run else [()] * len(table)
    for k, key in enumerate(keys):
        cells.setdefault(key, []).append(k)
    return [*cells.values()]


def _are_known(table: Columns, layout: Layout) -> bool:
    """Whether a column tells the runs of a model apart."""
    axes = {"seed", "split"} & layouts.present(table, layout).keys()
    return bool(axes) or any(map(wandb.is_run, table.values))


def refuse_history(table: Columns) -> None:
    """Refuses the steps of runs, where each row is to be a run with settings of its own.

    Raises:
      DataError: a column of steps that rises within runs.
    """
    for name in filter(names.is_step, table.values):
        if _rises(_steps(table, Layout(), name)):
            raise DataError(
                f"column {name}: rows of one run, which are no repetitions of it; expected one "
                "row of each run, such as its last",
                table.source,
            )


def _is_history(table: Columns, layout: Layout, name: str) -> bool:
    """Whether a column of steps counts within runs, and is not how long each run took."""
    cells = _steps(table, layout, name)
    if not cells or (_are_known(table, layout) and layouts.is_tidy(table, layout)):
        return bool(cells)
    alike = {tuple(sorted(cell)) for cell in cells}
    same = len(cells) > 1 and len(alike) == 1 and len({*next(iter(alike))}) >= _FEWEST
    return same or _rises(cells)


def _steps(table: Columns, layout: Layout, name: str) -> list[np.ndarray]:
    """The steps of each run, as far as runs are told apart, of those that have several."""
    steps = checks.floats(table[name])
    cells = [steps[cell] for cell in _runs(table, layout) if len(cell) > 1]
    return [cell for cell in cells if np.isfinite(cell).all() and np.ptp(cell) > 0]


def _rises(cells: Sequence[np.ndarray]) -> bool:
    """Whether most neighbouring rows rise, as steps do in the order of a run."""
    gaps = np.concatenate([np.zeros(0), *map(np.diff, cells)])
    return len(gaps) > 1 and bool(np.mean(gaps > 0) >= _MOST_RISING)


def _picked(
    table: Columns, layout: Layout, asked: dict[str, str], score: str
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
        raise DataError(
            f"{flag}: chosen by what is compared, the best is too good; expected a column of dev "
            "scores",
            table.source,
        )
    by = checks.floats(table[name])
    if not np.isfinite(by).any():
        raise DataError(f"{flag}: expected a column of numbers", table.source)
    known = (higher_is_better(name), layout.higher_is_better, higher_is_better(score))
    lowest = role == "best" and next((said for said in known if said is not None), True) is False
    by = -by if lowest else by
    scored = _has_score(table, score)
    places = []
    for run in _runs(table, layout):
        best = _best(run, scored, by)
        if not best or (role == "last" and len(best) > 1):
            at = " and ".join(str(table.rows[k]) for k in (best or run)[:2])
            seed = argument("column", {"seed": "NAME"})
            what = "expected numbers that differ" if best else f"no row has {name} and a score"
            raise DataError(
                f"{flag}: rows {at} are of one run: {what}; {seed} names the column that tells "
                "runs apart",
                table.source,
            )
        places.append(best[0])
    return sorted(places), tuple(_told(table, asked, lowest, places))


def _best(run: list[int], scored: np.ndarray, by: np.ndarray) -> list[int]:
    """The rows of a run that are largest by a column; of a run without scores its last."""
    rows = np.array(run)
    both = rows[scored[rows] & np.isfinite(by[rows])]
    if not len(both):
        failed = not scored[rows].any() or not np.isfinite(by[rows]).any()
        return run[-1:] if failed else []
    return [int(k) for k in both[by[both] == by[both].max()]]


def _has_score(table: Columns, score: str) -> np.ndarray:
    """[rows] whether there is one: histories have rows without; NaN is one that diverged."""
    if score not in table.values:
        return np.ones(len(table), bool)
    return np.array([value not in (None, "") for value in table[score]])


def _told(table: Columns, asked: dict[str, str], lowest: bool, places: Sequence[int]) -> list[str]:
    ((role, name),) = asked.items()
    which = "last" if role == "last" else "lowest" if lowest else "highest"
    read = f"{len(places)} of {len(table)} rows"
    notes = [f"of each run the row with the {which} {name} is read: {read}"]
    ends = list(dict.fromkeys(str(table[name][k]) for k in places))
    if role == "last" and len(ends) > 1:
        notes.append(f"runs end at different values of {name} ({listed(ends, 4)})")
    return notes
