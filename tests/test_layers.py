"""The river: which room may import which (the rules of CONTRIBUTING.md)."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "jaxeval"
SHARED = {"contracts", "errors", "cli", "backend", "config", ""}
ROOMS = ["data", "models", "tasks", "population", "runs", "report"]  # downstream only
VERBS = {"train", "experiment"}
WITHOUT_JAX = ["jaxeval.runs", "jaxeval.report.page", "jaxeval.config.reading", "jaxeval.cli"]


def _imports(file: Path) -> set[tuple[str, ...]]:
    """Modules of jaxeval that a file imports, as parts after "jaxeval"."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("jaxeval"):
            base = (node.module or "").split(".")[1:]
            found |= {(*base, alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {
                tuple(a.name.split(".")[1:]) for a in node.names if a.name.startswith("jaxeval")
            }
    return found


def _edges() -> list[tuple[str, str, str]]:
    """(file, its room, room imported), shared modules left out."""
    edges = []
    for file in PACKAGE.rglob("*.py"):
        parts = file.relative_to(PACKAGE).parts
        room = parts[0] if len(parts) > 1 else file.stem
        for target in _imports(file):
            other = target[0] if target else ""
            if other not in SHARED and other != room and not other.startswith("__"):
                edges.append((str(file.relative_to(PACKAGE)), room, other))
    return edges


def test_rooms_import_upstream_only() -> None:
    """Dies if a room imports one further down, or a noun imports a verb."""
    wrong = [
        edge
        for edge in _edges()
        if edge[1] in ROOMS and (edge[2] in VERBS or ROOMS.index(edge[2]) > ROOMS.index(edge[1]))
    ]
    assert wrong == []
    assert len([edge for edge in _edges() if edge[1] in ROOMS]) > 5


def test_population_knows_nothing_of_language() -> None:
    """Dies if the trainer imports data, models or tasks."""
    assert [e for e in _edges() if e[1] == "population"] == []


def test_shared_modules_import_no_room() -> None:
    """Dies if a module that all rooms use imports one of them."""
    assert [e for e in _edges() if e[1] in SHARED] == []


@pytest.mark.parametrize("module", WITHOUT_JAX)
def test_rooms_without_jax_load_fast(module: str) -> None:
    """Dies if jax (or a slow library) is imported where scores of any framework are read."""
    code = (
        f"import time, sys; begin = time.perf_counter(); import {module}; "
        "print(time.perf_counter() - begin, 'jax' in sys.modules)"
    )
    tries = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    seconds, loaded = zip(*(t.stdout.split() for t in tries), strict=True)
    assert set(loaded) == {"False"}
    assert min(map(float, seconds)) < 1.0
