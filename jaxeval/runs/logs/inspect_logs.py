"""Logs of Inspect: archives (.eval) and JSON, of finished and of running evaluations.

Of an archive only the head and the summaries of the samples are read, which hold all scores
(inspect_ai/log/_recorders/eval.py). Inspect compresses them by zstd.
"""

import contextlib
import copy
import math
import re
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxeval.errors import DataError, JaxevalError, parsing
from jaxeval.files import Json
from jaxeval.runs.logs import records
from jaxeval.runs.logs.records import Log, Record, Text, dig, members, plain

# as inspect_ai's value_to_float reads them
_VALUES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_HEADER, _START = "header.json", "_journal/start.json"
_SUMMARIES, _JOURNAL = "summaries.json", "_journal/summaries/"
_SAMPLE = re.compile(r"samples/(.+)_epoch_\d+(?:/sample)?\.json")
_ZSTD = 93  # a method that Python's zipfile reads from 3.14 on


def read(log: Log) -> Iterator[Record]:
    """Yields the scores of a log; a metric is a scorer, or a scorer and a key of its value.

    Raises DataError: the log is damaged, or needs zstandard.
    """
    name = log.path.name
    tree, samples = _read_log(log.path)
    head = members(tree, "eval")
    given = sorted(members(head, "task_args").items())
    words = [f"{k}={v}" for k, v in given if not (v is None or isinstance(v, Mapping | list))]
    task = log.label(head.get("task"), "eval.task")
    base = Record(
        log.label(head.get("model"), "eval.model"),
        f"{task} ({', '.join(words)})" if words else task,
    )
    made = (head.get(key) for key in ("model_args", "model_generate_config"))
    log.settings[base.model, base.dataset] = records.settings(*made)
    evaluation = (log.model, base.model, task, str(head.get("task_id") or log.path))
    log.tried[evaluation] = str(head.get("created"))
    if (status := tree.get("status", "success")) != "success":
        log.notes[f"{name}: status {status}: other samples may be missing"] += 1
    if tree.get("invalidated"):
        log.notes[f"{name}: marked as invalidated"] += 1
    for sample in samples:
        yield from _read_sample(members(sample), base, log)
    log.note_missing(len(samples), dig(tree, "results", "completed_samples"))


def texts(path: Path, wanted: Collection[str]) -> Iterator[tuple[str, Text]]:
    """Yields items and their texts, with what each scorer took for the answer.

    Of an archive only the wanted members are read; summaries, if these are all that it has.
    """
    samples: list[Json] = []
    if path.suffix == ".eval":
        with zipfile.ZipFile(path) as archive:
            matches = [*filter(None, map(_SAMPLE.fullmatch, archive.namelist()))]
            samples = [_read_member(archive, m[0], path) for m in matches if m[1] in wanted]
    if path.suffix != ".eval" or not matches:
        samples = [*_read_log(path)[1]]
    for sample in map(members, samples):
        message = dig(sample, "output", "choices", 0, "message", "content")
        said = plain(message) or plain(dig(sample, "output", "completion"))
        notes = [
            f"{scorer}: {plain(part)}"
            for scorer, score in members(sample, "scores").items()
            for part in (dig(score, "answer"), dig(score, "explanation"))
            if part and plain(part) != said
        ]
        asked, right = plain(sample.get("input")), plain(sample.get("target"))
        yield str(sample.get("id")), Text(asked, right, "\n\n".join(filter(None, [said, *notes])))


