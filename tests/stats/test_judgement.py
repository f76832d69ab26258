"""Vectors judged by scores that were made up: order, groups, reductions, what is left out."""

import csv
from pathlib import Path

import numpy as np
import pytest

from jaxeval import stats
from jaxeval.errors import DataError
from jaxeval.report.judgement import data
from jaxeval.stats import judgement
from jaxeval.stats.rules import Rules

RULES = Rules(resamples=200)
MEANS = {"good": [0.9, 0.8], "like": [0.9, 0.8], "poor": [0.7, 0.4]}


def _scores(seeds: int = 8, sd: float = 0.005) -> dict[str, dict[str, dict[int, float | None]]]:
    draw = np.random.default_rng(3)
    return {
        name: {
            task: {seed: float(mean + sd * draw.normal()) for seed in range(1, seeds + 1)}
            for task, mean in zip(("ner", "pos"), means, strict=True)
        }
        for name, means in MEANS.items()
    }


def test_what_differs_is_told_apart_and_the_rest_tied() -> None:
    """Dies if files are ranked by noise, a verdict points the wrong way, or a task's verdict is
    that of the mean."""
    scores = _scores()
    scores["like"]["pos"] = {seed: value - 0.05 for seed, value in scores["like"]["pos"].items()}
    scores["like"]["ner"] = {seed: value + 0.05 for seed, value in scores["like"]["ner"].items()}
    judged = judgement.judge("fixed", scores, RULES, "poor")
    assert judged.vectors[2] == "poor" and judged.tasks == ("ner", "pos")
    mean, ner, pos = judged.placed
    assert mean.task == judgement.MEAN and {*map(frozenset, mean.groups)} == {
        frozenset({"good", "like"}),
        frozenset({"poor"}),
    }
    assert {*judgement.told_apart(judged)} == {("good", "poor"), ("like", "poor")}
    assert ("like", "good") in judgement.told_apart(judged, "ner")
    assert ("good", "like") in judgement.told_apart(judged, "pos")
    assert (ner.groups[0], pos.groups[0]) == (("like",), ("good",))
    assert mean.detectable is not None and 0 < mean.detectable < 0.05
    np.testing.assert_allclose(
        [effect.estimate for effect in judged.reductions["good"]],
        [2 / 3, 2 / 3, 2 / 3],
        atol=0.05,
    )
    assert {*judged.reductions} == {"good", "like"}


def test_no_file_is_better_by_a_mean_that_is_lower() -> None:
    """Dies if nine of ten seeds call a file better whose mean one failed seed puts below."""
    failed = [0.801 + 0.002 * k for k in range(9)] + [0.3]
    steady = [0.790 + 0.001 * k for k in range(10)]
    scores = {name: {"ner": dict(enumerate(of))} for name, of in (("f", failed), ("s", steady))}
    judged = judgement.judge("fixed", scores, RULES)
    assert judged.vectors == ("s", "f") and np.mean(failed) < np.mean(steady)
    assert stats.brunner_munzel(failed, steady).p_value < 0.01
    assert judgement.told_apart(judged) == judgement.told_apart(judged, "ner") == []
    assert judgement.disagreeing(judged) == [("f", "s", ("mean",))]
    assert judged.placed[0].groups == (("s", "f"),)
    lines = " ".join(data.sentences(judged, RULES))
    assert "Brunner-Munzel finds f's scores higher, but by the mean, s's are" in lines
    assert "is better than" not in lines


def test_seeds_without_all_scores_are_left_out() -> None:
    """Dies if a mean over tasks is of other seeds for one file than for another."""
    scores = _scores()
    del scores["poor"]["pos"][3]
    judged = judgement.judge("fixed", scores, RULES)
    assert judged.seeds == (1, 2, 4, 5, 6, 7, 8) and judged.reductions == {}
    assert judged.scores["good"].shape == (2, 7)
    assert judged.notes[1] == "seeds left out of all files, as one has no score: 3"


def test_a_file_that_failed_is_not_called_better() -> None:
    """Dies if the seeds that did not diverge make a file the better one, a failure is not told, or
    what is better than a file that failed is no longer called so."""
    scores = {name: dict(tasks) for name, tasks in _scores(12).items()}
    whole = judgement.judge("fixed", scores, RULES)
    assert {("good", "poor"), ("like", "poor")} == {*judgement.told_apart(whole)}
    scores["good"]["pos"] = scores["good"]["pos"] | dict.fromkeys(range(1, 7))
    judged = judgement.judge("fixed", scores, RULES)
    assert judged.failed == {"good": {"pos": 6}} and judged.seeds == tuple(range(7, 13))
    assert judged.notes[0].startswith(
        "good: trainings without a score, as they diverged or failed"
    )
    assert "6 of 12 on pos; it is not called better there or by" in judged.notes[0]
    assert judgement.told_apart(judged) == [("like", "poor")]
    assert ("good", "poor") not in judgement.told_apart(judged, "pos")
    assert ("good", "poor") in judgement.told_apart(judged, "ner")
    assert any({"good", "poor"} <= {*group} for group in judged.placed[0].groups)
    scores["poor"]["ner"] = scores["poor"]["ner"] | {12: None}
    assert ("like", "poor") in judgement.told_apart(judgement.judge("fixed", scores, RULES))


