"""Exports of Weights & Biases: charts and tables of runs, as tables with a row a run.

A chart has a column of steps and three columns a run: `RUN - metric`, `RUN - metric__MIN`,
`RUN - metric__MAX`. A table of runs has Name, State, Created ..., then config and summary keys.
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import checks, names
from jaxeval.runs.imported import Columns, listed
from jaxeval.runs.layout import Layout

_OF_RUNS = ({"Name", "State", "Created"}, {"Name", "State", "Runtime"}, {"name", "_runtime"})
_GROUP = re.compile(r"[^:]+: ")  # lines of groups are named "key: value"
_SEED = re.compile(r"(?:^|[-_./ ])(?:seed|sd|run|rep|s)[-_=]?(\d+)(?=$|[-_./ ])", re.IGNORECASE)


def tidied(table: Columns, layout: Layout) -> tuple[Columns, tuple[str, ...]]:
    """The same with columns model and seed, where it is such an export, and notes on it.

    Raises DataError: a chart of several metrics or of groups, or names that tell no models.
    """
    metrics: dict[str, dict[str, str]] = {}  # of a chart: metric -> run -> column
    for column in table.values:
        run, dash, metric = column.rpartition(" - ")
        if dash and {f"{column}__MIN", f"{column}__MAX"} <= table.values.keys():
            metrics.setdefault(metric, {})[run] = column
    if metrics:
        return _of_chart(table, metrics, layout)
    known = "model" in layout.columns or any(names.role(name) == "model" for name in table.values)
    if known or not any(columns <= table.values.keys() for columns in _OF_RUNS):
        return table, ()
    runs = table.texts("Name" if "Name" in table.values else "name")
    parted = _parted(runs, layout.models, table.source)
    models, seeds = zip(*(parted.get(run, ("", "")) for run in runs), strict=True)
    whole = dataclasses.replace(table, values={"model": models, "seed": seeds, **table.values})
    return whole, (f"models and seeds are read from the names of runs ({runs[0]} ...)",)


def _of_chart(
    table: Columns, metrics: Mapping[str, Mapping[str, str]], layout: Layout
) -> tuple[Columns, tuple[str, ...]]:
    """The last value of each run."""
    asked = layout.columns.get("score") or layout.metric
    rest = [metric for metric in metrics if not (names.is_step(metric) or names.is_time(metric))]
    if asked not in metrics and (asked is not None or len(rest) != 1):
        found = names.by_worth(rest or metrics)
        named = argument("column", {"score": found[0]})
        why = f"a chart of {listed(found, 4)}; {named} compares by the first"
        raise DataError(why, table.source)
    metric = str(asked) if asked in metrics else rest[0]
    lines = metrics[metric]
    groups = [run for run in lines if _GROUP.match(run)]
    if groups:
        why = f"a chart of groups of runs ({listed(groups, 2)}), whose lines are means"
        raise DataError(f"{why}; expected one of single runs, or the table of runs", table.source)
    count = next((k for k in table.values if " - " not in k), next(iter(table.values)))
    order = np.argsort(checks.floats(table[count]), kind="stable").tolist()
    picked, rows, ends = [], [], set()
    parted = _parted([*lines], layout.models, table.source)
    for run, (model, seed) in parted.items():
        values = table[lines[run]]
        known = [k for k in order if values[k] not in (None, "")]  # NaN is one that diverged
        last = (known or order)[-1]
        picked.append((model, seed, metric, values[last]))
        rows.append(table.rows[last])
        ends.add(str(table[count][last]))
    score = metric if "score" in layout.columns else "score"
    columns = dict(zip(("model", "seed", "metric", score), zip(*picked, strict=True), strict=True))
    where = f"{count} {ends.pop()}" if len(ends) == 1 else f"at different values of {count}"
    notes = [f"chart of W&B: the last {metric} of each run ({where}) is read"]
    left = [run for run in lines if run not in parted]
    notes += [f"not read: runs of other models ({listed(left, 4)})"] if left else []
    return Columns(table.source, columns, rows), tuple(notes)


def _parted(
    runs: Sequence[str], models: Sequence[str], source: str
) -> Mapping[str, tuple[str, str]]:
    """Run -> model and seed, by the names of runs: lstm-seed1, seed_1/lstm."""
    begun = {
        run: max(mine, key=len)
        for run in runs
        if (mine := [m for m in models if re.match(rf"{re.escape(m)}(?![A-Za-z0-9])", run)])
    }
    if models and {*begun.values()} == {*models}:
        return {run: (model, run) for run, model in begun.items()}
    found = {run: of for run in runs if (of := _SEED.search(run))}
    if len(found) == len({*runs}):
        return {
            run: ((run[: of.start()] + run[of.end() :]).strip("-_./ ") or "model", of[1])
            for run, of in found.items()
        }
    named = argument("column", {"model": "NAME"})
    raise DataError(
        f"names of runs ({listed(runs, 3)}) that say neither model nor seed; expected "
        "MODEL-seed1, the names of models (all runs whose names begin so), or the table of runs "
        f"with its config columns, of which {named} names one",
        source,
    )
