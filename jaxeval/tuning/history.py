"""The state of a tuner: proposed settings, the results of their evaluations, and halving.

Evaluations are in the order of their proposal, so the next proposal depends on the results and not
on when they arrived.
"""

import dataclasses
import json
import math
import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from jaxeval.bandits.running import as_number
from jaxeval.config import reading
from jaxeval.errors import ConfigError, DataError, argument
from jaxeval.files import Json
from jaxeval.space.distributions import Value

Values = Mapping[str, Value]  # by name; inactive hyperparameters are absent


class Stopped(NamedTuple):
    """The epoch after which halving stopped a training, and the epochs of a whole one."""

    epochs: int
    of: int

    @property
    def budget(self) -> float:
        """Share of the training in the logarithm: 0 is one epoch, 1 is all."""
        return math.log(self.epochs) / math.log(self.of)


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """One proposed setting, and what became of it; DataError if its fields do not go together."""

    number: int  # 0, 1, 2 ... in the order of proposal
    values: Values
    seeds: tuple[int, ...]
    scores: tuple[float, ...] = ()  # finite, one a seed; empty if it runs or failed
    failure: str = ""  # the cause
    stopped: Stopped | None = None  # by successive halving
    joined: tuple[int, int] | None = None  # population that trains it, and epoch when it joined
    rungs: tuple[float, ...] = ()  # best score so far at each rung that it has reached

    def __post_init__(self) -> None:
        expected, got = len(self.seeds), len(self.scores)
        if (got and self.failure) or not all(map(math.isfinite, self.scores)):
            said = f"finite scores, or the cause of a failure, got {[*self.scores]}"
            raise DataError(f"evaluation {self.number}: expected {said} and {self.failure!r}")
        if got not in (0, expected):
            said = f"expected {expected} scores, one per seed, got {got}"
            raise DataError(f"evaluation {self.number}: {said}")

    @property
    def ended(self) -> bool:
        """True if it has scores or has failed."""
        return bool(self.scores or self.failure)

    @property
    def mean(self) -> float:
        """Mean score."""
        return statistics.fmean(self.scores)

    @property
    def budget(self) -> float:
        """Share of its training that it had; see `Stopped.budget`."""
        return self.stopped.budget if self.stopped else 1.0


def identity(values: Values) -> str:
    """Returns a text that is the same for equal settings: canonical JSON."""
    return reading.canonical(dict(values))


