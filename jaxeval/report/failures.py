"""What a comparison says of runs, or answers to items, that failed."""

from collections.abc import Mapping

from jaxeval.report import text
from jaxeval.runs import checks
from jaxeval.runs.flat import ScoreTable
from jaxeval.stats.failures import Failures, FailureTest
from jaxeval.stats.items.study import ItemStudy

_MOST_NAMED = 5  # pairs


def of_runs(
    failures: Failures | None, table: ScoreTable, alpha: float = 0.05, rule: str = ""
) -> list[str]:
    """How many runs of each model failed, and whether their shares were shown to differ.

    Args:
      rule: how they count; where it is not said elsewhere.
    """
    if failures is None:
        return []
    rules = ["counted as 0"] if table.missing == "zero" else [rule] if rule else []
    statuses = {
        model: {s: n for s, n in counts.items() if checks.is_failed(s)}
        for model, counts in table.statuses.items()
    }
    how = {model: f"({text.statuses(of)})" for model, of in statuses.items()}
    return ["; ".join([_counted(failures, "run", how), *rules, _tested(failures, alpha)])]


def of_items(study: ItemStudy) -> list[str]:
    """The same of items, over all tasks, of which an answer ended in an error."""
    if study.failures is None:
        return []
    tested = _tested(study.failures, study.rules.alpha)
    return [f"{_counted(study.failures, 'item', {})}; {tested}"]


def _counted(of: Failures, noun: str, how: Mapping[str, str]) -> str:
    every = {model: of.of(model) for model in dict.fromkeys(model for model, _ in of.counts)}
    said = [
        f"{counts.failed} of {text.counted(counts.runs, noun)} of {model} failed "
        f"{how.get(model, '')}".rstrip()
        for model, counts in every.items()
        if counts.failed
    ]
    rest = [model for model, counts in every.items() if not counts.failed]
    said += [f"none of {every[model].runs} of {model}" for model in rest if len(rest) == 1]
    return ", ".join(said)


def _tested(of: Failures, alpha: float) -> str:
    """What Fisher's test shows of the pairs, each in its direction."""
    shown = [test for test in of.tests if test.p_adjusted <= alpha]
    one = len(of.tests) == 1
    corrected = "p" if one else "corrected p"
    if not shown:
        p = text.p_value(min((test.p_adjusted for test in of.tests), default=1.0))
        p = p if one else p.replace("=", "at least")
        said = "no difference of the failure rates was shown"
        return f"{said} ({corrected} {p}, Fisher's exact test)."
    named = [*map(_pair, shown[:_MOST_NAMED])]
    named += [f"{len(shown) - len(named)} more pairs"] if len(shown) > len(named) else []
    p = text.p_value(max(test.p_adjusted for test in shown))
    p = p if len(shown) == 1 else p.replace("=", "at most")
    return f"{text.listed(named)} ({corrected} {p}, Fisher's exact test)."


def _pair(test: FailureTest) -> str:
    more, less = (test.a, test.b) if test.higher > 0 else (test.b, test.a)
    on = f" on {test.dataset}" if test.dataset else ""
    return f"{more} fails more often than {less}{on}"
