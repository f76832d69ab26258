"""What a tuner knows: the settings that were proposed, and what came of their evaluations.

The order is that of the proposals, whichever result arrived first, so that what is proposed next
depends on the results and not on when they came.

Trainings that are not promoted may stop early, by asynchronous successive halving over epochs:
ASHA (Li et al. 2020, algorithm 2) in the variant that stops trainings where the published one
pauses them (as schedulers of Ray Tune and Syne Tune do): at each rung, of r, r eta, r eta^2 ...
epochs, a training goes on if it is among the best 1 / eta of those that have reached the rung so
far. Nobody waits for anybody; whoever is stopped frees its lane for a new setting.
"""

import dataclasses
import json
import math
import statistics
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from jaxeval.config import reading
from jaxeval.errors import ConfigError, DataError
from jaxeval.files import Json
from jaxeval.space.distributions import Value

Values = Mapping[str, Value]


class Stopped(NamedTuple):
    """A training was stopped after so many epochs of so many, as it was not promising."""

    epochs: int
    of: int


@dataclasses.dataclass(frozen=True)
class Result:
    """Finite scores of an evaluation, one a seed, or the cause of its failure.

    Attributes:
      stopped: by successive halving; None: it had its whole training.
    """

    scores: tuple[float, ...] = ()
    failure: str = ""
    stopped: Stopped | None = None

    def __post_init__(self) -> None:
        if bool(self.scores) == bool(self.failure) or not all(map(math.isfinite, self.scores)):
            raise DataError(
                "result: expected finite scores, or the cause of a failure, got "
                f"{[*self.scores]} and {self.failure!r}"
            )


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """One proposed setting.

    Attributes:
      number: 0, 1, 2 ... in the order of proposal.
      values: by name, as `space.draw` returns them: inactive hyperparameters are absent.
      seeds: with which it is trained.
      result: None while it runs.
      joined: population of the search, from 0, and its epoch after which the evaluation joined
        it; None: not yet.
      rungs: the best score so far at each rung that it has reached.
    """

    number: int
    values: Values
    seeds: tuple[int, ...]
    result: Result | None = None
    joined: tuple[int, int] | None = None
    rungs: tuple[float, ...] = ()


@dataclasses.dataclass(frozen=True)
class History:
    """All evaluations, in the order of their numbers; every change makes a new history."""

    evaluations: tuple[Evaluation, ...] = ()
    higher_is_better: bool = True

    @property
    def pending(self) -> list[Evaluation]:
        """Evaluations without a result, which still run."""
        return [e for e in self.evaluations if e.result is None]

    @property
    def ended(self) -> list[Evaluation]:
        """Evaluations with a result, which may be a failure."""
        return [e for e in self.evaluations if e.result is not None]

    def proposed(self, values: Values, seeds: Iterable[int]) -> "History":
        """With a further evaluation, which runs from now on."""
        new = Evaluation(len(self.evaluations), dict(values), tuple(seeds))
        return dataclasses.replace(self, evaluations=(*self.evaluations, new))

    def told(self, number: int, result: Result) -> "History":
        """With the result of an evaluation that runs; DataError: it does not, or lacks scores."""
        if not 0 <= number < len(self.evaluations) or self.evaluations[number].result is not None:
            raise DataError(f"evaluation {number}: was never proposed, or has a result")
        history = self.changed(number, result=result)
        _refuse_lacking(history.evaluations[number])
        return history

    def changed(self, number: int, **new: Any) -> "History":
        """With other fields of an evaluation."""
        changed = [*self.evaluations]
        changed[number] = dataclasses.replace(changed[number], **new)
        return dataclasses.replace(self, evaluations=tuple(changed))

    def better(self, score: float, known: float | None) -> float:
        """The better of two scores; None: there is no other."""
        better = max if self.higher_is_better else min
        return score if known is None else better(known, score)

    def fresh_seeds(self, count: int) -> range:
        """Seeds that no evaluation has had, from 1: no two settings share their luck."""
        last = max((seed for e in self.evaluations for seed in e.seeds), default=0)
        return range(last + 1, last + 1 + count)

    def to_dict(self) -> dict[str, Json]:
        """Plain data for JSON."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(tree: object) -> "History":
        """The history that `to_dict` wrote; DataError names the field of anything else."""
        import pydantic

        try:
            text = json.dumps(tree, allow_nan=False)
            history = pydantic.TypeAdapter(History).validate_json(text, strict=True)
        except (TypeError, ValueError) as error:
            said = str(error)
            if isinstance(error, pydantic.ValidationError):
                first = error.errors()[0]
                said = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
            raise DataError(f"not the history of a tuner: {said}") from None
        if [e.number for e in history.evaluations] != [*range(len(history.evaluations))]:
            raise DataError("not the history of a tuner: expected evaluations 0, 1, 2 ...")
        for evaluation in history.evaluations:
            _refuse_lacking(evaluation)
        return history


def _refuse_lacking(evaluation: Evaluation) -> None:
    """Raises DataError where a result has another number of scores than there are seeds."""
    scores, seeds = evaluation.result and evaluation.result.scores, evaluation.seeds
    if scores and len(scores) != len(seeds):
        raise DataError(
            f"evaluation {evaluation.number}: expected {len(seeds)} scores, one a seed, got "
            f"{len(scores)}"
        )


def identity(values: Values) -> str:
    """A text that two settings share where they are the same: canonical JSON."""
    return reading.canonical(dict(values))


class Setting(NamedTuple):
    """All evaluations of one setting together, of which `running` have no result yet."""

    values: Values
    numbers: tuple[int, ...]
    scores: tuple[float, ...]
    failures: tuple[str, ...]
    running: int
    stopped: Stopped | None = None

    @property
    def mean(self) -> float:
        """Of its scores."""
        return statistics.fmean(self.scores)

    @property
    def budget(self) -> float:
        """How much of its training it had."""
        return budget(self.stopped)


def budget(stopped: Stopped | None) -> float:
    """A share of a training, from 0, one epoch, to 1, all; in the logarithm."""
    return 1.0 if stopped is None else math.log(stopped.epochs) / math.log(stopped.of)


def settings(history: History) -> list[Setting]:
    """Evaluations pooled by equal values, in the order of each setting's first proposal."""
    pooled: dict[str, list[Evaluation]] = {}
    for evaluation in history.evaluations:
        pooled.setdefault(identity(evaluation.values), []).append(evaluation)
    found = []
    for each in pooled.values():
        results = [e.result for e in each if e.result is not None]
        scores = tuple(score for result in results for score in result.scores)
        failures = tuple(result.failure for result in results if result.failure)
        stopped = next((result.stopped for result in results if result.stopped), None)
        numbers, running = tuple(e.number for e in each), len(each) - len(results)
        found.append(Setting(each[0].values, numbers, scores, failures, running, stopped))
    return found


