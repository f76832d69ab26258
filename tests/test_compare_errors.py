"""`python -m jaxeval.compare`: bad input is one line, whatever models are called."""

import subprocess
import sys
from pathlib import Path

import pytest

from jaxeval.compare import __main__ as compare
from jaxeval.errors import JaxevalError
from tests import comparing


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["A", "B"], "--table FILE or --runs DIR"),
        (["A", "C", "--table", "T"], "no model 'C'"),
        (["A", "--table", "T"], "two or more models"),
        (["--table", "T", "--column", "arch=model"], "--column arch=model: expected one of"),
        (["--table", "T", "--column", "seed"], "expected ROLE=NAME"),
        (["--table", "T", "--unit", "split"], "--unit split: no such column"),
        (["--table", "none.csv", "--json", "-", "--latex"], "at most one"),  # before it is read
        (["--table", "none.csv"], "no such file"),
        (["--runs", "none"], "none"),
    ],
)
def test_bad_arguments_are_explained(tmp_path: Path, words: list[str], message: str) -> None:
    """Dies if one of these is a traceback or goes on."""
    path = str(comparing.table(tmp_path))
    with pytest.raises(JaxevalError, match=message):
        compare.main([path if word == "T" else word for word in words])


@pytest.mark.parametrize("flag", ["--table", "--runs"])
def test_a_second_source_is_refused(flag: str, capsys: pytest.CaptureFixture) -> None:
    """Dies if the last of two tables silently replaces the first."""
    with pytest.raises(SystemExit) as ended:
        compare.main([flag, "a.csv", flag, "b.csv"])
    assert ended.value.code == 2
    assert f"{flag} a.csv and {flag} b.csv: expected one" in capsys.readouterr().err


def test_names_may_look_like_anything(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a name is read as a flag, a formula or markup."""
    path = tmp_path / "t.csv"
    scores = "".join(f"0.{k},0.{k + 1}\n" for k in range(1, 7))
    path.write_text("--json,a$x_{$[/b]\n" + scores)
    out = str(tmp_path / "f")
    words = ["--table", str(path), "--figures", out, "--", "--json", "a$x_{$[/b]"]
    assert compare.main(words) == 0
    assert "between --json and a$x_{$[/b] was" in capsys.readouterr().out
    (tmp_path / "file").write_text("")
    target = tmp_path / "x.json"
    with pytest.raises(JaxevalError, match=r"file: cannot be written"):
        compare.main([*words[:2], "--figures", str(tmp_path / "file"), "--json", str(target)])
    assert not target.exists()


def test_the_process_ends_with_two_and_a_line(tmp_path: Path) -> None:
    """Dies if a user's error is a traceback or another exit code."""
    code = [sys.executable, "-m", "jaxeval.compare", "A", "B", "--table", str(tmp_path / "x.csv")]
    ended = subprocess.run(code, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: ") and ended.stderr.count("\n") == 1


def test_one_score_names_the_file(tmp_path: Path) -> None:
    """Dies if the reader of an error must guess which table is meant."""
    path = tmp_path / "one.csv"
    path.write_text("model,score\nA,1\nB,2\n")
    with pytest.raises(JaxevalError, match=r"one\.csv: A: 1 score, which says nothing"):
        compare.main(["--table", str(path)])
