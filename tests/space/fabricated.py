"""Runs folders with sweeps that nobody trained."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from jaxeval import runs, space
from jaxeval.config import reading
from tests.runs import test_store

# of every kind of hyperparameter some, and few: a figure has a panel for each
_BOTH = {
    "batch_size": {"integer": [16, 256], "step": 16},
    "learning_rate": {"log_uniform": [1e-5, 1e-2]},
    "scheduler": {"choices": ["none", "plateau", "warmup"]},
    "warmup_samples": {"integer": [1000, 100_000], "when": {"scheduler": ["warmup"]}},
    "plateau_factor": {"uniform": [0.1, 0.9], "when": {"scheduler": ["plateau"]}},
    "dropout": {"uniform": [0.0, 0.5]},
    "hidden": {"integer": [64, 256], "step": 64},
}
SPACES = {
    "attentive_lstm": space.from_dict(_BOTH),
    "transformer": space.from_dict({**_BOTH, "heads": {"choices": [2, 4, 8]}}),
}


def score(values: dict[str, Any], noise: float) -> float:
    """Best at a learning rate of .001; the scheduler does nothing."""
    gap = math.log10(values["learning_rate"]) + 3
    return max(0.0, 0.9 * math.exp(-0.5 * gap**2) - 0.3 * values["dropout"] + 0.02 * noise)


def fill(
    folder: Path,
    names: tuple[str, ...] = ("attentive_lstm", "transformer"),
    count: int = 24,
    **changes: Any,
) -> Path:
    """A runs folder with a sweep for each name; every tenth run diverged without a score."""
    draw = np.random.default_rng(0)
    for number, name in enumerate(names):
        drawn_from = SPACES.get(name, SPACES["transformer"])
        sweep = {"space": space.to_dict(drawn_from), "seed": 1}
        config = reading.canonical({"name": name, "sweep": sweep})
        about = {"name": f"{name}, sweep", "metric": "accuracy", "config": config, **changes}
        ended = [_ended(drawn_from, run, draw) for run in range(count)]
        points = [point for result in ended for point in _curve(result)]
        test_store.write(folder, f"sweep{number}", ended, points, **about)
    return folder


def _ended(drawn_from: space.Space, run: int, draw: np.random.Generator) -> runs.MemberResult:
    values = space.draw(drawn_from, 1, run)
    dev = None if run % 10 == 9 else score(values, draw.normal())
    return test_store.result(
        run + 1,
        hparams=reading.canonical(values),
        status="diverged" if dev is None else "early_stopped",
        best_epoch=None if dev is None else 3,
        dev=dev,
        test=None if dev is None else 0.98 * dev,
    )


def _curve(ended: runs.MemberResult) -> list[runs.EpochScore]:
    return [
        test_store.curve(
            ended.seed,
            epoch,
            (ended.dev or 0) * epoch / 5,
            hparams=ended.hparams,
            metric="accuracy",
        )
        for epoch in range(1, 6)
    ]
