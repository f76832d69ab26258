"""Scores of models on the same items, task by task; what is left out is said."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import directions, item_scores
from jaxeval.runs.imported import listed
from jaxeval.runs.item_scores import Paired, TaskScores
from jaxeval.runs.layout import Missing
from jaxeval.runs.logs import clusters, log_runs, matching, metric_names
from jaxeval.runs.logs.records import STATUSES
from jaxeval.runs.logs.tables import LogTable

Mismatched = Literal["error", "drop", "pair"]
_MOST_CELLS = 1 << 27
_FEW = 3  # items that a message names
_SCORED, _UNSCORED, _FAILED = (STATUSES.index(s) for s in ("scored", "unscored", "failed"))


class Rules(NamedTuple):
    """What is compared, and what becomes of items that are not the same or have no score.

    Attributes:
      models: in this order; all for none.
      metrics: of each task the first that it has (`metric_names`); none: its only one.
      missing: of scores that are not finite; with "zero" failed items count as 0 too.
      mismatched: of items whose content or prompt differs between logs.
      higher_is_better: as `directions.of_metrics` has it; None: as names say, else so.
    """

    models: Sequence[str] = ()
    metrics: Sequence[str] = ()
    missing: Missing = "error"
    mismatched: Mismatched = "error"
    higher_is_better: bool | None = None


def paired(table: LogTable, rules: Rules | None = None) -> Paired:
    """The scores of models on their common tasks.

    Raises:
      DataError: an unknown model or metric, several metrics, no common task or item, items that
        differ, scores that are not finite.
    """
    rules = rules or Rules()
    known = table.names["model"]
    notes = [f"{said}{f' ({n} times)' if n > 1 else ''}" for said, n in table.notes.items()]
    models = _models(table, rules, notes)
    found: list[tuple[_Task, np.ndarray, str]] = []
    absent, without_metric = _absent(table, models), list[str]()
    for code, task in enumerate(table.names["task"]):
        rows = np.flatnonzero((table.task == code) & np.isin(table.model, _codes(known, models)))
        of_task = [m for m in models if np.any(table.model[rows] == known.index(m))]
        if len(of_task) < len(models):
            others = [m for m in models if m not in of_task]
            if of_task:
                notes.append(f"{_of(task)}no log of {listed(others)}; left out")
            continue
        of = _Task(table, task, models, rules, notes)
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
    tasks = tuple(map(item_scores.common, item_scores.without_copies(whole)))
    for (of, _, _), scores in zip(found, tasks, strict=True):
        of.refuse(scores)
    return Paired(models, tasks, tuple(notes), absent, tuple(without_metric))


def _models(table: LogTable, rules: Rules, notes: list[str]) -> tuple[str, ...]:
    """Those that are asked for, else all that have the metric; the others are noted.

    Raises:
      DataError: an unknown model, or a metric that no task of the models has.
    """
    known = table.names["model"]
    models = tuple(dict.fromkeys(rules.models or known))
    unknown = [model for model in models if model not in known]
    if unknown:
        raise DataError(f"no model {unknown[0]!r} in the logs; expected one of {listed(known)}")
    metric_names.refuse_unknown(rules.metrics, _metrics_of(table, models), table.notes)
    if rules.models or not rules.metrics:
        return models
    of_models = {model: _metrics_of(table, [model]) for model in models}
    return metric_names.models_with(rules.metrics, of_models, notes)


def _metrics_of(table: LogTable, models: Sequence[str]) -> list[str]:
    """All that any of some models has on any task."""
    of_models = np.isin(table.model, _codes(table.names["model"], models))
    return _named(table.names["metric"], np.unique(table.metric[of_models]))


def _named(names: Sequence[str], codes: Iterable[int]) -> list[str]:
    return [names[code] for code in codes if names[code]]


def _absent(table: LogTable, models: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Model -> tasks of the others that it has no score of."""
    tasks, scored = table.names["task"], table.status == _SCORED
    codes = _codes(table.names["model"], models)
    every = {*table.task[np.isin(table.model, codes)].tolist()}
    return {
        model: tuple(tasks[k] for k in sorted(every - {*table.task[own & scored].tolist()}))
        for model, own in ((m, table.model == code) for m, code in zip(models, codes, strict=True))
    }