@dataclasses.dataclass(frozen=True)
class History:
    """All evaluations in the order of their numbers; every change makes a new history."""

    evaluations: tuple[Evaluation, ...] = ()
    higher_is_better: bool = True

    @property
    def pending(self) -> list[Evaluation]:
        """Evaluations that run."""
        return [e for e in self.evaluations if not e.ended]

    @property
    def ended(self) -> list[Evaluation]:
        """Evaluations with a result, which may be a failure."""
        return [e for e in self.evaluations if e.ended]

    @property
    def identities(self) -> set[str]:
        """The identities of all settings."""
        return {identity(evaluation.values) for evaluation in self.evaluations}

    def propose(self, values: Values, seeds: Iterable[int]) -> "History":
        """Adds an evaluation, which runs from now on."""
        new = Evaluation(len(self.evaluations), dict(values), tuple(seeds))
        return dataclasses.replace(self, evaluations=(*self.evaluations, new))

    def tell(
        self, number: int, outcome: float | Sequence[float] | str, stopped: Stopped | None = None
    ) -> "History":
        """Adds the score of a running evaluation, or one a seed, or the cause of its failure."""
        if not 0 <= number < len(self.evaluations) or self.evaluations[number].ended:
            raise DataError(f"evaluation {number}: was never proposed, or has a result")
        if isinstance(outcome, str):
            return self.change(number, failure=outcome or "failed")
        several = isinstance(outcome, list | tuple) or getattr(outcome, "ndim", 0) == 1
        each: Any = outcome if several else [outcome]
        scores = tuple(score for score in map(as_number, each) if score is not None)
        if not scores or len(scores) < len(each):
            expected = "expected one score per seed, or the cause of a failure"
            raise DataError(f"evaluation {number}: {expected}, got {outcome!r:.60}")
        return self.change(number, scores=scores, stopped=stopped)

    def change(self, number: int, **new: Any) -> "History":
        """Replaces fields of an evaluation."""
        changed = [*self.evaluations]
        changed[number] = dataclasses.replace(changed[number], **new)
        return dataclasses.replace(self, evaluations=tuple(changed))

    def fresh_seeds(self, count: int) -> range:
        """Returns seeds from 1 that no evaluation has had: no two settings share their luck."""
        last = max((seed for e in self.evaluations for seed in e.seeds), default=0)
        return range(last + 1, last + 1 + count)

    def ranked(self) -> list[Evaluation]:
        """Returns evaluations with scores, the best mean first.

        Those that halving stopped are left out, unless there are no others.
        """
        scored = [evaluation for evaluation in self.evaluations if evaluation.scores]
        sign = -1.0 if self.higher_is_better else 1.0
        whole = [evaluation for evaluation in scored if not evaluation.stopped] or scored
        return sorted(whole, key=lambda evaluation: sign * evaluation.mean)

    def rungs(self) -> list[tuple[int, float, float]]:
        """Returns (number, score, budget) of trainings at rungs where they went on.

        Failed ones are left out, and rungs at which none was stopped: their budget is not known.
        """
        budgets: dict[int, float] = {}
        passed = []
        for evaluation in self.evaluations:
            if evaluation.stopped:
                budgets[len(evaluation.rungs) - 1] = evaluation.budget
            if not evaluation.failure:
                went_on = evaluation.rungs[: -1 if evaluation.stopped else None]
                passed += [(evaluation.number, score, at) for at, score in enumerate(went_on)]
        return [(number, score, budgets[at]) for number, score, at in passed if at in budgets]

    def to_dict(self) -> dict[str, Json]:
        """Returns plain data for JSON."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(tree: object) -> "History":
        """Reads what `to_dict` wrote; DataError names the field of anything else."""
        import pydantic

        try:
            text = json.dumps(tree, allow_nan=False)
            history = reading.adapter(History).validate_json(text, strict=True)
        except (TypeError, ValueError) as error:
            said = str(error)
            if isinstance(error, pydantic.ValidationError):
                first = error.errors()[0]
                said = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
            raise DataError(f"not the history of a tuner: {said}") from None
        if [e.number for e in history.evaluations] != [*range(len(history.evaluations))]:
            raise DataError("not the history of a tuner: expected evaluations 0, 1, 2 ...")
        return history


@dataclasses.dataclass(frozen=True)
class Halving:
    """Asynchronous successive halving (ASHA, Li et al. 2020, algorithm 2) with a factor eta.

    At each rung, of r, r eta, r eta^2 ... epochs, a training goes on if it is among the best
    1 / eta of those that have reached the rung so far, and is stopped otherwise. (The published
    variant pauses it; Ray Tune and Syne Tune stop it too.) No training waits for another.
    """

    factor: int
    first: int = 1  # epochs of the first rung

    def __post_init__(self) -> None:
        if self.factor < 2:
            expected = f"expected a factor of at least 2, got {self.factor}"
            raise ConfigError(f"{argument('halving')}: {expected}")

    def rungs(self, epochs: int) -> list[int]:
        """Returns the rungs of a training of so many epochs, all before the last epoch."""
        rungs, rung = [], self.first
        while rung < epochs:
            rungs.append(rung)
            rung *= self.factor
        return rungs

    def report(
        self, history: History, number: int, at: Stopped, score: float, best: dict[int, float]
    ) -> History:
        """Takes the score of a running evaluation at a step, and stops it at a rung if it is poor.

        `best` has the best score so far of each evaluation, and is updated.
        """
        evaluation = history.evaluations[number]
        if evaluation.ended or not math.isfinite(score):
            return history
        better = max if history.higher_is_better else min
        passed = evaluation.rungs
        best[number] = better(score, best.get(number, passed[-1] if passed else score))
        for rung in self.rungs(at.of)[len(passed) :]:
            if at.epochs < rung or history.evaluations[number].ended:
                break
            history = self.judge(history, {number: (best[number], Stopped(rung, at.of))})
        return history

    def judge(
        self,
        history: History,
        reached: Mapping[int, tuple[float, Stopped]],
        ended: Collection[int] = (),
    ) -> History:
        """Records scores at rungs, and stops the evaluations that do not go on; ties go on.

        Args:
          reached: number of a running evaluation -> its best score so far, at its next rung.
          ended: evaluations that end by themselves now: they are compared with, and not stopped.
        """
        for number, (score, _) in reached.items():
            history = history.change(number, rungs=(*history.evaluations[number].rungs, score))
        for number in [n for n in reached if n not in ended and not self._goes_on(history, n)]:
            score, at = reached[number]
            history = history.tell(number, (score,), at)
        return history

    def _goes_on(self, history: History, number: int) -> bool:
        """Returns whether an evaluation is among the best 1 / factor at its last rung."""
        own = history.evaluations[number].rungs
        rung = len(own) - 1
        sign = 1.0 if history.higher_is_better else -1.0
        scores = [sign * e.rungs[rung] for e in history.evaluations if len(e.rungs) > rung]
        better = sum(score > sign * own[rung] for score in scores)
        return better < max(1, len(scores) // self.factor)
