"""What a tuner knows: the settings that were proposed, and what came of their evaluations.

The order is that of the proposals, whichever result arrived first, so that what is proposed next
depends on the results and not on when they came.
"""

import dataclasses
import functools
import json
import math
import statistics
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from jaxeval.config import reading
from jaxeval.errors import DataError
from jaxeval.files import Json
from jaxeval.space.distributions import Value

Values = Mapping[str, Value]


class Stopped(NamedTuple):
    """A training was stopped after so many epochs of so many, as it was not promising."""

    epochs: int
    of: int


@dataclasses.dataclass(frozen=True)
class Result:
    """What came of one evaluation.

    Attributes:
      scores: one a seed, finite, in the metric's unit; empty where the evaluation failed.
      failure: its cause, such as "diverged" or "out of memory"; "" where it did not fail.
      stopped: by successive halving (`tuning.halving`); None: it had its whole training.
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
      rungs: the best score so far at each rung of successive halving that it has reached.
      own_size: whether it is padded to no shape bucket, as it did not fit into memory so.
    """

    number: int
    values: Values
    seeds: tuple[int, ...]
    result: Result | None = None
    joined: tuple[int, int] | None = None
    rungs: tuple[float, ...] = ()
    own_size: bool = False


@dataclasses.dataclass(frozen=True)
class History:
    """All evaluations, in the order of their numbers; every change makes a new history."""

    evaluations: tuple[Evaluation, ...] = ()
    higher_is_better: bool = True

    @property
    def pending(self) -> list[Evaluation]:
        """Evaluations without a result, which still run."""
        return [evaluation for evaluation in self.evaluations if evaluation.result is None]

    @property
    def ended(self) -> list[Evaluation]:
        """Evaluations with a result, which may be a failure."""
        return [evaluation for evaluation in self.evaluations if evaluation.result is not None]

    def proposed(self, values: Values, seeds: Iterable[int]) -> "History":
        """With a further evaluation, which runs from now on."""
        new = Evaluation(len(self.evaluations), dict(values), tuple(seeds))
        return dataclasses.replace(self, evaluations=(*self.evaluations, new))

    def told(self, number: int, result: Result) -> "History":
        """With the result of an evaluation.

        Raises:
          DataError: no such evaluation, it has a result, or another number of scores than seeds.
        """
        if not 0 <= number < len(self.evaluations):
            raise DataError(f"evaluation {number}: was never proposed")
        if self.evaluations[number].result is not None:
            raise DataError(f"evaluation {number}: has a result")
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
        if known is None:
            return score
        return max(known, score) if self.higher_is_better else min(known, score)

    def fresh_seeds(self, count: int) -> range:
        """Seeds that no evaluation has had, from 1: no two settings share their luck."""
        last = max((seed for e in self.evaluations for seed in e.seeds), default=0)
        return range(last + 1, last + 1 + count)

    def to_dict(self) -> dict[str, Json]:
        """Plain data for JSON."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(tree: object) -> "History":
        """The history that `to_dict` wrote.

        Raises:
          DataError: anything else, naming the field.
        """
        import pydantic

        try:
            history = _adapter().validate_json(json.dumps(tree, allow_nan=False), strict=True)
        except (pydantic.ValidationError, TypeError, ValueError) as error:
            said = str(error)
            if isinstance(error, pydantic.ValidationError):
                first = error.errors()[0]
                said = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
            raise DataError(f"not the history of a tuner: {said}") from None
        for number, evaluation in enumerate(history.evaluations):
            if evaluation.number != number:
                raise DataError(f"evaluation {evaluation.number}: expected number {number}")
            _refuse_lacking(evaluation)
        return history


@functools.cache
def _adapter() -> Any:
    import pydantic

    return pydantic.TypeAdapter(History)


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
    """All evaluations of one setting together.

    Attributes:
      numbers: of its evaluations.
      scores: of all seeds.
      failures: causes, one for each evaluation that failed.
      running: evaluations without a result.
      stopped: where successive halving stopped it; None: it did not.
    """

    values: Values
    numbers: tuple[int, ...]
    scores: tuple[float, ...]
    failures: tuple[str, ...]
    running: int
    stopped: Stopped | None = None

    @property
    def ended(self) -> bool:
        """Whether an evaluation of it has a result."""
        return bool(self.scores or self.failures)

    @property
    def whole(self) -> bool:
        """Whether it can be taken: no evaluation of it failed or was stopped."""
        return not self.failures and self.stopped is None

    @property
    def mean(self) -> float:
        """Of its scores."""
        return statistics.fmean(self.scores)

    @property
    def budget(self) -> float:
        """How much of its training it had, as of `budget`."""
        return budget(self.stopped)


def budget(stopped: Stopped | None) -> float:
    """A share of a training, from 0, one epoch, to 1, all; in the logarithm."""
    return 1.0 if stopped is None else math.log(stopped.epochs) / math.log(stopped.of)


def settings(history: History) -> list[Setting]:
    """Evaluations pooled by equal values, in the order of each setting's first proposal."""
    pooled: dict[str, list[Evaluation]] = {}
    for evaluation in history.evaluations:
        pooled.setdefault(identity(evaluation.values), []).append(evaluation)
    return [_pooled(evaluations) for evaluations in pooled.values()]


def _pooled(evaluations: list[Evaluation]) -> Setting:
    results = [e.result for e in evaluations if e.result is not None]
    return Setting(
        evaluations[0].values,
        tuple(evaluation.number for evaluation in evaluations),
        tuple(score for result in results for score in result.scores),
        tuple(result.failure for result in results if result.failure),
        len(evaluations) - len(results),
        next((result.stopped for result in results if result.stopped is not None), None),
    )


def ranked(history: History) -> list[Setting]:
    """Settings with scores that can be taken, the best mean first; all with scores if none can."""
    scored = [setting for setting in settings(history) if setting.scores]
    sign = -1.0 if history.higher_is_better else 1.0
    able = [setting for setting in scored if setting.whole] or scored
    return sorted(able, key=lambda setting: sign * setting.mean)


class Rung(NamedTuple):
    """The best score so far of a training that went on at a rung of successive halving.

    Attributes:
      number: of the evaluation.
      budget: that it had had by then.
    """

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
