"""Compares the values of one option of networks: the verb `jaxeval compare options`."""

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from jaxeval import parameters, sources
from jaxeval.errors import DataError, argument
from jaxeval.report import Block, Document, Result, Table, scores, text
from jaxeval.runs import columns, normal
from jaxeval.runs.layout import Missing
from jaxeval.runs.normal import Unusable
from jaxeval.stats import configurations
from jaxeval.stats.configurations import OptionComparison, Reduction, SeedEffect


@dataclasses.dataclass(frozen=True, repr=False)
class _OptionsCompared(Result):
    """The values of one option, compared within configurations that are otherwise equal."""

    option: str
    score: str
    key: tuple[str, ...]  # columns that are equal within a configuration
    rows: int  # of the table
    higher_is_better: bool
    direction_assumed: bool
    missing: Missing
    unusable: tuple[Unusable, ...]
    groups: tuple[OptionComparison, ...]
    seed_effect: tuple[SeedEffect, ...]  # empty if no configuration was trained twice

    def document(self) -> Document:
        """Returns the values that win most often, and all others beside them."""
        direction = text.direction(self.higher_is_better, self.direction_assumed, self.score)
        return Document(
            [*self._answer()],
            [*self._blocks()],
            [direction, *([text.unusable(self.unusable, self.missing)] if self.unusable else [])],
            title=f"Values of {self.option}",
        )

    def _answer(self) -> Iterator[str]:
        for group in self.groups:
            best = next(of for of in group.options if of.value == group.best)
            p = [of.adjusted.get("sign_test", 1.0) for of in group.options if of is not best]
            shown = "is" if all(each <= 0.05 for each in p) else "is not shown to be"
            head = f"{_name(group)}: " if group.group else ""
            wins = f"wins in {100 * best.wins:.1f} % of {group.n} configurations"
            better = f"and {shown} better than all others (sign test, corrected)"
            yield f"{head}{self.option} {best.value} {wins}, {better}."

    def _blocks(self) -> Iterator[Block]:
        rows = []
        lines: list[str] = []
        tests = 0
        for group in self.groups:
            name = _name(group)
            whole = group.friedman
            for of in group.options:
                gap = "" if of.median_difference is None else f"{of.median_difference:+.4f}"
                spread = "-" if of.sd is None else f"{of.sd:.4f}"
                value = f"{of.value}{' *' if of.value == group.best else ''}"
                cells = (f"{100 * of.wins:.1f} %", scores.shown(of.median, ""), gap, spread)
                p = (of.adjusted.get(test) for test in ("sign_test", "brown_forsythe"))
                rows.append((name, str(group.n), value, *cells, *map(text.p_cell, p)))
            tests += sum(len(of.adjusted) for of in group.options) + (whole is not None)
            if len(group.as_often) > 1:
                named = text.listed([str(value) for value in group.as_often])
                lines.append(f"{name}: {named} win as often; the first is named")
            if whole is not None and group.friedman_adjusted is not None:
                corrected = f"corrected p {text.p_value(group.friedman_adjusted)}"
                lines.append(f"{name}: Friedman {whole.statistic:.3f}, {corrected}")
        head = ("group", "n", self.option, "wins", "median", "to the winner", "sd")
        yield Table((*head, "p (sign)", "p (spread)"), rows)
        yield from lines
        yield (
            "n: configurations with all values; wins: share in which the value is best; to the "
            "winner: median difference to the value that wins most often (*); repeats: "
            f"{self.groups[0].repeats}; p-values corrected by Holm over {tests} tests"
        )
        if self.seed_effect:
            yield "Effect of the seed: largest minus smallest score of a configuration."
            names = ("group", "configurations", "scores", "median", "95th percentile", "max")
            yield Table(names, [(_name(of), *_seed_cells(of)) for of in self.seed_effect])


def _seed_cells(seed: SeedEffect) -> tuple[str, ...]:
    ends = (f"{value:.4f}" for value in (seed.median, seed.percentile_95, seed.max))
    return str(seed.configurations), str(seed.repeats), *ends


def _name(group: OptionComparison | SeedEffect) -> str:
    return " ".join(map(str, group.group)) or "all"


@parameters.verb
def compare_options(
    source: "str | Path | Any",
    *,
    option: str,
    score: str,
    group: Sequence[str] = (),
    ignore: Sequence[str] = (),
    key: Sequence[str] = (),
    values: Sequence[str] = (),
    repeats: Reduction = "first",
    missing: Missing = "error",
    lower_is_better: bool | None = None,
) -> _OptionsCompared:
    """Compares the values of one option between configurations that otherwise agree.

    Follows Reimers & Gurevych (2017). Configurations agree if all columns are equal except the
    option, the score, the groups and the ignored columns. Ignore columns that are measured (other
    scores, epochs), that are ids, or that depend on the option.

    Args:
      source: a table with one row per trained network, or a runs folder.
      option: the column to study.
      score: the column of scores.
      group: report each value of these columns separately.
      ignore: columns that need not agree.
      key: columns that must agree (default: all others).
      values: compare only these values of the option.
      repeats: the score of a configuration with several runs.

    Examples:
      jaxeval compare options results.csv.gz --option miniBatchSize --score Test_F1 \\
          --group Dataset --ignore ID,Epochs,OptimalEpoch,Dev_F1,Max_Test_F1
    """
    table, where, about = _networks(source, option, score, missing, lower_is_better)
    for name in (option, *group, *ignore, *key):
        if name not in table:
            raise DataError(f"no column {name!r}; {columns.meant(name, table)}", where)
    taken = {option, score, *group, *ignore}
    whole = [*key] or [name for name in table if name not in taken]
    compared = configurations.paired_options(
        table,
        option,
        score,
        by=group,
        key=whole,
        repeats=repeats,
        higher_is_better=about[0],
        options=[*values] or _ordered(table[option]),
    )
    try:
        effect = configurations.seed_effect(table, score, key=[*whole, option], by=group)
    except DataError:  # no configuration was trained twice
        effect = []
    rows = len(table[score])
    return _OptionsCompared(
        option, score, tuple(whole), rows, *about, tuple(compared), tuple(effect)
    )


def _networks(
    source: Any, option: str, score: str, missing: Missing, lower_is_better: bool | None
) -> tuple[dict[str, Sequence], str, tuple[bool, bool, Missing, tuple[Unusable, ...]]]:
    """The columns as text, scores as numbers; their source; a result's fields from direction on.

    A runs folder records the direction of dev and test only.
    """
    table = sources.read_columns(source)
    scores, keep, unusable = normal.usable_scores(table, score, missing)
    kept = table.select(keep).values
    values = {name: [*map(str, column)] for name, column in kept.items()}
    recorded = sources.is_recorded(source)
    of_others = recorded and score not in ("dev", "test")
    said = {} if of_others else {n: v for n, v in values.items() if n != option}
    who = "the runs say" if recorded else "the table says"
    asked = None if lower_is_better is None else not lower_is_better
    higher, says, _ = normal.column_direction(said, score, table.source, asked, who)
    if missing == "zero" and not higher:
        zero, drop = argument("missing", "zero"), argument("missing", "drop")
        raise DataError(f"{zero}: 0 would be the best loss; expected {drop}")
    about = higher, says == "assumed", missing, unusable
    return {**values, score: scores[keep]}, table.source, about


def _ordered(values: Sequence) -> list:
    """Distinct values: numbers by size, all others as they appear."""
    distinct = list(dict.fromkeys(values))
    try:
        return sorted(distinct, key=lambda value: float(str(value)))
    except ValueError:
        return distinct
