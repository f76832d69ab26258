"""The memory that a population takes, and the plan of a cohort."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import jax

from jaxeval import backend
from jaxeval.config import reading
from jaxeval.contracts import Member
from jaxeval.errors import ConfigError
from jaxeval.files import Json
from jaxeval.population import lanes as spreading
from jaxeval.population import member
from jaxeval.population.member import Problem
from jaxeval.population.settings import Training

if TYPE_CHECKING:
    from jaxeval.studies.cohorts import Cohort


class TooLarge(ConfigError):
    """A population does not fit into memory."""


def parameters(problem: Problem, who: Member) -> int:
    """Returns the number of a member's trained parameters."""
    return sum(leaf.size for leaf in jax.tree.leaves(member.parameter_shapes(problem, who)))


def refuse_too_large(
    problem: Problem, members: Sequence[Member], lanes: int | None = None
) -> None:
    """Raises TooLarge if the lanes of a population do not fit into memory.

    Counts parameters and best parameters of each lane, and the gradients of one; moments of the
    optimiser and the corpus come on top. `lanes`: as of `running.run`.
    """
    count, available = parameters(problem, members[0]), _bytes()
    width, needed = _needed(count, problem.training, lanes or len(members))
    if needed > available:
        where = "a member" if width == 1 else f"in {width} lanes"
        advice = "smaller sizes" if width == 1 else "fewer lanes (training.lanes) or smaller sizes"
        raise TooLarge(
            f"model: {count:,} parameters take at least {needed / 2**30:,.1f} GB {where} "
            f"(parameters, gradients, best parameters), and there are {available / 2**30:,.1f} "
            f"GB; expected {advice}"
        )


def fits(parameters: int, training: Training, members: int) -> bool:
    """True if a population of `members`, each of so many parameters, is not refused."""
    return _needed(parameters, training, members)[1] <= _bytes()


def _needed(parameters: int, training: Training, members: int) -> tuple[int, int]:
    """Lanes per memory, and least bytes; the devices of a CPU share its memory."""
    width, devices = training.width(members), jax.devices()
    width = width if devices[0].platform == "cpu" else -(-width // len(devices))
    return width, 4 * parameters * (2 * width + 1)


def tables_at_once(each: int) -> int:
    """Returns how many word tables of `each` bytes fit into a quarter of the memory.

    Every device has a copy; the devices of a CPU share its memory.
    """
    devices = jax.devices()
    copies = len(devices) if devices[0].platform == "cpu" else 1
    return max(1, int(_bytes() / 4 // max(each * copies, 1)))


def exhausted(error: Exception) -> bool:
    """True if an error says that a device or the machine has too little memory."""
    return isinstance(error, MemoryError | TooLarge) or "RESOURCE_EXHAUSTED" in str(error)


def _bytes() -> float:
    """Memory of a device; on a CPU all that the process may have."""
    device = jax.local_devices()[0]
    if device.platform == "cpu":
        return backend.memory()
    return float((device.memory_stats() or {}).get("bytes_limit", float("inf")))


def describe(cohort: "Cohort") -> dict[str, Json]:
    """Returns the plan of a cohort of one config: data, sizes, batches, memory."""
    own = cohort.entries[0].prepared
    source, training = own.data, own.config.training
    rows = [len(rows) for rows in source.split(0).train]
    updates = int(member.steps(rows, training.batch_size).count)
    width = training.width(len(cohort.members))
    width = spreading.round_up(width, spreading.make_mesh())
    count = parameters(cohort.problem, cohort.members[0])
    corpus = sum(leaf.nbytes for leaf in jax.tree.leaves(cohort.problem.corpus))
    population = 4 * 4 * count * width  # params, best params, at most two moments
    return {
        "experiment": own.record.id,
        "config": reading.to_dict(own.config),
        **source.facts,
        **source.findings.facts,
        **({"warnings": [*source.findings.warnings]} if source.findings.warnings else {}),
        "metric": own.task.metric.name,
        "parameters": count,
        "members": len(cohort.members),
        "lanes": f"{width} on {backend.describe()}",
        "batches": [  # a bucket's last batch is a rest
            {
                "nominal": training.batch_size,
                "at_once": min(training.at_once, training.batch_size),
                "micro_batches": -(-training.batch_size // training.at_once),
                "updates_an_epoch": updates,
                "effective": round(sum(rows) / updates, 1),
            }
        ],
        "memory_megabytes": {
            "corpus, on each device": round(corpus / 2**20, 1),
            "population": round(population / 2**20, 1),
        },
    }
