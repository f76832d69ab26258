"""Racing over items: which model is best, without every model answering every item.

An evaluation of a model is its mean score on the next block of items; the k-th evaluations of all
models answer the same block, in an order drawn at random. Any rule of `rules` decides which models
answer further blocks, so that a model that cannot be the best any more is asked no more.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from jaxeval.bandits import simulation
from jaxeval.bandits.blocks import Blocks
from jaxeval.bandits.rules import Rule
from jaxeval.errors import DataError
from jaxeval.stats.results import sample


class Race(NamedTuple):
    """What many races came to.

    Attributes:
      answers: share of all answers (models x items) that were asked for, on average.
      correct: share of the races that found a model with the highest mean over all items.
    """

    answers: float
    correct: float


def simulate(
    rule: Rule,
    scores: Mapping[str, np.ndarray],
    block: int,
    *,
    repetitions: int = 200,
    seed: int = 0,
) -> Race:
    """Races of models that were scored on all items already: what racing would have saved.

    Args:
      scores: model -> [I], the same items in the same order; of several runs their mean.
      block: items of an evaluation; those that are left over are not asked for.

    Raises:
      DataError: different numbers of items; ConfigError: fewer than three blocks.
    """
    values = {model: sample(of_model, model) for model, of_model in scores.items()}
    counts = {len(of_model) for of_model in values.values()}
    if len(counts) != 1:
        raise DataError(f"race: expected the same items of all models, found {sorted(counts)}")
    items = counts.pop()
    best = simulation.of_highest_mean(rule, values)
    answered, right = [], []
    for repetition in range(repetitions):
        order = Blocks(items, block, seed + repetition).order()
        blocks = {model: of_model[order].mean(axis=1) for model, of_model in values.items()}
        race = simulation.simulate(
            rule, blocks, repetitions=1, pairing="kept", seed=seed + repetition
        )
        answered.append(int(race.evaluations[0]) * block / (len(values) * items))
        right.append(race.best[0] in best)
    return Race(float(np.mean(answered)), float(np.mean(right)))
