"""Which metrics of logs are meant by a name: itself, or what stands before a slash.

Behind the slash stands a filter (lm-evaluation-harness) or the key of a score (Inspect):
`exact_match` means `exact_match/strict-match` too.
"""

import difflib
import re
from collections.abc import Iterable, Sequence

from jaxeval.errors import DataError, argument
from jaxeval.runs.imported import listed


def meant(asked: str, metrics: Sequence[str]) -> list[str]:
    """Those that a name means: one if it is the name of one, else those with it before a slash."""
    if asked in metrics:
        return [asked]
    return [name for name in metrics if name.startswith(f"{asked}/")]


def of_task(asked: Sequence[str], metrics: Sequence[str]) -> list[str]:
    """What the first of some names means that a task has; several where it does not say which."""
    every = (meant(name, metrics) for name in asked)
    return next(filter(None, every), [])


def refuse_unknown(asked: Sequence[str], metrics: Sequence[str], notes: Iterable[str]) -> None:
    """Refuses a name that no task has: misspelt, it would leave tasks out.

    Args:
      notes: of the readers, `TASK: METRIC ...` of what became of a metric.

    Raises:
      DataError: naming it, the nearest metric and the others.
    """
    for name in asked:
        if not meant(name, metrics):
            near = difflib.get_close_matches(name, [*metrics, *_before_slash(metrics)], 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            why = [note for note in notes if re.search(f": {re.escape(name)}[ /]", note)]
            raise DataError(
                f"{argument('metric')}: no task has a metric {name!r}; expected one of "
                f"{listed(metrics)}{f' ({why[0]})' if why else hint}"
            )


def _before_slash(metrics: Sequence[str]) -> list[str]:
    return [name.split("/")[0] for name in metrics]
