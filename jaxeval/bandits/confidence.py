"""Rules that stop as soon as one model is the best with probability 1 - delta."""

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from jaxeval.bandits import posterior, rules
from jaxeval.bandits.posterior import Moments
from jaxeval.bandits.rules import CONFIDENT, SPENT, Answer, Rule, first_of
from jaxeval.bandits.state import State
from jaxeval.errors import ConfigError

Array = np.ndarray

_AS_PROBABLE = 1e-6  # probabilities nearer than this are equal: they are good to 1e-7
_TINY = 1e-300  # so that a challenger exists when the leader is certain


class Decision(NamedTuple):
    """Whether a selection ends, [...] each, and the probabilities [..., N] behind it."""

    known: Array  # the scores give every model a posterior
    sure: Array
    spent: Array
    leads: Array  # [..., N] of the most probable models those of the highest mean
    probabilities: Array

    @property
    def best(self) -> Array:
        """Places [...] of the first of those that lead."""
        return np.argmax(self.leads, axis=-1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Confident(Rule):
    """What the fixed-confidence rules share.

    Attributes:
      delta: stops when a model is the best with probability 1 - delta or more; None: never.
      prior: exponent of the prior (sigma^2)^(-1 - prior); see `posterior`.
      budget: most evaluations in all; None: no bound.
      batch_size: evaluations under way at once.
    """

    delta: float | None = 0.05
    prior: float = posterior.FIESTA
    budget: int | None = None
    batch_size: int = 1

    def __post_init__(self) -> None:
        """Refuses a rule that never ends."""
        super().__post_init__()
        if self.delta is None and self.budget is None:
            raise ConfigError("delta, budget: expected one or both, or the selection never ends")

    @property
    def initial(self) -> int:
        """Evaluations of each model before anything is decided."""
        return posterior.fewest(self.prior)

    def least(self, models: int) -> int:
        """The first evaluations of so many models."""
        return self.initial * models

    def at_once(self, models: int) -> int:
        """A whole batch: all of it may be of one model."""
        del models
        return self.batch_size

    def moments(self, state: State) -> Moments:
        """Of the models that are not excluded, in their order; 0 of what has no scores."""
        scores = [self.signed(state.scores_of(model)) for model in state.alive]
        return Moments(
            np.array([len(s) for s in scores], np.float64),
            np.array([posterior.mean(s) if len(s) else 0.0 for s in scores]),
            np.array([s.var() if len(set(s)) > 1 else 0.0 for s in scores]),  # equals: exactly 0
        )

    def known(self, moments: Moments) -> Array:
        """Whether all models have a posterior, [...]: enough scores, which are not all equal.

        While all scores of all models are equal, the selection stays open.
        """
        enough = moments.counts >= posterior.fewest(self.prior)
        return np.asarray((enough & moments.judged).all(axis=-1))

    def probabilities(self, moments: Moments) -> Array:
        """[..., N] of being the best."""
        counts, means, variances = posterior.with_borrowed_spread(moments, self.prior)
        return posterior.probability_of_best(means, variances, counts, prior=self.prior)

    def required(self, moments: Moments) -> Array:
        """Scores that each model needs before the rule chooses between them, [..., N]."""
        open_still = (moments.counts >= self.initial) & ~moments.judged
        return np.where(open_still, moments.counts + 1, self.initial)

    def proposed(self, state: State) -> tuple[str, ...]:
        """Required evaluations first, then as the rule draws, up to `batch_size` under way."""
        pending = np.array([len(state.pending[model]) for model in state.alive])
        moments, under_way = self.moments(state), int(pending.sum())
        counts, required = moments.counts.astype(int), self.required(moments).astype(int)
        left = math.inf if self.budget is None else self.budget - state.evaluations - under_way
        missing = np.maximum(required - counts - pending, 0)
        if missing.any():
            chosen = np.repeat(np.arange(len(counts)), missing)
        elif np.any(counts < required) or under_way >= self.batch_size:
            return ()
        else:
            uniforms = self.uniforms(state.evaluations + under_way)
            free = uniforms[: self.batch_size - under_way]
            chosen = self.choose(moments, self.probabilities(moments), pending * 1.0, free)
        return tuple(state.alive[k] for k in chosen[: int(min(left, len(chosen)))])

    def uniforms(self, step: int) -> Array:
        """[batch_size, 3] random numbers of a step: a function of the seed and the step alone."""
        return np.random.default_rng([self.seed, step]).random((self.batch_size, 3))

    def choose(
        self, moments: Moments, probabilities: Array, pending: Array, uniforms: Array
    ) -> Array:
        """Places of the models to evaluate next, [..., slots].

        Args:
          moments, probabilities, pending: [..., N].
          uniforms: [..., slots, 3].
        """
        raise NotImplementedError

    def decided(self, state: State) -> Answer | None:
        """The model that is best with enough probability, or leads when the budget is spent."""
        if any(len(state.scores[model]) < self.initial for model in state.alive):
            return None
        decision = self.decide(self.moments(state), np.array(state.evaluations))
        if not (decision.sure or decision.spent):
            return None
        return self.leading(state, CONFIDENT if decision.sure else SPENT)

    def leading(self, state: State, reason: str) -> Answer:
        """The most probable model with its probability; before there is one as for all rules."""
        moments = self.moments(state)
        if not self.known(moments):
            return super().leading(state, reason)
        decision = self.decide(moments, np.array(state.evaluations))
        probability = float(decision.probabilities[decision.best])
        leads = tuple(np.array(state.alive, object)[decision.leads])
        return first_of(leads, reason, state.evaluations, probability)

    def decide(self, moments: Moments, evaluations: Array) -> Decision:
        """Whether this is enough, and for which model: the highest mean of the most probable ones.

        Before the scores give every model a posterior it is the highest mean of all.

        Args:
          moments: [..., N].
          evaluations: [...] so far in all.
        """
        probabilities = self.probabilities(moments)
        most = probabilities.max(axis=-1, keepdims=True)
        known = self.known(moments)
        among = (probabilities >= most - _AS_PROBABLE) | ~known[..., None]
        leads = posterior.highest(np.where(among, moments.means, -np.inf))
        sure = known & (most[..., 0] >= (math.inf if self.delta is None else 1 - self.delta))
        spent = self._spent(evaluations, probabilities.shape[-1])
        return Decision(known, sure, spent, leads, probabilities)

    def _spent(self, evaluations: Array, models: int) -> Array:
        return evaluations >= (math.inf if self.budget is None else self.budget)


@dataclasses.dataclass(frozen=True, kw_only=True)
class NonAdaptive(Confident):
    """One evaluation of every model a round; the rule that all others are measured against.

    With a budget and `delta=None` it is the non-adaptive split of a fixed budget: floor(budget /
    N) evaluations each, then the highest mean.
    """

    @property
    def initial(self) -> int:
        """Without a confidence to reach no posterior is needed."""
        return super().initial if self.delta is not None else 1

    def required(self, moments: Moments) -> Array:
        """The first rounds: later ones evaluate every model anyway."""
        return np.full(moments.counts.shape, self.initial)

    def proposed(self, state: State) -> tuple[str, ...]:
        """What is missing of this round; nothing new before all results are in."""
        least = min(len(state.scores[model]) for model in state.alive) + 1
        target = max(self.initial, least, *map(state.begun, state.alive))
        return rules.missing(state, state.alive, target)

    def decided(self, state: State) -> Answer | None:
        """As for all, but decided between rounds only."""
        counts = [len(state.scores[model]) for model in state.alive]
        if min(counts) < max(counts):
            return None
        if self.delta is not None:
            return super().decided(state)
        if not (min(counts) and self._spent(np.array(state.evaluations), len(counts))):
            return None
        return self.leading(state, SPENT)

    def leading(self, state: State, reason: str) -> Answer:
        """Of a fixed budget by the highest mean: it may have too few scores for a posterior."""
        if self.delta is None:
            return Rule.leading(self, state, reason)
        return super().leading(state, reason)

    def _spent(self, evaluations: Array, models: int) -> Array:
        return super()._spent(evaluations + models - 1, models)  # no room for another round

    def choose(
        self, moments: Moments, probabilities: Array, pending: Array, uniforms: Array
    ) -> Array:
        """Every model once."""
        return np.broadcast_to(np.arange(probabilities.shape[-1]), probabilities.shape)


@dataclasses.dataclass(frozen=True, kw_only=True)
class BatchThompson(Confident):
    """Each slot of a batch is drawn by the probability of being the best, repeats allowed.

    BTS of Moss et al. (2019, section 4.3).
    """

    batch_size: int = 4

    def choose(
        self, moments: Moments, probabilities: Array, pending: Array, uniforms: Array
    ) -> Array:
        """Independent draws; what is pending changes nothing."""
        return _drawn(probabilities[..., None, :], uniforms[..., 0])


@dataclasses.dataclass(frozen=True, kw_only=True)
class TopTwoThompson(Confident):
    """Leader or challenger: drawn by probability; with probability 1/2 again until another comes.

    TTTS of Russo (2016), as in Moss et al. (2019, section 4.2), for `batch_size` 1. For larger
    batches each slot is drawn top-two, and what is pending or already in the batch counts as
    evaluated at the mean of its model: its posterior narrows, and the batch spreads to where
    doubt is left.
    """

    def choose(
        self, moments: Moments, probabilities: Array, pending: Array, uniforms: Array
    ) -> Array:
        """One slot after the other."""
        places = np.arange(probabilities.shape[-1])
        planned, chosen = pending, []
        for slot in range(uniforms.shape[-2]):
            if np.any(planned):
                believed = moments._replace(counts=moments.counts + planned)
                probabilities = self.probabilities(believed)
            u = uniforms[..., slot, :]
            leader = _drawn(probabilities, u[..., 0])
            others = np.where(places == leader[..., None], 0.0, probabilities + _TINY)
            arm = np.where(u[..., 1] < 0.5, leader, _drawn(others, u[..., 2]))
            planned = planned + (places == arm[..., None])
            chosen.append(arm)
        return np.stack(chosen, axis=-1)


def _drawn(weights: Array, uniforms: Array) -> Array:
    """Places drawn with probability proportional to weights [..., N]."""
    upto = np.cumsum(weights, axis=-1)
    return np.sum(upto <= uniforms[..., None] * upto[..., -1:], axis=-1)
