"""What a runs folder keeps of trials: who has ended, their scores, models and outcomes."""

import importlib.metadata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxeval import backend, runs
from jaxeval.contracts import Member
from jaxeval.errors import RunError, argument
from jaxeval.population import host, slots
from jaxeval.studies import prepared, saved
from jaxeval.studies.cohorts import Cohort, Entry
from jaxeval.version import VERSION


class Keeps(NamedTuple):
    """What is to be kept of trials, and where.

    Attributes:
      again: those that have ended without are trained again; otherwise there must be none.
      outputs: outcomes of items are kept.
    """

    store: runs.Store
    folder: Path
    again: bool
    outputs: bool

    def ended(self, cohort: Cohort) -> dict[Entry, runs.MemberResult]:
        """The trials that are not to be trained, with what is recorded of them.

        Raises:
          RunError: some have ended without what is asked for, and are not to be trained again.
        """
        recorded = {record.id: self.store.ended(record.id) for record in cohort.records}
        ended = {
            entry: recorded[entry.record.id][entry.key[1:]]
            for entry in cohort.entries
            if entry.key[1:] in recorded[entry.record.id]
        }
        with_best = [
            entry
            for entry, result in ended.items()
            if slots.has_best(result.status, result.best_epoch, result.dev)
        ]
        unsaved, unkept = [], []
        if cohort.config.training.save_models:
            unsaved = [entry for entry in with_best if not saved.is_whole(self.folder, entry)]
        if self.outputs:
            known = {record.id: self.store.with_outcomes(record.id) for record in cohort.records}
            unkept = [entry for entry in with_best if entry.key[1:] not in known[entry.record.id]]
        if unsaved and not self.again:
            what = f"training.save_models: {len(unsaved)} members"
            raise RunError(_lacking(what, f"a saved model in {self.folder}", unsaved))
        if unkept and not self.again:
            what = f"{argument('outputs', True)}: {len(unkept)} members"
            raise RunError(_lacking(what, "outcomes of their items", unkept))
        return {entry: end for entry, end in ended.items() if entry not in {*unsaved, *unkept}}


def _lacking(head: str, what: str, each: Sequence[Entry]) -> str:
    ids = " ".join(dict.fromkeys(entry.record.id for entry in each))
    which = prepared.listed([(entry.trial.split, entry.trial.seed) for entry in each])
    return (
        f"{head} of experiment {ids} have ended without {what} ({which}); "
        f"{argument('again', True)} trains them again, and another {argument('out')} leaves these "
        "runs as they are"
    )


class Recorder:
    """Writes what a cohort's population reports.

    Attributes:
      entries: of its members; who joins is added.
    """

    def __init__(self, store: runs.Store, cohort: Cohort, folder: Path):
        self.entries = dict(zip(cohort.members, cohort.entries, strict=True))
        self._store, self._folder, self._config = store, folder, cohort.config
        self._mode = cohort.problem.mode
        self._versions: dict[str, Any] = {
            "jax": jax.__version__,
            "flax": importlib.metadata.version("flax"),
            "jaxeval": VERSION,
            "device": backend.describe(),
        }

    def __call__(self, report: host.Report) -> dict[Entry, runs.MemberResult]:
        """Saves models that are to be saved, then records a report in one transaction.

        Returns:
          How the trials ended that did.
        """
        dev = {end.member: end.dev for end in report.ended}
        for member, params in report.best.items():
            entry = self.entries[member]
            saved.save(self._folder, entry, self._config, member, params, dev[member])
        # under map a score does not depend on the number of lanes
        width = "" if self._mode == "map" else f":{len(report.slots)}"
        ended = {
            self.entries[end.member]: runs.MemberResult(
                **self._key(end.member),
                status=end.status,
                epochs=end.epochs,
                best_epoch=end.best_epoch,
                dev=end.dev,
                test=end.test,
                wall_seconds=end.seconds,
                message=end.message,
                lanes=self._mode + width,
                **self._versions,
            )
            for end in report.ended
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
        self._store.keep_outcomes([*self._outcomes(report)])
        self._store.record([*ended.values()], scores)
        return ended

    def _key(self, member: Member) -> dict[str, Any]:
        names = ("experiment", "seed", "split", "repeat", "hparams")
        return dict(zip(names, self.entries[member].key, strict=True))

    def _outcomes(self, report: host.Report) -> Iterator[runs.Outcomes]:
        """The counts of members that ended, items in the order of the data."""
        for member, parts in report.rows.items():
            source = self.entries[member].prepared.source
            split = source.split(member.split)
            for part, (names, counts) in parts.items():
                buckets = zip(source.positions, getattr(split, part), strict=True)
                # -1 stands for no row: it has no counts
                positions = np.concatenate([at[rows[rows >= 0]] for at, rows in buckets])
                order = np.argsort(positions, kind="stable")
                items = counts[order[positions[order] >= 0]]
                yield runs.Outcomes(**self._key(member), part=part, names=names, counts=items)
