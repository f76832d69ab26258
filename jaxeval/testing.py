"""Assertions for tests of models, such as pytest's: `assert_better(a, b, margin=...)`."""

from collections.abc import Collection, Sequence
from os import PathLike
from typing import Any

import numpy as np

from jaxeval import parameters, sources, stats
from jaxeval.errors import ConfigError
from jaxeval.parameters import NonNegative, Probability
from jaxeval.report.comparison import Comparison
from jaxeval.runs import cells, metrics, scores
from jaxeval.runs import logs as evaluations
from jaxeval.runs.layout import Missing
from jaxeval.runs.scores import Scores
from jaxeval.stats import Rules
from jaxeval.stats.study import study

_Scored = Sequence | np.ndarray | str | PathLike[str]
_NAMES = ("a", "b")


@parameters.verb
def assert_better(
    a: _Scored,
    b: _Scored,
    *,
    margin: NonNegative = 0.0,
    over: str | Collection[str] | None = None,
    clusters: Sequence | str | None = None,
    metric: str | None = None,
    lower_is_better: bool | None = None,
    alpha: Probability = 0.05,
    missing: Missing = "error",
) -> None:
    """Passes if A is shown to be better than B by more than the margin.

    Args:
      a, b: scores of the same items, [items] or [items, runs], NaN where one is missing; or paths
        of evaluation logs.
      margin: in the unit of the scores.
      over: "items", "runs", or both; None: items and, where there are several, runs.
      clusters: of arrays, labels of items that belong together; of logs, the key that holds them.
      metric: of logs with several; of arrays, what they hold.
      lower_is_better: None: as the logs or the metric's name say, else not.
      alpha: level of the two-sided test, corrected over the tasks of logs (Holm).
      missing: "error": fails where more than 5 % of a model's answers on a task have no score,
        since those may be the hard ones; "drop" leaves them out, "zero" counts them as 0.

    Raises:
      AssertionError: A is worse, or neither was shown; with the numbers.
      ConfigError, DataError: what cannot be compared.
    """
    __tracebackhide__ = True  # pytest shows the caller's line
    of_paths = [isinstance(each, str | PathLike) for each in (a, b)]
    if any(of_paths) and not all(of_paths):
        raise ConfigError("assert_better: expected two paths or two arrays of scores")
    if any(of_paths):
        labels: Any = clusters or ""
        layout = sources.layout(None, None, metric, missing, lower_is_better, cluster=labels)
        read_scores = evaluations.read([f"a={a}", f"b={b}"], layout)
    else:
        read_scores = _of_arrays(a, b, clusters, metric, lower_is_better, missing)
    rules = Rules(
        alpha,
        margin=margin or None,
        confidence=1 - alpha,
        over=None if over is None else stats.parse_over(over),
        complete=missing == "error",
    )
    found = Comparison(study(read_scores, rules), gate=True)
    if found.outcome != "better":
        shown = found.document()
        lines = [*shown.last, *shown.answer, *shown.notes, *shown.blocks, *found.details()]
        raise AssertionError("\n".join(line for line in lines if isinstance(line, str)))


def _of_arrays(
    a: Any, b: Any, labels: Any, metric: str | None, lower: bool | None, missing: Any
) -> Scores:
    higher = metrics.higher_is_better(metric) if lower is None else not lower
    if missing == "zero" and higher is False:
        raise ConfigError("assert_better: missing='zero' would be the best; expected 'drop'")
    data = scores.from_arrays(
        dict(zip(_NAMES, (a, b), strict=True)),
        metric=metric or "score",
        higher_is_better=higher is not False,
        direction="assumed" if higher is None else "recorded",
        clusters=labels,
        zero=missing == "zero",
    )
    known = {name: of.scores[~np.isnan(of.scores)] for name, of in data.models.items()}
    cells.refuse_two_scales(known, data.metric, None, None, items=True)
    return Scores("scores", _NAMES, (data,), missing)
