"""`jaxeval sensitivity`: tables, recorded sweeps, groups, bad input."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxeval
from jaxeval import __main__ as command
from jaxeval import runs, space
from jaxeval.errors import ConfigError, JaxevalError
from jaxeval.sensitivity import analysis, trials
from jaxeval.sensitivity.metrics import axes
from tests.report.runs import test_report
from tests.runs import test_store
from tests.space import fabricated

SPACE = """
[rate]
log_uniform = [1e-5, 1e-2]
[scheduler]
choices = ["none", "plateau", "warm"]
ordered = true
[factor]
uniform = [0, 1]
when = { scheduler = ["plateau"] }
"""
UNIT = {"uniform": [0, 1]}
WORDS = ["--score", "acc", "--missing", "zero", "--resamples", "50"]
NAMED = ["--hyperparameters", "rate,scheduler,factor"]
OURS = ["--missing", "zero", "--resamples", "20"]


def _main(*words: str) -> int:
    return command.main(["sensitivity", *words])


def _sweep(folder: Path, name: str, top: float = 1.0) -> str:
    draw = np.random.default_rng(len(name))
    rows = ["acc\trate\tscheduler\tfactor"]
    for k in range(40):
        scheduler = ("none", "plateau", "warm")[k % 3]
        score = "" if k == 7 else f"{top * draw.beta(5, 1):.3f}"
        factor = f"{draw.uniform():.2f}" if scheduler == "plateau" else ""
        rows.append(f"{score}\t{10 ** draw.uniform(-5, -2):.2e}\t{scheduler}\t{factor}")
    path = folder / name
    path.write_text("\n".join(rows) + "\n")
    return str(path)


def _json(capsys: pytest.CaptureFixture, *words: str) -> dict[str, Any]:
    assert _main(*words, "--json", "-") == 0
    tree: dict[str, Any] = json.loads(capsys.readouterr().out)
    return tree


def test_columns_that_nothing_reads_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if two models pass for one sweep, or losses for scores, in silence."""
    path = tmp_path / "ab.csv"
    rows = [f"{'AB'[k % 2]},{k},d,{0.5 + 0.01 * k}" for k in range(16)]
    path.write_text("\n".join(["model,rate,data,score", *rows]) + "\n")
    said = "ab: its 16 runs count as one sweep; not read: "
    for words, unread in (((), "model, rate ("), (("--hyperparameters", "rate"), "model (")):
        assert _main(str(path), "--resamples", "9", *words) == 0
        assert said + unread in " ".join(capsys.readouterr().out.split())
    (tmp_path / "space").write_text(SPACE)
    assert _main(str(path), "--resamples", "9", "--space", str(tmp_path / "space")) == 0
    shown = capsys.readouterr().out
    assert "ab: no column of the space's scheduler, factor: not" in shown and "assum" not in shown
    path.write_text(path.read_text().replace("score", "value"))
    assert _main(str(path), "--resamples", "9", "--score", "value") == 0
    assert "ab: value: higher is better (assumed)" in capsys.readouterr().out
    path.write_text("rate,score\n1,0.5\n2,0.6\n3,0.7\n")  # the fewest runs of a sweep
    assert _main(str(path), "--resamples", "9", "--hyperparameters", "rate") == 0


