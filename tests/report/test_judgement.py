"""A judgement of word vectors as it is shown: names, intervals that are lacking, colours."""

import dataclasses
import json
from collections.abc import Mapping

import numpy as np
import pytest
from scipy import stats

from jaxeval.report import plots, text
from jaxeval.report.judgement import as_json, data, figures, page, terminal
from jaxeval.report.judgement.data import Judged
from jaxeval.runs.records import MemberRow
from jaxeval.stats import judgement
from jaxeval.stats.rules import Rules

RULES = Rules(resamples=100)
FILES = ("svd", "glove[v2]", "x[/b] :smile:")


def _judged(seeds: int, means: Mapping[str, float]) -> Judged:
    draw = np.random.default_rng(3)
    scores = {
        name: {"pos": {seed: float(m + 0.01 * draw.normal()) for seed in range(1, seeds + 1)}}
        for name, m in means.items()
    }
    coverage = {(name, "pos"): {"test": {"tokens": 0.5, "types": 0.25}} for name in means}
    judged = judgement.judge("fixed", scores, RULES, "svd")
    files = {name: f"{name}.txt" for name in means}
    cost = data.Cost(1.0, 1.0, 1.0)
    return Judged(files, [judged], (), {"pos": "accuracy"}, coverage, cost, RULES, [])


def test_names_are_shown_as_they_are(capsys: pytest.CaptureFixture) -> None:
    """Dies if brackets of a name are read as markup, or its colons as an emoji."""
    terminal.show(_judged(8, dict.fromkeys(FILES, 0.8)))
    shown = capsys.readouterr().out
    assert "Not told apart by the mean of tasks: " in shown
    line = next(line for line in shown.splitlines() if line.startswith("Not told apart"))
    assert all(name in line for name in FILES)


def test_a_verdict_has_its_numbers() -> None:
    """Dies if a difference is that of the other direction, or lacks its interval or p-value, or
    what was shown of the spread goes unsaid."""
    draw = np.random.default_rng(5)
    sds, means = {"poor": 0.002, "good": 0.03}, {"poor": 0.86, "good": 0.9}
    scores = {
        name: {"pos": {seed: float(m + sds[name] * draw.normal()) for seed in range(20)}}
        for name, m in means.items()
    }
    lines = [*data.sentences(judgement.judge("fixed", scores, RULES), RULES)]
    values = [np.array([*scores[name]["pos"].values()]) for name in ("good", "poor")]
    interval = stats.ttest_ind(*values, equal_var=False).confidence_interval()
    low, high = (100 * end for end in interval)
    gap = 100 * (values[0].mean() - values[1].mean())
    tests = [stats.brunnermunzel(*values).pvalue, stats.levene(*values).pvalue]
    holm = [text.p_value(max(p, 2 * min(tests))) for p in tests]
    head = f"good is better than poor by the mean of tasks: difference of means {gap:.2f} points, "
    ci = f"95 % CI [{low:.2f}, {high:.2f}]; probability that a run of good is better "
    sd = [100 * np.std(of, ddof=1) for of in values]
    spread = f"The spread differs: sd {sd[0]:.2f} (good) and {sd[1]:.2f} (poor), good's is wider; "
    assert lines[0].startswith(head + ci)
    assert lines[0].endswith(f"; Brunner-Munzel, corrected p {holm[0]}.")
    assert lines[1:3] == [
        f"{task}: {spread}Brown-Forsythe, corrected p {holm[1]}."
        for task in ("mean of tasks", "pos")
    ]


def test_a_verdict_of_ranks_is_told_as_one() -> None:
    """Dies if a file is better with an interval that holds 0, and nothing says why."""
    steady, outlying = (
        [0.900 + 0.0001 * k for k in range(20)],
        [0.897 + 0.0001 * k for k in range(20)],
    )
    outlying[7] = 0.95
    scores = {"a": {"pos": dict(enumerate(steady))}, "b": {"pos": dict(enumerate(outlying))}}
    line = next(data.sentences(judgement.judge("fixed", scores, RULES), RULES))
    assert line.startswith("a is better than b by the mean of tasks: difference of means 0.")
    assert "CI [-" in line
    assert line.endswith("is of ranks: the CI of the difference of means does not exclude 0.")


