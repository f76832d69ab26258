"""Scores studied: every model described, every pair compared, data sets summed up."""

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import metrics
from jaxeval.runs.imported import listed
from jaxeval.runs.scores import Scores
from jaxeval.stats import (
    across,
    described,
    equivalence,
    failures,
    run_pairs,
    run_plans,
    single_models,
    study_warnings,
)
from jaxeval.stats import samples as of_units
from jaxeval.stats.across import Across
from jaxeval.stats.described import Described
from jaxeval.stats.failures import Failures
from jaxeval.stats.items.study import ItemStudy
from jaxeval.stats.items.study import study as study_items
from jaxeval.stats.pairs import Pair
from jaxeval.stats.results import Effect, HypothesisTest, within
from jaxeval.stats.rules import Rules
from jaxeval.stats.run_pairs import FEW_SPREADS, Families, RunScores
from jaxeval.stats.run_plans import Primary
from jaxeval.stats.samples import Copies, Samples, Unit
from jaxeval.stats.single_models import SingleModels

_LEAST = 2
_SHARE_OF_TESTS = 0.2  # of the time; effects and plans take the rest
Progress = Callable[[float], None]


@dataclasses.dataclass(frozen=True, eq=False)
class RunStudy:
    """Everything that is said of scores of whole runs.

    Attributes:
      unit: of replication; `averaged`: fewest and most scores that were averaged into one.
      primary: the tests of location, as a signature names them; what their design can show.
      families: how many tests each family of the correction has.
      copies: models that have one score at every seed: one run each, which no test is made of.
        Where all pairs have such a model, there are no pairs.
      failures: None where no run failed.
      single: tests on the items of one trained model a method; None where none is known.
      items: all runs item by item; None where not all models have two or more with outcomes.
    """

    unit: Unit
    averaged: tuple[int, int]
    models: tuple[Described, ...]
    pairs: tuple[Pair, ...]
    primary: Primary
    families: Families
    across: Across | None
    rules: Rules
    warnings: tuple[str, ...]
    single: SingleModels | None
    items: ItemStudy | None
    copies: tuple[Copies, ...]
    failures: Failures | None
    scores: Scores = dataclasses.field(repr=False)
    samples: Samples = dataclasses.field(repr=False)


