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

from jaxeval.bandits import state as states
from jaxeval.bandits.state import State
from jaxeval.errors import ConfigError, DataError


class Answer(NamedTuple):
    """How a selection ended."""

    best: str
    probability: float | None  # of being best; None for the fixed-budget rules
    reason: str
    evaluations: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rule:
    """What all rules share.

    Attributes:
      higher_is_better: False for losses and perplexities.
      logit: scores through log(x / (1 - x)) first, for fractions near 0 or 1.
      logit_guard: scores are moved this far from 0 and 1 before the logit.
      seed: of the rule's own draws.
    """

    higher_is_better: bool = True
    logit: bool = False
    logit_guard: float = 1e-3
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.logit_guard < 0.5:
            raise ConfigError(f"logit_guard: expected between 0 and .5, got {self.logit_guard}")

    def begin(self, models: Sequence[str]) -> State:
        """A selection among these models."""
        return states.begin(models)

    def tell(self, state: State, model: str, score: float, number: int | None = None) -> State:
        """The state with one more score, of the evaluation with this number (the next one)."""
        self.check(model, np.array([score]))
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
        """Models to evaluate now, one name an evaluation; () when done or while waiting."""
        raise NotImplementedError

    def answer(self, state: State) -> Answer | None:
        """The outcome, or None as long as the selection goes on."""
        raise NotImplementedError

    def transformed(self, scores: np.ndarray) -> np.ndarray:
        """Scores of which higher is better, on the scale on which they are taken as normal."""
        values = np.asarray(scores, np.float64)
        if self.logit:
            if np.any((values < 0) | (values > 1)):
                wrong = values[(values < 0) | (values > 1)][0]
                raise DataError(f"logit: expected scores from 0 to 1, found {wrong}")
            inner = np.clip(values, self.logit_guard, 1 - self.logit_guard)
            values = np.log(inner / (1 - inner))
        return values if self.higher_is_better else -values

    def means(self, state: State) -> np.ndarray:
        """Mean transformed score of each model; -inf without scores and for excluded ones."""
        found = np.full(len(state.models), -math.inf)
        for place in state.alive:
            scores = state.scores_of(state.models[place])
            if scores:
                found[place] = self.transformed(np.array(scores)).mean()
        return found


def alone(state: State) -> Answer | None:
    """The end that comes when models are given up."""
    if not state.alive:
        return Answer("", None, "every model was given up", state.evaluations)
    if len(state.alive) == 1:
        best = state.models[state.alive[0]]
        return Answer(best, None, "all other models were given up", state.evaluations)
    return None
