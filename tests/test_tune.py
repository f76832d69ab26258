"""`python -m jaxeval.tune`: commands, when a search ends, and what it shows."""

import json
import shlex
import statistics
import sys
from pathlib import Path

import pytest

from jaxeval.errors import JaxevalError, RunError
from jaxeval.report.tuning import figures
from jaxeval.space import space as spaces
from jaxeval.tune import __main__ as tune
from jaxeval.tune import options
from jaxeval.tuning import methods, posterior, saved
from jaxeval.tuning.history import History
from tests import tune_command


def test_a_command_is_tuned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Dies if failures are lost, the answer is not retrained, or what is known is done again."""
    monkeypatch.chdir(tmp_path)
    words = tune_command.words(tmp_path, "--trials", "12", "--parallel", "4")
    tree = tune_command.json_of(capsys, words)
    assert tree["trials"] == 12 and tree["reason"] == "all trials have ended"
    expected = [spaces.draw(spaces.read(tmp_path / "space.toml"), 0, k) for k in range(12)]
    assert [e["values"] for e in tree["evaluations"]] == expected
    failed = sum(float(values["rate"]) > 0.5 for values in expected)
    assert tree["failures"] == {"exit code 1 (diverged)": failed} and failed
    means = [statistics.fmean(e["scores"]) for e in tree["evaluations"] if "scores" in e]
    assert tree["best"]["mean"] == max(means) == tree["best_so_far"][-1]
    fresh = tree["retrained"]
    assert len(fresh["scores"]["score"]) == 2 and fresh["optimism"]["seen"] == max(means)
    assert tree["noise"] == pytest.approx(statistics.stdev(fresh["scores"]["score"]))
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) == 14 and len({call.split("seed=")[1] for call in calls}) == 14
    again = tune_command.json_of(capsys, words)
    assert again["evaluations"] == tree["evaluations"] and again["retrained"] == fresh
    more = tune_command.json_of(capsys, [*words, "--trials", "14"])
    assert more["evaluations"][:12] == tree["evaluations"]
    assert len((tmp_path / "calls").read_text().splitlines()) - 14 in (2, 4)


def test_the_terminal_says_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Dies if table, failures, interval or optimism are not shown, or a figure loses a setting."""
    monkeypatch.chdir(tmp_path)
    words = tune_command.words(tmp_path, "--trials", "8", "--json", "out.json")
    assert tune.main(words) == 0
    shown = capsys.readouterr()
    answer, *short = shown.out.strip().splitlines()
    tree = json.loads((tmp_path / "out.json").read_text())
    fresh = tree["retrained"]["parts"]["score"]
    assert answer.startswith(f"Take setting {tree['best']['numbers'][0]}, the best mean of 8")
    assert f"2 fresh seeds give score {fresh['mean']:.4g}, 95 % CI [" in answer
    for said in ("failed: exit code 1 (diverged)", "rate ", "--details: noise"):
        assert said in "\n".join(short)
    assert "optimism of" not in shown.out
    assert tune.main([*words, "--details"]) == 0
    assert "optimism of" in capsys.readouterr().out
    assert "\n1 of 8 settings, estimating the time left, then retraining; " in f"\n{shown.err}"
    assert "8 of 8 settings, all have ended, then retraining; best score" in shown.err
    drawn = {figure.name: figure for figure in figures.draw(tree)}
    assert [*drawn] == ["best_so_far", "slices", "parallel_coordinates"]
    scored = sum("scores" in evaluation for evaluation in tree["evaluations"])
    assert len(drawn["parallel_coordinates"].rows) == scored < 8
    assert [row[0] for row in drawn["slices"].rows].count("rate") == scored


