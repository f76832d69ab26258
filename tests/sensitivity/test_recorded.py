"""Recorded sweeps: their space is all that `python -m jaxeval.sensitivity` needs to be told."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxeval import runs
from jaxeval.errors import ConfigError, DataError
from jaxeval.sensitivity import __main__ as verb
from jaxeval.sensitivity import analyze, recorded
from jaxeval.sensitivity.hyperparameters import Declared, axes
from jaxeval.space import space
from tests.report.runs import test_report
from tests.runs import test_store
from tests.space import fabricated

WORDS = ["--missing", "zero", "--ks", "5", "--resamples", "20"]


def _json(capsys: pytest.CaptureFixture, *words: str) -> dict[str, Any]:
    assert verb.main([*words, *WORDS, "--json", "-"]) == 0
    tree: dict[str, Any] = json.loads(capsys.readouterr().out)
    return tree


def test_a_folder_needs_no_flags(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if orders, conditions or scores differ from those that flags would give."""
    folder = fabricated.fill(tmp_path, ("transformer",))
    tree = _json(capsys, str(folder))
    rows = runs.load(folder)
    drawn = [json.loads(row.hparams) for row in rows]
    names = [parameter.name for parameter in fabricated.SPACES["transformer"].parameters]
    analysis = analyze(
        [row.dev or 0.0 for row in rows],
        {name: [run.get(name, "") for run in drawn] for name in names},
        declared=Declared(conditions={"plateau_factor": {"scheduler": ["plateau"]}}),
        resamples=0,
    )
    assert tree["n"] == 24 and tree["mean"] == pytest.approx(analysis.mean)
    assert tree["share_zero"] == pytest.approx(100 * 2 / 24)  # those that diverged
    assert set(tree["by_hyperparameter"]) == set(names)
    for name in names:
        assert tree["by_hyperparameter"][name] == analysis.by_hyperparameter[name]._asdict()
    assert tree["by_hyperparameter"]["plateau_factor"]["n"] == sum(
        run["scheduler"] == "plateau" for run in drawn
    )


