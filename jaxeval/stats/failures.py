"""What is wrong with scores: runs and items that failed, and samples that a study warns of."""

import dataclasses
import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import scipy

from jaxeval.errors import argument
from jaxeval.runs import metrics
from jaxeval.runs.columns import listed
from jaxeval.runs.scores import Scores, Status
from jaxeval.stats import Method, Rules, describe, gaps, multiple, on, sign, varies
from jaxeval.stats.pairs import Pair
from jaxeval.stats.samples import FEWEST, Samples

_FOLDS = 10  # of one cross-validation, at most
_MOST_ALIKE = 4  # warnings of one kind
_APART = 5  # spans of all other scores that lie between these and the scores of collapsed runs
_OTHERS = 4  # scores, of which a span says something
_CLEAR = 0.01  # p of a correlation from where it is named
_SMALL = 20  # scores from where the wider sample's p-values are nearly right
_TINY = 5  # scores up to which Welch's t errs too often beside five times as many
_WIDER = 2  # times as wide: from where a small sample's p-values are clearly too small


class FailureCounts(NamedTuple):
    """Runs of one model on one data set."""

    failed: int
    finished: int

    @property
    def runs(self) -> int:
        """All runs."""
        return self.failed + self.finished


class _FailureTest(NamedTuple):
    """Fisher's exact test, two-sided, of equal probabilities to fail."""

    a: str
    b: str
    data_set: str
    higher: int  # 1: A fails more often, -1: B does, 0: equally often
    p_value: float
    p_adjusted: float  # over all pairs of models and data sets


@dataclasses.dataclass(frozen=True)
class Failures:
    """Runs that failed: counts by model and data set; tests, a family of their own."""

    counts: Mapping[tuple[str, str], FailureCounts]
    tests: tuple[_FailureTest, ...]

    def of(self, model: str, dataset: str = "") -> FailureCounts:
        """Counts of a model on a data set, or over all data sets if it is ""."""
        each = self.counts.items()
        mine = [of for (name, on), of in each if name == model and dataset in ("", on)]
        return FailureCounts(sum(of.failed for of in mine), sum(of.finished for of in mine))


def failed_runs(scores: Scores) -> dict[str, list[int]]:
    """Returns the rows of the failed runs of each model that has some."""
    rows: dict[str, list[int]] = {}
    for data in scores.data_sets:
        for model, of in data.models.items():
            if failed := of.rows[of.status[0, :, 0] == Status.FAILED].tolist():
                rows.setdefault(model, []).extend(failed)
    return rows


def compare(
    scores: Scores, control: str | None = None, correction: Method = "holm"
) -> Failures | None:
    """Tests the shares of failed runs of all pairs (with the control); None if none failed.

    Of items those with a failed answer are counted.
    """
    counts: dict[tuple[str, str], FailureCounts] = {}
    data_sets = [*scores.data_sets]
    if whole := scores.whole:
        data_sets.sort(key=lambda data: data.name)
    for model, data in itertools.product(scores.models, data_sets):
        if of := data.models.get(model):
            lost = of.status == Status.FAILED
            failed = lost[0, :, 0] if whole else lost.any((1, 2))
            others = ~failed & of.finished if whole else ~failed
            counts[model, data.name] = FailureCounts(int(failed.sum()), int(others.sum()))
    if not any(of.failed for of in counts.values()):
        return None
    found = []
    fisher = functools.cache(lambda *table: scipy.stats.fisher_exact(table))  # few tables differ
    compared = [p for p in itertools.combinations(scores.models, 2) if control in (None, *p)]
    for data, (a, b) in itertools.product(data_sets, compared):
        x, y = (counts.get((model, data.name)) for model in (a, b))
        if x and y and x.runs and y.runs:
            p = min(1.0, float(fisher(x, y).pvalue))
            more = sign(x.failed * y.runs - y.failed * x.runs)
            found.append(_FailureTest(a, b, data.name, more, p, p))
    adjusted = multiple.adjust_p_values([test.p_value for test in found], correction).tolist()
    tests = (test._replace(p_adjusted=p) for test, p in zip(found, adjusted, strict=True))
    return Failures(counts, tuple(tests))


