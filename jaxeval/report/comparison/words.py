"""Names, units, sample sizes and signatures of comparisons."""

import dataclasses
import functools
from collections import Counter
from collections.abc import Sequence
from typing import Any

from jaxeval.errors import argument
from jaxeval.report import scores, text
from jaxeval.report.scores import ScoreFormat
from jaxeval.runs import metrics
from jaxeval.stats import Effect, describe, gaps, hypotheses
from jaxeval.stats.datasets import Across
from jaxeval.stats.describe import Summary
from jaxeval.stats.estimates import Estimate
from jaxeval.stats.pairs import Pair
from jaxeval.stats.power import Primary
from jaxeval.stats.study import Study

TESTS = {
    "brunner_munzel": "Brunner-Munzel",
    "wilcoxon_signed_rank": "Wilcoxon signed-rank",
    "brown_forsythe": "Brown-Forsythe",
    "pitman_morgan": "Pitman-Morgan by ranks",
    "welch_t": "Welch's t",
    "paired_t": "t on pairs",
    "anytime_t": "e-process of t",
    "corrected_t": "corrected resampled t",
    "sign_test": "sign test",
    "permutation_test": "permutation of means",
    "tost": "equivalence (TOST)",
    "mcnemar": "McNemar",
    "approximate_randomization": "approximate randomisation",
    **{name: words for name, (words, _) in hypotheses.FURTHER.items()},
}
_CORRECTIONS = {
    "holm": "Holm",
    "bonferroni": "Bonferroni",
    "benjamini_hochberg": "Benjamini-Hochberg",
    "bergmann_hommel": "Bergmann-Hommel",
}
_OVER: dict[tuple[str, ...], str] = {
    ("items",): "other items, these runs",
    ("runs",): "other runs, these items",
    ("items", "runs"): "other items and other runs",
}
_MANY = 10  # comparisons
CHANCE = "probability_of_improvement"  # the effect P(A better)
_SWAPPED = {"better": "worse", "worse": "better"}


def swapped(pair: Pair) -> Pair:
    """Returns the comparison of B with A: location changes its sign, spread does not."""
    effects = dict(pair.effects)
    by_margin = pair.by_margin
    if (won := effects.get(CHANCE)) is not None:
        effects[CHANCE] = reversed_chance(won)
    if by_margin is not None:
        outcome = _SWAPPED.get(by_margin.outcome, by_margin.outcome)
        by_margin = by_margin._replace(outcome=outcome)  # type: ignore[arg-type]
    difference = pair.difference and dataclasses.replace(
        pair.difference, **_turned(pair.difference)
    )
    return dataclasses.replace(
        pair,
        a=pair.b,
        b=pair.a,
        shown=-pair.shown,
        effects=effects,
        by_margin=by_margin,
        difference=difference,
        **_turned(pair),
    )


def reversed_chance(won: Effect) -> Effect:
    """Returns P(B better) for P(A better)."""
    interval = won.interval.reflected(1.0)
    return dataclasses.replace(won, estimate=1 - won.estimate, interval=interval)


def _turned(estimate: Pair | Estimate) -> dict[str, Any]:
    return {"value": 0.0 - estimate.value, "interval": estimate.interval.reflected()}  # never -0.0


@functools.lru_cache(maxsize=4)  # asked for each pair
def score_format(study: Study, data_set: str | None = None) -> ScoreFormat:
    """Returns the format of scores, by the unit that their source or metric gives.

    Scores of a table or log that are percentages already (an accuracy of 85.3) stay as they are.

    Args:
      data_set: of a study of items, the data set; None: all.
    """
    if study.run_design:
        sds = [summary.sd for *_, summary in described(study) if summary.sd is not None]
        runs = [pair.scores for pair in study.pairs if pair.scores and pair.scores.by_pairs]
        sds += [describe.sd(gaps(*of.compared)) for of in runs]  # data sets differ by far more
        return scores.score_format(study.scores.stored_unit, sds, study.scores.largest)
    pairs = [pair for pair in study.pairs if data_set is None or pair.data_set == data_set]
    units = {metrics.unit_of(pair.metric.split("/")[0]) for pair in pairs}
    largest = max(abs(mean.value) for pair in pairs for mean in pair.means)
    unit = units.pop() if len(units) == 1 else "number"
    if largest > 1 and scores.factor(unit) > 1:
        unit = "number"
    errors = [pair.difference.se for pair in pairs if pair.difference]
    return scores.score_format(unit, errors, largest)


