"""Which model to evaluate next, and when to stop: pure state machines.

    rule = TopTwoThompson(delta=0.05)
    state = rule.begin(["lstm", "transformer"])
    while models := rule.ask(state):
        for model in models:
            state = state.tell(model, evaluate(model))
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

from jaxeval.bandits import posterior
from jaxeval.bandits import state as states
from jaxeval.bandits.state import State
from jaxeval.errors import ConfigError, DataError, RunError
from jaxeval.files import Json
from jaxeval.parameters import MOST, SEED_LIMIT, Number

CONFIDENT, SPENT = "confident", "the budget is spent"
OUT_OF_TIME = "the time is spent"
ALONE = "all other models were dropped"
ROUNDS_DONE = "all rounds are done"  # without the share of a model that was dropped
OTHER_SURVIVORS_DROPPED = "the other survivors were dropped"
SURVIVORS_DROPPED = "all survivors were dropped; this is the best of the others"
_NUMBERS = {  # settings of all rules
    "delta": (Number(0, 1, exclusive=True), float),
    "prior": (Number(-5, 1), float),
    "budget": (Number(1, MOST), int),
    "batch_size": (Number(1, MOST), int),
    "seed": (Number(0, SEED_LIMIT - 1), int),
}


class Answer(NamedTuple):
    """How a selection ended."""

    best: str
    probability: float | None  # of being the best; None where the rule or the scores give none
    reason: str
    evaluations: int
    undecided: tuple[str, ...] = ()  # models between which nothing decides: `best` is the first


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rule:
    """What all rules share.

    Attributes:
      higher_is_better: False for losses and perplexities.
      seed: of the rule's own draws.
    """

    higher_is_better: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuses settings that are impossible; ConfigError names them."""
        if not isinstance(self.higher_is_better, bool):
            raise ConfigError(f"higher_is_better: got {self.higher_is_better!r:.60}, no bool")
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name in _NUMBERS and value is not None:
                bounds, kind = _NUMBERS[field.name]
                try:
                    object.__setattr__(self, field.name, bounds.check(value, kind))
                except ValueError as expected:
                    found = f"expected {expected}, got {value!r:.60}"
                    raise ConfigError(f"{field.name}: {found}") from None

    def to_dict(self) -> dict[str, Json]:
        """Its name and settings."""
        return {"name": type(self).__name__, **dataclasses.asdict(self)}

    def begin(self, models: Sequence[str]) -> State:
        """A selection among these models.

        Raises:
          ConfigError: the budget does not cover the first evaluations.
        """
        state = states.begin(models)
        least, budget = self.least(len(state.models)), getattr(self, "budget", None)
        if budget is not None and budget < least:
            raise ConfigError(
                f"budget: {len(state.models)} models need at least {least}, got {budget}"
            )
        return state

    def ask(self, state: State) -> tuple[str, ...]:
        """Models to evaluate now, one name an evaluation; () when done or while waiting.

        A model that is left alone without a score is evaluated once: it may be broken as well.
        """
        if self.answer(state) is not None:
            return ()
        if len(state.alive) == 1:
            return () if state.pending[state.alive[0]] else state.alive
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
        return Answer(last, None, ALONE, state.evaluations) if state.scores[last] else None

    def least(self, models: int) -> int:
        """Evaluations of so many models that a budget must cover."""
        raise NotImplementedError

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
        return first_of(self.highest(state, state.alive), reason, state.evaluations)

    def signed(self, scores: Sequence[float] | np.ndarray) -> np.ndarray:
        """Scores of which higher is better, [n]."""
        values = np.asarray(scores, np.float64)
        return values if self.higher_is_better else -values

    def mean(self, state: State, model: str, first: int | None = None) -> float:
        """Mean signed score of a model, or of so many of its first; -inf without scores."""
        scores = state.scores_of(model)[:first]
        return posterior.mean(self.signed(scores)) if scores else -math.inf

    def highest(
        self, state: State, models: Sequence[str], first: int | None = None
    ) -> tuple[str, ...]:
        """Those of some models whose mean is the highest, but for rounding."""
        means = np.array([self.mean(state, model, first) for model in models])
        return tuple(np.array(models, object)[posterior.highest(means)])


