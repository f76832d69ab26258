"""A base and a candidate, evaluated side by side until a claim holds whenever one stops."""

import dataclasses
import functools
import itertools
import math
from collections.abc import Mapping
from typing import Literal

import numpy as np

from jaxeval.bandits.rules import SPENT, Answer, Rule, State
from jaxeval.errors import DataError, RunError, argument
from jaxeval.stats import claims, results
from jaxeval.stats.claims import Settled, Statistic
from jaxeval.stats.sequential import FIRST_LOOK

Verdict = Literal["better", "worse", "equal", "undecided", "constant", "failed"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settle(Rule):
    """Evaluates a base and a candidate until one is better, or both are equal within a margin.

    The models of a state are the base and the candidate, in this order. A look sees the scores of
    the first numbers only, up to the first one that is missing on either side: results may arrive
    in any order, and a slow side is no bias.

    A candidate's failed evaluation ends the comparison without a claim: the scores of the others
    say nothing of the seeds on which it crashes. With wins a failure is a lost pair of its side.
    """

    most: int = 30  # scores of each side
    margin: float = 0.0  # smallest difference that matters
    alpha: float = 0.05  # probability of any wrong claim
    statistic: Statistic = "t"
    paired: bool = False  # evaluations of one number share their data, such as a random split
    known: int = 0  # scores of the base that were there before the candidate's first
    ahead: int = 1  # evaluations of each side under way

    @property
    def by_pairs(self) -> bool:
        """True if a look sees differences within pairs of one number."""
        return self.paired or self.statistic != "t"

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

    def seen(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """Returns the scores of base and candidate that the last look sees; -+inf of failures."""
        n = self.looks(state)
        base, candidate = (np.array(_first(state.scores[model])) for model in state.models)
        return base[: n if self.by_pairs else max(n, self.known)], candidate[:n]

    def settled(self, state: State) -> Settled:
        """Returns what may be said of the candidate after the last look.

        Raises:
          DataError: a score is not from 0 to 1, for betting.
        """
        return _settled(self, *(tuple(of.tolist()) for of in self.seen(state)))

    def verdict(self, state: State) -> Verdict:
        """Returns the verdict after the last look.

        It is "constant" if each side has one score at all seeds: they are no sample.
        """
        if state.excluded:
            return "failed"
        seen = self.seen(state)
        if len(seen[1]) >= FIRST_LOOK and not any(map(results.varies, seen)):
            return "constant"
        return self.settled(state).verdict

    def ask(self, state: State) -> tuple[str, ...]:
        """Returns the sides to evaluate now, one name an evaluation; () if done or waiting."""
        return () if self.answer(state) else self.proposed(state)

    def proposed(self, state: State) -> tuple[str, ...]:
        """Returns the next evaluations of both sides, those with the lowest numbers first."""
        target = min(self.most, max(FIRST_LOOK, self.looks(state) + self.ahead))
        goals = zip(state.models, (max(target, self.known), target), strict=True)
        numbers = [(k, side) for side, goal in goals for k in range(state.begun(side), goal)]
        return tuple(side for _, side in sorted(numbers, key=lambda pair: pair[0]))

    def failed(self, state: State, model: str, number: int, why: str) -> State:
        """Returns the state after an evaluation failed for good.

        Raises:
          RunError: the base failed, so that nothing can be said of any candidate: once, or with
            wins at all of its first seeds.
        """
        counts, scores = self.statistic == "wins", state.scores[model]
        broken = not any(map(math.isfinite, scores.values())) and len(scores) + 1 >= FIRST_LOOK
        if model == state.models[0] and (broken or not counts):
            raise RunError(f"{model}: {why}; without a base nothing is settled")
        if not counts:
            return state.exclude(model, why)
        left = tuple(k for k in state.pending[model] if k != number)
        worst = -math.inf if self.higher_is_better else math.inf
        return dataclasses.replace(
            state,
            scores={**state.scores, model: {**scores, number: worst}},
            pending={**state.pending, model: left},
        )

    def answer(self, state: State) -> Answer | None:
        """Returns the outcome, of which the reason is the verdict; None while it goes on."""
        return self.decided(state)

    def decided(self, state: State) -> Answer | None:
        """Returns the outcome; None while it goes on."""
        base, candidate = state.models
        n = self.looks(state)
        if not state.excluded and n < min(FIRST_LOOK, self.most):
            return None
        verdict = self.verdict(state)
        if verdict == "undecided":
            spent = Answer(base, None, SPENT, state.evaluations, state.models)
            return spent if n >= self.most else None
        best = candidate if verdict == "better" else base
        return Answer(best, None, verdict, state.evaluations)


@functools.lru_cache(8)  # an event asks several times
def _settled(rule: Settle, base: tuple[float, ...], candidate: tuple[float, ...]) -> Settled:
    beyond = [x for x in (*base, *candidate) if not 0 <= x <= 1]
    if rule.statistic == "betting" and beyond:
        name = argument("statistic", "betting")
        raise DataError(f"{name}: expected scores from 0 to 1, found {beyond[0]:g}")
    first, second = rule.signed(candidate), rule.signed(base)
    return claims.settle(
        *((_gaps(first, second),) if rule.by_pairs else (first, second)),
        statistic=rule.statistic,
        known=rule.known,
        margin=rule.margin,
        alpha=rule.alpha,
    )


def _first(scores: Mapping[int, float]) -> list[float]:
    """Returns the scores of the numbers 1, 2, ... up to the first that is missing."""
    return [scores[k] for k in itertools.takewhile(scores.__contains__, itertools.count(1))]


def _gaps(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Returns first - second [n]; 0 where both failed, infinite where one did."""
    differences, whole = np.zeros(len(first)), np.isfinite(first) & np.isfinite(second)
    differences[whole] = results.gaps(first[whole], second[whole])
    one = np.isfinite(first) != np.isfinite(second)
    differences[one] = np.where(np.isfinite(first[one]), np.inf, -np.inf)
    return differences
