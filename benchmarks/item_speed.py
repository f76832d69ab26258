"""How long do comparisons over items take? All pairs of 40 models on 1,319 items. Prints one JSON
line; seconds on one core.

    python benchmarks/item_speed.py
"""

import json
import platform
import resource
import time
from collections.abc import Callable

import numpy as np
import scipy

from jaxeval.runs.scores import Scores, from_arrays
from jaxeval.stats import study

ITEMS, MODELS = 1_319, 40


def main() -> None:
    """Times, prints."""
    generator = np.random.default_rng(0)
    ability = generator.normal(size=(ITEMS, 1, 1))
    answers = ability + 0.02 * np.arange(MODELS) + generator.normal(size=(ITEMS, 3, MODELS)) > 0
    seconds = {}
    for runs in (1, 3):
        scores = {f"model {k}": answers[:, :runs, k].astype(float) for k in range(MODELS)}
        data = from_arrays(scores, "task", "accuracy")
        whole = Scores("answers", tuple(scores), (data,))
        seconds[f"all pairs, {runs} runs"] = _seconds(lambda whole=whole: study.study(whole))
    print(
        json.dumps(
            {
                "benchmark": "item_speed",
                "seconds": seconds,
                "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
                "numpy": np.__version__,
                "scipy": scipy.__version__,
                "python": platform.python_version(),
            }
        )
    )


def _seconds(call: Callable[[], object]) -> float:
    """Of the processor."""
    begin = time.process_time()
    call()
    return round(time.process_time() - begin, 2)


if __name__ == "__main__":
    main()
