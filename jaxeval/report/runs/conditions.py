"""The same models scored under several conditions, for the terminal."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from jaxeval.report import summary


def show(rows: Sequence[Mapping[str, Any]]) -> None:
    """A line a condition, and how it differs from the first, seed by seed.

    Args:
      rows: a score each, with `condition`, `seed`, `metric` and `score`.
    """
    from rich.console import Console
    from rich.table import Table

    by_name: dict[str, dict[int, float]] = {}
    for row in rows:
        by_name.setdefault(row["condition"], {})[row["seed"]] = row["score"]
    first = next(iter(by_name.values()))
    table = Table(box=None, pad_edge=False)
    table.add_column(rows[0]["metric"], no_wrap=True)
    for title in ("n", "mean", "sd", "min", "max", "against the first", "sd"):
        table.add_column(title)
    for name, scores in by_name.items():
        table.add_row(name, *_row(scores, first, scores is first))
    console = Console(highlight=False, soft_wrap=True, width=160)
    console.print(table)
    for name, scores in by_name.items():
        if lost := len(scores) - len(_finite(scores.values())):
            console.print(f"{name}: {lost} of {len(scores)} diverged and are left out")
    if len(first) < summary.FEW:
        console.print(f"fewer than {summary.FEW} seeds: means and sd say little")


def line(rows: Sequence[Mapping[str, Any]], condition: str) -> str:
    """One condition in a line, as soon as it is known."""
    scores = [row["score"] for row in rows if row["condition"] == condition]
    found = summary.distribution(_finite(scores))
    if found is None:
        return f"{condition}: all {len(scores)} diverged"
    return f"{condition}: {rows[0]['metric']} {_shown(found.mean)}, sd {_shown(found.sd) or '-'}"


def _row(scores: Mapping[int, float], first: Mapping[int, float], plain: bool) -> list[str]:
    """A condition's number, mean, sd, range and gaps to the first; of what did not diverge."""
    d = summary.distribution(_finite(scores.values()))
    gaps = summary.distribution(_finite(scores[seed] - first[seed] for seed in scores))
    if d is None or gaps is None:
        return ["0"]
    values = [str(d.n), *map(_shown, (d.mean, d.sd, d.minimum, d.maximum))]
    return values if plain else [*values, f"{gaps.mean:+.4g}", _shown(gaps.sd)]


def _finite(scores: Iterable[float]) -> list[float]:
    return [score for score in scores if np.isfinite(score)]


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
