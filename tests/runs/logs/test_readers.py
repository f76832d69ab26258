"""Readers of evaluation logs: every format against what was written into it."""

import json
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jaxeval.runs.logs.tables import LogTable

from jaxeval.errors import DataError
from jaxeval.runs.logs import finding
from jaxeval.runs.logs.records import STATUSES, Keys
from tests.runs.logs import writing

Row = tuple[Any, ...]


def _rows(table: LogTable, *columns: str) -> list[Row]:
    """Columns of a table by name, sorted."""
    named = {name: [table.names[name][k] for k in getattr(table, name)] for name in table.names}
    named |= {name: getattr(table, name).tolist() for name in ("sample", "run", "score")}
    named["status"] = [STATUSES[code] for code in table.status]
    return sorted(zip(*(named[column] for column in columns), strict=True), key=repr)


def _read(*paths: Path | str, cluster: str = "", **columns: str) -> LogTable:
    return finding.read([str(path) for path in paths], Keys(cluster, columns))


def test_lm_evaluation_harness(tmp_path: Path) -> None:
    """Dies if a filter's scores are another's, if the model is its folder's name, if a metric's
    direction is lost, or if what is no number of an item becomes a score."""
    scores = {"strict-match": [1.0, 0.0, 1.0], "none": [0.0, 0.0, 1.0]}
    metrics = {"exact_match": True, "loss": False}
    writing.lm_eval(tmp_path, "org/model-1b", scores, metrics=metrics)
    writing.lm_eval(tmp_path, "org/model-1b", {"none": [0.5]}, task="lamb_ada", pair=[1, 2])
    for path in tmp_path.rglob("samples_lamb*"):  # perplexity: a log-likelihood and a weight
        path.write_text(path.read_text().replace('["acc"]', '["acc", "pair"]'))
    table = _read(tmp_path, cluster="passage")
    assert _rows(table, "model", "task", "metric", "item", "cluster", "score") == sorted(
        [
            ("org/model-1b", "arc", metric + ending, str(k), "p0", float(score))
            for name, ending in (("strict-match", "/strict-match"), ("none", ""))
            for metric in metrics
            for k, score in enumerate(scores[name])
        ]
        + [("org/model-1b", "lamb_ada", "acc", "0", "p0", 0.5)],
        key=repr,
    )
    assert table.higher_is_better["arc", "loss/strict-match"] is False
    assert table.higher_is_better["lamb_ada", "acc"] is True
    assert dict(table.notes) == {
        "task lamb_ada: pair is no number of each item, and is left out": 1
    }


def test_logs_of_one_name_are_runs(tmp_path: Path) -> None:
    """Dies if two logs of a model become one run, if checkpoints that --log NAME= puts together
    keep their own names, or if a log that is named twice counts twice."""
    first = writing.lm_eval(tmp_path / "1", "seed1", {"none": [1.0, 0.0]})
    writing.lm_eval(tmp_path / "2", "seed2", {"none": [0.0, 0.0]})
    writing.lm_eval(tmp_path / "2", "seed2", {"none": [1.0, 1.0]}, date="2026-03-02T10-00-00.1")
    table = _read(f"ours={tmp_path}", first, tmp_path / "1")
    assert _rows(table, "model", "run", "item", "score") == [
        *(("ours", 0, "0", 1.0), ("ours", 0, "1", 0.0), ("ours", 1, "0", 0.0)),
        *(("ours", 1, "1", 0.0), ("ours", 2, "0", 1.0), ("ours", 2, "1", 1.0)),
    ]
    assert table.logs == 3


SAMPLES = [
    writing.inspect_sample(1, "C"),
    writing.inspect_sample(2, "P", epoch=2),
    writing.inspect_sample("x", True),
    writing.inspect_sample(3, {"f1": 0.25, "exact": "yes", "all": [1, 2]}),
    writing.inspect_sample(4, float("nan")),
    writing.inspect_sample(5, None, scores=None, error="timed out"),
]
EXPECTED = sorted(
    [
        ("openai/a", "popularity", "match", "1", "p1", 1, 1.0, "scored"),
        ("openai/a", "popularity", "match", "2", "p2", 2, 0.5, "scored"),
        ("openai/a", "popularity", "match", "x", "px", 1, 1.0, "scored"),
        ("openai/a", "popularity", "match/f1", "3", "p3", 1, 0.25, "scored"),
        ("openai/a", "popularity", "match/exact", "3", "p3", 1, 1.0, "scored"),
        ("openai/a", "popularity", "match", "4", "p4", 1, float("nan"), "unscored"),
        ("openai/a", "popularity", "", "5", "p5", 1, float("nan"), "failed"),
    ],
    key=repr,
)
COLUMNS = ("model", "task", "metric", "item", "cluster", "sample", "score", "status")


