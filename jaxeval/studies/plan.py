"""What would be done, as plain data: config, sizes, compiled programs, memory."""

import jax

from jaxeval import backend
from jaxeval.config import reading
from jaxeval.files import Json
from jaxeval.population import lanes, schedule
from jaxeval.studies import memory
from jaxeval.studies.cohorts import Cohort


def describe(cohort: Cohort) -> dict[str, Json]:
    """The plan of one cohort, all of whose trials have one config."""
    own = cohort.entries[0].prepared
    source, training = own.source, own.config.training
    width = lanes.round_up(training.width(len(cohort.members)), lanes.make_mesh())
    count = memory.parameters(cohort.problem, cohort.members[0])
    shapes = len(source.corpus.buckets)
    batches = _batches(cohort)
    return {
        "experiment": own.record.id,
        "config": reading.to_dict(own.config),
        **source.facts,
        **source.findings.facts,
        **({"warnings": [*source.findings.warnings]} if source.findings.warnings else {}),
        "metric": own.task.metric.name,
        "parameters": count,
        "members": len(cohort.members),
        "cohorts": 1,
        "lanes": f"{width} on {backend.describe()}",
        "batches": batches,
        "compiled_programs": {
            "train epoch": f"{shapes} shapes, batch {max(batch['at_once'] for batch in batches)}",
            "evaluation": f"{shapes} shapes, batch {training.evaluation_batch_size}",
            "lane loading": 1,
            "keep best": 1,
        },
        "memory_megabytes": {
            "corpus, on each device": _megabytes(
                sum(leaf.nbytes for leaf in jax.tree.leaves(cohort.problem.corpus))
            ),
            # params, best params and at most two moments of the optimiser
            "population": _megabytes(4 * 4 * count * width),
        },
    }


def _batches(cohort: Cohort) -> list[dict[str, float]]:
    """For each batch size of the members: rows asked for, computed at once, and really taken.

    A bucket's last batch is of what is left, so that an update has fewer rows on average.
    """
    program, split = cohort.problem.program, cohort.entries[0].prepared.source.split(0)
    rows = [len(rows) for rows in split.train]
    sizes = {
        int(dict(member.hparams).get("batch_size", program.batch_size))
        for member in cohort.members
    }
    return [
        {
            "nominal": size,
            "at_once": min(program.at_once, size),
            "micro_batches": -(-size // program.at_once),
            "updates_an_epoch": int(schedule.steps(rows, size).count),
            "effective": round(sum(rows) / int(schedule.steps(rows, size).count), 1),
        }
        for size in sorted(sizes)
    ]


def _megabytes(size: float) -> float:
    """Bytes as megabytes, to a tenth."""
    return round(size / 2**20, 1)
