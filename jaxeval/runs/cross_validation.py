"""Folds of cross-validations: which splits they are, and how far those of several ones overlap."""

import dataclasses
import re
from collections.abc import Iterable

import numpy as np
import scipy

from jaxeval.errors import DataError
from jaxeval.runs import texts
from jaxeval.runs.columns import Columns, listed
from jaxeval.runs.layout import Layout, role, words_of
from jaxeval.runs.normal import Rows
from jaxeval.runs.texts import Coded, encode

FOLDS = "iteration"  # of mlr3, beside resampling_id
_REPEATS = {"rep", "repeat", "repetition", "Key_Run"}  # of columns; the last is Weka's
_REPEATED = re.compile(r"(fold *\d+)[._ ](rep[a-z]* *\d+)", re.IGNORECASE)  # of caret: Fold1.Rep2
_CLEAR = 0.001  # p from where scores of one fold are called alike


def find(rows: Rows, layout: Layout) -> tuple[Rows, bool, float]:
    """Returns the rows, whether splits are folds of one cross-validation, and the overlap of more.

    Fold 1 of another repeat is another split.
    """
    rows = _parted(rows)
    split = rows.labels.get("split")
    column = layout.columns.get("split", "")
    seed = rows.labels.get("seed")
    repeat = layout.columns.get("seed", "")
    of_folds = role(column) == "split" and re.search("fold|cv", column, re.IGNORECASE)
    if not split or not (of_folds or column == FOLDS or are_folds(split.names)):
        return rows, False, 0.0
    names = seed.names if seed else ()
    named = {repeat, *words_of(repeat)} & _REPEATS
    repeated = named or all(re.match("rep", x, re.IGNORECASE) for x in names)
    if not (seed and names[1:] and repeated and (count := _folds(rows.dataset, seed, split)) > 1):
        return rows, True, 0.0
    if (p := _p_alike(rows, seed, split)) == 0:
        said = "all repeats have the same scores: they count as one cross-validation"
        return dataclasses.replace(rows, warnings=(*rows.warnings, said)), True, 0.0
    said = "scores of a fold are alike in all repeats, as where these have the same folds"
    warnings = (*rows.warnings, *[f"{said}: then name their column seed"] * (p <= _CLEAR))
    names = tuple(f"{a}/{b}" for a in seed.names for b in split.names)
    codes = seed.codes.astype(np.int64) * len(split.names) + split.codes
    labels = {"split": Coded(names, codes)}
    return dataclasses.replace(rows, labels=labels, warnings=warnings), False, 1 / (count - 1)


def are_folds(names: Iterable[str]) -> bool:
    """True for texts such as Fold01, Fold1.Rep2, cv_3."""
    return all(re.match("fold|cv", name, re.IGNORECASE) for name in names)


def is_of_mlr3(table: Columns) -> bool:
    """True if iterations of a resampling are the folds of one cross-validation.

    Raises DataError: they are splits that overlap, which iterations alone do not tell.
    """
    if not {FOLDS, "resampling_id"} <= table.values.keys() or not encode(table[FOLDS]).names[1:]:
        return False
    if (kinds := encode(table["resampling_id"]).names) != ("cv",):
        why = f"splits of {listed(kinds)} may overlap; expected cv, or, if N folds are repeated,"
        columns = f"repeat = ({FOLDS} - 1) // N + 1 and fold = ({FOLDS} - 1) % N + 1"
        raise DataError(f"column {FOLDS}: {why} columns {columns}", table.source)
    return True


def _parted(rows: Rows) -> Rows:
    """Returns the rows with labels of repeat and fold, if their splits are named by both."""
    if [*rows.labels] != ["split"]:
        return rows
    split = rows.labels["split"]
    if not all(found := [*map(_REPEATED.fullmatch, split.names)]):
        return rows
    fold, repeat = (encode([name[k] for name in found if name]) for k in (1, 2))
    each = {"seed": repeat, "split": fold}
    labels = {axis: Coded(of.names, of.codes[split.codes]) for axis, of in each.items()}
    return dataclasses.replace(rows, labels=labels)


def _p_alike(rows: Rows, repeat: Coded, fold: Coded) -> float:
    """p that folds of one number are no more alike than others (F test); 0 if all are equal.

    Scores are summed over models, which share a fold.
    """
    found = []
    for data_set in range(len(rows.dataset.names)):
        here = rows.dataset.codes == data_set
        table, counts = np.zeros((2, len(repeat.names), len(fold.names)))
        cells = repeat.codes[here], fold.codes[here]
        np.add.at(table, cells, rows.score[here])
        np.add.at(counts, cells, 1)
        table = table[:, np.isfinite(table).all(axis=0) & (counts == counts.max()).all(axis=0)]
        repeats, folds = table.shape
        if min(repeats, folds) < 2 or not np.ptp(table):
            found.append(1.0)
        elif not np.ptp(table, axis=0).any():
            found.append(0.0)
        else:
            rest = table - table.mean(axis=1, keepdims=True)
            effect = rest.mean(axis=0)
            between = folds - 1
            within = (folds - 1) * (repeats - 1)
            ratio = repeats * (repeats - 1) * np.sum(effect**2) / np.sum((rest - effect) ** 2)
            found.append(max(1e-300, float(scipy.special.fdtrc(between, within, ratio))))
    return max(found) and min(found) * len(found)


def _folds(dataset: Coded, repeat: Coded, fold: Coded) -> int:
    """The number of folds of a repeat, which may number them on; the fewest of all data sets."""
    within = texts.pair_codes(dataset.codes, repeat.codes)
    each = np.unique(np.stack([dataset.codes, within, fold.codes]), axis=1)
    _, first, counts = np.unique(each[1], return_index=True, return_counts=True)
    of = each[0, first]
    return int(min(counts[of == data_set].max() for data_set in {*of.tolist()}))
