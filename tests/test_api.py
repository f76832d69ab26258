"""`import jaxeval` from Python: imported at first use, trains, compares, selects, shows."""

import importlib
import json
import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxeval
from jaxeval import errors, observe, results, runs
from jaxeval.tasks import registry
from jaxeval.version import VERSION
from tests.studies import toy_kind

DRAW = np.random.default_rng(3)
A, B = DRAW.normal(0.82, 0.01, 9), DRAW.normal(0.78, 0.01, 9)
TOY = {"task": "toy", "training": {"epochs": 2}}


@pytest.fixture(autouse=True)
def _toys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The toy is a task like any other; runs folders lie in the test's own."""
    monkeypatch.setattr(registry, "KINDS", dict(toy_kind.KINDS))
    monkeypatch.chdir(tmp_path)


def _compare(*models: Any, **more: Any) -> jaxeval.Comparison:
    return jaxeval.compare(*models, resamples=999, **more)


def test_the_version_is_that_of_the_package() -> None:
    """Dies if pages and records name another version than the one that is installed."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert jaxeval.__version__ == VERSION == project["version"]


def test_the_import_is_quick_and_lazy() -> None:
    """Dies if the package imports at once what only some functions need."""
    code = """
import sys, time
begin = time.process_time()
import jaxeval
ours = time.process_time() - begin
loaded = {*sys.modules} & {"jax", "numpy", "sqlalchemy", "matplotlib", "scipy", "pydantic"}
begin = time.process_time()
import numpy
print(ours / (time.process_time() - begin), *loaded)
jaxeval.compare  # its module is light
print(*({*sys.modules} & {"jax", "sqlalchemy", "matplotlib", "scipy"}))
"""
    command = [sys.executable, "-c", code]
    root = Path(__file__).parents[1]
    done = [
        subprocess.run(command, capture_output=True, text=True, check=True, cwd=root).stdout
        for _ in range(3)
    ]
    ratios, later = zip(*(text.splitlines() for text in done), strict=True)
    assert set(later) == {""}
    assert min(float(ratio) for ratio in ratios) < 1  # and no name beside the number


def test_modules_of_verbs_leave_the_functions_alone() -> None:
    """Dies if importing a verb replaces the function of its name, or cannot reach the verb."""
    for name in ("train", "sweep", "predict", "compare", "select", "tune"):
        module = importlib.import_module(f"jaxeval.{name}")
        assert module is sys.modules[f"jaxeval.{name}"] is not getattr(jaxeval, name)
        assert getattr(jaxeval, name).__module__.startswith("jaxeval.api.")
    assert importlib.import_module("jaxeval.train").main
    assert {*jaxeval.__all__} <= {*dir(jaxeval)}
    with pytest.raises(AttributeError, match="no attribute 'tarin'"):
        jaxeval.tarin  # type: ignore[attr-defined]  # noqa: B018


def test_trained_compared_loaded(capsys: pytest.CaptureFixture) -> None:
    """Dies if configs of Python train otherwise, runs get lost, or quiet is not."""
    slow = jaxeval.train(
        TOY, seeds=5, quiet=True, changes={"name": "slow", "training.patience": 0}
    )
    fast = jaxeval.train(toy_kind.Config(name="fast"), seeds=[2, 3, 5, 7, 9], quiet=True)
    assert capsys.readouterr() == ("", "")
    assert len(slow) == len(fast) == 5 and [row.seed for row in fast.rows] == [2, 3, 5, 7, 9]
    assert slow.scores().shape == (5,) and (slow.scores("dev") != slow.scores("test")).any()
    whole = jaxeval.load("runs")
    assert whole.names == ("fast", "slow") and len(whole) == 10
    assert whole["slow"].rows == slow.rows
    said = str(_compare(fast, slow))
    assert "fast and slow differ in training." in said
    assert said == str(_compare("fast", "slow", table="runs")) == str(_compare(whole))
    assert said == str(_compare("fast", "slow", table=jaxeval.read_scores("runs")))
    assert re.match(r"slow \(\w+\): test accuracy median .* 5 finished", str(slow))
    again = jaxeval.train(TOY, 5, changes={"name": "slow", "training": {"patience": 0}})
    assert again.rows == slow.rows
    assert "5 are recorded already" in capsys.readouterr().err


def test_tuned(capsys: pytest.CaptureFixture) -> None:
    """Dies if a search of Python is another one than the verb's, is not retrained, or is loud."""
    space = {"rate": {"key": "model.rate", "uniform": [0.0, 0.9]}}
    options: dict[str, Any] = {
        "trials": 5,
        "method": "sobol",
        "parallel": 2,
        "halving": 2,
        "retrain": 2,
        "quiet": True,
        "changes": {"training.patience": 0, "training.epochs": 4},
    }
    tuned = jaxeval.tune(TOY, space, **options)
    assert capsys.readouterr() == ("", "")
    tree = tuned.to_dict()
    assert tree["trials"] == 5 and [*tuned.values] == ["rate"] and tuned.path.exists()
    assert "best mean: setting" in str(tuned) and "retrained with 2 fresh seeds" in str(tuned)
    assert "<table" in tuned._repr_html_() and tuned.plot("slices").axes
    assert jaxeval.tune(TOY, space, **options).tree["evaluations"] == tuned.tree["evaluations"]
    again = jaxeval.train(str(tuned.path), seeds=[1_000_001, 1_000_002], quiet=True)
    assert list(again.scores("dev")) == tuned.tree["retrained"]["scores"]["dev"]  # type: ignore[index, call-overload]
    with pytest.raises(errors.ConfigError, match="expected one of best_so_far"):
        tuned.plot("pie")
    scoreless: Any = {**tuned.tree, "best": None, "reason": "all trials have ended"}
    with pytest.raises(errors.RunError, match="plot: no setting has a score"):
        results.Tuned(scoreless, tuned.path).plot("importance")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"parallel": -1}, "parallel: expected a whole number of at least 1, got -1"),
        ({"trials": 0}, "trials: expected a whole number of at least 1, got 0"),
        ({"trials": 10**6, "seeds": 2}, "trials: expected at most 1000000 runs in all"),
        ({"retrain": -1}, "retrain: expected a whole number of at least 0, got -1"),
        ({"seconds": 0}, "seconds: expected a number above 0, got 0"),
        ({"halving": 1}, "halving: expected a whole number of at least 2, got 1"),
        ({"halving": 2.5}, "halving: expected a whole number of at least 2, got 2.5"),
        ({"halving": 2, "min_epochs": 0}, "min_epochs: expected a whole number of at least 1"),
        ({"min_epochs": 2}, "min_epochs: goes with halving"),
    ],
)
def test_a_search_refuses_what_the_command_refuses(options: dict[str, Any], said: str) -> None:
    """Dies if a call searches nothing, or for ever, where the command has a line to say."""
    with pytest.raises(errors.JaxevalError, match=said):
        jaxeval.tune(TOY, {"rate": {"key": "model.rate", "uniform": [0.0, 0.9]}}, **options)


