"""Scores of small commands, held to the last bit.

With other versions of jax, jaxlib or numpy, or on another processor, the last bits may differ:
there numbers are compared to 1e-4, and the test is then shown as skipped, with what differs.
"""

import math
from pathlib import Path

import pytest

from tests.golden import commands, record

VERSIONS, SCORES = record.read()


def names(task: str) -> list[str]:
    """The commands of a task."""
    return [name for name in commands.COMMANDS if name.startswith(f"{task}, ")]


def check(command: str, data: Path, out: Path) -> None:
    """Runs a command; asserts that its scores are those recorded."""
    recorded = [score for score in SCORES if score.command == command]
    scores = record.run(command, data, out)
    differing = record.differing(record.versions(), VERSIONS)
    if not differing:
        assert _lines(scores) == _lines(recorded)
        return
    assert len(scores) == len(recorded)
    for score, before in zip(scores, recorded, strict=True):
        assert score[:5] == before[:5]
        for name in ("dev", "test", "loss"):
            now, then = getattr(score, name), getattr(before, name)
            assert now == then or math.isclose(float(now), float(then), rel_tol=1e-4), name
    pytest.skip(f"equal to 1e-4, not compared bit for bit: {differing}")


def _lines(scores: list[record.Score]) -> list[str]:
    return ["  ".join(score[1:]) for score in scores]
