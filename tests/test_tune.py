"""`python -m jaxeval.tune`: commands, configs, kill and resume, bad input."""

import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from jaxeval import runs, studies
from jaxeval.errors import JaxevalError, RunError
from jaxeval.report.tuning import figures
from jaxeval.space import space as spaces
from jaxeval.tasks import registry
from jaxeval.tune import __main__ as tune
from jaxeval.tune import configs, options
from jaxeval.tuning import history as histories
from jaxeval.tuning import methods, saved
from jaxeval.tuning.history import History
from jaxeval.tuning.search import Search
from tests.studies import toy_kind

SPACE = """\
[rate]
log_uniform = [1e-4, 1.0]
[cell]
choices = ["lstm", "gru"]
[peephole]
uniform = [0, 1]
when = { cell = ["lstm"] }
"""
TRAIN = """\
import math, random, sys, time
given = dict(word.split("=") for word in sys.argv[1:])
open("calls", "a").write(" ".join(sys.argv[1:]) + "\\n")
time.sleep(float(given["seconds"]))
if float(given["rate"]) > 0.5:
    sys.exit("diverged")
random.seed(given["seed"])
print("training ...")
print(0.8 - 0.05 * (math.log10(float(given["rate"])) + 2) ** 2 + random.gauss(0, 0.01))
"""


def _words(folder: Path, *words: str, seconds: float = 0.0, method: str = "random") -> list[str]:
    (folder / "space.toml").write_text(SPACE)
    (folder / "train.py").write_text(TRAIN)
    names = "rate={rate} cell={cell} peephole={peephole} seed={seed}"
    command = f"{sys.executable} {folder / 'train.py'} {names} seconds={seconds}"
    head = ["--space", str(folder / "space.toml"), "--method", method, "--command", command]
    return [*head, "--retrain", "2", *words]


