"""Figures that cost nothing."""

import pytest

from jaxeval.report import render


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are made, but not rendered: for tests of what is said beside them."""
    monkeypatch.setattr(render, "to_svg", lambda figure: "<svg></svg>")
