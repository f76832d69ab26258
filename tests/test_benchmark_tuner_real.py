"""The benchmark of searches of trained networks: what is run, and what is recorded already."""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

import jaxeval

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The benchmark, whose searches find nothing and take no time."""
    monkeypatch.syspath_prepend(FOLDER)
    script = importlib.import_module("tuner_real")
    monkeypatch.setattr(script, "search", lambda *_: {"found": "now"})
    return script


def _lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_searches_of_another_space_are_others(
    script: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Dies if a line of one space stands for another's, or one that is recorded is run again."""
    file = tmp_path / "lines.jsonl"
    words = ["--data", ".", "--tasks", "georgian", "--methods", "gp", "--repetitions", "1"]
    monkeypatch.setattr("sys.argv", ["tuner_real.py", *words, "--file", str(file)])
    script.main()
    script.main()
    (whole,) = _lines(file)
    assert list(whole)[5:7] == ["method", "space"]
    assert whole["space"] == "space_attentive_lstm_small"
    task = script.TASKS["georgian"]
    other = task._replace(spaces=("spaces/wider.toml", *task.spaces[1:]))
    monkeypatch.setitem(script.TASKS, "georgian", other)
    script.main()
    assert [line["space"] for line in _lines(file)] == ["space_attentive_lstm_small", "wider"]


def test_what_is_recorded_says_its_space(script: Any) -> None:
    """Dies if a line of the results has no key, or two lines have the same."""
    lines = _lines(FOLDER / "results" / "tuner_real.jsonl")
    keys = [tuple(line[key] for key in script.KEYS) for line in lines]
    assert len(set(keys)) == len(keys) >= 15
    spaces = {Path(space).stem for task in script.TASKS.values() for space in task.spaces}
    assert {line["space"] for line in lines} <= spaces


def test_what_a_search_writes_is_read(script: Any) -> None:
    """Dies if the numbers of a search have other names than the benchmark reads."""
    space = {"rate": {"uniform": [0.0, 1.0]}}
    search = jaxeval.tune_command(
        lambda values: values["rate"],
        space=space,
        trials=4,
        method="random",
        state=None,
        quiet=True,
    )
    so_far = script._best_so_far(json.loads(json.dumps(search.to_dict())))
    rates = [evaluation.values["rate"] for evaluation in search.evaluations]
    assert so_far == [max(rates[: k + 1]) for k in range(4)]
