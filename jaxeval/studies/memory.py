"""The memory that a population takes, and the plan of a cohort."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import jax

from jaxeval import backend
from jaxeval.config import reading
from jaxeval.contracts import Member
from jaxeval.errors import ConfigError
from jaxeval.files import Json
from jaxeval.population import Training, member
from jaxeval.population import lanes as spreading
from jaxeval.population.member import Problem

if TYPE_CHECKING:
    from jaxeval.studies.cohorts import Cohort


class TooLarge(ConfigError):
    """A single member does not fit into memory."""


def parameters(problem: Problem, who: Member) -> int:
    """Returns the number of a member's trained parameters."""
    return sum(leaf.size for leaf in jax.tree.leaves(member.parameter_shapes(problem, who)))


def refuse_too_large(problem: Problem, who: Member) -> None:
    """Raises TooLarge if a single member does not fit into memory.

    Counts its parameters, best parameters and gradients; moments of the optimiser and the corpus
    come on top.
    """
    count, available = parameters(problem, who), _bytes()
    needed = _needed(count, problem.training, 1)
    if needed > available:
        raise TooLarge(
            f"model: {count:,} parameters take at least {needed / 2**30:,.1f} GB a member "
            f"(parameters, gradients, best parameters), and there are {available / 2**30:,.1f} "
            "GB; expected smaller sizes"
        )


def lanes_for(problem: Problem, members: Sequence[Member], lanes: int | None) -> int:
    """Returns the lanes of a population, halved until they fit into memory.

    `lanes`: as of `running.run`.
    """
    width, count = problem.training.width(lanes or len(members)), parameters(problem, members[0])
    while width > jax.device_count() and not fits(count, problem.training, width):
        width //= 2
    return width


def fewer(lanes: int, error: Exception) -> int:
    """Returns half as many lanes, for another try after the memory was exhausted.

    Raises:
      TooLarge: there was one lane a device.
      Exception: the error, if it is another one, or met one process of a population's several.
    """
    exhausted = isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error)
    if not exhausted or jax.process_count() > 1:
        raise error
    if lanes <= jax.device_count():
        said = str(error).partition("\n")[0]
        raise TooLarge(f"out of memory with a member a device ({said}); expected smaller sizes")
    return lanes // 2


def fits(parameters: int, training: Training, members: int) -> bool:
    """True if a population of `members`, each of so many parameters, is not refused."""
    return _needed(parameters, training, members) <= _bytes()


def _needed(parameters: int, training: Training, members: int) -> int:
    """Least bytes of a memory; the devices of a CPU share it."""
    width, devices = training.width(members), jax.devices()
    width = width if devices[0].platform == "cpu" else -(-width // len(devices))
    return 4 * parameters * (2 * width + 1)


def tables_at_once(each: int) -> int:
    """Returns how many word tables of `each` bytes fit into a quarter of the memory.

    Every device has a copy; the devices of a CPU share its memory.
    """
    devices = jax.devices()
    copies = len(devices) if devices[0].platform == "cpu" else 1
    return max(1, int(_bytes() / 4 // max(each * copies, 1)))


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
    width = lanes_for(cohort.problem, cohort.members, None)
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
