"""Which metrics of logs are meant by a name: itself, or what stands before a slash; which tasks.

Behind the slash stands a filter (lm-evaluation-harness) or the key of a score (Inspect):
`exact_match` means `exact_match/strict-match` too.
"""

import difflib
import fnmatch
import re
from collections.abc import Iterable, Mapping, Sequence

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


def models_with(
    asked: Sequence[str], metrics: Mapping[str, Sequence[str]], notes: list[str]
) -> tuple[str, ...]:
    """The models that have a metric that is asked for; the others are noted.

    Args:
      metrics: model -> those that it has on any task.

    Returns:
      All of them where fewer than two have one.
    """
    having = [model for model, of in metrics.items() if of_task(asked, of)]
    if len(having) < 2:
        return tuple(metrics)
    lacking = [model for model in metrics if model not in having]
    notes += [f"{model} has no metric {' or '.join(asked)}; left out" for model in lacking]
    return tuple(having)


def tasks_meant(tasks: Sequence[str], asked: Sequence[str]) -> set[int]:
    """Codes of some tasks, all for none; other names are patterns of tasks (`mmlu_*`).

    Raises:
      DataError: a name or pattern that no task has.
    """
    wanted: set[int] = set() if asked else {*range(len(tasks))}
    for name in asked:
        meant = [name] if name in tasks else fnmatch.filter(tasks, name)
        if not meant:
            said = f"no task {name!r} in the logs; expected one of {listed(tasks)}"
            raise DataError(f"{argument('task')}: {said}")
        wanted |= {tasks.index(task) for task in meant}
    return wanted
