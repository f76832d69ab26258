"""`select --race`: models that a command asks, block by block of items."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from jaxeval.bandits.blocks import Blocks
from jaxeval.errors import ConfigError, JaxevalError
from jaxeval.select import __main__ as select
from tests import processes

# right where an item's hardness is below the model's skill; all models are asked the same items
ASK = """\
sleep ${3:-0}
awk -v model="$1" -v items="$2" 'BEGIN {
    skill["good"] = 90; skill["fair"] = 70; skill["poor"] = 20
    n = split(items, item, ",")
    for (k = 1; k <= n; k++) right += ((item[k] * 7919) % 100 < skill[model])
    print model, items >> "calls"
    print right / n
}'
"""
RACE = ["good", "fair", "poor", "--race", "605", "--block", "20", "--json", "out.json"]


def _words(folder: Path, seconds: float = 0) -> list[str]:
    (folder / "ask.sh").write_text(ASK)
    return [*RACE, "--command", f"sh ask.sh {{model}} {{items}} {seconds}"]


def _run(folder: Path, words: list[str], status: int = 0) -> subprocess.CompletedProcess[str]:
    ended = processes.run("jaxeval.select.__main__", *words, folder=folder)
    assert ended.returncode == status, ended.stderr
    return ended


def test_models_that_cannot_win_are_asked_no_more(tmp_path: Path) -> None:
    """Dies if models answer other blocks than the k-th, or all models are asked everything."""
    shown = _run(tmp_path, _words(tmp_path)).stdout
    tree = json.loads((tmp_path / "out.json").read_text())
    order = Blocks(605, 20).order()
    calls = [line.split() for line in (tmp_path / "calls").read_text().splitlines()]
    for model, scores in tree["scores"].items():
        blocks = [items for name, items in calls if name == model]
        assert blocks == [",".join(map(str, block)) for block in order[: len(scores)].tolist()]
    race = tree["race"]
    assert tree["best"] == "good" and tree["reason"] == "confident"
    assert race == {"items": 605, "block": 20, "answers": 20 * len(calls), "all": 3 * 605}
    assert len(tree["scores"]["poor"]) < len(tree["scores"]["good"])
    assert f"{race['answers']} of 1815 answers" in shown


def test_a_killed_race_goes_on(tmp_path: Path) -> None:
    """Dies if kill -9 loses an answer, or the resumed race asks other items."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
    _run(whole, _words(whole))
    slow, state = _words(killed, 0.15), killed / "selection.json"
    process = processes.start("jaxeval.select.__main__", *slow, folder=killed)
    deadline = time.monotonic() + 60
    while not state.exists():
        assert time.monotonic() < deadline and not process.ended()
        time.sleep(0.02)
    process.send(signal.SIGKILL)
    assert process.wait().returncode == -signal.SIGKILL
    _run(killed, slow)
    a, b = (json.loads((folder / "out.json").read_text()) for folder in (whole, killed))
    assert a["scores"] == b["scores"] and a["race"] == b["race"]
    other = _run(killed, [*slow, "--block", "30"], status=2)
    assert "race" in other.stderr and "delete" not in other.stdout


def test_a_race_ends_with_its_items(tmp_path: Path) -> None:
    """Dies if a model is asked for a block that there is not, or is dropped for it."""
    words = [*_words(tmp_path), "--race", "80", "--delta", "1e-12"]
    ended = _run(tmp_path, words)
    tree = json.loads((tmp_path / "out.json").read_text())
    answered = [model for model, scores in tree["scores"].items() if len(scores) == 4]
    every = "all items are answered"
    assert (
        tree["reason"]
        in ([f"{m} has answered all items" for m in answered], [every])[len(answered) == 3]
    )
    assert (
        not tree["excluded"]
        and max(map(len, tree["scores"].values())) == 4
        and tree["best"] == "good"
    )
    assert "No model is the best with the required probability" in ended.stdout


def test_a_fixed_budget_beyond_the_items(tmp_path: Path) -> None:
    """Dies if answers are paid for and then no model is named, or halving begins what it cannot
    end."""
    words = [*_words(tmp_path), "--race", "80", "--budget", "60", "--rule"]
    ended = _run(tmp_path, [*words, "sequential-halving"], status=2)
    assert "asks for 25 evaluations, and there are 4" in ended.stderr
    assert not (tmp_path / "calls").exists() and not (tmp_path / "selection.json").exists()
    _run(tmp_path, [*words, "non-adaptive"])
    tree = json.loads((tmp_path / "out.json").read_text())
    assert (tree["best"], tree["reason"]) == ("good", "all items are answered")
    assert [len(scores) for scores in tree["scores"].values()] == [4, 4, 4]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--command", "echo {model}", "--race", "100"], "expected {items} with --race"),
        (["--command", "echo {model} {items}"], "expected {items} with --race"),
        (["--command", "echo {model} {items}", "--block", "9"], "--block: expected --race"),
        (["--command", "echo {model} {items}", "--race", "50"], "three blocks"),
        (["--table", "x.csv", "--race", "50"], "--race: expected with --command"),
    ],
)
def test_wrong_arguments(words: list[str], said: str) -> None:
    """Dies if a race begins that asks nothing of items, or of too few."""
    with pytest.raises(JaxevalError, match=said):
        select.main(["a", "b", *words])


def test_blocks_are_a_random_order_of_all_items() -> None:
    """Dies if an item is asked twice, or the order does not follow the seed."""
    order = Blocks(100, 30, seed=1).order()
    assert order.shape == (3, 30) and len(set(order.ravel().tolist())) == 90
    assert (order != Blocks(100, 30, seed=2).order()).any()
    with pytest.raises(ConfigError, match="three blocks"):
        Blocks(100, 34)
