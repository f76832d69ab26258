"""How many items, answers and runs show a difference: what the verb `plan` returns."""

import dataclasses
from collections.abc import Iterator

from jaxeval.report import text
from jaxeval.report.document import Block, Document, Table
from jaxeval.report.result import Result
from jaxeval.stats.items.estimates import FEW_CLUSTERS
from jaxeval.stats.items.pilots import Pilot, Size, Spread
from jaxeval.stats.items.planning import Design, Plan


@dataclasses.dataclass(frozen=True, repr=False)
class Planned(Result):
    """A plan, and what a pilot leaves open.

    Attributes:
      spread: variances of the difference of two models' scores of an item.
      pilot: None: the spread is given.
      low, high: the plans if all variances were those at an end of their intervals.
      runs: of the pilot's two models.
    """

    plan: Plan
    spread: Spread
    pilot: Pilot | None = None
    low: Plan | None = None
    high: Plan | None = None
    runs: tuple[int, int] | None = None
    warnings: tuple[str, ...] = ()

    def document(self) -> Document:
        """What to buy next, what that shows, and what the pilot leaves open."""
        notes = [*self._notes(), *self.warnings]
        return Document([*self._answer()], [*self._blocks()], notes, title="Plan")

    def _answer(self) -> Iterator[str]:
        best = self.plan.cheapest
        if best is None:
            yield "No number of items, runs and samples that was tried suffices."
        elif self.pilot is None:
            power = f"with probability {best.power:.2f}"
            difference = f"{self.plan.difference:g}"
            yield f"{_size(best.size)}: they show a difference of {difference} {power}."
        else:
            yield f"To buy next: {self._bought(best)}."

    def _blocks(self) -> Iterator[Block]:
        plan, now, level = self.plan, self.plan.now, ""
        if self.pilot is not None:
            power = f"with probability {now.power:.2f}"
            shows = f"it shows a difference of {plan.difference:g} {power}"
            yield f"The pilot: {_size(now.size)}; {shows}."
            level = f" ({100 * self.pilot.confidence:g} % CIs, modified large-sample)"
        sds = ", ".join(f"{of.replace('_', ' ')} {self._sd(of)}" for of in self.spread.variances)
        yield f"Standard deviations of the difference{level}: {sds}"
        known = {"items": True, "samples": self.spread.samples > 0, "runs": now.size.runs > 1}
        rows = {f"more {way} alone": of for way, of in plan.ways.items() if known[way]}
        rows["cheapest"] = plan.cheapest
        head = ("", "items", "runs", "samples", "answers", "power")
        yield Table(head, [[name, *_cells(of)] for name, of in rows.items()])
        if plan.cheapest is not None and self.pilot is not None:
            said = []
            for end, of in (("low", self.low), ("high", self.high)):
                what = "nothing" if of is None else "nothing that was tried suffices"
                what = self._bought(of.cheapest) if of and of.cheapest else what
                said.append(f"at their {end} ends {what}")
            yield f"The pilot leaves open how much: with all spreads {'; '.join(said)}."

    def _notes(self) -> Iterator[str]:
        low, high = self.runs or (1, 1)
        if low != high:
            count = f"{min(low, high)} of each count as there"
            less = "less may have to be bought than said here"
            yield f"The models have {low} and {high} runs, and {count}: {less}."
        if self.plan.now.size.runs == 1:
            yield "One run of each model: it is taken as fixed, and other runs may differ."
        if self.plan.cheapest and self.plan.cheapest.size.items < FEW_CLUSTERS:
            yield f"Fewer than {FEW_CLUSTERS} items tell little of others."

    def _sd(self, name: str) -> str:
        """With its interval, of a pilot."""
        value, pilot = getattr(self.spread, name) ** 0.5, self.pilot
        if pilot is None:
            return f"{value:.3g}"
        runs, samples = pilot.size.runs, pilot.size.samples
        if {"runs": runs, "items_x_runs": runs, "samples": samples}.get(name) == 1:
            return "unknown"
        ends = (0.0 if of is None else getattr(of, name) ** 0.5 for of in (pilot.low, pilot.high))
        return f"{value:.3g} [{', '.join(f'{end:.3g}' for end in ends)}]"

    def _bought(self, design: Design) -> str:
        """What is new: 200 items, 1 run of each model."""
        both = zip(design.size, self.plan.now.size, strict=True)
        items, runs, samples = (of - there for of, there in both)
        new = [text.counted(items, "item")] if items else []
        new += [f"{text.counted(runs, 'run')} of each model"] if runs else []
        new += [f"{samples} more of each answer"] if samples > 0 else []
        answers = f", for {design.answers:,} answers"
        return f"{text.listed(new)}{answers}" if new else "nothing; this is enough"


def _size(size: Size) -> str:
    runs = f"{text.counted(size.runs, 'run')} of each model"
    return f"{text.counted(size.items, 'item')}, {runs}, {text.counted(size.samples, 'sample')}"


def _cells(design: Design | None) -> list[str]:
    if design is None:
        return [*"-----"]
    return [*map(str, design.size), f"{design.answers:,}", f"{design.power:.2f}"]
