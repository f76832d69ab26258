"""Models compared pair by pair, with one correction within each of three families of tests.

The primary test of a pair is one of location, chosen by the design before the scores are seen
(`planning.by_ranks`) and corrected over all pairs and data sets. A second family has the tests of
spread (Pitman-Morgan on pairs, else Brown-Forsythe; none where the units are data sets). What is
said of location and spread takes its direction from these tests' own statistics. All other tests
are a third family, and secondary.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from jaxeval.errors import DataError
from jaxeval.stats import pairwise, planning
from jaxeval.stats.equivalence import Rope
from jaxeval.stats.pairwise import FEW_SPREADS, Rules, Scores
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
    """All pairs, and how they were tested.

    Attributes:
      primary: the tests of location, as a signature names them; what their design can show.
      families: how many tests each family of the correction has.
    """

    pairs: tuple[Pair, ...]
    rules: Rules
    primary: planning.Primary
    families: pairwise.Families


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
    by_ranks = planning.by_ranks(scores)
    scores = [dataclasses.replace(pair, by_ranks=by_ranks) for pair in scores]
    tests = []
    for done, pair in enumerate(scores):
        progress(_SHARE_OF_TESTS * done / len(scores))
        tests.append(pairwise.tests(pair, rules))
    adjusted, families = pairwise.corrected(tests, scores, rules)
    pairs = []
    for done, pair in enumerate(scores):
        progress(_SHARE_OF_TESTS + (1 - _SHARE_OF_TESTS) * done / len(scores))
        sizes, rope = pairwise.sizes(pair, rules, len(scores)), pairwise.rope(pair, rules)
        plan = planning.plan(pair, rules, families)
        pairs.append(Pair(pair, tests[done], adjusted[done], sizes, rope, plan))
    return PairwiseComparisons(tuple(pairs), rules, planning.primary(scores, rules), families)


def enough(scores: Scores) -> bool:
    """Whether there are scores enough, and pairs where these decide, for a verdict."""
    return _units(scores) >= scores.fewest


def _units(scores: Scores) -> int:
    return min(*scores.n, *map(len, scores.compared))


def location(pair: Pair, rules: Rules) -> int:
    """1: A's scores are higher, -1: B's are, 0: not shown (or too few scores to say).

    The direction is that of the test itself; see `against` for measures that point elsewhere.
    """
    return _direction(pair, pair.scores.location_test, rules)


def spread(pair: Pair, rules: Rules) -> int:
    """1: A's scores are spread wider, -1: B's are, 0: not shown (or too few scores to say)."""
    test = pair.scores.spread_test
    few = test is None or _units(pair.scores) < FEW_SPREADS
    return 0 if test is None or few else _direction(pair, test, rules)


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