@pytest.mark.parametrize("ending", ["json", "eval"])
def test_inspect(tmp_path: Path, ending: str) -> None:
    """Dies if a value is not counted as Inspect counts it, if an epoch is lost, or if a sample
    that ended in an error has a score or goes uncounted."""
    write = writing.inspect_eval if ending == "eval" else writing.inspect_json
    path = write(tmp_path / f"log.{ending}", writing.inspect_head(), SAMPLES)
    table = _read(path, cluster="passage")
    assert repr(_rows(table, *COLUMNS)) == repr(EXPECTED)
    assert [*table.notes] == ["task popularity: match/all is a list, and is left out"]


def test_inspect_that_goes_on(tmp_path: Path) -> None:
    """Dies if a running log is refused, or counts an answer that a later one replaced; parts of
    the journal are ordered by number."""
    parts = {10: [writing.inspect_sample(1, "C")], 9: [writing.inspect_sample(1, "I")]}
    members = {f"_journal/summaries/{k}.json": json.dumps(part) for k, part in parts.items()}
    start = {"version": 2, "eval": writing.inspect_head(task_args={"cot": False}), "plan": {}}
    path = writing.zipped(
        tmp_path / "a.eval", {"_journal/start.json": json.dumps(start)} | members
    )
    table = _read(path)
    assert _rows(table, "task", "item", "score") == [("popularity (cot=False)", "1", 1.0)]
    assert [*table.notes] == ["a.eval: status started: other samples may be missing"]


def test_inspect_that_was_tried_again(tmp_path: Path) -> None:
    """Dies if a log that eval-retry has replaced counts as a run of its own."""
    late = writing.inspect_head(created="2026-03-02T10:00:00+00:00")
    writing.inspect_json(tmp_path / "a.json", late, [writing.inspect_sample(1, "C")])
    first = writing.inspect_head()
    writing.inspect_json(tmp_path / "b.json", first, [writing.inspect_sample(1, "I")], "error")
    table = _read(tmp_path)
    assert _rows(table, "run", "score") == [(0, 1.0)]
    assert [*table.notes] == ["a log of an evaluation that was tried again is left out"]


