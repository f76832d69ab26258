"""A random sweep: its runs drawn and read, then grouped into cohorts by what they cost."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import jax

from jaxeval import backend, runs
from jaxeval.config import reading
from jaxeval.space.space import Space
from jaxeval.studies import cohorts, costs, plan_file, prepared, proposers, timing
from jaxeval.studies.running import Session
from jaxeval.studies.trial import Trial

# Multiplications and additions a second of one device in products of many rows: of a core as we
# measured it; of an accelerator, which we could not, a guess.
_RATES = {"cpu": 6e10}
_ACCELERATOR = 5e12
_COMPILE_SECONDS = 8.0  # of a cohort for each padded width, on one core


@dataclasses.dataclass(frozen=True)
class DrawnSweep:
    """Runs that have been drawn, all of them valid; nothing is trained or written.

    Attributes:
      folder: the runs folder.
      base: the config that they were drawn around, with its data.
      entries: of `trials`, in their order.
    """

    folder: Path
    base: prepared.Prepared
    trials: Sequence[Trial]
    entries: Sequence[cohorts.Entry]
    session: Session

    @property
    def record(self) -> runs.Experiment:
        """Under which its runs are recorded."""
        return self.entries[0].record

    def estimates(self, most_cohorts: int | None = None) -> list[costs.Estimate]:
        """The cohorts: those of the sweep's file, and new ones for runs that are new.

        Raises:
          RunError: as `plan_file.planned`.
        """
        path, jobs = plan_file.path_of(self.folder, self.record), cohorts.jobs(self.entries)
        machine, sizes = machine_of(self.base), cohorts.bucket_sizes(self.base)
        return plan_file.planned(path, self.trials, jobs, sizes, machine, most_cohorts)

    def save(self, estimates: Sequence[costs.Estimate]) -> None:
        """Writes all draws and the cohorts into the sweep's file."""
        path, sizes = plan_file.path_of(self.folder, self.record), cohorts.bucket_sizes(self.base)
        plan_file.save(path, self.record, self.trials, estimates, sizes)

    def grouped(self, estimates: Sequence[costs.Estimate]) -> list[cohorts.Cohort]:
        """What is trained."""
        return cohorts.by_estimates(self.entries, estimates, self.session.loader)

    def measured(self, store_url: str | None = None) -> timing.Measured | None:
        """What runs of sweeps in the folder, or in a database, took on this machine."""
        known = timing.recorded(self.folder)
        if not known:
            return None
        return timing.measured(runs.load(store_url or self.folder), known, backend.describe())


def draw(
    source: reading.Source,
    changes: Sequence[str],
    data: str | None,
    of: Space,
    *,
    seed: int,
    count: int,
    folder: Path,
    where: str = "space",
) -> DrawnSweep:
    """Draws the first runs of a sweep and reads its data; arguments as of `proposers.draws`.

    Args:
      data: where the data is, instead of where the config says.

    Raises:
      ConfigError, DataError: a config is wrong, or the data cannot be used.
    """
    session = Session()
    base = prepared.read(source, changes, data)
    changes = [*changes, *prepared.data_changes(base.task, data)]
    trials = proposers.draws(source, changes, of, seed, count, where)
    entries = cohorts.entries(trials, session.loader)
    return DrawnSweep(folder, session.loader.prepare(base), trials, entries, session)


def machine_of(base: prepared.Prepared) -> costs.Machine:
    """What time is made of here, for a corpus of so many padded widths."""
    return costs.Machine(
        len(jax.devices()),
        _RATES.get(jax.default_backend(), _ACCELERATOR),
        _COMPILE_SECONDS * len(base.source.corpus.buckets),
        base.config.training.lane_mode == "vmap",
    )
