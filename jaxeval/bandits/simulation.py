"""Many selections by one rule side by side: what the rule costs, and how often it errs."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.bandits import means as means_of
from jaxeval.bandits import replay as replaying
from jaxeval.bandits.fixed_confidence import Confident, Decision, Moments
from jaxeval.bandits.replay import Pairing, Replay, record_spent
from jaxeval.bandits.rules import CONFIDENT, SPENT, Answer, Rule, first_of
from jaxeval.errors import DataError
from jaxeval.stats.results import Sample

Evaluate = Callable[[str, int], float]  # (model, number of its evaluation from 1) -> score


class MonteCarloMean(NamedTuple):
    """A mean over repetitions with its standard error."""

    value: float
    standard_error: float


def _mean(values: np.ndarray) -> MonteCarloMean:
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
    return MonteCarloMean(float(np.mean(values)), spread / math.sqrt(len(values)))


@dataclasses.dataclass(frozen=True)
class Simulation:
    """What many replays of one rule came to, an entry a repetition."""

    evaluations: np.ndarray  # [R] int
    best: tuple[str, ...]
    correct: np.ndarray  # [R] bool: a model of the highest recorded mean was found
    reasons: tuple[str, ...]
    recorded_best: tuple[str, ...]  # models of the highest mean: several where they tie

    @property
    def mean_evaluations(self) -> MonteCarloMean:
        """Of the evaluations spent."""
        return _mean(self.evaluations)

    @property
    def share_correct(self) -> MonteCarloMean:
        """Of the repetitions that found the best model."""
        return _mean(self.correct)


def simulate(
    rule: Rule,
    scores: Mapping[str, Sample],
    *,
    repetitions: int = 500,
    replacement: bool = False,
    pairing: Pairing = "broken",
    seed: int = 0,
) -> Simulation:
    """Runs a rule many times on recorded scores; repetition r uses seed + r for all its draws.

    A repetition ends with an answer, or when the rule asks for more scores of a model than were
    recorded. With replacement a rule without a budget ends when every score could have come up 20
    times.

    The fixed-confidence rules run side by side, one step of all repetitions at a time; each gives
    what `replay.select` would with the same seeds.

    Raises:
      DataError: recorded scores that are not finite, too few, or cannot be paired.
    """
    if repetitions < 1:
        raise DataError(f"repetitions: expected at least 1, found {repetitions}")
    replays = [Replay(scores, replacement, pairing, seed + r) for r in range(repetitions)]
    seeds = [replay.seed for replay in replays]
    names = list(scores)
    if isinstance(rule, Confident) and rule.delta is not None:
        rule = replaying.prepared(rule, replays[0])
        answers = trials(rule, names, replays, seeds, [replays[0].most(name) for name in names])
    else:
        rules = [dataclasses.replace(rule, seed=k) for k in seeds]
        answers = [replaying.select(*pair)[1] for pair in zip(rules, replays, strict=True)]
    recorded_best = of_highest_mean(rule, scores)
    best = tuple(answer.best for answer in answers)
    return Simulation(
        np.array([answer.evaluations for answer in answers]),
        best,
        np.array([name in recorded_best for name in best]),
        tuple(replaying.reason_in(replays[0], answer.reason) for answer in answers),
        recorded_best,
    )


def of_highest_mean(rule: Rule, scores: Mapping[str, Sample]) -> tuple[str, ...]:
    """The models whose mean of all scores is the best; several where only rounding parts them."""
    sign = 1 if rule.higher_is_better else -1
    means = sign * np.array([means_of.mean(np.asarray(of, np.float64)) for of in scores.values()])
    return tuple(name for name, best in zip(scores, means_of.highest(means), strict=True) if best)


def trials(
    rule: Confident,
    models: Sequence[str],
    evaluators: Sequence[Evaluate],
    seeds: Sequence[int],
    most: Sequence[int | None] | None = None,
) -> list[Answer]:
    """Selections by a fixed-confidence rule with a delta, side by side, a batch at a time.

    Args:
      evaluators: [R] what each selection's scores come from.
      seeds: [R] of the rule's draws.
      most: evaluations that there are of each model; None: any number.

    Raises:
      DataError: fewer evaluations of a model than the rule needs.
    """
    rule.begin(models)  # refuses what cannot be selected from
    sums = _Sums(rule, models, evaluators)
    limits = np.array([math.inf if k is None else k for k in most or [None] * len(models)])
    if np.any(limits < rule.initial):
        raise DataError(f"most: expected {rule.initial} evaluations or more of every model")
    rules = [dataclasses.replace(rule, seed=seed) for seed in seeds]
    active = np.arange(len(rules))
    first = np.repeat(np.arange(len(models)), rule.initial)
    sums.add(active, np.tile(first, (len(active), 1)))
    answers: dict[int, Answer] = {}
    while len(active):
        moments = sums.moments(active)
        spent = moments.counts.sum(axis=1).astype(int)
        decision = rule.decide(moments, spent)
        reasons = np.select([decision.sure, decision.spent], [CONFIDENT, SPENT], "").astype(object)
        going = np.flatnonzero(reasons == "")
        known = decision.probabilities[going] if not rule.epsilon else None
        uniforms = [rules[r].uniforms(n) for r, n in zip(active[going], spent[going], strict=True)]
        places = _places(rule, _rows(moments, going), known, uniforms)
        fits = _planned(places, len(models)) + moments.counts[going] <= limits
        for k, of_models in zip(going, fits, strict=True):
            if not of_models.all():
                first_spent = int(np.argmin(of_models))
                reasons[k] = record_spent(models[first_spent], limits[first_spent])
        for k in np.flatnonzero(reasons != ""):
            answers[active[k]] = _answer(models, decision, int(k), str(reasons[k]), int(spent[k]))
        active, places = active[reasons == ""], places[fits.all(axis=1)]
        sums.add(active, places)
    return [answers[r] for r in range(len(rules))]


class _Sums:
    """Counts, means and squared deviations of all selections, updated score by score."""

    def __init__(self, rule: Rule, models: Sequence[str], evaluators: Sequence[Evaluate]):
        self.rule, self.models, self.evaluators = rule, models, evaluators
        shape = (len(evaluators), len(models))
        self.counts, self.means, self.squares = (np.zeros(shape) for _ in range(3))

    def add(self, selections: np.ndarray, places: np.ndarray) -> None:
        """Evaluations [R, slots] in each of some selections, slot by slot; -1 for none."""
        for of_slot in places.T:
            used = of_slot >= 0
            self._add_one(selections[used], of_slot[used])

    def _add_one(self, selections: np.ndarray, places: np.ndarray) -> None:
        """One evaluation in each (Welford 1962)."""
        at = (selections, places)
        raw = [
            self.evaluators[r](self.models[k], int(self.counts[r, k]) + 1)
            for r, k in zip(selections, places, strict=True)
        ]
        new = self.rule.transformed(np.array(raw))
        self.counts[at] += 1
        gap = new - self.means[at]
        self.means[at] += gap / self.counts[at]
        self.squares[at] += gap * (new - self.means[at])

    def moments(self, selections: np.ndarray) -> Moments:
        """Of some selections."""
        counts = self.counts[selections]
        return Moments(counts, self.means[selections], self.squares[selections] / counts)


def _answer(models: Sequence[str], decision: Decision, k: int, reason: str, spent: int) -> Answer:
    """Of the k-th selection, which has ended."""
    best = decision.best[k]
    probability = float(decision.probabilities[k, best]) if decision.known[k] else None
    return first_of(models, decision.level[k], reason, spent, probability)


def _rows(moments: Moments, rows: np.ndarray) -> Moments:
    return Moments(*(part[rows] for part in moments))


def _places(
    rule: Confident, moments: Moments, known: np.ndarray | None, uniforms: Sequence[np.ndarray]
) -> np.ndarray:
    """Places of the models to evaluate next [R, slots], -1 for no evaluation.

    Args:
      known: probabilities of being the best, where they have been computed before.
      uniforms: [R] of [batch_size, 3].
    """
    rows, models = moments.counts.shape
    if not rows:
        return np.zeros((0, 1), int)
    if known is None:
        known = rule.probabilities(moments)
    places = rule.choose(moments, known, np.zeros_like(known), np.stack(uniforms))
    missing = rule.required(moments) > moments.counts
    if missing.any():
        slots = max(models, places.shape[1])
        required = _widened(np.where(missing, np.arange(models), -1), slots)
        anew = missing.any(axis=1, keepdims=True)
        places = np.where(anew, required, _widened(places, slots))
    left = math.inf if rule.budget is None else rule.budget - moments.counts.sum(axis=1)
    order = np.cumsum(places >= 0, axis=1)
    return np.where(order <= np.reshape(left, (-1, 1)), places, -1)


def _widened(places: np.ndarray, slots: int) -> np.ndarray:
    return np.pad(places, ((0, 0), (0, slots - places.shape[1])), constant_values=-1)


def _planned(places: np.ndarray, models: int) -> np.ndarray:
    """Evaluations of each model in a step, [R, N]."""
    return np.sum(places[..., None] == np.arange(models), axis=1)
