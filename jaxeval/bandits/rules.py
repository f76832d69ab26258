"""Rules that say which model to evaluate next, and when to stop.

    rule = TopTwoThompson(delta=0.05)
    state = rule.begin(["lstm", "transformer"])
    while models := rule.ask(state):
        for model in models:
            state = state.tell(model, evaluate(model))
    print(rule.answer(state))

`ask` depends on the state alone. To evaluate side by side, mark each evaluation with `state.start`
before asking again; results may arrive in any order.
"""

import abc
import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from jaxeval.bandits import posterior
from jaxeval.errors import ConfigError, DataError, RunError, argument
from jaxeval.files import Json

CONFIDENT, SPENT, OUT_OF_TIME = "confident", "the budget is spent", "the time is spent"
_Tie = tuple[set[str], set[str]]  # models with equal means at a cut: stayed, and left


@dataclasses.dataclass(frozen=True)
class State:
    """Scores of each model by evaluation number; every change makes a new state.

    The k-th evaluations of all models share a split and seed; the order of arrival is irrelevant.
    """

    models: tuple[str, ...]
    scores: Mapping[str, Mapping[int, float]]  # model -> number of the evaluation, from 1 -> score
    pending: Mapping[str, tuple[int, ...]]  # model -> numbers under way
    lost: Mapping[str, Mapping[int, str]]  # model -> number -> why it has no score

    @classmethod
    def begin(cls, models: Sequence[str]) -> "State":
        """Returns a state without scores; DataError unless two or more names differ."""
        names = tuple(models)
        if len(names) < 2 or len(set(names)) < len(names):
            found = ", ".join(names)
            raise DataError(f"models: expected two or more different names, found {found}")
        return cls(names, {name: {} for name in names}, dict.fromkeys(names, ()), {})

    @property
    def evaluations(self) -> int:
        """Number of scores so far, including those of excluded models."""
        return sum(map(len, self.scores.values()))

    @property
    def excluded(self) -> dict[str, str]:
        """Models that a failed evaluation drops, and why it failed."""
        return {model: next(iter(of.values())) for model, of in self.lost.items() if of}

    @property
    def alive(self) -> tuple[str, ...]:
        """Models that are not excluded."""
        return tuple(model for model in self.models if model not in self.excluded)

    def scores_of(self, model: str) -> list[float]:
        """Returns a model's scores in the order of their numbers."""
        return [score for _, score in sorted(self.scores[model].items())]

    def begun(self, model: str) -> int:
        """Returns how many evaluations of a model have ended or are under way."""
        lost = self.lost.get(model, ())
        return len(self.scores[model]) + len(self.pending[model]) + len(lost)

    def start(self, model: str) -> tuple["State", int]:
        """Marks one more evaluation of a model as under way; returns its number too."""
        taken = {*self.scores[model], *self.pending[model], *self.lost.get(model, ())}
        number = next(k for k in range(1, len(taken) + 2) if k not in taken)
        return self._with_pending(model, (*self.pending[model], number)), number

    def tell(self, model: str, score: float, number: int | None = None) -> "State":
        """Adds the score of an evaluation; without a number, of the next one."""
        if not math.isfinite(score):
            raise DataError(f"{model}: expected a finite score, found {score}")
        if number is None:
            number = next(iter(self.pending[model]), None) or self.start(model)[1]
        if number in self.scores[model]:
            raise DataError(f"{model}: evaluation {number} has a score already")
        scores = {**self.scores, model: {**self.scores[model], number: float(score)}}
        return dataclasses.replace(self, scores=scores)._without(model, number)

    def lose(self, model: str, number: int, why: str) -> "State":
        """Adds an evaluation that has no score."""
        lost = {**self.lost, model: {**self.lost.get(model, {}), number: why}}
        return dataclasses.replace(self, lost=lost)._without(model, number)

    def _without(self, model: str, number: int) -> "State":
        left = tuple(k for k in self.pending[model] if k != number)
        return self._with_pending(model, left)

    def _with_pending(self, model: str, numbers: tuple[int, ...]) -> "State":
        return dataclasses.replace(self, pending={**self.pending, model: numbers})


class Answer(NamedTuple):
    """The outcome of a selection."""

    best: str
    probability: float | None  # of being the best; None if the rule or the scores give none
    reason: str
    evaluations: int
    undecided: tuple[str, ...] = ()  # models that tie for the best; `best` is the first of them


