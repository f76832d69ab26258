"""What a reader of a study's scores should know: few, equal, absent or unpaired ones."""

from collections.abc import Iterable, Iterator, Sequence

from jaxeval.errors import argument
from jaxeval.runs.columns import listed
from jaxeval.runs.scores import Scores
from jaxeval.stats import describe
from jaxeval.stats.datasets import Across
from jaxeval.stats.pairs import Pair
from jaxeval.stats.results import varies
from jaxeval.stats.rules import Rules
from jaxeval.stats.samples import Samples

_FEW_FOR_BOOTSTRAP = 10
_SMALL = 20  # scores from where the wider sample's p-values are nearly right
_WIDER = 2  # times as wide: from where a small sample's p-values are clearly too small
_FOLDS = 10  # of one cross-validation, at most
_MOST_ALIKE = 4  # warnings of one kind


def of_study(
    scores: Scores,
    samples: Samples,
    pairs: Sequence[Pair],
    rules: Rules,
    together: Across | None,
) -> Iterator[str]:
    """All warnings, beside those of the source."""
    cells = samples.by_data_set.items()
    yield from _shortened(
        f"{', '.join(absent)}: no scores{_on(place)}; not compared there"
        for place, cell in cells
        if (absent := [m for m in scores.models if m not in cell])
    )
    if samples.unit != "dataset":  # data sets may well have equal scores, and other numbers
        yield from _shortened(
            describe.all_equal(f"{model}{_on(place)}", len(of.scores))
            for place, cell in cells
            for model, of in cell.items()
            if len(of.scores) > 1 and not varies(of.scores)
        )
        yield from _shortened(_uneven(samples))
    yield from _of_unit(scores, samples)
    yield from of_details(samples, pairs, together)
    yield from _shortened(_unpaired(pairs, by_pairs=True))
    yield from _shortened(_small_and_wide(pairs, rules))
    yield from _few(pairs, rules)


def of_details(samples: Samples, pairs: Sequence[Pair], together: Across | None) -> Iterator[str]:
    """Those of what data sets say together, and of paired tests that no verdict rests on."""
    yield from _shortened(_unpaired(pairs, by_pairs=False))
    scarce = min(len(of.scores) for cell in samples.by_data_set.values() for of in cell.values())
    if scarce < _FEW_FOR_BOOTSTRAP and len(samples.data_sets) > 1:
        yield (
            f"bootstrap intervals over data sets: fewer than {_FEW_FOR_BOOTSTRAP} scores of a "
            "model make them too narrow"
        )
    if together is not None and together.aggregates is not None and not together.one_scale:
        yield (
            "typical scores of data sets differ by more than a factor of ten: interquartile means "
            "are those of the largest; ranks and probabilities of improvement are not concerned"
        )


def _of_unit(scores: Scores, samples: Samples) -> Iterator[str]:
    """Units whose scores depend on one another; those of one cross-validation do so little."""
    if samples.unit == "row" and {"seed", "split"} & {*scores.labels}:
        asked = argument("unit", "row")
        yield f"every row counts as independent, though rows share seeds or splits ({asked})"
    every = (of for data in scores.data_sets for of in data.models.values())
    if samples.unit == "seed" and len({s for of in every for s in of.labels.get("split", ())}) > 1:
        careful = argument("unit", "split")
        yield f"seeds were trained on several splits: {careful} is the careful choice"
    most = max(len(of.scores) for cell in samples.by_data_set.values() for of in cell.values())
    if samples.unit == "split" and not (scores.folds and most <= _FOLDS):
        several = len(samples.data_sets) > 1
        one, these = "one corpus each" if several else "one corpus", "this corpus"
        these = "these corpora" if several else these
        yield (
            f"splits of {one}: where they overlap, as random ones and those of repeated "
            "cross-validations do, their scores are not independent; tests and intervals speak "
            f"of other splits of {these}, and are far too sure of other data (Nadeau & Bengio "
            "2003); folds of one cross-validation err little (.07 for .05)"
        )


def _on(data_set: str | None) -> str:
    return f" on {data_set}" if data_set else ""


def _uneven(samples: Samples) -> Iterator[str]:
    """Models with more scores on one data set than on another, as where a run has crashed."""
    for model in dict.fromkeys(m for cell in samples.by_data_set.values() for m in cell):
        counts = {d: len(c[model].scores) for d, c in samples.by_data_set.items() if model in c}
        if len(set(counts.values())) > 1:
            named = listed([f"{count} on {d}" for d, count in counts.items()], _MOST_ALIKE)
            yield f"{samples.unit}s of {model}: {named}; every data set weighs the same"


def _few(pairs: Sequence[Pair], rules: Rules) -> Iterator[str]:
    """Models of which no conclusion is drawn: because none could be, or by rule."""
    scarce = [(of.scores, of.plan) for of in pairs if of.scores and of.plan]
    scarce = [(of, plan) for of, plan in scarce if min(of.n) < of.fewest]
    for shown, why in (
        (True, "by rule, however small p is"),
        (False, "as no difference, however large, is shown by their ranks"),
    ):
        named = [of for of, plan in scarce if (plan.least_p <= rules.alpha) == shown]
        if named:
            fewest = named[0].fewest  # units are the same in all pairs
            sizes = sorted({n for of in named for n in of.n if n < fewest})
            counts = " or ".join(map(str, sizes))
            yield f"models with {counts} scores: fewer than {fewest} allow no conclusion, {why}"


def _unpaired(pairs: Sequence[Pair], by_pairs: bool) -> Iterator[str]:
    for pair in pairs:
        asked = pair.scores is not None and pair.scores.by_pairs == by_pairs
        if asked and 0 < pair.pairs < max(pair.n):
            yield (
                f"{pair.a}, {pair.b}{_on(pair.data_set)}: paired tests use the {pair.pairs} units "
                f"that both have, of {pair.n[0]} and {pair.n[1]}"
            )


def _small_and_wide(pairs: Sequence[Pair], rules: Rules) -> Iterator[str]:
    """Pairs that Brunner-Munzel rejects: too often, where a small sample is the wider one."""
    for of in (pair.scores for pair in pairs if pair.p_value <= rules.alpha):
        if of is None or of.location_test != "brunner_munzel" or of.units < of.fewest:
            continue
        (few, small), (many, large) = sorted(
            ((of.a, of.first), (of.b, of.second)), key=lambda named: len(named[1])
        )
        sds = describe.sd(small), describe.sd(large)
        uneven = len(small) < _SMALL and 2 * len(small) <= len(large)
        if uneven and sds[0] > 0 and sds[0] >= _WIDER * sds[1]:
            yield (
                f"{of.a}, {of.b}{_on(of.data_set)}: the {len(small)} scores of {few} are spread "
                f"{_WIDER} times as wide as the {len(large)} of {many}, or wider: p of "
                f"Brunner-Munzel is then too small; more scores of {few} mend it"
            )


def _shortened(lines: Iterable[str]) -> list[str]:
    """The first warnings of a kind, and how many more there are."""
    every = list(lines)
    more = len(every) - _MOST_ALIKE
    return [*every[:_MOST_ALIKE], *([f"and {more} more of this kind"] if more > 0 else [])]
