"""Logs that nobody vouches for: one clear line, bounded memory, nothing executed."""

import json
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from jaxeval.errors import DataError
from jaxeval.runs import logs
from jaxeval.runs.logs import records
from tests.runs.logs import writing

SAMPLE = writing.inspect_sample(1, "C")
HEAD = writing.inspect_head()


def _cut(path: Path) -> Path:
    path.write_bytes(path.read_bytes()[:-40])
    return path


def _lines(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


def _unreadable(path: Path) -> Path:
    """A file that gives an error when it is read, to root as well."""
    path.symlink_to("/proc/self/mem")
    return path


def _torn_member(path: Path) -> Path:
    """An archive with a member that does not inflate."""
    whole = writing.inspect_eval(path, HEAD, [SAMPLE] * 50)
    with zipfile.ZipFile(whole) as zipped:
        info = zipped.getinfo("summaries.json")
    raw = bytearray(whole.read_bytes())
    begin = info.header_offset + 30 + len(info.filename)
    raw[begin + 5 : begin + 60] = b"\xff" * 55
    whole.write_bytes(bytes(raw))
    return whole


MALFORMED: dict[str, tuple[Callable[[Path], Path], str]] = {
    "cut archive": (
        lambda f: _cut(writing.inspect_eval(f / "a.eval", HEAD, [SAMPLE])),
        "not a whole zip archive, perhaps cut short",
    ),
    "damaged member": (lambda f: _torn_member(f / "a.eval"), "summaries.json: damaged"),
    "cut JSON": (
        lambda f: _cut(writing.inspect_json(f / "a.json", HEAD, [SAMPLE])),
        "not valid JSON",
    ),
    "deep JSON": (
        lambda f: _lines(f / "a.json", '{"version": 2, "eval": ' + "[" * 100_000),
        "not valid JSON (",
    ),
    "sample without id": (
        lambda f: writing.inspect_json(f / "a.json", HEAD, [{**SAMPLE, "id": None}]),
        "a sample's id: expected a name or a number, found 'None'",
    ),
    "sample twice": (
        lambda f: writing.inspect_json(f / "a.json", HEAD, [SAMPLE, SAMPLE]),
        "a score occurs twice: model openai/a, task popularity, item 1;",
    ),
    "torn line": (
        lambda f: _lines(f / "samples_x.jsonl", '{"doc_id": 1, "metrics": []}', '{"doc_'),
        ":2: not valid JSON",
    ),
    "no prediction": (
        lambda f: _lines(f / "a.jsonl", '{"item": 1, "answer": 2}'),
        "the columns are item, answer: --column score=NAME",
    ),
    "other keys": (
        lambda f: _lines(f / "a.jsonl", '{"label": "x", "prediction": "x"}'),
        "--column gold=label --column predicted=prediction",
    ),
    "no gold": (lambda f: _lines(f / "a.jsonl", '{"predicted": "x"}'), "no column 'gold'"),
    "score is huge": (
        lambda f: _lines(f / "a.jsonl", '{"score": 1}', '{"score": -5e90}'),
        "item 2: -5e+90; expected an absolute value up to 1e+70",
    ),
    "no scores": (
        lambda f: writing.inspect_json(f / "a.json", HEAD, [{**SAMPLE, "scores": None}]),
        "no score in 1 log (a.json: samples without scores count as failed)",
    ),
    "results alone": (
        lambda f: _lines(f / "results_2026.json", "{}").parent,
        "results without samples: run lm_eval with --log_samples",
    ),
    "empty folder": (lambda f: f, "no log of items in it; expected samples_*.jsonl"),
    "no right to read": (lambda f: _unreadable(f / "a.jsonl"), "a.jsonl: cannot be read"),
    "not UTF-8": (
        lambda f: writing.helm(f, "m", {("i", 0): 1.0}, "t") / "per_instance_stats.json",
        "not valid JSON",
    ),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_one_clear_line(case: str, tmp_path: Path) -> None:
    """Dies if a damaged log ends in another exception, in several lines, or passes."""
    write, said = MALFORMED[case]
    path = write(tmp_path)
    if case == "not UTF-8":
        path.write_bytes(path.read_bytes().replace(b"exact", b"ex\xe9ct"))
    with pytest.raises(DataError) as caught:
        logs.read([str(path)])
    assert said in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        *("samples_x.jsonl", "b.jsonl", "b.eval", "2026-03-01T10-00-00+00-00_arc_x.json"),
        *("per_instance_stats.json", f"a/results_{writing.DATE}.json"),
    ],
)
def test_pointers_of_git_lfs(tmp_path: Path, name: str) -> None:
    """Dies if a log that was not fetched is left out of a folder without a word, or is damaged;
    or a file that is no log, as a model's vocabulary, is refused."""
    writing.lm_eval(tmp_path, "a", {"none": [1.0, 0.0]})
    pointer = "version https://git-lfs.github.com/spec/v1"
    _lines(tmp_path / "tokenizer.json", pointer)
    assert len(logs.read([str(tmp_path)]).known) == 2
    path = _lines(tmp_path / name, pointer)
    for given in {tmp_path, path} if "results" not in name else {tmp_path}:
        with pytest.raises(DataError, match="a Git LFS pointer instead of the file; run git"):
            logs.read([str(given)])


