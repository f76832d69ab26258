"""What a reader of a study's scores should know: few, equal, absent or unpaired ones."""

from collections.abc import Iterator, Sequence

from jaxeval.errors import argument
from jaxeval.runs.flat import ScoreTable
from jaxeval.runs.imported import listed
from jaxeval.runs.units import Samples
from jaxeval.stats import describe
from jaxeval.stats.across import Across
from jaxeval.stats.comparison import PairwiseComparisons, enough
from jaxeval.stats.results import varies

_FEW_FOR_BOOTSTRAP = 10
_SMALL = 20  # scores from where the wider sample's p-values are nearly right
_WIDER = 2  # times as wide: from where a small sample's p-values are clearly too small
_FOLDS = 10  # of one cross-validation, at most
_MOST_ALIKE = 4  # warnings of one kind


def of_study(
    table: ScoreTable, samples: Samples, compared: PairwiseComparisons, together: Across | None
) -> Iterator[str]:
    """All warnings, beside those of the table."""
    yield from _shortened(list(_absent(table, samples)))
    yield from _shortened(list(_constant(samples)))
    yield from _shortened(list(_uneven(samples)))
    if samples.unit == "row" and {"seed", "split"} & set(table.axes):
        asked = argument("unit", "row")
        yield f"every row counts as independent, though rows share seeds or splits ({asked})"
    if samples.unit == "seed" and len(set(table.axes.get("split", ()))) > 1:
        careful = argument("unit", "split")
        yield f"seeds were trained on several splits: {careful} is the careful choice"
    yield from _overlapping(table, samples)
    yield from of_details(samples, compared, together)
    yield from _shortened([*_unpaired(compared, by_pairs=True)])
    yield from _shortened(list(_small_and_wide(compared)))
    yield from _few(compared)


def of_details(
    samples: Samples, compared: PairwiseComparisons, together: Across | None
) -> Iterator[str]:
    """Those of what data sets say together, and of paired tests that no verdict rests on."""
    yield from _shortened([*_unpaired(compared, by_pairs=False)])
    scarce = min(len(sample.labels) for c in samples.by_dataset.values() for sample in c.values())
    if scarce < _FEW_FOR_BOOTSTRAP and len(samples.datasets) > 1:
        yield (
            f"bootstrap intervals over data sets: fewer than {_FEW_FOR_BOOTSTRAP} scores of a "
            "model make them too narrow"
        )
    if together is not None and together.aggregates is not None and not together.one_scale:
        yield (
            "typical scores of data sets differ by more than a factor of ten: interquartile means "
            "and profiles are those of the largest; ranks and probabilities of improvement are "
            "not concerned"
        )


def _overlapping(table: ScoreTable, samples: Samples) -> Iterator[str]:
    """Splits whose scores depend on one another; those of one cross-validation do so little."""
    counts = [
        len(sample.labels) for cell in samples.by_dataset.values() for sample in cell.values()
    ]
    if samples.unit != "split" or (table.folds and max(counts) <= _FOLDS):
        return
    several = len(samples.datasets) > 1
    of, these = ("one corpus each", "these corpora") if several else ("one corpus", "this corpus")
    yield (
        f"splits of {of}: where they overlap, as random ones and those of repeated "
        "cross-validations do, their scores are not independent; tests and intervals speak of "
        f"other splits of {these}, and are far too sure of other data (Nadeau & Bengio 2003); "
        "folds of one cross-validation err little (.07 for .05)"
    )


def _absent(table: ScoreTable, samples: Samples) -> Iterator[str]:
    for dataset in samples.datasets:
        absent = [m for m in table.models if m not in samples.by_dataset[dataset]]
        if absent:
            where = f" on {dataset}" if dataset else ""
            yield f"{', '.join(absent)}: no scores{where}; not compared there"


def _constant(samples: Samples) -> Iterator[str]:
    """Models of which all units have the same score; data sets may well have."""
    if samples.unit == "dataset":
        return
    for dataset, cell in samples.by_dataset.items():
        for model, sample in cell.items():
            if len(sample.scores) > 1 and not varies(sample.scores):
                where = f"{model} on {dataset}" if dataset else model
                yield describe.all_equal(where, len(sample.scores))


def _uneven(samples: Samples) -> Iterator[str]:
    """Models with more scores on one data set than on another, as where a run has crashed."""
    if samples.unit == "dataset" or len(samples.datasets) < 2:
        return
    for model in dict.fromkeys(m for cell in samples.by_dataset.values() for m in cell):
        counts = {d: len(c[model].scores) for d, c in samples.by_dataset.items() if model in c}
        if len(set(counts.values())) > 1:
            named = listed([f"{count} on {d}" for d, count in counts.items()], _MOST_ALIKE)
            yield f"{samples.unit}s of {model}: {named}; every data set weighs the same"


def _few(compared: PairwiseComparisons) -> Iterator[str]:
    """Models of which no conclusion is drawn: because none could be, or by rule."""
    pairs = [pair for pair in compared.pairs if min(pair.scores.n) < pair.scores.fewest]
    alpha = compared.rules.alpha
    for of, why in (
        ([pair for pair in pairs if pair.plan.least_p <= alpha], "by rule, however small p is"),
        (
            [pair for pair in pairs if pair.plan.least_p > alpha],
            "as no difference, however large, is shown by their ranks",
        ),
    ):
        if of:
            fewest = of[0].scores.fewest  # units are the same in all pairs
            sizes = sorted({n for pair in of for n in pair.scores.n if n < fewest})
            counts = " or ".join(map(str, sizes))
            yield f"models with {counts} scores: fewer than {fewest} allow no conclusion, {why}"


def _unpaired(compared: PairwiseComparisons, by_pairs: bool) -> Iterator[str]:
    for pair in compared.pairs:
        scores = pair.scores
        if (
            scores.by_pairs == by_pairs
            and scores.paired is not None
            and len(scores.paired[0]) < max(scores.n)
        ):
            yield (
                f"{scores.a}, {scores.b}{' on ' + scores.dataset if scores.dataset else ''}: "
                f"paired tests use the {len(scores.paired[0])} units that both have, of "
                f"{scores.n[0]} and {scores.n[1]}"
            )


def _small_and_wide(compared: PairwiseComparisons) -> Iterator[str]:
    """Pairs that Brunner-Munzel rejects: too often, where a small sample is the wider one."""
    for pair in compared.pairs:
        of = pair.scores
        p_value = pair.tests["brunner_munzel"].p_value
        ranked = of.location_test == "brunner_munzel" and enough(of)
        if not ranked or not p_value <= compared.rules.alpha:
            continue
        (few, small), (many, large) = sorted(
            ((of.a, of.first), (of.b, of.second)), key=lambda named: len(named[1])
        )
        sds = describe.sd(small), describe.sd(large)
        wide = sds[0] > 0 and sds[0] >= _WIDER * sds[1]
        uneven = len(small) < _SMALL and 2 * len(small) <= len(large)
        if uneven and wide:
            where = f" on {of.dataset}" if of.dataset else ""
            yield (
                f"{of.a}, {of.b}{where}: the {len(small)} scores of {few} are spread "
                f"{_WIDER} times as wide as the {len(large)} of {many}, or wider: p of "
                f"Brunner-Munzel is then too small; more scores of {few} mend it"
            )


def _shortened(lines: Sequence[str]) -> list[str]:
    """The first warnings of a kind, and how many more there are."""
    more = len(lines) - _MOST_ALIKE
    return [*lines[:_MOST_ALIKE], *([f"and {more} more of this kind"] if more > 0 else [])]
