"""Damaged, endless and hostile inputs: one short line, exit code 2, nothing obeyed."""

import gzip
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

import jaxeval
from jaxeval import __main__ as verbs
from jaxeval import cli
from jaxeval.config import reading
from jaxeval.data import labelled_text, text
from jaxeval.errors import ConfigError, DataError, JaxevalError, RunError, parsing, printable_lines
from jaxeval.report import Document, Table, render
from jaxeval.runs import columns
from tests import comparing

_ESCAPE = "a\x1b[31mred\x07\u202e"
_ESCAPED = r"a\x1b[31mred\x07\u202e"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("a = " + "[" * 5000, "not valid TOML"),
        ("a = " + "9" * 5000, "not valid TOML"),
        (".".join("a" * 1000) + " = 1", "expected at most 16 levels"),
    ],
)
def test_settings_of_any_depth(tmp_path: Path, body: str, said: str) -> None:
    """Dies if a parser's own error passes, or deep tables reach the recursion of what follows."""
    path = tmp_path / "c.toml"
    path.write_text(body)
    with pytest.raises(ConfigError, match=said) as caught:
        reading.read_toml(path)
    assert len(str(caught.value)) < 400
    with pytest.raises(ConfigError):
        reading._apply({}, body.replace(" ", ""))
    tree: dict[str, object] = {}
    reading._apply(tree, "a.b=[1, [2]]")
    assert tree == {"a": {"b": [1, [2]]}}


def test_whatever_a_parser_raises_is_one_error() -> None:
    """Dies if an unknown exception passes, or one of the machine or for the user is changed."""
    with pytest.raises(DataError, match=r"^f:3: odd \(line one\)$"), parsing("odd", "f", 3):
        raise LookupError("line one\nline two")
    for error in (MemoryError(), OSError("disk"), DataError("known")):
        with pytest.raises(type(error)), parsing("odd", "f"):
            raise error
    with (
        pytest.raises(JaxevalError, match=r"^f: odd \(nested too deeply\); delete it$"),
        parsing("odd", "f", error=RunError, then="; delete it"),
    ):
        json.loads("[" * 100_000)


def test_a_terminal_of_few_letters() -> None:
    """Dies if a letter that the terminal lacks is a traceback."""
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    words = [sys.executable, "-m", "jaxeval", "compare", "x", "--é\x1b"]
    done = subprocess.run(words, env=env, capture_output=True, check=False)
    said = b"error: unrecognized arguments: --\\xe9\\x1b; --help lists the arguments\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, b"", said)


def test_error_lines_are_short_and_plain(capsys: pytest.CaptureFixture) -> None:
    """Dies if a name in an error moves the cursor, or fills the screen, or hides the remedy."""

    def fail() -> int:
        raise DataError(f"{_ESCAPE}\n{'x' * 10_000}; expected a number")

    with pytest.raises(SystemExit) as stop:
        cli.run(fail)
    said = capsys.readouterr().err
    assert stop.value.code == 2 and said.count("\n") == 1 and len(said) < 620
    assert said.startswith(f"error: {_ESCAPED} x") and said.endswith("; expected a number\n")
    with pytest.raises(SystemExit) as stop:
        cli.run(lambda: int(Path("a" * 5000).exists()))
    said = capsys.readouterr().err
    assert stop.value.code == 2 and said.endswith("a: File name too long\n") and len(said) < 650


def test_what_no_machine_can_serve_is_refused(tmp_path: Path) -> None:
    """Dies if numbers that no machine can serve, or Python cannot read, are believed."""
    with pytest.raises(ConfigError, match=r"resamples: expected .* from 1 to 1000000, got 99999"):
        jaxeval.compare("none.csv", resamples=99999999999)
    path = tmp_path / "r.xml"
    term = f'<aspectTerm term="bar" polarity="positive" from="{"1" * 5000}" to="3"/>'
    path.write_text(f"<s><sentence><text>bar</text>{term}</sentence></s>")
    with pytest.raises(DataError, match="expected whole numbers"):
        labelled_text._read_semeval(path)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device")
def test_a_device_is_no_file() -> None:
    """Dies if a device is read until the memory is full."""
    with pytest.raises(ConfigError, match="/dev/zero: cannot be read as a text file"):
        reading.read_toml("/dev/zero")
    for read in (columns.read, lambda path: next(text.iterate_lines(path))):
        with pytest.raises(DataError, match="/dev/zero: a device or a pipe; expected a file"):
            read("/dev/zero")
    with pytest.raises(DataError, match="/dev/zero: a device or a pipe; expected a file"):
        verbs.main(["train", "--dry-run", "--data", "/dev/zero"])


def test_a_few_bytes_that_are_many_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if what unpacks to more rows than the memory holds is read to its end."""
    monkeypatch.setattr(columns, "_MOST_ROWS", 1000)
    lines = tmp_path / "t.jsonl"
    lines.write_text('{"model": "A", "score": 1}\n' * 1001)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"A,B\n" + b"1,2\n" * 100_000))
    for many in (path, lines):
        with pytest.raises(DataError, match="expected at most 1,000 rows"):
            columns.read(many)


def test_many_columns_of_which_two_are_one(tmp_path: Path) -> None:
    """Dies if finding the name that occurs twice takes a look at all names for each."""
    path = tmp_path / "t.csv"
    path.write_text(",".join(f"c{k}" for k in (*range(200_000), 199_999)) + "\n")
    started = time.process_time()
    with pytest.raises(DataError, match="two columns are named 'c199999'"):
        columns.read(path)
    assert time.process_time() - started < 10


def test_control_characters_in_names(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a name colours the terminal, or makes a figure that is not well-formed."""
    path = tmp_path / "t.json"
    path.write_text(json.dumps({_ESCAPE: [0.1, 0.2, 0.4], "b": [0.5, 0.6, 0.9]}))
    out = tmp_path / "figures"
    shown = comparing.shown(capsys, path, "--save", out, "--details", "--resamples", "99")
    assert _ESCAPED in shown and not {"\x1b", "\x07", "\u202e"} & {*shown}
    drawn = [*out.glob("*.svg")]
    assert drawn
    for file in drawn:
        ElementTree.parse(file)
    hostile = Document([_ESCAPE], [Table([_ESCAPE], [[_ESCAPE]])])
    render.to_terminal(hostile)
    written = render.to_markdown(hostile) + render.to_latex(hostile) + render.to_page(hostile)
    assert (capsys.readouterr().out + written).count("\x1b") == 0
    assert printable_lines("a\tb\n\x1b") == "a\tb\n\\x1b"
