"""Prepares JAX before it is imported; cores and memory, as containers limit them.

Imports no jax: a verb calls `prepare()` first and imports other subpackages after.
"""

import importlib
import importlib.metadata
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from jaxeval.errors import RunError

_GROUPS, _MOUNTED = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
SHARED_BY = "JAXEVAL_MEMORY_SHARED_BY"  # processes, as their launcher says
_DEADLOCKS = "deadlocks when orthogonal matrices are drawn for several members on few cores"
_REFUSED = {  # versions of jax
    "0.10.": _DEADLOCKS,
    "0.11.0": _DEADLOCKS,
    "0.11.1": "makes loops on the CPU take time quadratic in their length",
}
_OFF, _ON = ("false", "0", "no", "n", "f", "off"), ("true", "1", "yes", "y", "t", "on")
_SETTINGS = {  # of JAX: the values that are accepted, and why no other
    "jax_enable_x64": (_OFF, "parameters and losses are float32"),
    "jax_numpy_dtype_promotion": (("standard",), "integers and floats are multiplied"),
    "jax_threefry_partitionable": (_ON, "the same seed draws other numbers otherwise"),
    "jax_random_seed_offset": (("0",), "the same seed draws other numbers otherwise"),
}
_XLA_FLAGS = {
    "xla_cpu_multi_thread_eigen": "false",
    "xla_cpu_prefer_vector_width": "512",
    "xla_backend_extra_options": "xla_llvm_ir_gemm_tile_size=8:1:1*vectwidth",
}


def _check_version(version: str) -> None:
    """Raises RunError for the jax versions that cannot be used, saying why."""
    for refused, reason in _REFUSED.items():
        if version == refused or (refused.endswith(".") and version.startswith(refused)):
            raise RunError(
                f"jax {version} {reason}; install another: "
                "pip install 'jax>=0.9.2,!=0.10.*,!=0.11.0,!=0.11.1'"
            )


def _check_settings() -> None:
    """Raises RunError for settings of JAX that change scores, or that it cannot train with.

    They are read where JAX reads them: once it is imported, the environment counts no more.
    """
    jax = sys.modules.get("jax")
    for name, (accepted, reason) in _SETTINGS.items():
        known = getattr(jax.config, name, None) if jax else os.environ.get(name.upper())
        if known is not None and str(known).lower() not in accepted:
            where = f"{name.upper()}, or jax.config.{name}"
            raise RunError(f"{where}: expected {accepted[0]}, got {known}: {reason}")


def prepare() -> None:
    """Sets one host device a core, one thread a device, wide vectors, and a compilation cache.

    A matrix product split over threads would make the devices fight for cores, and could change
    its last bits. XLA's own kernels use half of AVX-512 by default: 5 % of a tagger's time. Its
    small products are unrolled to tiles of 11 x 9 by default; 8 x 1 are as fast, and compile in
    half the time.
    Settings of the user in the environment stay, or are refused (`_SETTINGS`).
    """
    _check_version(importlib.metadata.version("jax"))
    _check_settings()
    os.environ.setdefault("JAX_NUM_CPU_DEVICES", str(cores()))
    # threads of LAPACK, which draws orthogonal matrices, wait in a loop: 20 times the CPU seconds
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    flags = os.environ.get("XLA_FLAGS", "")
    missing = [f"--{name}={value}" for name, value in _XLA_FLAGS.items() if name not in flags]
    os.environ["XLA_FLAGS"] = " ".join([flags, *missing]).strip()
    # A program loaded from the cache makes XLA complain, in kilobytes, that the machine lacks the
    # "features" prefer-no-gather and prefer-no-scatter, which are hints to the compiler.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "jaxeval" / "xla"
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache))


def join() -> None:
    """Joins the processes that train one population, if JAX_COORDINATOR_ADDRESS is set.

    JAX finds those of Slurm and MPI; else they are JAX_NUM_PROCESSES, of which this one is
    JAX_PROCESS_ID, from 0. The first one writes for all. Raises RunError if they do not meet.
    """
    distributed = importlib.import_module("jax").distributed
    address = os.environ.get("JAX_COORDINATOR_ADDRESS")
    if address is None or distributed.is_initialized():
        return
    if not address.rpartition(":")[2].isdecimal():
        raise RunError(f"JAX_COORDINATOR_ADDRESS: expected HOST:PORT, got {address}")
    names = {"num_processes": "JAX_NUM_PROCESSES", "process_id": "JAX_PROCESS_ID"}
    try:
        known = {key: int(os.environ[name]) for key, name in names.items() if name in os.environ}
        distributed.initialize(**known)
    except (ValueError, TypeError, RuntimeError) as error:
        said = str(error).partition("\n")[0]
        raise RunError(f"JAX_COORDINATOR_ADDRESS: {said}") from None


def describe() -> str:
    """Returns the devices in use, such as "cpu x 2" or "NVIDIA H200 x 8"."""
    devices = importlib.import_module("jax").devices()
    return f"{devices[0].device_kind} x {len(devices)}"


def cores() -> int:
    """Returns the number of cores that the process may keep busy, at least one."""
    known = hasattr(os, "sched_getaffinity")
    count = len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1
    limits = _limits("cpu.max")  # microseconds of a core's time, and in how many
    shares = [quota / period for quota, period, *_ in limits if quota > 0 and period > 0]
    return max(1, int(min([count, *shares])))


def memory() -> float:
    """Returns the bytes of memory that the process may have; workers of `local:N` share them."""
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    known = min([there, *(limit for limit, *_ in _limits("memory.max") if limit > 0)])
    return known / int(os.environ.get(SHARED_BY, "1"))


def _limits(name: str) -> Iterator[list[int]]:
    """Yields the numbers of a limit, two or more, in each control group; 0: no limit.

    The groups (version 2) are that of the process and those above it; a container may see its own
    as the root. What cannot be read is no limit.
    """
    for line in _text(_GROUPS).splitlines():
        group = _MOUNTED / line.rpartition(":")[2].lstrip("/")
        for folder in [group, *group.parents]:
            if folder.is_relative_to(_MOUNTED):
                words = _text(folder / name).split()
                yield [*map(_number, words), 0, 0]


def _text(file: Path) -> str:
    try:
        return file.read_text(errors="replace").strip()
    except OSError:
        return ""


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else 0
