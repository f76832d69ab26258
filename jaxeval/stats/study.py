"""A score table studied: every model described, every pair compared, data sets summed up."""

import dataclasses
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from jaxeval.errors import ConfigError, DataError, argument
from jaxeval.runs import metrics, units
from jaxeval.runs.flat import ScoreTable
from jaxeval.runs.imported import listed
from jaxeval.runs.trained import TrainedModel
from jaxeval.runs.units import Copies, Samples, Unit
from jaxeval.stats import (
    across,
    comparison,
    describe,
    failures,
    nested,
    single_models,
    study_warnings,
)
from jaxeval.stats.across import Across
from jaxeval.stats.comparison import PairwiseComparisons
from jaxeval.stats.describe import Summary
from jaxeval.stats.failures import Failures
from jaxeval.stats.items import outcomes
from jaxeval.stats.items import study as item_study
from jaxeval.stats.items.study import ItemStudy
from jaxeval.stats.nested import Components
from jaxeval.stats.pairwise import Rules, Scores
from jaxeval.stats.results import between, within
from jaxeval.stats.single_models import SingleModels

_MOST_FOR_BUDGET = 2000  # the curve of the expected best has as many points as there are scores


@dataclasses.dataclass(frozen=True)
class Described:
    """One model on one data set.

    Attributes:
      components: variance of splits and of seeds within them, where the table has both.
      dev_test: Spearman's rho between dev and test scores, or None and the reason.
      expected_best: of n draws, n = 1 .. N, without and with replacement.
    """

    model: str
    dataset: str
    summary: Summary
    components: Components | None
    dev_test: tuple[float | None, str] | None
    expected_best: tuple[np.ndarray, np.ndarray] | None


@dataclasses.dataclass(frozen=True)
class ScoreStudy:
    """Everything that is said of a score table.

    Attributes:
      single: tests on the items of one trained model a method; None where none is known.
      items: all runs item by item; None where not all models have two or more with outcomes.
      copies: models that have one score at every seed: one run each, which no test is made of
        (`units.without_copies`). Where all pairs have such a model, `comparison` has none.
      failures: None where no run failed.
    """

    table: ScoreTable
    samples: Samples
    described: tuple[Described, ...]
    comparison: PairwiseComparisons
    across: Across | None
    warnings: tuple[str, ...]
    single: SingleModels | None = None
    items: ItemStudy | None = None
    copies: tuple[Copies, ...] = ()
    failures: Failures | None = None


