"""Logs of made-up models, which guess right with a probability that the item moves."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tests.runs.logs import writing

ITEMS = 120


def answers(skill: Mapping[str, float], items: int = ITEMS, seed: int = 1) -> dict[str, list[int]]:
    """Right and wrong answers: an item is as hard for all models."""
    draw = np.random.default_rng(seed)
    hardness = draw.normal(size=items)
    return {
        name: (hardness + draw.normal(scale=0.7, size=items) < mean).astype(int).tolist()
        for name, mean in skill.items()
    }


def logs(folder: Path, skill: Mapping[str, float], task: str = "arc", **changes: Any) -> Path:
    """A folder of lm-evaluation-harness, which may be there already."""
    for name, of_model in answers(skill, seed=len(task)).items():
        writing.lm_eval(folder, name, {"none": of_model}, task=task, **changes)
    return folder


def runs(folder: Path, skill: Mapping[str, float], runs: int = 4, items: int = ITEMS) -> Path:
    """Predictions of several runs of a model."""
    for k, (name, mean) in enumerate(skill.items()):
        right = answers({f"{name}{r}": mean for r in range(runs)}, items)
        draw = np.random.default_rng(k)
        lines = [
            {"item": f"i{i}", "score": [right[f"{name}{r}"][i] for r in range(runs)]}
            for i in draw.permutation(items).tolist()
        ]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text)
    return folder
