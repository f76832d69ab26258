"""Figures that cost nothing."""

import pytest

from jaxeval.report import plots


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are made, but not rendered: for tests of what is said beside them."""
    monkeypatch.setattr(plots, "to_svg", lambda figure, salt: "<svg></svg>")
