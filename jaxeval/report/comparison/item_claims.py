"""What a comparison over items says of each pair, in sentences; each names what it speaks of."""

import math
from collections.abc import Iterator

from jaxeval.report import scores, text
from jaxeval.report.comparison import words
from jaxeval.report.comparison.words import OVER, names_of
from jaxeval.report.scores import ScoreFormat
from jaxeval.runs.imported import listed
from jaxeval.stats.items import study as studies
from jaxeval.stats.items.estimates import Estimate
from jaxeval.stats.items.study import ItemStudy
from jaxeval.stats.pairs import Pair
from jaxeval.stats.rules import Rules

MOST_PAIRS = 6  # of which sentences are printed
_WITHHELD = "too many answers or tasks are missing"


def of_study(study: ItemStudy) -> list[str]:
    """All sentences, those of several pairs with their names."""
    several = len(study.pairs) > 1
    return [
        *headline(study),
        *(
            (f"{words.title(pair)}: " if several else "") + line
            for pair in study.pairs
            for line in of_pair(pair, study, words.scale_on(study, pair.data_set))
        ),
    ]


def headline(study: ItemStudy) -> list[str]:
    """What is said of all tasks together, and which of three or more models are alike."""
    scale = words.scale_on(study, None)
    lines = [_overall(pair, study, scale) for pair in study.overall[:MOST_PAIRS]]
    board = study.board or (study.boards[0] if len(study.boards) == 1 else None)
    if board is not None and len(study.models) > 2:
        groups: dict[int, list[str]] = {}
        for row in board.rows:
            for number in row.groups:
                groups.setdefault(number, []).append(row.model)
        tied = [text.listed(names) for _, names in sorted(groups.items()) if len(names) > 1]
        where = " in the mean over tasks" if study.board else ""
        if tied:
            lines.append(f"No difference{where} was shown between {'; between '.join(tied)}.")
    return [*lines, *study.notes]


def of_pair(pair: Pair, study: ItemStudy, scale: ScoreFormat) -> Iterator[str]:
    """The difference, the margin, what pairing brought, and of what nothing is said."""
    yield from claims(pair, study, scale)
    gap = pair.difference
    assert gap is not None
    apart = gap.unpaired_se if "items" in gap.over else None
    if apart and gap.correlation is not None:
        yield (
            f"Scored on different items, the standard error would be {scale.difference(apart)} "
            f"instead of {scale.difference(gap.se)} (correlation of the models' scores of an "
            f"item {gap.correlation:.2f})."
        )
    yield from gap.warnings


def claims(pair: Pair, study: ItemStudy, scale: ScoreFormat) -> Iterator[str]:
    """The difference, and what it is beside the margin."""
    assert pair.difference is not None
    named = [*zip(pair.means, pair.names, strict=True)]
    if pair.shown < 0:
        named.reverse()
    means = " and ".join(f"{scale(mean.value)} ({name})" for mean, name in named)
    gap, sizes = _as_named(pair.difference, pair), pair.difference.sizes
    yield (
        f"{_direction(pair, study)}: {means}, difference {scale.difference(gap.value)}, "
        f"{scale.ci(gap.possible)}, corrected p {text.p_value(pair.p_adjusted)}, over "
        f"{OVER[gap.over]} ({counted(sizes.items, sizes.clusters)})."
    )
    if study.rules.margin and not study.withheld:
        yield beside_margin(pair, study.rules, scale)


def counted(items: int, clusters: int) -> str:
    """How many items, and in how many clusters."""
    within = f" in {text.counted(clusters, 'cluster')}" if clusters < items else ""
    return text.counted(items, "item") + within


def _as_named(difference: Estimate, pair: Pair) -> Estimate:
    """The difference in the order in which `_direction` names the models: higher first."""
    return difference.swapped if pair.shown < 0 else difference


def _direction(pair: Pair, study: ItemStudy) -> str:
    if study.withheld:
        return f"Nothing is said of {pair.a} against {pair.b}, since {_WITHHELD}"
    if math.isnan(pair.p_value):
        return f"{pair.a} and {pair.b} {alike(pair)} over all {pair.primary}, {NO_MORE}"
    if not pair.shown:
        return f"No difference between {pair.a} and {pair.b} was shown{_though(pair, study)}"
    higher, lower = names_of(pair, pair.shown)
    better = "" if pair.higher_is_better else f", and so {lower} is the better one"
    return f"{higher} scores higher than {lower}{better}"


NO_MORE = "which says nothing of others"


def alike(pair: Pair) -> str:
    """Of models whose difference has no spread."""
    return "score the same" if pair.value == 0 else "differ by the same"


def _though(pair: Pair, study: ItemStudy) -> str:
    """Why an interval beside it excludes 0: its test is that of the p-value before correction."""
    if not pair.p_value <= study.rules.alpha:
        return ""
    p = text.p_value(pair.p_value)
    return f" after the correction (p {p} without it), though the CI excludes 0"


def beside_margin(pair: Pair, rules: Rules, scale: ScoreFormat) -> str:
    """With the p-values of the tests against the margin, which are not that of the difference."""
    shown = pair.by_margin
    assert shown is not None
    margin = scores.difference(rules.margin or 0.0, scale.unit)
    beyond = f"corrected p {text.p_value(shown.p_outcome)}"
    within = f"TOST at half the level, corrected p {text.p_value(shown.p_equivalent)}"
    if shown.outcome != "not shown":
        return f"{pair.a} is {shown.outcome} than {pair.b} by more than {margin} ({beyond})."
    if shown.equivalent:
        return f"Equivalent within {margin}: the difference is smaller ({within})."
    return (
        f"Neither a difference of more than {margin} was shown ({beyond}), nor that it is "
        f"smaller ({within})."
    )


def _overall(pair: Pair, study: ItemStudy, scale: ScoreFormat) -> str:
    """The two claims on all tasks: these very ones, and others like them."""
    assert pair.difference is not None and pair.as_sample is not None
    gap = _as_named(pair.difference, pair)
    line = (
        f"Mean over these {len(study.data_sets)} tasks: {_direction(pair, study)}: difference "
        f"{scale.difference(gap.value)}, {scale.ci(gap.possible)}, corrected p "
        f"{text.p_value(pair.p_adjusted)}, over {OVER[gap.over]}."
    )
    if study.rules.margin and not study.withheld:
        line += f" {beside_margin(pair, study.rules, scale)}"
    others = _as_named(pair.as_sample, pair)
    return f"{line} Tasks as a sample of such tasks: {scale.ci(others.possible)}."


def outcome(study: ItemStudy) -> str:
    """The gate's answer on the first model against the second, and what decides."""
    a, b = study.models[:2]
    decided = studies.decision(study)
    margin = ""
    if study.rules.margin:
        unit = words.scale_on(study, None).unit
        margin = f" by more than {scores.difference(study.rules.margin, unit)}"
    if decided.outcome == "not shown":
        return f"{a} was not shown to be better or worse than {b}{margin}{_where(study, decided)}"
    return f"{a} is {decided.outcome} than {b}{margin}{_where(study, decided)}"


def _where(study: ItemStudy, decided: studies.Decision) -> str:
    """The tasks that decide, of several; where nothing is said of any, why."""
    if study.withheld:
        return f", since {_WITHHELD}"
    if len(study.data_sets) == 1:
        return ""
    named = [name for name in decided.on if name is not None]
    parts = ["in the mean over tasks"] if None in decided.on else []
    parts += [f"on {listed(named, MOST_PAIRS)}"] if named else []
    return f" {text.listed(parts)}"
