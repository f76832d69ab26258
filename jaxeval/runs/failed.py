"""Runs of a score table that failed: their scores do not count, they are counted themselves."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from jaxeval.runs import headers


@dataclasses.dataclass(frozen=True)
class FailedRuns:
    """Rows of a table; all arrays have one length.

    Attributes:
      model: places in the table's models.
      axes: those of seed, split and dataset that the table has, as text.
      rows: row numbers in the file.
    """

    model: np.ndarray
    axes: Mapping[str, np.ndarray]
    rows: np.ndarray

    def of(self, models: Sequence[int]) -> "FailedRuns":
        """Those of some models, by their places, which are numbered anew in this order."""
        keep = np.flatnonzero(np.isin(self.model, models))
        number = {place: k for k, place in enumerate(models)}
        return FailedRuns(
            np.array([number[place] for place in self.model[keep].tolist()], int),
            {axis: values[keep] for axis, values in self.axes.items()},
            self.rows[keep],
        )


NONE = FailedRuns(np.zeros(0, int), {}, np.zeros(0, int))


def are_failed(statuses: Sequence[object] | None, count: int) -> np.ndarray:
    """[count] whether the status of a run says that it failed."""
    if statuses is None:
        return np.zeros(count, bool)
    return np.array([headers.is_failed(status) for status in statuses], bool)


def warnings(
    models: Sequence[object], statuses: Sequence[object] | None, finite: np.ndarray
) -> Iterator[str]:
    """Scores of runs that failed, which do not count, and of runs that go on, which do.

    Args:
      finite: [rows] whether the file has a score.
    """
    counts = Counter(
        (str(model), str(status))
        for model, status, has_score in zip(models, statuses or (), finite.tolist(), strict=False)
        if has_score and (headers.is_failed(status) or headers.is_unfinished(status))
    )
    for (model, status), count in counts.items():
        rule = "they count, unless the table leaves them empty"
        if headers.is_failed(status):
            rule = "these runs count as failed; without the column of statuses the scores count"
        yield f"{model}: {count} of its scores are of runs whose status is {status}; {rule}"
