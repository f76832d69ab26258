"""jaxeval: train populations of neural networks and compare their score distributions.

    import jaxeval

    small = jaxeval.train(seeds=8)
    wide = jaxeval.train(seeds=8, changes={"name": "wide", "model.layers": [100]})
    print(jaxeval.compare(small, wide))

The names of `__all__` are imported at their first use.
"""

import importlib
import sys
import types
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from jaxeval import tuning
    from jaxeval.ablation import ablation
    from jaxeval.compare import compare, compare_items, compare_logs
    from jaxeval.configs import configs, configs_keys
    from jaxeval.errors import JaxevalError
    from jaxeval.evaluate import evaluate, predict
    from jaxeval.judge import vectors_judge
    from jaxeval.mirror import mirror
    from jaxeval.neighbourhood import neighbourhood
    from jaxeval.noise import noise, noise_table, sensitivity
    from jaxeval.options import compare_options
    from jaxeval.plan import plan, plan_logs
    from jaxeval.report.comparison import Comparison
    from jaxeval.report.selection import Selection
    from jaxeval.report.settlements.settlement import Settlement
    from jaxeval.report.tuning import Tuned
    from jaxeval.results import Runs, load, runs_export
    from jaxeval.select.__main__ import select, select_command, select_table
    from jaxeval.serve.__main__ import serve, serve_board
    from jaxeval.settle.__main__ import (
        settle,
        settle_command,
        settle_report,
        settle_self,
        settle_table,
    )
    from jaxeval.sources import read_scores
    from jaxeval.train import sweep, train
    from jaxeval.tune.__main__ import tune, tune_command
    from jaxeval.vectors.__main__ import vectors_analogies, vectors_similarity, vectors_svd

_NAMES = {  # module -> names that it defines; VERB_NAME is a subcommand of a verb
    "ablation": "ablation",
    "compare": "compare compare_items compare_logs",
    "configs": "configs configs_keys",
    "errors": "JaxevalError",
    "evaluate": "evaluate predict",
    "judge": "vectors_judge",
    "mirror": "mirror",
    "neighbourhood": "neighbourhood",
    "noise": "noise noise_table sensitivity",
    "options": "compare_options",
    "plan": "plan plan_logs",
    "report.comparison": "Comparison",
    "report.selection": "Selection",
    "report.tuning": "Tuned",
    "results": "Runs load runs_export",
    "report.settlements.settlement": "Settlement",
    "select.__main__": "select select_command select_table",
    "serve.__main__": "serve serve_board",
    "settle.__main__": "settle settle_command settle_table settle_self settle_report",
    "sources": "read_scores",
    "train": "sweep train",
    "tune.__main__": "tune tune_command",
    "vectors.__main__": "vectors_similarity vectors_analogies vectors_svd",
}
MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = ["Comparison", "JaxevalError", "Runs", "Selection", "Settlement", "Tuned", "ablation"]
__all__ += ["compare", "compare_items", "compare_logs", "compare_options", "configs"]
__all__ += ["configs_keys", "evaluate", "load", "mirror", "neighbourhood", "noise", "noise_table"]
__all__ += ["plan", "plan_logs", "predict", "read_scores", "runs_export"]
__all__ += ["select", "select_command", "select_table", "sensitivity", "serve"]
__all__ += ["serve_board", "settle", "settle_command", "settle_report"]
__all__ += ["settle_self", "settle_table", "sweep", "train", "tune", "tune_command", "tuning"]
__all__ += ["vectors_analogies", "vectors_judge", "vectors_similarity", "vectors_svd"]


class _Package(types.ModuleType):
    """The package, in which `train` stays a function after its module is imported.

    Importing `jaxeval.train` would set it to that module, which `sys.modules` has anyway.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in MODULES and isinstance(value, types.ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> object:
    if name == "tuning":
        return importlib.import_module("jaxeval.tuning")
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"jaxeval.{MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
