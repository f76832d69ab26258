"""Which scores of a command are better."""

from typing import NamedTuple

from jaxeval.report import text
from jaxeval.runs import metrics


class Direction(NamedTuple):
    """Which scores of a command are better, by a flag or else the name of the field.

    Attributes:
      metric: the last part of the field; None: the score is no field.
      higher_is_better: None: not known, so that it is assumed.
    """

    metric: str | None
    higher_is_better: bool | None

    @property
    def sentence(self) -> str:
        """Of the metric, which scores are better."""
        higher = self.higher_is_better
        return f"{self.metric or 'score'}: {text.direction(higher is not False, higher is None)}"


def of_command(json_field: str | None, asked: bool | None) -> Direction:
    """Of the scores that a command prints.

    Args:
      json_field: the path of the score, such as test.nll.
      asked: by a flag.
    """
    metric = json_field and json_field.rpartition(".")[2]
    return Direction(metric, metrics.higher_is_better(metric) if asked is None else asked)
