"""Recorded scores of language models, held to the last bit (tests/golden/checking.py)."""

from pathlib import Path

import pytest

from tests.golden import checking


@pytest.mark.parametrize("command", checking.names("language"))
def test_scores_are_those_recorded(command: str, data: Path, tmp_path: Path) -> None:
    """Dies if a score, a loss, the best epoch or the way a member ended is another: if any step of
    reading, drawing, training or scoring gives another number than it gave."""
    checking.check(command, data, tmp_path)
