"""A random sweep: its runs are drawn and read, then grouped into cohorts by cost.

All draws and cohorts are written to RUNS/sweeps/EXPERIMENT.json before the first run trains. A
plan stays: other cohorts would differ in rounding. There runs are numbered from 1.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax

from jaxeval import files, runs
from jaxeval import space as spaces
from jaxeval.config import fields, reading
from jaxeval.errors import ConfigError, RunError, argument, parsing
from jaxeval.space import Space
from jaxeval.space.distributions import Value
from jaxeval.state_files import RECORDED
from jaxeval.studies import cohorts, costs, padding, prepared
from jaxeval.studies.prepared import Study, Trial, at
from jaxeval.studies.running import Session

# Multiplications and additions per second of one device in products of many rows: measured on a
# core; a guess for an accelerator.
_RATES = {"cpu": 6e10}
_ACCELERATOR = 5e12
_COMPILE_SECONDS = 8.0  # of a cohort for each padded width, on one core
_LEARNING_RATE = "training.optimiser.hyperparameters.learning_rate"


@dataclasses.dataclass(frozen=True)
class DrawnSweep:
    """Valid runs that have been drawn; nothing is trained or written."""

    folder: Path  # of runs
    base: prepared.Prepared  # the config around which they were drawn, with its data
    entries: Sequence[cohorts.Entry]
    session: Session

    @property
    def record(self) -> runs.Experiment:
        """The record of its runs."""
        return self.entries[0].record

    @property
    def _path(self) -> Path:
        return self.folder / "sweeps" / f"{self.record.id}.json"

    def estimates(self, most_programs: int | None = None) -> list[costs.Estimate]:
        """Returns the cohorts of the sweep's file, and new ones for new runs.

        Raises RunError if the file is damaged or holds other draws.
        """
        jobs = padding.jobs(self.entries)
        machine = machine_of(self.base)
        path = self._path
        passing = (RunError, MemoryError)
        then = f"; delete it: {RECORDED}"
        tree: dict[str, Any] = {"cohorts": [], "runs": []}
        with parsing("not the plan of this sweep", path, None, RunError, passing, then):
            if path.exists():
                tree = json.loads(path.read_text(encoding="utf-8"))
            groups = [[int(n) - 1 for n in cohort["runs"]] for cohort in tree["cohorts"]]
            rows = [int(cohort["micro_batch"]) for cohort in tree["cohorts"]]
            values = [dict(run) for run in tree["runs"]]
            if sorted(number for group in groups for number in group) != list(range(len(values))):
                raise ValueError("a run that is in no cohort, or in two")
            if len(values) > len(self.entries):
                most = f"holds {len(values)} runs; ask for as many ({argument('trials')}), or more"
                raise RunError(f"{path}: {most}")
            if values != [dict(entry.trial.values) for entry in self.entries[: len(values)]]:
                other = "holds other draws than this version makes; give the sweep another"
                raise RunError(f"{path}: {other} {argument('out')}")
            before = costs.as_grouped(jobs, machine, groups, rows)
        known = sum(len(estimate.jobs) for estimate in before)
        new = costs.plan(jobs[known:], machine, most_programs)
        return before + [
            estimate._replace(jobs=tuple(number + known for number in estimate.jobs))
            for estimate in new
        ]

    def save(self, estimates: Sequence[costs.Estimate]) -> None:
        """Writes all draws and the cohorts atomically."""
        tree = {
            "sweep": self.record.id,
            "name": self.record.name,
            **json.loads(self.record.config)["sweep"],
            "runs": [dict(entry.trial.values) for entry in self.entries],
            "cohorts": [
                {"runs": [n + 1 for n in estimate.jobs], "micro_batch": estimate.micro_batch}
                for estimate in estimates
            ],
        }
        files.write_json(str(self._path), tree)

    def cohorts(self, estimates: Sequence[costs.Estimate]) -> list[cohorts.Cohort]:
        """Returns the cohorts to train."""
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
    """Draws the first `count` runs of a sweep and reads its data; run k, from 1, has seed k.

    `seed` is that of the draws; messages begin with `where`. Raises ConfigError, with number and
    values, if a run is no valid config, or DataError.
    """
    base: Any = prepared.read(source, changes, data)
    changes = [*changes, *prepared.data_changes(base.task, data)]
    refuse_leaks(base, space, where)
    study = Study("sweep", reading.to_dict(base), {"space": spaces.to_dict(space), "seed": seed})
    trials: list[Trial] = []
    session = Session()
    for number in range(count):
        values = spaces.draw(space, seed, number)
        try:
            config = configured(source, changes, space, values)
        except ConfigError as error:
            shown = json.dumps(values, ensure_ascii=False)
            raise ConfigError(f"{where}: run {number + 1}, drawn as {shown}: {error}") from None
        trials.append(Trial(reading.to_dict(config), number + 1, values=values, study=study))
    entries = cohorts.entries(trials, session.loader)
    return DrawnSweep(folder, session.loader.prepare(base), entries, session)


def configured(
    source: reading.Source, changes: Sequence[str], space: Space, values: Mapping[str, Value]
) -> Any:
    """Returns a base config with changes, then values of a space. Raises ConfigError."""
    drawn = [
        f"{key}={json.dumps(value, ensure_ascii=False)}"
        for key, value in spaces.changes(space, values)
    ]
    return prepared.read(source, [*changes, *drawn], origin="")


def refuse_leaks(base: Any, space: Space, where: str) -> None:
    """Raises ConfigError if runs without a key of a space would have it from the config.

    Also refuses keys that change no score, keys of the data, and hyperparameters that neither set
    a key nor are part of a condition.
    """
    keys = [*fields.keys(base, fields.IMMATERIAL), "training.micro_batch"]
    silent = dict.fromkeys(keys, "changes no score here")
    if any(start <= 1 for start, _ in base.training.optimiser.steps):  # else it counts before
        silent[_LEARNING_RATE] = (
            "training.optimiser.steps of the config replaces from epoch 1 on; leave one of the "
            "two out"
        )
    neutral = {h.key: h.marker.neutral for h in fields.traced(base).values()}
    settings = reading.to_dict(base)
    defaults = reading.to_dict(type(base)())
    for parameter in space.parameters:
        key = parameter.key
        named = f"{where}: {parameter.name}"
        if key is None:
            if not any(name == parameter.name for p in space.parameters for name, _ in p.when):
                raise ConfigError(f"{named}: sets nothing; add key = ...")
            continue
        if key.startswith("data."):
            raise ConfigError(f"{named}: sets {key}; a sweep uses one corpus, read in one way")
        if key in silent:
            raise ConfigError(f"{named}: sets {key}, which {silent[key]}")
        value, default = at(settings, key), at(defaults, key)
        nothing = (None, default) if neutral.get(key) is None else (None, neutral[key])
        if parameter.when and value not in nothing:
            free = "" if nothing[1] is None else nothing[1]
            raise ConfigError(
                f"{named}: drawn in some runs only, but the config sets {key} to {value}, which "
                f"all others would have; set {key}={free}"
            )


def machine_of(base: prepared.Prepared) -> costs.Machine:
    """Returns the speed of this machine, with the corpus of a config."""
    return costs.Machine(
        len(jax.devices()),
        _RATES.get(jax.default_backend(), _ACCELERATOR),
        _COMPILE_SECONDS * len(base.data.corpus.buckets),
        [len(rows) for rows in base.data.split(0).train],
    )
