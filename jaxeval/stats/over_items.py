"""Two models compared over the items and runs of data sets (tasks), or in the mean over these."""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from jaxeval.stats import (
    FACTORS,
    Factor,
    HypothesisTest,
    Rules,
    estimates,
    hypotheses,
    multiple,
    sign,
    tasks,
)
from jaxeval.stats.estimates import Estimate
from jaxeval.stats.pairs import ByMargin, Pair
from jaxeval.stats.tasks import Task

_Over = tuple[Factor, ...]


def means(
    group: Sequence[Task], over: _Over, rules: Rules, shared: bool = False
) -> dict[str, Estimate]:
    """Returns the mean of each model on a task, or over several.

    Args:
      over: what errors in the mean over several tasks generalise over.
      shared: whether run r is one network on all tasks.
    """
    found = {}
    for model in group[0].tables:
        runs = min(of.tables[model].runs for of in group)
        own = over if len(group) > 1 else rules.over or tasks.default_over([runs])
        found[model] = _estimates(
            group, [model], [own if runs > 1 else ("items",)], rules, shared
        )[0]
    return found


def _estimates(
    group: Sequence[Task],
    models: Sequence[str],
    overs: Sequence[_Over],
    rules: Rules,
    shared: bool,
) -> list[Estimate]:
    """The mean of one model, or the difference of two, with errors over some sets of factors."""
    each = [[of.tables[model] for model in models] for of in group]
    clustered = any(of.data.clusters is not None for of in group)
    how = rules.confidence, clustered, all(of.from_0_to_1 for of in group)
    return estimates.estimate(each, overs, *how, shared_runs=shared)


def on_tasks(
    found: Sequence[Task], of_models: Sequence[Mapping[str, Estimate]], over: _Over, rules: Rules
) -> list[Pair]:
    """Returns all pairs on each task before the correction of p-values, with all tests of items.

    Args:
      of_models: the means of each task.
    """
    pairs = []
    for task, mean in zip(found, of_models, strict=True):
        for a, b in itertools.combinations(task.tables, 2):
            first, second = task.tables[a], task.tables[b]
            every: list[_Over] = [("items",)]
            every += [("runs",), FACTORS] if min(first.runs, second.runs) > 1 else []
            differences = _estimates([task], (a, b), every, rules, False)
            tests = dict[str, HypothesisTest]()
            single = first.runs == second.runs == first.samples == second.samples == 1
            if task.data.clusters is None and single and first.binary and second.binary:
                tests["mcnemar"] = hypotheses.mcnemar(first.cells[:, 0], second.cells[:, 0])
            pair = _pair(a, b, task, task.data.name, differences[every.index(over)])
            beside = {"tests": tests, "means": (mean[a], mean[b]), "over": tuple(differences)}
            pairs.append(dataclasses.replace(pair, **beside))  # type: ignore[arg-type]
    p_values = [
        {name: test.p_value for name, test in pair.tests.items()}
        | {" and ".join(of.over): float(of.p_value) for of in pair.over if of.p_value is not None}
        for pair in pairs
    ]
    adjusted = multiple.adjust_by_name(p_values)
    return [
        dataclasses.replace(pair, adjusted=of) for pair, of in zip(pairs, adjusted, strict=True)
    ]


def in_mean(found: Sequence[Task], over: _Over, rules: Rules, shared: bool) -> Iterator[Pair]:
    """Yields all pairs in the mean over tasks before the correction of p-values."""
    for a, b in itertools.combinations(found[0].tables, 2):
        (difference,) = _estimates(found, (a, b), [over], rules, shared)
        yield _pair(a, b, found[0], None, difference)


def _pair(a: str, b: str, task: Task, name: str | None, difference: Estimate) -> Pair:
    assert difference.p_value is not None
    items, about = difference.sizes.items, (task.data.metric, task.data.higher_is_better)
    return Pair(
        *(a, b, name, *about, difference.value, difference.possible),
        *(" and ".join(difference.over), difference.p_value, math.nan),
        n=(items, items),
        pairs=items,
        difference=difference,
    )


def corrected(found: Sequence[Pair], rules: Rules, withheld: bool) -> tuple[Pair, ...]:
    """Returns the pairs of a family with Holm's p-values and outcomes, unless withheld."""
    adjusted = multiple.adjust_p_values([pair.p_value for pair in found]).tolist()
    differences = [pair.difference for pair in found if pair.difference]
    higher = [pair.higher_is_better for pair in found]
    beside = by_margin(differences, higher, rules.margin or 0.0, rules.alpha)
    if withheld:
        beside = [of._replace(outcome="not shown", equivalent=False) for of in beside]
    return tuple(
        dataclasses.replace(
            pair,
            p_adjusted=p,
            shown=sign(pair.value) if p <= rules.alpha and not withheld else 0,
            by_margin=of,
            equivalent=of.equivalent,
        )
        for pair, p, of in zip(found, adjusted, beside, strict=True)
    )


def by_margin(
    differences: Sequence[Estimate], higher_is_better: Sequence[bool], margin: float, alpha: float
) -> list[ByMargin]:
    """Compares each difference with the margin, corrected (Holm) over all differences.

    An outcome is a one-sided test at half the level, equivalence two of them (TOST): a difference
    is equivalent if its interval of confidence 1 - alpha is within the margin.
    """
    above, below, within, over = (
        np.array([of.p_beyond(limit, side) for of in differences])
        for limit, side in ((margin, 1), (-margin, -1), (margin, -1), (-margin, 1))
    )
    better, worse = np.where(higher_is_better, (above, below), (below, above))
    p_outcome, p_equivalent = (
        multiple.adjust_p_values(np.minimum(1.0, 2 * p)).tolist()
        for p in (np.minimum(better, worse), np.maximum(within, over))
    )
    return [
        ByMargin(
            ("better" if is_better else "worse") if p <= alpha else "not shown",  # NaN: unknown
            *(p, p_same <= alpha and margin > 0, p_same),
        )
        for p, p_same, is_better in zip(p_outcome, p_equivalent, better < worse, strict=True)
    ]
