"""For tests of models, such as pytest's: `assert_better(a, b, margin=...)`."""

from collections.abc import Collection, Sequence
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from jaxeval import errors
from jaxeval.errors import ConfigError

if TYPE_CHECKING:
    from jaxeval.runs.layout import Missing
    from jaxeval.runs.scores import Scores
    from jaxeval.stats.rules import Factor

Arrays = Sequence | np.ndarray
_NAMES = ("a", "b")
_ARGUMENTS = {  # in messages; the last two are of logs that `compare` alone reads
    "lower_is_better": "higher_is_better=False",
    "higher_is_better": "higher_is_better=True",
    "column": "compare logs --column ROLE=KEY",
    "mismatched": "compare logs --mismatched{}",
}


def assert_better(
    a: Arrays | str | PathLike[str],
    b: Arrays | str | PathLike[str],
    *,
    margin: float = 0.0,
    over: "str | Collection[Factor] | None" = None,
    clusters: Sequence | str | None = None,
    metric: str | None = None,
    higher_is_better: bool | None = None,
    alpha: float = 0.05,
    missing: "Missing" = "error",
) -> None:
    """Passes if A is shown to be better than B by more than the margin.

    Args:
      a, b: scores of the same items, [items] or [items, runs], NaN where one is missing; or paths
        of evaluation logs.
      margin: in the unit of the scores.
      over: "items", "runs", or both; None: items and, where there are several, runs.
      clusters: of arrays, labels of items that belong together; of logs, the key that holds them.
      metric: of logs with several; of arrays, what they hold.
      higher_is_better: None: as the logs or the metric's name say, else so.
      alpha: level of the two-sided test, corrected over the tasks of logs (Holm).
      missing: "error": fails where more than 5 % of a model's answers on a task have no score,
        since those may be the hard ones; "drop" leaves them out, "zero" counts them as 0.

    Raises:
      AssertionError: A is worse, or neither was shown; with the numbers.
      ConfigError, DataError: what cannot be compared.
    """
    __tracebackhide__ = True  # pytest shows the caller's line
    with errors.in_python(**_ARGUMENTS):
        paired = _paired(a, b, clusters, metric, higher_is_better, missing)
        against = _against(paired, over, alpha, margin, missing)
    if against:
        raise AssertionError("\n".join(against))


def _against(
    paired: "Scores",
    over: "str | Collection[Factor] | None",
    alpha: float,
    margin: float,
    missing: "Missing",
) -> list[str]:
    """What is said of A that is not shown to be better; nothing where it is."""
    from jaxeval.report.comparison import answers, claims, words
    from jaxeval.stats.items import estimates
    from jaxeval.stats.items import study as studies
    from jaxeval.stats.rules import Rules

    rules = Rules(
        alpha,
        margin=margin or None,
        confidence=1 - alpha,
        over=None if over is None else estimates.named(over, ConfigError),
        complete=missing == "error",
    )
    study = studies.study(paired, rules)
    if studies.decision(study).outcome == "better":
        return []
    said = [*study.warnings, *study.notes]
    said += [line for pair in study.overall for line in claims.overall(pair, study)]
    for pair in study.pairs:
        title = f"{words.title(pair)}: " if len(study.pairs) > 1 else ""
        said += [title + line for line in claims.of_items(pair, study)]
        said += pair.difference.warnings if pair.difference else ()
    return [answers.outcome(study), *words.directions(study), *said]


def _paired(
    a: Arrays | str | PathLike[str],
    b: Arrays | str | PathLike[str],
    clusters: Sequence | str | None,
    metric: str | None,
    higher_is_better: bool | None,
    missing: "Missing",
) -> "Scores":
    paths = [isinstance(of, str | PathLike) for of in (a, b)]
    if any(paths) and not all(paths):
        raise ConfigError("assert_better: expected two paths or two arrays of scores")
    read = _of_logs if any(paths) else _of_arrays
    return read(a, b, clusters, metric, higher_is_better, missing)


def _of_logs(
    a: object,
    b: object,
    key: object,
    metric: str | None,
    higher_is_better: bool | None,
    missing: "Missing",
) -> "Scores":
    from jaxeval.runs.layout import Layout
    from jaxeval.runs.logs import finding

    if not (key is None or isinstance(key, str)):
        raise ConfigError("assert_better: of logs, clusters is the key that holds them")
    paths = [f"{name}={path}" for name, path in zip(_NAMES, (a, b), strict=True)]
    layout = Layout({}, _NAMES, metric, missing, higher_is_better, cluster=key or "")
    return finding.read(paths, layout)


def _of_arrays(
    a: object,
    b: object,
    clusters: Sequence | str | None,
    metric: str | None,
    higher_is_better: bool | None,
    missing: "Missing",
) -> "Scores":
    from jaxeval.runs import directions, scores
    from jaxeval.runs import metrics as known
    from jaxeval.stats.items import cells

    asked = directions.asked_for(higher_is_better)
    said = known.higher_is_better(metric) if asked is None else asked
    arrays = {name: cells.array(of, name) for name, of in zip(_NAMES, (a, b), strict=True)}  # type: ignore[arg-type]
    sizes = [len(array) for array in arrays.values()]
    if len({*sizes, *([len(clusters)] if clusters is not None else [])}) > 1:
        raise ConfigError(f"assert_better: expected the same items, found {sizes} of a and b")
    if missing == "zero":
        every = np.concatenate([array.ravel() for array in arrays.values()])
        if np.isnan(every).any() and _zero_is_best(every[~np.isnan(every)], said is not False):
            raise ConfigError("assert_better: missing zero: 0 would be the best; expected drop")
        arrays = {name: np.nan_to_num(array, nan=0.0) for name, array in arrays.items()}
    data = scores.of_arrays(
        arrays,
        metric=metric or "score",
        higher_is_better=said is not False,
        direction="assumed" if said is None else "recorded",
        clusters=None if clusters is None else np.array(clusters, object),
    )
    return scores.Scores("scores", _NAMES, (data,), missing)


def _zero_is_best(known: np.ndarray, higher_is_better: bool) -> bool:
    """Whether a 0 for what has no score would be the best of the known scores, as of losses."""
    negative = bool(known.size and known.min() < 0)
    return not higher_is_better or (negative and known.max() <= 0)
