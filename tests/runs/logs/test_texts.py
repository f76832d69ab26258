"""Texts of items: every program's words, the first of several answers, nothing executed."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from jaxeval.errors import DataError
from jaxeval.runs import logs
from jaxeval.runs.logs.records import Text
from tests.runs.logs import writing

WORDS = Text("2 + 2?", "four", "five")
SAMPLE = {
    "id": "7",
    "epoch": 1,
    "input": [{"role": "user", "content": [{"type": "text", "text": "2 + 2?"}]}],
    "target": "four",
    "output": {"choices": [{"message": {"role": "assistant", "content": "five"}}]},
    "scores": {"match": {"value": "I", "answer": "five", "explanation": ""}},
}


def _lm_eval(folder: Path) -> Path:
    of = writing.lm_eval(folder, "a", {"none": [0.0] * 9}, target="four")
    file = next(of.glob("samples_*"))
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    more = {"arguments": {"gen_args_0": {"arg_0": "2 + 2?"}}, "filtered_resps": ["five"]}
    file.write_text("".join(json.dumps({**line, **more}) + "\n" for line in lines))
    return file


def _archive(folder: Path) -> Path:
    path = folder / "a.eval"
    later = {**SAMPLE, "epoch": 2, "output": {}}
    members = {f"samples/7_epoch_{k}.json": json.dumps(s) for k, s in ((1, SAMPLE), (2, later))}
    return writing.zipped(path, {**members, "samples/8_epoch_1.json": "damaged"})


def _helm(folder: Path) -> Path:
    run = writing.helm(folder, "a", {("7", 0): 0.0}, "sums")
    references = [{"output": {"text": "x"}, "tags": []}]
    references.append({"output": {"text": "four"}, "tags": ["correct"]})
    instance = {"id": "7", "input": {"text": "2 + 2?"}, "references": references}
    state = {"instance": instance, "result": {"completions": [{"text": "five"}]}}
    perturbed = {"instance": {**instance, "perturbation": {"name": "typos"}}, "result": {}}
    (run / "scenario_state.json").write_text(json.dumps({"request_states": [perturbed, state]}))
    return run / "per_instance_stats.json"


def _evals(folder: Path) -> Path:
    said = {"prompt": [{"role": "user", "content": "2 + 2?"}], "sampled": ["five"]}
    match = {"correct": False, "expected": "four", "picked": "five"}
    events = [("7", "sampling", said), ("7", "match", match)]
    return writing.evals(folder / "a.jsonl", "a", events)


def _lines(folder: Path) -> Path:
    line = {"item": 7, "prompt": "2 + 2?", "gold": "four", "predicted": "five"}
    (folder / "a.jsonl").write_text(json.dumps(line) + "\n")
    return folder / "a.jsonl"


def _table(folder: Path) -> Path:
    rows = "item,model,seed,prompt,gold,predicted\n7,a,1,2 + 2?,four,five\n"
    (folder / "a.csv").write_text(rows)
    return folder / "a.csv"


@pytest.mark.parametrize(
    "write",
    [
        *(_lm_eval, _archive, _helm, _evals, _lines, _table),
        lambda folder: writing.inspect_json(folder / "x.json", {}, [{"id": 3}, SAMPLE]),
    ],
)
def test_words_of_each_program(write: Callable[[Path], Path], tmp_path: Path) -> None:
    """Dies if a program's question, expected answer or answer is lost or another item's; if a
    member of an archive is read that nobody asked for."""
    found = logs.read_texts(write(tmp_path), {"7", "unknown"})["7"]
    assert (found.question.removeprefix("user: "), *found[1:]) == WORDS


def test_what_is_long_is_cut_and_what_is_damaged_is_named(tmp_path: Path) -> None:
    """Dies if a page holds megabytes of one answer, or damage is a traceback."""
    file = _lines(tmp_path)
    file.write_text(json.dumps({"item": 7, "predicted": "x" * 100_000, "gold": None}) + "\n")
    assert 4000 < len(logs.read_texts(file, {"7"})["7"].answer) < 4100
    file.write_text("{")
    with pytest.raises(DataError, match="line 1"):
        logs.read_texts(file, {"7"})
    archive = _archive(tmp_path)
    with pytest.raises(DataError, match=r"8_epoch_1\.json"):
        logs.read_texts(archive, {"8"})
    archive.write_bytes(archive.read_bytes()[:100])
    with pytest.raises(DataError, match=r"a\.eval"):
        logs.read_texts(archive, {"7"})
