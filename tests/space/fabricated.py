"""Runs folders with sweeps that nobody trained."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np

from jaxeval import runs
from jaxeval.config import reading
from jaxeval.space import space
from tests.runs import test_store

CONFIGS = Path(__file__).parents[2] / "configs" / "wiemerslage2024"
SPACES = {name: CONFIGS / f"space_{name}_small.toml" for name in ("attentive_lstm", "transformer")}


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
    with runs.open_store(folder) as store:
        for number, name in enumerate(names):
            drawn_from = space.read(SPACES.get(name, SPACES["transformer"]))
            said = {"space": space.to_dict(drawn_from), "seed": 1}
            experiment = dataclasses.replace(
                test_store.EXPERIMENT,
                id=f"sweep{number}",
                name=f"{name}, sweep",
                metric="accuracy",
                config=reading.canonical({"name": name, "sweep": said}),
            )
            store.register(dataclasses.replace(experiment, **changes))
            ended = []
            for run in range(count):
                values = space.draw(drawn_from, 1, run)
                dev = None if run % 10 == 9 else score(values, draw.normal())
                ended.append(
                    test_store.result(
                        run + 1,
                        experiment=experiment.id,
                        hparams=reading.canonical(values),
                        status="diverged" if dev is None else "early_stopped",
                        best_epoch=None if dev is None else 3,
                        dev=dev,
                        test=None if dev is None else 0.98 * dev,
                    )
                )
            curve = [
                dataclasses.replace(
                    test_store.curve(r.seed, e, (r.dev or 0) * e / 5),
                    experiment=experiment.id,
                    hparams=r.hparams,
                    metric="accuracy",
                )
                for r in ended
                for e in range(1, 6)
            ]
            store.record(ended, curve)
    return folder
