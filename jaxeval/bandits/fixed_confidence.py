"""Rules that stop as soon as one model is the best with probability 1 - delta."""

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.bandits import means as means_of
from jaxeval.bandits import posterior
from jaxeval.bandits.rules import CONFIDENT, SPENT, Answer, Rule, first_of
from jaxeval.bandits.state import State
from jaxeval.errors import ConfigError
from jaxeval.stats.results import between, count, fraction

CONSTANT = 10  # equal scores after which a model is believed always to score the same
_AS_PROBABLE = 1e-6  # probabilities nearer than this are equal: they are good to 1e-7


class Moments(NamedTuple):
    """Sufficient statistics of the scores so far, [..., N] each; variances with ddof 0."""

    counts: np.ndarray
    means: np.ndarray
    variances: np.ndarray


class Decision(NamedTuple):
    """Whether a selection ends, [...] each, and the probabilities [..., N] behind it."""

    known: np.ndarray  # the scores give every model a posterior
    sure: np.ndarray
    spent: np.ndarray
    level: np.ndarray  # [..., N] those that lead: of the most probable ones the highest mean
    probabilities: np.ndarray

    @property
    def best(self) -> np.ndarray:
        """Places [...] of the first of those that are level."""
        return np.argmax(self.level, axis=-1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Confident(Rule):
    """What the fixed-confidence rules share.

    Attributes:
      delta: stops when a model is the best with probability 1 - delta or more.
      alpha: of the prior (sigma^2)^(-1 - alpha); see `posterior`.
      epsilon: indifference width, in the unit of the (transformed) scores: a model within epsilon
        of the best counts as best, so that equal models come to an end.
      min_evaluations: of each model before anything is decided; absent: what the prior needs.
      budget: most evaluations in all; absent: no bound.
      batch_size: evaluations under way at once.
    """

    delta: float | None = 0.05
    alpha: float = posterior.FIESTA_ALPHA
    epsilon: float = 0.0
    min_evaluations: int | None = None
    budget: int | None = None
    batch_size: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delta is not None:
            object.__setattr__(self, "delta", fraction(self.delta, "delta", ConfigError))
        elif self.budget is None:
            raise ConfigError("delta, budget: expected one or both, or the selection never ends")
        if not (between(self.epsilon, -math.inf, math.inf) and self.epsilon >= 0):
            raise ConfigError(f"epsilon: expected a number of at least 0, got {self.epsilon}")
        least = posterior.fewest(self.alpha)
        for name in ("epsilon", "alpha"):
            object.__setattr__(self, name, float(getattr(self, name)))
        for name in ("min_evaluations", "budget", "batch_size"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, count(value, name, error=ConfigError))
        if self.min_evaluations is not None and self.min_evaluations < least:
            raise ConfigError(
                f"min_evaluations: a prior with alpha {self.alpha} needs at least {least}, "
                f"got {self.min_evaluations}"
            )

    @property
    def initial(self) -> int:
        """Evaluations of each model before anything is decided."""
        return self.min_evaluations or posterior.fewest(self.alpha)

    def begin(self, models: Sequence[str]) -> State:
        """A selection among these models; a budget must cover their first evaluations."""
        state = super().begin(models)
        least = self.initial * len(state.models)
        if self.budget is not None and self.budget < least:
            raise ConfigError(
                f"budget: {len(state.models)} models need at least {least}, got {self.budget}"
            )
        return state

    def moments(self, state: State) -> Moments:
        """Of the models that are not excluded, in their order; 0 of what has no scores."""
        scores = [
            self.transformed(np.array(state.scores_of(state.models[k]))) for k in state.alive
        ]
        return Moments(
            np.array([len(s) for s in scores], np.float64),
            np.array([means_of.mean(s) if len(s) else 0.0 for s in scores]),
            np.array([s.var() if len(set(s)) > 1 else 0.0 for s in scores]),  # equals: exactly 0
        )

    def known(self, moments: Moments) -> np.ndarray:
        """Whether all models have a posterior, [...]: enough scores, which are not all equal.

        Equal scores have no spread to judge by: that of the other models stands for it, until ten
        are equal, which makes the model a constant. Where all scores of all models are equal, they
        keep the selection open.
        """
        least = max(self.initial, posterior.fewest(self.alpha))
        judged = (moments.counts >= least) & (_spread_is_known(moments) | _any_varies(moments))
        return np.asarray(judged.all(axis=-1))

    def probabilities(self, moments: Moments, epsilon: float = 0.0) -> np.ndarray:
        """[..., N] of being the best."""
        believed = self._with_borrowed_spread(moments)
        return posterior.probability_of_best(
            believed.means, believed.variances, believed.counts, alpha=self.alpha, epsilon=epsilon
        )

    def _with_borrowed_spread(self, moments: Moments) -> Moments:
        """The same with the pooled spread of the others for models whose scores are all equal.

        Their posterior has the pooled degrees of freedom, and the scale sd / sqrt(T) of their own
        T scores: two equal scores of a noisy model on few items are no certainty. Ten are.
        """
        counts, _, variances = moments
        varies = variances > 0
        borrows = ~_spread_is_known(moments) & _any_varies(moments)
        if not borrows.any():
            return moments
        squares = np.sum(np.where(varies, counts * variances, 0.0), axis=-1, keepdims=True)
        freedom = np.sum(np.where(varies, counts - 1, 0.0), axis=-1, keepdims=True)
        pooled = squares / np.maximum(freedom, 1.0)  # with ddof 1
        least = posterior.fewest(self.alpha)
        stands_for = np.maximum(freedom + 1, least)  # scores of one model of this freedom
        nu = stands_for + 2 * self.alpha - 1
        return moments._replace(
            counts=np.where(borrows, stands_for, counts),
            variances=np.where(borrows, pooled * nu / np.maximum(counts, 1.0), variances),
        )

    def required(self, moments: Moments) -> np.ndarray:
        """Scores that each model needs before the rule chooses between them, [..., N]."""
        judged = _spread_is_known(moments) | _any_varies(moments)
        open_still = (moments.counts >= self.initial) & ~judged
        return np.where(open_still, moments.counts + 1, self.initial)

    def at_once(self, models: int) -> int:
        """A whole batch: all of it may be of one model."""
        del models
        return self.batch_size

    def proposed(self, state: State) -> tuple[str, ...]:
        """Required evaluations first, then as the rule draws, up to `batch_size` under way."""
        pending = np.array([len(state.pending[k]) for k in state.alive])
        moments = self.moments(state)
        counts, required = moments.counts.astype(int), self.required(moments).astype(int)
        left = math.inf if self.budget is None else self.budget - state.evaluations - pending.sum()
        missing = np.maximum(required - counts - pending, 0)
        if missing.any():
            chosen = np.repeat(np.arange(len(counts)), missing)
        elif np.any(counts < required):
            return ()
        else:
            chosen = self._next(state, pending)
        names = [state.models[k] for k in state.alive]
        return tuple(names[k] for k in chosen[: int(min(left, len(chosen)))])

    def _next(self, state: State, pending: np.ndarray) -> np.ndarray:
        slots = self.batch_size - int(pending.sum())
        if slots <= 0:
            return np.zeros(0, int)
        uniforms = self.uniforms(state.evaluations + int(pending.sum()))[:slots]
        moments = self.moments(state)
        chosen: np.ndarray = self.choose(
            moments, self.probabilities(moments), pending.astype(np.float64), uniforms
        )
        return chosen

    def uniforms(self, step: int) -> np.ndarray:
        """[batch_size, 3] random numbers of a step: a function of the seed and the step alone."""
        return np.random.default_rng([self.seed, step]).random((self.batch_size, 3))

    def choose(
        self,
        moments: Moments,
        probabilities: np.ndarray,
        pending: np.ndarray,
        uniforms: np.ndarray,
    ) -> np.ndarray:
        """Places of the models to evaluate next, [..., slots].

        Args:
          moments, probabilities, pending: [..., N].
          uniforms: [..., slots, 3].
        """
        raise NotImplementedError

    def decided(self, state: State) -> Answer | None:
        """The model that is best with enough probability, or leads when the budget is spent."""
        if any(len(state.scores[k]) < self.initial for k in state.alive):
            return None
        decision = self.decide(self.moments(state), np.array(state.evaluations))
        if not (decision.sure or decision.spent):
            return None
        return self.leading(state, CONFIDENT if decision.sure else SPENT)

    def leading(self, state: State, reason: str) -> Answer:
        """The most probable model with its probability; before there is one as for all."""
        moments = self.moments(state)
        if not self.known(moments):
            return super().leading(state, reason)
        decision = self.decide(moments, np.array(state.evaluations))
        probability = float(decision.probabilities[decision.best])
        models = [state.models[k] for k in state.alive]
        return first_of(models, decision.level, reason, state.evaluations, probability)

    def decide(self, moments: Moments, evaluations: np.ndarray) -> Decision:
        """Whether this is enough, and for which model: the highest mean of the most probable ones.

        Before the scores give every model a posterior it is the highest mean of all.

        Args:
          moments: [..., N].
          evaluations: [...] so far in all.
        """
        probabilities = self.probabilities(moments, self.epsilon)
        highest = probabilities.max(axis=-1, keepdims=True)
        known = self.known(moments)
        leads = (probabilities >= highest - _AS_PROBABLE) | ~known[..., None]
        level = means_of.highest(np.where(leads, moments.means, -np.inf))
        sure = known & (highest[..., 0] >= (math.inf if self.delta is None else 1 - self.delta))
        spent = self._spent(evaluations, probabilities.shape[-1])
        return Decision(known, sure, spent, level, probabilities)

    def _spent(self, evaluations: np.ndarray, models: int) -> np.ndarray:
        return evaluations >= (math.inf if self.budget is None else self.budget)


@dataclasses.dataclass(frozen=True, kw_only=True)
class NonAdaptive(Confident):
    """One evaluation of every model a round; the rule that all others are measured against.

    With a budget and `delta=None` it is the non-adaptive split of a fixed budget: floor(budget /
    N) evaluations each, then the highest mean.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delta is None and self.epsilon:
            raise ConfigError(
                "epsilon: expected a delta beside it; a budget alone is spent whatever is known"
            )

    @property
    def initial(self) -> int:
        """Without a confidence to reach no posterior is needed."""
        return super().initial if self.delta is not None else self.min_evaluations or 1

    def required(self, moments: Moments) -> np.ndarray:
        """The first rounds: later ones evaluate every model anyway."""
        return np.full(moments.counts.shape, self.initial)

    def proposed(self, state: State) -> tuple[str, ...]:
        """What is missing of this round; nothing new before all results are in."""
        counts = [len(state.scores[k]) for k in state.alive]
        begun = [n + len(state.pending[k]) for n, k in zip(counts, state.alive, strict=True)]
        target = max(self.initial, *begun, min(counts) + 1)
        missing = [
            [state.models[k]] * (target - n) for n, k in zip(begun, state.alive, strict=True)
        ]
        return tuple(name for names in missing for name in names)

    def decided(self, state: State) -> Answer | None:
        """As for all, but decided between rounds only."""
        counts = [len(state.scores[k]) for k in state.alive]
        if min(counts) < max(counts):
            return None
        if self.delta is not None:
            return super().decided(state)
        spent = self._spent(np.array(state.evaluations), len(counts))
        if min(counts) < self.initial or not spent:
            return None
        return self.leading(state, SPENT)

    def leading(self, state: State, reason: str) -> Answer:
        """Of a fixed budget by the highest mean: it may have too few scores for a posterior."""
        if self.delta is None:
            return Rule.leading(self, state, reason)
        return super().leading(state, reason)

    def _spent(self, evaluations: np.ndarray, models: int) -> np.ndarray:
        return super()._spent(evaluations + models - 1, models)  # no room for another round

    def choose(
        self,
        moments: Moments,
        probabilities: np.ndarray,
        pending: np.ndarray,
        uniforms: np.ndarray,
    ) -> np.ndarray:
        """Every model once."""
        return np.broadcast_to(np.arange(probabilities.shape[-1]), probabilities.shape)


def _any_varies(moments: Moments) -> np.ndarray:
    """Whether scores of any model differ, [..., 1]."""
    return np.any(moments.variances > 0, axis=-1, keepdims=True)


def _spread_is_known(moments: Moments) -> np.ndarray:
    """Of each model, [..., N]."""
    return (moments.variances > 0) | (moments.counts >= CONSTANT)
