"""What a cohort learns, and the static part of its members' functions."""

from collections.abc import Callable
from typing import NamedTuple

from jaxeval.contracts import Corpus, Split, Task
from jaxeval.population import member
from jaxeval.population.settings import Training

_WIDEST = 64  # members at once unless the config says otherwise


class Problem(NamedTuple):
    """What a cohort learns."""

    task: Task
    corpus: Corpus
    split: Callable[[int], Split]  # split number -> rows; sizes are the same for all numbers
    training: Training

    @property
    def program(self) -> member.Program:
        """The static part of a member's functions."""
        training = self.training
        return member.Program(
            self.task, training.optimiser, training.batch_size, training.evaluation_batch_size
        )


def lanes_for(training: Training, members: int) -> int:
    """Number of lanes that so many members ask for: as the config says, else up to 64."""
    return min(training.lanes or _WIDEST, members)
