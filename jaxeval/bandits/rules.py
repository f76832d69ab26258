"""Which model to evaluate next, and when to stop: pure state machines.

    rule = TopTwoThompson(delta=0.05)
    state = rule.begin(["lstm", "transformer"])
    while models := rule.ask(state):
        for model in models:
            state = rule.tell(state, model, evaluate(model))
    print(rule.answer(state))

`ask` is a function of the state alone: the same state gives the same models. For evaluations that
run side by side, mark each as under way with `state.start` before asking again; `ask` then fills
the free slots, counts what is pending, and takes results in any order.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.bandits import means as means_of
from jaxeval.bandits import state as states
from jaxeval.bandits.state import State
from jaxeval.errors import ConfigError, DataError, RunError
from jaxeval.runs import directions
from jaxeval.stats.results import between, count

CONFIDENT, SPENT = "confident", "the budget is spent"
OUT_OF_TIME = "the time is spent"
ALONE = "all other models were dropped"


class Answer(NamedTuple):
    """How a selection ended."""

    best: str
    probability: float | None  # of being the best; None where the rule or the scores give none
    reason: str
    evaluations: int
    level: tuple[str, ...] = ()  # models between which nothing decides: `best` is the first


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rule:
    """What all rules share.

    Attributes:
      higher_is_better: False for losses and perplexities.
      logit: scores through log(x / (1 - x)) first, for fractions near 0 or 1.
      logit_guard: scores nearer than this to 0 or 1 are taken for as near before the logit, which
        has no value for 0 and 1. One item of a million: scores of smaller test sets stay apart.
      seed: of the rule's own draws.
    """

    higher_is_better: bool = True
    logit: bool = False
    logit_guard: float = 1e-6
    seed: int = 0

    def __post_init__(self) -> None:
        higher = directions.asked_for(self.higher_is_better) is not False
        object.__setattr__(self, "higher_is_better", higher)
        if not between(self.logit_guard, 0.0, 0.5):
            raise ConfigError(f"logit_guard: expected between 0 and .5, got {self.logit_guard}")
        object.__setattr__(self, "logit_guard", float(self.logit_guard))
        object.__setattr__(self, "seed", count(self.seed, "seed", 0, ConfigError))

    def begin(self, models: Sequence[str]) -> State:
        """A selection among these models."""
        return states.begin(models)

    def tell(self, state: State, model: str, score: float, number: int | None = None) -> State:
        """The state with one more score, of the evaluation with this number (the next one)."""
        self.check(model, np.array([states.finite(model, score)]))
        return states.tell(state, model, score, number)

    def check(self, model: str, scores: np.ndarray) -> None:
        """Refuses scores that the rule cannot take.

        Raises:
          DataError: naming the model.
        """
        try:
            self.transformed(scores)
        except DataError as error:
            raise DataError(f"{model}: {error}") from None

    def ask(self, state: State) -> tuple[str, ...]:
        """Models to evaluate now, one name an evaluation; () when done or while waiting.

        A model that is left alone without a score is evaluated once: it may be broken as well.
        """
        if self.answer(state) is not None:
            return ()
        if len(state.alive) == 1:
            last = state.alive[0]
            return () if state.pending[last] else (state.models[last],)
        return self.proposed(state)

    def answer(self, state: State) -> Answer | None:
        """The outcome, or None as long as the selection goes on.

        Raises:
          RunError: every model was dropped.
        """
        if not state.alive:
            reasons = "; ".join(f"{model}: {why}" for model, why in state.excluded.items())
            raise RunError(f"every model was dropped ({reasons})")
        if len(state.alive) > 1:
            return self.decided(state)
        last = state.alive[0]
        if not state.scores[last]:
            return None
        return Answer(state.models[last], None, ALONE, state.evaluations)

    def at_once(self, models: int) -> int:
        """Evaluations of one of so many models that are run side by side, in every batch."""
        raise NotImplementedError

    def proposed(self, state: State) -> tuple[str, ...]:
        """What `ask` says while two or more models are left and nothing is decided."""
        raise NotImplementedError

    def decided(self, state: State) -> Answer | None:
        """What `answer` says while two or more models are left."""
        raise NotImplementedError

    def leading(self, state: State, reason: str) -> Answer:
        """The model that leads now, as the answer of a selection that ends for this reason."""
        level = means_of.highest(self.means(state))
        return first_of(state.models, level, reason, state.evaluations)

    def transformed(self, scores: np.ndarray) -> np.ndarray:
        """Scores of which higher is better, on the scale on which they are taken as normal: [...].

        Raises:
          DataError: scores outside 0 to 1 under `logit`.
        """
        values = np.asarray(scores, np.float64)
        if self.logit:
            if np.any((values < 0) | (values > 1)):
                wrong = values[(values < 0) | (values > 1)][0]
                raise DataError(f"logit: expected scores from 0 to 1, found {wrong}")
            inner = np.clip(values, self.logit_guard, 1 - self.logit_guard)
            values = np.log(inner / (1 - inner))
        return values if self.higher_is_better else -values

    def guarded(self, scores: np.ndarray) -> int:
        """How many scores lie so near 0 or 1 that `logit` takes them for farther off."""
        if not self.logit:
            return 0
        return int(np.sum((scores < self.logit_guard) | (scores > 1 - self.logit_guard)))

    def means(self, state: State) -> np.ndarray:
        """[N] mean transformed score of each model; -inf without scores and for excluded ones."""
        means = np.full(len(state.models), -math.inf)
        for arm in state.alive:
            scores = state.scores_of(state.models[arm])
            if scores:
                means[arm] = means_of.mean(self.transformed(np.array(scores)))
        return means


def first_of(
    models: Sequence[str],
    level: np.ndarray,
    reason: str,
    evaluations: int,
    probability: float | None = None,
) -> Answer:
    """The answer that names the first of the models that are level.

    Args:
      level: [N] bool.

    Raises:
      DataError: none is, as no model has a score.
    """
    names = tuple(name for name, tied in zip(models, level, strict=True) if tied)
    if not names:
        raise DataError("expected a score of some model to tell which one leads")
    several = names if len(names) > 1 else ()
    return Answer(names[0], probability, reason, evaluations, several)
