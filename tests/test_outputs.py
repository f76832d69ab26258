"""No output replaces what a verb reads, or what a runs folder keeps: one line, nothing touched."""

import contextlib
import json
import os
import sqlite3
from pathlib import Path

import pytest

from jaxeval import __main__ as command
from jaxeval.errors import ConfigError
from jaxeval.report import Result
from tests import tiny_corpora

CONFIG = 'name = "a"\ntask = "sentiment"\n'
_VARIANTS = """
[[variant]]
name = "vectors"
changes = ["data.vectors=v.txt"]
[[variant]]
name = "other"
changes = ["data.source.path=logs"]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of all kinds, which hold their own names."""
    monkeypatch.chdir(tmp_path)
    kept = ("runs.sqlite", "models/id/seed3.json", "checkpoints/id/1", "sweeps/id.json")
    for name in (*(f"R/{path}" for path in kept), "t.csv", "v.txt", "p.txt", "R/tunings/id.json"):
        tiny_corpora.write(tmp_path / name, name)
    for name in ("c.toml", "s.toml", "state.json"):
        (tmp_path / name).write_text(CONFIG)
    log = {"model": "a", "item": 1, "correct": 1}
    tiny_corpora.write(tmp_path / "logs" / "a.jsonl", json.dumps(log) + "\n")
    tiny_corpora.opinions(tmp_path / "data")
    with contextlib.closing(sqlite3.connect("s.db")) as connection:  # not written by jaxeval
        connection.execute("CREATE TABLE t (x)")
    os.symlink("s.db", tmp_path / "soft.db")
    tiny_corpora.write(tmp_path / "bats" / "I" / "plural.txt", "a\tb\nc\td\n")
    tiny_corpora.write(tmp_path / "v3.toml", _VARIANTS)
    os.symlink("c.toml", tmp_path / "soft.toml")
    os.link("c.toml", tmp_path / "hard.toml")
    return tmp_path


READ = [
    "train c.toml --dry-run --json c.toml",
    "train soft.toml --json hard.toml",
    "ablation c.toml --variants s.toml --json s.toml",
    "tune c.toml --space s.toml --save s.html --json s.toml",
    "select c.toml s.toml --json s.toml",
    "select table t.csv --json t.csv",
    "compare t.csv --save s.tex --json t.csv",
    "compare s.db --json s.db",
    "compare logs logs --json logs/a.jsonl",
    "compare options t.csv --option x --score y --json t.csv",
    "plan logs logs --model a --minus b --difference .1 --json logs/a.jsonl",
    "predict R --input t.csv --output t.csv",
    "sensitivity state.json --json state.json",
    "vectors analogies v.txt bats --json bats/I/plural.txt",
    "vectors svd v.txt --output v.txt",
    "vectors judge v.txt --data ner=data --json v.txt",
    "runs export s.db --to soft.db",
    "report s.db --save s.html --json s.db",
]
KEPT = [
    "report R --json R/runs.sqlite",
    "report R --json R/runs.sqlite-wal",
    "runs export R --to R/checkpoints/members.csv",
    "predict R --input t.csv --output R/models/id/seed3.json",
    "train c.toml --out R --json R/tunings/id.json",
    "train c.toml --out new --json new/runs.sqlite",
    "compare t.csv --json R/models/id/seed3.json",
]


@pytest.mark.parametrize("words", [*READ, *KEPT])
def test_outputs_replace_nothing(words: str, folder: Path) -> None:
    """Dies if a verb compares its outputs with one another only."""
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    said = "would be replaced" if words in READ else "part of a runs folder"
    with pytest.raises(ConfigError, match=said) as caught:
        command.main(words.split())
    assert "\n" not in str(caught.value)
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before


_SPACE = '[batch_size]\nkey = "training.batch_size"\nchoices = [2, 4]\n'
TWICE = [
    "train bag.toml --data data --dry-run --json bag/result.json",
    "train bag.toml --data data --dry-run --json sentiment/result.json",
    "train bag.toml --data data --dry-run --json data/result.json",
    "vectors analogies v.txt bats --resamples 9 --json bats/out.json",
    "vectors analogies v.txt bats --resamples 9 --json bats/I/out.json",
    "vectors similarity v.txt p.txt --resamples 9 --json v.vocab",
]


@pytest.mark.parametrize("words", TWICE)
def test_the_same_command_twice(words: str, folder: Path) -> None:
    """Dies if what a command has written beside what it reads counts as read."""
    bag = 'name = "bag"\ntask = "sentiment"\nmodel.architecture = "bag"\n'
    (folder / "bag.toml").write_text(bag)
    (folder / "space.toml").write_text(_SPACE)
    tiny_corpora.write(folder / "v.txt", "a 1 0\nb 0 1\nc 1 1\nd 1 2\n")
    tiny_corpora.write(folder / "p.txt", "a b 1\na c 2\nb c 3\nc d 1\n")
    for _ in range(2):
        assert not command.main(words.split())


def test_a_page_is_written_though_nobody_reads_what_is_printed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if `compare ... --save PAGE | head` writes no page."""

    def gone(*_: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(Result, "print", gone)
    (folder / "t.csv").write_text("A,B\n1,2\n2,3\n3,5\n")
    with pytest.raises(BrokenPipeError):
        command.main(["compare", "t.csv", "--save", "page.html", "--save", "t.tex"])
    assert (folder / "page.html").is_file() and (folder / "t.tex").is_file()
