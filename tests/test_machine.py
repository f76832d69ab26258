"""Cores and memory that containers leave a process, in files as Linux writes them."""

import os
from pathlib import Path

import pytest

from jaxeval import backend
from tests import tiny_corpora

CASES = {  # lines of /proc/self/cgroup, files below /sys/fs/cgroup -> cores of 8, memory of 1000
    "no container": ("0::/\n", {}, 8, 1000),
    "version 2, its own root": (
        "0::/\n",
        {"cpu.max": "250000 100000", "memory.max": "400"},
        2,
        400,
    ),
    "version 2, no limit": ("0::/\n", {"cpu.max": "max 100000", "memory.max": "max"}, 8, 1000),
    "less than a core": ("0::/\n", {"cpu.max": "50000 100000"}, 1, 1000),
    "the group above": (
        "0::/a/b\n",
        {"a/cpu.max": "300000 100000", "a/b/cpu.max": "max 100000", "a/b/memory.max": "5000"},
        3,
        1000,
    ),
    "no Linux": (None, {}, 8, 1000),
    "no numbers": ("0::/\n", {"cpu.max": "x y", "memory.max": "²"}, 8, 1000),
}


@pytest.mark.parametrize("name", CASES)
def test_the_least_limit_counts(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a container of two cores on a machine of sixty-four gets sixty-four devices, or a
    population is begun that its memory does not hold."""
    groups, files, cores, memory = CASES[name]
    if groups is not None:
        tiny_corpora.write(tmp_path / "groups", groups)
    for file, text in files.items():
        tiny_corpora.write(tmp_path / "mounted" / file, f"{text}\n")
    monkeypatch.setattr(backend, "_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(backend, "_MOUNTED", tmp_path / "mounted")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(8))
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 10, "SC_PHYS_PAGES": 100}.__getitem__)
    assert (backend.cores(), backend.memory()) == (cores, memory)
    monkeypatch.setenv(backend.SHARED_BY, "4")
    assert backend.memory() == memory / 4
    for name in ("JAX_NUM_CPU_DEVICES", "OPENBLAS_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    backend.prepare()
    assert os.environ["JAX_NUM_CPU_DEVICES"] == str(cores)
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