def first_of(
    leads: Sequence[str], reason: str, evaluations: int, probability: float | None = None
) -> Answer:
    """Returns the answer that names the first of the leading models; DataError if none leads."""
    if not leads:
        raise DataError("expected a score of some model to tell which one leads")
    undecided = tuple(leads) if len(leads) > 1 else ()
    return Answer(leads[0], probability, reason, evaluations, undecided)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rule(abc.ABC):
    """Base of all rules."""

    higher_is_better: bool = True
    seed: int = 0  # of the rule's own draws
    drops: ClassVar[bool] = True  # a model with a failed evaluation: it cannot win

    def to_dict(self) -> dict[str, Json]:
        """Returns the rule's name and settings."""
        return {"name": type(self).__name__, **dataclasses.asdict(self)}

    def begin(self, models: Sequence[str]) -> State:
        """Begins a selection; ConfigError if the budget does not cover the first evaluations."""
        state = State.begin(models)
        least = self.least(len(models))
        budget = getattr(self, "budget", None)
        if budget is not None and budget < least:
            named = argument("budget")
            raise ConfigError(f"{named}: {len(models)} models need at least {least}, got {budget}")
        return state

    def ask(self, state: State) -> tuple[str, ...]:
        """Returns the models to evaluate now, one name an evaluation; () if done or waiting.

        The last model left is evaluated once if it has no score: it may fail as well.
        """
        if self.answer(state) is not None:
            return ()
        if len(left := self.left(state)) == 1:
            return () if state.pending[left[0]] else left
        return self.proposed(state)

    def answer(self, state: State) -> Answer | None:
        """Returns the outcome, or None while the selection goes on; RunError without a model."""
        if not (left := self.left(state)):
            reasons = "; ".join(f"{model}: {why}" for model, why in state.excluded.items())
            raise RunError(f"every model was dropped ({reasons})")
        if len(left) > 1:
            return self.decided(state)
        answer = Answer(left[0], None, "all other models were dropped", state.evaluations)
        return answer if state.scores[left[0]] else None

    def left(self, state: State) -> tuple[str, ...]:
        """Returns the models that have not been dropped."""
        return state.alive if self.drops else state.models

    @abc.abstractmethod
    def least(self, models: int) -> int:
        """Returns how many evaluations of so many models a budget must cover."""

    @abc.abstractmethod
    def at_once(self, models: int) -> int:
        """Returns how many evaluations of one model a batch may hold."""

    @abc.abstractmethod
    def proposed(self, state: State) -> tuple[str, ...]:
        """Returns `ask` while two or more models are left and nothing is decided."""

    @abc.abstractmethod
    def decided(self, state: State) -> Answer | None:
        """Returns `answer` while two or more models are left."""

    def leading(self, state: State, reason: str) -> Answer:
        """Returns the answer of a selection that ends now, for this reason."""
        return first_of(self.highest(state, state.alive), reason, state.evaluations)

    def signed(self, scores: Sequence[float] | np.ndarray) -> np.ndarray:
        """Returns scores [n] of which higher is better."""
        values = np.asarray(scores, np.float64)
        return values if self.higher_is_better else -values

    def means(self, state: State, models: Sequence[str], first: int | None = None) -> np.ndarray:
        """Returns mean signed scores, of all or so many first scores; -inf without a score."""
        samples = [self.signed(state.scores_of(model)[:first]) for model in models]
        return np.array([posterior.mean(of) if len(of) else -math.inf for of in samples])

    def highest(self, state: State, models: Sequence[str], first: int | None = None) -> list[str]:
        """Returns the models whose mean is the highest, up to rounding."""
        leads = posterior.highest(self.means(state, models, first))
        return [model for model, lead in zip(models, leads, strict=True) if lead]


@dataclasses.dataclass(frozen=True, kw_only=True)
class SequentialHalving(Rule):
    """Drops the lower half of the models in each of ceil(log2 N) rounds (Karnin et al. 2013).

    In a round with s survivors each gets floor(budget / (s rounds)) new evaluations; then the
    floor(s / 2) with the lowest mean over all their evaluations leave.
    """

    budget: int

    def least(self, models: int) -> int:
        """Returns the size of a budget with one evaluation of each model in every round."""
        return models * math.ceil(math.log2(models))

    def at_once(self, models: int) -> int:
        """Returns the evaluations of a model in the first round."""
        return self._share(models, models)

    def _share(self, left: int, models: int) -> int:
        return self.budget // (left * math.ceil(math.log2(models)))

    def proposed(self, state: State) -> tuple[str, ...]:
        """Returns what is missing in the current round."""
        survivors, target, *_ = self._progress(state)
        return missing(state, survivors, target)

    def decided(self, state: State) -> Answer | None:
        """Returns the last survivor; the reason says if dropped models ended the rounds early."""
        survivors, _, done, _ = self._progress(state)
        if not done:
            return None
        reasons = (
            "all survivors were dropped; this is the best of the others",
            "the other survivors were dropped",
            "all rounds are done" if state.excluded else SPENT,  # shares of dropped models remain
        )
        return self.leading(state, reasons[min(2, len(survivors))])

    def leading(self, state: State, reason: str) -> Answer:
        """Returns the survivor, or other model, with the highest mean.

        Models that left only because of their place in the list tie with it.
        """
        survivors, target, done, ties = self._progress(state)
        first = target if done and survivors else None  # scores beyond the rounds do not count
        leads = {*self.highest(state, survivors or state.alive, first)}
        for stayed, left in reversed(ties):
            leads |= left if stayed & leads else set()
        named = [model for model in state.alive if model in leads]
        return first_of(named, reason, state.evaluations)

    def _progress(self, state: State) -> tuple[list[str], int, bool, list[_Tie]]:
        """Computes the current round from the scores: the first ones belong to the first round.

        Returns its survivors that are alive, the evaluations of each at its end, whether it is the
        last and complete, and the ties at all cuts. Dropped models leave where they stopped.
        """
        survivors = [*state.models]
        alive = {*state.alive}
        target = 0
        ties: list[_Tie] = []
        while True:
            target += self._share(len(survivors), len(state.models))
            places = len(survivors) - len(survivors) // 2
            behind = {model for model in survivors if len(state.scores[model]) < target}
            if behind & alive:
                return [m for m in survivors if m in alive], target, False, ties
            ranked = [model for model in survivors if model not in behind]
            if places == 1 or len(ranked) < 2:
                return [m for m in ranked if m in alive], target, True, ties
            means = posterior.levelled(self.means(state, ranked, target))
            order = np.argsort(-means, kind="stable")
            stay = {ranked[k] for k in order[:places]}
            cut = means[order[min(places, len(ranked)) - 1]]
            equal = {model for model, mean in zip(ranked, means, strict=True) if mean == cut}
            ties.append((equal & stay, equal - stay))
            survivors = [model for model in ranked if model in stay]


def missing(state: State, models: Sequence[str], target: int) -> tuple[str, ...]:
    """Returns each model as often as it lacks evaluations up to a target."""
    return tuple(m for m in models for _ in range(target - state.begun(m)))
