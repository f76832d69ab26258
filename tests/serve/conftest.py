"""Boards of drawn scores."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from jaxeval.report import render
from jaxeval.serve import app, board, confined
from jaxeval.serve.board import Board
from tests.serve import drawn_board
from tests.serve.test_serve import HOSTILE


def _draw(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(board, "_LOOK", 0.01)
    patched.setattr(app, "_BURST", 1e9)
    patched.setattr(confined, "call", drawn_board.call)


@pytest.fixture
def no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores are drawn."""
    _draw(monkeypatch)


@pytest.fixture
def opened(tmp_path: Path, no_processes: None) -> Iterator[Board]:
    """A board with nothing but its baseline."""
    found = drawn_board.opened(tmp_path / "board")
    yield found
    found.close()


@pytest.fixture(scope="module")
def ranked(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[TestClient, dict[str, Any]]]:
    """A board on which four files were judged, and what uploads were answered with; its figures
    are not drawn."""
    with pytest.MonkeyPatch.context() as patched:
        _draw(patched)
        patched.setattr(render, "to_svg", lambda figure: "<svg></svg>")
        of = drawn_board.opened(tmp_path_factory.mktemp("ranked") / "board")
        with drawn_board.client(of) as site:
            names = ("poor", "good", "alike")
            made = {n: drawn_board.upload(site, n, about=HOSTILE).json() for n in names}
            drawn_board.wait(site, {*drawn_board.QUALITY})
            yield site, made
        of.close()
