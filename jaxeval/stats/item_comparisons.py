"""Two models compared over the items and runs of a task, or in the mean over several tasks."""

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from jaxeval import stats
from jaxeval.stats import Rules, estimates, hypotheses, multiple, tasks
from jaxeval.stats.estimates import Estimate
from jaxeval.stats.pairs import ByMargin, Pair
from jaxeval.stats.tasks import Task

_Over = tuple[stats.Factor, ...]


def compare_items(
    groups: Sequence[Sequence[Task]], over: _Over, rules: Rules, shared: bool, withheld: bool
) -> tuple[list[dict[str, Estimate]], tuple[Pair, ...]]:
    """Compares all models on each task, or in the mean over several: one family of tests.

    Args:
      groups: of one task each, or of all tasks.
      over: what errors of pairs generalise over.
      shared: whether run r is one network on all tasks.
      withheld: whether nothing may be shown.

    Returns:
      The means of the models in each group, and all pairs, with Holm's p-values.
    """
    means, pairs = [], []
    for group in groups:
        means.append(found := dict[str, Estimate]())
        for model in group[0].tables:
            runs = min(of.tables[model].runs for of in group)
            own = over if len(group) > 1 else rules.over or tasks.default_over([runs])
            overs = [own if runs > 1 else ("items",)]
            (found[model],) = _item_estimates(group, [model], overs, rules, shared)
        for both in itertools.combinations(found.items(), 2):
            pairs.append(_item_pair(group, dict(both), over, rules, shared))
    return means, _corrected(pairs, rules, withheld)


def _item_estimates(
    group: Sequence[Task],
    models: Sequence[str],
    overs: Sequence[_Over],
    rules: Rules,
    shared: bool,
) -> list[Estimate]:
    """The mean of one model, or the difference of two, with errors over some sets of factors."""
    each = [[of.tables[model] for model in models] for of in group]
    clustered = any(of.data.clusters is not None for of in group)
    from_0_to_1 = all(of.from_0_to_1 for of in group)
    return estimates.estimate(
        each, overs, rules.confidence, clustered, from_0_to_1, shared_runs=shared
    )


def _item_pair(
    group: Sequence[Task], means: Mapping[str, Estimate], over: _Over, rules: Rules, shared: bool
) -> Pair:
    """A pair before the correction of p-values; on one task with all tests of items."""
    data = group[0].data
    overs = [over]
    tests: dict[str, stats.HypothesisTest] = {}
    a, b = means
    if alone := len(group) == 1:
        first, second = group[0].tables[a], group[0].tables[b]
        several = [("runs",), stats.FACTORS] if min(first.runs, second.runs) > 1 else []
        overs = [("items",), *several]
        single = first.runs == second.runs == first.samples == second.samples == 1
        if data.clusters is None and single and first.binary and second.binary:
            tests["mcnemar"] = hypotheses.mcnemar(first.cells[:, 0], second.cells[:, 0])
    found = _item_estimates(group, (a, b), overs, rules, shared)
    difference = found[overs.index(over)]
    assert difference.p_value is not None
    items = difference.sizes.items
    return Pair(
        a=a,
        b=b,
        data_set=data.name if alone else None,
        metric=data.metric,
        higher_is_better=data.higher_is_better,
        value=difference.value,
        interval=difference.possible,
        primary=" and ".join(over),
        p_value=difference.p_value,
        p_adjusted=math.nan,
        n=(items, items),
        pairs=items,
        tests=tests,
        difference=difference,
        means=tuple(means.values()) if alone else (),
        over=tuple(found) if alone else (),
    )


def _corrected(found: Sequence[Pair], rules: Rules, withheld: bool) -> tuple[Pair, ...]:
    """The pairs of a family with Holm's p-values and outcomes, unless withheld."""
    adjusted = multiple.adjust_p_values([pair.p_value for pair in found]).tolist()
    by_name = multiple.adjust_by_name(
        [
            {name: test.p_value for name, test in pair.tests.items()}
            | {
                " and ".join(of.over): float(of.p_value)
                for of in pair.over
                if of.p_value is not None
            }
            for pair in found
        ]
    )
    differences = [pair.difference for pair in found if pair.difference]
    higher = [pair.higher_is_better for pair in found]
    beside = _by_margin(differences, higher, rules.margin or 0.0, rules.alpha)
    if withheld:
        beside = [of._replace(outcome="not shown", equivalent=False) for of in beside]
    return tuple(
        dataclasses.replace(
            pair,
            p_adjusted=p,
            adjusted=p_values,
            shown=stats.sign(pair.value) if p <= rules.alpha and not withheld else 0,
            by_margin=of,
            equivalent=of.equivalent,
        )
        for pair, p, p_values, of in zip(found, adjusted, by_name, beside, strict=True)
    )


def _by_margin(
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
            p,
            p_same <= alpha and margin > 0,
            p_same,
        )
        for p, p_same, is_better in zip(p_outcome, p_equivalent, better < worse, strict=True)
    ]
