"""What a runs folder keeps of trials: ends, scores, models, outcomes of items.

RUNS/models/EXPERIMENT/seed1.npz         a member's best parameters: arrays, by name
RUNS/models/EXPERIMENT/seed1.json        config, seed, split, traced hyperparameters, dev score
RUNS/models/EXPERIMENT/vocabulary.json   the meaning of the numbers in the data's arrays
                                         (vocabulary-split3.json: for members of split 3)
RUNS/models/EXPERIMENT/tables.npz        arrays beside the parameters, such as untrained word
                                         vectors; absent if there are none
"""

import importlib.metadata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import jax
import numpy as np
import pydantic

from jaxeval import __version__, backend, files, runs
from jaxeval.config import reading
from jaxeval.contracts import Member, Tree
from jaxeval.population import host, member, slots
from jaxeval.studies.cohorts import Cohort, Entry

_RECORD_FIELDS = ("task", "name", "data", "data_hash", "metric", "higher_is_better")


class Storage(NamedTuple):
    """The place where results are kept, and which of them."""

    store: runs.Store
    folder: Path
    outputs: bool  # outcomes of items are kept

    def ended(self, cohort: Cohort) -> dict[Entry, runs.MemberResult]:
        """Returns the trials that need no training now, with their results."""
        lacking = self.lacking(cohort)
        return {e: result for e, result in self._recorded(cohort).items() if e not in lacking}

    def _recorded(self, cohort: Cohort) -> dict[Entry, runs.MemberResult]:
        recorded = {of.id: self.store.ended(of.id, cohort.pause) for of in cohort.records}
        return {
            entry: recorded[entry.record.id][entry.key[1:]]
            for entry in cohort.entries
            if entry.key[1:] in recorded[entry.record.id]
        }

    def lacking(self, cohort: Cohort) -> set[Entry]:
        """Returns the trials that ended without a model or outcomes that are now to be kept."""
        ended = self._recorded(cohort).items()
        best = {e for e, of in ended if slots.has_best(of.status, of.dev)}
        kept = {*best}
        if cohort.config.training.save_models:
            kept = {entry for entry in kept if _is_whole(self.folder, entry)}
        if self.outputs:
            known = {record.id: self.store.with_outcomes(record.id) for record in cohort.records}
            kept = {entry for entry in kept if entry.key[1:] in known[entry.record.id]}
        return best - kept


class Recorder:
    """Writes the reports of a cohort's population."""

    def __init__(self, store: runs.Store, cohort: Cohort, folder: Path):
        self.entries = dict(zip(cohort.members, cohort.entries, strict=True))  # joining ones too
        self._store, self._folder, self._config = store, folder, cohort.config
        self._mode = cohort.problem.mode
        self.ended: dict[Entry, runs.MemberResult] = {}  # with the last report
        self._versions: dict[str, Any] = {
            "jax": jax.__version__,
            "flax": importlib.metadata.version("flax"),
            "jaxeval": __version__,
            "device": backend.describe(),
        }

    def record(self, report: host.Report) -> None:
        """Saves models that are to be saved, then records a report in one transaction."""
        dev = {slot.member: slot.reported for slot in report.ended}
        best = {} if jax.process_index() else report.best  # one process writes for all
        for who, params in best.items():
            _save(self._folder, self.entries[who], self._config, who, params, dev[who])
        # under map a score does not depend on the number of lanes
        width = "" if self._mode == "map" else f":{len(report.slots)}"
        self.ended = {
            self.entries[slot.member]: runs.MemberResult(
                **self._key(slot.member),
                status=slot.status,
                epochs=slot.epoch,
                best_epoch=slot.reported_epoch,
                dev=slot.reported,
                test=slot.test,
                message=slot.message,
                wall_seconds=slot.seconds,
                lanes=self._mode + width,
                **self._versions,
            )
            for slot in report.ended
            if slot.member and slot.status
        }
        scores = [
            runs.EpochScore(
                **self._key(scores.member),
                epoch=scores.epoch,
                part=scores.part,
                metric=metric,
                value=value if abs(value) < float("inf") else None,
            )
            for scores in report.scores
            for metric, value in scores.scores.items()
        ]
        # before a member has ended: it would never be trained again
        self._store.record_outcomes([*self._outcomes(report)])
        self._store.record([*self.ended.values()], scores)

    def _key(self, who: Member) -> dict[str, Any]:
        names = ("experiment", "seed", "split", "repeat", "hparams")
        return dict(zip(names, self.entries[who].key, strict=True))

    def _outcomes(self, report: host.Report) -> Iterator[runs.Outcomes]:
        """The counts of members that ended, items in the order of the data."""
        for who, parts in report.rows.items():
            source = self.entries[who].prepared.data
            split = source.split(who.split)
            for part, (names, counts) in parts.items():
                buckets = zip(source.positions, getattr(split, part), strict=True)
                # -1 stands for no row, which has no counts
                positions = np.concatenate([at[rows[rows >= 0]] for at, rows in buckets])
                order = np.argsort(positions, kind="stable")
                items = counts[order[positions[order] >= 0]]
                yield runs.Outcomes(**self._key(who), part=part, names=names, counts=items)


