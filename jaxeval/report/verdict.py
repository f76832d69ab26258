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
from jaxeval.stats.pairwise import FEW, Rules
from jaxeval.stats.results import Interval
from jaxeval.stats.study import Study

TESTS = {
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
    if min(*n, pairs) < FEW:
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
    found = comparison.location(pair, rules)
    gap, won = pair.effects["difference"], pair.effects["probability_of_improvement"]
    tested = (
        f"{TESTS[one.location_test]}{_on_pairs(pair)}, corrected "
        f"p {p_value(pair.adjusted[one.location_test])}"
    )
    sizes = (
        f"difference of means {scale(gap.estimate)}{scale.unit} {scale.interval(gap.interval)}, "
        f"probability that a run of {one.a} is better {won.estimate:.2f} "
        f"[{won.interval.low:.2f}, {won.interval.high:.2f}]"
    )
    if not found:
        return f"No difference in location was shown: {sizes}; {tested}."
    higher, lower = (one.a, one.b) if found > 0 else (one.b, one.a)
    better = "" if rules.higher_is_better else f", and so {lower} is the better one"
    values = {one.a: one.first, one.b: one.second}
    medians = [scale(float(np.median(values[name]))) for name in (higher, lower)]
    return (
        f"{higher}'s distribution is higher{better}: median {medians[0]} against {medians[1]}; "
        f"{sizes}; {tested}."
    )


def _on_pairs(pair: Pair) -> str:
    if not pair.scores.by_pairs or pair.scores.paired is None:
        return ""
    return f" on {len(pair.scores.paired[0])} pairs"


def _spread(pair: Pair, rules: Rules, scale: Scale) -> str:
    one = pair.scores
    found = comparison.spread(pair, rules)
    sds = [scale(float(np.std(v, ddof=1))) for v in (one.first, one.second)]
    tested = f"Brown-Forsythe, corrected p {p_value(pair.adjusted['brown_forsythe'])}"
    if not found:
        return f"No difference in spread was shown: sd {sds[0]} against {sds[1]}; {tested}."
    wider = one.a if found > 0 else one.b
    return f"The spread differs: sd {sds[0]} against {sds[1]}, {wider}'s is wider; {tested}."


def _could_have_seen(pair: Pair, rules: Rules, scale: Scale) -> str:
    plan = pair.plan
    n, m = (len(scores) for scores in pair.scores.compared)
    many = f"{n} scores each" if n == m else f"{n} and {m} scores"
    many = f"{n} pairs" if pair.scores.by_pairs else many
    what = "a difference like this one" if rules.margin is None else "the margin"
    size = f"{scale(plan.planned_difference)}{scale.unit}"
    needed = f"; to see {what} ({size}) takes {plan.required_seeds} each"
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
    if min(pair.scores.n) >= FEW and p <= rules.alpha:
        return f"As good as equal: the means differ by less than {margin} (TOST, p {p_value(p)})."
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
