"""Set-up of all tests: four host devices on the CPU, quick compilation, strict broadcasting."""

import gc
import os
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
compiling.prepare()

from jaxeval import backend  # noqa: E402  (the environment must be set before)

backend.prepare()

import jax  # noqa: E402

jax.config.update("jax_numpy_rank_promotion", "raise")

_TESTS = Path(__file__).parent
# rooms that train nothing
_QUICK = {
    "bandits",
    "config",
    "data",
    "runs",
    "sensitivity",
    "space",
    "stats",
    "tuning",
    "vectors",
}


@pytest.fixture(autouse=True, scope="module")
def fresh_caches() -> Iterator[None]:
    """A file's programs are forgotten: a worker would hold gigabytes of them."""
    yield
    jax.clear_caches()
    gc.collect()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the rooms that train nothing, and puts them last.

    A file that trains, begun at the end, would keep one worker busy while the others wait.
    """
    for item in items:
        room = item.path.relative_to(_TESTS).parts[0]
        if room in _QUICK and not item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.quick)
    items.sort(key=lambda item: item.path.relative_to(_TESTS).parts[0] in _QUICK)
