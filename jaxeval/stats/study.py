"""Scores studied: every model described, every pair compared, data sets summed up."""

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import metrics
from jaxeval.runs.columns import listed
from jaxeval.runs.scores import Scores
from jaxeval.stats import (
    datasets,
    describe,
    run_plans,
    samples,
    single_models,
    study_warnings,
)
from jaxeval.stats import pairs as of_pairs
from jaxeval.stats import samples as of_units
from jaxeval.stats.datasets import Across
from jaxeval.stats.describe import Described
from jaxeval.stats.items import study as of_items
from jaxeval.stats.items.study import ItemStudy
from jaxeval.stats.pairs import FEW_SPREADS, Families, Pair, RunScores
from jaxeval.stats.results import HypothesisTest, within
from jaxeval.stats.rules import Rules
from jaxeval.stats.run_plans import Primary
from jaxeval.stats.samples import Copies, Failures, Samples, Unit
from jaxeval.stats.single_models import SingleModels

_SHARE_OF_TESTS = 0.2  # of the time; effects and plans take the rest
_MOST_RESAMPLED = 5_000  # scores of all pairs for which resampling pays: some ten seconds
_Progress = Callable[[float], None]


@dataclasses.dataclass(frozen=True, eq=False)
class RunStudy:
    """Everything that is said of scores of whole runs.

    `copies`: models that have one score at every seed: one run each, which no test is made of.
    Where all pairs have such a model, there are no pairs.
    """

    unit: Unit  # of replication
    averaged: tuple[int, int]  # fewest and most scores that were averaged into one
    models: tuple[Described, ...]
    pairs: tuple[Pair, ...]
    primary: Primary  # the tests of location, and what their design can show
    families: Families
    across: Across | None
    rules: Rules
    warnings: tuple[str, ...]
    single: SingleModels | None  # tests on the items of one trained model a method
    items: ItemStudy | None  # item by item; None where not all models have two runs or more
    copies: tuple[Copies, ...]
    failures: Failures | None  # None where no run failed
    scores: Scores = dataclasses.field(repr=False)
    samples: Samples = dataclasses.field(repr=False)


def study(
    scores: Scores,
    rules: Rules | None = None,
    unit: Unit | None = None,
    *,
    control: str | None = None,
    items: Scores | None = None,
    progress: _Progress = lambda share: None,
) -> RunStudy:
    """Describes and compares all models by the scores of their runs, and of the items of these.

    `control`: only pairs with this model. `progress` is told the share that is done.
    """
    rules, higher = rules or Rules(), scores.higher_is_better
    metrics.refuse_points("margin", rules.margin or 0.0, scores.stored_unit)
    units, copies = of_units.without_copies(of_units.samples(scores, unit))
    counted = of_units.with_failed(units, higher)
    chosen = _chosen(scores, units, counted, control, copies)
    bounds = metrics.bounds(scores.metric, scores.known, scores.unit)
    pairs, families = _compared(chosen, rules, scores, bounds, progress)
    together = datasets.across(units, rules, higher, control, counted)
    warnings = study_warnings.of_study(scores, units, pairs, rules, together)
    return RunStudy(
        *(units.unit, units.averaged),
        models=tuple(describe.of_models(scores, units, rules, bounds)),
        pairs=tuple(pairs),
        primary=run_plans.primary(chosen, rules),
        families=families,
        across=together,
        rules=rules,
        warnings=(*scores.warnings, *warnings),
        single=None if items is None else single_models.compare(items, rules, control),
        items=None if items is None else _over_items(items, rules),
        copies=copies,
        failures=samples.of_runs(scores, control, rules.correction),
        scores=scores,
        samples=units,
    )


def _over_items(items: Scores, rules: Rules) -> ItemStudy | None:
    """All runs item by item, on the data sets where every model has two or more."""
    several = [
        data
        for data in items.data_sets
        if len(data.models) == len(items.models)
        and min(int(of.finished.sum()) for of in data.models.values()) > 1
    ]
    if not several or len(items.models) < 2:
        return None
    of = dataclasses.replace(rules, confidence=1 - rules.alpha)
    return of_items.study(dataclasses.replace(items, data_sets=tuple(several), notes=()), of)


def _chosen(
    scores: Scores, units: Samples, counted: Samples, control: str | None, copies: Sequence[Copies]
) -> list[RunScores]:
    """The pairs that are compared, and how, by their numbers of scores."""
    if control is not None and control not in scores.models:
        raise DataError(f"no control {control!r}; it has {listed(scores.models)}", scores.source)
    every = [pair for pair in _pairs(units, counted) if control in (None, pair.a, pair.b)]
    if not every:
        raise DataError(_no_pairs(scores, units), scores.source)
    alike = {(of.model, of.data_set) for of in copies}
    pairs = [p for p in every if not alike & {(p.a, p.data_set), (p.b, p.data_set)}]
    for pair in pairs:
        for name, values in ((pair.a, pair.first), (pair.b, pair.second)):
            if len(values) < 2:
                where = f" on {pair.data_set}" if pair.data_set else ""
                lost = samples.failed_of(scores).items()
                failed = f"; runs that failed: {listed([f'{n} of {m}' for m, n in lost])}"
                raise DataError(
                    f"{name}{where}: {len(values)} score, which says nothing about a "
                    "distribution; expected at least 2, better 5 or more (other seeds, splits)"
                    f"{failed if lost else ''}",
                    scores.source,
                )
    by_ranks = run_plans.by_ranks(pairs)
    resampled = sum(max(pair.n) for pair in pairs) <= _MOST_RESAMPLED
    return [dataclasses.replace(p, by_ranks=by_ranks, resampled=resampled) for p in pairs]


