"""Searches over functions and commands: workers, failures, retries, states."""

import json
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from jaxeval import space as spaces
from jaxeval import tuning as searches
from jaxeval.bandits.commands import EvaluationFailed
from jaxeval.errors import ConfigError, JaxevalError
from jaxeval.tuning import Search, State
from jaxeval.tuning.evaluating import Evaluator, Runner
from jaxeval.tuning.history import History

SPACE = spaces.from_dict({"x": {"uniform": [0.0, 1.0]}})
SEARCH = Search(SPACE, "random", 1, seeds=2)


def _score(values: Mapping[str, Any], seed: int) -> float:
    return float(values["x"]) + seed / 1000


def _end(
    evaluate: Any = _score,
    history: History | None = None,
    search: Search = SEARCH,
    trials: int = 6,
    limit: float | None = None,
    **more: Any,
) -> History:
    state = State(search, history or History(), trials, limit)
    runner = Runner(state, Evaluator(evaluate, search.space), **more)
    for _ in runner.run():
        pass
    return runner.state.history


def test_results_are_told_to_their_own_setting_and_seed() -> None:
    """Dies if a result that overtakes another is told to the wrong setting, or seeds are mixed."""

    def slow(values: Mapping[str, Any], seed: int) -> float:
        time.sleep(0.002 * (seed * 3 % 4))
        return _score(values, seed)

    history = _end(slow, workers=4)
    assert not history.pending and len(history.evaluations) == 6
    for evaluation in history.evaluations:
        expected = tuple(_score(evaluation.values, seed) for seed in evaluation.seeds)
        assert evaluation.scores == expected
    assert history == _end(workers=1)


def test_failures_are_results() -> None:
    """Dies if a failure ends the search, is retried for ever, or its other seeds still count."""
    calls: list[tuple[float, int]] = []

    def broken(values: Mapping[str, Any], seed: int) -> float:
        calls.append((float(values["x"]), seed))
        if seed == 3:
            raise EvaluationFailed("exit code 1 (out of memory)")
        if seed == 6 and calls.count((float(values["x"]), 6)) == 1:
            raise EvaluationFailed("a hiccup")
        return float("nan") if seed == 7 else _score(values, seed)

    history = _end(broken, retries=1)
    assert [e.failure for e in history.evaluations] == [
        "", "exit code 1 (out of memory)", "", "the score is nan", "", "",
    ]  # fmt: skip
    assert [seed for _, seed in calls].count(3) == 2
    assert 4 not in [seed for _, seed in calls]  # of the setting that has failed already


def test_proposals_are_saved_before_they_run() -> None:
    """Dies if a proposal runs before it is saved, or a free worker waits for the others."""
    saved: set[int] = set()
    unsaved: list[int] = []
    barrier = threading.Barrier(4, timeout=10)

    class Saving(State):
        def save(self) -> None:
            saved.update(seed for e in self.history.evaluations for seed in e.seeds)
            super().save()

    def watched(values: Mapping[str, Any], seed: int) -> float:
        if seed not in saved:
            unsaved.append(seed)
        if seed <= 4:
            barrier.wait()  # passes only if four are here at once: two settings, two seeds each
        return _score(values, seed)

    for _ in Runner(Saving(SEARCH, History(), 5), Evaluator(watched, SPACE), 4).run():
        pass
    assert not unsaved and len(saved) == 10


def test_a_search_ends_with_its_time_or_its_space() -> None:
    """Dies if something is proposed after the end, what runs is lost, or no one says why."""
    few = Search(spaces.from_dict({"x": {"choices": [1, 2, 3]}}), "sobol")
    assert len(_end(search=few, trials=9).ended) == 3
    begun = History().propose({"x": 0.5}, (1, 2))
    late = _end(history=begun, trials=9, limit=1e-9)
    assert len(late.ended) == 1
    assert State(few, late, 9, 1e-9).reason == "the time is spent"
    assert State(few, late, 1).reason == "all trials have ended"
    assert State(few, late, 9).reason == "the space has no more settings"


