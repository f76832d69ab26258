"""Items, runs and answers in one model: means and differences, studies of data sets, plans.

from jaxeval.stats import items

items.mean(scores, clusters=passages)  # [items], [items, runs] or [items, runs, answers]
items.difference(a, b, over=["items", "runs"])
"""

from jaxeval.stats.items.differences import difference
from jaxeval.stats.items.estimates import Estimate, Sizes, mean
from jaxeval.stats.items.pilots import Pilot, Size, Spread, pilot, spread
from jaxeval.stats.items.planning import Design, Plan, plan, power, required_items
from jaxeval.stats.items.proportions import proportion
from jaxeval.stats.items.study import ItemStudy
from jaxeval.stats.items.variances import Components, components

__all__ = [
    "Components",
    "Design",
    "Estimate",
    "ItemStudy",
    "Pilot",
    "Plan",
    "Size",
    "Sizes",
    "Spread",
    "components",
    "difference",
    "mean",
    "pilot",
    "plan",
    "power",
    "proportion",
    "required_items",
    "spread",
]
