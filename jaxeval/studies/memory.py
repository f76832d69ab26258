"""Populations that this machine cannot hold are refused before anything is allocated."""

from collections.abc import Sequence

import jax

from jaxeval import machine
from jaxeval.contracts import Member, Tree
from jaxeval.errors import ConfigError
from jaxeval.population import member
from jaxeval.population.member import Problem
from jaxeval.population.settings import Training


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
    of the optimiser and the corpus come beside.

    Args:
      lanes: as `running.run_cohorts` has them.
    """
    count, available = parameters(problem, members[0]), _bytes()
    width = _lanes(problem.training, lanes or len(members))
    needed = _needed(count, width)
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
    return _needed(parameters, _lanes(training, members)) <= _bytes()


def _needed(parameters: int, width: int) -> int:
    """Bytes, at least."""
    return 4 * parameters * (2 * width + 1)


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


def _lanes(training: Training, members: int) -> int:
    """Lanes in the memory of a device; the devices of a CPU share the machine's."""
    width, devices = training.width(members), jax.devices()
    return width if devices[0].platform == "cpu" else -(-width // len(devices))


def _bytes() -> float:
    """Memory of a device; on a CPU all that the process may have."""
    device = jax.devices()[0]
    if device.platform == "cpu":
        return machine.memory()
    stats = device.memory_stats() or {}
    return float(stats.get("bytes_limit", float("inf")))
