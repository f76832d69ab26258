"""`jaxeval tune command`: commands and functions, kill and resume, what it shows."""

import json
import math
import shlex
import signal
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxeval
from jaxeval import space as spaces
from jaxeval.errors import ConfigError, JaxevalError
from jaxeval.tuning import EvaluationFailed
from tests import processes, tune_command
from tests.verbs import tune

RATE: Any = {"rate": {"log_uniform": [1e-4, 1.0]}}


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _loss(values: Any) -> float:
    return float((math.log10(values["rate"]) + 2) ** 2)


def test_a_command_is_tuned(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if failures are lost, the answer is not retrained, or what is known is done again."""
    words = tune_command.words(tmp_path, "--trials", "12", "--parallel", "4")
    tree = tune_command.json_of(capsys, words)
    assert tree["trials"] == 12 and tree["reason"] == "all trials have ended"
    expected = [spaces.draw(spaces.load(tmp_path / "space.toml")[0], 0, k) for k in range(12)]
    assert [e["values"] for e in tree["evaluations"]] == expected
    failed = sum(float(values["rate"]) > 0.5 for values in expected)
    assert tree["failures"] == {"exit code 1 (diverged)": failed} and failed
    means = [np.mean(e["scores"]) for e in tree["evaluations"] if e["scores"]]
    fresh = tree["retrained"]["scores"]["score"]
    assert tree["best"]["scores"] == [max(means)] and len(fresh) == 2
    assert tree["retrained"]["parts"]["score"]["mean"] == pytest.approx(statistics.fmean(fresh))
    assert tree["noise"] == pytest.approx(statistics.stdev(fresh)) and tree["noise_df"] == 1
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) == 14 and len({call.split("seed=")[1] for call in calls}) == 14
    again = tune_command.json_of(capsys, words)
    assert again["evaluations"] == tree["evaluations"]
    assert again["retrained"] == tree["retrained"]
    more = tune_command.json_of(capsys, [*words, "--trials", "14"])
    assert more["evaluations"][:12] == tree["evaluations"]
    assert len((tmp_path / "calls").read_text().splitlines()) - 14 in (2, 4)


def test_a_killed_search_goes_on_with_the_same_proposals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if kill -9 loses a result or a proposal, or others are made instead; or if Ctrl-C ends
    without a word."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
    more = ["--trials", "10", "--json", "out.json"]
    monkeypatch.chdir(whole)
    assert tune(tune_command.words(whole, *more)) == 0
    monkeypatch.chdir(killed)
    words = tune_command.words(killed, *more, seconds=0.1)

    def known() -> int:
        if not Path("tuning.json").exists():
            return 0
        each = json.loads(Path("tuning.json").read_text())["state"]["evaluations"]
        return sum(bool(e["scores"] or e["failure"]) for e in each)

    for number, least in ((signal.SIGKILL, 3), (signal.SIGINT, 5)):
        process = processes.start("tune", *words)
        deadline = time.monotonic() + 60
        while known() < least:
            assert time.monotonic() < deadline and not process.ended()
            time.sleep(0.02)
        process.send(number)
        ended = process.wait()
        if number == signal.SIGINT:
            assert ended.returncode == 130
            assert ended.stderr.endswith("\nstopped; the same command continues from here\n")
    assert known() < 10 and tune(words) == 0
    a, b = (json.loads((folder / "out.json").read_text()) for folder in (whole, killed))
    for key in ("evaluations", "best", "retrained"):
        assert a[key] == b[key]


def test_a_command_without_a_seed_is_run_once(capsys: pytest.CaptureFixture) -> None:
    """Dies if copies of one run count as fresh seeds, or get an interval of no width."""
    Path("s.toml").write_text("[x]\nuniform = [0, 1]\n")
    words = ["--space", "s.toml", "--method", "random", "--trials", "2", "--json", "out.json"]
    for more in (["--seeds", "2"], ["--retrain", "3"]):
        with pytest.raises(JaxevalError, match=r"echo \{x\}: expected \{seed\}"):
            tune(["command", "echo {x}", *words, *more])
    assert not Path("tuning.json").exists()
    assert tune(["command", "echo {x}", *words]) == 0
    assert "not trained again (it gets no seed), so its" in capsys.readouterr().out
    tree = json.loads(Path("out.json").read_text())
    assert tree["retrained"] is None and tree["seeded"] is False
    assert tune(["command", "sh -c 'echo {x}' {seed}", "--state", "b", *words]) == 0
    shown = capsys.readouterr().out
    assert "8 fresh seeds give score 0.4944 each (do they depend on the seed?)" in shown
    assert json.loads(Path("out.json").read_text())["noise"] is None and "CI" not in shown


@pytest.mark.parametrize(("flags", "best"), [([], 0), (["--no-lower-is-better"], -1)])
def test_the_field_of_a_score_says_direction_and_unit(flags: list[str], best: int) -> None:
    """Dies if the worst of losses is taken."""
    Path("s.toml").write_text("[x]\nuniform = [0, 1]\n")
    Path("train.sh").write_text('echo "{\\"dev\\": {\\"nll\\": $1}}"\n')
    words = ["command", "sh train.sh {x}", "--space", "s.toml", "--trials", "8"]
    words += ["--json-field", "dev.nll", "--json", "out.json"]
    assert tune([*words, *flags]) == 0
    tree = json.loads(Path("out.json").read_text())
    values = sorted(evaluation["values"]["x"] for evaluation in tree["evaluations"])
    assert tree["best"]["values"]["x"] == values[best] and tree["unit"] == "nats"


def test_a_dry_run_shows_the_first_command_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if a line is not what is run, or if anything is run or written."""
    words = tune_command.words(tmp_path, "--trials", "3", "--parallel", "3")
    before = {*tmp_path.iterdir()}
    assert tune([*words, "--dry-run"]) == 0
    shown = [shlex.split(line) for line in capsys.readouterr().out.splitlines()]
    assert {*tmp_path.iterdir()} == before
    assert tune([*words, "--retrain", "0"]) == 0
    run = (tmp_path / "calls").read_text().splitlines()
    assert sorted(" ".join(line[2:]) for line in shown) == sorted(run) and len(run) == 3


WRONG: list[tuple[list[str], str]] = [
    (["--method", "sobol"], "holds a search with method random, not sobol"),
    (["--space", "other.toml"], r"another space .rate: .*0.0001, 1.0.}, not .*0.001, 1.0.}."),
    (["--json-field", "f1"], "holds a search with json_field None, not f1"),
    (["--halving", "3"], "--halving, --steps: expected both or neither"),
    (["--state", "train.py"], "not the state of a search"),
    (["--trials", "1000000", "--seeds", "3"], "--trials: expected at most"),
    (["--enqueue", "rat=0.01"], "--enqueue: rat: no such hyperparameter; there are rate"),
    (["--enqueue", "rate"], "--enqueue: expected NAME=VALUE, got 'rate'"),
]


def test_what_does_not_go_together_is_refused(tmp_path: Path) -> None:
    """Dies if a search goes on with the scores of another one, or a mistake is a traceback."""
    words = tune_command.words(tmp_path, "--trials", "4", "--retrain", "0")
    assert tune(words) == 0
    before = Path("tuning.json").read_text()
    Path("other.toml").write_text(Path("space.toml").read_text().replace("1e-4", "1e-3"))
    for more, message in WRONG:
        with pytest.raises(JaxevalError, match=message):
            tune([*words, *more])
    assert Path("tuning.json").read_text() == before


def test_the_direction_can_be_corrected(tmp_path: Path) -> None:
    """Dies if scores are lost with a direction that was assumed and wrong, or if a flag that is
    forgotten turns a search."""
    words = [*tune_command.words(tmp_path, "--retrain", "0"), "--json", "out.json"]
    assert tune([*words, "--trials", "4"]) == 0
    words += ["--trials", "5"]
    assert tune([*words, "--lower-is-better"]) == 0
    assert len((tmp_path / "calls").read_text().splitlines()) == 5
    tree = json.loads(Path("out.json").read_text())
    scores = [score for e in tree["evaluations"] for score in e["scores"]]
    assert tree["best"]["scores"] == [min(scores)]
    with pytest.raises(JaxevalError, match="a search for lower scores; expected --lower-is-"):
        tune(words)


def test_a_function_is_searched_and_evaluated_again(tmp_path: Path) -> None:
    """Dies if a function does not get the seeds it asks for, a known setting is not first, or a
    search that was stopped ends with other settings than one that was not."""
    seen: list[tuple[float, int]] = []

    def noisy(values: Any, seed: int) -> float:
        seen.append((values["rate"], seed))
        if len(seen) == 3:
            raise EvaluationFailed("no luck")
        if len(seen) == after:
            raise KeyboardInterrupt
        return _loss(values) + seed / 1e6

    def run(state: Path | None) -> Any:
        return jaxeval.tune_command(
            noisy, space=RATE, trials=8, lower_is_better=True, retrain=3, state=state,
            enqueue=[{"rate": 0.01}], quiet=True,
        )  # fmt: skip

    after = 99
    whole = run(None)
    assert seen[0] == (0.01, 1) and len(seen) == 11 and len({seed for _, seed in seen}) == 11
    assert whole.failures == {"no luck": 1} and whole.values["rate"] == pytest.approx(0.01, rel=1)
    assert [figure.name for figure in whole.document().figures()][1] == "importance"
    seen.clear()
    after = 6
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "s.json")
    after = 99
    assert run(tmp_path / "s.json").evaluations == whole.evaluations
    for wrong, message in (
        ({"seeds": 2}, "seed"), ({"halving": 3, "steps": 9}, "report"), ({"retrain": 1}, "seed")
    ):  # fmt: skip
        more: Any = {"space": RATE, "state": None, **wrong}
        with pytest.raises(ConfigError, match=f"_loss: expected an argument {message}"):
            jaxeval.tune_command(_loss, **more)