def test_archives_that_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a member is inflated past the bound, or past what the archive says of it."""
    path = writing.inspect_eval(tmp_path / "a.eval", HEAD, [SAMPLE] * 100)
    monkeypatch.setattr(records, "MOST_BYTES", 1000)
    with pytest.raises(DataError, match=r"summaries\.json: expected at most 1000 bytes"):
        logs.read([str(path)])
    whole = writing.inspect_json(tmp_path / "a.json", HEAD, [SAMPLE] * 100)
    with pytest.raises(DataError, match="expected at most 1000 bytes"):
        logs.read([str(whole)])


def test_memory_does_not_grow_with_what_is_not_kept(tmp_path: Path) -> None:
    """Dies if a log's texts are kept: 15 MB of answers, 1,500 scores."""
    text = "answer " * 1400
    path = tmp_path / "a.jsonl"
    with path.open("w") as file:
        for k in range(1500):
            file.write(f'{{"item": {k}, "score": {k}, "answer": "{text}"}}\n')
    tracemalloc.start()
    table = logs.read([str(path)])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.array_equal(table.known, np.arange(1500.0))
    assert peak < 6e6 < path.stat().st_size


def test_answers_that_a_log_lacks_are_told(tmp_path: Path) -> None:
    """Dies if a log of fewer answers than it counts passes for whole, or a whole one for less."""
    folder = writing.lm_eval(tmp_path, "a", {"none": [1.0, 0.0, 1.0]})
    samples = [writing.inspect_sample(item, "C", epoch) for item in (1, 2) for epoch in (1, 2)]
    path = tmp_path / "b.json"
    for of in (samples, samples[:3]):
        writing.inspect_json(path, HEAD, of)
        path.write_text(path.read_text().replace("null", '{"completed_samples": 4}', 1))
        found = [logs.read([str(folder)]), logs.read([str(path)])]
        (cut,) = folder.glob("samples_*")
        if of is samples:
            assert [table.warnings for table in found] == [(), ()]
            cut.write_text(cut.read_text().partition("\n")[0] + "\n")
    assert "holds 1 of the 3 answers that its results count: cut" in found[0].warnings[0]
    assert f"{path}: holds 3 of the 4 answers" in found[1].warnings[0]


def test_names_cannot_steer_a_terminal(tmp_path: Path) -> None:
    """Dies if a control character or half a surrogate pair of a log reaches the output."""
    line = {"model": "a\x1b[2J", "item": "\ud800", "metric": "m\n", "score": 1}
    (data,) = logs.read([str(_lines(tmp_path / "a.jsonl", json.dumps(line)))]).data_sets
    assert ([*data.models], data.items, data.metric) == (["a\\x1b[2J"], ("\\ud800",), "m\\n")
