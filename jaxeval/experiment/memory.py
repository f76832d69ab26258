"""Models that this machine cannot hold are refused before anything is allocated."""

import os

import jax

from jaxeval.errors import ConfigError
from jaxeval.experiment import base

_COPIES = 3  # at least: parameters, gradients, best parameters; moments of the optimiser beside


def refuse_too_large(prepared: base.Prepared) -> None:
    """Raises ConfigError if not even one member fits into the memory of a device."""
    count = base.parameters(prepared)
    needed, there = 4 * _COPIES * count, _bytes()
    if needed > there:
        raise ConfigError(
            f"model: {count:,} parameters take at least {needed / 2**30:,.0f} GB a member "
            f"(parameters, gradients, best parameters), and there are {there / 2**30:,.1f} GB; "
            "expected smaller sizes"
        )


def _bytes() -> float:
    """Memory of a device; all of the machine's on a CPU."""
    device = jax.devices()[0]
    if device.platform == "cpu":
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    stats = device.memory_stats() or {}
    return float(stats.get("bytes_limit", float("inf")))
