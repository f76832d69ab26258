"""Exports of Weights & Biases: charts and tables of runs, whose names tell models and seeds."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import layout as names
from jaxeval.runs import texts
from jaxeval.runs.columns import Columns, listed
from jaxeval.runs.layout import ROLES, Layout

# columns of a table of runs of Weights & Biases, of the site and of the API
_WANDB = ({"Name", "State", "Created"}, {"Name", "State", "Runtime"}, {"name", "_runtime"})
_SEED = re.compile(r"(?:^|[-_./ ])(?:seed|sd|run|rep|s)[-_=]?(\d+)(?=$|[-_./ ])", re.IGNORECASE)


def of_export(table: Columns, layout: Layout) -> tuple[Columns, list[str]]:
    """Returns an export of W&B with columns model and seed, and notes; other tables as they are.

    A chart has a column of steps and three columns a run: `RUN - metric`, `RUN - metric__MIN`,
    `RUN - metric__MAX`. A table of runs has Name, State, Created .., then keys of the configs.
    """
    charts: dict[str, dict[str, str]] = {}  # metric -> run -> column
    for column in table.values:
        run, dash, metric = column.rpartition(" - ")
        if dash and {f"{column}__MIN", f"{column}__MAX"} <= table.values.keys():
            charts.setdefault(metric, {})[run] = column
    if charts:
        return _from_chart(table, charts, layout)
    if not any(keys <= table.values.keys() for keys in _WANDB):
        return table, []
    return with_models(table, table.texts("Name" if "Name" in table.values else "name"), layout)


def with_models(table: Columns, runs: Sequence[str], layout: Layout) -> tuple[Columns, list[str]]:
    """Returns a table with columns model and seed by the names of its rows' runs, and notes.

    A table that names its models stays as it is.

    Raises DataError: the names do not tell models and seeds.
    """
    if "model" in layout.columns or any(names.role(name) == "model" for name in table.values):
        return table, []
    own = [name for name in table.values if name not in (*ROLES, "Name")]
    parted = _models_and_seeds(runs, layout.models, table.source, own)
    there = table.select(np.flatnonzero([run in parted for run in runs]))
    models, seeds = zip(*(parted[run] for run in runs if run in parted), strict=True)
    values = {"model": models, "seed": seeds, **there.values}
    notes = [f"models and seeds are read from the names of runs ({runs[0]} ...)"]
    if left := [run for run in runs if run not in parted]:
        notes.append(f"not read: runs of other models ({listed(left, 4)})")
    return Columns(table.source, values, there.rows), notes


def _from_chart(
    table: Columns, charts: Mapping[str, Mapping[str, str]], layout: Layout
) -> tuple[Columns, list[str]]:
    """Returns the last value of each run of a chart."""
    asked = layout.columns.get("score") or layout.metric
    rest = [name for name in charts if names.role(name) not in ("step", "time")]
    if asked not in charts and (asked is not None or len(rest) != 1):
        found = names.sort_scores(rest or charts)
        named = argument("column", {"score": found[0]})
        why = f"a chart of {listed(found, 4)}; {named} compares by the first"
        raise DataError(why, table.source)
    metric = str(asked) if asked in charts else rest[0]
    lines = charts[metric]
    if groups := [run for run in lines if re.match("[^:]+: ", run)]:  # "key: value"
        why = f"a chart of groups of runs ({listed(groups, 2)}), whose lines are means"
        raise DataError(f"{why}; expected one of single runs, or the table of runs", table.source)
    step = next((name for name in table.values if " - " not in name), next(iter(table.values)))
    order = np.argsort(texts.to_floats(table[step]), kind="stable").tolist()
    last = {}
    for run, column in lines.items():
        known = [k for k in order if table[column][k] not in (None, "")]
        last[run] = (known or order)[-1]
    scores = [table[lines[run]][k] for run, k in last.items()]
    score = metric if "score" in layout.columns else "score"
    values: dict[str, Sequence[object]] = {"metric": [metric] * len(last), score: scores}
    rows = [table.rows[k] for k in last.values()]
    whole, notes = with_models(Columns(table.source, values, rows), [*lines], layout)
    where = f"{step} {table[step][max(last.values())]} ..."
    return whole, [f"chart of W&B: the last {metric} of each run ({where}) is read", *notes]


def _models_and_seeds(
    runs: Sequence[str], models: Sequence[str], source: str, columns: Sequence[str]
) -> Mapping[str, tuple[str, str]]:
    """Returns run -> model and seed, by the names of runs: lstm-seed1, seed_1/lstm.

    Raises DataError: they do not tell; one of the columns may.
    """
    begun = {
        run: (max(mine, key=len), run)
        for run in runs
        if (mine := [m for m in models if re.match(rf"{re.escape(m)}(?![A-Za-z0-9])", run)])
    }
    if models and {model for model, _ in begun.values()} == {*models}:
        return begun
    found = {run: match for run in runs if (match := _SEED.search(run))}
    if len(found) == len({*runs}):
        return {
            run: ((run[: seed.start()] + run[seed.end() :]).strip("-_./ ") or "model", seed[1])
            for run, seed in found.items()
        }
    named, known = argument("column", {"model": "NAME"}), listed(columns)
    raise DataError(
        f"names of runs ({listed(runs, 3)}) that say neither model nor seed; expected "
        "MODEL-seed1, the names of models (all runs whose names begin so), or the table of runs "
        f"with its config columns, of which {named} names one{': ' * bool(known)}{known}",
        source,
    )
