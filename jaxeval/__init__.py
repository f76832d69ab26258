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
_ROOMS = ("tuning",)
_NAMES = {  # module -> what it defines
    "ablation": ("ablation",),
    "compare": ("compare", "compare_items", "compare_logs", "compare_options"),
    "comparisons": ("Comparison", "ItemComparison"),
    "errors": ("JaxevalError",),
    "evaluate": ("evaluate",),
    "judge": ("vectors_judge",),
    "neighbourhood": ("neighbourhood",),
    "noise": ("noise", "noise_table"),
    "plan": ("plan", "plan_items", "plan_logs"),
    "predict": ("predict",),
    "report.selection": ("Selection",),
    "report.tuning": ("Tuned",),
    "results": ("Runs", "load"),
    "select.__main__": ("select", "select_table"),
    "select.commands": ("select_command", "select_functions"),
    "sensitivity.__main__": ("sensitivity",),
    "sources": ("read_scores",),
    "sweep": ("sweep",),
    "train": ("train",),
    "tune.__main__": ("tune", "tune_command"),
    "vectors.__main__": ("vectors_analogies", "vectors_similarity", "vectors_svd"),
}
_MODULES = {name: f"jaxeval.{module}" for module, names in _NAMES.items() for name in names}
__all__ = ["Comparison", "ItemComparison", "JaxevalError", "Runs", "Selection", "Tuned"]
__all__ += ["ablation", "compare", "compare_items", "compare_logs", "compare_options", "evaluate"]
__all__ += ["load", "neighbourhood", "noise", "noise_table", "plan", "plan_items", "plan_logs"]
__all__ += ["predict", "read_scores", "select", "select_command", "select_functions"]
__all__ += ["select_table", "sensitivity", "sweep", "train", "tune", "tune_command", "tuning"]
__all__ += ["vectors_analogies", "vectors_judge", "vectors_similarity", "vectors_svd"]


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
