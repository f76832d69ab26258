"""What this process may use of the machine: cores and memory, as containers limit them.

A limit is read where Linux keeps it: in the process' control group and in those above it, of
version 2 (`cpu.max`, `memory.max`) or 1 (`cpu.cfs_quota_us`, `memory.limit_in_bytes`). A container
may see its own group as the root.
"""

import os
from collections.abc import Iterator
from pathlib import Path

_GROUPS, _MOUNTED = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def cores() -> int:
    """Cores that the process may keep busy, at least one."""
    known = hasattr(os, "sched_getaffinity")
    count = len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1
    shares = [quota / period for quota, period in _shares() if quota > 0 and period > 0]
    return max(1, int(min([count, *shares])))


def memory() -> float:
    """Bytes of memory that the process may have."""
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    files = [("", "memory.max"), ("memory", "memory.limit_in_bytes")]
    limits = [_number(_text(g / name)) for of, name in files for g in _groups(of)]
    return float(min([there, *(limit for limit in limits if limit > 0)]))


def _shares() -> Iterator[tuple[int, int]]:
    """Microseconds of a core's time that a group has, and in how many; 0: no limit."""
    for group in _groups(""):
        quota, _, period = _text(group / "cpu.max").partition(" ")
        yield _number(quota), _number(period)
    for group in _groups("cpu"):
        quota, period = (_text(group / f"cpu.cfs_{of}_us") for of in ("quota", "period"))
        yield _number(quota), _number(period)


def _groups(controller: str) -> Iterator[Path]:
    """Folders of the process' group and of those above it.

    Args:
      controller: of version 1; "": version 2.
    """
    root = _MOUNTED / controller
    for line in _text(_GROUPS).splitlines():
        _, controllers, path = (line.split(":", 2) + ["?"] * 2)[:3]
        if controller in controllers.split(","):
            group = root / path.lstrip("/")
            yield from (each for each in [group, *group.parents] if each.is_relative_to(root))


def _text(file: Path) -> str:
    """What a file holds; nothing where it cannot be read: no limit ends a verb."""
    try:
        return file.read_text(errors="replace").strip()
    except OSError:
        return ""


def _number(text: str) -> int:
    """A limit as the kernel writes one; 0 for none (`max`, -1), and for what it never writes."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else 0