def _codes(names: Sequence[str], chosen: Sequence[str]) -> list[int]:
    return [names.index(name) for name in chosen]


@dataclasses.dataclass(frozen=True)
class _Task:
    """A task of some models; what is left out goes into the notes."""

    table: LogTable
    name: str
    models: Sequence[str]
    rules: Rules
    notes: list[str]

    def scores(self, rows: np.ndarray, metric: str, said: bool | None) -> TaskScores:
        """The scores of a metric in some rows of the table, of the items that any model has.

        Args:
          said: whether higher is better; None: not known.
        """
        table = self.table
        of_metric = table.metric[rows] == table.names["metric"].index(metric)
        rows = rows[of_metric | (table.status[rows] == _FAILED)]
        keys, wrong = self._matched(rows)
        task = self._of_items(rows[~wrong], keys[~wrong], metric, said)
        if task is None:
            raise self._no_item()
        return task

    def refuse(self, task: TaskScores) -> None:
        """Refuses a task of no item that all models have, or scores on two scales."""
        if not task.items:
            raise self._no_item()
        item_scores.refuse_scales(task)

    def _of_items(
        self, rows: np.ndarray, keys: np.ndarray, metric: str, said: bool | None
    ) -> TaskScores | None:
        """The scores of items by key; None: a model has none."""
        table = self.table
        of_model = {m: table.model[rows] == table.names["model"].index(m) for m in self.models}
        if not all(mine.any() for mine in of_model.values()):
            return None
        _, first, item = np.unique(keys, return_index=True, return_inverse=True)
        items = self._named("item", rows[first])
        higher = said is not False
        self._refuse_zero(rows, higher)
        names = {m: table.run_names.get((m, self.name), ()) for m in of_model}
        runs = {m: log_runs.in_order(table.run[rows[of]], names[m]) for m, of in of_model.items()}
        of_status = {m: table.status[rows[mine]] for m, mine in of_model.items()}
        task = TaskScores(
            *(self.name, metric, higher, items),
            {
                model: self._cube(rows[mine], item[mine], len(items), runs[model][0])
                for model, mine in of_model.items()
            },
            clusters.of_items(table, rows, item, _of(self.name)),
            failed={m: int(np.sum(of == _FAILED)) for m, of in of_status.items()},
            failed_items={
                m: len(np.unique(item[mine][of_status[m] == _FAILED]))
                for m, mine in of_model.items()
            },
            unscored={m: int(np.sum(of == _UNSCORED)) for m, of in of_status.items()},
            lacking={
                model: tuple(items[k] for k in np.setdiff1d(np.arange(len(items)), item[mine]))
                for model, mine in of_model.items()
            },
            runs={model: names for model, (_, names) in runs.items()},
            direction_assumed=said is None,
        )
        for model, cube in task.scores.items():
            self._refuse_parts(model, ~np.isnan(cube).all(2))
        return task

    def _refuse_parts(self, model: str, present: np.ndarray) -> None:
        """Refuses runs [I, R] of which one has no item in common with any other."""
        if log_runs.any_apart(present):
            raise self._error(
                f"a run of {model} has no item in common with its other runs; parts of one run "
                "belong into one file (or, as JSON lines of predictions, have one key run)"
            )

    def _error(self, message: str) -> DataError:
        return DataError(f"{_of(self.name)}{message}")

    def _named(self, what: str, rows: np.ndarray) -> tuple[str, ...]:
        names = self.table.names[what]
        return tuple(names[code] for code in getattr(self.table, what)[rows].tolist())

    def metric(self, rows: np.ndarray) -> str | None:
        """The task's metric that is compared, one that all models have; None: none is wanted."""
        metrics = self._metrics(set.intersection, rows)
        meant = metric_names.of_task(self.rules.metrics, metrics)
        if not meant and (self.rules.metrics or not metrics):
            known = f" (it has {listed(metrics)})" if metrics else ""
            asked = f" {' or '.join(self.rules.metrics)}" if self.rules.metrics else ""
            self.notes.append(f"{_of(self.name)}no metric{asked} of all models{known}; left out")
            return None
        candidates = meant or metrics
        if len(candidates) > 1:
            asked = argument("metric")
            raise self._error(
                f"several metrics ({listed(candidates)}); expected {asked} with one of them"
            )
        return candidates[0]

    def is_wanted(self, rows: np.ndarray) -> bool:
        """Whether a model has a metric that is asked for: a task without one is not asked for."""
        asked, known = self.rules.metrics, self._metrics(set.union, rows)
        return bool(metric_names.of_task(asked, known)) if asked else True

    def _metrics(self, together: Callable[..., set[int]], rows: np.ndarray) -> list[str]:
        """Metrics of all models, or of any."""
        table = self.table
        pairs = np.unique(np.stack([table.model[rows], table.metric[rows]]), axis=1)
        names = table.names["model"]
        by_model = [set(pairs[1, pairs[0] == names.index(m)].tolist()) for m in self.models]
        return _named(table.names["metric"], sorted(together(*by_model)))

    def _matched(self, rows: np.ndarray) -> matching.Matched:
        """Which rows are of one item; those of items that logs differ on are refused or noted."""
        table = self.table
        ids = table.item[rows]
        if self.rules.mismatched == "pair":
            return matching.Matched(ids, np.zeros(len(rows), bool))
        log = table.run[rows] * len(table.names["model"]) + table.model[rows]
        matches = matching.matched(
            ids, table.content[rows], table.prompt[rows], table.model[rows], log
        )
        if matches.wrong.any():
            names = list(dict.fromkeys(self._named("item", rows[matches.wrong])))
            said = (
                f"{len(names)} of {len(set(ids.tolist()))} items are not the same in all logs, by "
                f"their content or prompt ({listed(names, _FEW)})"
            )
            if self.rules.mismatched == "error":
                raise self._error(
                    f"{said}; {argument('mismatched', 'drop')} leaves them out, "
                    f"{argument('mismatched', 'pair')} takes equal "
                    "ids for equal items, such as where only chat templates differ"
                )
            self.notes.append(f"{_of(self.name)}{said}; they are left out")
        return matches

    def _cube(self, rows: np.ndarray, item: np.ndarray, items: int, run: np.ndarray) -> np.ndarray:
        """[I, R, K] of a model."""
        values = self._values(rows)
        order = np.lexsort((self.table.sample[rows], item, run))
        cell = (run * items + item)[order]
        starts = np.flatnonzero(np.diff(cell, prepend=-1))
        sizes = np.diff([*starts, len(cell)])
        shape = items, int(run.max()) + 1, int(sizes.max())
        if np.prod(shape, dtype=float) > _MOST_CELLS:
            raise self._error(f"{' x '.join(map(str, shape))} (items, runs, answers) are too many")
        cube = np.full(shape, np.nan)
        cube[item[order], run[order], np.arange(len(cell)) - np.repeat(starts, sizes)] = values[
            order
        ]
        return cube

    def _values(self, rows: np.ndarray) -> np.ndarray:
        """Scores of rows: NaN or, with --missing zero, 0 where there is none."""
        values = self.table.score[rows].copy()
        bad = ~np.isfinite(values)
        unexplained = bad & (self.table.status[rows] == _SCORED)
        if unexplained.any() and self.rules.missing == "error":
            row = rows[unexplained][:1]
            model, name = (self._named(what, row)[0] for what in ("model", "item"))
            raise self._error(
                f"scores of {model} that are not finite: {int(unexplained.sum())}, the first "
                f"{self.table.score[row[0]]} of item {name:.60}; {argument('missing', 'drop')} "
                f"leaves them out, {argument('missing', 'zero')} counts them as 0"
            )
        values[bad] = 0.0 if self.rules.missing == "zero" else np.nan
        return values

    def _refuse_zero(self, rows: np.ndarray, higher: bool) -> None:
        """Refuses to count answers without a score as 0 where that would be the best of all."""
        score = self.table.score[rows]
        known = score[np.isfinite(score)]
        if self.rules.missing != "zero" or len(known) == len(score):
            return
        if item_scores.zero_is_best(known, higher):
            zero, drop = argument("missing", "zero"), argument("missing", "drop")
            raise self._error(f"{zero}: 0 would be the best; expected {drop}")

    def _no_item(self) -> DataError:
        return self._error(f"no item that {listed(self.models)} all have a score of")


def _of(task: str) -> str:
    """How a message on a task begins."""
    return f"task {task}: " if task else ""
