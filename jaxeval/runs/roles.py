"""Roles of a table's columns, as requested or by name, and the row of each run that counts.

A column of folds, ids or dates that is taken for a model would be compared, and win. Epochs and
items are no repetitions of a run: compared as such, any two models differ.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError, argument, counted
from jaxeval.runs import normal, texts
from jaxeval.runs.columns import Columns, is_text, known_numbers, listed
from jaxeval.runs.cross_validation import are_folds
from jaxeval.runs.layout import AXES, PICKS, ROLES, Layout, item_roles, role, words_of
from jaxeval.runs.metrics import higher_is_better, is_metric

_MOST_RISING = 0.8  # share of neighbouring rows that makes a column of steps a history
_ONE_RUN = "rows of one run, not independent runs"
_ITEMS = "rows are items of a run, not runs; jaxeval compare logs (or compare items) reads them"
_RESAMPLES = "rows look like resamples of a run, not runs; if each was trained anew,"
_TRAINING, _DEV = {"train", "training", "trn"}, {"dev", "val", "valid", "validation"}
_LOSS = {"loss", "nll", "cost", "logloss"}


def complete(table: Columns, layout: Layout) -> tuple[Columns, Layout, list[str]]:
    """Returns a table with a row a run, a layout with the roles that names mean, and notes.

    Raises DataError: no column of scores or models, a column with an unclear role, or rows that
    are epochs or items of a run.
    """
    if is_text(table.values.get("", ())):  # numbers are those of rows
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
    there, asked = present(table, layout), {*layout.columns.values()}
    scores = [] if "score" in there else _score_candidates(table, layout)
    if "model" in there and len(scores) == 1:
        known["score"] = there["score"] = scores[0]
        layout = dataclasses.replace(layout, columns={**layout.columns, "score": scores[0]})
    score = there.get("score", next(iter(scores), "NAME"))
    table, layout, notes = _one_row_a_run(table, layout, there, score)
    if "model" in there and "score" not in there:
        raise _unclear(table, _no_score(scores), {"score": score})
    if not ("model" in there or "score" in there or layout.models):
        _refuse_other_columns(table, score_columns(table, layout), layout.single)
    otherwise = f"{argument('column', {'ROLE': 'NAME'})} changes that"
    notes += [f"column {name} is read as the {of}; {otherwise}" for of, name in known.items()]
    used = {*there.values(), *asked, "number", ""}
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
    if "resample" in meant and are_folds(texts.encode(table[meant["resample"]]).names):
        meant.setdefault("split", meant["resample"])  # of caret
    meaning = (*AXES, "model", "status")
    known = {of: name for of, name in meant.items() if of in meaning and of not in taken}
    if {*layout.models} & table.values.keys() or [*map(role, free)].count("model") > 1:
        known.pop("model", None)
    if "model" not in {**taken, **known}:
        known.pop("status", None)
    return known


def _score_candidates(table: Columns, layout: Layout) -> list[str]:
    """Returns the columns named as metrics, else others of numbers without a role, else a loss."""
    taken = {*layout.columns.values(), *present(table, layout).values(), ""}
    free = [n for n in table.values if not (n in taken or role(n) or _is_training(n))]
    named = [*filter(is_metric, free)]
    numbers = named or [n for n in free if len(known_numbers(table.values[n]))]
    losses = (name for name in table.values if name not in taken and words_of(name) == ("loss",))
    return _sort_scores(numbers or losses)


def _no_score(candidates: Sequence[str]) -> str:
    if len(candidates) < 2:
        return "no column score"
    several = f"{listed(candidates, 4)} could each be the score"
    expected = "expected one row per score, with their names in a column dataset (or split, seed)"
    advice = f"; if they are data sets, splits or seeds, {expected}"
    return several + advice * (not any(map(is_metric, candidates)))


def _unclear(table: Columns, why: str, advice: Mapping[str, str]) -> DataError:
    named = argument("column", advice)
    return DataError(f"{why}; the columns are {listed(table.values)}: {named}", table.source)


def _refuse_other_columns(table: Columns, columns: Sequence[str], single: bool) -> None:
    """Refuses columns of a wide table that are no scores of a model."""
    metrics = [name for name in columns if is_metric(name)]
    if len(metrics) > 1:
        model = {} if single else {"model": "NAME"}
        why = f"{listed(metrics, 4)} look like metrics of one model"
        raise _unclear(table, why, {"score": _sort_scores(metrics)[0]} | model)
    numbers = {name: known_numbers(table.values[name]) for name in columns}
    fractions = any(np.any(values % 1) for values in numbers.values())
    for name, values in numbers.items():
        asked = "ROLE"
        cells = enumerate(() if len(values) or len(table) == 1 else table.values[name])
        words = ((k, cell) for k, cell in cells if normal.word(cell) not in normal.MISSING)
        if found := next(words, None):
            normal.refuse_notation(found[1], name, table.rows[found[0]], table.source)
            if len(known_numbers([*table.values])):
                why = "the first line looks like a row of scores"
                raise DataError(f"{why}; expected a header, such as model,seed,f1", table.source)
            what = f"text ({found[1]})"
            asked = "model" if len({*table.values[name]}) < len(table) else asked
        elif role(name):
            what = "a time, a step, an index or a setting"
        elif fractions and len(values) and not np.any(values % 1):
            what = f"whole numbers ({values[0]:g} ...) beside fractions"
        else:
            continue
        rest = listed([other for other in columns if other != name], 4)
        why = f"column {name!r} looks like {what}, not like the scores of a model"
        roles = "name its role, such as model or dataset, or leave it out by naming models"
        raise _unclear(table, f"{why}; {roles} ({rest})", {asked: name})


def _one_row_a_run(
    table: Columns, layout: Layout, there: Mapping[str, str], score: str
) -> tuple[Columns, Layout, list[str]]:
    """Returns a row of each run, as the columns `last` or `best` choose it, and a note.

    Args:
      there: role -> column.
      score: the column of scores, or the likely one.
    """
    for axis in AXES:
        name = layout.columns.get(axis, "")
        asked, kind = argument("column", {axis: name}), role(name)
        if kind in ("step", "time"):
            why = f"{asked}: steps and times are not units; {_remedy(table, name, score)}"
            raise DataError(why, table.source)
        if kind == "item" and axis != "dataset":
            raise DataError(f"{asked}: {_ITEMS}", table.source)
    if picks := {role: name for role, name in layout.columns.items() if role in PICKS}:
        rest = {role: name for role, name in layout.columns.items() if role not in PICKS}
        places, note = _pick(table, layout, picks, score, _runs(table, there, layout.models))
        return table.select(places), dataclasses.replace(layout, columns=rest), [note]
    free = [n for n in table.values if n not in (*layout.columns.values(), *layout.models)]
    steps, answers = [name for name in free if role(name) == "step"], item_roles(free)
    gold = ("gold",) if "predicted" in answers and "score" not in answers else ()
    items = {answers[of]: _ITEMS for of in ("item", *gold) if of in answers}
    for name in (n for n in free if role(n) == "resample"):  # no setting, as bootstrap=True is
        if any(map(str.isdigit, "".join(texts.encode(table[name]).names))):
            items[name] = f"{_RESAMPLES} {argument('column', {'split': name})}"
    run = _runs(table, there, layout.models) if steps or items else np.zeros(0, int)
    for name, why in items.items():
        if texts.dense(texts.pair_codes(run, texts.encode(table[name]).codes)).max() > run.max():
            raise DataError(f"column {name}: {why}", table.source)  # several in a run
    known = {"seed", "split"} & there.keys() or any(map(is_run, table.values))
    for name in steps:
        if _is_history(table, name, run, named="model" in there and bool(known)):
            why = f"column {name}: {_ONE_RUN}; {_remedy(table, name, score)}"
            raise DataError(why, table.source)
    return table, layout, []


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
    devs = [n for n in table.values if _DEV & {*words_of(n)} and n != score and not role(n)]
    dev = next(iter(_sort_scores(devs)), "DEV")
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
    asked, by = argument("column", picks), texts.to_floats(table[name])
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
    best, second = order[last], order[last - 1]
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


def _sort_scores(columns: Iterable[str]) -> list[str]:
    """Sorts columns of scores: test scores first, losses and training scores last."""

    def key(name: str) -> tuple[bool, ...]:
        words = {*words_of(name)}
        return _is_training(name), bool(words & _LOSS), "test" not in words, bool(words & _DEV)

    return sorted(columns, key=key)


def _is_training(name: str) -> bool:
    """True for a training score: train/loss, training_acc, and a loss alone."""
    return bool(_TRAINING & {*words_of(name)}) or words_of(name) == ("loss",)


def is_run(name: str) -> bool:
    """True for the column of the names of runs (Weights & Biases)."""
    return "".join(words_of(name)) in ("name", "runname", "runid")
