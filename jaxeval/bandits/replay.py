"""Replays recorded scores as if the models were evaluated anew.

A recorded score that comes up twice is no new evidence of its model. So a replay draws without
replacement unless told otherwise, and ends when it would need a score more than were recorded.
"""

import dataclasses
import functools
from collections import Counter
from collections.abc import Mapping
from typing import Literal, TypeVar

import numpy as np

from jaxeval.bandits.fixed_confidence import CONSTANT, Confident
from jaxeval.bandits.rules import CONFIDENT, Answer, Rule
from jaxeval.bandits.state import State
from jaxeval.errors import DataError
from jaxeval.stats.results import Sample, sample

Pairing = Literal["kept", "broken"]
CONFIDENT_OF_RECORD = "confident of the recorded scores alone"  # drawn with replacement
_CHUNK = 64  # draws with replacement made at a time
_MOST_REPLAYS, _LEAST_CAP = 20, 1000
R = TypeVar("R", bound=Rule)


@dataclasses.dataclass(frozen=True)
class Replay:
    """Evaluations drawn from recorded scores.

    Attributes:
      scores: model -> recorded scores. With the pairing kept, the k-th scores of all models
        belong to one split.
      replacement: whether every evaluation draws from all recorded scores; if not, each comes up
        once.
      pairing: "kept": the k-th evaluations of all models use one record, as when all models see
        the same split; "broken": each evaluation draws for itself, as when every one has a fresh
        split.
      seed: of the draws.
    """

    scores: Mapping[str, Sample]
    replacement: bool = False
    pairing: Pairing = "broken"
    seed: int = 0

    def __post_init__(self) -> None:
        for name, values in self.scores.items():
            sample(values, name)
        if self.pairing not in ("kept", "broken"):
            raise DataError(f"pairing: expected kept or broken, found {self.pairing}")
        lengths = {len(values) for values in self.scores.values()}
        if self.pairing == "kept" and len(lengths) > 1:
            raise DataError(
                f"pairing kept: expected as many scores of every model, found {sorted(lengths)}"
            )

    def __call__(self, model: str, number: int) -> float:
        """The score of a model's evaluation with this number (from 1).

        Raises:
          DataError: without replacement, a number beyond the recorded scores.
        """
        values = self.scores[model]
        return float(values[self._row(model, number - 1)])

    def most(self, model: str) -> int | None:
        """Evaluations of a model that can be drawn; None: any number."""
        return None if self.replacement else len(self.scores[model])

    def _row(self, model: str, number: int) -> int:
        size = len(self.scores[model])
        stream = 0 if self.pairing == "kept" else 1 + list(self.scores).index(model)
        if self.replacement:
            chunk, offset = divmod(number, _CHUNK)
            return int(_drawn(self.seed, stream, chunk, size)[offset])
        if number >= size:
            raise DataError(f"{model}: evaluation {number + 1} of {size} recorded scores")
        return int(_shuffled(self.seed, stream, size)[number])


@functools.lru_cache(maxsize=1 << 15)
def _drawn(seed: int, stream: int, chunk: int, size: int) -> np.ndarray:
    return np.random.default_rng([seed, stream, chunk]).integers(size, size=_CHUNK)


@functools.lru_cache(maxsize=1 << 15)
def _shuffled(seed: int, stream: int, size: int) -> np.ndarray:
    return np.random.default_rng([seed, stream, 0]).permutation(size)


def select(rule: Rule, replay: Replay) -> tuple[State, Answer]:
    """Runs a rule on recorded scores until it has its answer, or the record of a model is spent.

    Raises:
      DataError: scores too few to select from, or fewer than a fixed budget needs.
    """
    rule = prepared(rule, replay)
    state = rule.begin(list(replay.scores))
    while models := rule.ask(state):
        planned = Counter(models)
        for model, scores in zip(state.models, state.scores, strict=True):
            most = replay.most(model)
            if is_spent(len(scores) + planned[model], most):
                return state, cut_short(rule, state, model, record_spent(model, most))
        for model in models:
            number = state.next_number(model)
            state = rule.tell(state, model, replay(model, number), number)
    answer = rule.answer(state)
    assert answer is not None
    return state, answer._replace(reason=reason_in(replay, answer.reason))


def prepared(rule: R, replay: Replay) -> R:
    """The rule for a replay; with replacement it gets a bound, since equal records never end.

    Three scores (the least that FIESTA's prior takes) are enough to begin with: the posterior of
    three is as wide as Cauchy's, and two equal models are hardly ever told apart by it.

    Raises:
      DataError: a model has too few recorded scores, or several that do not differ.
    """
    if not isinstance(rule, Confident):
        return rule
    for name, values in replay.scores.items():
        if len(values) < rule.initial:
            raise DataError(
                f"{name}: {len(values)} recorded scores; expected {rule.initial} or more, since "
                "fewer say too little about its spread"
            )
        if replay.replacement and len(values) < CONSTANT and len(set(map(float, values))) == 1:
            raise DataError(
                f"{name}: its {len(values)} recorded scores are equal; drawing them again says "
                "nothing of its spread"
            )
    if not replay.replacement or rule.budget is not None:
        return rule
    bound = max(_LEAST_CAP, _MOST_REPLAYS * sum(map(len, replay.scores.values())))
    return dataclasses.replace(rule, budget=bound)


def record_spent(model: str, most: float | None) -> str:
    """Why a replay ended: the first model of which more is asked for than was recorded."""
    return f"more than the {most:.0f} recorded scores of {model} are asked for"


def is_spent(evaluations: int, most: int | None) -> bool:
    """Whether so many evaluations of a model are more than can be drawn."""
    return most is not None and evaluations > most


def reason_in(replay: Replay, reason: str) -> str:
    """Why a selection ended: with replacement nothing is confident beyond the record."""
    return CONFIDENT_OF_RECORD if replay.replacement and reason == CONFIDENT else reason


def cut_short(rule: Rule, state: State, model: str, reason: str) -> Answer:
    """The answer where more evaluations of a model are asked for than there are.

    Raises:
      DataError: a rule that spends a fixed budget has none before it is spent.
    """
    if isinstance(rule, Confident) and rule.delta is not None:
        return rule.leading(state, reason)
    raise DataError(
        f"budget: more scores of {model} are asked for than there are; spend less, or draw "
        "recorded scores with replacement"
    )
