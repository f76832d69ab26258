"""The file of a sweep: all draws and cohorts, written before the first run trains."""

import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxeval import files
from jaxeval.errors import RunError, argument, parsing
from jaxeval.runs import Experiment
from jaxeval.state_file import RECORDED
from jaxeval.studies import costs, timing
from jaxeval.studies.trial import Trial


def path_of(folder: Path, record: Experiment) -> Path:
    """Where a sweep's draws and cohorts stand."""
    return folder / "sweeps" / f"{record.id}.json"


def planned(
    path: Path,
    runs: Sequence[Trial],
    jobs: Sequence[costs.Job],
    sizes: Sequence[int],
    machine: costs.Machine,
    most: int | None,
) -> list[costs.Estimate]:
    """The cohorts as they were planned before, and new ones for the runs that are new.

    Raises:
      RunError: the file is damaged, or holds other draws.
    """
    groups, rows, known = _load(path, runs)
    with _parsing(path):
        before = costs.as_grouped(jobs, sizes, machine, groups, rows)
    new = costs.plan(jobs[known:], sizes, machine, most)
    return before + [
        estimate._replace(jobs=tuple(number + known for number in estimate.jobs))
        for estimate in new
    ]


def _load(path: Path, runs: Sequence[Trial]) -> tuple[list[list[int]], list[int], int]:
    """Groups and micro-batches of a plan, and how many runs it holds; none before the first."""
    if not path.exists():
        return [], [], 0
    with _parsing(path):
        tree = json.loads(path.read_text(encoding="utf-8"))
        groups = [[int(n) - 1 for n in cohort["runs"]] for cohort in tree["cohorts"]]
        rows = [int(cohort["micro_batch"]) for cohort in tree["cohorts"]]
        values = [dict(run) for run in tree["runs"]]
        if sorted(number for group in groups for number in group) != list(range(len(values))):
            raise ValueError("a run that is in no cohort, or in two")
    if len(values) > len(runs):
        asked = argument("runs")
        raise RunError(f"{path}: holds {len(values)} runs; ask for as many ({asked}), or more")
    if values != [dict(run.values) for run in runs[: len(values)]]:
        raise RunError(
            f"{path}: holds other draws than this version makes; give the sweep another "
            + argument("out")
        )
    return groups, rows, len(values)


def _parsing(path: Path) -> contextlib.AbstractContextManager[None]:
    then = f"; delete it: {RECORDED}"
    return parsing("not the plan of this sweep", path, None, RunError, (MemoryError,), then)


def save(
    path: Path,
    record: Experiment,
    runs: Sequence[Trial],
    estimates: Sequence[costs.Estimate],
    sizes: Sequence[int],
) -> None:
    """Writes all draws and the cohorts, whole or not at all; runs are numbered from 1.

    Batches are said as asked for and as taken on average: the last one of each bucket of the
    corpus is of what is left. Seconds are those of the cost model, which later plans compare with
    what the runs took.
    """
    tree = {
        "sweep": record.id,
        "name": record.name,
        **json.loads(record.config)["sweep"],
        "runs": [dict(run.values) for run in runs],
        "batches": [_batch(run.config, sizes) for run in runs],
        "estimated_seconds_an_epoch": timing.by_run(estimates),
        "cohorts": [
            {"runs": [n + 1 for n in estimate.jobs], "micro_batch": estimate.micro_batch}
            for estimate in estimates
        ],
    }
    files.write_json(str(path), tree)


def _batch(config: Mapping[str, Any], sizes: Sequence[int]) -> dict[str, float]:
    nominal = config["training"]["batch_size"]
    updates = sum(-(-size // nominal) for size in sizes)
    return {"nominal": nominal, "effective": round(sum(sizes) / updates, 1)}
