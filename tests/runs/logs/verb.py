"""`compare --log` as tests call it."""

import json
from typing import Any

import pytest

from jaxeval.compare import __main__ as compare


def as_json(capsys: pytest.CaptureFixture, *words: object, status: int = 0) -> dict[str, Any]:
    """Its JSON; dies if the exit code is another."""
    capsys.readouterr()
    assert compare.main([*map(str, words), "--resamples", "199", "--json", "-"]) == status
    tree: dict[str, Any] = json.loads(capsys.readouterr().out)
    return tree


def shown(capsys: pytest.CaptureFixture, *words: object, status: int = 0) -> str:
    """What it prints, on one line; dies if the exit code is another."""
    capsys.readouterr()
    assert compare.main([*map(str, words), "--resamples", "199"]) == status
    return " ".join(capsys.readouterr().out.split())