def warnings(
    scores: Scores, units: Samples, compared: Sequence[Pair], rules: Rules
) -> Iterator[str]:
    """Warns of absent, equal, uneven, dependent, unpaired and small samples of scores."""
    each = (
        (of.name, {m for m, x in of.models.items() if x.finished.any()}) for of in scores.data_sets
    )
    yield from _shortened(
        f"{', '.join(absent)}: no scores{on(name)}; not compared{' there' if name else ''}"
        for name, known in (each if units.unit == "dataset" else units.by_data_set.items())
        if (absent := [m for m in scores.models if m not in known])
    )
    if units.unit != "dataset":  # data sets may well have equal scores
        yield from _shortened(
            describe.all_equal(f"{model}{on(data_set)}", len(of.scores))
            for data_set, by_model in units.by_data_set.items()
            for model, of in by_model.items()
            if len(of.scores) > 1 and not varies(of.scores)
        )
        yield from _shortened(_uneven(units))
        yield from _not_averaged(units)
    yield from _of_unit(scores, units)
    yield from _shortened(
        f"{pair.a}, {pair.b}{on(pair.data_set)}: paired tests use the {pair.pairs} units that "
        f"both have, of {pair.n[0]} and {pair.n[1]}"
        for pair in compared
        if pair.scores and pair.scores.by_pairs and 0 < pair.pairs < max(pair.n)
    )
    yield from _shortened(_small_and_wide(compared, rules))
    yield from _shortened(_alike(compared))


def _of_unit(scores: Scores, units: Samples) -> Iterator[str]:
    """Warns of units whose scores depend on one another (in one cross-validation hardly)."""
    if units.unit == "row" and {"seed", "split"} & {*scores.labels}:
        asked = argument("unit", "row")
        yield f"every row counts as independent, though rows share seeds or splits ({asked})"
    every = (of for data in scores.data_sets for of in data.models.values())
    if units.unit == "seed" and len({s for of in every for s in of.labels.get("split", ())}) > 1:
        careful = argument("unit", "split")
        yield f"seeds were trained on several splits: {careful} is the conservative choice"
    if units.unit == "split" and scores.overlap:
        yield (
            "splits of several cross-validations overlap: tests and intervals allow for it "
            "(Nadeau & Bengio 2003); if all repeats have the same folds, name their column seed"
        )
        return
    each = (len(of.scores) for d in units.by_data_set.values() for of in d.values())
    if units.unit == "split" and not (scores.folds and max(each) <= _FOLDS):
        yield (
            "splits of one corpus: random splits and repeated cross-validations overlap, so "
            "scores are not independent; tests and intervals hold for other splits of this "
            "corpus, but are far too confident for other data (Nadeau & Bengio 2003); folds of a "
            "single cross-validation err little (.07 for .05)"
        )


def _uneven(units: Samples) -> Iterator[str]:
    """Names models with more scores on one data set than on another, as where a run crashed."""
    for model in dict.fromkeys(m for by_model in units.by_data_set.values() for m in by_model):
        counts = {d: len(c[model].scores) for d, c in units.by_data_set.items() if model in c}
        if len(set(counts.values())) > 1:
            named = listed([f"{count} on {d}" for d, count in counts.items()], _MOST_ALIKE)
            yield f"{units.unit}s of {model}: {named}; every data set has the same weight"


def _not_averaged(units: Samples) -> Iterator[str]:
    """Says why the mean over data sets is not tested, if runs are missing."""
    each = [*units.by_data_set.values()]
    alike = len(each) > 1 and all(of.keys() == each[0].keys() for of in each)
    if units.unit not in ("seed", "split") or not alike:
        return
    whole = units.averaged_over([*units.by_data_set]).by_data_set[""]
    counts = {model: len(of.scores) for model, of in whole.items()}
    fewest = min(counts, key=lambda model: counts[model])
    if counts[fewest] < FEWEST <= max(len(of[fewest].scores) for of in each):
        expected = f"expected {FEWEST} {units.unit}s of {fewest} with a score on each"
        yield f"the mean over data sets is not tested: {expected}, found {counts[fewest]}"


def collapsed(scores: Scores, units: Samples) -> list[str]:
    """Names models of which few scores are far worse than all others, as if these runs failed.

    Of one score a data set, the differences from another model count.
    """
    sign = 1 if scores.higher_is_better else -1
    if scores.missing == "zero":
        return []
    each = _gaps(units, sign) if units.unit == "dataset" else _levels(units, sign)
    shown = 100 * sign if scores.stored_unit in metrics.PERCENT else sign
    lines = []
    for model, where, values, spread in each:
        ordered = np.sort(values)
        if not (few := _fallen(ordered, spread)):
            continue
        verb, runs = ("is", "its run") if few == 1 else ("are", "their runs")
        worst, others = (shown * ordered[k] for k in (few - 1, few))
        ends = f"{worst:.4g}{' at best' if few > 1 else ''}, the others from {others:.4g}"
        advice = f"; if {runs} failed, say so in a column status"
        lines.append(
            f"{few} of {len(ordered)} scores of {model}{where} {verb} far worse than the others "
            f"({ends}), and {'counts' if few == 1 else 'count'}"
            f"{'' if model in scores.statuses else advice}."
        )
    return _shortened(lines)


