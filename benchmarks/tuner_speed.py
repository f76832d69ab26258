"""How long does the tuner think about its next eight settings, and in how much memory?

A space of seven hyperparameters; 100 results and 8 settings that run, and 1,500 and 60. Wall and
CPU seconds of `ask(8)`, the fit included, quartiles over repeats after a warm-up; peak memory of
the process. One JSON line a size. Linear algebra runs in one thread, as `ask` runs it.

    python benchmarks/tuner_speed.py --repeats 5
"""

import argparse
import json
import os
import platform
import resource
import time

import numpy as np
import scipy

from jaxeval import space as spaces
from jaxeval import tuning as searches
from jaxeval.tuning import Search
from jaxeval.tuning.history import History

SIZES = ((100, 8), (1500, 60))
SPACE = spaces.from_dict(
    {
        "learning_rate": {"log_uniform": [1e-4, 1e-1]},
        "l2": {"log_uniform": [1e-7, 1e-2]},
        **{name: {"uniform": [0.0, 0.9]} for name in ("input", "state", "output")},
        "layers": {"integer": [1, 4]},
        "between": {"uniform": [0.0, 0.9], "when": {"layers": [2, 3, 4]}},
    }
)


def main() -> None:
    """Times both sizes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    for ended, running in SIZES:
        history = _history(ended, running)
        _search(0).ask(history, 8)
        wall, cpu = zip(*(_timed(history, seed) for seed in range(1, repeats + 1)), strict=True)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            json.dumps(
                {
                    "benchmark": "tuner_speed",
                    "told": ended,
                    "running": running,
                    "asked": 8,
                    "wall_seconds": _quartiles(wall),
                    "cpu_seconds": _quartiles(cpu),
                    "peak_mib": round(peak),
                    "cores": os.cpu_count(),
                    "load": os.getloadavg()[0],
                    "python": platform.python_version(),
                    "numpy": np.__version__,
                    "scipy": scipy.__version__,
                }
            )
        )


def _history(ended: int, running: int) -> History:
    """Random settings with a noisy score; the last ones run."""
    random, history = np.random.default_rng(0), History((), higher_is_better=False)
    for run in range(ended + running):
        values = spaces.draw(SPACE, 0, run)
        history = history.propose(values, (0,))
        if run < ended:
            numbers = [
                float(v) for name, v in values.items() if name not in ("learning_rate", "l2")
            ]
            score = 60 + 10 * (np.log10(float(values["learning_rate"])) + 2.5) ** 2
            score += 20 * sum((v - 0.4) ** 2 for v in numbers) + random.normal()
            history = history.tell(run, (float(score),))
    return history


def _search(seed: int) -> searches.Search:
    return Search(SPACE, seed=seed)


def _timed(history: History, seed: int) -> tuple[float, float]:
    """Wall and CPU seconds of asking for eight settings."""
    wall, cpu = time.perf_counter(), time.process_time()
    _search(seed).ask(history, 8)
    return time.perf_counter() - wall, time.process_time() - cpu


def _quartiles(values: tuple[float, ...]) -> list[float]:
    return [round(float(v), 3) for v in np.quantile(values, [0.25, 0.5, 0.75])]


if __name__ == "__main__":
    main()
