"""How often does the spread over draws of hyperparameters' importance hold the truth?

Ishigami's function (three numbers, interactions), an additive one (four, one of which does
nothing), Sobol's G-function (five), a saddle (four: two interact, one does nothing) and one with a
choice and a number that only one choice has, with normal noise of a tenth of the function's
standard deviation or of half of it, at settings of a Sobol sequence or of a search by `gp`. The
truth is the Sobol indices of what the process is asked for: the objective with its bad half by
rank (`tuning.warping`), computed from 2^13 points.

One JSON line for each function, method and noise: how often the truth is between the 2.5 and
97.5 % quantiles (give or take .001), of first-order and total indices, over hyperparameters and
repetitions, and for each hyperparameter; mean widths; mean signed and absolute errors; CPU seconds
of one call.

    python benchmarks/tuner_importance.py --repetitions 40 --told 50 --methods sobol
    python benchmarks/tuner_importance.py --repetitions 1 --told 200 --methods sobol
"""

import argparse
import collections
import json
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from jaxeval import space as spaces
from jaxeval.space import Space
from jaxeval.tuning import Search, gp, insight
from jaxeval.tuning.encoding import encoder
from jaxeval.tuning.history import History

Function = Callable[[np.ndarray], np.ndarray]
EXPONENT = 13


def ishigami(places: np.ndarray) -> np.ndarray:
    """With 7 and .1 (Ishigami & Homma 1990), of uniform numbers [n, 3]."""
    a, b, c = (2 * math.pi * places - math.pi).T
    values: np.ndarray = np.sin(a) + 7 * np.sin(b) ** 2 + 0.1 * c**4 * np.sin(a)
    return values


def additive(places: np.ndarray) -> np.ndarray:
    """A sum of a line, a sine and a bowl; the last number does nothing. Of [n, 4]."""
    a, b, c, _ = places.T
    values: np.ndarray = 3 * a + np.sin(2 * math.pi * b) + 4 * (c - 0.4) ** 2
    return values


def sobol_g(places: np.ndarray) -> np.ndarray:
    """Of [n, 5] (Saltelli & Sobol 1995): a product of kinks, each next one of less effect."""
    weights = np.array([0.0, 1.0, 4.5, 9.0, 99.0])
    values: np.ndarray = np.prod((np.abs(4 * places - 2) + weights) / (1 + weights), axis=1)
    return values


def saddle(places: np.ndarray) -> np.ndarray:
    """Two numbers interact and one is a line; the last does nothing. Of [n, 4]."""
    a, b, c, _ = places.T
    values: np.ndarray = 12 * (a - 0.5) * (b - 0.5) + 2 * c
    return values


def conditional(places: np.ndarray) -> np.ndarray:
    """A bowl, a choice of three, a line of one choice alone; the last does nothing. Of [n, 4]."""
    a, choice, b, _ = places.T
    values: np.ndarray = 6 * (a - 0.6) ** 2 + (choice == 1) + 2 * np.nan_to_num(b)
    return values


def cube(count: int) -> Space:
    """Of so many numbers from 0 to 1."""
    return spaces.from_dict({f"x{k}": {"uniform": [0.0, 1.0]} for k in range(count)})


OF_CHOICES = spaces.from_dict(
    {
        "a": {"log_uniform": [1e-4, 1.0]},
        "choice": {"choices": ["one", "two", "three"]},
        "b": {"uniform": [0.0, 1.0], "when": {"choice": ["one"]}},
        "idle": {"uniform": [0.0, 1.0]},
    }
)
FUNCTIONS: dict[str, tuple[Function, Space]] = {
    "ishigami": (ishigami, cube(3)),
    "additive": (additive, cube(4)),
    "sobol_g": (sobol_g, cube(5)),
    "saddle": (saddle, cube(4)),
    "conditional": (conditional, OF_CHOICES),
}