def test_what_failures_leave_is_shown_to_differ_in_nothing() -> None:
    """Dies if the seeds that did not diverge make a file's spread smaller, or JSON calls a file
    higher, or wider, that the sentences do not."""
    draw = np.random.default_rng(0)
    scores: dict[str, dict[str, dict[int, float | None]]] = {
        name: {
            task: {s: float(mean + sd * draw.normal()) for s in range(30)}
            for task in ("pos", "ner")
        }
        for name, mean, sd in (("fails", 0.9, 0.0005), ("wide", 0.9, 0.03), ("poor", 0.7, 0.0005))
    }
    whole = [*data.sentences(judgement.judge("fixed", scores, RULES), RULES)]
    assert any(
        line.startswith("pos: The spread differs: ") and "(fails)" in line for line in whole
    )
    scores["fails"]["pos"] |= dict.fromkeys(range(12))
    judged = _judged(2, {"svd": 0.8})._replace(modes=[judgement.judge("fixed", scores, RULES)])
    lines = [*data.sentences(judged.modes[0], RULES)]
    of_spread = [line.split(": ")[0] for line in lines if "spread" in line and "fails" in line]
    assert of_spread == ["ner"]
    [mode] = json.loads(as_json.write(judged))["modes"]
    by = {"means": mode["comparison_of_means"], "tasks": mode["comparison_by_task"]}
    shown = {
        (kind, pair["data_set"], pair["a"], pair["b"]): pair
        for kind, compared in by.items()
        for pair in compared["pairs"]
    }
    for (kind, task, *files), pair in shown.items():
        fails = "fails" in files and (kind == "means" or task == "pos")
        higher = files[0] if pair["shown"] > 0 else files[1]
        expected = not fails and "poor" in files
        assert (bool(pair["shown"]), higher != "poor" or not pair["shown"]) == (expected, True)
        assert bool(pair["wider"]) == (not fails and "wide" in files)


def test_a_lacking_interval_is_told_as_lacking(capsys: pytest.CaptureFixture) -> None:
    """Dies if too few seeds show an interval: NaN, one of width zero, a line in a figure."""
    judged = _judged(3, {"svd": 0.7, "a": 0.8})
    terminal.show(judged)
    shown = capsys.readouterr().out
    assert "fewer than 5 seeds" in shown and "nan" not in shown
    assert shown.split("relative error reduction")[1].splitlines()[2].endswith(" -")
    tree = json.loads(as_json.write(judged))["modes"][0]["relative_error_reduction"]["a"]["pos"]
    assert tree["interval"]["low"] is None and tree["interval"]["high"] is None
    drawn = figures.reductions(judged.modes[0], judged)
    assert [row[3:] for row in drawn.rows] == [("-", "-")] * 2 and "intervals" not in drawn.caption
    assert "nan" not in page.render(judged).split("</h2>")[1].split("<svg")[0]


def test_a_file_has_one_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if colours are by the order of scores, which differs from figure to figure."""
    judged = _judged(6, {"svd": 0.8, "a": 0.7, "b": 0.9})
    drawn: list[int] = []
    colour = plots.colour

    def recorded(number: int) -> str:
        drawn.append(number)
        return colour(number)

    monkeypatch.setattr(plots, "colour", recorded)
    figures.scores(judged.modes[0], judged)
    assert [*judged.modes[0].vectors] == ["b", "svd", "a"] and drawn == [2, 0, 1]
    drawn.clear()
    figures.reductions(judged.modes[0], judged)
    assert drawn == [2, 1, 2, 1]  # bars, then the legend


def test_a_training_of_two_files_is_counted_once() -> None:
    """Dies if files that are the same experiment are told as more trainings than there were."""
    row = MemberRow._make([""] * len(MemberRow._fields))
    rows = (row._replace(seed=1), row._replace(seed=2))
    cells = [data.Cell("fixed", "pos", name, rows) for name in ("a", "b")]
    assert data.cost(_judged(2, {"svd": 0.7})._replace(cells=cells)).startswith("2 trainings, ")


def test_programs_of_a_dry_run_are_a_table(capsys: pytest.CaptureFixture) -> None:
    """Dies if small tables are told as 0.0 MB, or a program has no row."""
    program = {"task": "pos", "mode": "fixed", "vectors": ["a", "b[1]"], "members": 4}
    terminal.show_plan([{**program, "word_tables_bytes": 13_107}], {"a": "x/a.txt"})
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["pos", "fixed", "a,", "b[1]", "4", "0.0125"]
    assert lines[2:] == ["a: x/a.txt", "4 trainings in 1 program"]


def test_letters_of_all_figures_have_one_size() -> None:
    """Dies if a figure of the page is scaled otherwise than another: to the width of its card, or
    as it is drawn wider than the page."""
    for files in (2, 9):
        judged = _judged(6, {"svd": 0.7, **{f"v{k}": 0.8 for k in range(1, files)}})
        html = page.render(judged)
        assert html.count('<figure class="wide">') == html.count("<figure") == 2
        assert "max-width: 100%; height: auto" in html and "figure svg { width" not in html
        mode = dataclasses.replace(judged.modes[0], tasks=("pos", "ner", "nli"))
        wide = dataclasses.replace(
            mode, scores={name: np.repeat(of, 3, axis=0) for name, of in mode.scores.items()}
        )
        metrics = dict.fromkeys(wide.tasks, "accuracy")
        drawn = figures.scores(wide, judged._replace(metrics=metrics))
        assert drawn.drawing.get_figwidth() == pytest.approx(
            figures.reductions(wide, judged).drawing.get_figwidth()
        )
