"""What a population takes: compiled programs, and memory, which may be more than there is."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import jax

from jaxeval import backend, machine
from jaxeval.config import reading
from jaxeval.contracts import Member, Tree
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


def parameter_shapes(problem: Problem, who: Member) -> Tree:
    """Shapes and types of a member's parameters."""
    return member.parameter_shapes(problem.program, problem.corpus, problem.split(0), who)


def parameters(problem: Problem, who: Member) -> int:
    """Number of trained parameters of a member."""
    return sum(leaf.size for leaf in jax.tree.leaves(parameter_shapes(problem, who)))


def refuse_too_large(
    problem: Problem, members: Sequence[Member], lanes: int | None = None
) -> None:
    """Raises TooLarge if the lanes of a population do not fit into memory.

    At least: parameters and best parameters of each lane, and the gradients of one lane; moments
    of the optimiser and the corpus come beside. `lanes`: as of `running.run_cohorts`.
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
    """Whether a population of so many members, each of so many parameters, is not refused."""
    return _needed(parameters, training, members)[1] <= _bytes()


def _needed(parameters: int, training: Training, members: int) -> tuple[int, int]:
    """Lanes in the memory of a device, and bytes, at least; a CPU's devices share its memory."""
    width, devices = training.width(members), jax.devices()
    width = width if devices[0].platform == "cpu" else -(-width // len(devices))
    return width, 4 * parameters * (2 * width + 1)


def tables_at_once(each: int) -> int:
    """How many word tables of so many bytes a program may hold, in a quarter of the memory.

    Every device has a copy; those of a CPU share the machine's memory.
    """
    devices = jax.devices()
    copies = len(devices) if devices[0].platform == "cpu" else 1
    return max(1, int(_bytes() / 4 // max(each * copies, 1)))


def exhausted(error: Exception) -> bool:
    """Whether an error says that a device or the machine has no memory left, or too little."""
    return isinstance(error, MemoryError | TooLarge) or "RESOURCE_EXHAUSTED" in str(error)


def _bytes() -> float:
    """Memory of a device; on a CPU all that the process may have."""
    device = jax.devices()[0]
    if device.platform == "cpu":
        return machine.memory()
    return float((device.memory_stats() or {}).get("bytes_limit", float("inf")))


def describe(cohort: "Cohort") -> dict[str, Json]:
    """What would be done for a cohort of one config: sizes, programs, memory, as plain data."""
    own = cohort.entries[0].prepared
    source, training = own.source, own.config.training
    width = training.width(len(cohort.members))
    width = spreading.round_up(width, spreading.make_mesh())
    count = parameters(cohort.problem, cohort.members[0])
    shapes, batches = len(source.corpus.buckets), _batches(cohort)
    corpus = sum(leaf.nbytes for leaf in jax.tree.leaves(cohort.problem.corpus))
    # params, best params and at most two moments of the optimiser
    population = 4 * 4 * count * width
    return {
        "experiment": own.record.id,
        "config": reading.to_dict(own.config),
        **source.facts,
        **source.findings.facts,
        **({"warnings": [*source.findings.warnings]} if source.findings.warnings else {}),
        "metric": own.task.metric.name,
        "parameters": count,
        "members": len(cohort.members),
        "cohorts": 1,
        "lanes": f"{width} on {backend.describe()}",
        "batches": batches,
        "compiled_programs": {
            "train epoch": f"{shapes} shapes, batch {max(batch['at_once'] for batch in batches)}",
            "evaluation": f"{shapes} shapes, batch {training.evaluation_batch_size}",
            "lane loading": 1,
            "keep best": 1,
        },
        "memory_megabytes": {
            "corpus, on each device": round(corpus / 2**20, 1),
            "population": round(population / 2**20, 1),
        },
    }


def _batches(cohort: "Cohort") -> list[dict[str, float]]:
    """For each batch size of the members: rows asked for, computed at once, and really taken.

    A bucket's last batch is of what is left, so that an update has fewer rows on average.
    """
    program, split = cohort.problem.program, cohort.entries[0].prepared.source.split(0)
    rows = [len(rows) for rows in split.train]
    own = (dict(member.hparams).get("batch_size") for member in cohort.members)
    batches: list[dict[str, float]] = []
    for size in sorted({int(of or program.batch_size) for of in own}):
        updates = int(member.steps(rows, size).count)
        batches.append(
            {
                "nominal": size,
                "at_once": min(program.at_once, size),
                "micro_batches": -(-size // program.at_once),
                "updates_an_epoch": updates,
                "effective": round(sum(rows) / updates, 1),
            }
        )
    return batches
