"""Two models compared over the runs of each data set, or in the mean over data sets."""

import dataclasses
import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval import stats
from jaxeval.errors import DataError, argument
from jaxeval.runs.columns import listed
from jaxeval.runs.scores import Scores
from jaxeval.stats import Later, Rules, multiple, pairs, power
from jaxeval.stats.pairs import Pair, RunScores
from jaxeval.stats.samples import FEWEST, Copies, Samples

_MOST_RESAMPLED = 5_000  # scores of all pairs up to which there is resampling: some ten seconds


def choose_pairs(
    scores: Scores,
    units: Samples,
    control: str | None,
    alpha: float,
    copies: Sequence[Copies] = (),
) -> list[RunScores]:
    """Returns the pairs to compare, with the tests that their numbers of scores allow.

    Args:
      alpha: family-wise level.
      copies: models that are not compared.
    """
    every = list[RunScores]()
    with_failed = units.with_failed(scores.higher_is_better) if units.failed else units
    for name, models in units.by_data_set.items():
        failed = units.failed.get(name, {})
        for a, b in itertools.combinations(models, 2):
            pair = _run_pair(units, name, a, b)
            if failed.get(a) or failed.get(b):
                whole = _run_pair(with_failed, name, a, b)
                whole = dataclasses.replace(whole, by_pairs=pair.by_pairs)
                pair = dataclasses.replace(pair, with_failed=whole)
            every += [pair] if len(pair.first) and control in (None, a, b) else []
    if not every:
        raise DataError(_no_pairs(scores, units), scores.source)
    # data sets in common count, and one says nothing: such a pair goes as one without any
    every = [pair for pair in every if pair.unit != "data set" or pair.units > 1] or every
    alike = {(of.model, of.data_set) for of in copies}
    found = [p for p in every if not alike & {(p.a, p.data_set), (p.b, p.data_set)}]
    for pair in found:
        for name, count in zip((pair.a, pair.b), pair.n, strict=True):
            if count < 2:
                if pair.unit == "data set":
                    expected = f"1 data set in common; expected at least {pair.fewest}"
                    raise DataError(f"{pair.a} and {pair.b}: {expected}", scores.source)
                single = f"{name}{stats.on(pair.data_set)}: {count} score"
                single += f" of {scores.metric}" if scores.metric else ""
                expected = f"expected at least {FEWEST} of a model, better 5 (other seeds, splits)"
                why = f"{single}, which says nothing about a distribution"
                raise DataError(f"{why}; {expected}", scores.source)
    overlap = scores.overlap if units.unit == "split" else 0.0
    found = [dataclasses.replace(pair, overlap=overlap) for pair in found]
    by_ranks = power.by_ranks(found, alpha)
    resampled = sum(max(pair.n) for pair in found) <= _MOST_RESAMPLED
    return [dataclasses.replace(p, by_ranks=by_ranks, resampled=resampled) for p in found]


def _no_pairs(scores: Scores, units: Samples) -> str:
    lost = [name for name in scores.models if not len(scores.scores_of(name))]
    if lost and len(scores.models) - len(lost) < 2:
        reasons = []
        for name in lost:
            runs = sum(scores.statuses.get(name, {}).values())
            which = "the only run" if runs == 1 else f"all {runs} runs"
            reasons.append(
                f"{which} of {name} failed" if runs else f"all scores of {name} are missing"
            )
        return f"{'; '.join(reasons)}: no scores to compare"
    if len(units.by_data_set) < 2:
        names = ", ".join(scores.models)
        return f"expected two or more models with scores on the same data set, found {names}"
    places = [f"{m} on {d}" for d, by_model in units.by_data_set.items() for m in by_model]
    return (
        f"no two models have scores on the same data set ({listed(places, 6)}); choose another "
        f"column with {argument('column', {'dataset': 'NAME'})} (in a runs folder also data, the "
        "place it was read from)"
    )


