"""What one hyperparameter does, from a table of many trained configurations.

Configurations that are equal but for one option are compared with each other, so that the other
options cannot confound it; repeats of one show what the seed alone does (Reimers & Gurevych 2017).
"""

import dataclasses
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import metrics
from jaxeval.stats import hypotheses, multiple, ranking
from jaxeval.stats.results import HypothesisTest, as_many, sample

Table = Mapping[str, Sequence[Hashable]]
Repeats = Literal["first", "last", "mean", "median"]
_ROUNDING = 1e-12  # of shares of wins
_REDUCE: Mapping[str, Callable[[np.ndarray], float]] = {
    "first": lambda scores: float(scores[0]),
    "last": lambda scores: float(scores[-1]),
    "mean": lambda scores: float(np.mean(scores)),
    "median": lambda scores: float(np.median(scores)),
}


class SeedEffect(NamedTuple):
    """Largest minus smallest score over the repeats of a configuration, over configurations."""

    group: tuple[Hashable, ...]
    configurations: int  # with two or more repeats
    repeats: int  # all scores of these
    median: float
    percentile_95: float
    max: float


@dataclasses.dataclass(frozen=True)
class Option:
    """One value of the option studied, over the configurations that have all values."""

    value: Hashable
    wins: float  # share of configurations in which it is best; a tie is shared equally
    median: float
    sd: float | None  # None of a single configuration
    median_difference: float | None  # to the most frequent winner; None for the winner itself
    sign_test: HypothesisTest | None
    brown_forsythe: HypothesisTest | None  # None of two: both lie as far from their median
    adjusted: Mapping[str, float]  # of these tests, Holm's over all tests of all groups


@dataclasses.dataclass(frozen=True)
class OptionComparison:
    """All values of an option in one group (a data set, say)."""

    group: tuple[Hashable, ...]
    n: int  # configurations with all values
    best: Hashable  # the most frequent winner
    options: tuple[Option, ...]
    friedman: HypothesisTest | None  # for three or more values
    friedman_adjusted: float | None
    as_often: tuple[Hashable, ...]  # values that win as often as the best, which is the first
    repeats: Repeats


def seed_effect(
    table: Table, score: str, *, key: Sequence[str], by: Sequence[str] = ()
) -> list[SeedEffect]:
    """What the seed alone does (Reimers & Gurevych 2017, table 2), apart for each value of `by`.

    Args:
      table: a row a trained network; `score` its column of scores.
      key: columns that make a configuration; rows equal in all of them are its repeats.
    """
    scores, effects = _scores(table, score), []
    for group, rows in _rows_by(table, by, range(len(scores))).items():
        cells = [scores[r] for r in _rows_by(table, key, rows).values() if len(r) > 1]
        if cells:
            ranges = np.array([np.ptp(cell) for cell in cells])
            shown = np.median(ranges), np.quantile(ranges, 0.95), ranges.max()
            repeats = sum(map(len, cells))
            effects.append(SeedEffect(group, len(cells), repeats, *map(float, shown)))
    if not effects:
        raise DataError(f"no configuration has two scores; the key is {', '.join(key)}")
    return effects


def paired_options(
    table: Table,
    option: str,
    score: str,
    *,
    by: Sequence[str] = (),
    key: Sequence[str],
    options: Sequence[Hashable] | None = None,
    repeats: Repeats = "first",
    higher_is_better: bool = True,
) -> list[OptionComparison]:
    """Compares the values of one option within configurations that are otherwise equal.

    Args:
      table: a row a trained network, in the order of training; `score` its column of scores.
      option: column studied; `options` names those of its values to compare (all).
      by: columns whose values are reported apart; key: columns that must be equal.
      repeats: which score stands for several of one cell.
    """
    if repeats not in _REDUCE:
        raise DataError(f"repeats: expected {', '.join(_REDUCE)}, found {repeats}")
    if option in key or option in by:
        raise DataError(f"{option}: the option studied cannot be in the key or the group")
    higher = metrics.check_direction(higher_is_better) is not False
    scores, values = _scores(table, score), _column(table, option)
    compared = list(dict.fromkeys(values if options is None else options))
    if len(compared) < 2 or not set(compared) <= set(values):
        raise DataError(f"{option}: expected two or more of its values, found {_listed(compared)}")
    comparisons = []
    for group, rows in _rows_by(table, by, range(len(scores))).items():
        if complete := _complete(table, option, compared, key, rows):
            cells = [[_REDUCE[repeats](scores[r]) for r in c] for c in complete]
            paired = np.array(cells) * (1 if higher else -1)
            comparisons.append(_compare(group, compared, paired, higher, repeats))
    if comparisons:
        return _corrected(comparisons)
    raise DataError(_without_complete(table, option, compared, key, by))