def main() -> None:
    """Repeats and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=40)
    parser.add_argument("--told", type=int, default=50)
    parser.add_argument("--functions", default=",".join(FUNCTIONS))
    parser.add_argument("--methods", default="sobol,gp")
    parser.add_argument("--noise", type=float, nargs="+", default=[0.1, 0.5])
    args = parser.parse_args()
    for name in args.functions.split(","):
        for method in args.methods.split(","):
            for noise in args.noise:
                row = coverage(name, method, noise, args.repetitions, args.told)
                print(json.dumps({"benchmark": "tuner_importance", **row}), flush=True)


def coverage(
    name: str, method: str, noise: float, repetitions: int, evaluations: int
) -> dict[str, object]:
    """Of one function, method of proposal and noise."""
    function, space = FUNCTIONS[name]
    names = [parameter.name for parameter in space.parameters]
    sample = np.random.default_rng(0).random((4096, len(names)))
    spread = float(function(encoder(space).from_quantiles(sample)).std())
    measured: dict[str, list[float]] = collections.defaultdict(list)
    seconds = 0.0
    for repetition in range(repetitions):
        search = Search(space, method, repetition)  # type: ignore[arg-type]
        history = _searched(search, function, noise * spread, evaluations)
        indices = true_indices(function, space, history, noise * spread)
        begin = time.process_time()
        rows = insight._importance(space, gp.fit(space, history), repetition)
        seconds += time.process_time() - begin
        for of in sorted(rows, key=lambda of: names.index(of.name)):
            first, total = (float(index[names.index(of.name)]) for index in indices)
            _add(measured, "first", of.first, of.first_spread, first)
            _add(measured, "total", of.total, of.total_spread, total)
    return {
        **{"function": name, "method": method, "noise": noise, "told": evaluations},
        "repetitions": repetitions,
        **{key: round(float(np.mean(values)), 3) for key, values in measured.items()},
        **{
            f"coverage_{kind}_each": np.reshape(measured[f"coverage_{kind}"], (-1, len(names)))
            .mean(axis=0)
            .round(3)
            .tolist()
            for kind in ("first", "total")
        },
        "cpu_seconds_each": round(seconds / repetitions, 2),
    }


def _add(
    measured: dict[str, list[float]], kind: str, value: float, over_draws: Any, true: float
) -> None:
    """Of an index: whether its interval holds the true one, how wide that is, and the error."""
    held = over_draws.low - 1e-3 <= true <= over_draws.high + 1e-3
    measured[f"coverage_{kind}"].append(held)
    measured[f"width_{kind}"].append(over_draws.high - over_draws.low)
    measured[f"error_{kind}"].append(value - true)
    measured[f"absolute_error_{kind}"].append(abs(value - true))


def _searched(search: Search, function: Function, noise: float, evaluations: int) -> History:
    """Eight at once, lower is better."""
    random, history = np.random.default_rng([search.seed, 7]), History((), False)
    while len(history.evaluations) < evaluations:
        count = min(8, evaluations - len(history.evaluations))
        history, proposed = search.ask(history, count)
        for evaluation in proposed:
            row = encoder(search.space).places([evaluation.values])
            score = float(function(row)[0] + noise * random.normal())
            history = history.tell(evaluation.number, (score,))
    return history


def true_indices(
    function: Function, space: Space, history: History, noise: float
) -> tuple[np.ndarray, np.ndarray]:
    """First-order and total indices of what the process is fitted to, without its noise.

    That is the mean, over the noise of a score, of the score as the warp of what was told has it.
    """
    settings = history.evaluations
    scores = np.array([-setting.scores[0] for setting in settings])
    targets = gp.fit(space, history).targets
    assert targets is not None
    order = np.argsort(scores)
    known, warped = scores[order], targets.values[order]
    best = known[-1] + 10 * np.ptp(known)  # above the median the warp is a line
    slope = (warped[-1] - warped[len(order) // 2]) / (known[-1] - known[len(order) // 2])
    known = np.append(known, best)
    warped = np.append(warped, warped[-1] + slope * (best - known[-2]))
    normal = noise * special.ndtri((np.arange(16) + 0.5) / 16)

    def mean_warped(quantiles: np.ndarray) -> np.ndarray:
        places = encoder(space).from_quantiles(quantiles)
        values: np.ndarray = -function(places)[:, None] + normal
        return np.interp(values, known, warped).mean(axis=1, keepdims=True)

    first, total = insight._sobol_indices(mean_warped, len(space.parameters), [0], EXPONENT)
    return first[:, 0], total[:, 0]


if __name__ == "__main__":
    main()
