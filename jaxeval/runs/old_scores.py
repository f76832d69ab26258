"""What readers gave before they gave `Scores`, as these; goes when they do."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxeval.errors import DataError
from jaxeval.runs import counts as counted
from jaxeval.runs import directions
from jaxeval.runs.imported import listed
from jaxeval.runs.item_scores import TaskScores
from jaxeval.runs.logs import pairing
from jaxeval.runs.logs.tables import LogTable
from jaxeval.runs.scores import DataSetScores, ModelScores, Scores, Status
from jaxeval.runs.tables import ScoreTable
from jaxeval.runs.trained import TrainedModel


def of_table(table: ScoreTable) -> Scores:
    """A table of whole runs."""
    score = np.concatenate([table.score, np.full(len(table.failed.rows), np.nan)])
    model = np.concatenate([table.model, table.failed.model]).astype(int)
    rows = np.concatenate([table.rows, table.failed.rows]).astype(int)
    status = np.concatenate([np.zeros(len(table.score)), np.full(len(table.failed.rows), 2)])
    if table.missing == "zero":
        score, model, rows = table.score, table.model, table.rows
        status = np.where(np.isin(rows, table.failed.rows), 2, 0)
    axes = {
        name: of
        if table.missing == "zero" or not len(table.failed.rows)
        else np.concatenate([of, table.failed.axes[name]])
        for name, of in table.axes.items()
    }
    dev = table.dev
    if dev is not None and len(dev) < len(score):
        dev = np.concatenate([dev, np.full(len(score) - len(dev), np.nan)])
    order = np.argsort(rows, kind="stable")
    places = axes.get("dataset", np.full(len(score), "", object))
    codes: dict[str, int] = {}
    code = np.array([codes.setdefault(p, len(codes)) for p in places[order].tolist()], int)
    direction: Any = (
        "assumed" if table.direction_assumed else "named" if table.direction_named else "recorded"
    )
    data_sets = []
    for name, number in codes.items():
        models = {}
        for k, model_name in enumerate(table.models):
            mine = order[(code == number) & (model[order] == k)]
            if len(mine):
                models[model_name] = ModelScores(
                    score[mine][None, :, None],
                    status[mine].astype(np.uint8)[None, :, None],
                    {axis: of[mine] for axis, of in axes.items() if axis != "dataset"},
                    rows[mine],
                    None if dev is None else dev[mine],
                )
        data_sets.append(
            DataSetScores(
                name,
                table.metric or "",
                table.higher_is_better,
                direction,
                models,
                unit=table.unit,
            )
        )
    return Scores(
        table.source,
        table.models,
        tuple(data_sets),
        table.missing,
        table.unusable,
        table.statuses,
        table.warnings,
        table.notes,
        folds=table.folds,
        ids=table.ids,
    )


def of_logs(table: LogTable, rules: pairing.Rules | None = None) -> Scores:
    """Logs, on the tasks that all models have."""
    rules = rules or pairing.Rules()
    known = table.names["model"]
    notes = [f"{said}{f' ({n} times)' if n > 1 else ''}" for said, n in table.notes.items()]
    models = pairing._models(table, rules, notes)
    found = []
    absent, without_metric = pairing._absent(table, models), list[str]()
    for code, task in enumerate(table.names["task"]):
        rows = np.flatnonzero(
            (table.task == code) & np.isin(table.model, pairing._codes(known, models))
        )
        of_task = [m for m in models if np.any(table.model[rows] == known.index(m))]
        if len(of_task) < len(models):
            others = [m for m in models if m not in of_task]
            if of_task:
                notes.append(f"{pairing._of(task)}no log of {listed(others)}; left out")
            continue
        of = pairing._Task(table, task, models, rules, notes)
        metric = of.metric(rows)
        if metric is not None:
            found.append((of, rows, metric))
        elif of.is_wanted(rows):
            without_metric.append(task)
    compared = [(of.name, metric) for of, _, metric in found]
    named = {key: directions.named_in_log(key[1]) for key in compared}
    better = directions.of_metrics(table.higher_is_better, named, rules.higher_is_better)
    if not found:
        raise DataError(
            f"no task and metric that {listed(models)} all have: {'; '.join(notes[:4])}"
        )
    whole = [of.scores(rows, metric, better[of.name, metric]) for of, rows, metric in found]
    return Scores(
        "logs",
        models,
        tuple(map(_of_task, whole)),
        rules.missing,
        warnings=tuple(notes),
        absent=absent,
        without_metric=tuple(without_metric),
    )


def _of_task(task: TaskScores) -> DataSetScores:
    models = {}
    for model, cube in task.scores.items():
        status = np.where(np.isnan(cube), Status.ABSENT, Status.SCORED).astype(np.uint8)
        left = np.flatnonzero(np.isnan(cube).all((1, 2)))
        lacking = {*task.lacking.get(model, ())}
        there = [k for k in left if task.items[k] not in lacking]
        for k, place in enumerate(there):
            status[place, 0, 0] = (
                Status.FAILED if k < task.failed.get(model, 0) else Status.UNSCORED
            )
        labels = {"name": np.array(task.runs[model], object)} if task.runs.get(model) else {}
        models[model] = ModelScores(cube, status, labels, np.arange(cube.shape[1]))
    direction: Any = "assumed" if task.direction_assumed else "recorded"
    return DataSetScores(
        task.task,
        task.metric,
        task.higher_is_better,
        direction,
        models,
        task.items,
        clusters=task.clusters,
    )


def of_trained(trained: Sequence[TrainedModel], higher_is_better: bool, source: str) -> Scores:
    """Trained models whose outcomes were kept item by item."""
    from jaxeval.stats import single_models_old as old

    models = tuple(dict.fromkeys(of.model for of in trained))
    unkept = list(dict.fromkeys(of.model for of in trained if of.counts is None))
    notes: list[str] = []
    if unkept:
        notes.append(
            f"No tests on single items: {', '.join(unkept)} without outcomes; train --outputs "
            "keeps them (with --again, of members that have ended)."
        )
    data_sets = []
    for name in dict.fromkeys(of.dataset for of in trained) if not unkept else ():
        of_models = {
            m: [of for of in trained if (of.model, of.dataset) == (m, name)] for m in models
        }
        of_models = {m: of for m, of in of_models.items() if of}
        first = next(iter(of_models.values()))[0]
        same = {}
        for m, members in of_models.items():
            reason = next(filter(None, (old.differing(first, of) for of in members)), "")
            if reason:
                notes.append(f"No tests on single items of {first.model} and {m}: {reason}.")
            else:
                same[m] = members
        if len(same) < 2:
            continue
        scored = {}
        for m, members in same.items():
            every = np.stack([of.counts for of in members], axis=1)
            scores = counted.values(every, first.names, first.member.metric)
            labels = {
                "seed": np.array([str(of.member.seed) for of in members], object),
                "split": np.array([str(of.member.split) for of in members], object),
            }
            best = first.chosen == "of its model's best dev score"
            dev = np.r_[1.0, np.zeros(len(members) - 1)] if best else None
            if dev is not None and not higher_is_better:
                dev = -dev
            scored[m] = ModelScores(
                scores,
                np.zeros(scores.shape, np.uint8),
                labels,
                np.arange(len(members)),
                dev,
                every,
            )
        items = tuple(map(str, range(len(next(iter(scored.values())).scores))))
        data_sets.append(
            DataSetScores(
                name,
                first.member.metric,
                higher_is_better,
                "recorded",
                scored,
                items,
                counts=first.names,
                part=first.part,
            )
        )
    return Scores(source, models, tuple(data_sets), notes=tuple(notes))
