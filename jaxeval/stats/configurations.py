"""The effect of one hyperparameter, from a table of many trained configurations.

Compares configurations that are equal but for one option, so that others cannot confound it;
repeats of a configuration show what the seed alone does (Reimers & Gurevych 2017).
"""

import dataclasses
import itertools
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.stats import HypothesisTest, datasets, hypotheses, multiple, sample

Reduction = Literal["first", "last", "mean", "median"]
_Table = Mapping[str, Sequence[Hashable]]
_Group = tuple[Hashable, ...]
_ROUNDING = 1e-12  # of shares of wins
_REDUCE: Mapping[str, Callable[[np.ndarray], float]] = {
    "first": lambda scores: float(scores[0]),
    "last": lambda scores: float(scores[-1]),
    "mean": lambda scores: float(np.mean(scores)),
    "median": lambda scores: float(np.median(scores)),
}


class SeedEffect(NamedTuple):
    """Largest minus smallest score over the repeats of a configuration, over configurations."""

    group: _Group
    configurations: int  # with two or more repeats
    repeats: int  # all scores of these
    median: float
    percentile_95: float
    max: float


@dataclasses.dataclass(frozen=True)
class _Option:
    """One value of the option, over the configurations that have all values."""

    value: Hashable
    wins: float  # share of configurations in which it is best; a tie is shared equally
    median: float
    sd: float | None  # None for a single configuration
    median_difference: float | None  # to the most frequent winner; None for the winner itself
    sign_test: HypothesisTest | None
    brown_forsythe: HypothesisTest | None  # None for two: both lie as far from their median
    adjusted: Mapping[str, float]  # p-values of these tests, Holm's over all tests of all groups


@dataclasses.dataclass(frozen=True)
class OptionComparison:
    """All values of an option in one group, such as a data set."""

    group: _Group
    n: int  # configurations with all values
    best: Hashable  # the most frequent winner
    options: tuple[_Option, ...]
    friedman: HypothesisTest | None  # for three or more values
    friedman_adjusted: float | None
    as_often: tuple[Hashable, ...]  # values that win as often as the best, which is the first
    repeats: Reduction


def seed_effect(
    table: _Table, score: str, *, key: Sequence[str], by: Sequence[str] = ()
) -> list[SeedEffect]:
    """Effect of the seed alone (Reimers & Gurevych 2017, table 2), for each value of `by`.

    Args:
      table: a row a trained network; `score` is its column of scores.
      key: columns that make a configuration; rows equal in all of them are its repeats.
    """
    scores = _scores(table, score)
    effects = []
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
    table: _Table,
    option: str,
    score: str,
    *,
    by: Sequence[str] = (),
    key: Sequence[str],
    options: Sequence[Hashable] | None = None,
    repeats: Reduction = "first",
    higher_is_better: bool = True,
) -> list[OptionComparison]:
    """Compares the values of one option within configurations that are otherwise equal.

    Args:
      table: a row a trained network, in the order of training; `score` is its column of scores.
      option: column to study; `options` are the values to compare (all).
      by: columns whose values are reported apart; key: columns that must be equal.
      repeats: which score stands for several of one cell.
    """
    if option in key or option in by:
        raise DataError(f"{option}: the option studied cannot be in the key or the group")
    numbers, values = _scores(table, score), _column(table, option)
    compared = list(dict.fromkeys(values if options is None else options))
    if len(compared) < 2 or not set(compared) <= set(values):
        raise DataError(f"{option}: expected two or more of its values, found {_listed(compared)}")
    found = []
    sign = 1 if higher_is_better else -1
    wanted = {*compared}
    for group, rows in _rows_by(table, by, range(len(numbers))).items():
        chosen = [row for row in rows if values[row] in wanted]
        complete = []
        for cell in _rows_by(table, key, chosen).values():
            by_value = _rows_by(table, [option], cell)
            if len(by_value) == len(compared):  # a configuration that has all wanted values
                complete.append([by_value[value,] for value in compared])
        if complete:
            cells = [[_REDUCE[repeats](numbers[r]) for r in cell] for cell in complete]
            found.append(_comparison(group, sign * np.array(cells), compared, sign, repeats))
    if not found:
        raise DataError(
            f"{option}: no configuration has all of {_listed(compared)}; remove columns that are "
            f"measured, number the rows or depend on the option from the key ({','.join(key)}): "
            f"list them in {argument('ignore')}, or list the others in {argument('key')}"
        )
    return _adjusted(found)


