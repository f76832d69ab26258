"""What a tuner knows: the settings that were proposed, and what came of their evaluations.

The order is that of the proposals, whichever result arrived first, so that what is proposed next
depends on the results and not on when they came.
"""

import dataclasses
import math
import statistics
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from jaxeval.config import reading
from jaxeval.errors import DataError
from jaxeval.files import Json
from jaxeval.space.distributions import Value
from jaxeval.tuning import fields


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
        if bool(self.scores) == bool(self.failure):
            raise DataError(
                "result: expected scores, or the cause of a failure, got "
                + ("both" if self.scores else "neither")
            )
        if not all(map(math.isfinite, self.scores)):
            raise DataError(f"result: expected finite scores, got {[*self.scores]}")


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """One proposed setting.

    Attributes:
      number: 0, 1, 2 ... in the order of proposal.
      values: by name, as `space.draw` returns them: inactive hyperparameters are absent.
      seeds: with which it is trained.
      result: None while it runs.
      joined: population of the search, from 0, and its epoch after which the evaluation joined
        it; None: with its whole batch, or not yet.
      rungs: the best score so far at each rung of successive halving that it has reached.
      own_size: whether it is padded to no shape bucket, as it did not fit into memory so.
    """

    number: int
    values: Mapping[str, Value]
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


class Setting(NamedTuple):
    """All evaluations of one setting together.

    Attributes:
      numbers: of its evaluations.
      scores: of all seeds.
      failures: causes, one for each evaluation that failed.
      running: evaluations without a result.
      stopped: where successive halving stopped it; None: it did not.
    """

    values: Mapping[str, Value]
    numbers: tuple[int, ...]
    scores: tuple[float, ...]
    failures: tuple[str, ...]
    running: int
    stopped: Stopped | None = None

    @property
    def whole(self) -> bool:
        """Whether it can be taken: no evaluation of it failed or was stopped."""
        return not self.failures and self.stopped is None


def propose(history: History, values: Mapping[str, Value], seeds: Iterable[int]) -> History:
    """Adds a proposal, with the next number, which runs from now on."""
    new = Evaluation(len(history.evaluations), dict(values), tuple(seeds))
    return dataclasses.replace(history, evaluations=(*history.evaluations, new))


def tell(history: History, number: int, result: Result) -> History:
    """Adds the result of an evaluation.

    Raises:
      DataError: no such evaluation, it has a result, or another number of scores than seeds.
    """
    if not 0 <= number < len(history.evaluations):
        raise DataError(f"evaluation {number}: was never proposed")
    evaluation = history.evaluations[number]
    if evaluation.result is not None:
        raise DataError(f"evaluation {number}: has a result")
    if result.scores and len(result.scores) != len(evaluation.seeds):
        raise DataError(
            f"evaluation {number}: expected {len(evaluation.seeds)} scores, one a seed, got "
            f"{len(result.scores)}"
        )
    return change(history, number, result=result)


def change(history: History, number: int, **new: Any) -> History:
    """The history with other fields of an evaluation."""
    changed = [*history.evaluations]
    changed[number] = dataclasses.replace(changed[number], **new)
    return dataclasses.replace(history, evaluations=tuple(changed))


def retried(history: History) -> History:
    """The history in which evaluations that failed run again; what was proposed since stays."""
    for evaluation in ended(history):
        if evaluation.result is not None and evaluation.result.failure:
            history = change(history, evaluation.number, result=None)
    return history


def pending(history: History) -> list[Evaluation]:
    """Evaluations without a result, which still run."""
    return [evaluation for evaluation in history.evaluations if evaluation.result is None]


def ended(history: History) -> list[Evaluation]:
    """Evaluations with a result, which may be a failure."""
    return [evaluation for evaluation in history.evaluations if evaluation.result is not None]


def populations(history: History) -> int:
    """How many populations evaluations have joined."""
    return 1 + max((e.joined[0] for e in history.evaluations if e.joined), default=-1)


def joined(history: History, population: int) -> list[Evaluation]:
    """Evaluations of a population, those that began it first."""
    return [e for e in history.evaluations if e.joined and e.joined[0] == population]


