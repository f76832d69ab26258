"""Asynchronous successive halving over epochs: trainings that are not promoted stop early.

ASHA (Li et al. 2020, algorithm 2) in the variant that stops trainings where the published one
pauses them (as schedulers of Ray Tune and Syne Tune do): at each rung, of r, r eta, r eta^2 ...
epochs, a training goes on if it is among the best 1 / eta of those that have reached the rung so
far. Nobody waits for anybody; whoever is stopped frees its lane for a new setting.
"""

import dataclasses
import math
from collections.abc import Collection, Mapping
from typing import NamedTuple

from jaxeval.errors import ConfigError
from jaxeval.files import Json
from jaxeval.tuning import history as histories
from jaxeval.tuning.history import History, Result, Stopped


@dataclasses.dataclass(frozen=True)
class Halving:
    """When trainings are looked at.

    Attributes:
      factor: eta, the reduction factor: one of so many goes on at each rung.
      first: r, epochs of the first rung.
    """

    factor: int
    first: int = 1

    def __post_init__(self) -> None:
        if self.factor < 2 or self.first < 1:
            raise ConfigError(
                "halving: expected a factor of at least 2 and a first rung of at least 1 epoch, "
                f"got {self.factor} and {self.first}"
            )

    def to_dict(self) -> dict[str, Json]:
        """Plain data for JSON."""
        return dataclasses.asdict(self)

    def rungs(self, epochs: int) -> list[int]:
        """Epochs after which a training of so many is looked at, all before the last."""
        rungs, rung = [], self.first
        while rung < epochs:
            rungs.append(rung)
            rung *= self.factor
        return rungs


def reported(halving: Halving, history: History, number: int, at: Stopped, best: float) -> History:
    """The history after an evaluation that runs has a score at a step.

    It is looked at where it has reached its next rung, and has its result where it is stopped: the
    next report finds that out by `history.evaluations[number].result`.

    Args:
      at: the step, from 1, and how many there are.
      best: its best score so far.
    """
    rungs = halving.rungs(at.of)
    while history.evaluations[number].result is None:
        next_rung = len(history.evaluations[number].rungs)
        if next_rung == len(rungs) or at.epochs < rungs[next_rung]:
            break
        history = judge(halving, history, {number: (best, Stopped(rungs[next_rung], at.of))})
    return history


class AtRung(NamedTuple):
    """The best score so far of a training that went on.

    Attributes:
      number: of the evaluation.
      budget: that it had had by then, as of `budget`.
    """

    number: int
    score: float
    budget: float


def judge(
    halving: Halving,
    history: History,
    reached: Mapping[int, tuple[float, Stopped]],
    ended: Collection[int] = (),
) -> History:
    """The history with scores at rungs, in which those that do not go on have their results.

    All that reach a rung at once are compared with each other too, so that their order is of no
    matter. Equal scores go on together.

    Args:
      reached: number of an evaluation that runs -> its best score so far, at its next rung.
      ended: evaluations that end by themselves now: they are compared with, and not stopped.
    """
    for number, (score, _) in reached.items():
        rungs = (*history.evaluations[number].rungs, score)
        history = histories.change(history, number, rungs=rungs)
    not_promoted = [n for n in reached if n not in ended and not goes_on(halving, history, n)]
    for number in not_promoted:
        score, stopped = reached[number]
        history = histories.tell(history, number, Result((score,), stopped=stopped))
    return history


def goes_on(halving: Halving, history: History, number: int) -> bool:
    """Whether an evaluation is among the best 1 / factor, one at least, at its last rung."""
    own = history.evaluations[number].rungs
    rung, sign = len(own) - 1, 1.0 if history.higher_is_better else -1.0
    scores = [sign * e.rungs[rung] for e in history.evaluations if len(e.rungs) > rung]
    better = sum(score > sign * own[rung] for score in scores)
    return better < max(1, len(scores) // halving.factor)


def budget(stopped: Stopped | None) -> float:
    """How much of its training a setting had, from 0, one epoch, to 1, all; in the logarithm."""
    if stopped is None:
        return 1.0
    return math.log(stopped.epochs) / math.log(stopped.of)


def at_rungs(history: History) -> list[AtRung]:
    """Scores at rungs of trainings that went on there, and have not failed: running ones too.

    The budget of a rung is that of those stopped there. A rung where nobody was is left out.
    """
    results = [e.result for e in history.evaluations]
    stopped = [None if result is None else result.stopped for result in results]
    rungs = [
        len(e.rungs) - (at is not None) for e, at in zip(history.evaluations, stopped, strict=True)
    ]
    budgets = {rung: budget(at) for rung, at in zip(rungs, stopped, strict=True) if at is not None}
    return [
        AtRung(evaluation.number, evaluation.rungs[rung], budgets[rung])
        for evaluation, result, last in zip(history.evaluations, results, rungs, strict=True)
        for rung in range(last)
        if rung in budgets and not (result and result.failure)
    ]
