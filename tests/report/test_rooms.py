"""The rooms of the report: what is shared imports none of them, and they hang in no circle."""

import ast
from pathlib import Path

from jaxeval import report

PACKAGE = Path(report.__file__).parent
ALLOWED: dict[str, set[str]] = {"": set(), **{r: set() for r in ("comparison", "sweep", "tuning")}}
ALLOWED |= {"runs": {"sweep"}, "judgement": {"comparison"}}


def _imported(file: Path) -> set[str]:
    """Rooms of the report that a file imports."""
    imported = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("jaxeval.report"):
            parts = (node.module or "").split(".")[2:]
            imported |= {parts[0]} if parts else {alias.name for alias in node.names}
    return imported & set(ALLOWED)


def test_rooms_hang_in_no_circle() -> None:
    """Dies if a shared module knows a room, or a room another than those above it."""
    for file in PACKAGE.rglob("*.py"):
        parts = file.relative_to(PACKAGE).parts
        stem = parts[0].removesuffix(".py")
        room = stem if stem in ALLOWED else ""
        if file.name != "__main__.py":  # a verb
            assert _imported(file) <= ALLOWED[room] | {room} - {""}, file
    assert _imported(PACKAGE / "runs" / "figures.py") == {"runs", "sweep"}  # the search does find