def _levels(units: Samples, sign: int) -> Iterator[tuple[str, str, np.ndarray, float]]:
    """Yields model, data set, scores, and how widely another model's scores are spread there."""
    for data_set, by_model in units.by_data_set.items():
        several = {m: of.scores for m, of in by_model.items() if len(of.scores) > 2}
        spreads = {m: float(np.ptp(values)) for m, values in several.items()}
        for model, of in by_model.items():
            spread = max((w for m, w in spreads.items() if m != model), default=0.0)
            yield model, on(data_set), sign * of.scores, spread


def _gaps(units: Samples, sign: int) -> Iterator[tuple[str, str, np.ndarray, float]]:
    """Yields model, the other model, and the differences; each model once at most."""
    for data_set, by_model in units.by_data_set.items():
        for model in by_model:
            both = {b: units.paired(data_set, model, b) for b in by_model if b != model}
            found = {b: sign * gaps(*of) for b, of in both.items()}
            fallen = [b for b, of in found.items() if _fallen(np.sort(of), 0.0)]
            if fallen:
                other = min(fallen, key=lambda b: (found[b].min(), b))  # whatever their order
                others = by_model[other].labels
                labels = (d for d in by_model[model].labels.tolist() if d in others)
                worst = [*labels][int(np.argmin(found[other]))]
                yield model, f", less those of {other} (worst: {worst}),", found[other], 0.0


def _fallen(ordered: np.ndarray, spread: float) -> int:
    """How many of the lowest scores lie far below all others; 0 if none do.

    `spread`: of another model's scores, beside which a few others say something too.
    """
    n = len(ordered)
    for few in range(1, (n + 1) // 2):
        own = ordered[-1] - ordered[few]
        span = own if n - few >= _OTHERS else max(own, spread) if spread else 0.0
        if 0 < _APART * span < ordered[few] - ordered[few - 1]:
            return few
    return 0


def _small_and_wide(compared: Sequence[Pair], rules: Rules) -> Iterator[str]:
    """Names pairs that are rejected too often: the smaller sample is tiny, or much wider."""
    for of in (pair.scores for pair in compared if pair.p_adjusted <= rules.alpha):
        if of is None or of.location_test not in ("brunner_munzel", "welch_t"):
            continue
        pair = sorted(((of.a, of.first), (of.b, of.second)), key=lambda named: len(named[1]))
        (few, small), (many, large) = pair
        if of.location_test == "welch_t":
            if len(small) <= _TINY and len(large) >= 5 * len(small):
                yield (
                    f"{of.a}, {of.b}{on(of.data_set)}: with {len(small)} scores of {few} beside "
                    f"{len(large)} of {many}, Welch's t errs in up to .08 instead of .05, and in "
                    f"up to .2 if scores are skewed; add scores of {few}"
                )
            continue
        uneven = len(small) < _SMALL and 2 * len(small) <= len(large)
        if uneven and describe.sd(small) > 0 and describe.sd(small) >= _WIDER * describe.sd(large):
            yield (
                f"{of.a}, {of.b}{on(of.data_set)}: the {len(small)} scores of {few} have at least "
                f"{_WIDER} times the sd of the {len(large)} of {many}, so p of Brunner-Munzel is "
                f"too small; add scores of {few}"
            )


def _alike(compared: Sequence[Pair]) -> Iterator[str]:
    """Names pairs of two samples whose scores go together, as where a seed draws the split."""
    for of in (pair.scores for pair in compared if pair.scores and not pair.scores.by_pairs):
        if of.paired is None or (n := len(of.paired[0])) <= _OTHERS:
            continue
        with np.errstate(invalid="ignore", divide="ignore"):  # scores that do not vary; 1
            r = np.minimum(1.0, np.corrcoef(*of.paired)[0, 1])
            p = 2 * scipy.special.stdtr(n - 2, -r * np.sqrt((n - 2) / (1 - r * r)))
        if r > 0 and p * len(compared) <= _CLEAR and all(map(varies, of.paired)):  # Bonferroni
            yield (
                f"{of.a}, {of.b}{on(of.data_set)}: scores of one seed correlate by "
                f"{r:.2f}; if the seed determines what both share, such as the "
                f"split, compare pairs with {argument('column', {'split': 'SEED'})}"
            )


def _shortened(lines: Iterable[str]) -> list[str]:
    """The first warnings of a kind, and how many more there are."""
    every = list(lines)
    more = len(every) - _MOST_ALIKE
    return [*every[:_MOST_ALIKE], *([f"and {more} more of this kind"] if more > 0 else [])]
