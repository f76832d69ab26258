"""What is said of runs and items that failed."""

from collections.abc import Mapping

from jaxeval.report import text
from jaxeval.report.comparison.words import on
from jaxeval.runs.checks import is_failed
from jaxeval.runs.scores import Scores
from jaxeval.stats.samples import Failures, FailureTest

_MOST_NAMED = 5  # pairs in a sentence


def of_runs(
    failures: Failures | None, of: Scores, alpha: float = 0.05, rule: str = ""
) -> list[str]:
    """How many runs of each model failed, and whether their shares were shown to differ.

    Args:
      rule: how they count; where it is not said elsewhere.
    """
    how = {
        model: f"({text.statuses({s: n for s, n in counts.items() if is_failed(s)})})"
        for model, counts in of.statuses.items()
    }
    rule = "counted as 0" if of.missing == "zero" else rule
    return _failed(failures, "run", how, alpha, rule)


def of_items(failures: Failures | None, alpha: float) -> list[str]:
    """The same of items whose answers ended in an error."""
    return _failed(failures, "item", {}, alpha)


def _failed(
    of: Failures | None, noun: str, how: Mapping[str, str], alpha: float, rule: str = ""
) -> list[str]:
    """How many failed of each model, how they count, and what Fisher's test shows."""
    if of is None:
        return []
    every = {model: of.of(model) for model in dict.fromkeys(model for model, _ in of.counts)}
    said = [
        f"{counts.failed} of {text.counted(counts.runs, noun)} of {model} failed "
        f"{how.get(model, '')}".rstrip()
        for model, counts in every.items()
        if counts.failed
    ]
    rest = [model for model, counts in every.items() if not counts.failed]
    said += [f"none of {every[model].runs} of {model}" for model in rest if len(rest) == 1]
    return ["; ".join([", ".join(said), *([rule] if rule else []), _tested(of, alpha)])]


def _tested(of: Failures, alpha: float) -> str:
    """What Fisher's test shows of the pairs, each in its direction."""
    shown = [test for test in of.tests if test.p_adjusted <= alpha]
    corrected = "p" if len(of.tests) == 1 else "corrected p"
    if not shown:
        p = text.p_value(min((test.p_adjusted for test in of.tests), default=1.0))
        p = p if len(of.tests) == 1 else p.replace("=", "at least")
        said = "no difference of the failure rates was shown"
        return f"{said} ({corrected} {p}, Fisher's exact test)."
    named = [*map(_more_often, shown[:_MOST_NAMED])]
    named += [f"{len(shown) - len(named)} more pairs"] if len(shown) > len(named) else []
    p = text.p_value(max(test.p_adjusted for test in shown))
    p = p if len(shown) == 1 else p.replace("=", "at most")
    return f"{text.listed(named)} ({corrected} {p}, Fisher's exact test)."


def _more_often(test: FailureTest) -> str:
    more, less = (test.a, test.b) if test.higher > 0 else (test.b, test.a)
    return f"{more} fails more often than {less}{on(test.data_set)}"
