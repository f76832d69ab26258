"""Logs of Inspect, archives (.eval) and JSON, of finished runs and of such that go on.

Of an archive only its head and the summaries of its samples are read, which hold all scores
(inspect_ai/log/_recorders/eval.py).
"""

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from jaxeval.errors import DataError
from jaxeval.files import Json
from jaxeval.runs.layout import Layout
from jaxeval.runs.logs import files, records
from jaxeval.runs.logs.records import Notes, Record, Source
from jaxeval.runs.scores import Status

# as inspect_ai's value_to_float reads them
_VALUES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_HEADER, _START = "header.json", "_journal/start.json"
_SUMMARIES, _JOURNAL = "summaries.json", "_journal/summaries/"


class _Run(NamedTuple):
    """A log's head: of which model, made how, and task."""

    model: str
    task: str
    settings: str


def read(source: Source, layout: Layout, notes: Notes) -> Iterator[Record]:
    """The scores of a log: a metric a scorer, or a scorer and a key of its value.

    Raises:
      DataError: no such log, cut short, or compressed by what is not there; samples that are none.
    """
    run, completed, held = None, None, 0
    name = source.path.name
    for key, tree in _pieces(source.path):
        if key == "eval" and isinstance(tree, Mapping):
            run = _run(tree, source)
        elif key == "status" and tree != "success":
            notes[f"{name}: status {tree}: other samples may be missing"] += 1
        elif key == "invalidated" and tree:
            notes[f"{name}: marked as invalidated"] += 1
        elif key == "results" and isinstance(tree, Mapping):
            completed = tree.get("completed_samples")
        elif key == "samples" and isinstance(tree, Mapping):
            if run is None:
                raise DataError("samples before eval, which says whose they are", source.path)
            held += 1
            yield from _sample(tree, run, source, layout, notes)
    if run is None:
        raise DataError("no eval, which says of which model and task the log is", source.path)
    records.note_lost(held, completed, source, notes)


def latest(sources: Sequence[Source], notes: Notes) -> list[Source]:
    """The logs without those of evaluations that were tried again: a later log has it all."""
    last: dict[tuple[str, ...], tuple[str, Source]] = {}
    for source in sources:
        head = next((tree for key, tree in _pieces(source.path) if key == "eval"), None)
        tree = head if isinstance(head, Mapping) else {}
        task_id = tree.get("task_id") or source.path
        key = (source.model, str(tree.get("model")), str(tree.get("task")), str(task_id))
        entry = str(tree.get("created")), source
        last[key] = max(last.get(key, entry), entry, key=lambda e: e[0])
    if len(last) < len(sources):
        notes["a log of an evaluation that was tried again is left out"] += len(sources) - len(
            last
        )
    return [source for _, source in last.values()]


def _pieces(path: Path) -> Iterator[tuple[str, Json]]:
    """Key and value of each part of a log; under "samples" each sample by itself."""
    if path.suffix != ".eval":
        yield from files.members(path, ("samples",))
        return
    with files.archive(path) as zipped:
        names = {*zipped.namelist()}
        head = _HEADER if _HEADER in names else _START
        if head not in names:
            raise DataError(f"no log of Inspect: neither {_HEADER} nor {_START} in it", path)
        yield from files.archived(zipped, head, path)
        if head == _START:  # a run that goes on has a journal instead of head and summaries
            yield "status", "started"
        if _SUMMARIES in names:
            yield from (("samples", of) for _, of in files.archived(zipped, _SUMMARIES, path))
            return
        latest: dict[tuple[str, str], Json] = {}  # a sample that was tried again is there twice
        for part in sorted((name for name in names if name.startswith(_JOURNAL)), key=_counted):
            for _, of in files.archived(zipped, part, path):
                if isinstance(of, Mapping):
                    latest[str(of.get("id")), str(of.get("epoch"))] = of
        yield from (("samples", of) for of in latest.values())


def _counted(name: str) -> tuple[int, str]:
    """The order in which a journal was written: 2.json before 10.json."""
    with contextlib.suppress(ValueError):
        return int(name.removeprefix(_JOURNAL).removesuffix(".json")), name
    return 0, name


def _run(head: Mapping[str, Json], source: Source) -> _Run:
    arguments = head.get("task_args")
    words = arguments.items() if isinstance(arguments, Mapping) else ()
    plain = [f"{k}={v}" for k, v in sorted(words) if not isinstance(v, Mapping | list | None)]
    task = records.label(head.get("task"), "eval.task", source)
    made = (head.get("model_args"), head.get("model_generate_config"))
    return _Run(
        records.label(head.get("model"), "eval.model", source),
        f"{task} ({', '.join(plain)})" if plain else task,
        records.settings(*made),
    )


def _sample(
    sample: Mapping[str, Json], run: _Run, source: Source, layout: Layout, notes: Notes
) -> Iterator[Record]:
    item = records.label(sample.get("id"), "a sample's id", source)
    base = Record(
        *(run.model, run.task, "", item, math.nan),
        sample=records.sample(sample.get("epoch"), source),
        cluster=records.cluster_of(sample.get("metadata"), layout, source, item),
        content=records.digest(sample.get("input")),
        prompt=records.digest(sample.get("target")),
        settings=run.settings,
    )
    scores = sample.get("scores")
    if not isinstance(scores, Mapping) or not scores:
        if not (sample.get("error") or sample.get("limit")):
            notes[f"{source.path.name}: samples without scores count as failed"] += 1
        yield base._replace(status=Status.FAILED)
        return
    for scorer, score in scores.items():
        value = score.get("value") if isinstance(score, Mapping) else None
        for name, part in _parts(scorer, value):
            if isinstance(part, list):
                notes[f"task {run.task}: {name} is a list, and is left out"] += 1
                continue
            number = _number(part)
            status = Status.SCORED if math.isfinite(number) else Status.UNSCORED
            yield base._replace(metric=name, score=number, status=status)


def _parts(scorer: str, value: Json) -> Iterator[tuple[str, Json]]:
    """A value, or those that it holds under keys."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _parts(f"{scorer}/{key}", part)
    else:
        yield scorer, value


def _number(value: Json) -> float:
    """A value as Inspect counts it; NaN, its mark of an answer without a score, for the rest."""
    if not isinstance(value, str):
        number = records.number(value)
        return math.nan if number is None else number
    known = _VALUES.get(value, _WORDS.get(value.lower()))
    with contextlib.suppress(ValueError):
        return float(value) if known is None else known
    return math.nan
