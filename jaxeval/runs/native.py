"""Our own runs as a score table."""

import dataclasses
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from jaxeval.errors import DataError, RunError, argument
from jaxeval.runs import database, experiments, imported, store, tables
from jaxeval.runs.layout import Layout
from jaxeval.runs.records import MemberRow
from jaxeval.runs.scores import Scores


def columns(location: str) -> imported.Columns:
    """One row a member: the columns of `jaxeval.runs export`, its hyperparameters, and `model`.

    Where experiments were trained on several data sets, `dataset` names that of each member. A
    model is an experiment, named by its name, by a hash too where two on one data set share a
    name, and by the hyperparameters in which its members differ from the config.
    """
    return _columns(_load(location), database.shown(location))


def _load(location: str) -> list[MemberRow]:
    rows = store.load(location)
    if not rows:
        raise RunError(f"{database.shown(location)}: no member has ended")
    return rows


def _columns(rows: Sequence[MemberRow], source: str, dataset: str = "dataset") -> imported.Columns:
    values: dict[str, Sequence[object]] = {
        name: [getattr(row, name) for row in rows] for name in MemberRow._fields
    }
    changed = [json.loads(row.hparams) for row in rows]
    for name in dict.fromkeys(key for hparams in changed for key in hparams):
        values.setdefault(name, [hparams.get(name, "") for hparams in changed])
    names = experiments.dataset_names(rows)
    if len(names) > 1:
        values["dataset"] = [names[row.data_hash] for row in rows]
    values["model"] = _models(rows, values.get(dataset, [""] * len(rows)))
    for axis in ("split", "repeat"):
        if not any(values[axis]):
            del values[axis]  # all members have the corpus's own split, and none is repeated
    return imported.Columns(source, values, range(1, len(rows) + 1))


def _models(rows: Sequence[MemberRow], datasets: Sequence[object]) -> list[str]:
    """The model of each row: one name on all data sets, told apart where it must be."""
    by_experiment = {
        row.experiment: (row, dataset) for row, dataset in zip(rows, datasets, strict=True)
    }
    taken = Counter((row.name, dataset) for row, dataset in by_experiment.values())
    shared = {name for (name, _), count in taken.items() if count > 1}
    configs = {(row.name, dataset, row.config_hash) for row, dataset in by_experiment.values()}
    # the config's hash is the same on every data set; an experiment's id is not
    by_config = len(set(datasets)) > 1 and len(configs) == len(by_experiment)

    def named(row: MemberRow) -> str:
        model = row.config_hash if by_config else row.experiment
        name = f"{row.name} ({model[:8]})" if row.name in shared else row.name
        return name if row.hparams == "{}" else f"{name} {row.hparams}"

    return [named(row) for row in rows]


def scores(location: str, layout: Layout) -> Scores:
    """The scores of a runs folder or database; rest and errors as of `scores_of`."""
    return scores_of(_load(location), database.shown(location), layout)


def scores_of(everything: Sequence[MemberRow], source: str, layout: Layout) -> Scores:
    """The scores of members; their metric says whether higher is better.

    Without models asked for, those whose members differ in seed or split; runs of other studies
    (sweeps, repeated runs, neighbourhoods) are left out, and a warning names them.
    Raises RunError: no member has ended, or no experiment of the folder can be compared.
    DataError: the experiments chosen have several metrics, there is no such model, or the opposite
    of their direction is asked for.
    """
    members = _chosen(everything, source, layout)
    kept = {row.experiment for row in members}
    left_out = [row for row in everything if row.experiment not in kept]
    columns = {"score": "test", **layout.columns}
    whole = _columns(members, source, columns.get("dataset", "dataset"))
    ids = _ids(members, whole.texts("model"))
    asked_for = _named(layout, members, whole.texts("model"), ids, source)
    chosen = dataclasses.replace(layout, columns=columns, models=asked_for)
    found = tables.of_columns(whole, chosen, "the runs say")
    by_model = {model: _members_of(found, model, members) for model in found.models}
    notes = [*_left_out(left_out), *_differing(by_model), *_never_learned(by_model)]
    return dataclasses.replace(
        found,
        warnings=(*found.warnings, *notes),
        notes=tuple(_what_differs(by_model)),
        ids=ids,
    )


