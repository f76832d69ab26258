"""What a comparison could have shown, and how many scores would show a difference: sentences."""

import math
from collections.abc import Iterator

from jaxeval.report.scores import ScoreFormat
from jaxeval.stats import comparison, planning
from jaxeval.stats.comparison import Pair
from jaxeval.stats.pairwise import Rules


def seen_ratio(pair: Pair, rules: Rules) -> str:
    """Which ratio of sds would have been seen."""
    ratio = pair.plan.detectable_ratio
    if ratio is None:
        return ""
    power = f"with a power of {100 * rules.target_power:g} %"
    if math.isinf(ratio):
        return f"; no ratio of sds, however large, is detected {power}"
    digits = max(1, 1 - math.floor(math.log10(ratio - 1)))  # two of what is above 1
    return f"; a ratio of sds of {ratio:.{digits}f} is detected {power}"


def sensitivity(pair: Pair, rules: Rules, scale: ScoreFormat) -> Iterator[str]:
    """Which difference these scores would have shown, and how many would show this one.

    Nothing of scores without spread: every difference would be. Nor that none could have been
    shown where one was: Holm's correction may leave it a higher level than Bonferroni's.
    """
    plan = pair.plan
    n, m = (len(values) for values in pair.scores.compared)
    many = f"{n} scores each" if n == m else f"{n} and {m} scores"
    many = f"{n} pairs" if pair.scores.by_pairs else many
    needed = _needed(pair, rules, scale)
    if plan.detectable_difference is not None:
        smallest = scale.difference(plan.detectable_difference)
        yield (
            f"With {many} a difference of {smallest} is detected with a power of "
            f"{100 * rules.target_power:g} %, a smaller one less often{needed}."
        )
    elif comparison.location(pair, rules):
        return
    elif plan.least_p > rules.alpha:
        none = "no difference, however large, could have been shown by their ranks"
        yield f"With {many} {none}{needed}."
    elif not comparison.enough(pair.scores):
        takes = f"which takes {pair.scores.fewest}"
        yield f"With {many} no conclusion is drawn by rule, {takes}{needed}."


def _needed(pair: Pair, rules: Rules, scale: ScoreFormat) -> str:
    """How many scores would show the margin, or the difference that was found and its interval."""
    plan = pair.plan
    if plan.required_seeds is None:
        return ""
    what = "a difference like this one" if rules.margin is None else "the margin"
    each = "pairs" if pair.scores.by_pairs else "scores each"
    advice = "" if comparison.location(pair, rules) else ": choose their number beforehand"
    return (
        f"; {what} ({scale.difference(plan.planned_difference)}) would need "
        f"{plan.required_seeds:,} {each}{_range(plan, rules)}{advice}"
    )


def _range(plan: planning.PowerPlan, rules: Rules) -> str:
    """The same of the ends of the interval; nothing where these need as many."""
    if plan.required_range is None or plan.required_range[0] == plan.required_range[1]:
        return ""
    beyond = f"more than {planning.MOST_REQUIRED:,}"
    fewest, most = (beyond if n is None else f"{n:,}" for n in plan.required_range)
    return f" ({fewest} to {most} at the ends of the {100 * rules.confidence:g} % CI)"