def _without_complete(
    table: Table, option: str, compared: list, key: Sequence[str], by: Sequence[str]
) -> str:
    """Why no configuration has all values: columns that hardly share one between them."""
    dividing, count = [], len(_column(table, option))
    for name in key:
        shared = _complete(table, option, compared, [*by, name], range(count))
        if sum(len(cell) for of_value in shared for cell in of_value) < count / 2:
            dividing.append(name)
    names = ",".join(dividing or key)
    hardly = f", as {_listed(dividing)} hardly take the same values with each" if dividing else ""
    return (
        f"{option}: no configuration has all of {_listed(compared)}{hardly}; leave columns that "
        "are measured, number the rows or depend on the option out of the key: "
        f"{argument('ignore', names)}, or {argument('key')} with the columns that are its part"
    )


def _corrected(groups: Sequence[OptionComparison]) -> list[OptionComparison]:
    """With Holm's p-values over all tests of all groups."""
    tests = {
        (g, k, name): test.p_value
        for g, group in enumerate(groups)
        for k, of in enumerate((group, *group.options))
        for name in ("friedman", "sign_test", "brown_forsythe")
        if (test := getattr(of, name, None)) is not None
    }
    adjusted = multiple.adjust_p_values([*tests.values()]).tolist()
    found = dict(zip(tests, adjusted, strict=True))

    def of(g: int, k: int) -> dict[str, float]:
        return {name: p for (h, j, name), p in found.items() if (h, j) == (g, k)}

    return [
        dataclasses.replace(
            group,
            friedman_adjusted=of(g, 0).get("friedman"),
            options=tuple(
                dataclasses.replace(option, adjusted=of(g, k))
                for k, option in enumerate(group.options, 1)
            ),
        )
        for g, group in enumerate(groups)
    ]


def _complete(
    table: Table, option: str, compared: list, key: Sequence[str], rows: Sequence[int]
) -> list[list[list[int]]]:
    """For each configuration that has all wanted values, the rows of each."""
    values = _column(table, option)
    chosen = [row for row in rows if values[row] in set(compared)]
    complete = []
    for cell in _rows_by(table, key, chosen).values():
        by_value: dict[Hashable, list[int]] = {}
        for row in cell:
            by_value.setdefault(values[row], []).append(row)
        if len(by_value) == len(compared):
            complete.append([by_value[value] for value in compared])
    return complete


def _compare(
    group: tuple, compared: list, paired: np.ndarray, higher: bool, repeats: Repeats
) -> OptionComparison:
    """Statistics of [configurations, options] scores, of which higher is better."""
    won = paired == paired.max(axis=1, keepdims=True)
    wins = (won / won.sum(axis=1, keepdims=True)).mean(axis=0)
    most = wins >= wins.max() - _ROUNDING
    best, sign, n = int(np.argmax(most)), 1 if higher else -1, len(paired)
    options = []
    for k, value in enumerate(compared):
        own, other = paired[:, k], paired[:, best]
        options.append(
            Option(
                *(value, float(wins[k]), sign * float(np.median(own))),
                float(np.std(own, ddof=1)) if n > 1 else None,
                sign * float(np.median(own - other)) if k != best else None,
                hypotheses.sign_test(own, other) if k != best and n > 1 else None,
                hypotheses.brown_forsythe(own, other) if k != best and n > 2 else None,
                {},
            )
        )
    tested = ranking.friedman(paired) if n > 1 and len(compared) > 2 else None
    as_often = tuple(np.array(compared, object)[most].tolist())
    return OptionComparison(
        group, n, compared[best], tuple(options), tested, None, as_often, repeats
    )


def _rows_by(
    table: Table, columns: Sequence[str], rows: Sequence[int]
) -> dict[tuple[Hashable, ...], list[int]]:
    """Row numbers by their values in some columns, in the order of first appearance."""
    picked = [_column(table, name) for name in columns]
    groups: dict[tuple[Hashable, ...], list[int]] = {}
    for row in rows:
        groups.setdefault(tuple(column[row] for column in picked), []).append(row)
    return groups


def _column(table: Table, name: str) -> Sequence[Hashable]:
    if name not in table:
        raise DataError(f"no column {name}; there are {_listed(list(table))}")
    return table[name]


def _scores(table: Table, name: str) -> np.ndarray:
    as_many(table, "columns")
    return sample(_column(table, name), f"column {name}")  # type: ignore[arg-type]


def _listed(names: Sequence[Hashable]) -> str:
    return ", ".join(map(str, names)) or "nothing"
