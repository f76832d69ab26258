"""A base and a candidate, evaluated side by side until a claim holds whenever one stops."""

import dataclasses
import functools
import itertools
from collections.abc import Mapping

from jaxeval.bandits.rules import SPENT, Answer, Rule, State
from jaxeval.stats import results, sequential
from jaxeval.stats.sequential import FIRST_LOOK, Settled

FAILED = "an evaluation failed"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settle(Rule):
    """Evaluates a base and a candidate until one is better, or both are equal within a margin.

    The models of a state are the base and the candidate, in this order. A look sees the scores of
    the first numbers only, up to the first one that is missing on either side: results may arrive
    in any order, and a slow side is no bias. A failed evaluation ends the comparison without a
    claim: the scores of the others say nothing of the seeds on which a model crashes.
    """

    most: int = 30  # scores of each side
    margin: float = 0.0  # smallest difference that matters
    alpha: float = 0.05  # probability of any wrong claim
    paired: bool = False  # evaluations of one number share their data, such as a random split
    known: int = 0  # scores of the base that were there before the candidate's first
    ahead: int = 1  # evaluations of each side under way

    def least(self, models: int) -> int:
        """Returns the number of evaluations before the first look."""
        return models * FIRST_LOOK

    def at_once(self, models: int) -> int:
        """Returns how many evaluations of one model a batch may hold."""
        del models
        return max(self.ahead, FIRST_LOOK, self.known)

    def looks(self, state: State) -> int:
        """Returns the number of the candidate's scores that the last look sees."""
        base, candidate = (len(_first(state.scores[model])) for model in state.models)
        return min(base, candidate) if base >= self.known else 0

    def settled(self, state: State) -> Settled:
        """Returns what may be said of the candidate after the last look."""
        n = self.looks(state)
        base, candidate = (self.signed(_first(state.scores[m])) for m in state.models)
        settle = functools.partial(sequential.settle, margin=self.margin, alpha=self.alpha)
        if self.paired:
            return settle(results.gaps(candidate[:n], base[:n]))
        known = min(self.known, len(base))
        return settle(candidate[:n], base[: max(n, known)], known=known)

    def ask(self, state: State) -> tuple[str, ...]:
        """Returns the sides to evaluate now, one name an evaluation; () if done or waiting."""
        return () if self.answer(state) else self.proposed(state)

    def proposed(self, state: State) -> tuple[str, ...]:
        """Returns the next evaluations of both sides, those with the lowest numbers first."""
        target = min(self.most, max(FIRST_LOOK, self.looks(state) + self.ahead))
        goals = zip(state.models, (max(target, self.known), target), strict=True)
        numbers = [(k, side) for side, goal in goals for k in range(state.begun(side), goal)]
        return tuple(side for _, side in sorted(numbers, key=lambda pair: pair[0]))

    def answer(self, state: State) -> Answer | None:
        """Returns the outcome, of which the reason is the verdict; None while it goes on."""
        if state.excluded:
            return Answer(state.models[0], None, FAILED, state.evaluations)
        return self.decided(state)

    def decided(self, state: State) -> Answer | None:
        """Returns the outcome while no evaluation has failed."""
        base, candidate = state.models
        if (n := self.looks(state)) < min(FIRST_LOOK, self.most):
            return None
        verdict = self.settled(state).verdict
        if verdict == "undecided":
            spent = Answer(base, None, SPENT, state.evaluations, state.models)
            return spent if n >= self.most else None
        best = candidate if verdict == "better" else base
        return Answer(best, None, verdict, state.evaluations)


def _first(scores: Mapping[int, float]) -> list[float]:
    """Returns the scores of the numbers 1, 2, ... up to the first that is missing."""
    return [scores[k] for k in itertools.takewhile(scores.__contains__, itertools.count(1))]
