"""Which model is best, with as few evaluations as possible (Moss et al. 2019); no jax.

`Settle` asks of two models, a base and a candidate, until a claim holds whenever one stops.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np

from jaxeval import stats
from jaxeval.bandits.confidence import BatchThompson, NonAdaptive, TopTwoThompson
from jaxeval.bandits.rules import SPENT, Answer, Rule, SequentialHalving, State
from jaxeval.bandits.running import Replay, select
from jaxeval.errors import ConfigError, DataError, RunError, argument
from jaxeval.stats import anytime
from jaxeval.stats.anytime import Settled, Statistic
from jaxeval.stats.sequential import FIRST_LOOK

__all__ = ["Answer", "BatchThompson", "NonAdaptive", "Replay", "Rule", "SequentialHalving"]
__all__ += ["Settle", "State", "TopTwoThompson", "Verdict", "rule", "select"]
_RULES: dict[str, Callable[..., Rule]] = {
    "top-two": TopTwoThompson,
    "batch": BatchThompson,
    "non-adaptive": NonAdaptive,
    "sequential-halving": SequentialHalving,
}
Verdict = Literal["better", "worse", "equal", "undecided", "constant", "failed"]


def rule(
    name: str,
    higher_is_better: bool,
    delta: float | None,
    budget: int | None,
    batch: int | None,
    seed: int,
    default_batch: int | None = None,
) -> Rule:
    """Makes a rule by name.

    `delta` None is .05, or none for a non-adaptive rule with a budget. `default_batch` holds if
    `batch` is None and the rule has batches. ConfigError if arguments do not go together.
    """
    said = argument("rule", name)
    in_rounds = name in ("non-adaptive", "sequential-halving")
    if in_rounds and batch is not None:
        raise ConfigError(f"{said}: takes no {argument('batch')}: a round is a batch")
    if name == "sequential-halving" and (budget is None or delta is not None):
        expected = f"expected {argument('budget', 'N')}, and no {argument('delta')}"
        raise ConfigError(f"{said}: {expected}")
    settings: dict[str, Any] = {"higher_is_better": higher_is_better, "seed": seed}
    settings["budget"] = budget
    if delta is not None or (name == "non-adaptive" and budget is not None):
        settings["delta"] = delta
    if not in_rounds and (size := batch or default_batch):
        settings["batch_size"] = size
    return _RULES[name](**settings)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settle(Rule):
    """Evaluates a base and a candidate until one is better, or both are equal within a margin.

    The models of a state are the base and the candidate, in this order. A look sees the scores of
    the first numbers only, up to the first one that is missing on either side: results may arrive
    in any order, and a slow side is no bias.

    A candidate's failed evaluation ends the comparison without a claim, unless those before it
    have settled it: the scores of the others say nothing of the seeds on which it crashes. With
    wins a failure is a lost pair of its side.
    """

    drops: ClassVar[bool] = False
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
        return max(self.ahead, FIRST_LOOK, self.known)

    def looks(self, state: State) -> int:
        """Returns the number of the candidate's scores that the last look sees."""
        base, candidate = (len(self._first(state, model)) for model in state.models)
        return min(base, candidate) if base >= self.known else 0

    def seen(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """Returns the scores of base and candidate that the last look sees; -+inf of failures."""
        n = self.looks(state)
        base, candidate = (np.array(self._first(state, model)) for model in state.models)
        return base[: n if self.by_pairs else max(n, self.known)], candidate[:n]

    def _first(self, state: State, model: str) -> list[float]:
        """Returns the scores of the numbers 1, 2, ... up to the first that is missing."""
        known = dict(state.scores[model])
        if self.statistic == "wins":
            worst = -math.inf if self.higher_is_better else math.inf
            known |= dict.fromkeys(state.lost.get(model, ()), worst)
        return [known[k] for k in itertools.takewhile(known.__contains__, itertools.count(1))]

    def stopped(self, state: State) -> dict[str, str]:
        """Returns the sides whose failure keeps the next look away, and why they failed.

        With wins that is a base without any score: failures are lost pairs.
        """
        following = self.looks(state) + 1
        base, _ = state.models
        if self.statistic == "wins":
            first = self._first(state, base)
            broken = len(first) >= FIRST_LOOK and not np.isfinite(first).any()
            return {base: state.lost[base][1]} if broken else {}
        found = {m: of[following] for m, of in state.lost.items() if following in of}
        return found if following <= self.most else {}

    def settled(self, state: State) -> Settled:
        """Returns what may be said of the candidate after the last look.

        Raises:
          DataError: a score is not from 0 to 1, for betting.
        """
        return _settled(self, *(tuple(of.tolist()) for of in self.seen(state)))

    def verdict(self, state: State) -> Verdict:
        """Returns the verdict after the last look.

        It is "constant" if each side has one score at all seeds: they are no sample.

        Raises:
          RunError: the base failed before anything was settled.
        """
        seen = self.seen(state)
        stopped = self.stopped(state)
        base, _ = state.models
        constant = len(seen[1]) >= FIRST_LOOK and not any(map(stats.varies, seen))
        verdict: Verdict = "constant" if constant else self.settled(state).verdict
        if base in stopped and (verdict == "undecided" or self.statistic == "wins"):
            raise RunError(f"{base}: {stopped[base]}; nothing can be settled without a base")
        return "failed" if verdict == "undecided" and stopped else verdict

    def proposed(self, state: State) -> tuple[str, ...]:
        """Returns the next evaluations of both sides, those with the lowest numbers first."""
        target = min(self.most, max(FIRST_LOOK, self.looks(state) + self.ahead))
        goals = zip(state.models, (max(target, self.known), target), strict=True)
        numbers = [(k, side) for side, goal in goals for k in range(state.begun(side), goal)]
        return tuple(side for _, side in sorted(numbers, key=lambda pair: pair[0]))

    def decided(self, state: State) -> Answer | None:
        """Returns the outcome, of which the reason is the verdict; None while it goes on."""
        base, candidate = state.models
        n = self.looks(state)
        if n < min(FIRST_LOOK, self.most) and not self.stopped(state):
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
    return anytime.settle(
        *((_gaps(first, second),) if rule.by_pairs else (first, second)),
        statistic=rule.statistic,
        known=rule.known,
        margin=rule.margin,
        alpha=rule.alpha,
    )


def _gaps(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Returns first - second [n]; 0 where both failed, infinite where one did."""
    differences = np.zeros(len(first))
    whole = np.isfinite(first) & np.isfinite(second)
    differences[whole] = stats.gaps(first[whole], second[whole])
    one = np.isfinite(first) != np.isfinite(second)
    differences[one] = np.where(np.isfinite(first[one]), np.inf, -np.inf)
    return differences
