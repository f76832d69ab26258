"""The same models scored under several conditions, for the terminal."""

from collections.abc import Mapping, Sequence
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
        d = summary.distribution(list(scores.values()))
        gaps = summary.distribution([scores[seed] - first[seed] for seed in scores])
        assert d is not None and gaps is not None
        values = [d.mean, d.sd, d.minimum, d.maximum]
        apart = ["", ""] if scores is first else [f"{gaps.mean:+.4g}", _shown(gaps.sd)]
        table.add_row(name, str(d.n), *map(_shown, values), *apart)
    console = Console(highlight=False, soft_wrap=True, width=160)
    console.print(table)
    if len(first) < summary.FEW:
        console.print(f"fewer than {summary.FEW} seeds: means and sd say little")


def line(rows: Sequence[Mapping[str, Any]], condition: str) -> str:
    """One condition in a line, as soon as it is known."""
    scores = [row["score"] for row in rows if row["condition"] == condition]
    found = summary.distribution(scores)
    assert found is not None
    return f"{condition}: {rows[0]['metric']} {_shown(found.mean)}, sd {_shown(found.sd) or '-'}"


def _shown(value: float | None) -> str:
    return "" if value is None or not np.isfinite(value) else f"{value:.4g}"