def test_a_thread_trains_with_progress(capsys: pytest.CaptureFixture) -> None:
    """Dies if signals are handled where they cannot be: a server's threads train as well."""
    trained: list[jaxeval.Runs] = []
    thread = threading.Thread(target=lambda: trained.append(jaxeval.train(TOY, seeds=1)))
    thread.start()
    thread.join()
    assert len(trained[0]) == 1 and "compiled: epoch" in capsys.readouterr().err


def test_ctrl_c_is_no_exit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if Ctrl-C ends a notebook's kernel as it ends a verb."""

    def stopped(*args: Any, **options: Any) -> None:
        raise SystemExit(130)

    monkeypatch.setattr(observe, "train", stopped)
    with pytest.raises(KeyboardInterrupt):
        jaxeval.train(TOY, seeds=1)


def test_a_sweep_of_python(capsys: pytest.CaptureFixture) -> None:
    """Dies if a space of plain data is drawn otherwise than a file's."""
    space = {"learning_rate": {"key": "training.optimiser.hyperparameters.learning_rate"}}
    space["learning_rate"] |= {"log_uniform": [0.001, 0.1]}
    swept = jaxeval.sweep(TOY, space, runs=3, quiet=True)
    assert capsys.readouterr() == ("", "")
    drawn = [json.loads(row.hparams)["learning_rate"] for row in swept.rows]
    assert len({*drawn}) == 3 and all(0.001 <= rate <= 0.1 for rate in drawn)
    assert "random sweep" in str(swept)


def test_verdicts_mirror() -> None:
    """Dies if the verdict depends on which model is named first."""
    here, there = (_compare({"x": A, "y": B}), _compare({"y": B, "x": A}))
    for forward, backward in zip(str(here).split("\n"), str(there).split("\n"), strict=True):
        assert forward.split(":")[0] == backward.split(":")[0]
    here_pair, there_pair = (compared.to_dict()["pairs"][0] for compared in (here, there))
    assert (here_pair["verdict"]["higher"], there_pair["verdict"]["higher"]) == ("a", "b")
    gap, won = "difference", "probability_of_improvement"
    assert here_pair[gap]["estimate"] == pytest.approx(-there_pair[gap]["estimate"])
    assert here_pair[won]["estimate"] == pytest.approx(1 - there_pair[won]["estimate"])
    assert "x's distribution is higher" in str(here)