def ranked(history: History) -> list[Setting]:
    """Settings with scores that can be taken, the best mean first; all with scores if none can.

    One of which an evaluation failed or was stopped cannot be taken.
    """
    scored = [setting for setting in settings(history) if setting.scores]
    sign = -1.0 if history.higher_is_better else 1.0
    able = [setting for setting in scored if not (setting.failures or setting.stopped)] or scored
    return sorted(able, key=lambda setting: sign * setting.mean)


class Rung(NamedTuple):
    """The best score so far of an evaluation that went on at a rung, and its budget by then."""

    number: int
    score: float
    budget: float


def rungs(history: History) -> list[Rung]:
    """Scores at rungs of trainings that went on there, and have not failed: running ones too.

    The budget of a rung is that of those stopped there. A rung where nobody was is left out.
    """
    budgets: dict[int, float] = {}
    passed = []
    for evaluation in history.evaluations:
        stopped = evaluation.result and evaluation.result.stopped
        if stopped:
            budgets[len(evaluation.rungs) - 1] = budget(stopped)
        if not (evaluation.result and evaluation.result.failure):
            went_on = evaluation.rungs[: -1 if stopped else None]
            passed += [(evaluation.number, score, at) for at, score in enumerate(went_on)]
    return [Rung(number, score, budgets[at]) for number, score, at in passed if at in budgets]


@dataclasses.dataclass(frozen=True)
class Halving:
    """When trainings are looked at: eta, and r epochs of the first rung."""

    factor: int
    first: int = 1

    def __post_init__(self) -> None:
        if self.factor < 2 or self.first < 1:
            raise ConfigError(f"halving: expected a factor of at least 2, got {self.factor}")

    def rungs(self, epochs: int) -> list[int]:
        """Epochs after which a training of so many is looked at, all before the last."""
        rungs, rung = [], self.first
        while rung < epochs:
            rungs.append(rung)
            rung *= self.factor
        return rungs

    def reported(self, history: History, number: int, at: Stopped, best: float) -> History:
        """The history after an evaluation that runs has a best score so far at a step of so many.

        It has its result where it has reached its next rung and is stopped.
        """
        for rung in self.rungs(at.of)[len(history.evaluations[number].rungs) :]:
            if at.epochs < rung or history.evaluations[number].result is not None:
                break
            history = self.judged(history, {number: (best, Stopped(rung, at.of))})
        return history

    def judged(
        self,
        history: History,
        reached: Mapping[int, tuple[float, Stopped]],
        ended: Collection[int] = (),
    ) -> History:
        """The history with scores at rungs, in which those that do not go on have their results.

        All that reach a rung at once are compared with each other. Equal scores go on together.

        Args:
          reached: number of an evaluation that runs -> its best score so far, at its next rung.
          ended: evaluations that end by themselves now: they are compared with, and not stopped.
        """
        for number, (score, _) in reached.items():
            rungs = (*history.evaluations[number].rungs, score)
            history = history.changed(number, rungs=rungs)
        stopped = [n for n in reached if n not in ended and not self._goes_on(history, n)]
        for number in stopped:
            score, at = reached[number]
            history = history.told(number, Result((score,), stopped=at))
        return history

    def _goes_on(self, history: History, number: int) -> bool:
        """Whether an evaluation is among the best 1 / factor, one at least, at its last rung."""
        own = history.evaluations[number].rungs
        rung, sign = len(own) - 1, 1.0 if history.higher_is_better else -1.0
        scores = [sign * e.rungs[rung] for e in history.evaluations if len(e.rungs) > rung]
        better = sum(score > sign * own[rung] for score in scores)
        return better < max(1, len(scores) // self.factor)