def identity(values: Mapping[str, Value]) -> str:
    """A text that two settings share where they are the same: canonical JSON."""
    return reading.canonical(dict(values))


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


def fresh_seeds(history: History, count: int) -> range:
    """Seeds that no evaluation has had, from 1: no two settings share their luck."""
    last = max((seed for e in history.evaluations for seed in e.seeds), default=0)
    return range(last + 1, last + 1 + count)


def best(history: History) -> Setting | None:
    """The setting of the best mean score, of equally good ones the first; None before a score.

    A setting that was stopped, or of which an evaluation failed, counts only where all are such.
    """
    scored = [setting for setting in settings(history) if setting.scores]
    whole = [setting for setting in scored if setting.whole] or scored
    sign = 1.0 if history.higher_is_better else -1.0
    return max(whole, key=lambda setting: sign * statistics.fmean(setting.scores), default=None)


def better(history: History, known: float | None, score: float) -> float:
    """The better of two scores; None: there is no other."""
    if known is None:
        return score
    return max(known, score) if history.higher_is_better else min(known, score)


def to_dict(history: History) -> dict[str, Json]:
    """Plain data for JSON."""
    return {
        "higher_is_better": history.higher_is_better,
        "evaluations": [
            {
                "values": dict(evaluation.values),
                "seeds": list(evaluation.seeds),
                **({} if evaluation.joined is None else {"joined": list(evaluation.joined)}),
                **({"rungs": list(evaluation.rungs)} if evaluation.rungs else {}),
                **({"own_size": True} if evaluation.own_size else {}),
                **({} if evaluation.result is None else _result_to_dict(evaluation.result)),
            }
            for evaluation in history.evaluations
        ],
    }


def _result_to_dict(result: Result) -> dict[str, Json]:
    if result.failure:
        return {"failure": result.failure}
    stopped = {} if result.stopped is None else {"stopped": list(result.stopped)}
    return {"scores": list(result.scores), **stopped}


def from_dict(tree: Any) -> History:
    """The history that `to_dict` wrote.

    Raises:
      DataError: anything else, naming evaluation and field.
    """
    try:
        higher = fields.typed(tree["higher_is_better"], bool, "higher_is_better", "true or false")
        history = History((), higher)
        for number, entry in enumerate(tree["evaluations"]):
            history = _with_entry(history, entry, f"evaluation {number}")
    except (KeyError, TypeError) as error:
        raise DataError(f"not the history of a tuner ({type(error).__name__}: {error})") from None
    return history


def _with_entry(history: History, entry: Any, at: str) -> History:
    """The history with the evaluation of an entry of `to_dict`.

    Args:
      at: what messages begin with.
    """
    number = len(history.evaluations)
    values = fields.typed(entry["values"], Mapping, f"{at}.values", "a setting")
    history = propose(history, values, fields.whole(entry["seeds"], f"{at}.seeds"))
    history = change(
        history,
        number,
        rungs=fields.numbers(entry.get("rungs", ()), f"{at}.rungs"),
        joined=fields.pair(entry["joined"], f"{at}.joined") if "joined" in entry else None,
        own_size=fields.typed(
            entry.get("own_size", False), bool, f"{at}.own_size", "true or false"
        ),
    )
    if "failure" in entry or "scores" in entry:
        history = tell(history, number, _result_from_dict(entry, at))
    return history


def _result_from_dict(entry: Mapping[str, Any], at: str) -> Result:
    scores = fields.numbers(entry.get("scores", ()), f"{at}.scores")
    failure = fields.typed(entry.get("failure", ""), str, f"{at}.failure", "a text")
    stopped = (
        Stopped(*fields.pair(entry["stopped"], f"{at}.stopped")) if "stopped" in entry else None
    )
    if stopped is not None and not 0 < stopped.epochs <= stopped.of:
        raise DataError(f"{at}.stopped: expected epochs, and all epochs, got {[*stopped]}")
    try:
        return Result(scores, failure, stopped)
    except DataError as error:
        raise DataError(f"{at}: {error}") from None