def test_losses_and_pairs() -> None:
    """Dies if the direction or the pairing of sequences is not handed on."""
    assert "so B is the better one" in str(_compare(A, B, higher_is_better=False))
    assumed = _compare(A, B)
    for said in (str(assumed), assumed._repr_html_()):
        assert "(assumed; higher_is_better=False otherwise)" in said
    paired = _compare(A, A - 0.01, paired=True)
    assert "Wilcoxon signed-rank on 9 pairs" in str(paired)


def test_warnings_come_first() -> None:
    """Dies if the text of a comparison leaves out what is wrong with the scores."""
    shown = str(_compare(A, 100 * B)).split("\n")
    assert shown[0] == "warning: A: looks like fractions, B like percent; same unit?"
    assert "higher" in shown[1]


def test_html_escapes_names() -> None:
    """Dies if a model's name can write into a notebook."""
    shown = _compare({"<script>a": A, "b&c": B})._repr_html_()
    assert "<script>" not in shown and "&lt;script&gt;a" in shown and "b&amp;c" in shown
    assert "distribution is higher" in shown and shown.count("<table>") == 2
    trained = jaxeval.train(TOY, seeds=1, quiet=True, changes={"name": "<i>"})._repr_html_()
    assert "<i>" not in trained and "&lt;i&gt;" in trained and "<td>test</td>" in trained


def test_figures() -> None:
    """Dies if a comparison cannot be drawn."""
    from matplotlib.figure import Figure

    assert isinstance(_compare(A, B).plot(), Figure)
    assert isinstance(_compare(A, B).plot("ecdf"), Figure)


def test_selections() -> None:
    """Dies if functions or configs cannot be chosen from, or the wrong one is."""
    noise = np.random.default_rng(0).normal(0, 0.01, 100)
    functions = {"low": lambda k: 0.7 + noise[k], "high": lambda k: 0.8 + noise[k + 50]}
    chosen = jaxeval.select(functions, quiet=True)
    assert chosen.best == "high" and str(chosen).startswith("high, best with probability")
    assert jaxeval.select(functions, higher_is_better=False, quiet=True).best == "low"
    assert "<td>high</td>" in chosen._repr_html_()
    short, long = ({**TOY, "name": f"{n}", "training": {"epochs": n}} for n in (1, 6))
    assert jaxeval.select([short, long], budget=8, quiet=True).best == "6"


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "config": (lambda: jaxeval.train("reimers2017/wnut_ner"), "did you mean reimers2017/wnut17"),
    "key": (lambda: jaxeval.train({"tsk": "toy"}), "did you mean task"),
    "task": (lambda: jaxeval.train({"task": ["toy"]}), "task: expected one of"),
    "no config": (lambda: jaxeval.train(3), "expected a config's file or name"),
    "change": (lambda: jaxeval.train(TOY, changes={"model.with": 3}), "did you mean model.width"),
    "seeds": (lambda: jaxeval.train(TOY, seeds=0), "seeds: expected a whole number from 1"),
    "seed": (lambda: jaxeval.train(TOY, seeds=[1, -2]), "seeds: expected"),
    "space": (lambda: jaxeval.sweep(TOY, {"rate": {"uniform": 3}}), "rate"),
    "nothing": (lambda: jaxeval.compare(), "expected sequences of scores"),
    "one": (lambda: jaxeval.compare(A), "two or more models"),
    "names": (lambda: jaxeval.compare("a", "b"), "names with table="),
    "words": (lambda: jaxeval.compare(["x", "y"], B), "A: expected a sequence of numbers"),
    "unequal": (
        lambda: jaxeval.compare(A[:6], A[:7], paired=True),
        "paired=True: expected as many scores of each model, A has 6, B has 7",
    ),
    "missing": (
        lambda: jaxeval.compare(A, [0.5, np.nan, None, 0.7]),  # type: ignore[list-item]
        "B: score 2 is missing (and 1 more); expected finite numbers",
    ),
    "infinite": (lambda: jaxeval.compare({"x": A, "y": [1, np.inf]}), "y: score 2 is infinite"),
    "level": (lambda: jaxeval.compare(A, B, alpha=5), "alpha: expected"),
    "correction": (
        lambda: jaxeval.compare(A, B, correction="holms"),  # type: ignore[arg-type]
        "correction: expected one of",
    ),
    "correction none": (
        lambda: jaxeval.compare(A, B, correction="none"),  # type: ignore[arg-type]
        "correction: expected one of",
    ),
    "figure": (lambda: _compare(A, B).plot("pie"), "expected one of violins, ecdf"),
    "folder": (lambda: jaxeval.load("nowhere"), "no runs here"),
    "file": (lambda: jaxeval.read_scores("nowhere.csv"), "nowhere.csv"),
    "arms": (lambda: jaxeval.select([]), "two or more models"),
    "function": (lambda: jaxeval.select({"a": 1, "b": 2}), "a: expected a function"),  # type: ignore[dict-item]
    "rule": (
        lambda: jaxeval.select([], budget=3, rule=_rule()),
        "either delta and budget, or a rule",
    ),
}


