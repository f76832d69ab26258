"""Plans: how many items and runs show a difference, and what a command would train."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from jaxeval.files import Json
from jaxeval.report.document import Block, Document, Result, Table
from jaxeval.report.text import counted, duration, listed
from jaxeval.stats.items.estimates import FEW_CLUSTERS
from jaxeval.stats.items.pilots import Pilot, Size, Spread
from jaxeval.stats.items.planning import Design, Plan

if TYPE_CHECKING:  # imports jax
    from jaxeval.studies.costs import Estimate

_COHORT = ("cohort", "padded to", "runs", "rows at once", "compiling", "running", "wasted", "GB")


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
        """Returns the design to buy next, its power, and what the pilot leaves open."""
        notes = [*self._notes(), *self.warnings]
        return Document([*self._answer()], [*self._blocks()], notes, title="Plan")

    def _answer(self) -> Iterator[str]:
        best, difference = self.plan.cheapest, f"{self.plan.difference:g}"
        if best is None:
            yield "No number of items, runs and samples that was tried suffices."
        elif self.pilot is None:
            power = f"with probability {best.power:.2f}"
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
            ends = []
            for end, of in (("low", self.low), ("high", self.high)):
                what = "nothing" if of is None else "nothing that was tried suffices"
                what = self._bought(of.cheapest) if of and of.cheapest else what
                ends.append(f"at their {end} ends {what}")
            yield f"The pilot leaves open how much: with all spreads {'; '.join(ends)}."

    def _notes(self) -> Iterator[str]:
        low, high = self.runs or (1, 1)
        if low != high:
            count = f"{min(low, high)} of each count as there"
            less = "less may have to be bought than said here"
            yield f"The models have {low} and {high} runs, and {count}: {less}."
        if self.plan.now.size.runs == 1:
            yield "One run of each model: it is taken as fixed, and other runs may differ."
        if self.plan.cheapest and self.plan.cheapest.size.items < FEW_CLUSTERS:
            yield f"Fewer than {FEW_CLUSTERS} items tell little about others."

    def _sd(self, name: str) -> str:
        value, pilot = getattr(self.spread, name) ** 0.5, self.pilot
        if pilot is None:
            return f"{value:.3g}"
        runs, samples = pilot.size.runs, pilot.size.samples
        if {"runs": runs, "items_x_runs": runs, "samples": samples}.get(name) == 1:
            return "unknown"
        ends = (0.0 if of is None else getattr(of, name) ** 0.5 for of in (pilot.low, pilot.high))
        return f"{value:.3g} [{', '.join(f'{end:.3g}' for end in ends)}]"

    def _bought(self, design: Design) -> str:
        """Returns what is new: "200 items, 1 run of each model, for 400 answers"."""
        both = zip(design.size, self.plan.now.size, strict=True)
        items, runs, samples = (size - there for size, there in both)
        new = [counted(items, "item")] if items else []
        new += [f"{counted(runs, 'run')} of each model"] if runs else []
        new += [f"{samples} more of each answer"] if samples > 0 else []
        answers = f", for {design.answers:,} answers"
        return f"{listed(new)}{answers}" if new else "nothing; this is enough"


def _size(size: Size) -> str:
    runs = f"{counted(size.runs, 'run')} of each model"
    return f"{counted(size.items, 'item')}, {runs}, {counted(size.samples, 'sample')}"


def _cells(design: Design | None) -> list[str]:
    if design is None:
        return [*"-----"]
    return [*map(str, design.size), f"{design.answers:,}", f"{design.power:.2f}"]


@dataclasses.dataclass(frozen=True, repr=False)
class SweepPlan(Result):
    """The plan of a sweep: the values of each run, cohorts, warnings about the data."""

    runs: Sequence[Mapping[str, Json]]
    cohorts: "Sequence[Estimate]"
    warnings: Sequence[str] = ()
    jobs: str | None = None  # of a launcher

    def to_dict(self) -> dict[str, Json]:
        """Returns runs, numbered from 1, and cohorts; unknown costs are null."""
        cohorts: list[Json] = []
        for of in self.cohorts:
            costs: dict[str, Json] = {
                "micro_batch": of.micro_batch,
                "compile_seconds": of.compile_seconds,
                "train_seconds": of.seconds,
                "wasted": of.wasted,
                "megabytes": _bytes(of) / 2**20,
            }
            known = costs if of.operations else dict.fromkeys(costs)
            numbers: list[Json] = [number + 1 for number in of.jobs]
            cohorts.append({"runs": numbers, "size": of.shape.describe(), **known})
        warnings: dict[str, Json] = {"warnings": [*self.warnings]} if self.warnings else {}
        jobs: dict[str, Json] = {"jobs": self.jobs} if self.jobs else {}
        return {"runs": list(self.runs), "cohorts": cohorts, **self._totals(), **jobs, **warnings}

    def _totals(self) -> dict[str, float | None]:
        """Returns seconds and wasted operations; None for a task whose members are not padded."""
        operations = sum(of.operations for of in self.cohorts)
        needed = sum(of.needed for of in self.cohorts)
        totals = {
            "compile_seconds": sum(of.compile_seconds for of in self.cohorts),
            "train_seconds": sum(of.seconds for of in self.cohorts),
            "wasted": 1 - needed / operations if operations else 0.0,
        }
        known = all(of.operations for of in self.cohorts)
        return {name: value if known else None for name, value in totals.items()}

    def document(self) -> Document:
        """Returns a row for each cohort, and the estimate of the whole."""
        rows = []
        for number, of in enumerate(self.cohorts, 1):
            seconds = duration(of.compile_seconds), duration(of.seconds)
            size = f"{100 * of.wasted:.0f} %", f"{_bytes(of) / 2**30:.2f}"
            costs = [str(of.micro_batch), *seconds, *size] if of.operations else ["-"] * 5
            rows.append([str(number), of.shape.describe(), str(len(of.jobs)), *costs])
        runs = counted(sum(len(of.jobs) for of in self.cohorts), "run")
        answer, totals = [f"{runs}, {counted(len(self.cohorts), 'program')}"], self._totals()
        compiling, training, wasted = totals.values()
        if compiling is not None and training is not None and wasted is not None:
            answer = [
                f"{answer[0]}; {100 * wasted:.0f} % of the operations are padding",
                f"estimate: {duration(compiling)} of compiling, {duration(training)} of training "
                "and evaluation if no run stops early, by a cost model",
            ]
        answer += [f"jobs: {self.jobs}"] if self.jobs else []
        table = Table(_COHORT, rows, words=2)
        return Document(answer, (table,), notes=self.warnings, title="Plan of a sweep")


def _bytes(cohort: "Estimate") -> int:
    """Returns the bytes of all members: parameters, the best ones, two moments of Adam."""
    return 4 * 4 * cohort.shape.parameters() * len(cohort.jobs)


@dataclasses.dataclass(frozen=True, repr=False)
class JudgePlan(Result):
    """The compiled programs that would be trained to judge files of vectors."""

    files: Mapping[str, str]
    programs: Sequence[Mapping[str, object]]

    def document(self) -> Document:
        """Returns a row for each program."""
        rows = [[str(value) for value in program.values()] for program in self.programs]
        trainings = counted(sum(int(str(of["members"])) for of in self.programs), "training")
        return Document(
            [f"{trainings} in {counted(len(rows), 'program')}."],
            [Table([*self.programs[0]], rows, words=3), *map(": ".join, self.files.items())],
        )
