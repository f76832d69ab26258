"""`jaxeval plan`: how many items, answers or runs show a difference between two models."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxeval import parameters, sources
from jaxeval.errors import ConfigError, DataError, argument
from jaxeval.parameters import Positive, Probability
from jaxeval.report import Block, Document, Result, Table, text
from jaxeval.runs import logs as evaluations
from jaxeval.runs import metrics
from jaxeval.runs.layout import Mismatched, Missing
from jaxeval.runs.scores import Scores
from jaxeval.stats import pilots, planning, tasks
from jaxeval.stats.estimates import FEW_CLUSTERS
from jaxeval.stats.pilots import Pilot, Size, Spread
from jaxeval.stats.planning import Design, Plan


@parameters.verb
def plan(
    *, difference: Positive, sd: Positive, power: Probability = 0.8, alpha: Probability = 0.05
) -> "Planned":
    """Plans how many items detect a difference between two models with one run each.

    Args:
      difference: difference to detect, in the unit of the scores; .01 is one point of accuracy.
      sd: standard deviation over items of the difference between the models.

    Examples:
      jaxeval plan --difference 0.03 --sd 0.33333
      jaxeval plan logs logs --difference 0.02 --model new --minus old --metric acc
    """
    spread = pilots.Spread(sd * sd)
    found = planning.plan(difference, spread, pilots.Size(2), power=power, alpha=alpha)
    return Planned(found, spread)


@parameters.verb
def plan_logs(
    *logs: str | Path,
    difference: Positive,
    model: str,
    minus: str,
    power: Probability = 0.8,
    alpha: Probability = 0.05,
    task: Sequence[str] = (),
    metric: str | None = None,
    column: Mapping[str, str] | None = None,
    cluster: str | None = None,
    missing: Missing = "error",
    mismatched: Mismatched = "error",
    lower_is_better: bool | None = None,
) -> "Planned":
    """Plans how many items, answers or runs detect a difference, from logs of both models.

    Args:
      logs: evaluation logs, as in `compare logs`.
      difference: difference to detect, in the unit of the scores; .01 is one point of accuracy.
      model, minus: one of the two models.
      task, metric: the task and metric, if logs have several.
      column: ROLE=KEY, if predictions have other keys.
      cluster: key that groups items: items with the same value form a cluster.
      missing, mismatched: as in `compare logs`.

    Examples:
      jaxeval plan logs new=new.jsonl old=old.jsonl --difference 0.02 --model new --minus old
    """
    own: Any = {"cluster": cluster or "", "tasks": task, "mismatched": mismatched}
    both = (model, minus)
    asked = sources.layout(column, None, metric, missing, lower_is_better, both, **own)
    return _of_pilot(evaluations.read(logs, asked), model, minus, difference, power, alpha)


def _of_pilot(
    scores: Scores, model: str, minus: str, difference: float, power: float, alpha: float
) -> "Planned":
    if model == minus:
        raise ConfigError(f"expected two models, found {model!r} twice")
    data, counts, _ = (found := tasks.tasks(scores.only([model, minus])))[0]
    if len(found) > 1:
        names = ", ".join(task.data.name for task in found)
        choose = f"plan logs takes one, by {argument('task', 'NAME')}"
        raise DataError(f"several data sets ({names}); {choose}", scores.source)
    metrics.refuse_points("difference", difference, data.stored_unit)
    pilot = pilots.pilot(data, model, minus)

    def planned(spread: Spread) -> Plan:
        return planning.plan(difference, spread, pilot.size, power=power, alpha=alpha)

    return Planned(
        planned(pilot.spread),
        pilot.spread,
        pilot,
        low=planned(pilot.low) if pilot.low else None,
        high=planned(pilot.high),
        runs=(counts.runs[model], counts.runs[minus]),
        warnings=(*scores.warnings, *counts.warnings()),
    )


@dataclasses.dataclass(frozen=True, repr=False)
class Planned(Result):
    """A plan of an evaluation, and what a pilot leaves open."""

    plan: Plan
    spread: Spread  # variances of the difference of two models' scores of an item
    pilot: Pilot | None = None  # None if the spread is given
    low: Plan | None = None  # if all variances were at the lower ends of their intervals
    high: Plan | None = None
    runs: tuple[int, int] | None = None  # of the pilot's two models
    warnings: tuple[str, ...] = ()

    def document(self) -> Document:
        """Returns the design to evaluate next, its power, and what the pilot leaves open."""
        notes = [*self._notes(), *self.warnings]
        return Document([*self._answer()], [*self._blocks()], notes, title="Plan")

    def _answer(self) -> Iterator[str]:
        best = self.plan.cheapest
        difference = f"{self.plan.difference:g}"
        if best is None:
            runs = "" if self.pilot is None else "add runs, or "
            yield f"No design that was tried suffices: {runs}plan for a larger difference."
        elif self.pilot is None:
            power = f"with probability {best.power:.2f}"
            yield f"{_size(best.size)}: they detect a difference of {difference} {power}."
        else:
            yield f"Most useful next: {self._bought(best)}."

    def _blocks(self) -> Iterator[Block]:
        plan, now, level = self.plan, self.plan.now, ""
        if self.pilot is not None:
            power = f"with probability {now.power:.2f}"
            shows = f"it detects a difference of {plan.difference:g} {power}"
            yield f"The pilot: {_size(now.size)}; {shows}."
            level = f" ({100 * self.pilot.confidence:g} % CIs, modified large-sample)"
        sds = ", ".join(f"{of.replace('_', ' ')} {self._sd(of)}" for of in self.spread.variances)
        yield f"Standard deviations of the difference{level}: {sds}"
        known = {"items": True, "samples": self.spread.samples > 0, "runs": now.size.runs > 1}
        rows = {f"more {way} alone": of for way, of in plan.ways.items() if known[way]}
        rows["cheapest"] = plan.cheapest
        answers = "answers" if self.pilot is None else "new answers"
        head = ("", "items", "runs", "samples", answers, "power")
        yield Table(head, [[name, *self._cells(of)] for name, of in rows.items()])
        if plan.cheapest is not None and self.pilot is not None:
            ends = []
            for end, of in (("low", self.low), ("high", self.high)):
                what = "nothing" if of is None else "nothing that was tried suffices"
                what = self._bought(of.cheapest) if of and of.cheapest else what
                ends.append(f"at their {end} ends: {what}")
            yield f"The pilot is uncertain: with all standard deviations {'; '.join(ends)}."

    def _notes(self) -> Iterator[str]:
        low, high = self.runs or (1, 1)
        if low != high:
            count = f"{min(low, high)} of each count"
            less = "you may need less than this plan says"
            yield f"The models have {low} and {high} runs, and {count}: {less}."
        if self.plan.now.size.runs == 1:
            yield "Each model has one run: the plan holds for these runs only."
        if self.plan.cheapest and self.plan.cheapest.size.items < FEW_CLUSTERS:
            yield f"Fewer than {FEW_CLUSTERS} items tell little about others."

    def _sd(self, name: str) -> str:
        value = getattr(self.spread, name) ** 0.5
        pilot = self.pilot
        if pilot is None:
            return f"{value:.3g}"
        runs, samples = pilot.size.runs, pilot.size.samples
        if {"runs": runs, "items_x_runs": runs, "samples": samples}.get(name) == 1:
            return "unknown"
        ends = (0.0 if of is None else getattr(of, name) ** 0.5 for of in (pilot.low, pilot.high))
        return f"{value:.3g} [{', '.join(f'{end:.3g}' for end in ends)}]"

    def _cells(self, design: Design | None) -> list[str]:
        if design is None:
            return [*"-----"]
        counts = (*design.size, self._answers(design))
        return [*(f"{count:,}" for count in counts), f"{design.power:.2f}"]

    def _answers(self, design: Design) -> int:
        """Returns the number of answers that the pilot lacks."""
        return design.answers - (self.plan.now.answers if self.pilot else 0)

    def _bought(self, design: Design) -> str:
        """Returns what is new: "200 more items, for 400 new answers"."""
        both = zip(design.size, self.plan.now.size, strict=True)
        items, runs, samples = (size - there for size, there in both)
        new = [text.counted(items, "more item")] if items else []
        new += [f"{text.counted(runs, 'more run')} of each model"] if runs else []
        new += [f"{samples} more of each answer"] if samples > 0 else []
        answers = f", for {self._answers(design):,} new answers"
        return f"{text.listed(new)}{answers}" if new else "nothing; this is enough"


def _size(size: Size) -> str:
    runs = f"{text.counted(size.runs, 'run')} of each model"
    return f"{text.counted(size.items, 'item')}, {runs}, {text.counted(size.samples, 'sample')}"