def _no_pairs(scores: Scores, units: Samples) -> str:
    lost = [name for name in scores.models if not len(scores.scores_of(name))]
    if lost and len(scores.models) - len(lost) < 2:
        runs = {name: sum(scores.statuses[name].values()) for name in lost}
        failed = "; ".join(f"all {n} runs of {name} failed" for name, n in runs.items())
        return f"{failed}: no scores to compare"
    if len(units.data_sets) < 2:
        return "expected two or more models with scores on the same data set, found " + ", ".join(
            scores.models
        )
    places = [f"{m} on {d}" for d, cell in units.by_data_set.items() for m in cell]
    return (
        f"no two models have scores on the same data set ({listed(places, 6)}), which a verdict "
        f"needs; {argument('column', {'dataset': 'NAME'})} names another column (of a runs folder "
        "also data, the place it was read from)"
    )


def _pairs(units: Samples, counted: Samples) -> Iterator[RunScores]:
    """Each data set's pairs of models, in their order; `counted` has failed runs too."""
    shared = units.unit in ("split", "dataset")  # a split or data set moves all models
    for place, cell in units.by_data_set.items():
        failed = counted.failed.get(place, {})
        for a, b in itertools.combinations(cell, 2):
            x, y = of_units.paired(cell[a], cell[b]) if units.unit != "row" else (np.zeros(0),) * 2
            # scores of different data sets are no samples of one distribution
            every = cell[a].scores, cell[b].scores
            first, second = (x, y) if units.unit == "dataset" else every
            if not len(first):
                continue
            paired = (x, y) if len(x) >= 2 else None
            enough = 2 * len(x) >= max(len(first), len(second))
            by_pairs = shared and enough and paired is not None
            both = pairs = None
            if failed.get(a) or failed.get(b):
                of_a, of_b = (counted.by_data_set[place][model] for model in (a, b))
                pairs = of_units.paired(of_a, of_b)
                both = pairs if units.unit == "dataset" else (of_a.scores, of_b.scores)
            how = paired, by_pairs, units.noun, both, pairs
            yield RunScores(a, b, place, first, second, *how)


def _compared(
    chosen: Sequence[RunScores],
    rules: Rules,
    scores: Scores,
    bounds: tuple[float, float] | None,
    progress: _Progress,
) -> tuple[list[Pair], Families]:
    """Tests, effects and plans of all pairs; no interval reaches beyond what means can differ by.

    Args:
      bounds: between which scores lie.
    """
    tests = []
    for done, of in enumerate(chosen):
        progress(_SHARE_OF_TESTS * done / len(chosen))
        tests.append(of_pairs.tests(of, rules))
    adjusted, families = of_pairs.corrected(tests, chosen, rules)
    pairs = []
    for done, of in enumerate(chosen):
        progress(_SHARE_OF_TESTS + (1 - _SHARE_OF_TESTS) * done / len(chosen))
        pair = _pair(of, tests[done], adjusted[done], rules, len(chosen), scores)
        gap, plan = pair.effects["difference"], run_plans.plan(of, rules, families)
        if bounds is not None:
            width = bounds[1] - bounds[0]
            gap = dataclasses.replace(gap, interval=within(gap.interval, -width, width))
        found = {**pair.effects, "difference": gap}
        pairs.append(dataclasses.replace(pair, effects=found, interval=gap.interval, plan=plan))
    return pairs, families


def _pair(
    of: RunScores,
    tests: Mapping[str, HypothesisTest],
    adjusted: Mapping[str, float],
    rules: Rules,
    comparisons: int,
    scores: Scores,
) -> Pair:
    enough, name, spread = of.units >= of.fewest, of.location_test, of.spread_test
    rejected = {name for name, p in adjusted.items() if p <= rules.alpha}
    shown = (tests[name].direction or 0) if enough and name in rejected else 0
    wide = enough and of.units >= FEW_SPREADS and spread in rejected
    found = of_pairs.sizes(of, rules, comparisons, scores.higher_is_better)
    return Pair(
        *(of.a, of.b, of.data_set, scores.metric, scores.higher_is_better),
        value=found["difference"].estimate,
        interval=found["difference"].interval,
        primary=name,
        p_value=tests[name].p_value,
        p_adjusted=adjusted[name],
        shown=shown,
        against=of_pairs.against(of, shown),
        equivalent=enough and "tost" in rejected,
        n=of.n,
        pairs=0 if of.paired is None else len(of.paired[0]),
        unit=of.unit,
        tests=tests,
        adjusted=adjusted,
        effects=found,
        wider=(tests[spread].direction or 0) if wide and spread else 0,
        scores=of,
    )
