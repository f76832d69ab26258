"""What a study says, in sentences that a reviewer would accept."""

import math
import platform
from collections.abc import Iterator, Sequence
from importlib import metadata

import numpy as np

from jaxeval import __version__
from jaxeval.report import summary
from jaxeval.runs.checks import Unusable
from jaxeval.runs.layout import Missing
from jaxeval.stats import comparison
from jaxeval.stats.comparison import Pair
from jaxeval.stats.pairwise import Rules
from jaxeval.stats.results import Interval
from jaxeval.stats.study import Study

TESTS = {
    "brunner_munzel": "Brunner-Munzel",
    "mann_whitney_u": "Mann-Whitney U",
    "wilcoxon_signed_rank": "Wilcoxon signed-rank",
    "brown_forsythe": "Brown-Forsythe",
    "kolmogorov_smirnov": "Kolmogorov-Smirnov",
    "welch_t": "Welch t",
    "sign_test": "sign test",
    "permutation_test": "permutation of means",
    "tost": "equivalence (TOST)",
}


class Scale:
    """How scores are shown: fractions in percent, all others as they are."""

    def __init__(self, study: Study):
        scores, metric = study.table.score, study.table.metric
        inside = bool(len(scores)) and float(scores.min()) >= 0 and float(scores.max()) <= 1
        named = metric is None or summary.is_fraction(metric)
        self.percent = inside and named and study.table.higher_is_better
        sds = [d.summary.sd for d in study.described if d.summary.sd]
        smallest = min(sds, default=1.0) * (100 if self.percent else 1)
        wanted = 2 - math.floor(math.log10(smallest))
        self._digits = max(0, min(8, max(2, wanted - 1) if self.percent else wanted))

    @property
    def unit(self) -> str:
        """Of differences."""
        return " points" if self.percent else ""

    def __call__(self, value: float | None, more: int = 0) -> str:
        """A score, with enough digits for its spread."""
        if value is None or not math.isfinite(value):
            return "-"
        return f"{value * (100 if self.percent else 1):.{self._digits + more}f}"

    def interval(self, found: Interval | None) -> str:
        """[low, high]."""
        return "" if found is None else f"[{self(found.low)}, {self(found.high)}]"


def p_value(value: float) -> str:
    """As it is printed: = .031 or < .001."""
    return "< .001" if value < 0.001 else f"= {value:.3f}".replace("0.", ".")


def of_pair(pair: Pair, rules: Rules, scale: Scale) -> Iterator[str]:
    """Location, spread, what could have been seen, equivalence: a sentence each."""
    n, pairs = pair.scores.n, len(pair.scores.compared[0])
    if not comparison.enough(pair.scores):
        counted = f"{pairs} pairs" if pair.scores.by_pairs else f"{n[0]} and {n[1]} scores"
        yield f"No verdict: with {counted} neither location nor spread can be judged."
    else:
        yield _location(pair, rules, scale)
        yield _spread(pair, rules, scale)
    yield _could_have_seen(pair, rules, scale)
    if rules.margin is not None:
        yield _equivalence(pair, rules, scale)


def _location(pair: Pair, rules: Rules, scale: Scale) -> str:
    one = pair.scores
    shown = comparison.location(pair, rules)
    if not shown:
        return f"{_nothing_shown(pair, rules)}: {_sizes(pair, scale)}; {_tested(pair)}."
    higher, lower = (one.a, one.b) if shown > 0 else (one.b, one.a)
    medians = [scale(float(np.median(scores))) for scores in one.compared[::shown]]
    measured = f"median {medians[0]} against {medians[1]}; {_sizes(pair, scale)}; {_tested(pair)}"
    others = comparison.against(pair, rules)
    if others:
        said = disagree(TESTS[one.location_test], higher, lower, others)
        return f"{said[0].upper()}{said[1:]}: {measured}."
    better = "" if rules.higher_is_better else f", and so {lower} is the better one"
    return f"{higher}'s distribution is higher{better}: {measured}."


def disagree(test: str, higher: str, lower: str, others: Sequence[str]) -> str:
    """That a test names one model as higher, and some measures the other."""
    return (
        f"measures of location disagree: {test} finds {higher}'s scores higher, but by the "
        f"{_listed(others)}, {lower}'s are"
    )


def _nothing_shown(pair: Pair, rules: Rules) -> str:
    """How the sentence begins; an interval of the mean difference beside 0 is explained."""
    head = "No difference in location was shown"
    if not comparison.excludes_zero(pair):
        return head
    beside = "the interval of the difference of means excludes 0"
    p = pair.tests[pair.scores.location_test].p_value
    if p <= rules.alpha:
        return f"{head} after the correction (p {p_value(p)} without it), though {beside}"
    return f"{head} by the ranks of the scores, though {beside}: the two measures disagree"


def _sizes(pair: Pair, scale: Scale) -> str:
    """The mean difference, and how often A is better: of what, is said."""
    one, gap = pair.scores, pair.effects["difference"]
    won = pair.effects["probability_of_improvement"]
    means = "mean difference of pairs" if one.by_pairs else "difference of means"
    which = f"{one.a} is better on a {one.unit}"
    which = which if one.by_pairs else f"a {one.unit} of {one.a} is better"
    return (
        f"{means} {scale(gap.estimate)}{scale.unit} {scale.interval(gap.interval)}, "
        f"probability that {which} {won.estimate:.2f} "
        f"[{won.interval.low:.2f}, {won.interval.high:.2f}]"
    )


