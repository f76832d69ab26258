"""`jaxeval settle self`: whether a command is fit for a comparison."""

import sys
from pathlib import Path

import pytest

import jaxeval
from jaxeval.errors import DataError, RunError
from tests.verbs import settle

PROGRAM = """\
import os, random, sys
kind, seed = sys.argv[1], int(sys.argv[2])
calls = len(open("calls").read()) if os.path.exists("calls") else 0
open("calls", "a").write("x")
score = 0.8 + random.Random(seed).gauss(0, 0.01)
if kind == "noisy":
    score += random.Random(calls).gauss(0, 0.003)
if kind == "warms":
    score += calls
if kind == "noise":
    score = random.Random(calls).gauss(0, 1)
if kind == "crash" and seed == 3:
    sys.exit("out of memory")
print(0.8 if kind == "constant" else score)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the program, in which tests run."""
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _command(kind: str) -> str:
    return f"{sys.executable} program.py {kind} {{seed}}"


def _calls() -> int:
    return len(Path("calls").read_text())


def test_a_deterministic_command_runs_three_seeds_again() -> None:
    """Dies if all seeds run twice, recorded ones run again, or the noise is another one."""
    found = jaxeval.settle_self(_command("plain"), seeds=6, quiet=True)
    assert found.deterministic and found.exit_code == 0 and _calls() == 9
    assert found.sd_interval.low < found.sd < found.sd_interval.high and found.sd_within == 0
    assert "one run of a seed is enough" in repr(found)
    assert jaxeval.settle_self(_command("plain"), seeds=6, quiet=True).first == found.first
    assert _calls() == 9
    base = jaxeval.settle_command(_command("plain"), _command("other"), seeds=4, quiet=True)
    assert base.known == 6 and [*base.scores["base"]] == [*found.first]


def test_noise_within_a_seed() -> None:
    """Dies if a command whose seeds have other scores again is deterministic, or unfit."""
    found = jaxeval.settle_self(_command("noisy"), workers=1, quiet=True)
    assert not found.deterministic and found.exchangeable and _calls() == 20
    assert 0.001 < found.sd_within < 0.006 < found.sd
    assert not any("does not reach" in note for note in found.notes)
    assert "against itself" in repr(found) and [*found.smallest] == [5, 10, 20, 30]


def test_runs_that_depend_on_those_before() -> None:
    """Dies if second runs that are always higher count as noise."""
    found = jaxeval.settle_self(_command("warms"), quiet=True)
    assert not found.exchangeable and found.exit_code == 1 and found.interval.low > 0
    assert "second run of a seed scores higher" in repr(found)


def test_a_seed_that_does_not_reach_the_program() -> None:
    """Dies if scores that no seed changes pass."""
    with pytest.raises(DataError, match=r"seeds 1 to 3 have one score, 0\.8: the seed does not"):
        jaxeval.settle_self(_command("constant"), seeds=9, quiet=True)
    assert _calls() == 6
    found = jaxeval.settle_self(_command("noise"), quiet=True)
    assert any("does not reach" in note for note in found.notes)


def test_a_failed_seed() -> None:
    """Dies if a crash is no error, or a score is made up."""
    with pytest.raises(RunError, match="seed 3 has no score: exit code 1"):
        jaxeval.settle_self(_command("crash"), retries=0, quiet=True)


def test_too_few_seeds() -> None:
    """Dies if two seeds are run."""
    with pytest.raises(jaxeval.JaxevalError, match="3 or more"):
        settle(["self", _command("plain"), "--seeds", "2"])
