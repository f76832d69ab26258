"""Logs of Inspect, archives (.eval) and JSON, of finished runs and of such that go on.

Of an archive only its head and the summaries of its samples are read, which hold all scores
(inspect_ai/log/_recorders/eval.py).
"""

import contextlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from jaxeval.errors import DataError, JaxevalError, parsing
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


def read(source: Source, layout: Layout, notes: Notes) -> Iterator[Record]:
    """The scores of a log: a metric a scorer, or a scorer and a key of its value.

    Raises DataError: no such log, cut short, or compressed by what is not there; samples that are
    none.
    """
    path, (log, samples) = source.path, _log(source.path)
    head = files.members(log.get("eval"))
    plain = {
        k: v for k, v in sorted(files.members(head.get("task_args")).items()) if v is not None
    }
    words = [f"{k}={v}" for k, v in plain.items() if not isinstance(v, Mapping | list)]
    task = records.label(head.get("task"), "eval.task", path)
    base = Record(
        records.label(head.get("model"), "eval.model", path),
        f"{task} ({', '.join(words)})" if words else task,
        *("", "", math.nan),
        settings=records.settings(head.get("model_args"), head.get("model_generate_config")),
    )
    if (status := log.get("status", "success")) != "success":
        notes[f"{path.name}: status {status}: other samples may be missing"] += 1
    if log.get("invalidated"):
        notes[f"{path.name}: marked as invalidated"] += 1
    for sample in samples:
        yield from _sample(files.members(sample), base, source, layout, notes)
    records.note_lost(
        len(samples), files.members(log.get("results")).get("completed_samples"), source, notes
    )


def latest(sources: Sequence[Source], notes: Notes) -> list[Source]:
    """The logs without those of evaluations that were tried again: a later log has it all."""
    last: dict[tuple[str, ...], tuple[str, Source]] = {}
    for source in sources if len(sources) > 1 else ():
        head = files.members(_head(source.path))
        task_id = head.get("task_id") or source.path
        key = (source.model, str(head.get("model")), str(head.get("task")), str(task_id))
        entry = str(head.get("created")), source
        last[key] = max(last.get(key, entry), entry, key=lambda e: e[0])
    left = len(sources) - len(last)
    if left and last:
        notes["a log of an evaluation that was tried again is left out"] += left
    return [source for _, source in last.values()] or [*sources]


def _head(path: Path) -> Json:
    """What a log says of its model and task."""
    if path.suffix == ".eval":
        return _log(path, samples=False)[0].get("eval")
    with parsing("not valid JSON", path, passing=(JaxevalError, MemoryError)):
        whole = path.read_text(encoding="utf-8-sig", errors="replace")
        found = re.search(r'"eval"\s*:\s*', whole)
        return json.JSONDecoder().raw_decode(whole, found.end())[0] if found else None


def _log(path: Path, samples: bool = True) -> tuple[Mapping[str, Json], Sequence[Json]]:
    """What a log says of its run, and its samples, where they are asked for."""
    if path.suffix != ".eval":
        log = files.members(files.tree(path))
        of = log.get("samples")
        return log, of if isinstance(of, list) else []
    with files.archive(path) as zipped:
        names = {*zipped.namelist()}
        head = _HEADER if _HEADER in names else _START
        if head not in names:
            raise DataError(f"no log of Inspect: neither {_HEADER} nor {_START} in it", path)
        log = files.members(files.archived(zipped, head, path))
        if head == _START:  # a run that goes on has a journal instead of head and summaries
            log = {**log, "status": "started"}
        if not samples:
            return log, []
        journal = sorted((name for name in names if name.startswith(_JOURNAL)), key=_counted)
        parts = [_SUMMARIES] if _SUMMARIES in names else journal
        last: dict[tuple[str, str], Json] = {}  # a sample that was tried again is there twice
        for part in parts:
            of = files.archived(zipped, part, path)
            for k, sample in enumerate(of if isinstance(of, list) else []):
                key = str(files.members(sample).get("id")), str(files.members(sample).get("epoch"))
                last[key if parts is journal else (str(k), "")] = sample
        return log, [*last.values()]


def _counted(name: str) -> tuple[int, str]:
    """The order in which a journal was written: 2.json before 10.json."""
    number = name.removeprefix(_JOURNAL).removesuffix(".json")
    return int(number) if number.isdecimal() else 0, name


def _sample(
    sample: Mapping[str, Json], base: Record, source: Source, layout: Layout, notes: Notes
) -> Iterator[Record]:
    item, epoch = (
        records.label(sample.get("id"), "a sample's id", source.path),
        sample.get("epoch"),
    )
    if epoch is not None and (type(epoch) is not int or not 0 <= epoch < 1 << 31):
        message = f"expected a whole number of an answer, found {str(epoch)[:40]!r}"
        raise DataError(message, source.path)
    base = base._replace(
        item=item,
        sample=1 if epoch is None else epoch,
        cluster=records.cluster_of(sample.get("metadata"), layout, source, item),
        content=records.digest(sample.get("input")),
        prompt=records.digest(sample.get("target")),
    )
    scores = files.members(sample.get("scores"))
    if not scores:
        if not (sample.get("error") or sample.get("limit")):
            notes[f"{source.path.name}: samples without scores count as failed"] += 1
        yield base._replace(status=Status.FAILED)
    for scorer, score in scores.items():
        for name, part in _parts(scorer, files.members(score).get("value")):
            if isinstance(part, list):
                notes[f"task {base.dataset}: {name} is a list, and is left out"] += 1
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