def test_fresh_seeds_that_failed_run_again_in_a_later_call() -> None:
    """Dies if retries are lost, a failure is kept for ever, or a known score is run again."""
    calls: list[int] = []

    def unsure(values: Mapping[str, Any], seed: int) -> float:
        calls.append(seed)
        if seed % 2 and len(calls) < 6:
            raise EvaluationFailed("a hiccup")
        return _score(values, seed)

    state = State(SEARCH, _end(trials=1))
    setting = state.best()
    assert setting is not None
    runner = Runner(state, Evaluator(unsure, SPACE), retries=1)
    first, second = runner.again(setting, 2)
    assert first == (1_000_001, "a hiccup") and calls.count(1_000_001) == 2
    assert isinstance(second[1], float)
    known = len(calls)
    calls += [0] * 9
    assert [seed for seed, _ in runner.again(setting, 2)] == [1_000_001]
    assert len(calls) == known + 10 and isinstance(state.fresh_scores(setting)[1_000_001], float)


CELLS = spaces.from_dict(
    {
        "rate": {"log_uniform": [1e-8, 1.0]},
        "cell": {"choices": ["lstm", "gru"]},
        "peephole": {"choices": [True, False], "when": {"cell": ["lstm"]}},
    }
)


VALUES = {"rate": 1.2345678901234568e-05, "cell": "lstm", "peephole": True}


def test_a_command_gets_values_without_losing_digits() -> None:
    """Dies if a float is rounded, true is spelled as in Python, or JSON's braces are replaced."""
    command = Evaluator(
        "true --rate={rate} {cell} --peephole={peephole} -s {seed} '{\"a\": 1}'", CELLS
    )
    assert command.words(VALUES, 7) == [
        "true", "--rate=1.2345678901234568e-05", "lstm", "--peephole=true", "-s", "7", '{"a": 1}',
    ]  # fmt: skip
    plain = Evaluator("true {values}", CELLS).words(VALUES, 7)
    assert json.loads(plain[1]) == VALUES


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("true {rat} {cell} {peephole}", r"\{rat\}: no such hyperparameter; there are rate, cell"),
        ("true {rate} {cell}", r"\{peephole\} is missing"),
        ("true", r"expected \{values\}, or each hyperparameter by its name"),
        ("no-such-program {values}", "no such program"),
        ("true {values} 'x", "cannot be split"),
        ("", "expected a program and its arguments, got nothing"),
    ],
)
def test_bad_commands_are_refused(template: str, message: str) -> None:
    """Dies if a command that cannot be right is run once a setting."""
    with pytest.raises(ConfigError, match=message):
        Evaluator(template, CELLS)


TABLES = {"x": {"uniform": [0, 1]}, "y": {"uniform": [0, 2]}}


@pytest.mark.parametrize(
    ("field", "wrong", "message"),
    [
        ("values", {"x": 2.0, "y": 1.0}, "evaluation 0 is not a setting of the space"),
        ("scores", "1", "evaluations.0.scores"),
        ("seconds", "soon", "not the state of a search"),
    ],
)
def test_a_damaged_state_is_refused(
    field: str, wrong: object, message: str, tmp_path: Path
) -> None:
    """Dies if a search goes on with other settings, or ends with the worst."""
    search, path = Search(spaces.from_dict(TABLES)), tmp_path / "tuning.json"
    history = History().propose({"x": 0.5, "y": 0.5}, [1]).tell(0, (0.9,))
    with searches.opened(path, search, True, {}, 9) as state:
        state.history = history
        state.save()
    with searches.opened(path, search, True, {}, 9) as state:
        assert state.history == history and state.known == 1
    tree = json.loads(path.read_text())
    part = tree["state"] if field in tree["state"] else tree["state"]["evaluations"][0]
    part[field] = wrong
    path.write_text(json.dumps(tree))
    refused = pytest.raises(JaxevalError, match=f"not the state of a search .*{message}|{message}")
    with refused, searches.opened(path, search, True, {}, 9):
        pass


def test_a_reordered_space_is_another_search(tmp_path: Path) -> None:
    """Dies if a state goes on with the dimensions of its Sobol sequence in another order, or two
    processes work on it."""
    path, search = tmp_path / "tuning.json", Search(spaces.from_dict(TABLES))
    busy = pytest.raises(JaxevalError, match="another process works on this search")
    with searches.opened(path, search, True, {}, 9) as state:
        state.save()
        with busy, searches.opened(path, search, True, {}, 9):
            pass
    turned = Search(spaces.from_dict(dict(reversed(TABLES.items()))))
    refused = pytest.raises(JaxevalError, match="space in the order x, y, not y, x")
    with refused, searches.opened(path, turned, True, {}, 9):
        pass
