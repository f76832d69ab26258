"""Replays recorded scores as if the models were evaluated anew, once or many times at once."""

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeVar

import numpy as np

from jaxeval.bandits import fixed_confidence
from jaxeval.bandits.fixed_confidence import Confident
from jaxeval.bandits.rules import Answer, Rule
from jaxeval.errors import DataError
from jaxeval.stats.results import Sample, sample

Pairing = Literal["kept", "broken"]
_CHUNK = 64  # draws with replacement made at a time
_MOST_REPLAYS, _LEAST_CAP = 20, 1000
R = TypeVar("R", bound=Rule)


@dataclasses.dataclass(frozen=True)
class Replay:
    """Evaluations drawn from recorded scores.

    Attributes:
      scores: model -> recorded scores. With the pairing kept, the k-th scores of all models
        belong to one split.
      replacement: whether every evaluation draws from all recorded scores; if not, none comes
        again before all of its model have come up once.
      pairing: "kept": the k-th evaluations of all models use one record, as when all models see
        the same split; "broken": each evaluation draws for itself, as when every one has a fresh
        split.
      seed: of the draws.
    """

    scores: Mapping[str, Sample]
    replacement: bool = True
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
        """The score of a model's evaluation with this number (from 1)."""
        values = self.scores[model]
        return float(values[self._row(model, number - 1)])

    def _row(self, model: str, number: int) -> int:
        size = len(self.scores[model])
        stream = 0 if self.pairing == "kept" else 1 + list(self.scores).index(model)
        if self.replacement:
            chunk, place = divmod(number, _CHUNK)
            return int(_drawn(self.seed, stream, chunk, size)[place])
        again, place = divmod(number, size)
        return int(_shuffled(self.seed, stream, again, size)[place])


@functools.lru_cache(maxsize=1 << 15)
def _drawn(seed: int, stream: int, chunk: int, size: int) -> np.ndarray:
    return np.random.default_rng([seed, stream, chunk]).integers(size, size=_CHUNK)


@functools.lru_cache(maxsize=1 << 15)
def _shuffled(seed: int, stream: int, again: int, size: int) -> np.ndarray:
    return np.random.default_rng([seed, stream, again]).permutation(size)


class Mean(NamedTuple):
    """A mean over repetitions with its standard error."""

    value: float
    standard_error: float


def _mean(values: np.ndarray) -> Mean:
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
    return Mean(float(np.mean(values)), spread / math.sqrt(len(values)))


@dataclasses.dataclass(frozen=True)
class Simulation:
    """What many replays of one rule came to, an entry a repetition."""

    evaluations: np.ndarray  # [R] int
    best: tuple[str, ...]
    correct: np.ndarray  # [R] bool: the model of the highest recorded mean was found
    reasons: tuple[str, ...]

    @property
    def mean_evaluations(self) -> Mean:
        """Of the evaluations spent."""
        return _mean(self.evaluations)

    @property
    def share_correct(self) -> Mean:
        """Of the repetitions that found the best model."""
        return _mean(self.correct)


def simulate(
    rule: Rule,
    scores: Mapping[str, Sample],
    *,
    repetitions: int = 500,
    replacement: bool = True,
    pairing: Pairing = "broken",
    seed: int = 0,
) -> Simulation:
    """Runs a rule many times on recorded scores; repetition r uses seed + r for all its draws.

    A rule without a budget ends when every score could have come up 20 times.

    The fixed-confidence rules run side by side, one step of all repetitions at a time; each gives
    what the state machine would with the same seeds, all of a batch told before it is asked again.

    Raises:
      DataError: recorded scores that are not finite, or cannot be paired.
    """
    if repetitions < 1:
        raise DataError(f"repetitions: expected at least 1, found {repetitions}")
    replays = [Replay(scores, replacement, pairing, seed + r) for r in range(repetitions)]
    rule = capped(rule, scores)
    rule.begin(list(scores))  # refuses what cannot be selected from
    if isinstance(rule, fixed_confidence.Confident) and rule.delta is not None:
        ended = _together(rule, replays)
    else:
        ended = [_alone(dataclasses.replace(rule, seed=one.seed), one) for one in replays]
    sign = 1 if rule.higher_is_better else -1
    truth = max(scores, key=lambda name: sign * float(np.mean(scores[name])))
    best = tuple(answer.best for answer in ended)
    return Simulation(
        np.array([answer.evaluations for answer in ended]),
        best,
        np.array([name == truth for name in best]),
        tuple(answer.reason for answer in ended),
    )


