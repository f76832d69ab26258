"""What tests on single items say: of two trained models, not of the methods behind them."""

from jaxeval.report import text
from jaxeval.report.scores import ScoreFormat
from jaxeval.stats.single_models import SinglePair
from jaxeval.stats.study import ScoreStudy

TESTS = {
    "approximate_randomization": "approximate randomisation",
    "mcnemar": "McNemar",
}
_ITEMS = {"tagging": "sentences", "language": "stretches of text"}
_UNITS = {"row": "runs", "dataset": "data sets"}


def of_study(study: ScoreStudy, scale: ScoreFormat) -> list[str]:
    """A sentence a pair, then a line for what is not tested; none where items are unknown."""
    return shown(study, scale, None)


def shown(study: ScoreStudy, scale: ScoreFormat, most: int | None) -> list[str]:
    """The same of at most so many pairs (None: of all)."""
    if study.single is None:
        return []
    pairs, notes = study.single.pairs, study.single.notes
    return [*(of_pair(pair, study, scale) for pair in pairs[:most]), *notes[:most]]


def of_pair(pair: SinglePair, study: ScoreStudy, scale: ScoreFormat) -> str:
    """Which of two trained models is better on such items; of which population that speaks."""
    a, b = pair.a, pair.b
    where = f" on {a.dataset}" if a.dataset else ""
    split = f" of split {a.member.split}" if a.member.split else ""
    over = _UNITS.get(study.samples.unit, f"{study.samples.unit}s")
    return (
        f"Of these two trained models ({a.model}, seed {a.member.seed}, and {b.model}, seed "
        f"{b.member.seed}{split}, each {a.chosen}), over "
        f"{_ITEMS.get(a.member.task, 'items')} like these {pair.items} of {a.part}{where}: "
        f"{_found(pair, study, scale)}. Which method is better over {over} is "
        "another question, which the tests of their distributions answer."
    )


def _found(pair: SinglePair, study: ScoreStudy, scale: ScoreFormat) -> str:
    rules, difference = study.comparison.rules, pair.difference
    test = pair.tests["approximate_randomization"]
    said = "no difference was shown"
    if pair.adjusted["approximate_randomization"] <= rules.alpha and test.direction:
        models = (pair.a.model, pair.b.model)
        higher, lower = models if test.direction > 0 else models[::-1]
        better = "" if rules.higher_is_better else f", and so {lower} is the better one"
        said = f"{higher} scores higher{better}"
    tested = ", ".join(
        f"{TESTS[name]}, corrected p {text.p_value(p)}" for name, p in pair.adjusted.items()
    )
    a, b = map(scale, pair.scores)
    return (
        f"{said}: {a} ({pair.a.model}) and {b} ({pair.b.model}); difference "
        f"{scale.difference(difference.estimate)}, {scale.ci(difference.interval)} by paired "
        f"bootstrap; {tested}"
    )
