"""What a study of splits and seeds says, in words."""

import dataclasses
import itertools

import numpy as np
import pytest

from jaxeval.report import crossed as report
from jaxeval.report import scores
from jaxeval.runs import tables
from jaxeval.runs.imported import Columns
from jaxeval.runs.layout import Layout
from jaxeval.stats import crossed
from jaxeval.stats.designs import TrainingDesign, TrainingPlan

STUDY = crossed.components(0.75 + np.array([[0.00, 0.04], [0.04, 0.04], [0.08, 0.10]]))
SCALE = scores.scale("fraction", [0.01], 0.75)
OWN = TrainingDesign("independent", 74, 74, 74, 74.0, 0.00994)
NESTED = TrainingDesign("nested", 20, 80, 80, 120.0, 0.00999)
CROSSED = TrainingDesign("crossed", 43, 58, 2494, 2494.0, 0.00999)


def test_a_study_in_words() -> None:
    """Dies if a number is not in percent, or is another component's; the table of test_crossed.

    The sds are the roots of 12, 4 / 3 and 2, the standard error that of 5, all in points.
    """
    assert report.mean(STUDY, "test f1", SCALE).startswith(
        "test f1 (%), 3 splits x 2 seeds: mean 80.00, standard error 2.24 over other splits and "
        "seeds, 95 % CI ["
    )
    rows = report.rows(STUDY, SCALE)
    assert [(name, sd, share) for name, sd, _, share in rows] == [
        ("split", "3.46", "78"),
        ("seed", "1.15", "9"),
        ("split x seed, error", "1.41", "13"),
        ("any run", "3.92", "100"),
    ]
    low, high = STUDY.components["split"].sd_interval[:2]
    assert rows[0][2] == f"[{100 * low:.2f}, {100 * high:.2f}]"
    assert report.notes(STUDY) == []


def test_whose_the_variance_is_mirrors() -> None:
    """Dies if shares change places, or a part whose interval meets another's is the largest."""
    assert report.sentence(STUDY, "test f1") == (
        "Of the variance of test f1 78 % is the split's, 9 % is the seed's and 13 % is of both "
        "together (and the error's); no part is shown to be the largest."
    )
    draw = np.random.default_rng(0)
    table = draw.normal(size=(12, 1)) + 0.05 * draw.normal(size=(12, 12))
    for scores_of, whose in ((table, "split"), (table.T, "seed")):
        study = crossed.components(scores_of)
        said = report.sentence(study, "f1")
        share = 100 * (study.components[whose].share or 0)
        assert f"{share:.0f} % is the {whose}'s" in said and share > 95
        assert said.endswith(f"; what is the {whose}'s is the largest part.")
    equal = report.sentence(crossed.components(np.full((2, 2), 0.5)), "f1")
    assert equal.startswith("All runs have the same f1")


def test_what_is_0_is_explained() -> None:
    """Dies if a negative estimate is shown as 0 without a word."""
    study = crossed.components([[1, 2, 3], [3, 1, 2], [2, 3, 1.1]])
    (note,) = report.notes(study)
    assert note.startswith("split and seed: the variance is estimated as below 0, shown as 0")
    equal = crossed.components(np.full((2, 2), 0.5))
    assert report.notes(equal) == ["all runs have the same score"]
    assert report.mean(equal, "f1", SCALE).endswith(", no 95 % CI as the scores do not vary")
    assert {interval for _, _, interval, _ in report.rows(equal, SCALE)} == {"-"}


@pytest.mark.parametrize(
    ("designs", "cautious", "bought"),
    [
        (
            (OWN, CROSSED),
            275,
            "train 74 runs, each with its own split and seed; crossed it would be 43 splits x 58 "
            "seeds, 2494 runs. Should the sd of a run be at the upper end of its interval, 275 "
            "runs, each with its own split and seed, are needed.",
        ),
        (
            (NESTED, OWN),
            None,
            "train 20 splits with 4 new seeds each, 80 runs; crossed it would be more than "
            "10,000 runs. Should the sd of a run be at the upper end of its interval, over 10,000 "
            "runs, each with its own split and seed, are needed.",
        ),
    ],
)
def test_the_sentence(
    designs: tuple[TrainingDesign, ...], cautious: int | None, bought: str
) -> None:
    """Dies if the sentence names another design than the cheapest, or forgets the doubt."""
    said = report.advice(STUDY, TrainingPlan(0.01, 0.0, designs, cautious), "test f1", SCALE)
    assert said == f"For a mean test f1 within 1 point (half of a 95 % interval), {bought}"


def test_a_precision_that_is_reached_or_out_of_reach() -> None:
    """Dies if runs are sold to one who has enough, or to one who can never have it."""
    plan = TrainingPlan(0.2, 0.0, (OWN,), 80)
    half = 100 * (STUDY.mean_interval.high - STUDY.mean)
    said = report.advice(STUDY, plan, "f1", SCALE)
    assert said.endswith(f"The 6 runs of this study reach {half:.2f} points already.")
    said = report.advice(STUDY, TrainingPlan(1e-6, 0.0, (), None), "f1", SCALE)
    assert said.endswith("no design of up to 10,000 runs is enough.")


def test_costs_are_shown_where_there_are_any() -> None:
    """Dies if a cost that is a number of runs makes a column of its own, or is lost."""
    plan = TrainingPlan(0.01, 2.0, (NESTED, OWN), None)
    head, rows = report.plan_table(plan, SCALE)
    assert head == ["design", "splits", "seeds", "runs", "cost", "half-width"]
    assert rows[0] == ("each split its own seeds", "20", "80", "80", "120", "1.00")
    head, rows = report.plan_table(dataclasses.replace(plan, split_cost=0.0), SCALE)
    assert "cost" not in head and {len(row) for row in rows} == {len(head)}


@pytest.mark.parametrize(("score", "unit"), [(0.75, "fraction"), (75.0, "number")])
def test_the_unit_of_a_table(score: float, unit: str) -> None:
    """Dies if percentages are multiplied by 100 again."""
    cells = list(itertools.product("12", "12"))
    columns = {
        "model": ["a"] * 4,
        "split": [split for split, _ in cells],
        "seed": [seed for _, seed in cells],
        "f1": [score] * 4,
    }
    table = tables.of_columns(
        Columns("scores", columns, range(1, 5)), Layout(columns={"score": "f1"})
    )
    assert table.stored_unit == unit
