"""Averages of sweeps over datasets in the terminal."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from jaxeval.report import tables, text
from jaxeval.report.sweep.words import METRICS, PROFILE, SERIES
from jaxeval.sensitivity.groups import Averaged, Mean

if TYPE_CHECKING:
    from rich.console import Console


def show(console: "Console", averaged: Averaged, details: bool) -> None:
    """Groups and contrasts in rows, intervals beneath; a line a hyperparameter.

    Args:
      details: a table for each kind of metric, and one a hyperparameter.
    """
    named = {f"{group.name} ({len(group.sweeps)})": group.means for group in averaged.groups} | {
        f"{c.name} ({len(c.datasets)})": c.means for c in averaged.contrasts
    }
    head = f"mean (sd) over {averaged.over} [95 % CI]"
    paths = dict.fromkeys(path for means in named.values() for path in means)
    _table(console, head, {METRICS[path]: path for path in METRICS if path in paths}, named)
    if not details:
        _rhos(console, averaged)
        return
    for series, said in SERIES.items():
        columns = {
            f"{said} {path.partition('.')[2]}": path
            for path in paths
            if path.startswith(f"{series}.")
        }
        _table(console, head, columns, named)
    profiles = dict.fromkeys(
        path.rpartition(".")[0] for path in paths if path.startswith(("all_hyper", "by_hyper"))
    )
    for profile in profiles:
        name = profile.partition(".")[2] or "all hyperparameters together"
        columns = {said: f"{profile}.{key}" for key, said in PROFILE.items()}
        _table(console, name, columns, named)
    console.print()
    for group in averaged.groups:
        console.print(f"{group.name}: {', '.join(group.sweeps)}", markup=False)


def _rhos(console: "Console", averaged: Averaged) -> None:
    """A line a hyperparameter: the mean rho of each group, with its interval."""
    every = [group.means for group in averaged.groups]
    paths = dict.fromkeys(path for means in every for path in means if path.endswith(".rho"))
    rows = []
    for path in paths:
        name = path.removesuffix(".rho").partition(".")[2] or "all together"
        cells = [(_mean(means.get(path)), _interval(means.get(path))) for means in every]
        rows.append([name, *(" ".join(filter(None, cell)) for cell in cells)])
    if rows:
        console.print()
        head = [f"hyperparameter: {PROFILE['rho']}", *(group.name for group in averaged.groups)]
        tables.print_table(console, head, rows)


def _table(
    console: "Console",
    head: str,
    columns: Mapping[str, str],
    named: Mapping[str, Mapping[str, Mean]],
) -> None:
    """Two lines a group: means with sd, and intervals."""
    rows = []
    for name, means in named.items():
        chosen = [means.get(path) for path in columns.values()]
        rows.append([name, *map(_mean, chosen)])
        rows.append(["", *map(_interval, chosen)])
    if columns and any(any(row[1:]) for row in rows):
        console.print()
        tables.print_table(console, [head, *columns], rows)


def _mean(known: Mean | None) -> str:
    if known is None:
        return "-"
    return f"{known.mean:.2f}" + ("" if known.sd is None else f" ({known.sd:.2f})")


def _interval(known: Mean | None) -> str:
    return "" if known is None else text.bounds(known.interval)