def study(
    table: ScoreTable,
    rules: Rules,
    unit: Unit | None = None,
    *,
    control: str | None = None,
    gamma: float | None = None,
    trained: Sequence[TrainedModel] | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> ScoreStudy:
    """Describes and compares all models of a score table.

    Args:
      control: only pairs with this model.
      gamma: the score at which a data set counts as solved; 1 where scores are fractions.
      trained: trained models of each model, to be compared item by item; the first of each on a
        data set stands for it where single ones are compared.
      progress: is called now and then with the share that is done.

    Raises:
      ConfigError: a gamma that is not above 0, or a margin of points where scores are fractions.
      DataError: fewer than two models on every data set, a model with one score, no such control.
    """
    if gamma is not None and not between(gamma, 0, math.inf):
        raise ConfigError(f"gamma: expected a number above 0, got {gamma}")
    gamma = None if gamma is None else float(gamma)
    metrics.refuse_points("margin", rules.margin or 0.0, table.stored_unit)
    samples, copies = units.without_copies(units.samples(table, unit))
    rules = dataclasses.replace(rules, higher_is_better=table.higher_is_better)
    if control is not None and control not in table.models:
        raise DataError(f"no control {control!r}; it has {listed(table.models)}", table.source)
    counted = units.with_failed(samples, table.higher_is_better)
    every = [p for p in _pairs(table, samples, counted) if control in (None, p.a, p.b)]
    if not every:
        raise DataError(_no_pairs(table, samples), table.source)
    alike = {(of.model, of.dataset) for of in copies}
    pairs = [p for p in every if not alike & {(p.a, p.dataset), (p.b, p.dataset)}]
    bounds = metrics.bounds(table.metric, table.score, table.unit)
    compared = _within(_compared(pairs, rules, progress, table), bounds)
    described = tuple(
        _describe(table, samples, model, dataset, rules, bounds)
        for dataset in samples.datasets
        for model in samples.by_dataset[dataset]
    )
    together = across.across(
        samples, rules, control, _gamma(table) if gamma is None else gamma, counted
    )
    warnings = (*table.warnings, *study_warnings.of_study(table, samples, compared, together))
    single = None if trained is None else single_models.compare(trained, rules, control)
    items = None if trained is None else _over_items(trained, table, rules)
    return ScoreStudy(
        table,
        samples,
        described,
        compared,
        together,
        warnings,
        single,
        items,
        copies,
        failures.of_table(table, control, rules.correction),
    )


def _compared(
    pairs: Sequence[Scores], rules: Rules, progress: Callable[[float], None], table: ScoreTable
) -> PairwiseComparisons:
    try:
        return comparison.compare(pairs, rules, progress)
    except DataError as error:
        lost = Counter(table.models[place] for place in table.failed.model.tolist())
        failed = "; runs that failed: " * bool(lost) + listed(
            [f"{n} of {m}" for m, n in lost.items()]
        )
        raise DataError(f"{error}{failed}", table.source) from None


def _over_items(
    trained: Sequence[TrainedModel], table: ScoreTable, rules: Rules
) -> ItemStudy | None:
    paired = outcomes.paired(trained, table.higher_is_better)
    if paired is None:
        return None
    of_items = item_study.Rules(
        None, rules.alpha, rules.margin or 0.0, rules.resamples, rules.seed
    )
    return item_study.study(paired, of_items, table.source)


def _gamma(table: ScoreTable) -> float | None:
    """The best score there can be, where the scores are fractions of which higher is better."""
    inside = table.score.min() >= 0 and table.score.max() <= 1
    return 1.0 if table.higher_is_better and inside else None


def _no_pairs(table: ScoreTable, samples: Samples) -> str:
    lost = [name for name in table.models if not len(table.scores_of(name))]
    if lost and len(table.models) - len(lost) < 2:
        said = (f"all {sum(table.statuses[name].values())} runs of {name} failed" for name in lost)
        return f"{'; '.join(said)}: no scores to compare"
    if len(samples.datasets) < 2:
        return "expected two or more models with scores on the same data set, found " + ", ".join(
            table.models
        )
    places = [f"{m} on {d}" for d, cell in samples.by_dataset.items() for m in cell]
    return (
        f"no two models have scores on the same data set ({listed(places, 6)}), which a verdict "
        f"needs; {argument('column', {'dataset': 'NAME'})} names another column (of a runs folder "
        "also data, the place it was read from)"
    )


def _pairs(table: ScoreTable, samples: Samples, counted: Samples) -> Iterator[Scores]:
    """Each data set's pairs of models, in the table's order; `counted` has failed runs too."""
    shared = samples.unit in ("split", "dataset")  # a split or data set moves all models
    for dataset in samples.datasets:
        cell = samples.by_dataset[dataset]
        for a, b in itertools.combinations([m for m in table.models if m in cell], 2):
            x, y = units.paired(cell[a], cell[b])
            # scores of different data sets are no samples of one distribution
            every = (cell[a].scores, cell[b].scores)
            first, second = (x, y) if samples.unit == "dataset" else every
            if not len(first):
                continue
            paired = (x, y) if samples.unit != "row" and len(x) >= 2 else None
            enough = 2 * len(x) >= max(len(first), len(second))
            by_pairs = shared and enough and paired is not None
            of_pair = Scores(a, b, dataset, first, second, paired, by_pairs, _named(samples))
            yield _with_failed(of_pair, counted)


def _with_failed(pair: Scores, counted: Samples) -> Scores:
    """The same with the scores that stand for runs that failed, all and within pairs."""
    cell = counted.by_dataset[pair.dataset]
    a, b = cell[pair.a], cell[pair.b]
    failed = counted.failed.get(pair.dataset, {})
    if not (failed.get(pair.a) or failed.get(pair.b)):
        return pair
    within = units.paired(a, b)
    every = within if counted.unit == "dataset" else (a.scores, b.scores)
    return dataclasses.replace(pair, counted=every, counted_pairs=within)


def _named(samples: Samples) -> str:
    """What one score stands for, in the words of a sentence."""
    if samples.unit in ("row", "seed") and samples.averaged[1] == 1:
        return "run"
    return "data set" if samples.unit == "dataset" else samples.unit


def _within(
    compared: PairwiseComparisons, bounds: tuple[float, float] | None
) -> PairwiseComparisons:
    """The same with no difference of means in an interval that no two means can have."""
    if bounds is None:
        return compared
    width = bounds[1] - bounds[0]
    pairs = []
    for pair in compared.pairs:
        gap = pair.effects["difference"]
        inside = dataclasses.replace(gap, interval=within(gap.interval, -width, width))
        pairs.append(dataclasses.replace(pair, effects={**pair.effects, "difference": inside}))
    return dataclasses.replace(compared, pairs=tuple(pairs))


def _describe(
    table: ScoreTable,
    samples: Samples,
    model: str,
    dataset: str,
    rules: Rules,
    bounds: tuple[float, float] | None,
) -> Described:
    scores = samples.by_dataset[dataset][model].scores
    mine = table.model == table.models.index(model)
    if "dataset" in table.axes and samples.unit != "dataset":
        mine = mine & (table.axes["dataset"] == dataset)
    expected = None
    if len(scores) <= _MOST_FOR_BUDGET:
        without, having = (
            describe.expected_validation_performance(
                scores, replacement=r, higher_is_better=rules.higher_is_better
            )
            for r in (False, True)
        )
        expected = (without, having)
    summary = describe.summarize(scores, confidence=rules.confidence)
    if bounds is not None and summary.mean_interval is not None:
        inside = within(summary.mean_interval, *bounds)
        summary = dataclasses.replace(summary, mean_interval=inside)
    return Described(
        model,
        dataset,
        summary,
        _components(table, mine),
        _dev_test(table, mine),
        expected,
    )


def _components(table: ScoreTable, mine: np.ndarray) -> Components | None:
    """Splits and seeds within them, where some split has several scores."""
    if "split" not in table.axes:
        return None
    by_split: dict[str, list[float]] = {}
    for split, score in zip(table.axes["split"][mine], table.score[mine], strict=True):
        by_split.setdefault(split, []).append(float(score))
    if len(by_split) < 2 or max(map(len, by_split.values())) < 2:
        return None
    return nested.variance_components(list(by_split.values()))


def _dev_test(table: ScoreTable, mine: np.ndarray) -> tuple[float | None, str] | None:
    if table.dev is None:
        return None
    known = mine & np.isfinite(table.dev)
    return describe.spearman(table.dev[known], table.score[known])
