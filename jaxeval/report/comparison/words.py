"""Names, scales, numbers of units and signatures of comparisons."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from jaxeval.report import scores, text
from jaxeval.report.scores import ScoreFormat
from jaxeval.runs import metrics
from jaxeval.stats.items.study import ItemStudy
from jaxeval.stats.pairs import Pair
from jaxeval.stats.power import Primary
from jaxeval.stats.results import Interval
from jaxeval.stats.study import RunStudy

Study = RunStudy | ItemStudy
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
_CORRECTIONS = {
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
_CHANCE = "probability_of_improvement"
_TURNED = {"better": "worse", "worse": "better"}


def on(data_set: str | None) -> str:
    """on books."""
    return f" on {data_set}" if data_set else ""


def title(pair: Pair) -> str:
    """Who is compared with whom, and on what."""
    return f"{pair.a} against {pair.b}{on(pair.data_set)}"


def turned(pair: Pair) -> Pair:
    """The same of B against A: what is said of location has the other sign, spread stays."""
    effects, beside = dict(pair.effects), pair.by_margin
    if (won := effects.get(_CHANCE)) is not None:
        estimate, interval = 1 - won.estimate, _turned(won.interval, 1.0)
        effects[_CHANCE] = dataclasses.replace(won, estimate=estimate, interval=interval)
    if beside is not None:
        outcome = _TURNED.get(beside.outcome, beside.outcome)
        beside = beside._replace(outcome=outcome)  # type: ignore[arg-type]
    gap, sample = pair.difference, pair.as_sample
    return dataclasses.replace(
        pair,
        a=pair.b,
        b=pair.a,
        value=0.0 - pair.value,  # never -0.0
        interval=_turned(pair.interval),
        shown=-pair.shown,
        effects=effects,
        difference=gap and gap.swapped,
        as_sample=sample and sample.swapped,
        by_margin=beside,
    )


def _turned(of: Interval, whole: float = 0.0) -> Interval:
    return of._replace(low=whole - of.high, high=whole - of.low)


def scale(study: Study, data_set: str | None = None) -> ScoreFormat:
    """How scores are read: by the unit that their source or their metric's name gives.

    A table or a log may hold percentages already (an accuracy of 85.3): they stay as they are.

    Args:
      data_set: of items, on which; None: of all together.
    """
    if isinstance(study, RunStudy):
        sds = [of.summary.sd for of in study.models if of.summary.sd is not None]
        largest = float(np.abs(study.scores.known).max(initial=0.0))
        return scores.scale(study.scores.stored_unit, sds, largest)
    pairs = [pair for pair in study.pairs if data_set is None or pair.data_set == data_set]
    units = {metrics.unit_of(pair.metric.split("/")[0]) for pair in pairs}
    largest = max(abs(mean.value) for pair in pairs for mean in pair.means)
    unit = units.pop() if len(units) == 1 else "number"
    if largest > 1 and scores.factor(unit) > 1:
        unit = "number"
    return scores.scale(unit, [pair.difference.se for pair in pairs if pair.difference], largest)


def level(study: Study) -> str:
    """95 % CI."""
    return f"{100 * study.rules.confidence:.3g} % CI"


def p(study: Study) -> str:
    """What stands before p-values of pairs."""
    overall = 0 if isinstance(study, RunStudy) else len(study.overall)
    return "p" if len(study.pairs) + overall == 1 else "corrected p"


def direction(metric: str, higher_is_better: bool, assumed: bool) -> str:
    """Which scores are better."""
    return f"{metric or 'score'}: {text.direction(higher_is_better, assumed)}"


def directions(study: Study) -> list[str]:
    """Which scores of each metric are better."""
    every = [study.scores] if isinstance(study, RunStudy) else study.data_sets
    said = (direction(of.metric, of.higher_is_better, of.direction == "assumed") for of in every)
    return [*dict.fromkeys(said)]


def unit(study: RunStudy) -> str:
    """What one score stands for."""
    many = text.ranging(study.averaged)
    mean = f", each the mean of {many} scores" if many != "1" else ""
    return f"unit of replication: {study.unit}{mean}"


def sizes(pairs: Sequence[Pair]) -> str:
    """8 runs each, 3 to 5 runs each, 10 splits: what the tests of pairs of whole runs rest on."""
    every = [pair.scores for pair in pairs if pair.scores]
    unit, by_pairs = every[0].unit, [of.by_pairs for of in every]
    many = text.ranging(len(values) for of in every for values in of.compared)
    return f"{many} {unit}{'' if many == '1' else 's'}{'' if all(by_pairs) else ' each'}"


def primary(of: Primary) -> str:
    """The tests of location: Welch's t, Holm over 6 comparisons, level .05, two-sided."""
    many = text.counted(of.comparisons, "comparison")
    how = f"{_CORRECTIONS[of.correction]} over {many}" if of.comparisons > 1 else many
    tests = [TESTS[name] for name in of.tests]
    return ", ".join([*tests, how, f"level {text.level(of.level)}", "two-sided"])


def families(study: ItemStudy) -> str:
    """Over what p-values are corrected: those of the mean over tasks are a family of their own."""
    if len(study.pairs) == 1:
        return "one comparison"
    said = f"Holm over {text.counted(len(study.pairs), 'pair')}"
    if len(study.data_sets) == 1:
        return said
    means = text.counted(len(study.overall), "pair")
    return f"{said} and tasks" + (
        f", and over {means} in the mean over tasks" if study.overall else ""
    )


def signature(study: Study) -> str:
    """Everything that fixes the numbers: versions, rules, corrections, seeds."""
    rules, intervals = study.rules, f"{100 * study.rules.confidence:.3g} % "
    differences: list[Interval | None] = [pair.interval for pair in study.pairs]
    if isinstance(study, ItemStudy):
        means: list[Interval | None] = [of.interval for pair in study.pairs for of in pair.means]
        intervals += text.methods({"means": means, "differences": differences})
        intervals += "; of ranks by Holm's tests of all pairs"
        tests = f"level {rules.alpha:g}, {families(study)}"
        said = [tests, intervals, f"margin {rules.margin or 0:g}"]
    else:
        of = study.families
        further = (
            f"{_CORRECTIONS[rules.correction]} over {text.counted(of.spread, 'test')} of spread "
            f"and over {of.further} secondary ones"
        )
        how = ["sd ddof 1, quartiles type 7", primary(study.primary), further]
        means = [of.summary.mean_interval for of in study.models]
        kinds: dict[str, Sequence[Interval | None]] = {"means": means, "differences": differences}
        kinds["P(A better)"] = [pair.effects[_CHANCE].interval for pair in study.pairs]
        if study.across and (found := study.across.aggregates):
            typical = [effect.interval for effect in found.interquartile_mean.values()]
            chances = [effect.interval for effect in found.improvement.values()]
            kinds |= {"interquartile means": typical, "P(A better) over data sets": chances}
        intervals += text.methods(kinds)
        said = [unit(study), *how, intervals, f"missing {study.scores.missing}"]
    drawn = f"resamples {rules.resamples}, seed {rules.seed}"
    return " | ".join([text.versions(), *said, drawn])
