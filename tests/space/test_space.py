"""Search spaces: drawn as declared, the same for ever, and every mistake told in one line."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from jaxeval import space
from jaxeval.errors import ConfigError
from jaxeval.space import distributions

CONFIGS = Path(__file__).parents[2] / "configs" / "wiemerslage2024"
TEXT = """
[learning_rate]
key = "training.optimiser.hyperparameters.learning_rate"
log_uniform = [1e-6, 1e-2]
[batch_size]
key = "training.batch_size"
integer = [16, 2048]
step = 16
[dropout]
key = "model.dropout"
uniform = [0, 0.5]
[scheduler]
choices = ["none", "plateau", "warmup"]
[plateau_factor]
key = "training.plateau.factor"
uniform = [0.1, 0.9]
when = { scheduler = ["plateau"] }
[fine]
choices = ["a", "b"]
ordered = true
when = { scheduler = ["plateau", "warmup"], heads = [2.0, 8] }
[finer]
integer = [1, 3]
when = { fine = ["b"] }
[heads]
key = "model.heads"
choices = [2, 4, 8]
ordered = true
"""
RUNS = 3000
FIRST = {"batch_size": 1792, "learning_rate": 0.0008840127652472143}  # of seed 1


def _read(folder: Path, text: str) -> space.Space:
    path = folder / "s.toml"
    path.write_text(text)
    return space.load(path)[0]


@pytest.fixture(name="whole")
def _whole(tmp_path: Path) -> space.Space:
    return _read(tmp_path, TEXT)


@pytest.fixture(name="runs")
def _runs(whole: space.Space) -> list[dict[str, Any]]:
    return [space.draw(whole, 1, run) for run in range(RUNS)]


def test_continuous_draws_against_scipy(runs: list[dict[str, Any]]) -> None:
    """Dies if a range is cut, shifted, or drawn on another scale."""
    rates = [run["learning_rate"] for run in runs]
    assert stats.kstest(rates, stats.loguniform(1e-6, 1e-2).cdf).pvalue > 0.01
    dropouts = [run["dropout"] for run in runs]
    assert stats.kstest(dropouts, stats.uniform(0, 0.5).cdf).pvalue > 0.01
    factors = [run["plateau_factor"] for run in runs if "plateau_factor" in run]
    assert stats.kstest(factors, stats.uniform(0.1, 0.8).cdf).pvalue > 0.01
    assert abs(stats.spearmanr(rates, dropouts).statistic) < 0.05  # drawn apart


def test_discrete_draws_against_scipy(runs: list[dict[str, Any]]) -> None:
    """Dies if an end of a grid, or a choice, comes less often than the others."""
    sizes = [run["batch_size"] for run in runs]
    assert set(sizes) == set(range(16, 2049, 16))
    assert stats.chisquare(np.bincount(np.array(sizes) // 16 - 1, minlength=128)).pvalue > 0.01
    for name, values in (("scheduler", ("none", "plateau", "warmup")), ("heads", (2, 4, 8))):
        counts = [sum(run[name] == value for run in runs) for value in values]
        assert sum(counts) == RUNS and stats.chisquare(counts).pvalue > 0.01
    ends = distributions.Grid(5, 12, 3)
    assert [ends.at(p) for p in (0.0, 0.34, 0.67, 1 - 2**-53)] == [5, 8, 11, 11]


def test_conditions_hold(runs: list[dict[str, Any]]) -> None:
    """Dies if something is drawn where its condition fails, or its parent was not drawn."""
    for run in runs:
        assert ("plateau_factor" in run) == (run["scheduler"] == "plateau")
        assert ("fine" in run) == (run["scheduler"] != "none" and run["heads"] != 4)
        assert ("finer" in run) == (run.get("fine") == "b")
    assert 0.18 < np.mean(["finer" in run for run in runs]) < 0.26  # 2/3 * 2/3 / 2


def test_draws_are_fixed(whole: space.Space, tmp_path: Path) -> None:
    """Dies if a draw depends on other hyperparameters or runs, or changes between versions."""
    first = space.draw(whole, 1, 0)
    assert first == space.draw(whole, 1, 0)
    assert first != space.draw(whole, 2, 0) and first != space.draw(whole, 1, 1)
    more = _read(tmp_path, '[more]\nchoices = ["a", "b"]\n' + TEXT.replace("[0.1, 0.9]", "[1, 2]"))
    for run in range(50):
        drawn, wider = space.draw(whole, 1, run), space.draw(more, 1, run)
        for name in ("learning_rate", "batch_size", "dropout", "scheduler", "heads"):
            assert drawn[name] == wider[name]
    assert first["batch_size"] == FIRST["batch_size"]
    assert first["learning_rate"] == pytest.approx(FIRST["learning_rate"], rel=1e-12)


def test_values_are_plain(runs: list[dict[str, Any]], whole: space.Space) -> None:
    """Dies if numpy's types leak into JSON, or a run sets a key it did not draw."""
    for run in runs[:20]:
        assert json.loads(json.dumps(run)) == run
        keys = dict(space.changes(whole, run))
        assert keys["training.batch_size"] == run["batch_size"] and "scheduler" not in keys
        assert ("training.plateau.factor" in keys) == (run["scheduler"] == "plateau")