def described(study: Study) -> list[tuple[str, str, Summary]]:
    """Returns data set, model and summary of whole runs, in the order of the source."""
    place = {model: k for k, model in enumerate(study.scores.models)}
    rows = ((of.data_set or "", row) for of in study.boards for row in of.rows)
    found = [(on, row.model, row.mean) for on, row in rows if isinstance(row.mean, Summary)]
    sets = [board.data_set for board in study.boards]
    return sorted(found, key=lambda of: (sets.index(of[0]), place[of[1]]))


def p_name(study: Study, *pairs: Pair) -> str:
    """Returns what the p-values of pairs are (default: of all), such as "corrected anytime p"."""
    every = [*study.pairs, *study.overall]
    name = "anytime p" if all(pair.looks > 1 for pair in pairs or every) else "p"
    design = study.run_design
    alone = len(every) == 1 and (design is None or design.primary.comparisons == 1)
    return name if alone else f"corrected {name}"


def in_mean(study: Study) -> str:
    """Returns " in the mean over 3 tasks", or data sets, as whole runs have."""
    of = study.item_design or (study.run_design and study.run_design.across)
    return f" in the mean over {text.counted(len(of.data_sets) if of else 0, study.noun)}"


def directions(study: Study) -> list[str]:
    """States for each metric which scores are better."""
    every = study.item_design.data_sets if study.item_design else [study.scores]
    each = ((of.higher_is_better, of.direction == "assumed", of.metric) for of in every)
    return [*dict.fromkeys(text.direction(*of) for of in each)]


def basis(study: Study) -> str:
    """States what one score of runs stands for, or what is generalised over from items."""
    if study.run_design is None:
        first = study.pairs[0].difference
        return f"over {_OVER[first.over] if first else ''}"
    many = text.ranging(study.run_design.averaged)
    mean = f", each the mean of {many} scores" if many != "1" else ""
    return f"unit of replication: {study.run_design.unit}{mean}"


def fewer_comparisons(study: Study) -> list[str]:
    """Says how a baseline lowers the number of comparisons, if these are many and show nothing."""
    if len(study.pairs) < _MANY or any(pair.shown for pair in study.pairs):
        return []
    of_model = Counter(model for pair in study.pairs for model in pair.names)
    if (most := max(of_model.values())) == len(study.pairs):
        return []
    flag = argument("control", "MODEL")
    return [f"if you chose a baseline before you saw scores, {most} comparisons suffice: {flag}"]


def sizes(pairs: Sequence[Pair]) -> str:
    """Returns the sample sizes of pairs of whole runs: "8 runs each", "10 splits"."""
    every = [pair.scores for pair in pairs if pair.scores]
    by_pairs = all(of.by_pairs for of in every)
    counts = [len(values) for of in every for values in of.compared]
    if len(every) == 1 and not by_pairs:
        return each(pairs[0], counts, every[0].unit)
    many = text.ranging(counts)
    return f"{many} {every[0].unit}{'' if many == '1' else 's'}{'' if by_pairs else ' each'}"


def each(pair: Pair, counts: Sequence[int], noun: str) -> str:
    """Returns two models' counts: "8 runs each", "3 runs of A and 20 of B", the better first."""
    (first, one), (second, other) = [*zip(counts, pair.names, strict=True)][:: pair.better or 1]
    many = text.counted(first, noun)
    return f"{many} each" if first == second else f"{many} of {one} and {second} of {other}"


