"""Exports of Weights & Biases: charts and tables of runs, as tables with a row a run.

A chart has a column of steps and three columns a run: `RUN - metric`, `RUN - metric__MIN`,
`RUN - metric__MAX`. A table of runs has Name, State, Created ..., then config and summary keys.
"""

import dataclasses
import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import checks, names
from jaxeval.runs.imported import Columns, listed
from jaxeval.runs.layout import Layout

_OF_RUNS = ({"Name", "State", "Created"}, {"Name", "State", "Runtime"}, {"name", "_runtime"})
_GROUP = re.compile(r"[^:]+: ")  # lines of groups are named "key: value"
_SEED = re.compile(r"(?:^|[-_./ ])(?:seed|sd|run|rep|s)[-_=]?(\d+)(?=$|[-_./ ])", re.IGNORECASE)
_NUMBER = re.compile(r"[-_./ ](\d+)$")

Parted = Mapping[str, tuple[str, str]]  # name of a run -> model and seed


def tidied(table: Columns, layout: Layout) -> tuple[Columns, tuple[str, ...]]:
    """The same with columns model and seed, where it is such an export, and notes on it.

    Raises:
      DataError: a chart of several metrics or of groups, or names that tell no models.
    """
    metrics = _lines(table)
    if metrics:
        return _of_chart(table, metrics, layout)
    known = any(names.is_of_models(name) and not is_run(name) for name in table.values)
    if known or "model" in layout.columns or not _is_of_runs(table):
        return table, ()
    runs = table.texts("Name" if "Name" in table.values else "name")
    parted = _parted(runs, layout.models)
    if parted is None:
        raise DataError(f"{_unnamed(runs)}; {_config_columns(table)}", table.source)
    models, seeds = zip(*(parted.get(run, ("", "")) for run in runs), strict=True)
    of_names: dict[str, Sequence[object]] = {"model": models, "seed": seeds}
    whole = dataclasses.replace(table, values={**of_names, **table.values})
    return whole, (f"models and seeds are read from the names of runs ({runs[0]} ...)",)


def is_run(name: str) -> bool:
    """Whether a column is that of the names of runs."""
    return re.sub("[ _]", "", name).lower() in ("name", "runname", "runid")


def _is_of_runs(table: Columns) -> bool:
    return any(columns <= table.values.keys() for columns in _OF_RUNS)


def _lines(table: Columns) -> dict[str, dict[str, str]]:
    """Metric -> run -> column of a chart; none of another table."""
    metrics: dict[str, dict[str, str]] = {}
    for column in table.values:
        run, dash, metric = column.rpartition(" - ")
        if dash and {f"{column}__MIN", f"{column}__MAX"} <= table.values.keys():
            metrics.setdefault(metric, {})[run] = column
    return metrics


def _of_chart(
    table: Columns, metrics: dict[str, dict[str, str]], layout: Layout
) -> tuple[Columns, tuple[str, ...]]:
    metric = _metric(table, metrics, layout)
    lines = metrics[metric]
    groups = [run for run in lines if _GROUP.match(run)]
    if groups:
        raise DataError(
            f"a chart of groups of runs ({listed(groups, 2)}), whose lines are means; expected "
            "one of single runs, or the table of runs",
            table.source,
        )
    parted = _parted([*lines], layout.models)
    if parted is None:
        raise DataError(_unnamed([*lines]), table.source)
    order, steps = _steps(table)
    score = metric if "score" in layout.columns else "score"
    picked: dict[str, list[object]] = {"model": [], "seed": [], "metric": [], score: []}
    rows, ends = [], set()
    for run in parted:
        values = table[lines[run]]
        known = [k for k in order if values[k] not in (None, "")]  # NaN is one that diverged
        last = known[-1] if known else order[-1]
        for name, value in zip(picked, (*parted[run], metric, values[last]), strict=True):
            picked[name].append(value)
        rows.append(table.rows[last])
        ends.add(str(table[steps][last]))
    where = f"{steps} {ends.pop()}" if len(ends) == 1 else f"at different values of {steps}"
    notes = [f"chart of W&B: the last {metric} of each run ({where}) is read"]
    left = [run for run in lines if run not in parted]
    notes += [f"not read: runs of other models ({listed(left, 4)})"] if left else []
    return Columns(table.source, picked, rows), tuple(notes)


def _metric(table: Columns, metrics: Mapping[str, object], layout: Layout) -> str:
    """The metric that is asked for, or the only one."""
    asked = layout.columns.get("score") or layout.metric
    rest = [metric for metric in metrics if not (names.is_step(metric) or names.is_time(metric))]
    if asked in metrics:
        return str(asked)
    if asked is not None or len(rest) != 1:
        found = listed(names.by_worth(rest), 4)
        first = argument("column", {"score": names.by_worth(rest or [*metrics])[0]})
        raise DataError(f"a chart of {found}; {first} compares by the first", table.source)
    return rest[0]


def _steps(table: Columns) -> tuple[list[int], str]:
    """The rows in the order of the steps, and the column of these."""
    name = next((k for k in table.values if " - " not in k), next(iter(table.values)))
    steps = checks.floats(table[name])
    known = bool(np.isfinite(steps).all())
    return (np.argsort(steps, kind="stable").tolist() if known else [*range(len(table))]), name


def _parted(runs: Sequence[str], models: Sequence[str]) -> Parted | None:
    """Model and seed by the names of runs: lstm-seed1, seed_1/lstm, lstm-1.

    Args:
      models: those that are asked for; runs whose names begin with one of them are its runs.

    Returns:
      None: the names do not say it, as of one run a model with no more than a number.
    """
    if models and (given := _of_models(runs, models)):
        return given
    by_seed = {run: _SEED.search(run) for run in runs}
    if all(by_seed.values()):
        return _split({run: found for run, found in by_seed.items() if found})
    by_number = {run: found for run in runs if (found := _NUMBER.search(run))}
    parted = _split(by_number)
    counts = Counter(model for model, _ in parted.values())
    return parted if len(parted) == len({*runs}) and min(counts.values()) > 1 else None


def _split(found: Mapping[str, re.Match[str]]) -> Parted:
    return {
        run: ((run[: of.start()] + run[of.end() :]).strip("-_./ ") or "model", of[1])
        for run, of in found.items()
    }


def _of_models(runs: Sequence[str], models: Sequence[str]) -> Parted | None:
    """Runs of the models that their names begin with; None: a model has none."""
    parted = {}
    for run in runs:
        mine = [m for m in models if re.match(rf"{re.escape(m)}(?![A-Za-z0-9])", run)]
        if mine:
            parted[run] = (max(mine, key=len), run)
    return parted if {model for model, _ in parted.values()} == {*models} else None


def _unnamed(runs: Sequence[str]) -> str:
    return (
        f"names of runs ({listed(runs, 3)}) that say neither model nor seed; expected "
        "MODEL-seed1, the names of models (all runs whose names begin so), or the table of runs "
        "with its config columns"
    )


def _config_columns(table: Columns) -> str:
    """How to name the column of models of a table of runs, by its columns of few texts."""
    few = [
        name
        for name, values in table.values.items()
        if 1 < len({*map(str, values)}) <= len(table) / 2
        and not np.isfinite(checks.floats(values)).any()
        and not names.is_status(name)
    ]
    named = argument("column", {"model": few[0] if few else "NAME"})
    return f"{named} names its column" + (f" (or one of {listed(few[1:], 4)})" if few[1:] else "")