def _run_pair(units: Samples, data_set: str, a: str, b: str) -> RunScores:
    models = units.by_data_set[data_set]
    shared = units.unit in ("split", "dataset")  # a split or data set moves all models
    x, y = units.paired(data_set, a, b) if units.unit != "row" else (np.zeros(0),) * 2
    # scores of different data sets are no samples of one distribution
    both = (x, y) if units.unit == "dataset" else (models[a].scores, models[b].scores)
    enough = len(x) >= max(2, *(len(scores) / 2 for scores in both))
    paired = (x, y) if len(x) >= 2 else None
    by_pairs = shared and enough
    return RunScores(a, b, data_set, *both, paired, by_pairs, units.noun)


class Families(NamedTuple):
    """Number of tests in each family of the correction."""

    location: int
    spread: int
    equivalence: int
    further: int


def adjust(
    tests: Sequence[Mapping[str, stats.HypothesisTest]],
    scores: Sequence[RunScores],
    rules: Rules,
    left_out: int = 0,
) -> tuple[Sequence[Mapping[str, float]], Families]:
    """Returns the p-values of each pair by test, adjusted in four families.

    Holm's procedure is sharpened for tests of means, since equality of means is transitive
    (`multiple.adjust_equalities`); P(A > B) = 1/2 is not. A family may hold p-values of a single
    look and of any look: both are valid at every look.

    Args:
      left_out: pairs of earlier looks that are not compared now, which count as p = 1.
    """
    families: dict[str, list[tuple[int, str]]] = {kind: [] for kind in Families._fields}
    for k, of_pair in enumerate(tests):
        kinds = {scores[k].location_test: "location", scores[k].spread_test: "spread"}
        for name in of_pair:
            kind = "equivalence" if name == "tost" else kinds.get(name, "further")
            families[kind].append((k, name))
    counts = {kind: len(family) for kind, family in families.items()}
    for kind in ("location", "equivalence"):
        counts[kind] += left_out * bool(counts[kind])

    @functools.cache
    def corrected(kind: str) -> dict[tuple[int, str], float]:
        p_values = [tests[k][name].p_value for k, name in families[kind]]
        p_values += [1.0] * (counts[kind] - len(p_values))
        if kind == "location" and pairs.correction(scores, rules, left_out) == "bergmann_hommel":
            found = multiple.adjust_equalities(p_values, pairs.groups(scores))
        else:
            found = multiple.adjust_p_values(p_values, rules.correction)
        return dict(zip(families[kind], found.tolist(), strict=False))

    adjusted = [Later() for _ in tests]
    for kind, family in families.items():
        for k, name in family:
            adjusted[k][name] = lambda of=(kind, k, name): corrected(of[0])[of[1:]]
    return adjusted, Families(**counts)


def compare_runs(
    found: Sequence[RunScores], rules: Rules, scores: Scores, left_out: int = 0
) -> tuple[list[Pair], Families]:
    """Runs tests, effects and plans of all pairs; `left_out` as in `adjust`."""
    tests = [of.tests(rules) for of in found]
    adjusted, families = adjust(tests, found, rules, left_out)
    each = zip(found, tests, adjusted, strict=True)
    return [_compared(*of, rules, scores, families) for of in each], families


def _compared(
    pair: RunScores,
    tests: Mapping[str, stats.HypothesisTest],
    adjusted: Mapping[str, float],
    rules: Rules,
    scores: Scores,
    families: Families,
) -> Pair:
    effects = pair.effects(rules, scores.higher_is_better, scores.bounds)
    gap = effects["difference"]
    name, enough = pair.location_test, pair.units >= pair.fewest
    shown = (tests[name].direction or 0) if enough and adjusted[name] <= rules.alpha else 0
    return Pair(
        a=pair.a,
        b=pair.b,
        data_set=pair.data_set,
        metric=scores.metric,
        higher_is_better=scores.higher_is_better,
        value=gap.estimate,
        interval=gap.interval,
        primary=name,
        p_value=tests[name].p_value,
        p_adjusted=adjusted[name],
        shown=shown,
        against=pair.contradicting(shown) if shown else (),
        equivalent=enough and "tost" in adjusted and adjusted["tost"] <= rules.alpha,
        n=pair.n,
        pairs=0 if pair.paired is None else len(pair.paired[0]),
        unit=pair.unit,
        tests=tests,
        adjusted=adjusted,
        effects=effects,
        looks=pair.looks,
        scores=pair,
        rules=rules,
        planned=functools.partial(power.plan, pair, rules, families.location),
    )