@pytest.mark.slow
def test_two_sweeps_of_other_hyperparameters(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if what only one of two sweeps has breaks the tables, the difference or a figure."""
    folder = str(fabricated.fill(tmp_path / "r"))
    tree = _json(capsys, folder)
    lstm, transformer = tree["sweeps"]
    assert (lstm["name"], transformer["name"]) == ("attentive_lstm, sweep", "transformer, sweep")
    assert "heads" not in lstm["by_hyperparameter"] and "heads" in transformer["by_hyperparameter"]
    assert "by_hyperparameter.heads.rho" not in tree["difference"]
    assert "by_hyperparameter.hidden.rho" in tree["difference"]
    for experiments in (["transformer, sweep", "sweep0"], []):
        chosen = [word for experiment in experiments for word in ("--experiment", experiment)]
        out = tmp_path / "figures"
        drawn = ["--figures", str(out)] if experiments else []
        assert verb.main([folder, *WORDS, *chosen, *drawn]) == 0
        lines = capsys.readouterr().out.splitlines()
        heads = next(line for line in lines if line.startswith("heads"))
        assert heads.split()[-1] == "-" and heads.count(" - ") == 1
    assert {p.stem for p in out.iterdir()} == {*("ranks", "profile", "marginals", "near_best")}


def test_a_choice_of_experiments_and_flags(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if --experiment, --hyperparameters, --order, --score or --rows is not kept to."""
    folder = str(fabricated.fill(tmp_path, ("attentive_lstm", "transformer", "third")))
    assert len(_json(capsys, folder)["sweeps"]) == 3
    words = ["--experiment", "third, sweep", "--hyperparameters", "scheduler,plateau_factor"]
    order = ["--order", "scheduler=none,plateau,warmup"]
    tree = _json(capsys, folder, *words)
    assert list(tree["by_hyperparameter"]) == ["scheduler", "plateau_factor"]
    assert tree["by_hyperparameter"]["scheduler"]["maxima"] is None
    ordered = _json(capsys, folder, *words, *order, "--score", "test")
    assert ordered["by_hyperparameter"]["scheduler"]["maxima"] is not None
    assert ordered["max"] == pytest.approx(0.98 * tree["max"])
    both = ["--experiment", "third, sweep", "--experiment", "sweep0", "--hyperparameters", "heads"]
    lstm, third = _json(capsys, folder, *both)["sweeps"]
    assert not lstm["by_hyperparameter"] and "heads" in third["by_hyperparameter"]


def test_sweeps_beside_seeds_and_sweeps_of_one_name(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if seeds of an experiment are taken for runs of a sweep, or left out in silence, or two
    names are one."""
    folder = fabricated.fill(test_report.fill(tmp_path / "a", ["alpha"]), ("transformer",))
    assert _json(capsys, str(folder))["n"] == 24
    assert verb.main([str(folder), *WORDS]) == 0
    assert f"{folder}: left out, as they are no sweeps: alpha" in capsys.readouterr().out
    with pytest.raises(ConfigError, match=r"no random sweep here; it has 'alpha' \(.*members: "):
        verb.main([str(folder), "--experiment", "alpha"])
    with pytest.raises(ConfigError, match="alpha: it is not a sweep"):
        verb.main([str(folder), "--experiment", "alpha", "--experiment", "transformer, sweep"])
    other = fabricated.fill(tmp_path / "b", ("transformer",))
    names = [sweep["name"] for sweep in _json(capsys, str(folder), str(other))["sweeps"]]
    assert len(set(names)) == 2 and all(n.startswith("transformer, sweep (") for n in names)


ERRORS = {
    "missing": (["R"], "row 10, column dev: missing"),
    "no such experiment": (
        ["R", "--experiment", "x"],
        "--experiment x: no experiment of this name",
    ),
    "of a table": (["T", "--experiment", "x"], "--experiment: expected runs folders"),
    "no such hyperparameter": (["R", *WORDS, "--hyperparameters", "rate"], "rate: no such"),
    "no such in an order": (["R", *WORDS, "--order", "rate=1,2"], "rate: no such hyperparameter"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_bad_input_is_explained(tmp_path: Path, case: str) -> None:
    """Dies if one of these is a traceback or goes on."""
    words, message = ERRORS[case]
    (tmp_path / "t.tsv").write_text("score\n0.5\n")
    paths = {"R": str(fabricated.fill(tmp_path / "r")), "T": str(tmp_path / "t.tsv")}
    with pytest.raises((ConfigError, DataError), match=message):
        verb.main([paths.get(word, word) for word in words])


def test_lower_is_better_is_refused(tmp_path: Path) -> None:
    """Dies if the worst perplexity is called the best score."""
    changes = {"metric": "perplexity", "higher_is_better": False}
    folder = str(fabricated.fill(tmp_path, ("transformer",), **changes))
    with pytest.raises(ConfigError, match="dev is perplexity, of which lower is better"):
        verb.main([folder, *WORDS])


def test_declared_by_a_space() -> None:
    """Dies if an absent category counts as a value, or texts without an order have one."""
    of = space.from_dict(
        {
            "on": {"choices": [True, False]},
            "kind": {"choices": ["b", "a"], "ordered": True, "when": {"on": [True]}},
            "free": {"choices": ["x", "y"], "when": {"kind": ["a"]}},
            "size": {"integer": [1, 9], "when": {"on": [True]}},
        }
    )
    runs_ = [space.draw(of, 1, run) for run in range(40)]
    values = recorded.values(of, [json.dumps(run) for run in runs_])
    by_name = {axis.name: axis for axis in axes(values, recorded.declared(of).only(values), 40)}
    for name, ordered in (("on", False), ("kind", True), ("free", False), ("size", True)):
        active = np.array([name in run for run in runs_])
        assert active.sum() > 0 and (by_name[name].active == active).all()
        assert by_name[name].ordered == ordered
    kinds = {run["kind"]: by_name["kind"].rank[k] for k, run in enumerate(runs_) if "kind" in run}
    assert kinds == {"b": 1, "a": 2}
    assert recorded.space_of(test_store.EXPERIMENT.config, "e") is None
    with pytest.raises(ConfigError, match=r"e: the recorded space: a: expected one of"):
        recorded.space_of('{"sweep": {"space": {"a": {"step": 2}}}}', "e")
