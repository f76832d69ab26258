"""Models compared pair by pair, with one correction within each of two families of tests.

The *verdict* on a pair rests on two tests, chosen before the scores are seen: one of location
(Wilcoxon's signed-rank where units pair the models, else Brunner-Munzel) and one of spread
(Pitman-Morgan on pairs, else Brown-Forsythe; none where the units are data sets), corrected over
all pairs and data sets, and takes its direction from these tests' own statistics. All other tests
are corrected together as a second family, and are secondary.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from jaxeval.errors import DataError
from jaxeval.stats import pairwise, planning
from jaxeval.stats.equivalence import Rope
from jaxeval.stats.pairwise import FEW, Rules, Scores
from jaxeval.stats.results import Effect, HypothesisTest

_LEAST = 2
_SHARE_OF_TESTS = 0.2  # of the time; effects and plans take the rest


@dataclasses.dataclass(frozen=True)
class Pair:
    """What was found for two models on one data set; function name -> result."""

    scores: Scores
    tests: Mapping[str, HypothesisTest]
    adjusted: Mapping[str, float]
    effects: Mapping[str, Effect]
    rope: Rope | None
    plan: planning.PowerPlan


@dataclasses.dataclass(frozen=True)
class PairwiseComparisons:
    """All pairs, and how many tests each family of the correction has."""

    pairs: tuple[Pair, ...]
    rules: Rules
    verdict_tests: int
    further_tests: int


def compare(
    scores: Sequence[Scores], rules: Rules, progress: Callable[[float], None] = lambda share: None
) -> PairwiseComparisons:
    """Tests, effects and planning for all pairs of models on all data sets.

    Args:
      progress: is called now and then with the share that is done.

    Raises:
      DataError: a model has one score only, which says nothing about a distribution.
    """
    for pair in scores:
        for name, values in ((pair.a, pair.first), (pair.b, pair.second)):
            if len(values) < _LEAST:
                where = f" on {pair.dataset}" if pair.dataset else ""
                raise DataError(
                    f"{name}{where}: {len(values)} score, which says nothing about a "
                    "distribution; expected at least 2, better 5 or more (other seeds, splits)"
                )
    tests = []
    for done, pair in enumerate(scores):
        progress(_SHARE_OF_TESTS * done / len(scores))
        tests.append(pairwise.tests(pair, rules))
    adjusted, verdict, further = pairwise.corrected(
        tests, [pair.verdict_tests for pair in scores], rules
    )
    pairs = []
    for done, pair in enumerate(scores):
        progress(_SHARE_OF_TESTS + (1 - _SHARE_OF_TESTS) * done / len(scores))
        sizes, rope = pairwise.sizes(pair, rules, len(scores)), pairwise.rope(pair, rules)
        plan = planning.plan(pair, rules, verdict)
        pairs.append(Pair(pair, tests[done], adjusted[done], sizes, rope, plan))
    return PairwiseComparisons(tuple(pairs), rules, verdict, further)


def enough(scores: Scores) -> bool:
    """Whether there are scores enough, and pairs where these decide, for a verdict."""
    return min(*scores.n, *map(len, scores.compared)) >= FEW


def location(pair: Pair, rules: Rules) -> int:
    """1: A's scores are higher, -1: B's are, 0: not shown (or too few scores to say).

    The direction is that of the test itself; see `against` for measures that point elsewhere.
    """
    return _direction(pair, pair.scores.location_test, rules)


def spread(pair: Pair, rules: Rules) -> int:
    """1: A's scores are spread wider, -1: B's are, 0: not shown (or too few scores to say)."""
    test = pair.scores.spread_test
    return 0 if test is None else _direction(pair, test, rules)


def against(pair: Pair, rules: Rules) -> tuple[str, ...]:
    """Measures of location whose sign is not that of the verdict; none where nothing was shown."""
    return pairwise.against(pair.scores, location(pair, rules))


def excludes_zero(pair: Pair) -> bool:
    """Whether the interval of the mean difference, which is not corrected, lies beside 0."""
    interval = pair.effects["difference"].interval
    return interval.low > 0 or interval.high < 0


def _direction(pair: Pair, test: str, rules: Rules) -> int:
    shown = enough(pair.scores) and pair.adjusted.get(test, 1.0) <= rules.alpha
    return (pair.tests[test].direction or 0) if shown else 0
