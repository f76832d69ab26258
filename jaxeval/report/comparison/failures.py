"""What a comparison says of runs that failed."""

from jaxeval.report import text
from jaxeval.runs import headers
from jaxeval.stats.failures import Failures, FailureTest
from jaxeval.stats.study import ScoreStudy

_MOST_NAMED = 5  # pairs


def sentences(study: ScoreStudy) -> list[str]:
    """How many runs of each model failed, and whether their shares were shown to differ."""
    of = study.failures
    if of is None:
        return []
    rules = []
    if study.table.missing == "zero":
        rules = ["counted as 0"]
    elif len(study.comparison.pairs) > 1:
        rules = ["in P(A better) they count as the worst"]
    return ["; ".join([_counted(study, of), *rules, _tested(of, study.comparison.rules.alpha)])]


def _counted(study: ScoreStudy, of: Failures) -> str:
    said = []
    for model in study.table.models:
        counts = of.of(model)
        if not counts.failed:
            continue
        ends = study.table.statuses[model]
        how = text.statuses({s: n for s, n in ends.items() if headers.is_failed(s)})
        runs = text.counted(counts.runs, "run")
        said.append(f"{counts.failed} of {runs} of {model} failed ({how})")
    rest = [model for model in study.table.models if not of.of(model).failed]
    if len(rest) == 1:
        said.append(f"none of {of.of(rest[0]).runs} of {rest[0]}")
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