def capped(rule: R, scores: Mapping[str, Sample]) -> R:
    """The rule with a bound, if it has none: equal recorded scores would be replayed for ever."""
    if isinstance(rule, Confident) and rule.budget is None:
        many = _MOST_REPLAYS * sum(map(len, scores.values()))
        return dataclasses.replace(rule, budget=max(_LEAST_CAP, many))
    return rule


def _alone(rule: Rule, replay: Replay) -> Answer:
    state = rule.begin(list(replay.scores))
    while models := rule.ask(state):
        for model in models:
            number = state.next_number(model)
            state = rule.tell(state, model, replay(model, number), number)
    found = rule.answer(state)
    assert found is not None
    return found


class _Sums:
    """Counts, means and squared deviations of all repetitions, updated score by score."""

    def __init__(self, rule: Confident, replays: Sequence[Replay]):
        self.rule, self.replays = rule, replays
        self.names = list(replays[0].scores)
        shape = (len(replays), len(self.names))
        self.counts, self.means, self.squares = (np.zeros(shape) for _ in range(3))

    def add(self, repetitions: np.ndarray, places: np.ndarray) -> None:
        """One evaluation in each of some repetitions (Welford 1962)."""
        at = (repetitions, places)
        raw = [
            self.replays[r](self.names[k], int(self.counts[r, k]) + 1)
            for r, k in zip(repetitions, places, strict=True)
        ]
        new = self.rule.transformed(np.array(raw))
        self.counts[at] += 1
        gap = new - self.means[at]
        self.means[at] += gap / self.counts[at]
        self.squares[at] += gap * (new - self.means[at])

    def moments(self, repetitions: np.ndarray) -> fixed_confidence.Moments:
        counts = self.counts[repetitions]
        return fixed_confidence.Moments(
            counts, self.means[repetitions], self.squares[repetitions] / counts
        )


def _together(rule: Confident, replays: Sequence[Replay]) -> list[Answer]:
    """All repetitions of a fixed-confidence rule, a step at a time."""
    sums, everyone = _Sums(rule, replays), np.arange(len(replays))
    rules = [dataclasses.replace(rule, seed=one.seed) for one in replays]
    for place in range(len(sums.names)):
        for _ in range(rule.initial):
            sums.add(everyone, np.full(len(rules), place))
    ended: list[Answer | None] = [None] * len(rules)
    active = everyone
    while len(active):
        moments = sums.moments(active)
        spent = moments.counts.sum(axis=1).astype(int)
        decision = rule.decide(moments, spent)
        done = decision.sure | decision.spent
        for k in np.flatnonzero(done):
            best = decision.best[k]
            reason = fixed_confidence.CONFIDENT if decision.sure[k] else fixed_confidence.SPENT
            ended[active[k]] = Answer(
                sums.names[best], float(decision.probabilities[k, best]), reason, int(spent[k])
            )
        active = active[~done]
        if not len(active):
            break
        going = fixed_confidence.Moments(*(part[~done] for part in moments))
        known = decision.probabilities[~done] if not rule.epsilon else rule.probabilities(going)
        uniforms = np.stack(
            [rules[r].uniforms(n) for r, n in zip(active, spent[~done], strict=True)]
        )
        chosen = rule.choose(going, known, np.zeros_like(known), uniforms)
        for slot in range(chosen.shape[-1]):
            room = spent[~done] + slot < (math.inf if rule.budget is None else rule.budget)
            sums.add(active[room], chosen[room, slot])
    return [answer for answer in ended if answer is not None]
