"""`python -m jaxeval.tune`: commands, kill and resume, bad input."""

import json
import shlex
import signal
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from jaxeval.errors import JaxevalError, RunError
from jaxeval.report.tuning import figures
from jaxeval.space import space as spaces
from jaxeval.tune import __main__ as tune
from jaxeval.tune import options
from jaxeval.tuning import methods, posterior, saved
from jaxeval.tuning.history import History
from jaxeval.tuning.search import Search
from tests import processes

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
    assert "8 of 8 settings, about 0 s left, then retraining; best score" in shown.err
    tree = json.loads((tmp_path / "out.json").read_text())
    drawn = {figure.name: figure for figure in figures.draw(tree)}
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
    tree = _json(capsys, [*words, "--html", "page.html"])
    assert "Importance" in Path("page.html").read_text() and tree["posterior"]["importance"]
    assert tree["reason"] == "a setting that is better by more than 10 has probability 0.000"
    assert tree["trials"] == 8 and tree["retrained"]["optimism"] is not None
    more = _words(tmp_path, "--trials", "30", "--seconds", "1e-9", "--state", "other.json")
    with pytest.raises(JaxevalError, match="no setting has a score: the time is spent"):
        tune.main(more)
    with pytest.raises(JaxevalError, match="expected --method gp, which has a posterior"):
        tune.main([*more, "--stop-below", "0.1"])


