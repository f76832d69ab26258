"""Scores of our own runs and of their items (`train --outputs`).

Notation: I items, R runs of a model, C kinds of counts.
"""

import dataclasses
import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError, RunError, argument, printable
from jaxeval.runs import metrics, records, store, tables
from jaxeval.runs.columns import Columns, listed
from jaxeval.runs.layout import Layout
from jaxeval.runs.records import MemberRow, Outcomes
from jaxeval.runs.scores import DataSetScores, ModelScores, Scores, Status

# counts that the truth alone decides: equal if the items are the same
_OF_TRUTH = re.compile("words|gold_spans|tokens|items|symbols|targets|gold_[0-9]+")
_AXES = ("seed", "split")
_Run = tuple[MemberRow, Outcomes]


def read_columns(location: str) -> Columns:
    """Reads a row a member: its fields, hyperparameters and `model`.

    `dataset` names the data of each member if there are several. A model is an experiment: its
    name, with a hash if two on one data set share it, and with the member's hyperparameters.
    """
    return _varying(columns(store.load(location), location))


def _varying(table: Columns) -> Columns:
    """Returns a table without splits and repeats, if there is one split and no repeat."""
    same = [axis for axis in ("split", "repeat") if not any(table[axis])]
    values = {name: of for name, of in table.values.items() if name not in same}
    return dataclasses.replace(table, values=values)


def columns(rows: Sequence[MemberRow], source: str, dataset: str = "dataset") -> Columns:
    """Returns the columns of members, as `jaxeval runs export` writes them."""
    values: dict[str, Sequence[object]] = {
        name: [getattr(row, name) for row in rows] for name in MemberRow._fields
    }
    changed = [json.loads(row.hparams) for row in rows]
    for name in dict.fromkeys(key for hparams in changed for key in hparams):
        values.setdefault(name, [hparams.get(name) for hparams in changed])
    names = records.dataset_names(rows)
    if len(names) > 1:
        values["dataset"] = [names[row.data_hash] for row in rows]
    values["model"] = _models(rows, values.get(dataset, [""] * len(rows)))
    return Columns(source, values, range(1, len(rows) + 1))


def _models(rows: Sequence[MemberRow], datasets: Sequence[object]) -> list[str]:
    """Returns the model of each row: one name on all data sets, with a hash if ambiguous."""
    first = {row.experiment: (row, data) for row, data in zip(rows, datasets, strict=True)}
    taken = Counter((row.name, data) for row, data in first.values())
    shared = {name for (name, _), count in taken.items() if count > 1}
    configs = {(row.name, data, row.config_hash) for row, data in first.values()}
    # the config's hash is the same on every data set; an experiment's id is not
    by_config = len(set(datasets)) > 1 and len(configs) == len(first)

    def name(row: MemberRow) -> str:
        ident = (row.config_hash if by_config else row.experiment)[:8]
        named = f"{row.name} ({ident})" if row.name in shared else row.name
        return named if row.hparams == "{}" else f"{named} {row.hparams}"

    return [name(row) for row in rows]


