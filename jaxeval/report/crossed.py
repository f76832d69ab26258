"""Where the variance of scores comes from, and what to train for a precision, in words."""

import dataclasses
from collections.abc import Sequence

from jaxeval.files import Json
from jaxeval.report import plain, scores, tables, text
from jaxeval.report.scores import ScoreFormat
from jaxeval.stats.crossed import Crossed
from jaxeval.stats.designs import MOST, TrainingDesign, TrainingPlan

_PARTS = {"split": "split", "seed": "seed", "interaction": "split x seed", "error": "error"}
_WHOSE = {
    "split": "the split's",
    "seed": "the seed's",
    "interaction": "of both together",
    "error": "the error's",
}
_KINDS = {
    "independent": "each run its own split and seed",
    "nested": "each split its own seeds",
    "crossed": "every seed on every split",
}


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of the data, or the scores of a table, and what was computed of it.

    Attributes:
      dropped: a line for each split and seed that was left out.
      plan: None where no precision is asked for, or all scores are equal.
    """

    name: str
    study: Crossed
    dropped: Sequence[str]
    plan: TrainingPlan | None


def to_dict(parts: Sequence[Part], metric: str, unit: str) -> dict[str, Json]:
    """Plain data, as `noise --by split,seed --json` writes it (docs/noise.md)."""
    whole: dict[str, Json] = {"metric": metric, "unit": unit}
    for part in parts:
        others = {"dropped": part.dropped, "plan": part.plan}
        whole[part.name] = plain.record(part.study) | plain.record(others)
    return whole


def show(parts: Sequence[Part], metric: str, unit: str, details: bool = False) -> None:
    """Whose the variance is, and what to train, by the last part of the data; its table.

    Args:
      details: the tables of the other parts too.
    """
    console, scale = tables.console(), _scale(parts, unit)
    last = parts[-1]
    of, name = last.study, _named(last, parts, metric)
    console.print(sentence(of, name), markup=False, style="bold")
    if last.plan:
        console.print(advice(of, last.plan, name, scale), markup=False, style="bold")
    console.print()
    for part in parts if details else parts[-1:]:
        of = part.study
        console.print(mean(of, _named(part, parts, metric), scale), markup=False)
        head = ("part", "sd", "95 % interval", "% of variance")
        tables.print_table(console, head, rows(of, scale))
        for line in (*part.dropped, *notes(of)):
            console.print(line, markup=False)
        console.print()
    if last.plan and last.plan.designs:
        tables.print_table(console, *plan_table(last.plan, scale))
    if len(parts) > 1 and not details:
        console.print(f"--details: {parts[0].name} too", markup=False, style="dim")


def _named(part: Part, parts: Sequence[Part], metric: str) -> str:
    return metric if len(parts) == 1 else f"{part.name} {metric}"


def sentence(of: Crossed, metric: str) -> str:
    """Whose the variance is; which part is the largest, where the intervals show it."""
    if of.total.sd == 0:
        return f"All runs have the same {metric}: nothing is known of what varies it."
    named = {name: _WHOSE[name] for name in of.components}
    if of.repeats == 1:
        named["interaction"] += " (and the error's)"  # one run a cell does not tell them apart
    shares = text.listed(
        [f"{100 * (part.share or 0):.0f} % is {named[k]}" for k, part in of.components.items()]
    )
    largest = max(of.components, key=lambda name: of.components[name].sd)
    others = [part.sd_interval.high for name, part in of.components.items() if name != largest]
    shown = of.components[largest].sd_interval.low > max(others)
    which = f"what is {named[largest]} is the largest part" if shown else "no part is shown to be"
    return f"Of the variance of {metric} {shares}; {which}{'' if shown else ' the largest'}."


def _scale(parts: Sequence[Part], unit: str) -> ScoreFormat:
    sds = [part.sd for each in parts for part in each.study.components.values()]
    return scores.scale(unit, sds, max(abs(part.study.mean) for part in parts))


def mean(of: Crossed, metric: str, scale: ScoreFormat) -> str:
    """The mean with its interval."""
    runs = "" if of.repeats == 1 else f" x {of.repeats} runs"
    return (
        f"{scale.label(metric)}, {of.splits} splits x {of.seeds} seeds{runs}: mean "
        f"{scale(of.mean)}, standard error {scale(of.mean_se)} over other splits and seeds, "
        f"{scale.ci(of.mean_interval)}"
    )


def rows(of: Crossed, scale: ScoreFormat) -> list[tuple[str, str, str, str]]:
    """A row a component, and one run's total."""
    shown = []
    for name, part in [*of.components.items(), ("any run", of.total)]:
        share = "-" if part.share is None else f"{100 * part.share:.0f}"
        named = _PARTS.get(name, name)
        if name == "interaction" and of.repeats == 1:
            named += ", error"  # one run a cell does not tell them apart
        shown.append((named, scale(part.sd), scale.interval(part.sd_interval), share))
    return shown


def notes(of: Crossed) -> list[str]:
    """Estimates that are 0 for a reason."""
    negative = [_PARTS[name] for name, part in of.components.items() if part.negative]
    if of.total.sd == 0:
        return ["all runs have the same score"]
    if not negative:
        return []
    return [
        f"{text.listed(negative)}: the variance is estimated as below 0, shown as 0; the interval "
        "says what it may be"
    ]


def plan_table(
    plan: TrainingPlan, scale: ScoreFormat
) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    """Head and a row a design, the cheapest first."""
    costs = plan.split_cost > 0
    head = ["design", "splits", "seeds", "runs", *(["cost"] if costs else []), "half-width"]
    shown = [
        (
            _KINDS[design.kind],
            *(str(count) for count in (design.splits, design.seeds, design.runs)),
            *([f"{design.cost:g}"] if costs else []),
            scale(design.half_width),
        )
        for design in plan.designs
    ]
    return head, shown


def advice(of: Crossed, plan: TrainingPlan, metric: str, scale: ScoreFormat) -> str:
    """What to train, in sentences."""
    within = scores.difference(plan.precision, scale.unit)
    half = of.mean_interval.high - of.mean
    enough = ""
    if half <= plan.precision:
        runs = of.splits * of.seeds * of.repeats
        enough = f" The {runs} runs of this study reach {scale.difference(half)} already."
    aim = f"For a mean {metric} within {within} (half of a 95 % interval)"
    if not plan.designs:
        return f"{aim} no design of up to {MOST:,} runs is enough.{enough}"
    best = plan.designs[0]
    crossed = next((d for d in plan.designs if d.kind == "crossed"), None)
    other = _bought(crossed) if crossed else f"more than {MOST:,} runs"
    beside = "" if best == crossed else f"; crossed it would be {other}"
    cautious = f"over {MOST:,}" if plan.cautious_runs is None else str(plan.cautious_runs)
    return (
        f"{aim}, train {_bought(best)}{beside}. Should the sd of a run be at the upper end of its "
        f"interval, {cautious} runs, each with its own split and seed, are needed.{enough}"
    )


def _bought(design: TrainingDesign) -> str:
    each = design.runs // design.splits
    return {
        "independent": f"{design.runs} runs, each with its own split and seed",
        "nested": f"{design.splits} splits with {each} new seeds each, {design.runs} runs",
        "crossed": f"{design.splits} splits x {design.seeds} seeds, {design.runs} runs",
    }[design.kind]