def test_a_seed_with_which_all_fail_is_told() -> None:
    """Dies if a failure that all share goes unsaid, or that of every seed is not explained."""
    alone = {"good": {"pos": {1: 0.8, 2: None}}}
    judged = judgement.judge("fixed", alone, RULES)
    assert judged.failed == {"good": {"pos": 1}} and judged.seeds == (1,)
    assert judged.notes[0].endswith("1 of 2 on pos")  # nothing else could be called better
    said = (
        r"no seed .*; good: .*diverged or failed: 2 of 2 on pos; leave out the file, or the task "
    )
    with pytest.raises(DataError, match=f"{said}with --tasks$"):
        judgement.judge("fixed", {"good": {"pos": {1: None, 2: None}}}, RULES)


def test_documented_flags_undo_the_first_two_differences() -> None:
    """Dies if the command that scores and pads as the original follows other differences."""
    page = (Path(__file__).parents[2] / "docs/judging_vectors.md").read_text()
    listed = page.split("Other than published, on purpose:")[1].split("The first two can be had")[
        0
    ]
    first, second, *_ = [item.strip() for item in listed.split("\n* ")[1:]]
    assert "last epoch" in first and second.startswith("padding is masked; entities are scored")


def test_one_file_or_one_seed_is_shown_without_a_verdict() -> None:
    """Dies if nothing to compare is an error, or a verdict comes from one score."""
    alone = {"good": _scores()["good"]}
    assert judgement.judge("fixed", alone, RULES).placed == ()
    few = judgement.judge("fixed", _scores(seeds=1), RULES, "poor")
    assert few.placed == () and np.isnan(few.reductions["good"][0].interval.low)
    assert few.notes == ("fewer than 5 seeds: no interval of the error reductions",)
    two = judgement.judge("fixed", _scores(seeds=2), RULES)
    assert two.placed[0].groups == (two.vectors,)  # too few for a conclusion
    assert two.placed[0].detectable is None


def test_a_task_without_an_interval_is_named() -> None:
    """Dies if a missing interval is not explained, or the other reductions lack theirs."""
    scores = _scores()
    for seed in scores["good"]["pos"]:
        scores["good"]["pos"][seed] = 1.0
    judged = judgement.judge("fixed", scores, RULES, "poor")
    assert judged.notes == ("no error is left: no interval of the error reduction of good (pos)",)
    missing = [np.isnan(effect.interval.low) for effect in judged.reductions["good"]]
    assert missing == [task == "pos" for task in (*judged.reduced, "mean")]


def test_what_cannot_be_judged_is_refused() -> None:
    """Dies if a baseline that is not there, or without errors, gives a number, or one task without
    errors takes the reductions of the others."""
    with pytest.raises(DataError, match="no baseline 'svd' among good, like, poor"):
        judgement.judge("fixed", _scores(), RULES, "svd")
    scores = _scores()
    for seed in scores["poor"]["pos"]:
        scores["poor"]["pos"][seed] = 1.0
    judged = judgement.judge("fixed", scores, RULES, "poor")
    without = {name: {"ner": tasks["ner"]} for name, tasks in scores.items()}
    expected = judgement.judge("fixed", without, RULES, "poor").reductions
    assert judged.reduced == ("ner",) and judged.reductions == expected
    assert judged.notes[-1] == (
        "poor makes no error in pos: there is none to reduce; means of reductions are over ner"
    )
    scores["poor"]["ner"] = scores["poor"]["pos"]
    judged = judgement.judge("fixed", scores, RULES, "poor")
    assert judged.reductions == {} and judged.notes[-1].endswith("there is none to reduce")
    for by_task in scores.values():
        by_task["ner"] = {}
    with pytest.raises(DataError, match="no seed with which all"):
        judgement.judge("fixed", scores, RULES)


@pytest.mark.parametrize(("mode", "head"), [("fixed", "Vectors fixed"), ("tuned", "Fine-tuned")])
def test_documented_ties_are_those_of_the_scores(mode: str, head: str) -> None:
    """Dies if a table of docs/judging_vectors.md has other tie groups than its scores."""
    folder = Path(__file__).parents[2]
    scores: dict[str, dict[str, dict[int, float | None]]] = {}
    with (folder / "benchmarks/results/vectors_judged.csv").open() as table:
        for row in csv.DictReader(table):
            if row["mode"] == mode:
                tasks = scores.setdefault(row["vectors"], {})
                tasks.setdefault(row["dataset"], {})[int(row["seed"])] = float(row["score"])
    page = (folder / "docs/judging_vectors.md").read_text().split(f"**{head}.**")[1]
    rows = (line.strip("| ").split(" | ") for line in page.split("\n\n")[1].split("\n")[2:])
    documented = {
        row[0].split("`")[1] if "`" in row[0] else judgement.MEAN: {
            frozenset(group.split(" = ")) for group in row[-1].split("; ")
        }
        for row in rows
    }
    placed = judgement.judge(mode, scores, RULES).placed
    assert documented == {of.task: {*map(frozenset, of.groups)} for of in placed}
