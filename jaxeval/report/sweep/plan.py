"""The plan of a sweep: its cohorts, what they cost, and what padding wastes."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from jaxeval.files import Json
from jaxeval.report.document import Document, Table
from jaxeval.report.text import counted, duration

if TYPE_CHECKING:  # without jax, as all of this room
    from jaxeval.studies.costs import Estimate


def to_dict(
    cohorts: "Sequence[Estimate]",
    runs: Sequence[Mapping[str, Json]],
    warnings: Sequence[str] = (),
) -> dict[str, Json]:
    """Plain data; runs are numbered from 1. Costs that are not known are null.

    Args:
      warnings: of what is probably a mistake in the data.
    """
    total = _totals(cohorts)
    return {
        "runs": list(runs),
        "cohorts": [
            {
                "runs": [number + 1 for number in cohort.jobs],
                "size": cohort.shape.describe(),
                **_known_costs(cohort),
            }
            for cohort in cohorts
        ],
        **(total if _is_known(cohorts) else dict.fromkeys(total)),
        **({"warnings": [*warnings]} if warnings else {}),
    }


def _known_costs(cohort: "Estimate") -> dict[str, Json]:
    costs: dict[str, Json] = {
        "micro_batch": cohort.micro_batch,
        "compile_seconds": cohort.compile_seconds,
        "train_seconds": cohort.seconds,
        "wasted": cohort.wasted,
        "megabytes": _bytes(cohort) / 2**20,
    }
    return costs if _is_known([cohort]) else dict.fromkeys(costs)


def _is_known(cohorts: "Sequence[Estimate]") -> bool:
    """Nothing is known of the costs of tasks whose members cannot be padded."""
    return all(cohort.operations for cohort in cohorts)


def _totals(cohorts: "Sequence[Estimate]") -> dict[str, float]:
    """Of all cohorts: estimated seconds, and the share of operations that is wasted."""
    operations = sum(cohort.operations for cohort in cohorts)
    needed = sum(cohort.needed for cohort in cohorts)
    return {
        "compile_seconds": sum(cohort.compile_seconds for cohort in cohorts),
        "train_seconds": sum(cohort.seconds for cohort in cohorts),
        "wasted": 1 - needed / operations if operations else 0.0,
    }


def document(cohorts: "Sequence[Estimate]", warnings: Sequence[str] = ()) -> Document:
    """A row a cohort, and the estimate of the whole."""
    rows = [
        [str(number), cohort.shape.describe(), str(len(cohort.jobs)), *_costs(cohort)]
        for number, cohort in enumerate(cohorts, 1)
    ]
    head = ["cohort", "padded to", "runs", "rows at once", "compiling", "running", "wasted", "GB"]
    total = _totals(cohorts)
    runs = sum(len(cohort.jobs) for cohort in cohorts)
    answer = [f"{counted(runs, 'run')}, {counted(len(cohorts), 'program')}"]
    if _is_known(cohorts):
        answer = [
            f"{answer[0]}; {100 * total['wasted']:.0f} % of the operations are padding",
            f"estimate: {duration(total['compile_seconds'])} of compiling, "
            f"{duration(total['train_seconds'])} of training and evaluation if no run stops "
            "early, by a cost model",
        ]
    return Document(answer, (Table(head, rows, words=2),), notes=warnings, title="Plan of a sweep")


def _costs(cohort: "Estimate") -> list[str]:
    """Rows at once, seconds, waste."""
    if not _is_known([cohort]):
        return ["-"] * 5
    seconds = (cohort.compile_seconds, cohort.seconds)
    wasted, size = f"{100 * cohort.wasted:.0f} %", f"{_bytes(cohort) / 2**30:.2f}"
    return [str(cohort.micro_batch), *map(duration, seconds), wasted, size]


def _bytes(cohort: "Estimate") -> int:
    """Of all members at once: parameters, the best ones, two moments (training.lanes: fewer)."""
    return 4 * 4 * cohort.shape.parameters() * len(cohort.jobs)
