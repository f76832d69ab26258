"""`jaxeval VERB`: one table of all verbs; and names that the standard library has already."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import jaxeval
from jaxeval import __main__ as command
from jaxeval import cli, parameters, parsers
from jaxeval.errors import ConfigError

PACKAGE = Path(cli.__file__).parent
FOLDERS = sorted({file.parent for file in PACKAGE.rglob("*.py")})


def _run(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess:
    """A Python in a folder, which finds jaxeval where this one does."""
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent), **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_table_names_every_verb() -> None:
    """Dies if a verb's function is none of `jaxeval VERB`, or has another name."""
    every = "\n".join(file.read_text() for file in PACKAGE.rglob("*.py"))
    verbs = {*re.findall(r"^@parameters\.verb\ndef (\w+)", every, re.M)}
    verbs -= {"read_scores", "assert_better"}  # of Python alone
    found = [f().__name__ for verb in command.VERBS for f in command.commands(verb).values()]
    assert sorted(found) == sorted(verbs) and verbs < {*jaxeval.__all__}
    for verb, about in command.VERBS.items():
        assert len(verb) < 15 and 20 < len(about) < 75


@pytest.mark.parametrize("verb", command.VERBS)
def test_help_teaches(verb: str) -> None:
    """Dies if an argument has no help or is refused by default, or a subcommand is misnamed."""
    for name, imports in command.commands(verb).items():
        called = f"{verb} {name}".rstrip()
        function = imports()
        parser = parsers._make_parser(called, function, "")
        assert parser.format_help().startswith(f"usage: jaxeval {called} ")
        assert [action.dest for action in parser._actions if not action.help] == []
        numbers = (p for p in parameters.describe(function) if p.kind in (int, float))
        assert all(p.bounds is not None for p in numbers)  # else they stay words
        for of in parameters.describe(function):
            _ = of.required or of.check(of.default)  # refused, it refuses every call


def test_words_go_to_the_verb(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    """Dies if a verb does not get the words after its name, or its exit status is lost."""
    assert command.main(["configs", "reimers2017/lample"]) == 0
    assert 'name = "lample"' in capfd.readouterr().out
    with pytest.raises(ConfigError, match=r"trian: no such verb; did you mean train\?"):
        command.main(["trian", "--seeds", "2"])
    with pytest.raises(ConfigError, match=r"xyz: no such verb; expected one of train, "):
        command.main(["xyz"])
    done = _run(tmp_path, "-m", "jaxeval", "report", "nowhere")
    assert done.returncode == 2 and done.stderr.startswith("error: nowhere: no runs here")


def test_help_is_fast(tmp_path: Path) -> None:
    """Dies if a verb is imported before it is asked for, or one is missing in the help."""
    seconds = []
    for _ in range(3):
        begin = os.times()
        done = _run(tmp_path, "-m", "jaxeval", "--help")
        end = os.times()  # of the processor, which others on the machine do not lengthen
        seconds.append(end[2] + end[3] - begin[2] - begin[3])
    assert min(seconds) < 0.3
    assert done.returncode == 0 and all(f"\n  {verb} " in done.stdout for verb in command.VERBS)
    assert _run(tmp_path, "-m", "jaxeval").stdout == done.stdout