def test_what_reports_is_stopped_early(tmp_path: Path) -> None:
    """Dies if what halving stops runs to its end, its last score counts, or lines of JSON are not
    heard before the command ends."""
    steps: list[int] = []

    def loss(values: Any, report: Callable[[int, float], bool]) -> float:
        for step in range(1, 10):
            if report(step, _loss(values) + 1 / step):
                steps.append(step)
                return math.nan
        steps.append(9)
        return _loss(values)

    script = tmp_path / "p.py"
    script.write_text(
        "import json, math, sys, time\nloss = (math.log10(float(sys.argv[1])) + 2) ** 2\n"
        "for step in range(1, 10):\n"
        "    print(json.dumps({'step': step, 'score': loss + 1 / step}), flush=True)\n"
        "    if loss > 1: time.sleep(step - 1)\n"  # one that is stopped is not waited for
        "print(loss)\n"
    )
    for evaluate in (loss, f"{tune_command.PYTHON} {script} {{rate}}"):
        tuned = jaxeval.tune_command(
            evaluate, space=RATE, trials=8, lower_is_better=True, halving=3, steps=9, parallel=2,
            enqueue=["rate=0.01"], seed=1, state=None, quiet=True,
        )  # fmt: skip
        stopped = [e.stopped.epochs for e in tuned.evaluations if e.stopped]
        assert stopped and not tuned.failures and tuned.evaluations[0].scores == (0.0,)
        assert evaluate is not loss or sorted(stopped) == sorted(s for s in steps if s < 9)
        assert "stopped early by halving, and cannot be taken" in str(tuned.document().notes)


def test_halving_with_one_hyperparameter(tmp_path: Path) -> None:
    """Dies if proposals stay in a corner of the space, or what was stopped must have a score."""

    def score(values: Any, report: Callable[[int, float], bool]) -> float | None:
        for step in range(1, 10):
            last = (1 - abs(values["x"] - 0.3)) * (1 - 0.5**step)
            if report(step, last):
                return None
        return last

    tuned = jaxeval.tune_command(
        score, space={"x": {"uniform": (0, 1)}}, trials=16, halving=3, steps=9, state=None,
        quiet=True,
    )  # fmt: skip
    assert tuned.values["x"] == pytest.approx(0.3, abs=0.01)
    assert sum(e.values["x"] < 0.01 for e in tuned.evaluations) < 4