@pytest.mark.parametrize("extra", ["zstandard", ""])
def test_inspect_compressed_by_zstd(
    tmp_path: Path, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a member of several zstd frames is cut short, or if nothing says what to install."""
    if sys.version_info >= (3, 14):
        pytest.skip("Python's zipfile reads zstd")
    stored = writing.inspect_eval(tmp_path / "s.eval", writing.inspect_head(), SAMPLES[:3], 0)
    if not extra:
        path = _method_93(stored, lambda raw: raw)
        monkeypatch.setitem(sys.modules, "zstandard", None)
        with pytest.raises(DataError, match=r"method 93.*pip install 'jaxeval\[zstd\]'"):
            _read(path)
        return
    zstandard = pytest.importorskip("zstandard")

    def frames(raw: bytes) -> bytes:
        half = len(raw) // 2
        compress = zstandard.ZstdCompressor().compress
        return compress(raw[:half]) + compress(raw[half:])

    table = _read(_method_93(stored, frames), cluster="passage")
    assert _rows(table, *COLUMNS) == [row for row in EXPECTED if row[3] in "12x"]


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


def test_helm(tmp_path: Path) -> None:
    """Dies if a statistic is not its mean, if trials are one run, or if perturbed instances are
    taken for items."""
    scores = {("id1", 0): 1.0, ("id2", 0): 0.5, ("id1", 1): 0.0, ("id2", 1): 1.0}
    writing.helm(tmp_path, "openai/gpt2", scores, "mmlu:subject=anatomy")
    table = _read(tmp_path)
    assert _rows(table, "model", "task", "metric", "run", "item", "score") == sorted(
        ("openai/gpt2", "mmlu:subject=anatomy", "exact_match", trial, item, score)
        for (item, trial), score in scores.items()
    )
    assert [*table.notes.values()] == [4]


def test_openai_evals(tmp_path: Path) -> None:
    """Dies if an event is lost, if a sample with an error alone goes uncounted, or if a log that
    was cut off passes for a whole one."""
    events: list[tuple[str, str, dict]] = [
        ("dev.0", "sampling", {"prompt": "q0", "sampled": "a"}),
        ("dev.0", "match", {"correct": True, "expected": "a", "picked": "a"}),
        ("dev.1", "match", {"correct": False, "expected": "b", "picked": "a"}),
        ("dev.1", "metrics", {"f1": 0.25, "note": "text"}),
        ("dev.2", "error", {"type": "Timeout", "message": ""}),
        ("dev.3", "match", {"expected": "c"}),
    ]
    path = writing.evals(tmp_path / "log.jsonl", "gpt-4", events)
    rows = [
        ("gpt-4", "coqa.dev.v0", "", "dev.2", "failed"),
        ("gpt-4", "coqa.dev.v0", "accuracy", "dev.0", "scored"),
        ("gpt-4", "coqa.dev.v0", "accuracy", "dev.1", "scored"),
        ("gpt-4", "coqa.dev.v0", "accuracy", "dev.3", "unscored"),
        ("gpt-4", "coqa.dev.v0", "f1", "dev.1", "scored"),
    ]
    table = _read(path)
    assert _rows(table, "model", "task", "metric", "item", "status") == rows
    assert np.nansum(table.score) == 1.25 and not table.notes
    assert _read(writing.evals(path, "gpt-4", events, done=False)).notes


@pytest.mark.parametrize(
    ("lines", "columns", "rows"),
    [
        (  # runs in a list, models by a pattern, several items in a line
            [
                {
                    "id": "s1",
                    "gold": ["p", "n"],
                    "target": ["t1", "t2"],
                    "said_A": [["p", "n"], ["n", "n"]],
                }
                | {"said_B": [["p", "p"]]}
            ],
            {"predicted": "said_*", "item": "target", "cluster": "id"},
            [
                *(("A", "", "t1", "s1", 0, 1.0), ("A", "", "t1", "s1", 1, 0.0)),
                *(("A", "", "t2", "s1", 0, 1.0), ("A", "", "t2", "s1", 1, 1.0)),
                *(("B", "", "t1", "s1", 0, 1.0), ("B", "", "t2", "s1", 0, 0.0)),
            ],
        ),
        (  # a line an item of a run
            [
                {"model": "A", "task": "x", "run": seed, "item": k, "score": k + seed / 4}
                for seed in (1, 2)
                for k in (0, 1)
            ],
            {},
            [
                *(("A", "x", "0", "", 0, 0.25), ("A", "x", "0", "", 1, 0.5)),
                *(("A", "x", "1", "", 0, 1.25), ("A", "x", "1", "", 1, 1.5)),
            ],
        ),
        (  # model by the file's name, items by the line's number
            [{"correct": True}, {"correct": [0]}, {"metadata": "of all items"}],
            {},
            [("log", "", "1", "", 0, 1.0), ("log", "", "2", "", 0, 0.0)],
        ),
    ],
)
def test_predictions(
    tmp_path: Path, lines: Sequence[dict], columns: dict[str, str], rows: list[Row]
) -> None:
    """Dies if runs, models or the items of a line are mixed up."""
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    table = _read(path, **columns)
    assert _rows(table, "model", "task", "item", "cluster", "run", "score") == rows


def test_folders_are_searched(tmp_path: Path) -> None:
    """Dies if a format in a folder is passed over, or a file that is no log is read as one."""
    writing.lm_eval(tmp_path, "a", {"none": [1.0]})
    writing.helm(tmp_path / "suite", "b", {("id1", 0): 1.0}, "boolq:")
    writing.inspect_eval(tmp_path / "c.eval", writing.inspect_head("c"), SAMPLES[:1])
    writing.evals(tmp_path / "d.jsonl", "d", [("1", "match", {"correct": True})])
    (tmp_path / "e.jsonl").write_text('{"item": 1, "correct": true}\n')
    (tmp_path / "notes.jsonl").write_text('{"remark": "none of ours"}\n')
    (tmp_path / "notes.json").write_text('{"version": 2}')
    (tmp_path / ".hidden").mkdir()
    writing.lm_eval(tmp_path / ".hidden", "z", {"none": [1.0]})
    assert set(_read(tmp_path).names["model"]) == {*"abcde"}
