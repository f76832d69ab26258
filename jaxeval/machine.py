"""What this process may use of the machine: cores and memory, as containers limit them.

A limit is read where Linux keeps it: in the process' control group and in those above it, of
version 2 (`cpu.max`, `memory.max`) or 1 (`cpu.cfs_quota_us`, `memory.limit_in_bytes`). A container
may see its own group as the root.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

_GROUPS, _MOUNTED = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def cores() -> int:
    """Cores that the process may keep busy, at least one."""
    known = hasattr(os, "sched_getaffinity")
    count = len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1
    shares = [quota / period for quota, period in _pairs() if quota > 0 and period > 0]
    return max(1, int(min([count, *shares])))


def memory() -> float:
    """Bytes of memory that the process may have."""
    bytes_there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    files = [*_files("", "memory.max"), *_files("memory", "memory.limit_in_bytes")]
    return float(min([bytes_there, *(int(text) for text in files if text.isdigit())]))


def _pairs() -> Iterator[tuple[int, int]]:
    """Microseconds of a core's time that a group has, and in how many; -1: no limit."""
    for text in _files("", "cpu.max"):
        quota, period = text.split()
        yield int(quota) if quota.isdigit() else -1, int(period)
    quotas, periods = (_files("cpu", f"cpu.cfs_{of}_us") for of in ("quota", "period"))
    yield from zip(map(int, quotas), map(int, periods), strict=True)


def _files(controller: str, name: str) -> Iterator[str]:
    """What files of this name hold, in the process' group and those above it.

    Args:
      controller: of version 1; "": version 2.
    """
    with contextlib.suppress(OSError):
        for line in _GROUPS.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controller in controllers.split(","):
                group = _MOUNTED / controller / path.lstrip("/")
                above = [g for g in group.parents if g.is_relative_to(_MOUNTED / controller)]
                for file in (g / name for g in [group, *above]):
                    with contextlib.suppress(OSError):
                        yield file.read_text().strip()