def _comparison(
    group: _Group, paired: np.ndarray, compared: list, sign: int, repeats: Reduction
) -> OptionComparison:
    """Tests each value against the best, and all together; p-values are not corrected.

    paired: [configurations, options], higher is better.
    """
    wins, best, as_often = _wins(paired)
    n = len(paired)
    options = []
    for k, (value, own) in enumerate(zip(compared, paired.T, strict=True)):
        gap = None
        tests: dict[str, HypothesisTest] = {}
        other = paired[:, best]
        if k != best:
            gap = sign * float(np.median(own - other))
            tests |= {"sign_test": hypotheses.sign_test(own, other)} if n > 1 else {}
            tests |= {"brown_forsythe": hypotheses.brown_forsythe(own, other)} if n > 2 else {}
        options.append(
            _Option(
                value,
                wins=float(wins[k]),
                median=sign * float(np.median(own)),
                sd=float(np.std(own, ddof=1)) if n > 1 else None,
                median_difference=gap,
                sign_test=tests.get("sign_test"),
                brown_forsythe=tests.get("brown_forsythe"),
                adjusted={name: test.p_value for name, test in tests.items()},
            )
        )
    whole = datasets.friedman(paired) if n > 1 and len(compared) > 2 else None
    return OptionComparison(
        group,
        n,
        best=compared[best],
        options=tuple(options),
        friedman=whole,
        friedman_adjusted=whole.p_value if whole else None,
        as_often=tuple(itertools.compress(compared, as_often)),
        repeats=repeats,
    )


def _adjusted(found: Sequence[OptionComparison]) -> list[OptionComparison]:
    """Corrects the p-values of all tests of all groups by Holm's procedure."""
    every = [p for group in found for of in group.options for p in of.adjusted.values()]
    every += [group.friedman.p_value for group in found if group.friedman]
    p_values = iter(multiple.adjust_p_values(every).tolist())
    corrected = []
    for group in found:
        options = (
            dataclasses.replace(of, adjusted={name: next(p_values) for name in of.adjusted})
            for of in group.options
        )
        corrected.append(dataclasses.replace(group, options=tuple(options)))
    return [
        dataclasses.replace(group, friedman_adjusted=next(p_values) if group.friedman else None)
        for group in corrected
    ]


def _wins(paired: np.ndarray) -> tuple[np.ndarray, int, np.ndarray]:
    """Share of wins of each value [options], the first best one, and which are as good [options].

    paired: [configurations, options], higher is better.
    """
    won = paired == paired.max(axis=1, keepdims=True)
    wins = (won / won.sum(axis=1, keepdims=True)).mean(axis=0)
    most = wins >= wins.max() - _ROUNDING
    return wins, int(np.argmax(most)), most


def _rows_by(
    table: _Table, columns: Sequence[str], rows: Sequence[int]
) -> dict[_Group, list[int]]:
    picked = [_column(table, name) for name in columns]
    groups: dict[_Group, list[int]] = {}
    for row in rows:
        groups.setdefault(tuple(column[row] for column in picked), []).append(row)
    return groups


def _column(table: _Table, name: str) -> Sequence[Hashable]:
    if name not in table:
        raise DataError(f"no column {name}; there are {_listed(list(table))}")
    return table[name]


def _scores(table: _Table, name: str) -> np.ndarray:
    return sample(_column(table, name), f"column {name}")  # type: ignore[arg-type]


def _listed(names: Sequence[Hashable]) -> str:
    return ", ".join(map(str, names)) or "nothing"
