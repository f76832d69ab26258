"""Racing over items."""

import numpy as np
import pytest

from jaxeval import bandits
from jaxeval.bandits import racing
from jaxeval.errors import ConfigError

GENERATOR = np.random.default_rng(0)
ITEMS = GENERATOR.normal(size=300)
SCORES = {f"m{k}": ITEMS + 0.5 * k + 0.1 * GENERATOR.normal(size=300) for k in range(4)}


def test_halving_asks_for_its_budget_of_blocks() -> None:
    """Dies if a block counts as one answer: 4 x 30 blocks of 10, of which 40 are the budget."""
    race = racing.simulate(bandits.SequentialHalving(budget=40), SCORES, 10, repetitions=5)
    assert race.answers == pytest.approx(40 * 10 / (4 * 300))
    assert race.correct == 1.0


def test_all_models_answer_the_same_block() -> None:
    """Dies if blocks of the models differ: items spread far more than models do, so that means of
    other items would mislead."""
    close = {f"m{k}": ITEMS + 0.01 * k for k in range(4)}
    race = racing.simulate(bandits.SequentialHalving(budget=8), close, 10, repetitions=10)
    assert race.correct == 1.0


def test_lower_is_better() -> None:
    """Dies if the best model is taken to be that with the highest loss."""
    rule = bandits.SequentialHalving(budget=40, higher_is_better=False)
    assert racing.simulate(rule, SCORES, 10, repetitions=5).correct == 1.0


@pytest.mark.parametrize("block", [0, 101])
def test_too_few_blocks_are_an_error(block: int) -> None:
    """Dies if a race begins that cannot decide."""
    with pytest.raises(ConfigError, match="three blocks"):
        racing.simulate(bandits.SequentialHalving(budget=40), SCORES, block)