def test_two_sweeps_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if the difference is missing, or a figure is."""
    a, b = _sweep(tmp_path, "a.tsv"), _sweep(tmp_path, "bb.tsv", 0.5)
    out = tmp_path / "figures"
    tree = _json(capsys, a, b, *WORDS, *NAMED)
    gap, (first, second) = tree["difference"]["mean"], tree["sweeps"]
    means = [of["metrics"]["mean"]["value"] for of in (first, second)]
    assert gap["value"] == pytest.approx(means[0] - means[1]) and gap["interval"]["low"] > 0
    assert _main(a, b, *WORDS, *NAMED, "--save", str(out)) == 0
    shown = capsys.readouterr().out
    assert "A - B" in shown and "1 unusable score counted as 0, the first in row 9" in shown
    assert {p.stem for p in out.iterdir()} == {"ranks", "marginals"}


def test_groups(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if labels of columns or of names are lost, or a group is missing from what is seen."""
    draw = np.random.default_rng(0)
    paths, out = [], tmp_path / "f"
    for number, language in enumerate(("ga", "hu", "nl", "sq")):
        for kind, width in (("lstm", 0.1), ("transformer", 0.3)):
            scores = np.round(0.99 - 0.05 * number - width * draw.beta(1, 3, 30), 4)
            path = tmp_path / f"{language}-{kind}.csv"
            lines = [
                f"{s},{r},{kind}" for s, r in zip(scores, draw.uniform(1, 9, 30), strict=True)
            ]
            path.write_text("\n".join(["score,rate,kind", *lines]) + "\n")
            paths.append(str(path))
    words = [*paths, "--hyperparameters", "rate", "--over", "part1", "--by"]
    tree, named = _json(capsys, *words, "kind"), _json(capsys, *words, "part2")
    assert [group["means"] for group in tree["groups"]] == [g["means"] for g in named["groups"]]
    assert tree["groups"][0]["labels"] == {"kind": "lstm"}
    assert tree["groups"][0]["sweeps"]["hu"] == "hu-lstm"
    assert tree["contrasts"][0]["datasets"] == ["ga", "hu", "nl", "sq"]
    assert all(of["interval"] is None for of in tree["sweeps"][0]["metrics"].values())
    assert _main(*words, "kind", "--details", "--save", str(out)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "lstm is better than transformer, by this share."
    assert "transformer: ga, hu, nl, sq" in lines
    assert any(line.startswith("lstm - transformer") for line in lines)
    assert {path.stem for path in out.iterdir()} == {"ranks"}


def test_a_recorded_sweep_needs_no_flags(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if orders, conditions or scores differ from those that its space gives."""
    folder = fabricated.fill(tmp_path, ("transformer",))
    rows = runs.load(folder)
    begun = [test_store.result(1, hparams=rows[0].hparams)]  # with another config, and left
    test_store.write(folder, "begun", begun, config=rows[0].config)
    (tree,) = _json(capsys, str(folder), *OURS)["sweeps"]
    drawn = [json.loads(row.hparams) for row in rows]
    of = fabricated.SPACES["transformer"]
    columns = {p.name: [run.get(p.name, "") for run in drawn] for p in of.parameters}
    whole = analysis.analyze([row.dev or 0.0 for row in rows], columns, space=of, resamples=0)
    assert {path: m["value"] for path, m in tree["metrics"].items()} == whole.values
    assert tree["n"] == 24 and tree["metrics"]["share_zero"]["value"] == pytest.approx(200 / 24)
    assert tree["with_effect"] == whole.with_effect
    (important,) = _json(capsys, str(folder), *OURS)["importance"].values()
    assert {of["name"] for of in important} == {p.name for p in of.parameters}
    plateaus = sum(run["scheduler"] == "plateau" for run in drawn)
    assert whole.with_effect["plateau_factor"] == plateaus


def test_importance_finds_what_varies() -> None:
    """Dies if values and scores of a recorded sweep are mixed up, a choice does not count, or
    what all runs share does."""
    kinds = {"kind": {"choices": ["a", "b"]}, "one": {"choices": [1]}}
    drawn_from = space.from_dict({"rate": {"log_uniform": [1e-4, 1e-2]}, **kinds, "idle": UNIT})
    drawn = [space.draw(drawn_from, 1, run) for run in range(1, 61)]
    scores = [0.5 + 0.1 * np.log10(of["rate"]) / 2 + 0.05 * (of["kind"] == "a") for of in drawn]
    sweep = trials.Sweep("s", np.array(scores), [], space=drawn_from, drawn=drawn)
    found = {of.name: of.total for of in trials.importance(sweep)}
    # variances .1^2 / 12 and .05^2 / 4; the model sees scores below the median as normal ranks
    assert found == pytest.approx({"rate": 0.57, "kind": 0.43, "idle": 0}, abs=0.1)
    assert trials.importance(dataclasses.replace(sweep, space=None)) == []


def test_recorded_sweeps_of_other_hyperparameters_and_folders(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if what one of two sweeps has breaks the tables, seeds are taken for a sweep, or two
    sweeps have one name."""
    folder = fabricated.fill(test_report.fill(tmp_path / "a", ["alpha"]))
    assert _main(str(folder), *OURS) == 0
    out = capsys.readouterr().out
    *_, heads = (line for line in out.splitlines() if line.startswith("heads"))
    assert heads.split()[-1] == "-" and heads.count(" - ") == 1
    chosen = ["--hyperparameters", "scheduler,plateau_factor", "--score", "test"]
    one = _json(capsys, str(folder), *OURS, *chosen)["sweeps"][0]
    assert [*one["with_effect"]] == ["scheduler", "plateau_factor"]
    other = fabricated.fill(tmp_path / "b", data="moved")
    request = trials.Request(missing="zero")
    _, first, _, second = trials.read([str(folder), str(other)], request)
    assert first.name != second.name and first.labels["dataset"] == second.labels["dataset"]
    assert first.labels["task"] and first.labels["name"] == "transformer, sweep"
    seeds = test_report.fill(tmp_path / "c", ["alpha"])
    with pytest.raises(JaxevalError, match="as jaxeval sweep makes them; found alpha"):
        jaxeval.sensitivity(str(seeds))


def test_values_of_a_space() -> None:
    """Dies if an absent category counts as a value, or texts without an order have one."""
    of = space.from_dict(
        {
            "on": {"choices": [True, False]},
            "kind": {"choices": ["b", "a"], "ordered": True, "when": {"on": [True]}},
            "free": {"choices": ["x", "y"], "when": {"kind": ["a"]}},
            "size": {"integer": [1, 9], "when": {"on": [True]}},
        }
    )
    drawn = [space.draw(of, 1, run) for run in range(40)]
    values = {p.name: [run.get(p.name, "") for run in drawn] for p in of.parameters}
    by_name = {axis.name: axis for axis in axes(values, 40, of)}
    for name, ordered in (("on", False), ("kind", True), ("free", False), ("size", True)):
        active = np.array([name in run for run in drawn])
        assert active.sum() > 0 and (by_name[name].active == active).all()
        assert by_name[name].ordered == ordered
    kinds = {run["kind"]: by_name["kind"].rank[k] for k, run in enumerate(drawn) if "kind" in run}
    assert kinds == {"b": 1, "a": 2}
    # a table has values where they have no effect: what a condition's own condition says counts
    dense = {**values, "free": ["x"] * 40, "kind": ["a"] * 40}
    (free,) = (axis for axis in axes(dense, 40, of) if axis.name == "free")
    assert free.active.tolist() == [run["on"] for run in drawn]
    assert trials.recorded_space(test_store.EXPERIMENT.config, "e") is None
    with pytest.raises(ConfigError, match=r"e: the recorded space: a: expected one of"):
        trials.recorded_space('{"sweep": {"space": {"a": {"step": 2}}}}', "e")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "expected tables or runs folders"),
        (["S", "--score", "acc"], "row 9, column acc: missing"),
        (
            ["S", "--hyperparameters", "rate"],
            "no column 'score'; --score NAME names one of acc, rate, ",
        ),
        (["S", *WORDS, "--hyperparameters", "rat"], "no column 'rat'; did you mean rate"),
        (
            ["P", "--hyperparameters", "rate"],
            "p.csv: row 3, column score: .* found 85.645; divide",
        ),
        (["S", *WORDS, "--hyperparameters", "rate,acc"], "--hyperparameters acc: these are the"),
        (["S", *WORDS, "--by", "language"], "language: s has no such label; it has part1"),
        (["R"], "attentive_lstm, sweep: 2 of 24 runs have no dev score"),
        (["R", *OURS, "--hyperparameters", "rate"], "rate: no such hyperparameter; there are"),
        (["L", *OURS], "dev perplexity, for which lower is better"),
    ],
)
def test_bad_input_is_explained(
    tmp_path: Path, words: list[str], message: str, capsys: pytest.CaptureFixture
) -> None:
    """Dies if one of these is a traceback or goes on."""
    (tmp_path / "p.csv").write_text("rate,score\n1,0.9\n2,85.645\n3,86\n")
    paths = {"P": str(tmp_path / "p.csv"), "S": _sweep(tmp_path, "s.tsv")}
    if "R" in words:
        paths["R"] = str(fabricated.fill(tmp_path / "r"))
    if "L" in words:
        lower = {"metric": "perplexity", "higher_is_better": False}
        paths["L"] = str(fabricated.fill(tmp_path / "l", ("transformer",), **lower))
    with pytest.raises(JaxevalError, match=message):
        _main(*(paths.get(word, word) for word in words))
