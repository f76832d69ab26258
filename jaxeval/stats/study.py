"""Studies scores: describes every model, compares every pair, summarizes data sets."""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import metrics
from jaxeval.runs.columns import listed
from jaxeval.runs.scores import Scores
from jaxeval.stats import datasets, describe, failures, multiple, pairs, power, samples
from jaxeval.stats import single_models as singles
from jaxeval.stats.describe import Summary
from jaxeval.stats.items import study as items_study
from jaxeval.stats.items.study import ItemStudy
from jaxeval.stats.pairs import Families, Pair, RunScores
from jaxeval.stats.power import Primary
from jaxeval.stats.results import Rules
from jaxeval.stats.samples import Copies, Samples, Unit

_MOST_RESAMPLED = 5_000  # scores of all pairs up to which there is resampling: some ten seconds
_Bounds = tuple[float, float] | None  # of the metric


@dataclasses.dataclass(frozen=True)
class _Described:
    """One model on one data set."""

    model: str
    data_set: str
    summary: Summary


@dataclasses.dataclass(frozen=True, eq=False)
class RunStudy:
    """The results for scores of whole runs."""

    unit: Unit  # of replication
    averaged: tuple[int, int]  # fewest and most scores that were averaged into one
    models: tuple[_Described, ...]
    pairs: tuple[Pair, ...]  # empty if all pairs have a model with copies
    overall: tuple[Pair, ...]  # in the mean over the data sets, a family of its own
    primary: Primary  # the tests of location on each data set, and what their design can show
    overall_primary: Primary | None
    families: Families
    across: datasets.Across | None
    rules: Rules
    warnings: tuple[str, ...]
    single: singles.SingleModels | None  # tests on the items of one trained model of each method
    items: ItemStudy | None  # item by item; None unless all models have two runs or more
    copies: tuple[Copies, ...]  # models with one score at every seed: one run each, not tested
    failures: failures.Failures | None  # None if no run failed
    scores: Scores = dataclasses.field(repr=False)
    samples: Samples = dataclasses.field(repr=False)
    # in the mean over the data sets, or on the only one; empty without a mean
    in_mean: tuple[_Described, ...] = dataclasses.field(default=(), repr=False)

    def places(self) -> dict[str, multiple.Place]:
        """Returns the ranks of models by their means over data sets; {} without such means."""
        means = {of.model: of.summary.mean for of in self.in_mean}
        sign = 1 if self.scores.higher_is_better else -1
        pairs = [pair for pair in self.overall or self.pairs if pair.better]
        apart = [pair.names if pair.better > 0 else pair.names[::-1] for pair in pairs]
        return multiple.places({m: sign * mean for m, mean in means.items()}, apart)


def study(
    scores: Scores,
    rules: Rules | None = None,
    unit: Unit | None = None,
    *,
    control: str | None = None,
    items: Scores | None = None,
) -> RunStudy:
    """Describes and compares all models by the scores of their runs, and of their items.

    Args:
      control: only pairs with this model are compared.
    """
    rules, higher = rules or Rules(), scores.higher_is_better
    metrics.refuse_points("margin", rules.margin or 0.0, scores.stored_unit)
    if control is not None and control not in scores.models:
        raise DataError(f"no control {control!r}; it has {listed(scores.models)}", scores.source)
    units, copies = samples.samples(scores, unit).without_copies()
    counted = units.with_failed(higher)
    chosen = _chosen(scores, units, counted, control, copies)
    bounds = metrics.bounds(scores.metric, scores.known, scores.unit)
    compared, families = _compared(chosen, rules, scores, bounds)
    across = datasets.across(units, rules, higher, counted)
    mean = units.mean_over_data_sets() if across is not None and across.one_scale else None
    in_mean = [] if mean is None else _chosen(scores, mean, mean, control, ())
    overall, _ = _compared(in_mean, rules, scores, bounds)
    whole = mean or (units if len(units.data_sets) == 1 else None)
    return RunStudy(
        *(units.unit, units.averaged),
        models=tuple(_described(units, rules, bounds)),
        pairs=tuple(compared),
        overall=tuple(dataclasses.replace(pair, data_set=None) for pair in overall),
        primary=power.primary(chosen, rules),
        overall_primary=power.primary(in_mean, rules) if in_mean else None,
        families=families,
        across=across,
        rules=rules,
        warnings=(*scores.warnings, *failures.warnings(scores, units, compared, rules)),
        single=None if items is None else singles.compare(items, rules, control),
        items=None if items is None else _over_items(items, rules),
        copies=copies,
        failures=failures.compare(scores, control, rules.correction),
        scores=scores,
        samples=units,
        in_mean=() if whole is None else tuple(_described(whole, rules, bounds)),
    )


def _described(units: Samples, rules: Rules, bounds: _Bounds) -> Iterator[_Described]:
    """Describes every model on every data set; intervals of means lie within the bounds."""
    for place, cell in units.by_data_set.items():
        for model, of in cell.items():
            summary = describe.summarize(of.scores, confidence=rules.confidence)
            if bounds is not None and summary.mean_interval is not None:
                inside = summary.mean_interval.clip(*bounds)
                summary = dataclasses.replace(summary, mean_interval=inside)
            yield _Described(model, place, summary)


