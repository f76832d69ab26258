"""What is trained for the evaluations of a search whose populations others join."""

import contextlib
import dataclasses
from collections.abc import Mapping, Sequence

from jaxeval import runs
from jaxeval.config import markers
from jaxeval.errors import ConfigError
from jaxeval.space import space as spaces
from jaxeval.studies import buckets as shape_buckets
from jaxeval.studies import cohorts, memory, padding
from jaxeval.studies.cohorts import Entry
from jaxeval.studies.padding import OpenProgram
from jaxeval.tune import configs
from jaxeval.tune.configs import Bounds
from jaxeval.tune.targets import Target
from jaxeval.tuning.history import Evaluation, Result

NO_ROOM = Result(failure="out of memory")


@dataclasses.dataclass(frozen=True)
class Trainings:
    """Trainings of evaluations, of one seed each.

    Attributes:
      neutral: as of `padding.neutral`, of settings all over the space.
      padded: the programs that evaluations are padded into.
    """

    of: Target
    store: runs.Store
    neutral: Mapping[str, float]
    padded: Sequence[OpenProgram] = ()

    def entry(self, evaluation: Evaluation) -> Entry:
        """What is trained for an evaluation.

        Raises:
          ConfigError: it is no config.
        """
        (entry,) = cohorts.entries(self.of.trials(evaluation), self.of.session.loader)
        return entry

    def begun(self, evaluation: Evaluation) -> Entry | Result:
        """What is trained for a new evaluation; its result where it has that without."""
        try:
            entry = self.entry(evaluation)
            memory.refuse_too_large(entry.prepared.problem, [cohorts.member(entry)])
        except ConfigError as error:
            return Result(failure=str(error))
        known = self.recorded(evaluation)  # by a search whose state was lost
        return entry if known is None else configs.result([known])

    def unrecorded(self, evaluation: Evaluation) -> Entry | None:
        """What is trained for an evaluation whose end is not recorded, though it may be told."""
        if evaluation.result == NO_ROOM:
            return None
        return self.entry(evaluation) if self.recorded(evaluation) is None else None

    def recorded(self, evaluation: Evaluation) -> runs.MemberResult | None:
        """What is recorded of an evaluation that has ended."""
        (trial,) = self.of.trials(evaluation)
        key = trial.seed, trial.split, trial.repeat, trial.hparams
        return self.store.ended(self.of.record.id).get(key)

    def program(self, evaluation: Evaluation) -> OpenProgram:
        """The program that an evaluation begins a population of: the cheapest that it fits into,
        or else its own."""
        entry = self.entry(evaluation)
        padded = () if evaluation.own_size else self.padded
        holding = [program for program in padded if program.takes(entry)]
        own = padding.open_program(entry, self.neutral)
        return min(holding, key=lambda program: program.operations(entry), default=own)


def of_search(of: Target, store: runs.Store, bounds: Bounds) -> Trainings:
    """The trainings of a search, with the shape buckets that are chosen for it."""
    buckets = configs.shape_buckets_of(of, bounds.trials, bounds.parallel)
    rows = shape_buckets.smallest_batch(of.space, buckets)
    model, neutral = of.base.config.model, _neutral(of)
    keys = {parameter.key for parameter in of.space.parameters}
    sizes = [k for k in markers.keys(model, markers.RAGGED) if f"model.{k}" in keys]
    padded = [
        padding.open_padded(*bucket, of.session.loader, neutral, sizes, rows) for bucket in buckets
    ]
    return Trainings(of, store, neutral, padded)


def _neutral(of: Target) -> dict[str, float]:
    """Values that change nothing, under all names that a setting of the space may have."""
    drawn = []
    for run in range(shape_buckets.SAMPLE):
        with contextlib.suppress(ConfigError):
            drawn.append(of.config(spaces.draw(of.space, 0, run)))
    return padding.neutral(drawn)
