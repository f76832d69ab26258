"""What this process may use of the machine: cores and memory, as containers limit them.

A limit is read where Linux keeps it (control groups of version 2): in the process' group and in
those above it. A container may see its own group as the root.
"""

import os
from collections.abc import Iterator
from pathlib import Path

_GROUPS, _MOUNTED = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def cores() -> int:
    """Cores that the process may keep busy, at least one."""
    known = hasattr(os, "sched_getaffinity")
    count = len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1
    limits = _limits("cpu.max")  # microseconds of a core's time, and in how many
    shares = [quota / period for quota, period, *_ in limits if quota > 0 and period > 0]
    return max(1, int(min([count, *shares])))


def memory() -> float:
    """Bytes of memory that the process may have."""
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return float(min([there, *(limit for limit, *_ in _limits("memory.max") if limit > 0)]))


def _limits(name: str) -> Iterator[list[int]]:
    """What the file of a limit holds in each group, two numbers or more; 0: no limit ("max").

    What cannot be read is no limit: it ends no verb.
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
