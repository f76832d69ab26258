"""Writes what a population reports into the runs database, and the models that are to be kept."""

import importlib.metadata
from pathlib import Path
from typing import Any

import jax

from jaxeval import __version__, backend, runs
from jaxeval.contracts import Member
from jaxeval.experiment import base, saved
from jaxeval.population import lanes, loop, seats


class Recorder:
    """Writes what a population reports into the runs database."""

    def __init__(self, store: runs.Store, prepared: base.Prepared, folder: Path):
        self._store, self._prepared, self._folder = store, prepared, folder
        self._mode = lanes.resolve(prepared.config.training.lane_mode)
        self._versions: dict[str, Any] = {
            "jax": jax.__version__,
            "flax": importlib.metadata.version("flax"),
            "jaxeval": __version__,
            "device": backend.describe(),
        }

    def __call__(self, report: loop.Report) -> None:
        """Keeps models that are to be kept, then records a report in one transaction."""
        for who, params in report.best.items():
            saved.save(self._folder, self._prepared, who, params)
        # under map a score does not depend on the number of lanes
        width = "" if self._mode == "map" else f":{len(report.seats)}"
        ended = [self._result(end, self._mode + width) for end in report.ended]
        self._store.record(ended, [row for s in report.scores for row in self._scores(s)])

    def _key(self, who: Member) -> dict:
        seed, split, hparams = base.key_of(self._prepared, who)
        experiment = self._prepared.record.id
        return {"experiment": experiment, "seed": seed, "split": split, "hparams": hparams}

    def _result(self, end: seats.Ended, ran_in: str) -> runs.MemberResult:
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

    def _scores(self, found: seats.EpochScores) -> list[runs.EpochScore]:
        key = self._key(found.member)
        return [
            runs.EpochScore(
                **key,
                epoch=found.epoch,
                part=found.part,
                metric=metric,
                value=value if abs(value) < float("inf") else None,
            )
            for metric, value in found.scores.items()
        ]
