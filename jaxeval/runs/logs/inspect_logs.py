"""Logs of Inspect: archives (.eval) and JSON, of finished and of running evaluations.

Of an archive only the head and the summaries of the samples are read, which hold all scores
(inspect_ai/log/_recorders/eval.py). Inspect compresses them by zstd.
"""

import contextlib
import io
import json
import math
import re
import struct
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from jaxeval.errors import DataError, JaxevalError, parsing
from jaxeval.files import Json
from jaxeval.runs.logs import records
from jaxeval.runs.logs.records import Log, Record, members
from jaxeval.runs.scores import Status

# as inspect_ai's value_to_float reads them
_VALUES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_HEADER, _START = "header.json", "_journal/start.json"
_SUMMARIES, _JOURNAL = "summaries.json", "_journal/summaries/"
_ZSTD = 93  # a method that Python's zipfile reads from 3.14 on
_LOCAL_HEADER = struct.Struct("<4s22xHH")  # signature, lengths of name and extra field
_PASSING = (JaxevalError, MemoryError)


def read(log: Log) -> Iterator[Record]:
    """Yields the scores of a log; a metric is a scorer, or a scorer and a key of its value.

    Raises DataError: the log is damaged, or needs zstandard.
    """
    name, (tree, samples) = log.path.name, _read_log(log.path)
    head = members(tree.get("eval"))
    plain = sorted(members(head.get("task_args")).items())
    words = [f"{k}={v}" for k, v in plain if not (v is None or isinstance(v, Mapping | list))]
    task = log.label(head.get("task"), "eval.task")
    base = Record(
        log.label(head.get("model"), "eval.model"),
        f"{task} ({', '.join(words)})" if words else task,
    )
    made = (head.get(key) for key in ("model_args", "model_generate_config"))
    log.settings[base.model, base.dataset] = records.settings(*made)
    if (status := tree.get("status", "success")) != "success":
        log.notes[f"{name}: status {status}: other samples may be missing"] += 1
    if tree.get("invalidated"):
        log.notes[f"{name}: marked as invalidated"] += 1
    for sample in samples:
        yield from _read_sample(members(sample), base, log)
    log.note_missing(len(samples), members(tree.get("results")).get("completed_samples"))


def tried_again(logs: Sequence[Log]) -> list[Log]:
    """Returns the logs of evaluations of which a later log has it all."""
    created, last, earlier = dict[tuple, str](), dict[tuple, Log](), list[Log]()
    for log in logs if len(logs) > 1 else ():
        head = members(_read_head(log.path))
        named = (str(head.get(key)) for key in ("model", "task"))
        key = (log.model, *named, str(head.get("task_id") or log.path))
        when = str(head.get("created"))
        if key not in last or when > created[key]:
            earlier += [last[key]] if key in last else []
            created[key], last[key] = when, log
        else:
            earlier.append(log)
    return earlier


def read_samples(path: Path) -> Sequence[Json]:
    """Returns the samples of a log, of an archive their summaries."""
    return _read_log(path)[1]


def _read_head(path: Path) -> Json:
    """Returns the member `eval` of a log."""
    if path.suffix == ".eval":
        return _read_log(path, samples=False)[0].get("eval")
    with parsing("not valid JSON", path, passing=_PASSING):
        whole = path.read_text(encoding="utf-8-sig", errors="replace")
        found = re.search(r'"eval"\s*:\s*', whole)
        return json.JSONDecoder().raw_decode(whole, found.end())[0] if found else None


def _read_log(path: Path, samples: bool = True) -> tuple[Mapping[str, Json], Sequence[Json]]:
    """Returns a log without its samples, and its samples if they are requested."""
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
        log = members(read_member(archive, head, path))
        if head == _START:  # it runs: a journal instead of head and summaries
            log = {**log, "status": "started"}
        if not samples:
            return log, []
        if _SUMMARIES in names:
            whole = read_member(archive, _SUMMARIES, path)
            return log, whole if isinstance(whole, list) else []
        journal = [name for name in names if name.startswith(_JOURNAL)]
        journal.sort(key=lambda name: (len(name), name))  # 2.json before 10.json
        last: dict[tuple[Json, Json], Json] = {}  # a sample that was tried again is there twice
        for name in journal:
            for sample in records.objects(read_member(archive, name, path)):
                last[str(sample.get("id")), str(sample.get("epoch"))] = sample
        return log, [*last.values()]


def read_member(archive: zipfile.ZipFile, name: str, path: Path) -> Json:
    """Reads a JSON member of an archive, no more bytes than the archive declares."""
    info, head = archive.getinfo(name), f"{name}: "
    most = min(info.file_size, records.MOST_BYTES)
    with parsing(f"{head}damaged", path, passing=_PASSING):
        try:
            with archive.open(info) as stream:
                raw = stream.read(most + 1)
        except NotImplementedError:
            if info.compress_type != _ZSTD:
                raise
            raw = _read_zstd(info, path, most + 1)
    return records.parse_json(raw, most, path, head)


def _read_zstd(info: zipfile.ZipInfo, path: Path, most: int) -> bytes:
    try:
        import zstandard
    except ImportError:
        advice = "pip install 'jaxeval[zstd]' reads it, as Python does from 3.14 on"
        raise DataError(f"{info.filename}: compressed by zstd; {advice}", path) from None
    with path.open("rb") as file:
        file.seek(info.header_offset)
        signature, name, extra = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size).ljust(30))
        if signature != b"PK\x03\x04":
            raise DataError(f"{info.filename}: no zip member where the archive says", path)
        file.seek(name + extra, 1)
        compressed = io.BytesIO(file.read(min(info.compress_size, records.MOST_BYTES)))
    reader = zstandard.ZstdDecompressor().stream_reader(compressed, read_across_frames=True)
    return bytes(reader.read(most))


def _read_sample(sample: Mapping[str, Json], base: Record, log: Log) -> Iterator[Record]:
    """Yields the scores of a sample; a failed answer for one without scores."""
    epoch, item = sample.get("epoch"), log.label(sample.get("id"), "a sample's id")
    if epoch is not None and (type(epoch) is not int or not 0 <= epoch < 1 << 31):
        message = f"expected a whole number of an answer, found {str(epoch)[:40]!r}"
        raise DataError(message, log.path)
    base = base._replace(
        item=item,
        sample=1 if epoch is None else epoch,
        cluster=log.cluster(sample.get("metadata"), item),
        content=records.digest([sample.get("input"), sample.get("target")]),
    )
    scores = members(sample.get("scores"))
    if not scores:
        if not (sample.get("error") or sample.get("limit")):
            log.notes[f"{log.path.name}: samples without scores count as failed"] += 1
        yield base._replace(status=Status.FAILED)
    for scorer, score in scores.items():
        value = members(score).get("value")
        keys = {f"{scorer}/{key}": part for key, part in members(value).items()}
        for name, part in (keys or {scorer: value}).items():
            if isinstance(part, list):
                log.notes[f"task {base.dataset}: {name} is a list, and is left out"] += 1
                continue
            number = _to_number(part)
            status = Status.SCORED if math.isfinite(number) else Status.UNSCORED
            yield base._replace(metric=name, score=number, status=status)


def _to_number(value: Json) -> float:
    """Returns a value as Inspect counts it; NaN, its mark of a missing score, for the rest."""
    if not isinstance(value, str):
        number = records.number(value)
        return math.nan if number is None else number
    known = _VALUES.get(value, _WORDS.get(value.lower()))
    with contextlib.suppress(ValueError):
        return float(value) if known is None else known
    return math.nan
