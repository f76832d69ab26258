"""Comparisons and plans of the command line: what they print, and what `--json` writes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxeval import __main__ as command


def main(*words: object, verb: str = "compare") -> int:
    return command.main([verb, *map(str, words)])


def json_of(
    capsys: pytest.CaptureFixture, *words: object, status: int = 0, verb: str = "compare"
) -> dict[str, Any]:
    """Its JSON; dies if the exit code is another."""
    capsys.readouterr()
    assert main(*words, "--json", "-", verb=verb) == status
    tree: dict[str, Any] = json.loads(capsys.readouterr().out)
    return tree


def shown(
    capsys: pytest.CaptureFixture, *words: object, status: int = 0, verb: str = "compare"
) -> str:
    """What it prints, on one line; dies if the exit code is another."""
    capsys.readouterr()
    assert main(*words, verb=verb) == status
    return " ".join(capsys.readouterr().out.split())


def table(folder: Path, shift: float = 0.02, n: int = 12, sd: float = 0.01) -> Path:
    draw = np.random.default_rng(0)
    rows = ["model,seed,score"]
    for name, mean in (("A", 0.8 + shift), ("B", 0.8)):
        rows += [f"{name},{k},{draw.normal(mean, sd):.4f}" for k in range(n)]
    path = folder / "scores.csv"
    path.write_text("\n".join(rows) + "\n")
    return path