def _members_of(found: Scores, model: str, members: Sequence[MemberRow]) -> list[MemberRow]:
    """Those whose scores of a model count."""
    of_model = [data.models[model] for data in found.data_sets if model in data.models]
    rows = sorted(row for of in of_model for row in of.rows[of.finished].tolist())
    return [members[row - 1] for row in rows]


def _ids(rows: Sequence[MemberRow], models: Sequence[str]) -> dict[str, str]:
    """Ids of experiments -> model; `models` has that of each row."""
    of: dict[str, set[str]] = {}
    for row, model in zip(rows, models, strict=True):
        of.setdefault(row.experiment, set()).add(model)
    # of a sweep every setting is a model
    return {key: min(those) for key, those in of.items() if len(those) == 1}


def _named(
    layout: Layout,
    rows: Sequence[MemberRow],
    models: Sequence[str],
    ids: Mapping[str, str],
    source: str,
) -> list[str]:
    """The names of the models that are asked for, each once, where some are ids of experiments."""
    if not layout.models:
        return []
    repeated = _repeated(layout, rows, models)
    found: dict[str, None] = {}
    for asked in layout.models:
        model = experiments.model_of(ids, models, asked)
        if model is None:
            known = {key: name for key, name in ids.items() if name not in repeated}
            shown = experiments.with_ids(known) or imported.listed([*dict.fromkeys(models)])
            raise DataError(f"no model {asked!r}; has {shown}", source)
        if model in repeated:
            raise DataError(f"{asked!r} has {experiments.READ_WITH['noise']}", source)
        found[model] = None
    return list(found)


def _repeated(layout: Layout, rows: Sequence[MemberRow], models: Sequence[str]) -> set[str]:
    """Models of runs that nothing in the table tells apart: each seed was trained repeatedly."""
    if "repeat" in layout.columns.values():
        return set()
    groups = experiments.by_experiment(rows)
    noisy = {group[0].experiment for group in groups if experiments.kind(group) == "noise"}
    return {model for row, model in zip(rows, models, strict=True) if row.experiment in noisy}


def members(location: str, layout: Layout) -> Sequence[MemberRow]:
    """Those that the rows of `scores` are numbered by, from 1."""
    return _chosen(_load(location), database.shown(location), layout)


def _chosen(rows: Sequence[MemberRow], source: str, layout: Layout) -> Sequence[MemberRow]:
    return rows if layout.models else _comparable(rows, source, layout.metric)


def _comparable(rows: Sequence[MemberRow], source: str, metric: str | None) -> Sequence[MemberRow]:
    """The members of experiments that are compared where no model is named."""
    groups = experiments.by_experiment(rows)
    of_seeds = {group[0].experiment for group in groups if experiments.kind(group) == "seeds"}
    chosen = [row for row in rows if row.experiment in of_seeds]
    if not chosen:
        raise RunError(
            f"{source}: no experiment whose runs differ in seed or split only; found "
            f"{experiments.listed(rows)}"
        )
    if metric is None and len({row.metric for row in chosen}) > 1:
        raise RunError(
            f"{source}: experiments of several metrics: {experiments.listed(chosen)}; choose with "
            f"{argument('metric', 'NAME')}, or name the models"
        )
    return chosen


def _left_out(rows: Sequence[MemberRow]) -> Iterator[str]:
    if rows:
        yield f"not compared, as their runs differ in more than seeds: {experiments.listed(rows)}"


def _differing(by_model: Mapping[str, Sequence[MemberRow]]) -> Iterator[str]:
    """Models that are one by name only: tuned for each data set, or changed in between."""
    for model, rows in by_model.items():
        if len({row.config_hash for row in rows}) > 1:
            yield f"{model}: its config is not the same on all data sets"


def _never_learned(by_model: Mapping[str, Sequence[MemberRow]]) -> Iterator[str]:
    for model, rows in by_model.items():
        count = sum(row.never_learned for row in rows)
        if count:
            yield (
                f"{model}: {count} of {len(rows)} never learned: dev {rows[0].metric} stayed 0, "
                "and their test score is that of the last epoch"
            )


def _what_differs(by_model: Mapping[str, Sequence[MemberRow]]) -> Iterator[str]:
    """Of two models, each of one config, the keys of the configs."""
    one_each = all(len({row.config_hash for row in rows}) == 1 for rows in by_model.values())
    if len(by_model) == 2 and one_each:
        keys = experiments.difference(*(rows[0] for rows in by_model.values()))
        if keys is not None:
            yield f"{' and '.join(by_model)} differ in {keys}"
