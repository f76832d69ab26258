"""Of which metrics in logs higher scores are better."""

from collections.abc import Mapping, Sequence

from jaxeval.errors import DataError, argument
from jaxeval.runs import metrics
from jaxeval.runs.imported import listed

Key = tuple[str, str]  # task and metric


def of_metrics(
    logged: Mapping[Key, bool], compared: Sequence[Key], asked: bool | None
) -> dict[Key, bool | None]:
    """Whether higher is better, by the log or else by the metric's name; None: not known.

    Args:
      asked: overrules the name where one metric is compared. Of several it is of those whose
        direction is not known: one word on accuracy and a loss would turn one of them round.

    Raises:
      DataError: the opposite of what a log says of the one metric; of several metrics, all known,
        that of one.
    """
    if asked is not None and len({metric for _, metric in compared}) == 1:
        for task, metric in compared:
            if logged.get((task, metric), asked) != asked:
                said = metrics.contradicted(not asked, "the logs say", metric)
                raise DataError(f"task {task}: {said}" if task else said)
        return dict.fromkeys(compared, asked)
    known = {key: logged[key] if key in logged else _named(key[1]) for key in compared}
    if asked is not None and (not asked) in known.values() and None not in known.values():
        flag = argument(f"{'higher' if asked else 'lower'}_is_better", True)
        names = listed(list(dict.fromkeys(metric for _, metric in compared)))
        raise DataError(
            f"{flag}: of several metrics it is of those whose direction is not known, and that of "
            f"{names} is; {argument('metric', 'NAME')} chooses one"
        )
    return {key: asked if said is None else said for key, said in known.items()}


def _named(metric: str) -> bool | None:
    """By the name: of exact_match/strict-match by what stands before the slash."""
    known = metrics.higher_is_better(metric.split("/")[0])
    return metrics.higher_is_better(metric) if known is None else known