def _over_items(items: Scores, rules: Rules) -> ItemStudy | None:
    several = tuple(
        data
        for data in items.data_sets
        if len(data.models) == len(items.models)
        and min(int(of.finished.sum()) for of in data.models.values()) > 1
    )
    if not several or len(items.models) < 2:
        return None
    of = dataclasses.replace(rules, confidence=1 - rules.alpha)
    return items_study.study(dataclasses.replace(items, data_sets=several, notes=()), of)


def _chosen(
    scores: Scores, units: Samples, counted: Samples, control: str | None, copies: Sequence[Copies]
) -> list[RunScores]:
    """The pairs to compare, with the tests that their numbers of scores allow."""
    every = [pair for pair in _pairs(units, counted) if control in (None, pair.a, pair.b)]
    if not every:
        raise DataError(_no_pairs(scores, units), scores.source)
    alike = {(of.model, of.data_set) for of in copies}
    chosen = [p for p in every if not alike & {(p.a, p.data_set), (p.b, p.data_set)}]
    for pair in chosen:
        for name, count in zip((pair.a, pair.b), pair.n, strict=True):
            if count < 2:
                on = f" on {pair.data_set}" if pair.data_set else ""
                raise DataError(
                    f"{name}{on}: {count} score, which says nothing about a distribution; "
                    "expected at least 2, better 5 or more (other seeds, splits)",
                    scores.source,
                )
    by_ranks = power.by_ranks(chosen)
    resampled = sum(max(pair.n) for pair in chosen) <= _MOST_RESAMPLED
    return [dataclasses.replace(p, by_ranks=by_ranks, resampled=resampled) for p in chosen]


def _no_pairs(scores: Scores, units: Samples) -> str:
    lost = [name for name in scores.models if not len(scores.scores_of(name))]
    if lost and len(scores.models) - len(lost) < 2:
        runs = (f"all {sum(scores.statuses[name].values())} runs of {name}" for name in lost)
        return f"{'; '.join(f'{of} failed' for of in runs)}: no scores to compare"
    if len(units.data_sets) < 2:
        names = ", ".join(scores.models)
        return f"expected two or more models with scores on the same data set, found {names}"
    places = [f"{m} on {d}" for d, cell in units.by_data_set.items() for m in cell]
    return (
        f"no two models have scores on the same data set ({listed(places, 6)}), which a verdict "
        f"needs; {argument('column', {'dataset': 'NAME'})} names another column (of a runs folder "
        "also data, the place it was read from)"
    )


def _pairs(units: Samples, counted: Samples) -> Iterator[RunScores]:
    """Each data set's pairs of models, in their order; `counted` has failed runs too."""
    by_data_set = units.unit == "dataset"
    shared = units.unit in ("split", "dataset")  # a split or data set moves all models
    for place, cell in units.by_data_set.items():
        failed = counted.failed.get(place, {})
        for a, b in itertools.combinations(cell, 2):
            x, y = units.paired(place, a, b) if units.unit != "row" else (np.zeros(0),) * 2
            # scores of different data sets are no samples of one distribution
            first, second = (x, y) if by_data_set else (cell[a].scores, cell[b].scores)
            if not len(first):
                continue
            paired, both, both_pairs = (x, y) if len(x) >= 2 else None, None, None
            enough = paired is not None and 2 * len(x) >= max(len(first), len(second))
            if failed.get(a) or failed.get(b):
                both_pairs = counted.paired(place, a, b)
                every = counted.by_data_set[place]
                both = both_pairs if by_data_set else (every[a].scores, every[b].scores)
            how = paired, shared and enough, units.noun, both, both_pairs
            yield RunScores(a, b, place, first, second, *how)


def _compared(
    chosen: Sequence[RunScores], rules: Rules, scores: Scores, bounds: _Bounds
) -> tuple[list[Pair], Families]:
    """Runs tests, effects and plans of all pairs; scores lie within `bounds`."""
    tests = [of.tests(rules) for of in chosen]
    adjusted, families = pairs.adjust(tests, chosen, rules)
    found = []
    for of, tested, p_values in zip(chosen, tests, adjusted, strict=True):
        effects = of.effects(rules, len(chosen), scores.higher_is_better)
        gap = effects["difference"]
        plan = power.plan(of, rules, families, gap.interval)
        if bounds is not None:
            width = bounds[1] - bounds[0]
            effects["difference"] = gap = dataclasses.replace(
                gap, interval=gap.interval.clip(-width, width)
            )
        name, spread, enough = of.location_test, of.spread_test, of.units >= of.fewest
        rejected = {name for name, p in p_values.items() if p <= rules.alpha}
        shown = (tested[name].direction or 0) if enough and name in rejected else 0
        wide = spread is not None and spread in rejected and of.shows_spread
        pair = Pair(
            *(of.a, of.b, of.data_set, scores.metric, scores.higher_is_better),
            *(gap.estimate, gap.interval, name, tested[name].p_value, p_values[name]),
            shown=shown,
            against=of.contradicting(shown),
            equivalent=enough and "tost" in rejected,
            n=of.n,
            pairs=0 if of.paired is None else len(of.paired[0]),
            unit=of.unit,
            tests=tested,
            adjusted=p_values,
            effects=effects,
            plan=plan,
            wider=(tested[spread].direction or 0) if wide and spread else 0,
            scores=of,
        )
        found.append(pair)
    return found, families
