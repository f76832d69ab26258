"""A width or margin in points where scores are fractions, of verbs that choose: it is refused."""

import json
import sys
from pathlib import Path

import pytest

from jaxeval import __main__ as command
from jaxeval.errors import ConfigError
from jaxeval.select import __main__ as select
from jaxeval.sensitivity import analyze
from jaxeval.tune import __main__ as tune
from tests import tiny_corpora

_FRACTIONS = "the scores are fractions; "
_SCORE = """\
import json, sys
open("calls", "a").write(".")
scale, score = float(sys.argv[1]), 0.5 + sum(map(float, sys.argv[2:])) / 1000
print(json.dumps({"f1": scale * score}))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a program whose score is near .5 times its first argument."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "score.py").write_text(_SCORE)
    (tmp_path / "space.toml").write_text("[x]\nuniform = [0, 1]\n")
    return tmp_path


def test_of_a_table(folder: Path) -> None:
    """Dies if an epsilon of 2 is 200 points, or is refused of percent or plain numbers."""
    scores = {"a": [0.50, 0.51, 0.52, 0.505], "b": [0.60, 0.61, 0.62, 0.605]}
    for name, scale in (("f1", 1), ("percent", 100)):
        rows = [{"model": m, "f1": scale * s} for m, of in scores.items() for s in of]
        (folder / f"{name}.json").write_text(json.dumps(rows))
    words = ["--table", "f1.json", "--score", "f1", "--epsilon"]
    with pytest.raises(ConfigError, match=f"--epsilon 2: {_FRACTIONS}2 points are 0.02"):
        select.main([*words, "2"])
    assert select.main([*words, "0.02"]) == 0
    assert select.main(["--table", "percent.json", *words[2:], "2"]) == 0


def test_of_a_command_that_is_selected(folder: Path) -> None:
    """Dies if more is evaluated when there is a score, or scores are lost for another epsilon."""
    command = f"{sys.executable} score.py 1 {{model}} {{seed}}"
    words = ["1", "2", "--json-field", "f1", "--command", command, "--epsilon"]
    for _ in range(2):  # the second time the scores are known
        with pytest.raises(ConfigError, match=f"--epsilon 1: {_FRACTIONS}1 point is 0.01"):
            select.main([*words, "1"])
        assert (folder / "calls").read_text() == "."
    assert select.main([*words, "0.01", "--json", "out.json"]) == 0
    evaluations = json.loads(Path("out.json").read_text())["evaluations"]
    assert evaluations == len((folder / "calls").read_text()) > 1


def test_of_members_nothing_is_trained(folder: Path) -> None:
    """Dies if members are trained, or settings searched, for a width that makes them useless."""
    with pytest.raises(ConfigError, match=f"--within 2: {_FRACTIONS}2 points are 0.02"):
        command.main(["neighbourhood", *tiny_corpora.BAG, "training.epochs=1", "--within", "2"])
    paths = []
    for epochs in (1, 2):
        paths.append(f"{epochs}.toml")
        Path(paths[-1]).write_text(f'name = "{epochs}"\n[training]\nepochs = {epochs}\n')
    Path("space.toml").write_text('[x]\nkey = "training.optimiser.clip_at"\nuniform = [1, 5]\n')
    with pytest.raises(ConfigError, match=f"--epsilon 1: {_FRACTIONS}1 point is 0.01"):
        select.main([*paths, "--epsilon", "1"])
    words = ["1.toml", "--space", "space.toml", "--stop-below", ".05", "--margin", "1"]
    with pytest.raises(ConfigError, match=f"--margin 1: {_FRACTIONS}1 point is 0.01"):
        tune.main(words)
    assert not Path("runs").exists()


def test_of_a_sweep() -> None:
    """Dies if all runs are as good as the best for a ROPE of 100 points."""
    values = {"rate": [1, 2, 3, 4]}
    with pytest.raises(ConfigError, match=f"^--rope 1: {_FRACTIONS}1 point is 0.01"):
        analyze([0.1, 0.2, 0.3, 0.4], values, rope=1, resamples=0)
    assert analyze([0.1, 0.2, 0.3, 0.4], values, rope=0.99, resamples=0).n == 4
