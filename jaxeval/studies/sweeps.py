"""A random sweep: its runs drawn and read, then grouped into cohorts by what they cost.

All draws and cohorts stand in RUNS/sweeps/EXPERIMENT.json before the first run trains. What was
planned stays: other cohorts would differ in rounding. Runs are numbered from 1 there.
"""

import contextlib
import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import jax

from jaxeval import files, runs
from jaxeval.config import reading
from jaxeval.errors import RunError, argument, parsing
from jaxeval.files import RECORDED
from jaxeval.space.space import Space
from jaxeval.studies import cohorts, costs, padding, prepared, proposers
from jaxeval.studies.running import Session

# Multiplications and additions a second of one device in products of many rows: of a core as we
# measured it; of an accelerator, which we could not, a guess.
_RATES = {"cpu": 6e10}
_ACCELERATOR = 5e12
_COMPILE_SECONDS = 8.0  # of a cohort for each padded width, on one core


@dataclasses.dataclass(frozen=True)
class DrawnSweep:
    """Runs that have been drawn, all of them valid; nothing is trained or written."""

    folder: Path  # of runs
    base: prepared.Prepared  # the config that they were drawn around, with its data
    entries: Sequence[cohorts.Entry]
    session: Session

    @property
    def record(self) -> runs.Experiment:
        """Under which its runs are recorded."""
        return self.entries[0].record

    @property
    def path(self) -> Path:
        """Where its draws and cohorts stand."""
        return self.folder / "sweeps" / f"{self.record.id}.json"

    def estimates(self, most_programs: int | None = None) -> list[costs.Estimate]:
        """The cohorts: those of the sweep's file, and new ones for runs that are new.

        Raises RunError: the file is damaged, or holds other draws.
        """
        jobs, machine = padding.jobs(self.entries), machine_of(self.base)
        sizes, (groups, rows, known) = padding.bucket_sizes(self.base), self._planned()
        with self._parsing():
            before = costs.as_grouped(jobs, sizes, machine, groups, rows)
        new = costs.plan(jobs[known:], sizes, machine, most_programs)
        return before + [
            estimate._replace(jobs=tuple(number + known for number in estimate.jobs))
            for estimate in new
        ]

    def _planned(self) -> tuple[list[list[int]], list[int], int]:
        """Groups and micro-batches of the file, and how many runs it holds; none before it is."""
        path = self.path
        if not path.exists():
            return [], [], 0
        with self._parsing():
            tree = json.loads(path.read_text(encoding="utf-8"))
            groups = [[int(n) - 1 for n in cohort["runs"]] for cohort in tree["cohorts"]]
            rows = [int(cohort["micro_batch"]) for cohort in tree["cohorts"]]
            values = [dict(run) for run in tree["runs"]]
            if sorted(number for group in groups for number in group) != list(range(len(values))):
                raise ValueError("a run that is in no cohort, or in two")
        if len(values) > len(self.entries):
            asked = argument("trials")
            raise RunError(f"{path}: holds {len(values)} runs; ask for as many ({asked}), or more")
        if values != [dict(entry.trial.values) for entry in self.entries[: len(values)]]:
            raise RunError(
                f"{path}: holds other draws than this version makes; give the sweep another "
                + argument("out")
            )
        return groups, rows, len(values)

    def _parsing(self) -> contextlib.AbstractContextManager[None]:
        """Makes what is raised where the file cannot be read a RunError."""
        then = f"; delete it: {RECORDED}"
        return parsing(
            "not the plan of this sweep", self.path, None, RunError, (MemoryError,), then
        )

    def save(self, estimates: Sequence[costs.Estimate]) -> None:
        """Writes all draws and the cohorts, whole or not at all.

        Batches are said as asked for and as taken on average: the last one of each bucket of the
        corpus is of what is left.
        """
        sizes = padding.bucket_sizes(self.base)
        batches = []
        for entry in self.entries:
            nominal = entry.prepared.config.training.batch_size
            updates = sum(-(-size // nominal) for size in sizes)
            effective = round(sum(sizes) / updates, 1)
            batches.append({"nominal": nominal, "effective": effective})
        tree = {
            "sweep": self.record.id,
            "name": self.record.name,
            **json.loads(self.record.config)["sweep"],
            "runs": [dict(entry.trial.values) for entry in self.entries],
            "batches": batches,
            "cohorts": [
                {"runs": [n + 1 for n in estimate.jobs], "micro_batch": estimate.micro_batch}
                for estimate in estimates
            ],
        }
        files.write_json(str(self.path), tree)

    def cohorts(self, estimates: Sequence[costs.Estimate]) -> list[cohorts.Cohort]:
        """What is trained."""
        return padding.by_estimates(self.entries, estimates, self.session.loader)


def draw(
    source: reading.Source,
    changes: Sequence[str],
    data: str | Path | None,
    space: Space,
    where: str = "space",
    *,
    seed: int,
    count: int,
    folder: Path,
) -> DrawnSweep:
    """Draws the first runs of a sweep and reads its data; arguments as of `proposers.draws`.

    Raises ConfigError or DataError: a config is wrong, or the data cannot be used.
    """
    session = Session()
    base = prepared.read(source, changes, data)
    changes = [*changes, *prepared.data_changes(base.task, data)]
    trials = proposers.draws(source, changes, space, seed, count, where)
    entries = cohorts.entries(trials, session.loader)
    return DrawnSweep(folder, session.loader.prepare(base), entries, session)


def machine_of(base: prepared.Prepared) -> costs.Machine:
    """What time is made of here, for a corpus of so many padded widths."""
    return costs.Machine(
        len(jax.devices()),
        _RATES.get(jax.default_backend(), _ACCELERATOR),
        _COMPILE_SECONDS * len(base.source.corpus.buckets),
        base.config.training.lane_mode == "vmap",
    )
