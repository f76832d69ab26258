"""Cohorts that trials join while they are trained: what their program has room for."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from jaxeval.contracts import Member
from jaxeval.population import engine
from jaxeval.population.engine import Problem
from jaxeval.studies import cohorts, prepared, programs, shape_buckets
from jaxeval.studies.cohorts import Cohort, Entry
from jaxeval.studies.shape_buckets import ShapeBucket


@dataclasses.dataclass(frozen=True, eq=False)
class OpenProgram:
    """A program, and which trials can be members of it.

    Attributes:
      config: of the program; sizes are those that it is padded to.
      text: of all that is compiled in, canonical JSON.
      names: of the traced values that all members have.
      neutral: of those that a trial may have none of, the values that change nothing.
      bucket: what members are padded into; None: they have the sizes of `config`.
      sizes: of a model, that padded members have each of its own.
      rows: of the smallest batches that a padded one has room for: of these an epoch has most.
    """

    config: Any
    problem: Problem
    text: str
    names: tuple[str, ...]
    neutral: Mapping[str, float]
    bucket: ShapeBucket | None = None
    sizes: Collection[str] = ()
    rows: int = 0

    @property
    def padded(self) -> bool:
        """Whether members may be smaller than the program's arrays."""
        return self.bucket is not None

    def takes(self, entry: Entry) -> bool:
        """Whether a trial can be a member."""
        if _names(self.member(entry)) != self.names:
            return False
        if self.bucket is None:
            return programs.text(entry.prepared, filled=True) == self.text
        room = entry.prepared.config.training.batch_size >= self.rows
        return room and self.bucket.holds(cohorts.shape_of(entry.prepared))

    def member(self, entry: Entry) -> Member:
        """What is trained for a trial."""
        own = cohorts.own_sizes(entry.prepared.config, self.sizes) if self.padded else {}
        return cohorts.member(entry, {**self.neutral, **own})

    def operations(self, entry: Entry) -> float:
        """Of a training step for a row of a trial; 0 where members are not padded."""
        if self.bucket is None:
            return 0.0
        return self.bucket.shape.operations(cohorts.shape_of(entry.prepared))

    def cohort(self, entries: Sequence[Entry], name: str) -> Cohort:
        """A cohort of trials that it takes, which others can join.

        Args:
          name: of its checkpoints.
        """
        members = tuple(map(self.member, entries))
        steps = 0
        if self.bucket is not None:
            smallest = shape_buckets.in_batches(entries[0], self.rows)
            steps = engine.most_steps([self.member(smallest)], self.problem.split(0))
        return Cohort(
            tuple(entries), members, self.config, self.problem, self.text, name, steps=steps
        )


def of_trial(entry: Entry, neutral: Mapping[str, float]) -> OpenProgram:
    """The program of a trial at its own size.

    Args:
      neutral: values of other trials of the study that change nothing, as of `cohorts.neutral`.
    """
    own, known = entry.prepared, {**neutral, **cohorts.neutral([entry.prepared.config])}
    text, names = programs.text(own, filled=True), _names(cohorts.member(entry, known))
    return OpenProgram(own.config, own.problem, text, names, known)


def of_bucket(
    bucket: ShapeBucket,
    loader: prepared.Loader,
    neutral: Mapping[str, float],
    sizes: Collection[str],
    rows: int,
) -> OpenProgram:
    """The program that trials are padded into.

    Args:
      neutral: as of `of_trial`.
      sizes: of a model, that trials of the study may differ in.
      rows: of the smallest batches.
    """
    first = bucket.entries[0]
    shape, configs = bucket.shape.member_sizes.sizes(), [e.prepared.config for e in bucket.entries]
    whole = loader.prepare(cohorts.padded_config(first.prepared.config, shape, bucket.micro_batch))
    names = sorted({*sizes, *cohorts.padded_names(configs, whole.config)})
    text = programs.text(whole, filled=True)
    program = OpenProgram(whole.config, whole.problem, text, (), neutral, bucket, names, rows)
    return dataclasses.replace(program, names=_names(program.member(first)))


def _names(of: Member) -> tuple[str, ...]:
    return tuple(name for name, _ in of.hparams)
