"""The leaderboard's page, its boards and its JSON."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from jaxeval.compare import __main__ as compare
from jaxeval.errors import ConfigError
from jaxeval.report.items import boards, page
from jaxeval.runs.item_scores import Paired, TaskScores
from jaxeval.stats.items import leaderboard
from jaxeval.stats.items import study as studies
from jaxeval.stats.items.study import ItemStudy
from jaxeval.stats.power import t_test_power
from tests.runs.logs import models

SKILLS = {"good": 1.5, "fair": 1.4, "poor": -1.0}
HOSTILE = "<script>alert(1)</script>$x$"


def _study(*metrics: str, names: tuple[str, ...] = tuple(SKILLS), **rules: Any) -> ItemStudy:
    """Three models in three runs on 60 items of a task for each metric."""
    draw = np.random.default_rng(0)
    tasks = []
    for number, metric in enumerate(metrics):
        hard = draw.normal(size=(60, 1, 1))
        scores = {
            name: (hard + draw.normal(size=(60, 3, 1)) < skill).astype(float)
            for name, skill in zip(names, SKILLS.values(), strict=True)
        }
        items = tuple(map(str, range(60)))
        tasks.append(TaskScores(f"task{number}", metric, True, items, scores))
    return studies.study(Paired(names, tuple(tasks)), studies.Rules(resamples=199, **rules))


def test_boards_are_those_of_the_study() -> None:
    """Dies if a board's mean, order or pairs are of other models, if ties contradict the pairs, or
    if a beaten model counts as unbeaten."""
    study = _study("acc", "acc")
    board = leaderboard.of(study)
    assert board.overall is not None and [each.task for each in board.tasks] == ["task0", "task1"]
    for each in (board.overall, *board.tasks):
        of_tasks = [task for task in study.tasks if each.task in (None, task.task)]
        for row in each.rows:
            mean = np.mean([task.scores[row.model].mean() for task in of_tasks])
            assert row.mean.value == pytest.approx(mean) == pytest.approx(row.place.mean)
            assert row.mean.interval.low < mean < row.mean.interval.high
        assert each.rows[-1].model == "poor" and each.rows[-1].beaten
        assert not each.rows[0].beaten and (each.rows[-1].place.low, each.rows[-1].place.high) == (
            3,
            3,
        )
        assert set(each.told_apart) == {("good", "poor"), ("fair", "poor")}
        for row in each.rows:
            sides = [sum(pair[side] == row.model for pair in each.told_apart) for side in (1, 0)]
            assert (row.place.low, row.place.high) == (1 + sides[0], 3 - sides[1])
        of = {row.model: set(row.groups) for row in each.rows}
        assert of["good"] & of["fair"] and not of["good"] & of["poor"]


def test_detectable_difference_has_the_power_that_is_said() -> None:
    """Dies if the level is not corrected, or the pair of the narrowest interval counts as that
    known best whatever its degrees of freedom: at the ends the power of t tests of all pairs is at
    most, and at least, .8."""
    study = _study("acc", "acc")
    board = leaderboard.of(study).tasks[0]
    level = 0.05 / len(study.pairs)
    differences = [pair.difference for pair in study.pairs if pair.task.task == "task0"]
    for end, extreme in zip(board.detectable[:2], (max, min), strict=True):
        powers = []
        for of in differences:
            low, high, *_ = of.interval
            error = (high - low) / 2 / stats.t.ppf(0.975, of.df)
            assert end is not None
            powers.append(t_test_power(end / error, of.df, level))
        assert extreme(powers) == pytest.approx(0.8, abs=1e-4)


def test_copies_of_a_model_do_not_hide_what_can_be_detected() -> None:
    """Dies if a pair without spread, two names of one model, says that nothing can be shown."""
    draw = np.random.default_rng(0)
    item = draw.normal(size=(60, 1, 1))
    scores = {"a": item, "copy": item, "b": item + 0.3 * draw.normal(size=(60, 1, 1))}
    task = TaskScores("t", "score", True, tuple(map(str, range(60))), scores)
    study = studies.study(Paired(tuple(scores), (task,)), studies.Rules(resamples=99))
    board = leaderboard.of(study).tasks[0]
    assert board.detectable.smallest is not None and board.detectable.largest is None
    html = page.render(study)
    assert "known best a difference of" in html and "however large" not in html
    reason = "not known, as the scores of two models always differ by the same."
    assert f"; of other pairs what difference is shown is {reason}" in html


@pytest.mark.parametrize("gap", [0.0, 0.5])
def test_two_models_that_always_differ_by_the_same(gap: float) -> None:
    """Dies if scores that vary over items are said not to vary."""
    item = np.random.default_rng(0).normal(size=(60, 1, 1))
    items, scores = (
        tuple(map(str, range(60))),
        {"a": np.round(item, 1), "b": np.round(item, 1) + gap},
    )
    task = TaskScores("t", "score", True, items, scores)
    study = studies.study(Paired(tuple(scores), (task,)), studies.Rules(resamples=99))
    assert boards.detectable(leaderboard.of(study).tasks[0], study) == (
        "t, score: what difference is shown is not known, as the scores of two models always "
        "differ by the same."
    )


def test_too_few_runs_are_the_reason_where_none_can_be_shown() -> None:
    """Dies if scores that vary are called scores without spread, where two runs of each
    leave too few degrees of freedom."""
    draw = np.random.default_rng(0)
    items = tuple(map(str, range(40)))
    scores = {f"m{k}": draw.normal(size=(40, 2, 1)) + draw.normal(size=2)[:, None] for k in "ab"}
    task = TaskScores("t", "score", True, items, scores)
    rules = studies.Rules(over=("runs",), alpha=1e-5, resamples=99)
    study = studies.study(Paired(tuple(scores), (task,)), rules)
    board = leaderboard.of(study).tasks[0]
    assert board.detectable == (None, None, True, False)
    assert boards.detectable(board, study) == (
        "t, score: no difference, however large, is shown with so few runs or items."
    )


def test_many_models_are_in_tables_not_in_sentences() -> None:
    """Dies if the page picks the first six pairs of many, or lists the ties of many by name."""
    draw = np.random.default_rng(0)
    scores = {f"m{k}": draw.normal(size=(30, 1, 1)) for k in range(9)}
    tasks = [TaskScores(t, "score", True, tuple(map(str, range(30))), scores) for t in "ab"]
    html = page.render(studies.study(Paired(tuple(scores), tuple(tasks)), studies.Rules()))
    assert "Mean over these" not in html and "Not told apart: m" not in html
    said = page.render(_study("acc", "acc"))
    assert "Mean over these 2 tasks" in said and "Not told apart: good and fair" in said


def test_names_and_captions_fit_a_phone() -> None:
    """Dies if a caption is cut with its table, or a name without a blank widens the page."""
    html = page.render(_study("acc", "acc", names=("x" * 90, "fair", "poor")))
    assert re.search(r"<p class=\"soft\">Means with 95 % intervals; ranks: ", html)
    assert not re.search(r"class=\"scroll\"><table>\s*<caption", html)
    breaking = re.search(r"([^{}]*)\{ overflow-wrap: anywhere; \}", html)
    assert breaking and {"h2", "h3", "p", "li"} <= {*re.split(r"[,\s]+", breaking[1])}


def test_unequal_metrics_have_no_common_order() -> None:
    """Dies if tasks of two metrics are averaged, or models ordered over them."""
    study = _study("acc", "bleu")
    assert leaderboard.of(study).overall is None
    html = page.render(study)
    assert "no order over tasks" in html and "No mean over tasks" in html
    assert "Mean over tasks, " not in html


def test_the_page_opens_offline_and_escapes_names() -> None:
    """Dies if a name is markup, if the page asks for anything outside, or lacks a warning."""
    html = page.render(_study("acc", names=(HOSTILE, "fair", "poor"), over=("items",)))
    assert "<script" not in html and "&lt;script&gt;alert(1)" in html
    assert not re.search(r"(?:src|href)=\"(?!#)", html)
    assert re.search(r"\[\d+\.\d+, \d+\.\d+\]", html) and "60" in html
    few = _study("acc")
    answers = few.tasks[0].scores["good"][:20, :1]
    task = TaskScores(
        "t", "acc", True, tuple(map(str, range(20))), {"a": answers, "b": 1 - answers}
    )
    said = page.render(studies.study(Paired(("a", "b"), (task,)), studies.Rules(resamples=99)))
    assert "says nothing of other runs" in said and "Only 20 items" in said


def test_the_verb_writes_page_and_json(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if --html writes nothing, or the JSON's board is not that of the page."""
    folder = models.logs(tmp_path / "logs", {"new": 0.8, "old": 0.0, "mid": 0.3})
    html, tree = tmp_path / "out" / "board.html", tmp_path / "out.json"
    words = ["--log", str(folder), "--html", str(html), "--json", str(tree), "--resamples", "99"]
    assert compare.main(words) == 0
    (board,) = json.loads(tree.read_text())["leaderboard"]["tasks"]
    text = html.read_text()
    assert board["rows"][0]["model"] == "new"
    for row in board["rows"]:
        assert f"{100 * row['mean']['value']:.2f} [" in text
    with pytest.raises(ConfigError, match="--html: expected with --log"):
        compare.main(["a", "b", "--table", "x.csv", "--html", "y.html"])