def _rule() -> Any:
    return importlib.import_module("jaxeval.bandits").TopTwoThompson()


@pytest.mark.parametrize("call", WRONG)
def test_mistakes_are_one_line(call: str) -> None:
    """Dies if a mistake of the user's is a traceback of ours, or does not say what is wrong."""
    function, said = WRONG[call]
    with pytest.raises(errors.JaxevalError) as raised:
        function()
    assert said in str(raised.value) and "\n" not in str(raised.value)
    assert not Path("runs").exists()


def _verb(name: str, *words: str) -> Any:
    return importlib.import_module(f"jaxeval.{name}").main(words)


TIDY, TOY_WORDS = ("--table", "tidy.csv"), ("task=toy",)
SPOKEN: dict[str, tuple[Callable[[], Any], str, Callable[[], Any], str]] = {
    "data": (
        lambda: jaxeval.train(TOY, data=" "),
        "data: got ' ', an empty path (a shell variable that is not set?); expected a folder, a "
        "file or tfds:NAME, or no data",
        lambda: _verb("train", *TOY_WORDS, "--data", " "),
        "--data: got ' ', an empty path (a shell variable that is not set?); expected a folder, a "
        "file or tfds:NAME, or no --data",
    ),
    "again": (
        lambda: jaxeval.train(TOY, again=True),
        "again=True goes with training.save_models=true",
        lambda: _verb("train", *TOY_WORDS, "--again"),
        "--again goes with training.save_models=true",
    ),
    "columns": (
        lambda: jaxeval.read_scores("tidy.csv"),
        "; columns={'score': 'the f1'} compares by the f1",
        lambda: _verb("compare.__main__", *TIDY),
        "; --column score=the f1 compares by the f1",
    ),
    "table": (
        lambda: jaxeval.compare(table="tidy.csv"),
        "; table=read_scores(PATH, columns={'score': 'the f1'}) compares by the f1",
        lambda: _verb("compare.__main__", *TIDY),
        "; --column score=the f1 compares by the f1",
    ),
    "missing": (
        lambda: jaxeval.read_scores("tidy.csv", columns={"score": "lost"}),
        "; missing='drop' leaves such scores out, missing='zero' counts them as 0",
        lambda: _verb("compare.__main__", *TIDY, "--score", "lost"),
        "; --missing drop leaves such scores out, --missing zero counts them as 0",
    ),
    "unit": (
        lambda: jaxeval.compare(A, B, unit="dataset"),
        "unit='dataset': no such column",
        lambda: _verb("compare.__main__", *TIDY, "--score", "the f1", "--unit", "dataset"),
        "--unit dataset: no such column",
    ),
}


@pytest.mark.parametrize("case", SPOKEN)
def test_arguments_are_called_as_the_caller_calls_them(case: str) -> None:
    """Dies if Python is told of flags that it does not have, or a verb of anything else."""
    Path("tidy.csv").write_text("model,the f1,lost\na,.51,.5\na,.52,\nb,.63,.6\nb,.64,.7\n")
    of_python, said, of_verb, said_there = SPOKEN[case]
    with pytest.raises(errors.JaxevalError) as raised:
        of_python()
    assert said in str(raised.value) and "--" not in said
    with pytest.raises(errors.JaxevalError) as raised:
        of_verb()
    assert said_there in str(raised.value)


def test_scores_are_of_one_experiment() -> None:
    """Dies if scores of several experiments, or of no part, are silently put together."""
    rows = [row for name in "ab" for row in _rows(name)]
    both = results.Runs(tuple(rows), "here")
    with pytest.raises(errors.ConfigError, match=r"runs\['a'\]"):
        both.scores()
    assert both["b"].scores().tolist() == [0.5]
    with pytest.raises(errors.ConfigError, match="expected dev or test"):
        both["a"].scores("train")  # type: ignore[arg-type]
    with pytest.raises(errors.ConfigError, match="no runs of 'c'; has a, b"):
        both["c"]


def _rows(name: str) -> list[runs.MemberRow]:
    """A member with scores and one that diverged."""
    known = dict.fromkeys(runs.MemberRow._fields, "") | {"name": name, "experiment": name}
    ended = {"test": 0.5, "dev": 0.4}, {"test": None, "dev": None}
    return [runs.MemberRow(**{**known, **scores}) for scores in ended]
