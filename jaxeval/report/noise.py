"""Sources of the variance of scores, and the trainings that a precision needs."""

import dataclasses
from collections.abc import Mapping, Sequence

from jaxeval.report import Block, Document, Result, Table, scores, text
from jaxeval.report.scores import ScoreFormat
from jaxeval.stats import t_quantile
from jaxeval.stats.crossed import Crossed, TrainingPlan

_PARTS = {"interaction": "split x seed", "error": "repeated runs"}
_SOURCES = {
    "split": "due to the split",
    "seed": "due to the seed",
    "interaction": "due to both together",
    "error": "due to repeated runs",
}


@dataclasses.dataclass(frozen=True)
class CrossedStudy:
    """The variance components of splits and seeds, for one part of the data or a table."""

    components: Crossed
    dropped: Sequence[str]  # a line for each score that was left out
    plan: TrainingPlan | None  # None without a precision, or if all scores are equal


@dataclasses.dataclass(frozen=True, repr=False)
class Noise(Result):
    """The sources of variance, for each part of the data or for a table."""

    metric: str
    unit: str
    parts: Mapping[str, CrossedStudy]
    warnings: Sequence[str] = ()
    name: str = ""  # of the config; "": of a table

    def document(self) -> Document:
        """Returns the answer and table of the last part of the data; the others as details."""
        each = [of.components for of in self.parts.values()]
        sds = [part.sd for of in each for part in of.components.values()]
        scale = scores.score_format(self.unit, sds, max(abs(of.mean) for of in each))
        several = len(each) > 1
        metrics = [f"{name} {self.metric}" if several else self.metric for name in self.parts]
        of_parts = zip(self.parts.values(), metrics, strict=True)
        *details, blocks = (_components(of, metric, scale) for of, metric in of_parts)
        last = [*self.parts.values()][-1]
        metric = metrics[-1]
        answer = [_largest_source(last.components, metric)]
        if last.plan:
            answer.append(_advice(last.components, last.plan, metric, scale))
        title = f"Where the variance comes from: {self.name}".removesuffix(": ")
        more = [block for of in details for block in of]
        signature = text.versions()
        return Document(
            answer,
            blocks,
            self.warnings,
            details=(lambda: more) if more else None,
            title=title,
            signature=signature,
        )


def _components(study: CrossedStudy, metric: str, scale: ScoreFormat) -> list[Block]:
    """Returns the mean, a row for each component and the total, and notes."""
    of = study.components
    runs = "" if of.repeats == 1 else f" x {of.repeats} runs"
    splits, others = f"{of.splits} splits x ", "splits and seeds"
    if of.splits == 1:
        splits, others = "", "seeds"
    mean = (
        f"{scale.label(metric)}, {splits}{of.seeds} seeds{runs}: mean {scale(of.mean)}, "
        f"standard error {scale(of.mean_se)} over other {others}, {scale.ci(of.mean_interval)}"
    )
    rows = []
    for name, part in [*of.components.items(), ("any run", of.total)]:
        share = "-" if part.share is None else f"{100 * part.share:.0f}"
        with_error = name == "interaction" and of.repeats == 1  # one run a cell: inseparable
        label = _PARTS.get(name, name) + (", error" if with_error else "")
        rows.append((label, scale(part.sd), scale.interval(part.sd_interval), share))
    negative = [_PARTS.get(name, name) for name, part in of.components.items() if part.negative]
    notes = [*study.dropped]
    if of.total.sd == 0:
        notes.append("all runs have the same score")
    elif negative:
        notes.append(
            f"{text.listed(negative)}: the estimate of the variance is below 0 and shown as 0; "
            "see the interval"
        )
    return [mean, Table(("part", "sd", "95 % interval", "% of variance"), rows), *notes]


def _largest_source(crossed: Crossed, metric: str) -> str:
    """States the shares of variance, and the largest one if its interval shows that it is."""
    if crossed.total.sd == 0:
        return f"All runs have the same {metric}: its sources of variance are unknown."
    if crossed.splits == 1 and not crossed.components["error"].sd:
        return f"The same seed gave the same {metric} bit for bit: only the seed changes it."
    named = {name: _SOURCES[name] for name in crossed.components}
    if crossed.repeats == 1:
        named["interaction"] += " (and error)"  # one run a cell: inseparable
    shares = [
        f"{100 * (part.share or 0):.0f} % {named[k]}" for k, part in crossed.components.items()
    ]
    largest = max(crossed.components, key=lambda name: crossed.components[name].sd)
    others = [
        part.sd_interval.high for name, part in crossed.components.items() if name != largest
    ]
    shown = crossed.components[largest].sd_interval.low > max(others)
    which = "no part is shown to be the largest"
    which = f"the part {named[largest]} is the largest" if shown else which
    return f"The variance of {metric} is {text.listed(shares)}; {which}."


def _advice(crossed: Crossed, plan: TrainingPlan, metric: str, scale: ScoreFormat) -> str:
    """States what to train for the precision of the plan."""
    within = scores.difference(plan.precision, scale.unit)
    enough = ""
    t = t_quantile(crossed.mean_df, crossed.mean_interval.confidence)
    half = crossed.mean_se * float(t)
    if half <= plan.precision:
        runs = crossed.splits * crossed.seeds * crossed.repeats
        enough = f" The {runs} runs of this study already reach {scale.difference(half)}."
    aim = f"For a mean {metric} within {within} (half of a 95 % interval)"
    most = f"{plan.MOST:,}"
    if plan.runs is None:
        return f"{aim} not even {most} runs are enough.{enough}"
    cautious = f"over {most}" if plan.cautious_runs is None else f"{plan.cautious_runs:,}"
    return (
        f"{aim}, train {plan.runs:,} runs, each with its own split and seed; {cautious} if the sd "
        f"of a run is at the upper end of its interval.{enough}"
    )
