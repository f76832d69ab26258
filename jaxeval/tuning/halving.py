"""Asynchronous successive halving over epochs: trainings that are not promoted stop early.

ASHA (Li et al. 2020, algorithm 2) in the variant that stops trainings where the published one
pauses them (as schedulers of Ray Tune and Syne Tune do): at each rung, of r, r eta, r eta^2 ...
epochs, a training goes on if it is among the best 1 / eta of those that have reached the rung so
far. Nobody waits for anybody; whoever is stopped frees its lane for a new setting.
"""

import dataclasses
from collections.abc import Collection, Mapping

from jaxeval.errors import ConfigError
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

    def rungs(self, epochs: int) -> list[int]:
        """Epochs after which a training of so many is looked at, all before the last."""
        rungs, rung = [], self.first
        while rung < epochs:
            rungs.append(rung)
            rung *= self.factor
        return rungs

    def reported(self, history: History, number: int, at: Stopped, best: float) -> History:
        """The history after an evaluation that runs has a score at a step.

        It is looked at where it has reached its next rung, and has its result where it is stopped.

        Args:
          at: the step, from 1, and how many there are.
          best: its best score so far.
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

        All that reach a rung at once are compared with each other too, so that their order is of
        no matter. Equal scores go on together.

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
