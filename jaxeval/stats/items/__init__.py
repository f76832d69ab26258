"""Items, runs and samples in one model: means and differences, suites of tasks, plans.

from jaxeval.stats import items

items.mean(scores, clusters=passages)  # [items], [items, runs] or [items, runs, samples]
items.difference(a, b, over=["items", "runs"])
"""

from jaxeval.stats.items.comparing import bootstrap, paired_tests, sign_flips
from jaxeval.stats.items.estimates import difference, mean
from jaxeval.stats.items.pilots import Pilot, pilot
from jaxeval.stats.items.places import Place
from jaxeval.stats.items.planning import (
    Costs,
    Design,
    Plan,
    millers_items,
    plan,
    power,
    required_items,
)
from jaxeval.stats.items.proportions import proportion
from jaxeval.stats.items.results import Estimate, Factor, Sizes
from jaxeval.stats.items.spreads import Size, Spread, spread
from jaxeval.stats.items.suites import OverallPair, Suite, TaskPair
from jaxeval.stats.items.suites import compare as compare_tasks
from jaxeval.stats.items.task_means import Task, difference_over_tasks, mean_difference
from jaxeval.stats.items.variances import Components, components

__all__ = [
    "Components",
    "Costs",
    "Design",
    "Estimate",
    "Factor",
    "OverallPair",
    "Pilot",
    "Place",
    "Plan",
    "Size",
    "Sizes",
    "Spread",
    "Suite",
    "Task",
    "TaskPair",
    "bootstrap",
    "compare_tasks",
    "components",
    "difference",
    "difference_over_tasks",
    "mean",
    "mean_difference",
    "millers_items",
    "paired_tests",
    "pilot",
    "plan",
    "power",
    "proportion",
    "required_items",
    "sign_flips",
    "spread",
]
