"""Averages of sweeps over datasets as JSON and for the terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from jaxeval.report import terminal
from jaxeval.report.plain import plain
from jaxeval.report.sweep_data import Sweep
from jaxeval.report.sweep_words import PROFILE, SAID, SERIES
from jaxeval.sensitivity import groups
from jaxeval.sensitivity.groups import Averaged, Mean


def to_dict(averaged: Averaged, sweeps: Sequence[Sweep]) -> dict[str, Any]:
    """Plain data; docs/sensitivity.md describes it."""
    return {
        "over": averaged.over,
        "groups": [
            {
                "labels": dict(group.labels),
                "sweeps": {one: sweeps[place].name for one, place in group.sweeps.items()},
                "means": plain(group.means),
                "best_systems": {
                    one: plain(groups.best_system(sweeps[place].scores, sweeps[place].axes))
                    for one, place in group.sweeps.items()
                },
            }
            for group in averaged.groups
        ],
        "contrasts": plain(averaged.contrasts),
    }


def show(console: Any, averaged: Averaged) -> None:
    """A table for each kind of metric: groups and contrasts in rows, intervals beneath."""
    named = {f"{group.name} ({len(group.sweeps)})": group.means for group in averaged.groups} | {
        f"{c.name} ({len(c.datasets)})": c.means for c in averaged.contrasts
    }
    head = f"mean (sd) over {averaged.over} [95 % interval]"
    paths = dict.fromkeys(path for means in named.values() for path in means)
    _table(console, head, {SAID[path]: path for path in SAID if path in paths}, named)
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


def _table(
    console: Any,
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
        terminal.print_table(console, [head, *columns], rows)


def _mean(found: Mean | None) -> str:
    if found is None:
        return "-"
    return f"{found.mean:.2f}" + ("" if found.sd is None else f" ({found.sd:.2f})")


def _interval(found: Mean | None) -> str:
    if found is None or found.interval is None:
        return ""
    return f"[{found.interval.low:.2f}, {found.interval.high:.2f}]"