def _json(capsys: pytest.CaptureFixture, words: list[str]) -> Any:
    assert tune.main([*words, "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_command_is_tuned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Dies if failures are lost, the answer is not retrained, or what is known is done again."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(signal, "signal", lambda *handler: None)
    words = _words(tmp_path, "--trials", "12", "--parallel", "4")
    tree = _json(capsys, words)
    assert tree["trials"] == 12 and tree["reason"] == "all trials have ended"
    expected = [spaces.draw(spaces.read(tmp_path / "space.toml"), 0, k) for k in range(12)]
    assert [e["values"] for e in tree["evaluations"]] == expected
    failed = sum(float(values["rate"]) > 0.5 for values in expected)
    assert tree["failures"] == {"exit code 1 (diverged)": failed} and failed
    means = [statistics.fmean(e["scores"]) for e in tree["evaluations"] if "scores" in e]
    assert tree["best"]["mean"] == max(means) == tree["best_so_far"][-1]
    fresh = tree["retrained"]
    assert len(fresh["scores"]["score"]) == 2 and fresh["optimism"]["seen"] == max(means)
    assert tree["noise"] == pytest.approx(statistics.stdev(fresh["scores"]["score"]))
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) == 14 and len({call.split("seed=")[1] for call in calls}) == 14
    again = _json(capsys, words)
    assert again["evaluations"] == tree["evaluations"] and again["retrained"] == fresh
    more = _json(capsys, [*words, "--trials", "14"])
    assert more["evaluations"][:12] == tree["evaluations"]
    assert len((tmp_path / "calls").read_text().splitlines()) - 14 in (2, 4)


def test_the_terminal_says_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Dies if table, failures, interval or optimism are not shown, or a figure loses a setting."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(signal, "signal", lambda *handler: None)
    assert tune.main(_words(tmp_path, "--trials", "8", "--json", "out.json")) == 0
    shown = capsys.readouterr()
    for said in ("best mean: setting", "failed: exit code 1 (diverged)", "95 % CI", "optimism of"):
        assert said in shown.out
    assert "8 of 8 settings, about 0 s left; best score" in shown.err
    tree = json.loads((tmp_path / "out.json").read_text())
    drawn = {figure.name: figure for figure in figures.draw(tree, {})}
    assert [*drawn] == ["best_so_far", "slices", "parallel_coordinates"]
    scored = sum("scores" in evaluation for evaluation in tree["evaluations"])
    assert len(drawn["parallel_coordinates"].rows) == scored < 8
    assert [row[0] for row in drawn["slices"].rows].count("rate") == scored


def test_a_search_ends_when_nothing_better_is_probable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Dies if the bound, the margin or the time is ignored, or the reason is not said."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(signal, "signal", lambda *handler: None)
    words = _words(
        tmp_path, "--trials", "30", "--stop-below", "0.5", "--margin", "10", method="gp"
    )
    tree = _json(capsys, words)
    assert tree["reason"] == "a setting that is better by more than 10 has probability 0.000"
    assert tree["trials"] == 8 and tree["retrained"]["optimism"] is not None
    more = _words(tmp_path, "--trials", "30", "--seconds", "1e-9", "--state", "other.json")
    with pytest.raises(JaxevalError, match="no setting has a score: the time is spent"):
        tune.main(more)
    with pytest.raises(JaxevalError, match="expected --method gp, which has a posterior"):
        tune.main([*more, "--stop-below", "0.1"])


def test_methods_are_those_that_there_are() -> None:
    """Dies if the verb cannot ask for a method of the tuner."""
    assert options.METHODS == methods.NAMES


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
    monkeypatch.setattr(signal, "signal", lambda *handler: None)
    monkeypatch.chdir(whole)
    assert tune.main(_words(whole, *more)) == 0
    monkeypatch.chdir(killed)
    words = _words(killed, *more, seconds=0.1)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    run = [sys.executable, "-m", "jaxeval.tune", *words]
    with subprocess.Popen(run, **quiet) as process:  # type: ignore[call-overload]
        deadline = time.monotonic() + 60
        while _known(killed / "tuning.json") < 3:
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
    assert 3 <= _known(killed / "tuning.json") < 8
    assert tune.main(words) == 0
    a, b = (json.loads((folder / "out.json").read_text()) for folder in (whole, killed))
    for key in ("evaluations", "best", "retrained"):
        assert a[key] == b[key]


def test_a_second_process_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if two processes work on one search."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(signal, "signal", lambda *handler: None)
    of = Search(spaces.from_dict({"x": {"uniform": [0, 1]}}))
    refused = pytest.raises(RunError, match=r"tuning\.json: another process works on this search")
    with saved.opened(tmp_path / "tuning.json", of, True, {}), refused:
        tune.main(_words(tmp_path))


ROWS: list[tuple[list[str], str]] = [
    (["--method", "sobol"], "holds a search with method random, not sobol"),
    (["--seeds", "2"], "holds a search with seeds 1, not 2"),
    (["--json-field", "f1"], "holds a search with json_field None, not f1"),
    (["--lower-is-better"], "with higher_is_better True, not False"),
    (["--data", "DIR"], "--command: expected no CONFIG"),
    (["--state", "train.py"], "not the state of a search"),
    (["--trials", "1000000", "--seeds", "3"], "--trials: expected at most"),
]


def test_another_search_does_not_go_on_with_these_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Dies if a state file is continued by another search, or bad arguments are a traceback."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(signal, "signal", lambda *handler: None)
    words = _words(tmp_path, "--trials", "3")
    assert tune.main(words) == 0
    before = (tmp_path / "tuning.json").read_text()
    for more, message in ROWS:
        with pytest.raises(JaxevalError, match=message):
            tune.main([*words, *more])
    assert (tmp_path / "tuning.json").read_text() == before
    with pytest.raises(JaxevalError, match="no setting has a score: 3 x exit code 1"):
        tune.main(
            [*_words(tmp_path, "--trials", "3", "--state", "s"), "--command", "false {values}"]
        )
    with pytest.raises(JaxevalError, match="--retries: goes with --command"):
        tune.main(["--space", "space.toml", "--retries", "2"])


# Configs: a toy that trains in a moment.

TOY_SPACE = spaces.from_dict(
    {
        "rate": {"key": "model.rate", "uniform": [0.0, 1.0]},
        "noise": {"key": "model.noise", "uniform": [0.0, 0.9]},
    }
)
TOY_SEARCH = Search(TOY_SPACE, "sobol", seed=2, seeds=2)


def _target(monkeypatch: pytest.MonkeyPatch, search: Search = TOY_SEARCH) -> configs.Target:
    monkeypatch.setattr(registry, "KINDS", toy_kind.KINDS)
    return configs.target({"task": "toy"}, [], None, search)


def _go_on(
    of: configs.Target, folder: Path, history: History, stop: int | None = None
) -> list[History]:
    """Every history that is saved, until so many evaluations have ended."""
    saved, ended = [], 0
    with runs.open_store(folder) as store:
        happening = configs.tune(
            of, TOY_SEARCH, history, store, folder, trials=6, parallel=3, stop=lambda history: ""
        )
        with contextlib.closing(happening):
            for event in happening:
                if isinstance(event, configs.Asked | configs.Told):
                    saved.append(event.history)
                ended += isinstance(event, configs.Scored)
                if ended == stop:
                    break
    return saved


def test_a_stopped_search_ends_as_one_that_was_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a batch that was stopped is proposed or trained again, or seeds are shared."""
    target = _target(monkeypatch)
    whole = _go_on(target, tmp_path / "whole", History())[-1]
    assert len(histories.ended(whole)) == 6
    rows = runs.load(tmp_path / "whole")
    assert sorted(row.seed for row in rows) == list(range(1, 13))
    scores = {(row.hparams, row.seed): row.dev for row in rows}
    for evaluation in whole.evaluations:
        identity = histories.identity(evaluation.values)
        expected = tuple(scores[identity, seed] for seed in evaluation.seeds)
        assert evaluation.result is not None and evaluation.result.scores == expected
    history = History()
    for stop in (2, 3, 4, 5):  # of three a batch
        history = _go_on(target, tmp_path / "parts", history, stop)[-1]
    assert history == whole
    assert len(runs.load(tmp_path / "parts")) == 12


def test_what_cannot_be_trained_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a setting that is no config, ends the search, or is trained."""
    bad = spaces.from_dict({"batch": {"key": "training.batch_size", "choices": [4, -4]}})
    search = Search(bad, "random")
    target = _target(monkeypatch, search)
    history = histories.propose(History(), {"batch": -4}, [1])
    (evaluation,) = history.evaluations
    asked = configs.batch(target, [evaluation])
    assert not asked.cohorts and "training.batch_size" in asked.failed[0].failure
    with runs.open_store(tmp_path) as store:
        happening = configs.tune(
            target, search, history, store, tmp_path, trials=1, parallel=1, stop=str
        )
        *_, told = happening
    assert isinstance(told, configs.Told) and not histories.pending(told.history)


def test_a_dry_run_shows_the_first_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Dies if a dry run writes anything, or does not say what would be trained."""
    monkeypatch.setattr(registry, "KINDS", toy_kind.KINDS)
    monkeypatch.chdir(tmp_path)
    Path("toy.toml").write_text('task = "toy"\n')
    Path("space.toml").write_text('[rate]\nkey = "model.rate"\nuniform = [0, 1]\n')
    words = ["toy.toml", "--space", "space.toml", "--trials", "20", "--parallel", "6"]
    assert tune.main([*words, "--dry-run"]) == 0
    assert "20 settings of 1 hyperparameter by gp, 6 at once in 4" in capsys.readouterr().out
    tree = _json(capsys, [*words, "--dry-run"])
    assert tree["batches"] == 4 and tree["first"]["cohorts"][0]["runs"] == [1, 2, 3, 4, 5, 6]
    assert {path.name for path in tmp_path.iterdir()} == {"toy.toml", "space.toml"}


def test_settings_with_one_program_are_one_population(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if values that are traced cause another compilation."""
    target = _target(monkeypatch)
    history = History()
    for rate in (0.1, 0.2, 0.3):
        history = histories.propose(history, {"rate": rate, "noise": 0.2}, [1, 2])
    asked = configs.batch(target, history.evaluations)
    assert [len(cohort.members) for cohort in asked.cohorts] == [6]
    assert all(isinstance(trial, studies.Trial) for trial in asked.trials)
