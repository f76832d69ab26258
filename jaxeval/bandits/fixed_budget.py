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

ROUNDS_DONE = "all rounds are done"  # without the share of a model that was dropped
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
        stand = self._stand(state)
        missing = [
            [state.models[k]] * (stand.target - len(state.scores[k]) - len(state.pending[k]))
            for k in stand.survivors
        ]
        return tuple(name for names in missing for name in names)

    def decided(self, state: State) -> Answer | None:
        """The last survivor, unless models were dropped before the last round decided."""
        stand = self._stand(state)
        if not stand.done:
            return None
        whole = ROUNDS_DONE if state.excluded else SPENT
        reasons = (SURVIVORS_DROPPED, OTHER_SURVIVORS_DROPPED, whole)
        return self.leading(state, reasons[min(2, len(stand.survivors))])

    def leading(self, state: State, reason: str) -> Answer:
        """The survivor of the highest mean; where all were dropped, the best of the others.

        Level with it are also the models that went for their place in the list alone.
        """
        stand, means = self._stand(state), self.means(state)
        if stand.done:  # scores beyond its rounds do not count
            for k in stand.survivors:
                means[k] = self._mean_of_first(state, k, stand.target)
        among = np.full(len(means), -math.inf)
        left = stand.survivors or [*state.alive]
        among[left] = means[left]
        level = means_of.highest(among)
        for kept, cut in reversed(stand.level):
            level[cut] |= bool(level[kept].any())
        level[[k for k in range(len(level)) if k not in state.alive]] = False
        return first_of(state.models, level, reason, state.evaluations)

    def _stand(self, state: State) -> "_Stand":
        """How far the rounds are.

        Computed anew from the scores: the first evaluations of each model, by number, are those
        of the first round. A dropped model drops out of the round that it did not end, and leaves
        its share unspent.
        """
        survivors, target = list(range(len(state.models))), 0
        level: list[tuple[np.ndarray, np.ndarray]] = []
        while True:
            target += self._share(len(survivors), len(state.models))
            kept = len(survivors) - len(survivors) // 2
            behind = [k for k in survivors if len(state.scores[k]) < target]
            if any(k in state.alive for k in behind):
                return _Stand([k for k in survivors if k in state.alive], target, False, level)
            ranked = np.array([k for k in survivors if k not in behind], int)
            if kept == 1 or len(ranked) < 2:
                return _Stand([k for k in ranked if k in state.alive], target, True, level)
            means = np.array([self._mean_of_first(state, k, target) for k in ranked])
            means = means_of.levelled(means)
            order = np.argsort(-means, kind="stable")
            stay, go = order[:kept], order[kept:]
            as_last = means == means[stay[-1]]
            level.append((ranked[stay[as_last[stay]]], ranked[go[as_last[go]]]))
            survivors = sorted(ranked[stay])

    def _mean_of_first(self, state: State, arm: int, count: int) -> float:
        scores = state.scores_of(state.models[arm])[:count]
        return means_of.mean(self.transformed(np.array(scores)))


class _Stand(NamedTuple):
    survivors: list[int]  # alive, of the round under way; after the last one, those that ended it
    target: int  # evaluations of each at the end of the round under way, or of the last one
    done: bool  # whether no round is left
    level: list[tuple[np.ndarray, np.ndarray]]  # equal at a cut: those that stayed, and that went


def _rounds(models: int) -> int:
    return math.ceil(math.log2(models))