def _read_log(path: Path) -> tuple[Mapping[str, Json], Sequence[Json]]:
    """Returns a log without its samples, and its samples; of an archive their summaries."""
    if path.suffix != ".eval":
        log = members(records.read_json(path))
        found = log.get("samples")
        return log, found if isinstance(found, list) else []
    with parsing("not a whole zip archive, perhaps cut short", path, passing=(MemoryError,)):
        archive = zipfile.ZipFile(path)
    with archive:
        names = {*archive.namelist()}
        head = _HEADER if _HEADER in names else _START
        if head not in names:
            raise DataError(f"no log of Inspect: neither {_HEADER} nor {_START} in it", path)
        log = members(_read_member(archive, head, path))
        if head == _START:  # it runs: a journal instead of head and summaries
            log = {**log, "status": "started"}
        if _SUMMARIES in names:
            whole = _read_member(archive, _SUMMARIES, path)
            return log, whole if isinstance(whole, list) else []
        journal = [name for name in names if name.startswith(_JOURNAL)]
        journal.sort(key=lambda name: (len(name), name))  # 2.json before 10.json
        last: dict[tuple[Json, Json], Json] = {}  # a sample that was tried again is there twice
        for name in journal:
            for sample in records.objects(_read_member(archive, name, path)):
                last[str(sample.get("id")), str(sample.get("epoch"))] = sample
        return log, [*last.values()]


def _read_member(archive: zipfile.ZipFile, name: str, path: Path) -> Json:
    """Reads a JSON member of an archive, no more bytes than the archive declares."""
    info = archive.getinfo(name)
    head = f"{name}: "
    most = min(info.file_size, records.MOST_BYTES)
    with parsing(f"{head}damaged", path, passing=(JaxevalError, MemoryError)):
        try:
            with archive.open(info) as stream:
                raw = stream.read(most + 1)
        except NotImplementedError:
            if info.compress_type != _ZSTD:
                raise
            raw = _read_zstd(archive, info, path, most + 1)
    return records.parse_json(raw, most, path, head)


def _read_zstd(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path, most: int) -> bytes:
    try:
        import zstandard
    except ImportError:
        advice = "pip install 'jaxeval[zstd]' reads it, as Python does from 3.14 on"
        raise DataError(f"{info.filename}: compressed by zstd; {advice}", path) from None
    stored: Any = copy.copy(info)  # the compressed bytes, whose checksum is unknown
    stored.compress_type, stored.file_size, stored.CRC = 0, info.compress_size, None
    with archive.open(stored) as stream:
        reader = zstandard.ZstdDecompressor().stream_reader(stream, read_across_frames=True)
        return bytes(reader.read(most))


def _read_sample(sample: Mapping[str, Json], base: Record, log: Log) -> Iterator[Record]:
    """Yields the scores of a sample; a failed answer for one without scores."""
    epoch = sample.get("epoch")
    item = log.label(sample.get("id"), "a sample's id")
    if epoch is not None and (type(epoch) is not int or not 0 <= epoch < 1 << 31):
        message = f"expected a whole number of an answer, found {str(epoch)[:40]!r}"
        raise DataError(message, log.path)
    base = base._replace(
        item=item,
        sample=1 if epoch is None else epoch,
        cluster=log.cluster(sample.get("metadata"), item),
        content=records.digest([sample.get("input"), sample.get("target")]),
    )
    scores = members(sample, "scores")
    if not scores:
        if not (sample.get("error") or sample.get("limit")):
            log.notes[f"{log.path.name}: samples without scores count as failed"] += 1
        yield base
    for scorer, score in scores.items():
        value = dig(score, "value")
        keys = {f"{scorer}/{key}": part for key, part in members(value).items()}
        for name, part in (keys or {scorer: value}).items():
            if isinstance(part, list):
                log.notes[f"task {base.dataset}: {name} is a list, and is left out"] += 1
            else:
                yield base._replace(metric=name, score=_to_number(part))


def _to_number(value: Json) -> float | None:
    """Returns a value as Inspect counts it; None for NaN, its mark of a missing score."""
    if not isinstance(value, str):
        known = records.number(value)
    elif (known := _VALUES.get(value, _WORDS.get(value.lower()))) is None:
        with contextlib.suppress(ValueError):
            known = float(value)
    return known if known is not None and math.isfinite(known) else None
