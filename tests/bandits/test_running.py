"""Selections that evaluate for real: commands, workers, failures, late results."""

import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from jaxeval import bandits
from jaxeval.bandits import commands, running
from jaxeval.errors import ConfigError, RunError

TRUTH = {"a": 0.5, "b": 0.7}


def _score(model: str, number: int) -> float:
    return TRUTH.get(model, 0.0) + 0.01 * (number * 7 % 5)


def _end(rule: bandits.Rule, models: list[str], evaluate: Any, **how: Any) -> list:
    asked = running.Selecting(rule, rule.begin(models), how.get("retries", 0) + 1)
    return [*running.run(asked, evaluate, **how)]


def _command(template: str, field: str | None = None, limit: float | None = None) -> Any:
    command = commands.Command(template, ("model", "split", "seed"), field, limit, "model")
    return lambda model, k: command.score({"model": model, "split": str(k), "seed": str(k)})


def test_late_results_give_the_same_scores() -> None:
    """Dies if a result that overtakes another is told to the wrong evaluation."""
    rule = bandits.TopTwoThompson(batch_size=4, budget=20, delta=None)

    def slow(model: str, number: int) -> float:
        time.sleep(0.002 * (number * 3 % 4))
        return _score(model, number)

    state = _end(rule, ["a", "b"], slow, workers=4)[-1].state
    assert state.evaluations >= 20
    for model in ("a", "b"):
        numbers = range(1, len(state.scores_of(model)) + 1)
        assert state.scores_of(model) == [_score(model, k) for k in numbers]


def test_failures_are_tried_again_then_the_model_is_given_up() -> None:
    """Dies if a failure is silent, tried for ever, or takes the others with it."""
    calls: list[tuple[str, int]] = []

    def flaky(model: str, number: int) -> float:
        calls.append((model, number))
        if model == "bad" or (number == 2 and calls.count((model, 2)) == 1):
            raise commands.EvaluationFailed("boom")
        return _score(model, number)

    rule = bandits.TopTwoThompson(delta=0.1)
    events = _end(rule, ["a", "b", "bad"], flaky, retries=2)
    state = events[-1].state
    assert calls.count(("a", 2)) == calls.count(("b", 2)) == 2
    assert max(calls.count(("bad", k)) for k in (1, 2, 3)) == 3
    assert "failed 3 times: boom" in state.excluded["bad"]
    answer = rule.answer(state)
    assert answer is not None and answer.best == "b"
    assert any("tried again" in event.note for event in events)
    infinite = _end(rule, ["a", "b"], lambda m, k: float("inf") if m == "a" else 1.0)
    assert "the score is inf" in infinite[-1].state.excluded["a"]


def _python(code: str) -> str:
    return f"{sys.executable} -c '{code}' {{model}} {{split}} {{seed}}"


def test_commands_get_model_split_and_seed_without_a_shell(tmp_path: Path) -> None:
    """Dies if a name is split at its spaces or read by a shell."""
    mark = tmp_path / "mark"
    name = f"x; touch {mark} $(touch {mark})"
    code = "import sys; print(len(sys.argv)); print(sys.argv[2] + sys.argv[3])"
    assert _command(_python(code))(name, 7) == 77.0
    assert not mark.exists()


@pytest.mark.parametrize(
    ("code", "field", "expected"),
    [
        ('print("log"); print(0.5)', None, 0.5),
        ('print("log"); print("{\\"test\\": {\\"f1\\": [0.1, 0.25]}}")', "test.f1.1", 0.25),
        ('import json; print(json.dumps({"a": 3}, indent=1))', "a", 3.0),
    ],
)
def test_the_score_is_found(code: str, field: str | None, expected: float) -> None:
    """Dies if log lines or pretty JSON hide the score."""
    assert _command(_python(code), field)("m", 1) == expected


@pytest.mark.parametrize(
    ("code", "field", "message"),
    [
        ('import sys; sys.exit("out of memory")', None, "exit code 1 (out of memory)"),
        ("pass", None, "no output"),
        ("import os; os.kill(os.getpid(), 9)", None, "exit code -9"),
        ('print("done")', None, "the last line is 'done'; expected a number"),
        ("print({})", None, "the last line is '{}'; expected a number, or --json-field FIELD"),
        ("print(1)", "f1", "no field f1"),
        ('print("x")', "f1", "not JSON"),
    ],
)
def test_what_gives_no_score_is_explained(code: str, field: str | None, message: str) -> None:
    """Dies if a crashed command counts as a score."""
    with pytest.raises(commands.EvaluationFailed) as caught:
        _command(_python(code), field)("m", 1)
    assert message in str(caught.value)


def test_a_command_that_hangs_is_stopped_with_its_children(tmp_path: Path) -> None:
    """Dies if the time limit leaves the command, or what it started, running."""
    path = tmp_path / "pid"
    code = (
        'import subprocess, time; p = subprocess.Popen(["sleep", "60"]); '
        f'open("{path}", "w").write(str(p.pid)); time.sleep(60)'
    )
    begin = time.monotonic()
    with pytest.raises(commands.EvaluationFailed, match=r"no result within 1\.5 s"):
        _command(_python(code), limit=1.5)("m", 1)
    assert time.monotonic() - begin < 10
    child = int(path.read_text())
    for _ in range(50):
        if (
            not Path(f"/proc/{child}").exists()
            or "Z" in Path(f"/proc/{child}/stat").read_text().split()[2]
        ):
            break
        time.sleep(0.1)
    else:
        os.kill(child, 9)
        pytest.fail("the child lives on")


@pytest.mark.parametrize("session", [False, True])
def test_a_child_that_keeps_the_output_open_is_not_waited_for(session: bool) -> None:
    """Dies if a child that outlives its command holds up the score, or lines are lost."""
    begun = f'subprocess.Popen(["sleep", "30"], start_new_session={session})'
    printed = 'print("x" * 200_000, 7, sep=chr(13)); print(chr(233), end="")'
    code = f"import subprocess; {begun}; {printed}"
    begin = time.monotonic()
    command = commands.Command(_python(code) + " {model}", ("model",), pattern=r"\n(\d)\né$")
    assert command.score({"model": "m"}) == 7 and time.monotonic() - begin < 10


def test_scores_survive_their_file(tmp_path: Path) -> None:
    """Dies if a digit is lost, scores of another source are taken, or a damaged file is."""
    path = tmp_path / "s.json"
    source = {"command": "x"}
    with running.recorded(path, source) as (scores, write):
        scores["a", 5] = 0.7
        scores["a", 1] = 0.1 + 0.2
        write()
    with running.recorded(path, source) as (scores, _):
        assert scores == {("a", 1): 0.1 + 0.2, ("a", 5): 0.7}
        with pytest.raises(RunError, match="another process works on this selection"):
            running.recorded(path, source).__enter__()
    with pytest.raises(ConfigError, match="command x, not y"):
        running.recorded(path, {"command": "y"}).__enter__()
    path.write_text(path.read_text().replace("0.7", "NaN"))
    with pytest.raises(ConfigError, match=r"not the state of a selection \(expected finite"):
        running.recorded(path, source).__enter__()
