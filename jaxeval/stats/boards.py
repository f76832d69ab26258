"""Leaderboards: models by their mean, with intervals of ranks and tie groups."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from jaxeval.runs.scores import DataSetScores, Scores
from jaxeval.stats import Rules, multiple, planning
from jaxeval.stats.describe import Summary
from jaxeval.stats.estimates import Estimate
from jaxeval.stats.pairs import Pair


class Row(NamedTuple):
    """A model's place on a board."""

    model: str
    mean: Estimate | Summary  # of items, or of whole runs
    rank: int  # by the mean, 1 is the best; equal means share a rank
    low: int  # ends of the simultaneous interval of ranks
    high: int
    groups: tuple[int, ...]  # numbers of the tie groups: models that were not told apart
    beaten: bool  # whether another model was shown to be better


class Board(NamedTuple):
    """Models by their mean, best first."""

    data_set: str | None  # None: the mean over data sets; "": a single nameless one
    metric: str
    higher_is_better: bool
    rows: tuple[Row, ...]
    detectable: planning.Detectable | None  # of items


def make_board(
    name: str | None,
    scores: Scores | DataSetScores,
    means: Mapping[str, Estimate | Summary],
    pairs: Sequence[Pair],
    rules: Rules | None = None,
) -> Board:
    """Returns the board of one data set, or of the mean over several.

    Args:
      scores: holds the metric and its direction.
      pairs: pairs that are corrected together, some of them on other data sets.
      rules: for items only, whose detectable differences follow from the tests' errors.
    """
    compared = [pair for pair in pairs if pair.data_set == name]
    better = [pair for pair in compared if pair.better]
    apart = tuple(pair.names if pair.better > 0 else pair.names[::-1] for pair in better)
    sign = 1 if scores.higher_is_better else -1
    beaten = {worse for _, worse in apart}
    places = multiple.places({m: sign * mean.value for m, mean in means.items()}, apart)
    rows = tuple(Row(m, means[m], *place, m in beaten) for m, place in places.items())
    found = None
    if rules is not None:
        differences = [pair.difference for pair in compared if pair.difference]
        found = planning.detectable(differences, rules.alpha / len(pairs))
    return Board(name, scores.metric, scores.higher_is_better, rows, found)
