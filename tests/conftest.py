"""Set-up of all tests: four host devices on the CPU, quick compilation, strict broadcasting."""

import gc
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import compiling

# a fresh environment has no bytecode; where writing it is switched off, each of the processes that
# tests start would compile all of jax's sources
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_NUM_CPU_DEVICES"] = "4"
os.environ["JAX_NUMPY_RANK_PROMOTION"] = "raise"
compiling.prepare()
# runs wait until the disk has what they write: a folder in memory waits for no disk
if Path("/dev/shm").is_dir() and shutil.disk_usage("/dev/shm").free > 1 << 31:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", "/dev/shm")

from jaxeval import backend  # noqa: E402  (the environment must be set before)

backend.prepare()

_TESTS = Path(__file__).parent
# folders that train nothing
_QUICK = {
    "bandits",
    "config",
    "data",
    "runs",
    "serve",
    "sensitivity",
    "space",
    "stats",
    "tuning",
    "vectors",
}


def _folder(path: Path) -> str:
    return path.relative_to(_TESTS).parts[0]


@pytest.fixture(autouse=True, scope="module")
def fresh_caches(request: pytest.FixtureRequest) -> Iterator[None]:
    """A file's tests share programs, which are then forgotten: a worker would hold gigabytes.

    Imported here: the process that only hands tests out to workers needs no jax.
    """
    if _folder(request.path) in _QUICK:
        yield
        return
    import jax

    from jaxeval.population import loop
    from tests import sharing

    with sharing.programs(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "_SECONDS", 0.0)  # epochs of tests are short
        yield
    jax.clear_caches()
    gc.collect()
    gc.freeze()  # what is left stays; the next file's collection need not look at it


@pytest.hookimpl(optionalhook=True)  # where pytest-xdist is switched off there is no such hook
def pytest_xdist_auto_num_workers() -> int:
    """A worker more than cores: some wait for processes that they started, or for the disk."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_finish() -> None:
    """Imported modules are garbage of no collection: tracing, which makes many objects, sets off
    one after the other."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the folders that train nothing, and puts them last.

    A file that trains, begun at the end, would keep one worker busy while the others wait.
    """
    for item in items:
        if _folder(item.path) in _QUICK and not item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.quick)
    items.sort(key=lambda item: _folder(item.path) in _QUICK)
