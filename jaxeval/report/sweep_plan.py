"""The plan of a sweep: its cohorts, what they cost, and what padding wastes."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from jaxeval.files import Json
from jaxeval.report.document import Document, Table
from jaxeval.report.result import Result
from jaxeval.report.text import counted, duration

if TYPE_CHECKING:  # without jax, as all of this room
    from jaxeval.studies.costs import Estimate

_HEAD = ("cohort", "padded to", "runs", "rows at once", "compiling", "running", "wasted", "GB")


@dataclasses.dataclass(frozen=True, repr=False)
class SweepPlan(Result):
    """What a sweep would train: drawn values of each run, cohorts, warnings about the data."""

    runs: Sequence[Mapping[str, Json]]
    cohorts: "Sequence[Estimate]"
    warnings: Sequence[str] = ()

    def to_dict(self) -> dict[str, Json]:
        """Runs, numbered from 1, and cohorts. Costs that are not known are null."""
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
        total = self._totals()
        known = total if self._known else dict.fromkeys(total)
        said: dict[str, Json] = {"warnings": [*self.warnings]} if self.warnings else {}
        return {"runs": list(self.runs), "cohorts": cohorts, **known, **said}

    @property
    def _known(self) -> bool:
        """Nothing is known of the costs of tasks whose members cannot be padded."""
        return all(cohort.operations for cohort in self.cohorts)

    def _totals(self) -> dict[str, Json]:
        """Estimated seconds of all cohorts, and the share of operations that is wasted."""
        operations = sum(of.operations for of in self.cohorts)
        needed = sum(of.needed for of in self.cohorts)
        return {
            "compile_seconds": sum(of.compile_seconds for of in self.cohorts),
            "train_seconds": sum(of.seconds for of in self.cohorts),
            "wasted": 1 - needed / operations if operations else 0.0,
        }

    def document(self) -> Document:
        """A row a cohort, and the estimate of the whole."""
        rows = []
        for number, of in enumerate(self.cohorts, 1):
            seconds = duration(of.compile_seconds), duration(of.seconds)
            size = f"{100 * of.wasted:.0f} %", f"{_bytes(of) / 2**30:.2f}"
            costs = [str(of.micro_batch), *seconds, *size] if of.operations else ["-"] * 5
            rows.append([str(number), of.shape.describe(), str(len(of.jobs)), *costs])
        runs = counted(sum(len(of.jobs) for of in self.cohorts), "run")
        answer = [f"{runs}, {counted(len(self.cohorts), 'program')}"]
        if self._known:
            compiling, training, wasted = (float(str(of)) for of in self._totals().values())
            answer = [
                f"{answer[0]}; {100 * wasted:.0f} % of the operations are padding",
                f"estimate: {duration(compiling)} of compiling, {duration(training)} of training "
                "and evaluation if no run stops early, by a cost model",
            ]
        table = Table(_HEAD, rows, words=2)
        return Document(answer, (table,), notes=self.warnings, title="Plan of a sweep")


def _bytes(cohort: "Estimate") -> int:
    """Of all members at once: parameters, the best ones, two moments (training.lanes: fewer)."""
    return 4 * 4 * cohort.shape.parameters() * len(cohort.jobs)
