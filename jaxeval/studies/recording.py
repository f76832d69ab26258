"""Writes what a population reports into the runs database, and the models that are to be saved."""

import importlib.metadata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxeval import backend, runs
from jaxeval.contracts import Member
from jaxeval.population import host, lanes, slots
from jaxeval.studies import saved
from jaxeval.studies.cohorts import Cohort, Entry
from jaxeval.version import VERSION


class Recorder:
    """Writes what a cohort's population reports."""

    def __init__(self, store: runs.Store, cohort: Cohort, folder: Path):
        self._store, self._folder, self._config = store, folder, cohort.config
        self._entries = dict(zip(cohort.members, cohort.entries, strict=True))
        self._mode = lanes.resolve(cohort.problem.training.lane_mode)
        self._versions: dict[str, Any] = {
            "jax": jax.__version__,
            "flax": importlib.metadata.version("flax"),
            "jaxeval": VERSION,
            "device": backend.describe(),
        }

    def add(self, member: Member, entry: Entry) -> None:
        """One that has joined the cohort."""
        self._entries[member] = entry

    def __call__(self, report: host.Report) -> dict[Entry, runs.MemberResult]:
        """Saves models that are to be saved, then records a report in one transaction.

        Returns:
          How the trials ended that did.
        """
        dev = {end.member: end.dev for end in report.ended}
        for member, params in report.best.items():
            entry = self._entries[member]
            saved.save(self._folder, entry, self._config, member, params, dev[member])
        # under map a score does not depend on the number of lanes
        width = "" if self._mode == "map" else f":{len(report.slots)}"
        ended = {
            self._entries[end.member]: self._result(end, self._mode + width)
            for end in report.ended
        }
        # before a member has ended: it would never be trained again
        self._store.keep_outcomes([*self._outcomes(report)])
        self._store.record(
            [*ended.values()], [row for scores in report.scores for row in self._rows(scores)]
        )
        return ended

    def _outcomes(self, report: host.Report) -> Iterator[runs.Outcomes]:
        """The counts of members that ended, items in the order of the data."""
        for member, parts in report.rows.items():
            source = self._entries[member].prepared.source
            split = source.split(member.split)
            for part, (names, counts) in parts.items():
                of_buckets = zip(source.positions, getattr(split, part), strict=True)
                # -1 stands for no row: it has no counts
                positions = np.concatenate([at[rows[rows >= 0]] for at, rows in of_buckets])
                order = np.argsort(positions, kind="stable")
                items = counts[order[positions[order] >= 0]]
                yield runs.Outcomes(**self._key(member), part=part, names=names, counts=items)

    def _key(self, member: Member) -> dict[str, Any]:
        names = ("experiment", "seed", "split", "repeat", "hparams")
        return dict(zip(names, self._entries[member].key, strict=True))

    def _result(self, end: slots.MemberEnd, ran_in: str) -> runs.MemberResult:
        return runs.MemberResult(
            **self._key(end.member),
            status=end.status,
            epochs=end.epochs,
            best_epoch=end.best_epoch,
            dev=end.dev,
            test=end.test,
            wall_seconds=end.seconds,
            message=end.message,
            lanes=ran_in,
            **self._versions,
        )

    def _rows(self, scores: slots.EpochScores) -> list[runs.EpochScore]:
        key = self._key(scores.member)
        return [
            runs.EpochScore(
                **key,
                epoch=scores.epoch,
                part=scores.part,
                metric=metric,
                value=value if abs(value) < float("inf") else None,
            )
            for metric, value in scores.scores.items()
        ]
