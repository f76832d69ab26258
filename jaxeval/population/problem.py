"""What a cohort learns, and the static part of its members' functions."""

import types
from collections.abc import Callable, Mapping
from typing import NamedTuple

import jax

from jaxeval.contracts import Corpus, Member, Split, Task
from jaxeval.errors import ConfigError
from jaxeval.population import member
from jaxeval.population.settings import Training

_WIDEST = 64  # members at once unless the config says otherwise


class Problem(NamedTuple):
    """What a cohort learns.

    Attributes:
      split: split number -> rows; sizes are the same for all numbers.
      splits: the same of members with other vectors than the first's, by `Member.vectors`.
    """

    task: Task
    corpus: Corpus
    split: Callable[[int], Split]
    training: Training
    splits: Mapping[str, Callable[[int], Split]] = types.MappingProxyType({})

    def split_of(self, who: Member) -> Split:
        """The member's own split, with the tables that depend on it."""
        return self.splits.get(who.vectors, self.split)(who.split)

    @property
    def program(self) -> member.Program:
        """The static part of a member's functions."""
        training = self.training
        return member.Program(
            self.task,
            training.optimiser,
            training.batch_size,
            training.evaluation_batch_size,
            training.micro_batch,
        )

    def refuse_cut_batches(self, key: str) -> None:
        """Raises ConfigError, naming the key that asks for it, if batches cannot be cut."""
        if jax.tree.leaves(jax.eval_shape(lambda: self.task.start(1))):
            raise ConfigError(
                f"{key}: this task carries state from batch to batch, whose rows must stay "
                "together; leave it out"
            )


def lanes_for(training: Training, members: int) -> int:
    """Number of lanes that so many members ask for: as the config says, else up to 64."""
    return min(training.lanes or _WIDEST, members)
