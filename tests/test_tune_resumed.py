"""`python -m jaxeval.tune`: kill and resume; another search does not go on with a state."""

import json
import signal
import time
from pathlib import Path

import pytest

from jaxeval.errors import JaxevalError, RunError
from jaxeval.space import space as spaces
from jaxeval.tune import __main__ as tune
from jaxeval.tuning import history as histories
from jaxeval.tuning import saved
from jaxeval.tuning.history import History, Result
from jaxeval.tuning.search import Search
from tests import processes, tune_command


def _known(state: Path) -> int:
    if not state.exists():
        return 0
    return sum("scores" in e for e in json.loads(state.read_text())["state"]["evaluations"])


def test_a_killed_search_goes_on_with_the_same_proposals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if kill -9 loses a result or a proposal, or others are made instead."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
    more = ["--trials", "10", "--json", "out.json"]
    monkeypatch.chdir(whole)
    assert tune.main(tune_command.words(whole, *more)) == 0
    monkeypatch.chdir(killed)
    words = tune_command.words(killed, *more, seconds=0.1)
    process = processes.start("jaxeval.tune.__main__", *words)
    deadline = time.monotonic() + 60
    while _known(killed / "tuning.json") < 3:
        assert time.monotonic() < deadline and not process.ended()
        time.sleep(0.02)
    process.send(signal.SIGKILL)
    assert process.wait().returncode == -signal.SIGKILL
    assert 3 <= _known(killed / "tuning.json") < 8
    assert tune.main(words) == 0
    a, b = (json.loads((folder / "out.json").read_text()) for folder in (whole, killed))
    for key in ("evaluations", "best", "retrained"):
        assert a[key] == b[key]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_search_says_that_it_goes_on(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if Ctrl-C or SIGTERM ends without a word, with a traceback or by another's status."""
    monkeypatch.chdir(tmp_path)
    process = processes.start("jaxeval.tune.__main__", *tune_command.words(tmp_path, seconds=0.3))
    deadline = time.monotonic() + 60
    while not _known(tmp_path / "tuning.json"):
        assert time.monotonic() < deadline and not process.ended()
        time.sleep(0.02)
    process.send(number)
    ended = process.wait()
    assert ended.returncode == 128 + number
    assert ended.stderr.endswith("\nstopped; the same command continues from here\n")


def test_a_second_process_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if two processes work on one search."""
    monkeypatch.chdir(tmp_path)
    of = Search(spaces.from_dict({"x": {"uniform": [0, 1]}}))
    refused = pytest.raises(RunError, match=r"tuning\.json: another process works on this search")
    with saved.opened(tmp_path / "tuning.json", of, True, {}), refused:
        tune.main(tune_command.words(tmp_path))


def test_a_reordered_space_is_another_search(tmp_path: Path) -> None:
    """Dies if a state goes on with the dimensions of its Sobol sequence in another order."""
    tables = {"x": {"uniform": [0, 1]}, "y": {"uniform": [0, 2]}}
    path = tmp_path / "tuning.json"
    with saved.opened(path, Search(spaces.from_dict(tables)), True, {}) as state:
        state.save(History())
    turned = Search(spaces.from_dict(dict(reversed(tables.items()))))
    refused = pytest.raises(JaxevalError, match="space in the order x, y, not y, x")
    with refused, saved.opened(path, turned, True, {}):
        pass
    with saved.opened(path, Search(spaces.from_dict(tables)), True, {}):
        pass


@pytest.mark.parametrize(
    ("field", "wrong", "message"),
    [
        ("higher_is_better", False, "direction of its history"),
        ("values", {"x": 2.0}, "evaluation 0 is no setting of the space"),
        ("values", {"rate": 0.5}, "evaluation 0 is no setting of the space"),
        ("scores", "1", "expected a list of numbers"),
    ],
)
def test_a_state_that_is_not_of_its_search_is_refused(
    field: str, wrong: object, message: str, tmp_path: Path
) -> None:
    """Dies if a search goes on with other settings, or ends with the worst by a direction that is
    not that of its head."""
    of, path = Search(spaces.from_dict({"x": {"uniform": [0, 1]}})), tmp_path / "tuning.json"
    history = histories.propose(History(), {"x": 0.5}, [1])
    with saved.opened(path, of, True, {}) as state:
        state.save(histories.tell(history, 0, Result((0.9,))))
    tree = json.loads(path.read_text())
    (tree["state"] if field in tree["state"] else tree["state"]["evaluations"][0])[field] = wrong
    path.write_text(json.dumps(tree))
    refused = pytest.raises(JaxevalError, match=f"not the state of a search .*{message}")
    with refused, saved.opened(path, of, True, {}):
        pass


ROWS: list[tuple[list[str], str]] = [
    (["--method", "sobol"], "holds a search with method random, not sobol"),
    (["--seeds", "2"], "holds a search with seeds 1, not 2"),
    (["--json-field", "f1"], "holds a search with json_field None, not f1"),
    (
        ["--lower-is-better"],
        "with scores of which higher is better, not lower \\(--lower-is-better\\);",
    ),
    (["--data", "DIR"], "--command: expected no --data beside it, got DIR$"),
    (["--out", "DIR"], "--command: expected no --out beside it, got DIR$"),
    (["model.x=1", "y=2"], "--command: expected no key=value beside it, got model.x=1 y=2$"),
    (["--margin", "1"], "--margin: goes with --stop-below"),
    (["--min-epochs", "2"], "--min-epochs: goes with --halving"),
    (["--halving", "3"], "--halving, --steps: expected both of a command"),
    (["--state", "train.py"], "not the state of a search"),
    (["--trials", "1000000", "--seeds", "3"], "--trials: expected at most"),
]


def test_another_search_does_not_go_on_with_these_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Dies if a state file is continued by another search, or bad arguments are a traceback."""
    monkeypatch.chdir(tmp_path)
    words = tune_command.words(tmp_path, "--trials", "3")
    assert tune.main(words) == 0
    before = (tmp_path / "tuning.json").read_text()
    for more, message in ROWS:
        with pytest.raises(JaxevalError, match=message):
            tune.main([*words, *more])
    assert (tmp_path / "tuning.json").read_text() == before
    message = r"no setting has a score: 2 x exit code 1 \(no message\); --retry-failed tries them"
    failing = ["--state", "s", "--command", "false {values} {seed}"]
    with pytest.raises(JaxevalError, match=message):
        tune.main([*tune_command.words(tmp_path, "--trials", "2"), *failing])
    for more, message in [
        (["--retries", "2"], "--retries: goes with --command"),
        (["--retry-failed"], "--retry-failed: goes with --command"),
        (["--margin", "0"], "--margin: goes with --stop-below"),
        (["--space", "no_space.toml"], "no_space.toml: no such space file"),
    ]:
        with pytest.raises(JaxevalError, match=message):
            tune.main(["--space", "space.toml", *more])