def test_of(pair: Pair) -> str:
    """Returns the test that decides, and its sample sizes."""
    if pair.difference is None:
        looked = f", looked at {pair.looks} times" if pair.looks > 1 else ""
        return f"{TESTS[pair.primary]}, {sizes([pair])}{looked}"
    counts = pair.difference.sizes
    items = text.counted(counts.items, "item")
    if counts.clusters < counts.items:
        items += f" in {text.counted(counts.clusters, 'cluster')}"
    return f"over {_OVER[pair.difference.over]}; {items}, {each(pair, counts.runs, 'run')}"


def primary(of: Primary) -> str:
    """Returns the primary tests: "Welch's t, Holm over 6 comparisons, level .05, two-sided"."""
    many = text.counted(of.comparisons, "comparison")
    how = f"{_CORRECTIONS[of.correction]} over {many}" if of.comparisons > 1 else many
    tests = [TESTS[name] for name in of.tests]
    return ", ".join([*tests, how, f"level {text.level(of.level)}, two-sided"])


def tests(study: Study) -> str:
    """Returns the tests that decide, their correction and their level."""
    if study.run_design is None:
        level = text.level(study.rules.alpha)
        return f"t tests (Satterthwaite), {_families(study)}, level {level}"
    each = primary(study.run_design.primary)
    mean = study.run_design.overall_primary
    if mean is None:
        return each
    of_mean = primary(mean)
    return f"{of_mean} (mean over {study.noun}s); {each} (each {study.noun})"


def _families(study: Study) -> str:
    if len(study.pairs) == 1:
        return "one comparison"
    pairs = f"Holm over {text.counted(len(study.pairs), 'pair')}"
    if len(study.boards) == 1:
        return pairs
    means = f", and over {text.counted(len(study.overall), 'pair')} in the mean over tasks"
    return f"{pairs} and tasks{means if study.overall else ''}"


def signature(study: Study) -> str:
    """Returns one line with all that fixes the numbers: versions, rules, corrections, seeds."""
    rules = study.rules
    intervals = f"{text.confidence(study.rules)}s"
    if study.run_design is None:
        parts = [f"level {rules.alpha:g}, {_families(study)}"]
        parts.append(f"{intervals}; of ranks by Holm's tests of all pairs")
        parts.append(f"margin {rules.margin or 0:g}")
    else:
        families = study.run_design.families
        counts = {"of spread": families.spread, "of equivalence": families.equivalence}
        counts["of other kinds"] = families.further
        over = [f"{text.counted(n, 'test')} {what}" for what, n in counts.items() if n]
        parts = [
            basis(study),
            f"sd ddof 1, quartiles type 7 | {tests(study)}",
            *([f"{_CORRECTIONS[rules.correction]} over {', over '.join(over)}"] if over else []),
            f"{intervals} | missing {study.scores.missing}",
            f"resamples {rules.resamples}, seed {rules.seed}",
        ]
    return " | ".join([text.versions(), *parts])


def probability(effect: Effect) -> str:
    """Formats a probability with its interval, if it has one."""
    interval = f", {text.confidence(effect.interval)} {text.bounds(effect.interval)}"
    return f"{effect.estimate:.2f}{'' if effect.interval.absent else interval}"


def chance_over(study: Study, across: Across) -> str:
    """States which of two models has the better runs over all data sets; "" of more models."""
    chances = across.aggregates.improvement if across.aggregates else {}
    if len(chances) != 1:
        return ""
    (((a, b), won),) = chances.items()
    if won.estimate < 0.5:
        a, b = (b, a)
        won = reversed_chance(won)
    better = f"a run of {a} is better than one of {b} with probability {probability(won)}"
    return f"On these {study.noun}s {better}."
