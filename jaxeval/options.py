"""Compares the values of one option of networks: the verb `jaxeval compare options`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxeval import parameters
from jaxeval.comparisons import OptionsCompared
from jaxeval.errors import DataError, argument
from jaxeval.runs.layout import Missing
from jaxeval.stats.configurations import Repeats


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
    repeats: Repeats = "first",
    missing: Missing = "error",
    lower_is_better: bool | None = None,
) -> OptionsCompared:
    """Compares the values of one option within configurations that are equal in all else.

    As Reimers & Gurevych (2017). The key of a configuration is every column but the option, the
    score, the groups and those ignored: ignore what a run measures (other scores, epochs, ids) and
    what depends on the option.

    Args:
      source: a table with a row a trained network, or a runs folder.
      option: the column that is studied.
      score: the column of scores.
      group: columns whose values are reported apart.
      ignore: columns that are not part of the key.
      key: the columns of the key.
      values: compare only these values of the option.
      repeats: which score stands for several of one configuration.

    Examples:
      jaxeval compare options results.csv.gz --option miniBatchSize --score Test_F1 \\
          --group Dataset --ignore ID,Epochs,OptimalEpoch,Dev_F1
    """
    from jaxeval.stats import configurations

    table, unusable, direction = _networks(source, option, score, missing, lower_is_better)
    for name in (option, *group, *ignore, *key):
        if name not in table:
            raise DataError(f"no column {name}; there are {', '.join(table)}", str(source))
    taken, higher = {option, score, *group, *ignore}, direction is not False
    whole = [*key] or [name for name in table if name not in taken]
    how: Any = {"repeats": repeats, "higher_is_better": higher}
    how["options"] = [*values] or _ordered(table[option])
    compared = configurations.paired_options(table, option, score, by=group, key=whole, **how)
    try:
        effect = configurations.seed_effect(table, score, key=[*whole, option], by=group)
    except DataError:  # no configuration was trained twice
        effect = []
    about = len(table[score]), higher, direction is None, missing, tuple(unusable)
    return OptionsCompared(option, score, tuple(whole), *about, tuple(compared), tuple(effect))


def _networks(
    source: Any, option: str, score: str, missing: Missing, lower_is_better: bool | None
) -> tuple[dict[str, Sequence], Sequence, bool | None]:
    """The columns as text, scores as numbers; what was unusable; whether higher is better.

    A runs folder records the direction of dev and test only.
    """
    from jaxeval import sources
    from jaxeval.runs import rows

    table = sources.read_columns(source)
    scores, keep, unusable = rows.usable_scores(table, score, missing)
    kept = table.select(keep).values
    values = {name: [*map(str, column)] for name, column in kept.items()}
    recorded = Path(str(source)).is_dir()
    of_others = recorded and score not in ("dev", "test")
    said = {} if of_others else {n: v for n, v in values.items() if n != option}
    who = "the runs say" if recorded else "the table says"
    asked = None if lower_is_better is None else not lower_is_better
    direction, *_ = rows.column_direction(said, score, str(source), asked, who)
    if missing == "zero" and direction is False:
        zero, drop = argument("missing", "zero"), argument("missing", "drop")
        raise DataError(f"{zero}: 0 would be the best loss; expected {drop}")
    return {**values, score: scores[keep]}, unusable, direction


def _ordered(values: Sequence) -> list:
    """Distinct values: numbers by size, all others as they appear."""
    distinct = list(dict.fromkeys(values))
    try:
        return sorted(distinct, key=lambda value: float(str(value)))
    except ValueError:
        return distinct
