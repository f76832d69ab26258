"""Scores of summed counts, and their items' values by the delta method."""

import numpy as np
import pytest

from jaxeval.runs import metrics

DRAW = np.random.default_rng(5)
GOLD = DRAW.integers(0, 5, 500)
PREDICTED = DRAW.integers(0, 5, 500)
SPANS = np.stack([DRAW.binomial(np.minimum(GOLD, PREDICTED), 0.8), PREDICTED, GOLD], axis=1)
CLASSES = np.eye(3)[DRAW.integers(0, 3, 500)]
SAID = np.where(DRAW.random((500, 1)) < 0.6, CLASSES, np.eye(3)[DRAW.integers(0, 3, 500)])
# right, predicted, gold of each class in turn
MACRO = np.stack([CLASSES * SAID, SAID, CLASSES], axis=-1).reshape(500, 9)
NATS = np.stack([DRAW.gamma(2.0, 3.0, 500), DRAW.integers(1, 9, 500)], axis=1)


def _perplexity(sums: np.ndarray) -> np.ndarray:
    return np.exp(metrics.ratio(sums))


def test_nothing_found_scores_0() -> None:
    """Dies if 0 / 0 is nan, a class that does not occur counts as found, or repairs are mixed."""
    assert metrics.f1(np.zeros(3)) == metrics.ratio(np.zeros(2)) == 0.0
    assert metrics._macro_f1(np.array([2.0, 2, 2, 0, 0, 0])) == 0.5
    for counts in ([0.0, 3, 2, 2, 2], [2.0, 2, 0, 3, 2]):  # the better of two repairs
        assert metrics._best_f1(np.array(counts)) == 1.0


def test_of_a_share_they_are_the_items_own() -> None:
    """Dies if right and wrong answers become other numbers than 1 and 0."""
    right = (DRAW.random(80) < 0.7).astype(float)
    values = metrics._delta_values(np.stack([right, np.ones(80)], axis=1), metrics.ratio)
    assert values.tolist() == right.tolist()  # as intervals of right and wrong answers need


@pytest.mark.parametrize(
    ("of", "score"), [(SPANS, metrics.f1), (MACRO, metrics._macro_f1), (NATS, _perplexity)]
)
def test_an_item_is_worth_what_the_score_loses_without_it(
    of: np.ndarray, score: metrics.Score
) -> None:
    """Dies if values are mirrored at their mean, of other items, or leave out what an item adds
    below the fraction line: the jackknife's, whose error is that of items drawn anew."""
    values, sums = metrics._delta_values(of, score), of.sum(0)
    assert values.mean() == pytest.approx(float(score(sums)), rel=1e-9)
    jackknife = score(sums) + 499 * (score(sums) - score(sums - of))
    # equal but for terms of 1 / N
    np.testing.assert_allclose(values, jackknife, atol=0.03 * np.ptp(values))