def study(
    scores: Scores,
    rules: Rules | None = None,
    unit: Unit | None = None,
    *,
    control: str | None = None,
    items: Scores | None = None,
    progress: Progress = lambda share: None,
) -> RunStudy:
    """Describes and compares all models by the scores of their runs.

    Args:
      control: only pairs with this model.
      items: the same runs item by item.
      progress: is called now and then with the share that is done.

    Raises:
      ConfigError: a margin of points where scores are fractions.
      DataError: fewer than two models on every data set, a model with one score, no such control.
    """
    rules = rules or Rules()
    metrics.refuse_points("margin", rules.margin or 0.0, scores.stored_unit)
    units, copies = of_units.without_copies(of_units.samples(scores, unit))
    if control is not None and control not in scores.models:
        raise DataError(f"no control {control!r}; it has {listed(scores.models)}", scores.source)
    higher = scores.higher_is_better
    counted = of_units.with_failed(units, higher)
    every = [p for p in _pairs(units, counted) if control in (None, p.a, p.b)]
    if not every:
        raise DataError(_no_pairs(scores, units), scores.source)
    alike = {(of.model, of.data_set) for of in copies}
    chosen = [p for p in every if not alike & {(p.a, p.data_set), (p.b, p.data_set)}]
    by_ranks = run_plans.by_ranks(chosen)
    chosen = [dataclasses.replace(pair, by_ranks=by_ranks) for pair in chosen]
    bounds = metrics.bounds(scores.metric, scores.known, scores.unit)
    pairs, families = compared(chosen, rules, scores, bounds, progress)
    together = across.across(units, rules, higher, control, counted)
    warnings = study_warnings.of_study(scores, units, pairs, rules, together)
    return RunStudy(
        units.unit,
        units.averaged,
        tuple(described.of_models(scores, units, rules, bounds)),
        tuple(pairs),
        run_plans.primary(chosen, rules),
        families,
        together,
        rules,
        (*scores.warnings, *warnings),
        None if items is None else single_models.compare(items, rules, control),
        None if items is None else _over_items(items, rules),
        copies,
        failures.of_runs(scores, control, rules.correction),
        scores,
        units,
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
    return study_items(dataclasses.replace(items, data_sets=tuple(several), notes=()), of)


def _no_pairs(scores: Scores, units: Samples) -> str:
    lost = [name for name in scores.models if not len(scores.scores_of(name))]
    if lost and len(scores.models) - len(lost) < 2:
        said = (
            f"all {sum(scores.statuses[name].values())} runs of {name} failed" for name in lost
        )
        return f"{'; '.join(said)}: no scores to compare"
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
            pair = RunScores(a, b, place, first, second, paired, by_pairs, units.noun)
            failed = counted.failed.get(place, {})
            if failed.get(a) or failed.get(b):
                of_a, of_b = (counted.by_data_set[place][model] for model in (a, b))
                within = of_units.paired(of_a, of_b)
                both = within if units.unit == "dataset" else (of_a.scores, of_b.scores)
                pair = dataclasses.replace(pair, counted=both, counted_pairs=within)
            yield pair


def compared(
    chosen: Sequence[RunScores],
    rules: Rules,
    scores: Scores,
    bounds: tuple[float, float] | None = None,
    progress: Progress = lambda share: None,
) -> tuple[list[Pair], Families]:
    """Tests, effects and planning for all pairs of models on all data sets.

    Args:
      bounds: between which scores lie; no interval reaches beyond what two means can differ by.

    Raises:
      DataError: a model has one score only, which says nothing about a distribution.
    """
    _refuse_single(chosen, scores)
    tests = []
    for done, of in enumerate(chosen):
        progress(_SHARE_OF_TESTS * done / len(chosen))
        tests.append(run_pairs.tests(of, rules))
    adjusted, families = run_pairs.corrected(tests, chosen, rules)
    pairs = []
    for done, of in enumerate(chosen):
        progress(_SHARE_OF_TESTS + (1 - _SHARE_OF_TESTS) * done / len(chosen))
        effects = run_pairs.sizes(of, rules, len(chosen), scores.higher_is_better)
        if bounds is not None:
            gap, width = effects["difference"], bounds[1] - bounds[0]
            inside = within(gap.interval, -width, width)
            effects["difference"] = dataclasses.replace(gap, interval=inside)
        pairs.append(_pair(of, tests[done], adjusted[done], effects, rules, families, scores))
    return pairs, families


def _refuse_single(chosen: Sequence[RunScores], scores: Scores) -> None:
    for pair in chosen:
        for name, values in ((pair.a, pair.first), (pair.b, pair.second)):
            if len(values) < _LEAST:
                where = f" on {pair.data_set}" if pair.data_set else ""
                lost = failures.failed_of(scores)
                failed = listed([f"{n} of {m}" for m, n in lost.items()])
                raise DataError(
                    f"{name}{where}: {len(values)} score, which says nothing about a "
                    "distribution; expected at least 2, better 5 or more (other seeds, splits)"
                    + (f"; runs that failed: {failed}" if lost else ""),
                    scores.source,
                )


def _pair(
    of: RunScores,
    tests: Mapping[str, HypothesisTest],
    adjusted: Mapping[str, float],
    effects: dict[str, Effect],
    rules: Rules,
    families: Families,
    scores: Scores,
) -> Pair:
    enough, spread = of.units >= of.fewest, of.spread_test
    rejected = {name for name, p in adjusted.items() if p <= rules.alpha}
    primary = tests[of.location_test]
    shown = (primary.direction or 0) if enough and of.location_test in rejected else 0
    wide = enough and of.units >= FEW_SPREADS and spread in rejected
    margin = rules.margin
    return Pair(
        *(of.a, of.b, of.data_set, scores.metric, scores.higher_is_better),
        value=effects["difference"].estimate,
        interval=effects["difference"].interval,
        primary=of.location_test,
        p_value=primary.p_value,
        p_adjusted=adjusted[of.location_test],
        shown=shown,
        against=run_pairs.against(of, shown),
        equivalent=enough and "tost" in rejected,
        n=of.n,
        pairs=0 if of.paired is None else len(of.paired[0]),
        unit=of.unit,
        tests=tests,
        adjusted=adjusted,
        effects=effects,
        rope=None
        if margin is None
        else equivalence.rope(*of.compared, margin, paired=of.by_pairs),
        plan=run_plans.plan(of, rules, families),
        wider=(tests[spread].direction or 0) if wide and spread else 0,
        scores=of,
    )
