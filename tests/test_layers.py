"""Layers: which folder may import which (the rules of docs/architecture.md)."""

import ast
import functools
import subprocess
import sys
from pathlib import Path
from typing import TypeGuard

import pytest

PACKAGE = Path(__file__).parents[1] / "jaxeval"
SHARED = {"contracts", "errors", "files", "state_files", "backend", "config", "cli", "parameters"}
ROOMS = [  # downstream only
    # a task's config holds the trainer's settings
    *("data", "models", "population", "tasks", "runs", "space", "studies", "stats", "vectors"),
    *("bandits", "tuning", "sensitivity", "report"),
]
# what the verbs share
OF_VERBS = {"observe", "launchers", "results", "sources", "parsers"}
OF_ROOMS_VERBS = {("__main__.py",), ("options.py",)}
API = {"__init__"}  # of `import jaxeval`, which imports none of it before its first use
FOR_TESTS = {"testing"}  # of others
VERBS = {
    *("train", "ablation", "evaluate", "noise", "plan", "neighbourhood", "compare"),
    *("options", "select", "serve", "mirror", "settle", "tune", "judge", "configs"),
    *("__main__", "vectors.__main__", "observe", "results"),
}
_TRAINS = "vectors", "__main__.py"  # `vectors judge`
HEAVY = {"jax", "flax", "optax"}
LOADED_FAST = ["tuning", "sensitivity", "vectors.analogies", "compare"]
LOADED_FAST += ["select.__main__", "settle.__main__"]


@functools.cache
def _nodes(file: Path) -> list[ast.AST]:
    """All nodes of a file."""
    return [*ast.walk(ast.parse(file.read_text()))]


@functools.cache
def _imports(file: Path, types: bool = True) -> frozenset[tuple[str, ...]]:
    """Modules of jaxeval that a file imports, as parts after "jaxeval".

    Args:
      types: whether those for type checkers alone count.
    """
    unseen = set() if types else {n for top in _nodes(file) if _checking(top) for n in top.body}
    return frozenset(set().union(*map(_imported, {*_nodes(file)} - unseen)))


def _imported(node: ast.AST) -> set[tuple[str, ...]]:
    """Modules of jaxeval that a statement imports, as parts after "jaxeval"."""
    if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("jaxeval"):
        base = (node.module or "").split(".")[1:]
        return {(*base, alias.name) for alias in node.names if alias.name != "__version__"}
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    return {tuple(name.split(".")[1:]) for name in names if name.startswith("jaxeval")}


def _checking(node: ast.AST) -> TypeGuard[ast.If]:
    """Whether a node is `if TYPE_CHECKING:`."""
    is_name = isinstance(node, ast.If) and isinstance(node.test, ast.Name)
    return is_name and node.test.id == "TYPE_CHECKING"


@functools.cache
def _file(parts: tuple[str, ...]) -> Path | None:
    """The file of a module of jaxeval; for a name inside a module, that module's file."""
    for end in range(len(parts), -1, -1):
        stem = PACKAGE.joinpath(*parts[:end])
        for file in (stem.with_suffix(".py"), stem / "__init__.py"):
            if file.is_file():
                return file
    return None


def _run(parts: tuple[str, ...]) -> set[Path]:
    """The files that run when a module of jaxeval is imported: packages run before it."""
    return {file for end in range(len(parts) + 1) if (file := _file(parts[:end]))}


def _reached(start: Path) -> set[Path]:
    """All files of jaxeval that a file imports, at its top or in a function, and theirs."""
    # the package itself hands on what it names at its first use, by importlib
    seen, todo = {start, PACKAGE / "__init__.py"}, [start]
    while todo:
        imported = {
            file for parts in _imports(todo.pop(), types=False) for file in _run(parts)
        } - seen
        seen |= imported
        todo += imported
    return seen


@functools.cache
def _outside(file: Path) -> frozenset[str]:
    """Top-level names of all packages that a file imports."""
    names = set()
    for node in _nodes(file):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").split(".")[0])
    return frozenset(names)


def _unit(parts: tuple[str, ...]) -> str:
    """The folder, verb or shared module of a file.

    A folder's `__main__.py` is a verb, with the arguments that stand beside it.
    """
    name = Path(parts[0]).stem
    of_verb = parts[1:] in OF_ROOMS_VERBS
    return f"{name}.__main__" if name in ROOMS and of_verb else name


def _edges() -> list[tuple[str, str, str]]:
    """(file, its unit, another unit that it imports), shared modules left out."""
    edges = []
    for file in PACKAGE.rglob("*.py"):
        parts = file.relative_to(PACKAGE).parts
        for target in _imports(file):
            imported = _file(target)
            assert imported is not None, (file, target)
            other = _unit(imported.relative_to(PACKAGE).parts)
            if other not in {*SHARED, _unit(parts)}:
                edges.append((str(file.relative_to(PACKAGE)), _unit(parts), other))
    return edges


