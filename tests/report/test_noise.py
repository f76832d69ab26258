"""What a study of splits and seeds says, in words."""

import numpy as np
import pytest

from jaxeval.report import Document, Table
from jaxeval.report.noise import CrossedStudy, Noise
from jaxeval.stats import crossed
from jaxeval.stats.crossed import TrainingPlan

SCORES = 0.75 + np.array([[0.00, 0.04], [0.04, 0.04], [0.08, 0.10]])


def _said(scores: object, plan: TrainingPlan | None = None) -> Document:
    study = CrossedStudy(crossed.components(np.asarray(scores, float)), (), plan)
    return Noise("f1", "fraction", {"test": study}).document()


def test_a_study_in_words() -> None:
    """Dies if a number is not in percent, or is another component's; the table of test_crossed.

    The sds are the roots of 12, 4 / 3 and 2, the standard error that of 5, all in points.
    """
    found = _said(SCORES)
    mean, table, *notes = found.blocks
    assert str(mean).startswith(
        "f1 (%), 3 splits x 2 seeds: mean 80.00, standard error 2.24 over other splits and "
        "seeds, 95 % CI ["
    )
    assert isinstance(table, Table) and not notes
    assert [(name, sd, share) for name, sd, _, share in table.rows] == [
        ("split", "3.46", "78"),
        ("seed", "1.15", "9"),
        ("split x seed, error", "1.41", "13"),
        ("any run", "3.92", "100"),
    ]
    low, high = crossed.components(SCORES).components["split"].sd_interval[:2]
    assert table.rows[0][2] == f"[{100 * low:.2f}, {100 * high:.2f}]"
    assert found.answer == [
        "The variance of f1 is 78 % due to the split, 9 % due to the seed and 13 % due to both "
        "together (and error); no part is shown to be the largest."
    ]


def test_whose_the_variance_is_mirrors() -> None:
    """Dies if shares change places, or a negative estimate is shown as 0 without a word."""
    draw = np.random.default_rng(0)
    table = draw.normal(size=(12, 1)) + 0.05 * draw.normal(size=(12, 12))
    for scores, whose in ((table, "split"), (table.T, "seed")):
        (said,) = _said(scores).answer
        share = 100 * (crossed.components(scores).components[whose].share or 0)
        assert f"{share:.0f} % due to the {whose}" in said and share > 95
        assert said.endswith(f"; the part due to the {whose} is the largest.")
    note = _said([[1, 2, 3], [3, 1, 2], [2, 3, 1.1]]).blocks[-1]
    assert str(note).startswith("split and seed: the estimate of the variance is below 0")
    equal = _said(np.full((2, 2), 0.5))
    assert equal.blocks[-1] == "all runs have the same score"
    assert str(equal.blocks[0]).endswith(", no 95 % CI as the scores do not vary")


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (
            TrainingPlan(0.01, 74, 275),
            "within 1 point (half of a 95 % interval), train 74 runs, each with its own split and "
            "seed; 275 if the sd of a run is at the upper end of its interval.",
        ),
        (
            TrainingPlan(0.01, 8000, None),
            "train 8,000 runs, each with its own split and seed; over",
        ),
        (TrainingPlan(1e-6, None, None), "not even 10,000 runs are enough."),
    ],
)
def test_what_to_train(plan: TrainingPlan, said: str) -> None:
    """Dies if another number is named."""
    found = _said(SCORES, plan).answer[1]
    assert said in found and "of this study already reach" not in found


def test_a_study_that_is_precise_enough() -> None:
    """Dies if what was trained already is not said to suffice."""
    found = _said(SCORES, TrainingPlan(0.3, 3, 275)).answer[1]
    assert "The 6 runs of this study already reach " in found


def test_repeats_have_the_digits_of_their_spread() -> None:
    """Dies if an sd is rounded away, or splits are named that are none."""
    mean, table = _said([[[0.8, 0.80012], [0.8003, 0.80041], [0.7995, 0.79961]]]).blocks
    assert str(mean).startswith("f1 (%), 3 seeds x 2 runs: mean 79.9990, standard error 0.0234 ")
    assert "over other seeds, 95 % CI" in str(mean) and isinstance(table, Table)
    assert [row[0] for row in table.rows] == ["seed", "repeated runs", "any run"]
    assert (table.rows[1][1], table.rows[1][2]) == ("0.0080", "[0.0045, 0.0299]")


def test_whether_seeds_or_repeats_differ_by_more_mirrors() -> None:
    """Dies if the larger sd is the other one's, or is named where the intervals overlap."""
    draw = np.random.default_rng(0)
    wide, thin = draw.normal(size=(1, 30, 1)), 0.01 * draw.normal(size=(1, 30, 8))
    for rows, said in (
        (wide + thin, "the part due to the seed is the largest."),
        (0.01 * wide + 100 * thin, "the part due to repeated runs is the largest."),
        ([[[1.0, 2.0], [2.5, 3.1], [0.4, 2.2]]], "no part is shown to be the largest."),
        (wide[..., [0, 0]], "The same seed gave the same f1 bit for bit: only the seed changes"),
    ):
        assert said in _said(rows).answer[0]