@reading.settings
class Description:
    """The JSON file that describes a saved model."""

    task: str
    name: str
    config: dict[str, Any]  # of the program that trained it, with the padded sizes
    experiment: str
    data: str
    data_hash: str
    seed: int
    split: int
    hparams: dict[str, float]  # the member's own
    vocabulary: Annotated[str, pydantic.Field(pattern=r"^vocabulary[a-z0-9-]*\.json$")]
    metric: str
    higher_is_better: bool
    dev: float | None  # of these parameters; None: unknown
    jaxeval: str


def path_of(folder: Path, entry: Entry) -> Path:
    """Returns the path of a trial's best parameters in a runs folder."""
    trial = entry.trial
    name = f"seed{trial.seed}" + (f"-split{trial.split}" if trial.split else "")
    name += f"-repeat{trial.repeat}" if trial.repeat else ""
    name += f"-{reading.digest(trial.hparams)}" if trial.values else ""
    return folder / "models" / entry.record.id / f"{name}.npz"


def _save(
    folder: Path, entry: Entry, config: Any, who: Member, params: Tree, dev: float | None
) -> None:
    """Writes a trial's description, its vocabulary once, and last of all its parameters."""
    path, _, vocabulary, *tables = _files(folder, entry)
    source, record = entry.prepared.data, entry.record
    if not vocabulary.is_file():
        files.write_json(str(vocabulary), source.vocabulary(who.split))
    for table in tables:
        if not table.is_file():
            member.save(table, dict(source.tables(entry.prepared.config)))
    from_record: dict[str, Any] = {name: getattr(record, name) for name in _RECORD_FIELDS}
    description = Description(
        **from_record,
        config=reading.to_dict(config),
        experiment=record.id,
        seed=who.seed,
        split=who.split,
        hparams=dict(who.hparams),
        vocabulary=vocabulary.name,
        dev=dev,
        jaxeval=__version__,
    )
    files.write_json(str(path.with_suffix(".json")), reading.to_dict(description))
    member.save(path, params)


def _is_whole(folder: Path, entry: Entry) -> bool:
    """True if a trial's model is there with all files that it needs."""
    return all(file.is_file() for file in _files(folder, entry))


def _files(folder: Path, entry: Entry) -> Sequence[Path]:
    """A trial's parameters, description, vocabulary and, if it has them, tables."""
    path = path_of(folder, entry)
    split = f"-split{entry.trial.split}" if entry.trial.split else ""
    vocabulary = path.with_name(f"vocabulary{split}.json")
    own = entry.prepared
    tables = [path.with_name("tables.npz")] if own.data.tables(own.config) else []
    return [path, path.with_suffix(".json"), vocabulary, *tables]