def test_every_file_is_of_a_room_a_verb_or_shared() -> None:
    """Dies if a file stands where no rule of this page holds it."""
    units = {_unit(file.relative_to(PACKAGE).parts) for file in PACKAGE.rglob("*.py")}
    assert units == SHARED | {*ROOMS} | VERBS | OF_VERBS | API | FOR_TESTS


def test_folders_import_upstream_only() -> None:
    """Dies if a folder imports one further down, a verb, or what only verbs share."""
    edges = [edge for edge in _edges() if edge[1] in ROOMS]
    wrong = [
        edge
        for edge in edges
        if edge[2] not in ROOMS or ROOMS.index(edge[2]) > ROOMS.index(edge[1])
    ]
    assert wrong == []
    assert len(edges) > 5


def test_verbs_share_what_imports_folders_alone() -> None:
    """Dies if what all verbs share imports one of them, or the API."""
    assert [e for e in _edges() if e[1] in OF_VERBS and e[2] not in {*ROOMS, *OF_VERBS}] == []


def test_nothing_rests_on_the_api() -> None:
    """Dies if a folder or a verb imports what is made of all of them."""
    edges = [edge for edge in _edges() if edge[2] == "__init__"]
    assert {file for file, *_ in edges} == {"__main__.py"}  # which calls them by name


def test_population_knows_nothing_of_language() -> None:
    """Dies if the trainer imports data, models or tasks, or any other folder."""
    assert [e for e in _edges() if e[1] == "population"] == []


def test_shared_modules_import_no_folder() -> None:
    """Dies if a module that all folders use imports one of them."""
    assert [e for e in _edges() if e[1] in SHARED] == []


_LIGHT = ["runs", "space", "stats", "vectors", "bandits", "tuning", "sensitivity", "report"]


@pytest.mark.parametrize("folder", [*_LIGHT, "compare", "config"])
def test_folders_without_jax(folder: str) -> None:
    """Dies if jax is imported, even in a function or through another module of jaxeval."""
    modules = [*(PACKAGE / folder).rglob("*.py"), *PACKAGE.glob(f"{folder}.py")]
    modules = [file for file in modules if (file.parent.name, file.name) != _TRAINS]
    files = set().union(*map(_reached, modules))
    assert len(files) > 2
    assert [str(f.relative_to(PACKAGE)) for f in files if _outside(f) & HEAVY] == []
    assert _outside(PACKAGE / "contracts.py") & HEAVY  # the search does find jax where it is


@pytest.mark.parametrize("name", ["backend.prepare", "launchers.prepare"])
def test_jax_is_prepared_before_it_is_imported(name: str) -> None:
    """Dies if a verb imports jax before the number of devices and the cache are set."""
    verbs = 0
    for file in (*PACKAGE.glob("*.py"), *PACKAGE.glob("*/__main__.py")):
        for verb in ast.parse(file.read_text()).body:
            nodes = [n for n in ast.walk(verb) if isinstance(n, ast.stmt)]
            calls = [n.lineno for n in nodes if f"{name}(" in ast.unparse(n).partition("\n")[0]]
            before = [n for n in nodes if calls and n.lineno < min(calls)]
            parts = set().union(*map(_imported, before))
            files = set().union(*map(_reached, set().union(*map(_run, parts))))
            assert [str(f) for f in files if _outside(f) & HEAVY] == [], (file, before)
            verbs += bool(calls)
    assert verbs > 2


def test_imports_are_absolute() -> None:
    """Dies if a relative import hides an edge from the tests of this file."""
    nodes = [node for file in PACKAGE.rglob("*.py") for node in _nodes(file)]
    imports = [n for n in nodes if isinstance(n, ast.ImportFrom)]
    assert imports and all(n.level == 0 for n in imports)


def test_folders_without_jax_load_fast() -> None:
    """Dies if jax (or a slow library) is imported where scores of any framework are read."""
    code = "import sys, time; begin = time.process_time()\n"
    for module in LOADED_FAST:
        code += f"import jaxeval.{module}; assert 'jax' not in sys.modules, {module!r}\n"
    code += "print(time.process_time() - begin)\nimport jaxeval.observe\n"
    code += "slow = {'scipy.stats', 'orbax.checkpoint'} & {*sys.modules}\n"
    code += "assert not slow, f'{slow}: half a second before a training'\n"
    words = [sys.executable, "-c", code]
    for _ in range(3):
        seconds = float(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)
        # 1 s alone; a core that the other worker shares counts up to twice as many
        if seconds < 2.0:
            return
    raise AssertionError(seconds)
