"""Prepares JAX before it is imported: version, settings, host devices, compilation cache.

Imports no jax itself; a verb calls `prepare()` first and imports its rooms after.
"""

import importlib.metadata
import os
import sys
from pathlib import Path

from jaxeval import machine
from jaxeval.errors import RunError

REFUSED = {
    "0.10.": "deadlocks when orthogonal matrices are drawn for several members on few cores",
    "0.11.0": "deadlocks when orthogonal matrices are drawn for several members on few cores",
    "0.11.1": "makes loops on the CPU take time quadratic in their length",
}
_OFF, _ON = ("false", "0", "no", "n", "f", "off"), ("true", "1", "yes", "y", "t", "on")
SETTINGS = {  # of JAX: the values that are accepted, and why no other
    "jax_enable_x64": (_OFF, "parameters and losses are float32"),
    "jax_numpy_dtype_promotion": (("standard",), "integers and floats are multiplied"),
    "jax_threefry_partitionable": (_ON, "the same seed draws other numbers otherwise"),
    "jax_random_seed_offset": (("0",), "the same seed draws other numbers otherwise"),
}
XLA_FLAGS = {"xla_cpu_multi_thread_eigen": "false", "xla_cpu_prefer_vector_width": "512"}


def check_version(version: str) -> None:
    """Raises RunError for the jax versions that cannot be used, saying why."""
    for refused, reason in REFUSED.items():
        if version == refused or (refused.endswith(".") and version.startswith(refused)):
            raise RunError(
                f"jax {version} {reason}; install another: "
                "pip install 'jax>=0.9.2,!=0.10.*,!=0.11.0,!=0.11.1'"
            )


def check_settings() -> None:
    """Raises RunError for settings of JAX that it cannot train with, or not to the same scores.

    They are read where JAX reads them: once it is imported, the environment counts no more.
    """
    jax = sys.modules.get("jax")
    for name, (accepted, reason) in SETTINGS.items():
        known = getattr(jax.config, name, None) if jax else os.environ.get(name.upper())
        if known is not None and str(known).lower() not in accepted:
            where = f"{name.upper()}, or jax.config.{name}"
            raise RunError(f"{where}: expected {accepted[0]}, got {known}: {reason}")


def prepare() -> None:
    """One host device a core, one thread a device, wide vectors, a compilation cache on disk.

    A matrix product split over threads would make the devices fight for cores, and could change
    its last bits. XLA's own kernels use half of AVX-512 unless told otherwise: 5 % of a tagger's
    time. Settings the user made in the environment are kept, or refused (`SETTINGS`).
    """
    check_version(importlib.metadata.version("jax"))
    check_settings()
    os.environ.setdefault("JAX_NUM_CPU_DEVICES", str(machine.cores()))
    flags = os.environ.get("XLA_FLAGS", "")
    missing = [f"--{name}={value}" for name, value in XLA_FLAGS.items() if name not in flags]
    os.environ["XLA_FLAGS"] = " ".join([flags, *missing]).strip()
    # A program loaded from the cache makes XLA complain, in kilobytes, that the machine lacks the
    # "features" prefer-no-gather and prefer-no-scatter, which are hints to the compiler.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "jaxeval" / "xla"
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache))


def describe() -> str:
    """The devices in use, such as "cpu x 2" or "NVIDIA H200 x 8"; imports jax."""
    import jax

    devices = jax.devices()
    return f"{devices[0].device_kind} x {len(devices)}"
