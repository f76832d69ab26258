"""`python -m jaxeval.tune`: commands that fail, for a while or in earnest."""

import json
import sys
from pathlib import Path

import pytest

from jaxeval.errors import JaxevalError
from jaxeval.space import space as spaces
from jaxeval.tune import __main__ as tune
from tests import tune_command


def test_a_fresh_seed_that_failed_runs_again_with_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Dies if a failure of a fresh seed is kept for ever, or is not retried as asked for."""
    monkeypatch.chdir(tmp_path)
    command = "sh -c 'echo {seed} >> calls; (test {seed} -lt 9 || test -e well) && echo {x}'"
    (tmp_path / "s.toml").write_text("[x]\nuniform = [0, 1]\n")
    words = ["--space", "s.toml", "--method", "random", "--command", command]
    words += ["--trials", "2", "--retrain", "1", "--retries", "2"]
    assert tune_command.json_of(capsys, words)["retrained"]["failures"] == [
        "exit code 1 (no message)"
    ]
    assert (tmp_path / "calls").read_text().splitlines().count("1000001") == 3
    (tmp_path / "well").touch()
    tree = tune_command.json_of(capsys, words)
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
    message = rf"first {most} settings failed: .*ImportError: no module named x\); mend the comm"
    for more in ([], ["--retry-failed"]):
        with pytest.raises(JaxevalError, match=message):
            tune.main([*words, *more])
    calls = len(_calls())
    assert calls < 2 * (most + parallel)
    for more in ([], ["--trials", "60"]):  # in a later call too, before anything runs
        with pytest.raises(JaxevalError, match=message):
            tune.main([*words, *more])
    assert len(_calls()) == calls
    Path("broken").unlink()
    mended = tune_command.json_of(capsys, [*words, "--retry-failed"])
    assert mended["trials"] == 6 and not mended["failures"]
    whole = tune_command.json_of(capsys, [*words, "--state", "whole.json"])
    assert parallel > 1 or whole["evaluations"] == mended["evaluations"]


def test_a_search_goes_on_with_fewer_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Dies if the call with fewer workers stops at failures that did not stop the first one."""
    words = _breaking(tmp_path, monkeypatch, "--method", "random", "--trials", "5")
    with pytest.raises(JaxevalError, match="first 5 settings failed"):
        tune.main([*words, "--parallel", "5"])
    tree = json.loads(Path("tuning.json").read_text())
    del tree["state"]["evaluations"][4]["failure"]  # as where it is stopped before the last ends
    Path("tuning.json").write_text(json.dumps(tree))
    Path("broken").unlink()
    mended = tune_command.json_of(capsys, words)
    assert "scores" in mended["evaluations"][4] and sum(mended["failures"].values()) == 4


def test_settings_that_fail_first_do_not_pass_for_the_first_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Dies if quick failures overtake settings that are trained, and end the search."""
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text("[x]\nuniform = [0, 1]\n")
    first = spaces.draw(spaces.read("s.toml"), 0, 0)["x"]
    Path("train.sh").write_text(f"test $1 = {first} && sleep 2 && echo 1\n")
    words = ["--space", "s.toml", "--command", "sh train.sh {x}", "--method", "random"]
    words += ["--parallel", "4", "--trials", "9", "--retrain", "0"]
    assert sum(tune_command.json_of(capsys, words)["failures"].values()) == 8


def test_settings_that_fail_in_earnest_do_not_stop_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Dies if failures that are allowed, or beside a score, stop a search."""
    words = _breaking(tmp_path, monkeypatch, "--method", "random")
    with pytest.raises(JaxevalError, match="no setting has a score: 6 x exit code 1"):
        tune.main([*words, "--most-failures", "7", "--state", "allowed.json"])
    with pytest.raises(JaxevalError, match="no setting has a score: 8 x exit code 1"):
        tune.main([*words, "--trials", "8", "--most-failures", "9", "--state", "allowed.json"])
    Path("broken").unlink()
    values = [spaces.draw(spaces.read("s.toml"), 0, k)["x"] for k in range(12)]
    assert isinstance(values[0], float)
    Path("most").write_text(str(values[0]))
    failed = sum(float(value) > values[0] for value in values)
    assert len(tune_command.json_of(capsys, [*words, "--trials", "12"])["failures"]) == failed >= 3


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
    outage = tune_command.json_of(capsys, words)
    assert len(_calls()) == 6 and sum(outage["failures"].values()) == 2
    mended = tune_command.json_of(capsys, [*words, "--retry-failed"])
    assert not mended["failures"] and _calls()[6:] == _calls()[4:6]
    assert mended["evaluations"][:4] == outage["evaluations"][:4]
    proposed = [[e["values"] for e in tree["evaluations"]] for tree in (outage, mended)]
    assert proposed[0] == proposed[1]


@pytest.mark.parametrize(
    ("flags", "best", "said"),
    [([], 0, "nll: lower is better"), (["--higher-is-better"], -1, "nll: higher is better")],
)
def test_the_field_of_a_score_says_its_direction(
    flags: list[str],
    best: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    """Dies if the worst of losses is taken, or no one is told which scores are better."""
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text("[x]\nuniform = [0, 1]\n")
    Path("train.sh").write_text('echo "{\\"dev\\": {\\"nll\\": $1}}"\n')
    words = ["--space", "s.toml", "--method", "random", "--trials", "4", "--retrain", "0"]
    words += ["--command", "sh train.sh {x}", "--json-field", "dev.nll", "--json", "out.json"]
    assert tune.main([*words, *flags]) == 0
    assert said in capsys.readouterr().err
    tree = json.loads(Path("out.json").read_text())
    values = sorted(evaluation["values"]["x"] for evaluation in tree["evaluations"])
    assert tree["best"]["values"]["x"] == values[best]
