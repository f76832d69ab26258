"""Rules that stop as soon as one model is the best with probability 1 - delta."""

import abc
import dataclasses
import math
from typing import NamedTuple

import numpy as np

from jaxeval.bandits import posterior
from jaxeval.bandits.posterior import Moments
from jaxeval.bandits.rules import CONFIDENT, SPENT, Answer, Rule, State, first_of, missing
from jaxeval.errors import ConfigError

_Array = np.ndarray
_AS_PROBABLE = 1e-6  # probabilities nearer than this are equal: they are good to 1e-7
# evaluations of equal scores, after which two models count as one: with different scores, or with
# any, since models that are nearly always right have few different ones
_EQUAL, _ALIKE = 20, 200
_TINY = 1e-300  # so that a challenger exists when the leader is certain


class _Decision(NamedTuple):
    """Decision of each selection [...] to end, and the probabilities [..., N] behind it."""

    known: _Array  # the scores give every model a posterior
    sure: _Array
    spent: _Array
    leads: _Array  # [..., N] the highest means among the most probable models
    probabilities: _Array


@dataclasses.dataclass(frozen=True, kw_only=True)
class Confident(Rule):
    """Base of the fixed-confidence rules; ConfigError if a rule would never end."""

    delta: float | None = 0.05  # stops at a probability of 1 - delta; None: never
    budget: int | None = None  # most evaluations in all
    batch_size: int = 1  # evaluations under way at once

    def __post_init__(self) -> None:
        if self.delta is None and self.budget is None:
            raise ConfigError("delta, budget: expected one or both, or the selection never ends")

    @property
    def initial(self) -> int:
        """Evaluations of each model before anything is decided."""
        return posterior.FEWEST

    def least(self, models: int) -> int:
        """Returns the number of the first evaluations."""
        return self.initial * models

    def at_once(self, models: int) -> int:
        """Returns the size of a batch, all of which may be of one model."""
        return self.batch_size

    def moments(self, state: State) -> Moments:
        """Computes the moments of the models that are not excluded; 0 without scores."""
        scores = [self.signed(state.scores_of(model)) for model in state.alive]
        return Moments(
            np.array([len(s) for s in scores], np.float64),
            np.array([posterior.mean(s) if len(s) else 0.0 for s in scores]),
            np.array([s.var() if len(set(s)) > 1 else 0.0 for s in scores]),  # equals: exactly 0
        )

    def known(self, moments: Moments) -> _Array:
        """Returns whether all models have a posterior, [...]; not while all scores are equal."""
        enough = moments.counts >= posterior.FEWEST
        return np.asarray((enough & moments.judged).all(axis=-1))

    def probabilities(self, moments: Moments) -> _Array:
        """Computes each model's probability of being the best, [..., N]."""
        counts, means, variances = moments.with_borrowed_spread()
        return posterior.probability_of_best(means, variances, counts)

    def required(self, moments: Moments) -> _Array:
        """Returns the scores that each model needs before the rule chooses, [..., N]."""
        still_open = (moments.counts >= self.initial) & ~moments.judged
        return np.where(still_open, moments.counts + 1, self.initial)

    def proposed(self, state: State) -> tuple[str, ...]:
        """Returns the required evaluations first; then fills the free slots of the batch."""
        pending = np.array([len(state.pending[model]) for model in state.alive])
        moments = self.moments(state)
        under_way = int(pending.sum())
        counts = moments.counts.astype(int)
        required = self.required(moments).astype(int)
        left = math.inf if self.budget is None else self.budget - state.evaluations - under_way
        lacking = np.maximum(required - counts - pending, 0)
        if lacking.any():
            chosen = np.repeat(np.arange(len(counts)), lacking)
        elif np.any(counts < required) or under_way >= self.batch_size:
            return ()
        else:
            free = self.uniforms(state.evaluations + under_way)[: self.batch_size - under_way]
            chosen = self.choose(moments, self.probabilities(moments), pending * 1.0, free)
        return tuple(state.alive[k] for k in chosen[: int(min(left, len(chosen)))])

    def uniforms(self, step: int) -> _Array:
        """Returns [batch_size, 3] random numbers, a function of the seed and the step alone."""
        return np.random.default_rng([self.seed, step]).random((self.batch_size, 3))

    @abc.abstractmethod
    def choose(
        self, moments: Moments, probabilities: _Array, pending: _Array, uniforms: _Array
    ) -> _Array:
        """Returns models to evaluate next [..., slots], by uniform numbers [..., slots, 3]."""

    def decided(self, state: State) -> Answer | None:
        """Returns the model that is probable enough, or that leads when the budget is spent."""
        if any(len(state.scores[model]) < self.initial for model in state.alive):
            return None
        decision = self.decide(self.moments(state), np.array(state.evaluations))
        if decision.sure or decision.spent:
            return self.leading(state, CONFIDENT if decision.sure else SPENT)
        return self._tied(state, decision.probabilities)

    def _tied(self, state: State, probabilities: _Array) -> Answer | None:
        """Returns the answer if the models that may be best always had equal scores.

        Their evaluation would never end: they are one model, or ignore their seeds.
        """
        if self.budget is not None:
            return None
        first = state.scores[state.alive[int(np.argmax(probabilities))]]
        tied = [
            model
            for model in state.alive
            if (both := first.keys() & state.scores[model].keys())
            and all(state.scores[model][number] == first[number] for number in both)
            and (len(both) >= _ALIKE or len({first[number] for number in both}) >= _EQUAL)
        ]
        share = sum(probabilities[state.alive.index(model)] for model in tied)
        if len(tied) < 2 or self.delta is None or share < 1 - self.delta:
            return None
        return first_of(
            tied, "their scores are equal", state.evaluations, float(max(probabilities))
        )

    def leading(self, state: State, reason: str) -> Answer:
        """Returns the most probable model with its probability, or the highest mean before."""
        moments = self.moments(state)
        if not self.known(moments):
            return super().leading(state, reason)
        decision = self.decide(moments, np.array(state.evaluations))
        probability = float(decision.probabilities[np.argmax(decision.leads)])
        leads = tuple(np.array(state.alive, object)[decision.leads])
        return first_of(leads, reason, state.evaluations, probability)

    def decide(self, moments: Moments, evaluations: _Array) -> _Decision:
        """Decides whether the scores are enough, and which models lead; `evaluations` is [...].

        The highest mean among the most probable models leads, or the highest mean of all while the
        scores give no posterior.
        """
        probabilities = self.probabilities(moments)
        most = probabilities.max(axis=-1, keepdims=True)
        known = self.known(moments)
        among = (probabilities >= most - _AS_PROBABLE) | ~known[..., None]
        leads = posterior.highest(np.where(among, moments.means, -np.inf))
        sure = known & (most[..., 0] >= (math.inf if self.delta is None else 1 - self.delta))
        spent = self._spent(evaluations, probabilities.shape[-1])
        return _Decision(known, sure, spent, leads, probabilities)

    def _spent(self, evaluations: _Array, models: int) -> _Array:
        return evaluations >= (math.inf if self.budget is None else self.budget)


