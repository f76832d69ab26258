"""Selections on recorded scores: one, and many side by side, which say what a rule costs."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.bandits import evaluate, posterior
from jaxeval.bandits.confidence import Confident, Decision
from jaxeval.bandits.posterior import Moments
from jaxeval.bandits.rules import CONFIDENT, SPENT, Answer, Rule, first_of
from jaxeval.bandits.state import State
from jaxeval.errors import DataError
from jaxeval.stats.results import Sample, sample

Evaluate = Callable[[str, int], float]  # (model, number of its evaluation from 1) -> score


class Replay:
    """Evaluations drawn from recorded scores without replacement, each model's for itself.

    A recorded score that came up twice would be no new evidence of its model.

    Attributes:
      most: model -> how many scores it has.

    Raises:
      DataError: scores that are not finite.
    """

    def __init__(self, scores: Mapping[str, Sample], seed: int = 0):
        arrays = {name: sample(values, name) for name, values in scores.items()}
        self.most = {name: len(values) for name, values in arrays.items()}
        self._drawn = {
            name: values[np.random.default_rng([seed, k, 0]).permutation(len(values))]
            for k, (name, values) in enumerate(arrays.items(), 1)
        }

    def __call__(self, model: str, number: int) -> float:
        """The score of a model's evaluation with this number, from 1."""
        return float(self._drawn[model][number - 1])


def select(rule: Rule, replay: Replay) -> tuple[State, Answer]:
    """Runs a rule on recorded scores until it has its answer, or the record of a model is spent.

    Raises:
      DataError: scores too few to select from, or fewer than a fixed budget needs.
    """
    _refuse_few(rule, replay)
    state = rule.begin(list(replay.most))
    while models := rule.ask(state):
        if spent := evaluate.beyond(state, models, replay.most):
            reason = record_spent(spent, replay.most[spent])
            return state, evaluate.cut_short(rule, state, spent, reason)
        for model in models:
            number = state.begun(model) + 1
            state = state.tell(model, replay(model, number), number)
    answer = rule.answer(state)
    assert answer is not None
    return state, answer


def record_spent(model: str, most: float) -> str:
    """Why a replay ended: the first model of which more is asked for than was recorded."""
    return f"more than the {most:.0f} recorded scores of {model} are asked for"


def _refuse_few(rule: Rule, replay: Replay) -> None:
    for name, most in replay.most.items():
        if isinstance(rule, Confident) and most < rule.initial:
            raise DataError(
                f"{name}: {most} recorded scores; expected {rule.initial} or more, since fewer "
                "say too little about its spread"
            )


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
    rule: Rule, scores: Mapping[str, Sample], *, repetitions: int = 500, seed: int = 0
) -> Simulation:
    """Runs a rule many times on recorded scores; repetition r uses seed + r for all its draws.

    The fixed-confidence rules run side by side, one step of all repetitions at a time; each gives
    what `select` would with the same seeds.

    Raises:
      DataError: recorded scores that are not finite, or too few.
    """
    seeds = range(seed, seed + repetitions)
    arrays = {name: sample(of, name) for name, of in scores.items()}
    replays = [Replay(arrays, k) for k in seeds]
    _refuse_few(rule, replays[0])
    if isinstance(rule, Confident) and rule.delta is not None:
        answers = trials(rule, [*scores], replays, seeds, [*replays[0].most.values()])
    else:
        rules = [dataclasses.replace(rule, seed=k) for k in seeds]
        answers = [select(*pair)[1] for pair in zip(rules, replays, strict=True)]
    means = np.array([posterior.mean(rule.signed(of)) for of in arrays.values()])
    best = [name for name, of in zip(scores, posterior.highest(means), strict=True) if of]
    return Simulation(
        np.array([answer.evaluations for answer in answers]),
        tuple(answer.best for answer in answers),
        np.array([answer.best in best for answer in answers]),
        tuple(answer.reason for answer in answers),
        tuple(best),
    )


def trials(
    rule: Confident,
    models: Sequence[str],
    evaluators: Sequence[Evaluate],
    seeds: Sequence[int],
    most: Sequence[float] | None = None,
) -> list[Answer]:
    """Selections by a fixed-confidence rule with a delta, side by side, a batch at a time.

    Args:
      evaluators: [R] what each selection's scores come from.
      seeds: [R] of the rule's draws.
      most: evaluations that there are of each model; None: any number.
    """
    rule.begin(models)  # refuses what cannot be selected from
    sums = _Sums(rule, models, evaluators)
    limits = np.array([math.inf] * len(models) if most is None else most)
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
        uniforms = [rules[r].uniforms(n) for r, n in zip(active[going], spent[going], strict=True)]
        left = Moments(*(part[going] for part in moments))
        places = _places(rule, left, decision.probabilities[going], uniforms)
        planned = np.sum(places[..., None] == np.arange(len(models)), axis=1)  # [R, N]
        fits = planned + left.counts <= limits
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
        new = self.rule.signed(raw)
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
    leads = [model for model, leads in zip(models, decision.leads[k], strict=True) if leads]
    return first_of(leads, reason, spent, probability)


def _places(
    rule: Confident, moments: Moments, known: np.ndarray, uniforms: Sequence[np.ndarray]
) -> np.ndarray:
    """Places of the models to evaluate next [R, slots], -1 for no evaluation.

    Args:
      known: probabilities of being the best.
      uniforms: [R] of [batch_size, 3].
    """
    rows, models = moments.counts.shape
    if not rows:
        return np.zeros((0, 1), int)
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
