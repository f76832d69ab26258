"""Comparisons of the command line: a table of two models, and what `--json` writes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxeval.compare import __main__ as compare


def table(folder: Path, shift: float = 0.02, n: int = 12, sd: float = 0.01) -> Path:
    draw = np.random.default_rng(0)
    rows = ["model,seed,score"]
    for name, mean in (("A", 0.8 + shift), ("B", 0.8)):
        rows += [f"{name},{k},{draw.normal(mean, sd):.4f}" for k in range(n)]
    path = folder / "scores.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def json_of(capsys: pytest.CaptureFixture, *words: object) -> dict[str, Any]:
    assert compare.main([*map(str, words), "--json", "-"]) == 0
    tree: dict[str, Any] = json.loads(capsys.readouterr().out)
    return tree