@dataclasses.dataclass(frozen=True, kw_only=True)
class NonAdaptive(Confident):
    """Evaluates every model once a round; all other rules are measured against this one.

    With a budget and `delta=None` it splits the budget: floor(budget / N) evaluations of each,
    then the highest mean wins.
    """

    @property
    def initial(self) -> int:
        """Evaluations of each model first; one if there is no confidence to reach."""
        return super().initial if self.delta is not None else 1

    def required(self, moments: Moments) -> _Array:
        """Returns the first rounds; later ones evaluate every model anyway."""
        return np.full(moments.counts.shape, self.initial)

    def proposed(self, state: State) -> tuple[str, ...]:
        """Returns what this round lacks; a new round begins when all its results are in."""
        least = min(len(state.scores[model]) for model in state.alive) + 1
        target = max(self.initial, least, *map(state.begun, state.alive))
        return missing(state, state.alive, target)

    def decided(self, state: State) -> Answer | None:
        """Decides as the other rules do, but only between rounds."""
        counts = [len(state.scores[model]) for model in state.alive]
        if min(counts) < max(counts):
            return None
        if self.delta is not None:
            return super().decided(state)
        spent = min(counts) and self._spent(np.array(state.evaluations), len(counts))
        return self.leading(state, SPENT) if spent else None

    def leading(self, state: State, reason: str) -> Answer:
        """Returns the highest mean for a fixed budget, which may be too small for a posterior."""
        if self.delta is None:
            return Rule.leading(self, state, reason)
        return super().leading(state, reason)

    def _spent(self, evaluations: _Array, models: int) -> _Array:
        return super()._spent(evaluations + models - 1, models)  # no room for another round

    def choose(
        self, moments: Moments, probabilities: _Array, pending: _Array, uniforms: _Array
    ) -> _Array:
        """Returns every model once."""
        return np.broadcast_to(np.arange(probabilities.shape[-1]), probabilities.shape)


@dataclasses.dataclass(frozen=True, kw_only=True)
class BatchThompson(Confident):
    """Draws each slot of a batch by the probability of being the best, with repeats.

    BTS of Moss et al. (2019, section 4.3).
    """

    batch_size: int = 4

    def choose(
        self, moments: Moments, probabilities: _Array, pending: _Array, uniforms: _Array
    ) -> _Array:
        """Draws independently of what is pending."""
        return _drawn(probabilities[..., None, :], uniforms[..., 0])


@dataclasses.dataclass(frozen=True, kw_only=True)
class TopTwoThompson(Confident):
    """Draws the leader by probability; with probability 1/2 draws again until a challenger comes.

    TTTS of Russo (2016), as in Moss et al. (2019, section 4.2), for `batch_size` 1. In larger
    batches, pending evaluations and earlier slots count as evaluated at the mean of their model,
    so the batch spreads to models that are still in doubt.
    """

    def choose(
        self, moments: Moments, probabilities: _Array, pending: _Array, uniforms: _Array
    ) -> _Array:
        """Draws one slot after the other."""
        models = np.arange(probabilities.shape[-1])
        planned, chosen = pending, []
        for slot in range(uniforms.shape[-2]):
            if np.any(planned):
                believed = moments._replace(counts=moments.counts + planned)
                probabilities = self.probabilities(believed)
            u = uniforms[..., slot, :]
            leader = _drawn(probabilities, u[..., 0])
            others = np.where(models == leader[..., None], 0.0, probabilities + _TINY)
            arm = np.where(u[..., 1] < 0.5, leader, _drawn(others, u[..., 2]))
            planned = planned + (models == arm[..., None])
            chosen.append(arm)
        return np.stack(chosen, axis=-1)


def _drawn(weights: _Array, uniforms: _Array) -> _Array:
    """Draws indices with probability proportional to weights [..., N]."""
    upto = np.cumsum(weights, axis=-1)
    return np.sum(upto <= uniforms[..., None] * upto[..., -1:], axis=-1)
