"""Logs of Inspect, against what was written into them."""

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from jaxeval.errors import DataError
from tests.runs.logs import reading, writing
from tests.runs.logs.reading import read, rows

LATER = "2026-04-01T00-00-00.1"
EXPECTED = [
    ("openai/a", "popularity", "match", "1", "p1", 0, 0, "scored", 1.0),
    ("openai/a", "popularity", "match", "2", "p2", 0, 0, "scored", 0.5),
    ("openai/a", "popularity", "match", "2", "p2", 0, 1, "scored", 0.0),
    ("openai/a", "popularity", "match", "4", "p4", 0, 0, "unscored", float("nan")),
    ("openai/a", "popularity", "match", "5", "p5", 0, 0, "failed", float("nan")),
    ("openai/a", "popularity", "match", "x", "px", 0, 0, "scored", 1.0),
]


@pytest.mark.parametrize("ending", ["json", "eval"])
def test_inspect(tmp_path: Path, ending: str) -> None:
    """Dies if a value is not counted as Inspect counts it, if an epoch is lost, or if a sample
    that ended in an error has a score or goes uncounted."""
    write = writing.inspect_eval if ending == "eval" else writing.inspect_json
    path = write(tmp_path / f"log.{ending}", writing.inspect_head(), reading.SAMPLES)
    table = read(path, cluster="passage")
    assert repr(rows(table)) == repr(EXPECTED) and not table.warnings
    parts = writing.inspect_sample(3, {"f1": 0.25, "exact": "yes", "all": [1, 2]})
    write(path, writing.inspect_head(), [parts])
    assert [read(path, metric=f"match/{m}").known.tolist() for m in ("f1", "exact")] == [
        [0.25],
        [1],
    ]
    assert read(path, metric="match/f1").warnings == (
        "task popularity: match/all is a list, and is left out",
    )


def test_inspect_that_goes_on_or_was_tried_again(tmp_path: Path) -> None:
    """Dies if a running log is refused, or counts an answer that a later one replaced (parts of
    the journal are ordered by number); or if a log that eval-retry has replaced is a run."""
    parts = {10: [writing.inspect_sample(1, "C")], 9: [writing.inspect_sample(1, "I")]}
    members = {f"_journal/summaries/{k}.json": json.dumps(part) for k, part in parts.items()}
    start = {"version": 2, "eval": writing.inspect_head(task_args={"cot": False}), "plan": {}}
    path = tmp_path / "a.eval"
    table = read(writing.zipped(path, {"_journal/start.json": json.dumps(start)} | members))
    assert (table.data_sets[0].name, table.known.tolist()) == ("popularity (cot=False)", [1.0])
    assert table.warnings == ("a.eval: status started: other samples may be missing",)
    folder = tmp_path / "again"
    folder.mkdir()
    late = writing.inspect_head(created="2026-03-02T10:00:00+00:00")
    writing.inspect_json(folder / "a.json", late, [writing.inspect_sample(1, "C")])
    first = writing.inspect_head()
    writing.inspect_json(folder / "b.json", first, [writing.inspect_sample(1, "I")], "error")
    table = read(folder)
    assert table.known.tolist() == [1.0]
    assert table.warnings == ("a log of an evaluation that was tried again is left out",)


def test_random_ids_of_messages_are_no_content(tmp_path: Path) -> None:
    """Dies if Inspect's ids of messages, drawn anew in each log, make two items of one."""
    for model, question in (("a", "q"), ("b", "q"), ("b", "other")):
        message = {"id": f"drawn for {model}", "role": "user", "content": question}
        sample = writing.inspect_sample(1, "C", input=[message])
        writing.inspect_json(tmp_path / f"{model}.json", writing.inspect_head(model), [sample])
        if (model, question) == ("b", "q"):
            assert read(tmp_path).data_sets[0].items == ("1",)
    with pytest.raises(DataError, match="1 of 1 items are not the same"):
        read(tmp_path)


def test_inspect_compressed_by_zstd(tmp_path: Path) -> None:
    """Dies if a member of several zstd frames is cut short."""
    if sys.version_info >= (3, 14):
        pytest.skip("Python's zipfile reads zstd")
    stored = writing.inspect_eval(
        tmp_path / "s.eval", writing.inspect_head(), reading.SAMPLES[:3], 0
    )
    zstandard = pytest.importorskip("zstandard")

    def frames(raw: bytes) -> bytes:
        half = len(raw) // 2
        compress = zstandard.ZstdCompressor().compress
        return compress(raw[:half]) + compress(raw[half:])

    assert rows(read(_method_93(stored, frames), cluster="passage")) == EXPECTED[:3]


def _method_93(stored: Path, compress: Any) -> Path:
    """An archive whose members are compressed by another program."""
    path = stored.with_suffix(".93.eval")
    with zipfile.ZipFile(stored) as source, zipfile.ZipFile(path, "w") as archive:
        sizes = {}
        for info in source.infolist():
            raw = source.read(info)
            sizes[info.filename] = len(raw)
            archive.writestr(info.filename, compress(raw))
    raw = bytearray(path.read_bytes())
    for signature, method, size, name in ((b"PK\x03\x04", 8, 22, 30), (b"PK\x01\x02", 10, 24, 46)):
        at = raw.find(signature)
        while at >= 0:
            length = int.from_bytes(raw[at + name - 4 : at + name - 2], "little")
            if signature == b"PK\x01\x02":
                length = int.from_bytes(raw[at + 28 : at + 30], "little")
            member = raw[at + name : at + name + length].decode(errors="replace")
            if member in sizes:
                raw[at + method : at + method + 2] = (93).to_bytes(2, "little")
                raw[at + size : at + size + 4] = sizes[member].to_bytes(4, "little")
            at = raw.find(signature, at + 4)
    path.write_bytes(bytes(raw))
    return path