def first_of(
    leads: Sequence[str], reason: str, evaluations: int, probability: float | None = None
) -> Answer:
    """The answer that names the first of the models that lead.

    Raises:
      DataError: no model leads, as none has a score.
    """
    if not leads:
        raise DataError("expected a score of some model to tell which one leads")
    undecided = tuple(leads) if len(leads) > 1 else ()
    return Answer(leads[0], probability, reason, evaluations, undecided)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SequentialHalving(Rule):
    """Drops the lower half of the models in each of ceil(log2 N) rounds (Karnin et al. 2013).

    In a round with s survivors each gets floor(budget / (s rounds)) new evaluations; then the
    floor(s / 2) of the lowest mean over all their evaluations go.
    """

    budget: int

    def least(self, models: int) -> int:
        """One evaluation a round of all models."""
        return models * _rounds(models)

    def at_once(self, models: int) -> int:
        """Those of the first round; a later one, of fewer models, has more for each."""
        return self._share(models, models)

    def of_last(self, models: int) -> int:
        """Evaluations of the model that is left in the end, of so many."""
        left, spent = models, 0
        while left > 1:
            spent += self._share(left, models)
            left -= left // 2
        return spent

    def _share(self, left: int, models: int) -> int:
        """New evaluations of each model in a round with so many left."""
        return self.budget // (left * _rounds(models))

    def proposed(self, state: State) -> tuple[str, ...]:
        """What is missing of the current round."""
        stand = self._stand(state)
        return missing(state, stand.survivors, stand.target)

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

        Models that left for their place in the list alone lead as well.
        """
        stand = self._stand(state)
        first = stand.target if stand.done and stand.survivors else None  # no scores beyond rounds
        leads = {*self.highest(state, stand.survivors or state.alive, first)}
        for stayed, went in reversed(stand.ties):
            leads |= went if stayed & leads else set()
        named = [model for model in state.alive if model in leads]
        return first_of(named, reason, state.evaluations)

    def _stand(self, state: State) -> "_Stand":
        """How far the rounds are.

        Computed anew from the scores: the first evaluations of each model, by number, are those
        of the first round. A dropped model drops out of the round that it did not end, and leaves
        its share unspent.
        """
        survivors, alive, target = [*state.models], {*state.alive}, 0
        ties: list[tuple[set[str], set[str]]] = []
        while True:
            target += self._share(len(survivors), len(state.models))
            places = len(survivors) - len(survivors) // 2
            behind = {model for model in survivors if len(state.scores[model]) < target}
            if behind & alive:
                return _Stand([m for m in survivors if m in alive], target, False, ties)
            ranked = [model for model in survivors if model not in behind]
            if places == 1 or len(ranked) < 2:
                return _Stand([m for m in ranked if m in alive], target, True, ties)
            means = np.array([self.mean(state, model, target) for model in ranked])
            means = posterior.levelled(means)
            order = np.argsort(-means, kind="stable")
            stay = {ranked[k] for k in order[:places]}
            at_cut = min(places, len(ranked)) - 1
            equal = {m for m, of in zip(ranked, means, strict=True) if of == means[order[at_cut]]}
            ties.append((equal & stay, equal - stay))
            survivors = [model for model in ranked if model in stay]


class _Stand(NamedTuple):
    survivors: list[str]  # alive, of the round under way; after the last one, those that ended it
    target: int  # evaluations of each at the end of the round under way, or of the last one
    done: bool  # whether no round is left
    ties: list[tuple[set[str], set[str]]]  # equal at a cut: those that stayed, and that left


def missing(state: State, models: Sequence[str], target: int) -> tuple[str, ...]:
    """These models, as often as evaluations are missing up to a target of each."""
    return tuple(m for m in models for _ in range(target - state.begun(m)))


def _rounds(models: int) -> int:
    return math.ceil(math.log2(models))