def scores(everything: Sequence[MemberRow], source: str, layout: Layout) -> Scores:
    """Returns the scores of members. Their metric says whether higher is better.

    Without requested models, only experiments whose members differ in seed or split are compared;
    a warning names the others.

    Raises RunError: no experiment can be compared. DataError: several metrics, no such model, or
    the opposite direction is requested.
    """
    members = _chosen(everything, source, layout)
    kept = {row.experiment for row in members}
    left_out = [row for row in everything if row.experiment not in kept]
    roles = {"score": "test", **layout.columns}
    table = _varying(columns(members, source, roles.get("dataset", "dataset")))
    ids, asked = _requested(layout, members, table.texts("model"), source)
    chosen = dataclasses.replace(layout, columns=roles, models=asked)
    found = tables.from_columns(table, chosen, "the runs say")
    notes: list[str] = []
    warnings = [*found.warnings]
    if left_out:
        other = records.describe(left_out)
        warnings.append(f"not compared, as their runs differ in more than seeds: {other}")
    by_config: dict[str, MemberRow] = {}  # a member of each model with one config
    random: list[str] = []  # models with random splits
    own: list[str] = []  # models with the data's own split
    for model in found.models:
        each = [data.models[model] for data in found.data_sets if model in data.models]
        rows = [members[row - 1] for row in sorted(r for m in each for r in m.rows[m.finished])]
        if rows:
            (random if any(row.split for row in rows) else own).append(model)
        if len({row.config_hash for row in rows}) == 1:
            by_config[model] = rows[0]
        elif rows:
            warnings.append(f"{model}: its config is not the same on all data sets")
        if count := sum(row.never_learned for row in rows):
            whose = "its" if count == 1 else "their"
            warnings.append(
                f"{model}: {count} of {len(rows)} never learned: dev {rows[0].metric} stayed 0, "
                f"and {whose} test score is that of the last epoch"
            )
    if random and own:
        kinds = f"{listed(own)} on the data's own split, {listed(random)} on random splits"
        warnings.append(f"{kinds}: name models of one kind to compare them")
    if len(found.models) == len(by_config) == 2:
        differ = records.difference(*by_config.values())
        notes += [f"{' and '.join(by_config)} differ in {differ}"] if differ else []
    return dataclasses.replace(found, warnings=tuple(warnings), notes=tuple(notes), ids=ids)


def _requested(
    layout: Layout, rows: Sequence[MemberRow], models: Sequence[str], source: str
) -> tuple[dict[str, str], list[str]]:
    """Returns id -> model, and the names of the requested models, which may be ids."""
    by_id: dict[str, set[str]] = {}
    for row, name in zip(rows, models, strict=True):
        by_id.setdefault(row.experiment, set()).add(name)
    # every setting of a sweep is a model
    ids = {key: min(names) for key, names in by_id.items() if len(names) == 1}
    found: dict[str, None] = {}
    repeated: set[str] = set()
    if layout.models and "repeat" not in layout.columns.values():
        groups = [g for g in records.by_experiment(rows) if records.kind(g) == "noise"]
        repeated = {name for group in groups for name in by_id[group[0].experiment]}
    for asked in layout.models:
        model = records.find_model(ids, models, asked)
        if model is None:
            for group in records.by_experiment(rows):
                other = records.READ_WITH.get(records.kind(group))
                if other and asked in (group[0].experiment, group[0].name):
                    raise DataError(f"{group[0].name!r} has {other}", source)
            known = {key: name for key, name in ids.items() if name not in repeated}
            shown = records.describe_ids(known) or listed([*dict.fromkeys(models)])
            raise DataError(f"no model {asked!r}; has {shown}", source)
        if model in repeated:
            raise DataError(f"{asked!r} has {records.READ_WITH['noise']}", source)
        found[printable(model)] = None  # as tables name it
    return ids, list(found)


def _chosen(rows: Sequence[MemberRow], source: str, layout: Layout) -> Sequence[MemberRow]:
    """Returns the members to compare: all if models are named, else those of seeds."""
    if layout.models:
        return rows
    groups = records.by_experiment(rows)
    chosen = [row for group in groups if records.kind(group) == "seeds" for row in group]
    if not chosen:
        raise RunError(
            f"{source}: no experiment whose runs differ in seed or split only; found "
            f"{records.describe(rows)}"
        )
    if layout.metric is None and len({row.metric for row in chosen}) > 1:
        raise RunError(
            f"{source}: experiments of several metrics: {records.describe(chosen)}; choose with "
            f"{argument('metric', 'NAME')}, or name the models"
        )
    return chosen