def test_a_search_ends_when_nothing_better_is_probable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Dies if the bound, the margin or the time is ignored, or the reason is not said."""
    monkeypatch.chdir(tmp_path)
    words = tune_command.words(
        tmp_path, "--trials", "30", "--stop-below", "0.5", "--margin", "10", method="gp"
    )
    tree = tune_command.json_of(capsys, [*words, "--html", "page.html"])
    assert "Importance" in Path("page.html").read_text() and tree["posterior"]["importance"]
    assert tree["reason"] == "a setting that is better by more than 10 has probability 0.000"
    assert tree["trials"] == 8 and tree["retrained"]["optimism"] is not None
    more = tune_command.words(
        tmp_path, "--trials", "30", "--seconds", "1e-9", "--state", "other.json"
    )
    with pytest.raises(JaxevalError, match="no setting has a score: the time is spent"):
        tune.main(more)
    with pytest.raises(JaxevalError, match="expected --method gp, which has a posterior"):
        tune.main([*more, "--stop-below", "0.1"])


@pytest.mark.parametrize("output", ["--json", "--html", "--figures"])
def test_an_output_that_cannot_be_written_is_refused_before_the_search(
    output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if hours are spent on what cannot be shown."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RunError, match=r"train\.py/x: cannot be written"):
        tune.main(tune_command.words(tmp_path, output, "train.py/x"))
    assert not (tmp_path / "calls").exists() and not (tmp_path / "tuning.json").exists()


def test_methods_are_those_that_there_are() -> None:
    """Dies if the verb cannot ask for a method of the tuner."""
    assert options.METHODS == methods.NAMES


def test_without_a_seed_nothing_is_run_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Dies if copies of one run count as fresh seeds, or get an interval of no width."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text("[x]\nuniform = [0, 1]\n")
    words = ["--space", "s.toml", "--method", "random", "--trials", "2"]
    for more in (["--seeds", "2"], ["--seeds", "adaptive", "--method", "gp"], ["--retrain", "3"]):
        with pytest.raises(JaxevalError, match=rf"{more[0]}: expected {{seed}} in --command"):
            tune.main([*words, *more, "--command", "echo {x}"])
    assert not (tmp_path / "tuning.json").exists()
    assert (
        tune.main([*words, "--command", "echo {x}", "--json", "a.json", "--html", "p.html"]) == 0
    )
    said = "not trained again (--command has no {seed}), so what it is worth is not known"
    assert said in capsys.readouterr().out and said in (tmp_path / "p.html").read_text()
    tree = json.loads((tmp_path / "a.json").read_text())
    assert tree["retrained"] is None and tree["seeded"] is False
    deaf = ["--command", "sh -c 'echo {x}' {seed}", "--state", "b.json"]
    assert tune.main([*words, *deaf, "--details", "--json", "b.json.out"]) == 0
    shown = capsys.readouterr().out
    assert "8 fresh seeds give score 0.4944 each (do they depend on the seed?)" in shown
    assert "CI" not in shown and "optimism of the search" in shown
    tree = json.loads((tmp_path / "b.json.out").read_text())
    fresh = tree["retrained"]
    assert tree["noise"] is None and tree["noise_df"] == 0
    assert fresh["parts"]["score"]["mean_interval"] is None
    assert fresh["optimism"]["interval"] is None and fresh["optimism"]["value"] == 0


def test_a_dry_run_shows_the_first_command_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Dies if a line is not what is run, or if anything is run or written."""
    monkeypatch.chdir(tmp_path)
    words = tune_command.words(tmp_path, "--trials", "3", "--parallel", "3")
    before = {*tmp_path.iterdir()}
    assert tune.main([*words, "--dry-run"]) == 0
    shown = [shlex.split(line) for line in capsys.readouterr().out.splitlines()]
    assert tune_command.json_of(capsys, [*words, "--dry-run"]) == {"trials": 3, "first": shown}
    assert {*tmp_path.iterdir()} == before
    assert tune.main([*words, "--retrain", "0"]) == 0
    run = (tmp_path / "calls").read_text().splitlines()
    assert sorted(" ".join(line[2:]) for line in shown) == sorted(run) and len(run) == 3


@pytest.mark.parametrize(("scale", "unit"), [("", "fraction"), (" * 100", "number")])
def test_the_field_of_a_score_says_its_unit(
    scale: str,
    unit: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    """Dies if intervals of a command's F1 pass 1, or an F1 in percent counts as a fraction."""
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text("[x]\nuniform = [0, 1]\n")
    line = f"import json, sys; x = float(sys.argv[1]); y = (1 - x**2 / 3){scale}\n"
    Path("train.py").write_text(line + 'print(json.dumps({"dev": {"f1": y}}))\n')
    command = f"{sys.executable} train.py {{x}} {{seed}}"
    words = ["--space", "s.toml", "--trials", "8", "--retrain", "1", "--json", "out.json"]
    assert tune.main([*words, "--command", command, "--json-field", "dev.f1"]) == 0
    tree, shown = json.loads(Path("out.json").read_text()), capsys.readouterr()
    assert tree["unit"] == unit and ("score (%)" in shown.out) is (unit == "fraction")
    mean = tree["retrained"]["parts"]["score"]["mean"]
    percent = f"{mean * 100:.2f}" if unit == "fraction" else f"{mean:.4g}"
    assert f"fresh seed 1000001: {percent}\n" in shown.err
    (of,) = tree["posterior"]["neighbourhood"]
    assert (max(of["high"]) <= 1.0) is (unit == "fraction")


def test_a_margin_of_0_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if --margin 0 is refused, or the metric's margin is taken instead."""
    (tmp_path / "s.toml").write_text("[x]\nuniform = [0, 1]\n")
    words = ["--space", str(tmp_path / "s.toml"), "--stop-below", "0.5"]
    margins: list[float] = []

    def better(space: object, history: History, margin: float, seed: int) -> float:
        margins.append(margin)
        return 1.0

    monkeypatch.setattr(posterior, "probability_of_better", better)
    for more in ([], ["--margin", "0"]):
        args = tune.parser().parse_args([*words, *more])
        of = options.search(args)
        with saved.opened(tmp_path / "state.json", of, True, {}) as state:
            options.stopper(options.end(args), of, state, margin=0.01)(History())
    assert margins == [0.01, 0.0]
