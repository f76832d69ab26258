"""Logs of openai/evals: JSON lines of a spec, then events, then a final report.

Events of type match give accuracy, those of type metrics their numbers (evals/record.py).
"""

import math
from collections.abc import Iterator, Mapping

from jaxeval.errors import DataError
from jaxeval.files import Json
from jaxeval.runs.logs import records, streaming
from jaxeval.runs.logs.records import Keys, Notes, Record, Source

_SCORED = ("match", "metrics")


def read(source: Source, keys: Keys, notes: Notes) -> Iterator[Record]:
    """The scores of a log; several events of one kind in a sample are its several answers.

    Raises:
      DataError: naming the line.
    """
    lines = streaming.objects(source.path)
    spec = _spec(next(lines, (1, {}))[1], source)
    times: dict[tuple[str, str], int] = {}
    failed: dict[str, str] = {}
    prompts: dict[str, str] = {}
    finished = False
    for number, event in lines:
        finished = finished or "final_report" in event
        kind, data = event.get("type"), event.get("data")
        if kind not in (*_SCORED, "error", "sampling") or not isinstance(data, Mapping):
            continue
        item = records.label(event.get("sample_id"), "sample_id", source, number)
        if kind == "sampling":
            prompts.setdefault(item, records.digest(data.get("prompt")))
        elif kind == "error":
            failed[item] = ""
        for metric, score in _scores(str(kind), data):
            times[item, metric] = times.get((item, metric), 0) + 1
            yield spec._replace(
                metric=metric,
                item=item,
                score=score,
                status="scored" if math.isfinite(score) else "unscored",
                sample=times[item, metric],
                prompt=prompts.get(item, ""),
                cluster=records.cluster_of(data, keys, source, item, number),
            )
    if not finished:
        notes[f"{source.path.name}: no final report: other samples may be missing"] += 1
    scored = {item for item, _ in times}
    for item in failed:
        if item not in scored:
            yield spec._replace(item=item, status="failed")


def _spec(first: Mapping[str, Json], source: Source) -> Record:
    """What the first line says of all events."""
    spec = first.get("spec")
    if not isinstance(spec, Mapping):
        raise DataError('expected a first line {"spec": {...}}', source.path, 1)
    models = spec.get("completion_fns")
    model = ",".join(map(str, models)) if isinstance(models, list) else models
    return Record(
        records.label(model, "completion_fns", source, 1),
        records.label(spec.get("eval_name"), "eval_name", source, 1),
        "",
        "",
        math.nan,
        run_id=str(spec.get("run_id") or ""),
    )


def _scores(kind: str, data: Mapping[str, Json]) -> Iterator[tuple[str, float]]:
    if kind == "match":
        correct = records.number(data.get("correct"))
        yield "accuracy", math.nan if correct is None else correct
    elif kind == "metrics":
        for name, value in data.items():
            score = records.number(value)
            if score is not None:
                yield name, score
