"""Names, scales and signatures of comparisons."""

from collections.abc import Sequence

import numpy as np

from jaxeval.report import scores, text
from jaxeval.report.scores import ScoreFormat
from jaxeval.runs import metrics
from jaxeval.stats.items.study import ItemStudy
from jaxeval.stats.pairs import Pair
from jaxeval.stats.results import Interval
from jaxeval.stats.run_plans import Primary
from jaxeval.stats.study import RunStudy

TESTS = {
    "brunner_munzel": "Brunner-Munzel",
    "mann_whitney_u": "Mann-Whitney U",
    "wilcoxon_signed_rank": "Wilcoxon signed-rank",
    "brown_forsythe": "Brown-Forsythe",
    "pitman_morgan": "Pitman-Morgan by ranks",
    "kolmogorov_smirnov": "Kolmogorov-Smirnov",
    "welch_t": "Welch's t",
    "paired_t": "t on pairs",
    "sign_test": "sign test",
    "permutation_test": "permutation of means",
    "tost": "equivalence (TOST)",
    "sign_flips": "paired permutation",
    "mcnemar": "McNemar",
    "approximate_randomization": "approximate randomisation",
}
CORRECTIONS = {
    "holm": "Holm",
    "bonferroni": "Bonferroni",
    "benjamini_hochberg": "Benjamini-Hochberg",
    "bergmann_hommel": "Bergmann-Hommel",
}
OVER: dict[tuple[str, ...], str] = {
    ("items",): "other items, these runs",
    ("runs",): "other runs, these items",
    ("items", "runs"): "other items and other runs",
}
MOST_PAIRS = 6  # of which sentences are printed


def on(data_set: str | None) -> str:
    """on books."""
    return f" on {data_set}" if data_set else ""


def names_of(pair: Pair, sign: int) -> tuple[str, str]:
    """The models of a pair, B first where the sign is -1."""
    return pair.names if sign > 0 else pair.names[::-1]


def title(pair: Pair) -> str:
    """Who is compared with whom, and on what."""
    metric = f", {pair.metric}" if pair.difference else ""
    return f"{pair.a} against {pair.b}{on(pair.data_set)}{metric}"


def scale_of_runs(study: RunStudy) -> ScoreFormat:
    """How a study's scores are read: by the unit that its source or its metric's name gives.

    A table may hold percentages already (an accuracy of 85.3): its scores stay as they are.
    """
    sds = [of.summary.sd for of in study.models if of.summary.sd is not None]
    largest = float(np.abs(study.scores.known).max(initial=0.0))
    return scores.scale(study.scores.stored_unit, sds, largest)


def _scale_of_items(pairs: Sequence[Pair]) -> ScoreFormat:
    """The same of pairs on items: by the metric's name, of several with one unit."""
    units = {metrics.unit_of(pair.metric.split("/")[0]) for pair in pairs}
    largest = max(abs(mean.value) for pair in pairs for mean in pair.means)
    unit = units.pop() if len(units) == 1 else "number"
    if largest > 1 and scores.factor(unit) > 1:  # a log may hold percentages already
        unit = "number"
    return scores.scale(unit, [pair.difference.se for pair in pairs if pair.difference], largest)


def scale_on(study: ItemStudy, data_set: str | None) -> ScoreFormat:
    """That of a data set; None: of all together."""
    pairs = [pair for pair in study.pairs if data_set is None or pair.data_set == data_set]
    return _scale_of_items(pairs)


def direction(metric: str, higher_is_better: bool, assumed: bool) -> str:
    """Which scores are better."""
    return f"{metric or 'score'}: {text.direction(higher_is_better, assumed)}"


def directions(study: RunStudy | ItemStudy) -> list[str]:
    """The same of each metric."""
    if isinstance(study, RunStudy):
        of = study.scores
        return [direction(of.metric, of.higher_is_better, of.direction == "assumed")]
    said = (
        direction(of.metric, of.higher_is_better, of.direction == "assumed")
        for of in study.data_sets
    )
    return [*dict.fromkeys(said)]


def unit(study: RunStudy) -> str:
    """What one score stands for."""
    low, high = study.averaged
    many = f"{low}" if low == high else f"{low} to {high}"
    mean = f", each the mean of {many} scores" if high > 1 else ""
    return f"unit of replication: {study.unit}{mean}"


def primary(of: Primary) -> str:
    """The tests of location: Welch's t, Holm over 6 comparisons, level .05, two-sided."""
    over = f"{CORRECTIONS[of.correction]} over {of.comparisons} comparisons"
    how = over if of.comparisons > 1 else text.counted(of.comparisons, "comparison")
    tests = [TESTS[name] for name in of.tests]
    return ", ".join([*tests, how, f"level {f'{of.level:g}'.removeprefix('0')}", "two-sided"])


def families(study: ItemStudy) -> str:
    """Over what p-values are corrected: those of the mean over tasks are a family of their own."""
    if len(study.pairs) == 1:
        return "one comparison"
    said = f"Holm over {text.counted(len(study.pairs), 'pair')}"
    if len(study.data_sets) == 1:
        return said
    means = text.counted(len(study.overall), "pair")
    overall = f", and over {means} in the mean over tasks" if study.overall else ""
    return f"{said} and tasks{overall}"


def signature(study: RunStudy | ItemStudy) -> str:
    """Everything that fixes the numbers: versions, rules, corrections, seeds."""
    rules = study.rules
    level = f"{100 * rules.confidence:.3g} %"
    drawn = f"resamples {rules.resamples}, seed {rules.seed}"
    if isinstance(study, ItemStudy):
        level = f"{level} {text.methods(_of_items(study))}; of ranks by Holm's tests of all pairs"
        tested = f"level {rules.alpha:g}, {families(study)}"
        margin = f"margin {rules.margin or 0:g}"
        return " | ".join([text.versions(), tested, level, margin, drawn])
    of = study.families
    further = (
        f"{CORRECTIONS[rules.correction]} over {text.counted(of.spread, 'test')} of spread and "
        f"over {of.further} secondary ones"
    )
    how = "sd ddof 1, quartiles type 7"
    level = f"{level} {text.methods(_of_runs(study))}"
    parts = [text.versions(), unit(study), how, primary(study.primary), further, level, drawn]
    return " | ".join([*parts, f"missing {study.scores.missing}"])


def _of_items(study: ItemStudy) -> dict[str, list[Interval]]:
    """Kind -> all intervals that are shown."""
    return {
        "means": [mean.interval for pair in study.pairs for mean in pair.means],
        "differences": [each.interval for pair in study.pairs for each in pair.over]
        + [pair.difference.interval for pair in study.overall if pair.difference],
        "tasks as a sample": [pair.as_sample.interval for pair in study.overall if pair.as_sample],
    }


def _of_runs(study: RunStudy) -> dict[str, list[Interval | None]]:
    named: dict[str, list[Interval | None]] = {
        "means": [of.summary.mean_interval for of in study.models],
        "differences": [pair.interval for pair in study.pairs],
        "P(A better)": [
            pair.effects["probability_of_improvement"].interval for pair in study.pairs
        ],
    }
    if study.across and study.across.aggregates:
        of = study.across.aggregates
        named |= {
            "interquartile means": [e.interval for e in of.interquartile_mean.values()],
            "optimality gaps": [e.interval for e in of.optimality_gap.values()],
            "P(A better) over data sets": [e.interval for e in of.improvement.values()],
        }
    if study.items:
        each = (of for pair in study.items.pairs for of in pair.over)
        named["differences item by item"] = [of.interval for of in each]
    return named
