"""Rules that spend a given number of evaluations as well as they can."""

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.bandits import means as means_of
from jaxeval.bandits.rules import SPENT, Answer, Rule, first_of
from jaxeval.bandits.state import State
from jaxeval.errors import ConfigError
from jaxeval.stats.results import count

OTHER_SURVIVORS_DROPPED = "the other survivors were dropped"
SURVIVORS_DROPPED = "all survivors were dropped; this is the best of the others"


@dataclasses.dataclass(frozen=True, kw_only=True)
class SequentialHalving(Rule):
    """Drops the lower half of the models in each of ceil(log2 N) rounds (Karnin et al. 2013).

    In a round with s survivors each gets floor(budget / (s rounds)) new evaluations; then the
    floor(s / 2) of the lowest mean over all their evaluations go.
    """

    budget: int

    def __post_init__(self) -> None:
        super().__post_init__()
        whole = count(self.budget, "budget", 0, ConfigError)  # `begin` says how many are needed
        object.__setattr__(self, "budget", whole)

    def begin(self, models: Sequence[str]) -> State:
        """A selection among these models; the budget must cover one evaluation a round of all."""
        state = super().begin(models)
        least = len(state.models) * _rounds(len(state.models))
        if self.budget < least:
            raise ConfigError(
                f"budget: {len(state.models)} models need at least {least}, got {self.budget}"
            )
        return state

    def of_one(self, models: int) -> int:
        """Evaluations of the model that is left in the end, of so many."""
        left, spent = models, 0
        while left > 1:
            spent += self._share(left, models)
            left -= left // 2
        return spent

    def at_once(self, models: int) -> int:
        """Those of the first round; a later one, of fewer models, has more for each."""
        return self._share(models, models)

    def _share(self, left: int, models: int) -> int:
        """New evaluations of each model in a round with so many left."""
        return self.budget // (left * _rounds(models))

    def proposed(self, state: State) -> tuple[str, ...]:
        """What is missing of the current round."""
        survivors, target, _ = self._stand(state)
        missing = [
            [state.models[k]] * (target - len(state.scores[k]) - len(state.pending[k]))
            for k in survivors
        ]
        return tuple(name for names in missing for name in names)

    def decided(self, state: State) -> Answer | None:
        """The last survivor, unless models were dropped before the last round decided."""
        if not self._stand(state).done:
            return None
        reasons = (SURVIVORS_DROPPED, OTHER_SURVIVORS_DROPPED, SPENT)
        return self.leading(state, reasons[min(2, len(self._of_last_round(state)))])

    def leading(self, state: State, reason: str) -> Answer:
        """The survivor of the highest mean; where all were dropped, the best of the others."""
        means = self.means(state)
        left = self._of_last_round(state) or [*state.alive]
        among = np.full(len(means), -math.inf)
        among[left] = means[left]
        level = means_of.highest(among)
        return first_of(state.models, level, reason, state.evaluations)

    def _of_last_round(self, state: State) -> list[int]:
        """Models between which the round under way decides, or the last one did."""
        survivors, target, done = self._stand(state)
        if not done:
            return survivors
        return [k for k in state.alive if len(state.scores[k]) >= target]

    def _stand(self, state: State) -> "_Stand":
        """How far the rounds are.

        Computed anew from the scores: the first evaluations of each model, by number, are those
        of the first round. A dropped model drops out of the round that it did not end, and leaves
        its share unspent.
        """
        survivors, target = list(range(len(state.models))), 0
        while len(survivors) > 1:
            target += self._share(len(survivors), len(state.models))
            kept = len(survivors) - len(survivors) // 2
            behind = [k for k in survivors if len(state.scores[k]) < target]
            if any(k in state.alive for k in behind):
                return _Stand([k for k in survivors if k in state.alive], target, False)
            ranked = [k for k in survivors if k not in behind]
            means = [self._mean_of_first(state, k, target) for k in ranked]
            order = np.argsort(-np.array(means), kind="stable")[:kept]
            survivors = sorted(ranked[k] for k in order)
        return _Stand(survivors, target, True)

    def _mean_of_first(self, state: State, arm: int, count: int) -> float:
        scores = state.scores_of(state.models[arm])[:count]
        return means_of.mean(self.transformed(np.array(scores)))


class _Stand(NamedTuple):
    survivors: list[int]  # of the rounds that are complete, less those dropped since
    target: int  # evaluations of each at the end of the round under way, or of the last one
    done: bool  # whether no round is left


def _rounds(models: int) -> int:
    return math.ceil(math.log2(models))