@pytest.mark.parametrize("output", ["--json", "--html", "--figures"])
def test_an_output_that_cannot_be_written_is_refused_before_the_search(
    output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if hours are spent on what cannot be shown."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RunError, match=r"train\.py/x: cannot be written"):
        tune.main(_words(tmp_path, output, "train.py/x"))
    assert not (tmp_path / "calls").exists() and not (tmp_path / "tuning.json").exists()


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
    """Dies if Ctrl-C ends without a word, or with a traceback."""
    monkeypatch.chdir(tmp_path)
    process = processes.start("jaxeval.tune.__main__", *_words(tmp_path, seconds=0.3))
    deadline = time.monotonic() + 60
    while not _known(tmp_path / "tuning.json"):
        assert time.monotonic() < deadline and not process.ended()
        time.sleep(0.02)
    process.send(number)
    ended = process.wait()
    assert ended.returncode == 130
    assert ended.stderr.endswith("\nstopped; the same command continues from here\n")


def test_a_second_process_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if two processes work on one search."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(signal, "signal", lambda *handler: None)
    of = Search(spaces.from_dict({"x": {"uniform": [0, 1]}}))
    refused = pytest.raises(RunError, match=r"tuning\.json: another process works on this search")
    with saved.opened(tmp_path / "tuning.json", of, True, {}), refused:
        tune.main(_words(tmp_path))


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
    (["--halving", "3"], "--halving: goes with a config"),
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
    message = r"no setting has a score: 2 x exit code 1 \(no message\); --retry-failed tries them"
    failing = ["--state", "s", "--command", "false {values} {seed}"]
    with pytest.raises(JaxevalError, match=message):
        tune.main([*_words(tmp_path, "--trials", "2"), *failing])
    for more, message in [
        (["--retries", "2"], "--retries: goes with --command"),
        (["--retry-failed"], "--retry-failed: goes with --command"),
        (["--margin", "0"], "--margin: goes with --stop-below"),
        (["--space", "no_space.toml"], "no_space.toml: no such space file"),
    ]:
        with pytest.raises(JaxevalError, match=message):
            tune.main(["--space", "space.toml", *more])


def test_a_fresh_seed_that_failed_runs_again_with_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Dies if a failure of a fresh seed is kept for ever, or is not retried as asked for."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(signal, "signal", lambda *handler: None)
    command = "sh -c 'echo {seed} >> calls; (test {seed} -lt 9 || test -e well) && echo {x}'"
    (tmp_path / "s.toml").write_text("[x]\nuniform = [0, 1]\n")
    words = ["--space", "s.toml", "--method", "random", "--command", command]
    words += ["--trials", "2", "--retrain", "1", "--retries", "2"]
    assert _json(capsys, words)["retrained"]["failures"] == ["exit code 1 (no message)"]
    assert (tmp_path / "calls").read_text().splitlines().count("1000001") == 3
    (tmp_path / "well").touch()
    tree = _json(capsys, words)
    assert tree["retrained"]["scores"]["score"] == [tree["best"]["mean"]]


BROKEN = """\
import pathlib, sys
open("calls", "a").write(sys.argv[1] + "\\n")
if pathlib.Path("broken").exists():
    raise ImportError("no module named x")
if float(sys.argv[1]) > float(pathlib.Path("most").read_text()):
    sys.exit(f"{sys.argv[1]} is too large")
print(sys.argv[1])
"""


def _breaking(folder: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> list[str]:
    """A search over a command that is broken while there is a file of this name."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(signal, "signal", lambda *handler: None)
    Path("s.toml").write_text("[x]\nuniform = [0, 1]\n")
    Path("train.py").write_text(BROKEN)
    Path("most").write_text("1")
    Path("broken").touch()
    words = ("--trials", "6", "--retrain", "0", *words)
    return ["--space", "s.toml", "--command", f"{sys.executable} train.py {{x}}", *words]


def _calls() -> list[str]:
    return Path("calls").read_text().splitlines()


@pytest.mark.parametrize(("parallel", "most"), [(1, 3), (4, 4)])
def test_a_broken_command_stops_the_search(
    parallel: int,
    most: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    """Dies if all trials are spent on it, or if the mended command has lost what they were."""
    words = _breaking(tmp_path, monkeypatch, "--parallel", str(parallel))
    message = rf"first {most} settings failed: .*ImportError: no module named x\); tuning\.json"
    for _ in range(2):
        with pytest.raises(JaxevalError, match=message):
            tune.main(words)
    assert len(_calls()) < 2 * (most + parallel) and not Path("tuning.json").exists()
    Path("broken").unlink()
    mended = _json(capsys, words)
    assert mended["trials"] == 6 and not mended["failures"]
    whole = _json(capsys, [*words, "--state", "whole.json"])
    assert parallel > 1 or whole["evaluations"] == mended["evaluations"]


def test_settings_that_fail_in_earnest_do_not_stop_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Dies if failures that are allowed, known, or after a score stop a search."""
    words = _breaking(tmp_path, monkeypatch, "--method", "random")
    with pytest.raises(JaxevalError, match="no setting has a score: 6 x exit code 1"):
        tune.main([*words, "--most-failures", "7", "--state", "allowed.json"])
    with pytest.raises(JaxevalError, match="no setting has a score: 8 x exit code 1"):
        tune.main([*words, "--trials", "8", "--state", "allowed.json"])
    Path("broken").unlink()
    values = [spaces.draw(spaces.read("s.toml"), 0, k)["x"] for k in range(12)]
    assert isinstance(values[0], float)
    Path("most").write_text(str(values[0]))
    failed = sum(float(value) > values[0] for value in values)
    assert len(_json(capsys, [*words, "--trials", "12"])["failures"]) == failed >= 3


def test_what_failed_is_tried_again_where_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Dies if an outage is final, a score is computed again, or no one says what can be done."""
    words = _breaking(tmp_path, monkeypatch, "--method", "gp")
    Path("broken").unlink()
    assert tune.main([*words, "--trials", "4"]) == 0
    assert "--retry-failed" not in capsys.readouterr().out
    Path("broken").touch()
    assert tune.main(words) == 0
    assert "failed settings: --retry-failed tries them again" in capsys.readouterr().out
    Path("broken").unlink()
    outage = _json(capsys, words)
    assert len(_calls()) == 6 and sum(outage["failures"].values()) == 2
    mended = _json(capsys, [*words, "--retry-failed"])
    assert not mended["failures"] and _calls()[6:] == _calls()[4:6]
    assert mended["evaluations"][:4] == outage["evaluations"][:4]
    proposed = [[e["values"] for e in tree["evaluations"]] for tree in (outage, mended)]
    assert proposed[0] == proposed[1]


def test_without_a_seed_nothing_is_run_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Dies if copies of one run count as fresh seeds, or get an interval of no width."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(signal, "signal", lambda *handler: None)
    (tmp_path / "s.toml").write_text("[x]\nuniform = [0, 1]\n")
    words = ["--space", "s.toml", "--method", "random", "--trials", "2"]
    for more in (["--seeds", "2"], ["--seeds", "adaptive", "--method", "gp"], ["--retrain", "3"]):
        with pytest.raises(JaxevalError, match=rf"{more[0]}: expected {{seed}} in --command"):
            tune.main([*words, *more, "--command", "echo {x}"])
    assert not (tmp_path / "tuning.json").exists()
    assert (
        tune.main([*words, "--command", "echo {x}", "--json", "a.json", "--html", "p.html"]) == 0
    )
    said = "not trained again: --command has no {seed}"
    assert said in capsys.readouterr().out and said in (tmp_path / "p.html").read_text()
    tree = json.loads((tmp_path / "a.json").read_text())
    assert tree["retrained"] is None and tree["seeded"] is False
    deaf = ["--command", "sh -c 'echo {x}' {seed}", "--state", "b.json"]
    assert tune.main([*words, *deaf, "--json", "b.json.out"]) == 0
    shown = capsys.readouterr().out
    assert "score: its 8 scores are equal, so their spread is not known; do they" in shown
    assert "CI" not in shown and "optimism of the search" in shown
    tree = json.loads((tmp_path / "b.json.out").read_text())
    fresh = tree["retrained"]
    assert tree["noise"] is None and tree["noise_df"] == 0
    assert fresh["parts"]["score"]["mean_interval"] is None
    assert fresh["optimism"]["interval"] is None and fresh["optimism"]["value"] == 0


def test_a_dry_run_shows_the_first_command_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Dies if a line is not what is run, or if anything is run or written."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(signal, "signal", lambda *handler: None)
    words = _words(tmp_path, "--trials", "3", "--parallel", "3")
    before = {*tmp_path.iterdir()}
    assert tune.main([*words, "--dry-run"]) == 0
    shown = [shlex.split(line) for line in capsys.readouterr().out.splitlines()]
    assert _json(capsys, [*words, "--dry-run"]) == {"trials": 3, "first": shown}
    assert {*tmp_path.iterdir()} == before
    assert tune.main([*words, "--retrain", "0"]) == 0
    run = (tmp_path / "calls").read_text().splitlines()
    assert sorted(" ".join(line[2:]) for line in shown) == sorted(run) and len(run) == 3


def test_a_margin_of_0_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if --margin 0 is refused, or the metric's margin is taken instead."""
    (tmp_path / "s.toml").write_text("[x]\nuniform = [0, 1]\n")
    words = ["--space", str(tmp_path / "s.toml"), "--stop-below", "0.5"]
    margins: list[float] = []

    def better(space: object, history: History, margin: float, seed: int) -> float:
        margins.append(margin)
        return 1.0

    monkeypatch.setattr(posterior, "probability_of_better", better)
    for more in ([], ["--margin", "0"]):
        args = tune.parser().parse_args([*words, *more])
        of = options.search(args)
        with saved.opened(tmp_path / "state.json", of, True, {}) as state:
            options.stopper(options.end(args), of, state, margin=0.01)(History())
    assert margins == [0.01, 0.0]
