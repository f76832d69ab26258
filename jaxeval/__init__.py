"""jaxeval: train populations of neural networks and compare their score distributions.

    import jaxeval

    small = jaxeval.train(seeds=8)
    wide = jaxeval.train(seeds=8, changes={"name": "wide", "model.layers": [100]})
    print(jaxeval.compare(small, wide))

What is listed in `__all__` is imported at its first use.
"""

import importlib
import sys
import types
from typing import TYPE_CHECKING

from jaxeval.version import VERSION

if TYPE_CHECKING:
    from jaxeval import tuning
    from jaxeval.ablation import ablation
    from jaxeval.compare import compare, compare_items, compare_logs, compare_options
    from jaxeval.comparisons import Comparison, ItemComparison
    from jaxeval.errors import JaxevalError
    from jaxeval.evaluate import evaluate
    from jaxeval.judge import vectors_judge
    from jaxeval.neighbourhood import neighbourhood
    from jaxeval.noise import noise, noise_table
    from jaxeval.plan import plan, plan_items, plan_logs
    from jaxeval.predict import predict
    from jaxeval.report.selection import Selection
    from jaxeval.report.tuning import Tuned
    from jaxeval.results import Runs, load
    from jaxeval.select.__main__ import select, select_table
    from jaxeval.select.commands import select_command, select_functions
    from jaxeval.sensitivity.__main__ import sensitivity
    from jaxeval.sources import read_scores
    from jaxeval.sweep import sweep
    from jaxeval.train import train
    from jaxeval.tune.__main__ import tune, tune_command
    from jaxeval.vectors.__main__ import vectors_analogies, vectors_similarity, vectors_svd

__version__ = VERSION
__all__ = [
    "Comparison",
    "ItemComparison",
    "JaxevalError",
    "Runs",
    "Selection",
    "Tuned",
    "ablation",
    "compare",
    "compare_items",
    "compare_logs",
    "compare_options",
    "evaluate",
    "load",
    "neighbourhood",
    "noise",
    "noise_table",
    "plan",
    "plan_items",
    "plan_logs",
    "predict",
    "read_scores",
    "select",
    "select_command",
    "select_functions",
    "select_table",
    "sensitivity",
    "sweep",
    "train",
    "tune",
    "tune_command",
    "tuning",
    "vectors_analogies",
    "vectors_judge",
    "vectors_similarity",
    "vectors_svd",
]
_ROOMS = ("tuning",)
_MODULES = {  # name -> where it is defined
    **dict.fromkeys(("Comparison", "ItemComparison"), "jaxeval.comparisons"),
    **dict.fromkeys(("Runs", "load"), "jaxeval.results"),
    **{verb: f"jaxeval.{verb}" for verb in ("evaluate", "predict", "sweep", "train")},
    **dict.fromkeys(
        ("compare", "compare_items", "compare_logs", "compare_options"), "jaxeval.compare"
    ),
    **dict.fromkeys(("plan", "plan_items", "plan_logs"), "jaxeval.plan"),
    **{name: f"jaxeval.{name}" for name in ("ablation", "neighbourhood", "noise")},
    "noise_table": "jaxeval.noise",
    "sensitivity": "jaxeval.sensitivity.__main__",
    **dict.fromkeys(("select", "select_table"), "jaxeval.select.__main__"),
    **dict.fromkeys(("select_command", "select_functions"), "jaxeval.select.commands"),
    "Selection": "jaxeval.report.selection",
    **dict.fromkeys(("tune", "tune_command"), "jaxeval.tune.__main__"),
    "Tuned": "jaxeval.report.tuning",
    "read_scores": "jaxeval.sources",
    **dict.fromkeys(
        ("vectors_analogies", "vectors_similarity", "vectors_svd"), "jaxeval.vectors.__main__"
    ),
    "vectors_judge": "jaxeval.judge",
    "JaxevalError": "jaxeval.errors",
}


class _Package(types.ModuleType):
    """The package, of which `train` is a function, whether the verb's module is imported or not.

    Importing `jaxeval.train` would set it to that module, which is found in `sys.modules` as ever.
    """

    def __setattr__(self, name: str, value: object) -> None:
        shadows = name in __all__ and name not in _ROOMS
        if not (shadows and isinstance(value, types.ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _ROOMS:
        return importlib.import_module(f"jaxeval.{name}")
    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