def test_round_trip(whole: space.Space) -> None:
    """Dies if what is recorded is another space than what was read."""
    tree = json.loads(json.dumps(space.to_dict(whole)))
    assert space.from_dict(tree) == whole and space.to_dict(space.from_dict(tree)) == tree
    assert tree["fine"]["when"]["heads"] == [2, 8]  # as the choices are written, not 2.0
    in_tuples = {"a": {"choices": ("x", "y")}, "b": {"uniform": (0, 1), "when": {"a": ("x",)}}}
    assert space.from_dict(in_tuples) == space.from_dict(json.loads(json.dumps(in_tuples)))
    assert tree["fine"]["ordered"] and "ordered" not in tree["heads"]
    reordered = json.loads(json.dumps(tree, sort_keys=True))
    assert space.draw(space.from_dict(reordered), 1, 3) == space.draw(whole, 1, 3)


A = "[a]\nuniform = [0, 1]\n"
C = '[c]\nchoices = ["x", "y"]\n'
BAD = {
    "not TOML": ("[a]\nuniform = [0 1]\n", "line 2"),
    "unknown key": ("[a]\nunifrom = [0, 1]\n", "a.unifrom: unknown key; a table has key, uniform"),
    "log of zero": ("[a]\nlog_uniform = [0, 1]\n", "a.log_uniform: expected numbers above 0"),
    "choices of two kinds": ('[a]\nchoices = [1, "x"]\n', "a.choices: expected all texts"),
    "too large": ("[a]\ninteger = [0, 9007199254740992]\n", "a.integer: expected two whole"),
    "step too wide": (
        "[a]\ninteger = [0, 9]\nstep = 10\n",
        "a.step: expected a whole number from 1 to 9",
    ),
    "too many choices": (f"[a]\nchoices = {[*range(10_001)]}\n", "a.choices: expected a list"),
    "a choice twice": ("[a]\nchoices = [1, 1.0]\n", "a.choices: expected different values"),
    "a key and its table": (
        '[a]\nkey = "m.x"\nuniform = [0, 1]\n[b]\nkey = "m"\nuniform = [0, 1]\n',
        "b.key: expected a key of its own, got m; a sets m.x",
    ),
    "impossible value": (C + A + 'when = { c = ["z"] }\n', "a.when.c: c is never 'z'"),
    "of a continuous parent": (
        A + "[b]\nuniform = [0, 1]\nwhen = { a = [0.5] }\n",
        "b.when.a: expected a hyperparameter of choices or integers",
    ),
    "an order of 1": (
        "[a]\nchoices = [1, 2]\nordered = 1\n",
        "a.ordered: expected true or nothing",
    ),
    "cycle": (
        '[a]\nchoices = ["x"]\nwhen = { b = ["x"] }\n[b]\nchoices = ["x"]\nwhen = { a = ["x"] }\n',
        "a.when: expected conditions without a cycle, got a -> b -> a",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_errors(tmp_path: Path, case: str) -> None:
    """Dies if a mistake passes, is a traceback, or is told without file, table and key."""
    text, expected = BAD[case]
    with pytest.raises(ConfigError) as caught:
        _read(tmp_path, text)
    message = str(caught.value)
    assert expected in message and message.startswith(f"{tmp_path / 's.toml'}: ")
    assert "\n" not in message


@pytest.mark.parametrize("name", ["attentive_lstm", "transformer"])
def test_shipped_spaces(name: str) -> None:
    """Dies if table 2 of the paper loses a value, or the small space leaves the large one."""
    published = space.load(CONFIGS / f"space_{name}.toml")[0]
    small = space.load(CONFIGS / f"space_{name}_small.toml")[0]
    large = {parameter.name: parameter for parameter in published.parameters}
    assert len(large) == {"attentive_lstm": 14, "transformer": 16}[name]
    assert large["batch_size"].distribution == distributions.Grid(16, 2048, 16)
    assert large["learning_rate"].distribution == distributions.Range(1e-6, 1e-2, log=True)
    for of in small.parameters:
        assert (of.key, of.when) == (large[of.name].key, large[of.name].when)
    for drawn in (space.draw(small, 1, run) for run in range(50)):
        assert drawn["embedding"] % 8 == 0  # every number of heads divides it
        assert drawn.get("plateau_patience", 0) <= 5  # in epochs of one evaluation each
        assert drawn.get("warmup_samples", 1000) >= 1000