def _tested(pair: Pair) -> str:
    one = pair.scores
    pairs = f" on {len(one.compared[0])} pairs" if one.by_pairs else ""
    corrected = p_value(pair.adjusted[one.location_test])
    return f"{TESTS[one.location_test]}{pairs}, corrected p {corrected}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _spread(pair: Pair, rules: Rules, scale: Scale) -> str:
    one = pair.scores
    shown = comparison.spread(pair, rules)
    sds = [float(np.std(v, ddof=1)) for v in (one.first, one.second)]
    measured = f"sd {scale(sds[0])} against {scale(sds[1])}"
    tested = f"Brown-Forsythe, corrected p {p_value(pair.adjusted['brown_forsythe'])}"
    if not shown:
        return f"No difference in spread was shown: {measured}; {tested}."
    wider, other = (one.a, one.b) if shown > 0 else (one.b, one.a)
    if shown * (sds[0] - sds[1]) >= 0:
        return f"The spread differs: {measured}, {wider}'s is wider; {tested}."
    away = [scale(float(np.mean(np.abs(v - np.median(v))))) for v in (one.first, one.second)]
    return (
        f"Measures of spread disagree: {wider}'s is wider by the mean distance from the median, "
        f"{away[0]} against {away[1]}, but {other}'s by the sd, which few far scores decide: "
        f"{measured}; {tested}."
    )


def _could_have_seen(pair: Pair, rules: Rules, scale: Scale) -> str:
    plan = pair.plan
    n, m = (len(scores) for scores in pair.scores.compared)
    many = f"{n} scores each" if n == m else f"{n} and {m} scores"
    many = f"{n} pairs" if pair.scores.by_pairs else many
    what = "a difference like this one" if rules.margin is None else "the margin"
    size = f"{scale(plan.planned_difference)}{scale.unit}"
    each = "pairs" if pair.scores.by_pairs else "each"
    needed = f"; to see {what} ({size}) takes {plan.required_seeds} {each}"
    needed = needed if plan.required_seeds is not None else ""
    if plan.detectable_difference is None:
        return f"With {many} no difference, however large, could have been shown{needed}."
    return (
        f"With {many} a difference below {scale(plan.detectable_difference)}{scale.unit} would "
        f"have been missed more often than {1 - rules.target_power:.0%} of the time{needed}."
    )


def _equivalence(pair: Pair, rules: Rules, scale: Scale) -> str:
    margin = f"{scale(rules.margin)}{scale.unit}"
    p = pair.adjusted["tost"]
    if comparison.enough(pair.scores) and p <= rules.alpha:
        shown = comparison.location(pair, rules)
        if shown and not comparison.against(pair, rules):
            higher = pair.scores.a if shown > 0 else pair.scores.b
            return (
                f"{higher}'s is higher, but by less than the margin of {margin} "
                f"(means, TOST, corrected p {p_value(p)})."
            )
        tested = f"TOST, corrected p {p_value(p)}"
        return f"As good as equal: the means differ by less than {margin} ({tested})."
    return f"Not shown to be equal within {margin} (TOST, corrected p {p_value(p)})."


def of_study(study: Study, scale: Scale) -> list[str]:
    """All sentences, those of several pairs with their names."""
    pairs = study.comparison.pairs
    found = []
    for pair in pairs:
        where = f" on {pair.scores.dataset}" if pair.scores.dataset else ""
        head = f"{pair.scores.a} against {pair.scores.b}{where}: " if len(pairs) > 1 else ""
        found += [head + line for line in of_pair(pair, study.comparison.rules, scale)]
    return found


def counted(study: Study) -> list[str]:
    """How many runs failed and scores were unusable, and what became of them."""
    lines = []
    for model, statuses in study.table.statuses.items():
        listed = ", ".join(f"{n} {status.replace('_', ' ')}" for status, n in statuses.items())
        lines.append(f"{model}: {listed}")
    if study.table.unusable:
        lines.append(unusable(study.table.unusable, study.table.missing))
    return lines


def unusable(found: Sequence[Unusable], missing: Missing) -> str:
    """How many scores were unusable, and what became of them."""
    done = "counted as 0" if missing == "zero" else "left out"
    first = found[0]
    return (
        f"{len(found)} unusable scores {done}, the first in row {first.row}, column "
        f"{first.column} ({first.what})"
    )


def unit(study: Study) -> str:
    """What one score stands for."""
    low, high = study.samples.averaged
    mean = ""
    if high > 1:
        many = f"{low}" if low == high else f"{low} to {high}"
        mean = f", each the mean of {many} scores"
    return f"unit of replication: {study.samples.unit}{mean}"


def versions() -> str:
    """What computed the numbers."""
    libraries = (f"{name} {metadata.version(name)}" for name in ("numpy", "scipy"))
    return " | ".join(
        [f"jaxeval {__version__}", *libraries, f"python {platform.python_version()}"]
    )


def signature(study: Study) -> str:
    """Everything that fixes the numbers: versions, rules, corrections, seeds."""
    rules = study.comparison.rules
    compared = study.comparison
    parts = [
        versions(),
        unit(study),
        "sd ddof 1, quartiles type 7",
        f"level {rules.alpha:g}, {rules.correction} over {compared.verdict_tests} tests of "
        f"the verdict and over {compared.further_tests} further ones",
        f"intervals {rules.confidence:.0%}",
        f"resamples {rules.resamples}, seed {rules.seed}",
        f"missing {study.table.missing}",
    ]
    return " | ".join(parts)
