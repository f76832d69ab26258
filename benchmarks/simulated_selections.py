"""Runs many selections on recorded or drawn scores: what a rule costs, how often it errs."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.bandits import posterior, running
from jaxeval.bandits.confidence import Confident
from jaxeval.bandits.posterior import Moments
from jaxeval.bandits.rules import CONFIDENT, SPENT, Answer, Rule, first_of
from jaxeval.bandits.running import Replay
from jaxeval.stats import Sample, sample


class Mean(NamedTuple):
    """A mean over repetitions and its standard error."""

    value: float
    standard_error: float


@dataclasses.dataclass(frozen=True)
class Simulation:
    """The results of many replays of one rule, an entry a repetition."""

    evaluations: np.ndarray  # [R] int
    best: tuple[str, ...]
    correct: np.ndarray  # [R] bool: a model with the highest recorded mean was found
    reasons: tuple[str, ...]
    recorded_best: tuple[str, ...]  # models with the highest mean: several if they tie

    @property
    def mean_evaluations(self) -> Mean:
        """Mean number of evaluations, and its standard error."""
        return _mean(self.evaluations)

    @property
    def share_correct(self) -> Mean:
        """Share of repetitions that found the best model, and its standard error."""
        return _mean(self.correct)


def _mean(values: np.ndarray) -> Mean:
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
    return Mean(float(np.mean(values)), spread / math.sqrt(len(values)))


def simulate(
    rule: Rule, scores: Mapping[str, Sample], *, repetitions: int = 500, seed: int = 0
) -> Simulation:
    """Runs a rule many times on recorded scores; repetition r has seed + r for all its draws.

    Rules with a delta run side by side; each repetition gives what `select` would.

    Raises:
      DataError: recorded scores that are not finite, or too few.
    """
    seeds = range(seed, seed + repetitions)
    arrays = {name: sample(values, name) for name, values in scores.items()}
    replays = [Replay(arrays, k) for k in seeds]
    if isinstance(rule, Confident) and rule.delta is not None:
        answers = trials(rule, [*scores], replays, seeds, [*replays[0].most.values()])
    else:
        rules = [dataclasses.replace(rule, seed=k) for k in seeds]
        answers = [running.select(*pair)[1] for pair in zip(rules, replays, strict=True)]
    means = np.array([posterior.mean(rule.signed(values)) for values in arrays.values()])
    best = [name for name, top in zip(scores, posterior.highest(means), strict=True) if top]
    return Simulation(
        np.array([answer.evaluations for answer in answers]),
        tuple(answer.best for answer in answers),
        np.array([answer.best in best for answer in answers]),
        tuple(answer.reason for answer in answers),
        tuple(best),
    )


def trials(
    rule: Confident,
    models: Sequence[str],
    evaluators: Sequence[Callable[[str, int], float]],
    seeds: Sequence[int],
    most: Sequence[float] | None = None,
) -> list[Answer]:
    """Runs selections by a rule with a delta side by side, a batch at a time.

    Args:
      evaluators, seeds: [R] the source of each selection's scores, and the seed of its draws.
      most: evaluations that each model can have; None: any number.
    """
    rule.begin(models)  # refuses what cannot be selected from
    limits = np.array([math.inf] * len(models) if most is None else most)
    rules = [dataclasses.replace(rule, seed=seed) for seed in seeds]
    counts, means, squares = np.zeros((3, len(rules), len(models)))

    def add(r: int, k: int) -> None:
        """Evaluates a model, and updates its moments (Welford 1962)."""
        new = rule.signed([evaluators[r](models[k], int(counts[r, k]) + 1)])[0]
        counts[r, k] += 1
        gap = new - means[r, k]
        means[r, k] += gap / counts[r, k]
        squares[r, k] += gap * (new - means[r, k])

    active, answers = np.arange(len(rules)), dict[int, Answer]()
    places = np.tile(np.repeat(np.arange(len(models)), rule.initial), (len(rules), 1))
    while True:
        for r, row in zip(active, places, strict=True):
            for k in row[row >= 0]:
                add(r, k)
        if not len(active):
            return [answers[r] for r in range(len(rules))]
        moments = Moments(counts[active], means[active], squares[active] / counts[active])
        spent = moments.counts.sum(axis=1).astype(int)
        decision = rule.decide(moments, spent)
        uniforms = [rules[r].uniforms(step) for r, step in zip(active, spent, strict=True)]
        places = _places(rule, moments, decision.probabilities, np.stack(uniforms))
        planned = moments.counts + np.sum(places[..., None] == np.arange(len(models)), axis=1)
        going = ~(decision.sure | decision.spent)
        for row in np.flatnonzero(~going | (planned > limits).any(axis=1)):
            lacking = int(np.argmax(planned[row] > limits))
            reason = CONFIDENT if decision.sure[row] else SPENT
            if going[row]:
                reason = running.spent(models[lacking], limits[lacking])
            leads = [models[k] for k in np.flatnonzero(decision.leads[row])]
            known, best = decision.known[row], np.argmax(decision.leads[row])
            probability = float(decision.probabilities[row, best]) if known else None
            answers[active[row]] = first_of(leads, reason, int(spent[row]), probability)
            going[row] = False
        active, places = active[going], places[going]


def _places(
    rule: Confident, moments: Moments, probabilities: np.ndarray, uniforms: np.ndarray
) -> np.ndarray:
    """Returns indices of the models to evaluate next [R, slots]; -1 is an empty slot.

    Args:
      uniforms: [R, batch_size, 3].
    """
    models = moments.counts.shape[1]
    places = rule.choose(moments, probabilities, np.zeros_like(probabilities), uniforms)
    lacking = rule.required(moments) > moments.counts
    slots = max(models, places.shape[1])
    required, chosen = (
        np.pad(each, ((0, 0), (0, slots - each.shape[1])), constant_values=-1)
        for each in (np.where(lacking, np.arange(models), -1), places)
    )
    places = np.where(lacking.any(axis=1, keepdims=True), required, chosen)
    left = math.inf if rule.budget is None else rule.budget - moments.counts.sum(axis=1)
    order = np.cumsum(places >= 0, axis=1)
    return np.where(order <= np.reshape(left, (-1, 1)), places, -1)
