"""No output replaces what a verb reads, or what a runs folder keeps: one line, nothing touched."""

import argparse
import json
import os
from pathlib import Path

import pytest

from jaxeval import __main__ as command
from jaxeval import cli, outputs
from jaxeval.errors import ConfigError
from jaxeval.studies import inputs
from tests import tiny_corpora

CONFIG = 'name = "a"\ntask = "sentiment"\n'


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
    os.symlink("c.toml", tmp_path / "soft.toml")
    os.link("c.toml", tmp_path / "hard.toml")
    return tmp_path


READ = [
    "train c.toml --dry-run --json c.toml",
    "train c.toml --json soft.toml",
    "train soft.toml --json hard.toml",
    "train c.toml --json R/../c.toml",
    "train c.toml --data t.csv --json t.csv",
    "train c.toml --data data --json data/train.tsv",
    "train c.toml --data data --dry-run --json data/train.tsv",
    "noise c.toml --data data --json data/dev.tsv",
    "noise --by split,seed --table t.csv --json t.csv",
    "neighbourhood c.toml --data data --json data/test.tsv",
    "ablation c.toml --variants s.toml --json s.toml",
    "evaluate c.toml --input t.csv --json t.csv",
    "sweep c.toml --space s.toml --json s.toml",
    "tune c.toml --space s.toml --html s.toml",
    "tune --command x --space s.toml --state state.json --json state.json",
    "select c.toml s.toml --json s.toml",
    "select a b --command x --state state.json --json state.json",
    "select --table t.csv --json t.csv",
    "compare --table t.csv --latex t.csv",
    "compare --items t.csv --json t.csv",
    "compare --log logs --json logs/a.jsonl",
    "compare options --table t.csv --option x --score y --json t.csv",
    "plan --items t.csv --difference .1 --json t.csv",
    "plan --log logs --difference .1 --json logs/a.jsonl",
    "predict R --input t.csv --output t.csv",
    "sensitivity state.json --json state.json",
    "vectors similarity v.txt p.txt --json p.txt",
    "vectors analogies v.txt logs --json logs/a.jsonl",
    "vectors svd v.txt --out v.txt",
    "vectors svd v.txt --out o.txt --json v.txt",
    "vectors judge v.txt --data ner=data --csv v.txt",
]
KEPT = [
    "report R --json R/runs.sqlite",
    "report R --html R/runs.sqlite-wal",
    "report R --figures R/models",
    "runs export R --to R/checkpoints/members.csv",
    "runs list R --json R/sweeps/id.json",
    "predict R --input t.csv --output R/models/id/seed3.json",
    "train c.toml --out R --json R/tunings/id.json",
    "train c.toml --out new --json new/runs.sqlite",
    "compare --table t.csv --json R/models/id/seed3.json",
    "configs --json R/runs.sqlite",
]


@pytest.mark.parametrize("words", [*READ, *KEPT])
def test_outputs_replace_nothing(words: str, folder: Path) -> None:
    """Dies if a verb compares its outputs with one another only."""
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    said = "would be replaced" if words in READ else "keeps; expected another place"
    with pytest.raises(ConfigError, match=said) as caught:
        command.main(words.split())
    assert "\n" not in str(caught.value)
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before


def test_other_outputs_are_as_free_as_before(folder: Path) -> None:
    """Dies if a page in a runs folder, an output of before or a device is refused."""
    outputs.refuse_unwritable("R/report.html", "data/scores.json", reads=["c.toml"], runs="R")
    (folder / "data" / "scores.json").write_text("{}")
    tree = {"data": {"source": {"path": "data", "train": "*train*"}}, "name": "a"}
    assert inputs.files_of(tree) == [Path("data/train.tsv")]
    outputs.refuse_replaced(["data/scores.json", "/dev/null", "-"], inputs.files_of(tree), "R")


def test_a_config_whose_path_has_an_equals_sign() -> None:
    """Dies if it is taken for a change (folders of sweeps are called lr=1)."""
    tiny_corpora.write(Path("lr=1") / "c.toml", CONFIG)
    args = cli.parse_config(_parser(), ["lr=1/c.toml", "model.bag=[]"])
    assert (args.config, args.changes) == ("lr=1/c.toml", ["model.bag=[]"])
    args = cli.parse_config(_parser(), ["lr=2/c.toml", "model.bag=[]"])
    assert (args.config, args.changes) == (None, ["lr=2/c.toml", "model.bag=[]"])


def _parser() -> argparse.ArgumentParser:
    parser = cli.parser("train", "", "")
    cli.add_config(parser)
    return parser