def item_scores(location: str, runs: Scores, layout: Layout) -> Scores:
    """Returns the scores of the items behind those of whole runs.

    All runs of a data set are of one split, the first that all its models have. Data sets whose
    models have no such split, no outcomes or other items are left out; a note says why.
    """
    members = _chosen(store.load(location), location, layout)
    part = layout.columns.get("score", "test")
    data_sets: list[DataSetScores] = []
    notes: list[str] = []
    without: dict[str, None] = {}
    with store.open_existing(location) as opened:
        each = (opened.outcomes(e, part) for e in dict.fromkeys(m.experiment for m in members))
        kept = {records.key(outcomes): outcomes for of in each for outcomes in of}
    for data in runs.data_sets:
        by_model: dict[str, list[_Run]] = {}
        for model, rows in _of_one_split(data, members).items():
            keys = [(row, records.key(row)) for row in rows]
            by_model[model] = [(row, kept[key]) for row, key in keys if key in kept]
            without |= {model: None} if len(by_model[model]) < len(rows) else {}
        if by_model and not without:
            found, reasons = _data_set(data, by_model, part)
            data_sets, notes = [*data_sets, *found], [*notes, *reasons]
    if without:
        keep = f"train with {argument('outputs', True)} to keep them"
        notes = [f"No item-level tests: no outcomes of {', '.join(without)}; {keep}."]
        data_sets = []
    return Scores(runs.source, runs.models, tuple(data_sets), notes=tuple(notes), ids=runs.ids)


def _of_one_split(data: DataSetScores, members: Sequence[MemberRow]) -> dict[str, list[MemberRow]]:
    """Returns model -> its members on a split that all models have, the best dev score first."""
    by_model = {
        model: [members[row - 1] for row in m.rows[m.finished].tolist()]
        for model, m in data.models.items()
    }
    splits = [{member.split for member in rows} for rows in by_model.values()]
    shared = set.intersection(*splits) if splits else set()
    for model, rows in by_model.items() if shared else ():
        mine = [member for member in rows if member.split == min(shared)]
        mine.sort(key=lambda member: (member.seed, member.repeat))
        sign = -1 if mine[0].higher_is_better else 1
        best = min(mine, key=lambda m: (math.inf if m.dev is None else sign * m.dev, m.seed))
        by_model[model] = [best, *(member for member in mine if member is not best)]
    return by_model if shared else {}


def _mismatch(a: _Run, b: _Run) -> str:
    """Returns why two runs cannot be compared item by item; "" if they can."""
    (member, of_a), (other, of_b) = a, b
    truth = [sorted(filter(_OF_TRUTH.fullmatch, outcomes.names)) for outcomes in (of_a, of_b)]
    if member.data_hash != other.data_hash or truth[0] != truth[1]:
        return "they were scored on different data"
    first, second = (x.counts[:, [x.names.index(n) for n in truth[0]]] for x in (of_a, of_b))
    if not np.array_equal(first, second):
        return "their items differ (texts cut into other windows, or other random splits)"
    if of_a.names != of_b.names or metrics.scoring(member.metric, of_a.names) is None:
        return f"the stored outcomes do not give {member.metric}"
    if not (np.isfinite(of_a.counts).all() and np.isfinite(of_b.counts).all()):
        return "a model's log-likelihood is not finite"
    return ""


def _data_set(
    data: DataSetScores, by_model: Mapping[str, Sequence[_Run]], part: str
) -> tuple[list[DataSetScores], list[str]]:
    """Returns the scores of models on the items of the first, and why others have none."""
    base, (first, *_) = next(iter(by_model.items()))
    models: dict[str, ModelScores] = {}
    notes: list[str] = []
    names = first[1].names
    for model, runs in by_model.items():
        if reason := next(filter(None, (_mismatch(first, run) for run in runs)), ""):
            notes.append(f"No item-level tests of {base} and {model}: {reason}.")
            continue
        every = np.stack([outcomes.counts for _, outcomes in runs], axis=1)
        values = metrics.item_values(every.astype(np.float64), names, data.metric)
        devs = np.array([math.nan if member.dev is None else member.dev for member, _ in runs])
        models[model] = ModelScores(
            values,
            np.full(values.shape, Status.SCORED, np.uint8),
            {k: np.array([str(getattr(m, k)) for m, _ in runs], object) for k in _AXES},
            np.arange(1, len(runs) + 1),
            None if np.isnan(devs).all() else devs,
            every,
        )
    items = tuple(map(str, range(len(first[1].counts))))
    found = dataclasses.replace(data, models=models, items=items, counts=names, part=part)
    return [found] * (len(models) > 1), notes
