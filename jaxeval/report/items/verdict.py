"""What a comparison over items says, in sentences; each names what it generalises over."""

import itertools
import math
from collections.abc import Iterator, Sequence

from jaxeval.report import scores, text
from jaxeval.report.scores import ScoreFormat
from jaxeval.runs import metrics
from jaxeval.runs.imported import listed
from jaxeval.stats.items import study as studies
from jaxeval.stats.items.margins import ByMargin
from jaxeval.stats.items.results import Estimate
from jaxeval.stats.items.study import ItemStudy, Rules, TaskPair
from jaxeval.stats.items.suites import OverallPair

OVER: dict[tuple[str, ...], str] = {
    ("items",): "other items, these runs",
    ("runs",): "other runs, these items",
    ("items", "runs"): "other items and other runs",
}
_NO_MORE = "which says nothing of others"
_WITHHELD = "too many answers or tasks are missing"
MOST_PAIRS = 6  # of which sentences are printed


def scales(study: ItemStudy) -> dict[str, ScoreFormat]:
    """How scores are read, by task."""
    by_task: dict[str, list[TaskPair]] = {}
    for pair in study.pairs:
        by_task.setdefault(pair.task.task, []).append(pair)
    return {task: _scale(pairs) for task, pairs in by_task.items()}


def scale_of(study: ItemStudy) -> ScoreFormat:
    """The same of all tasks together."""
    return _scale(study.pairs)


def _scale(pairs: Sequence[TaskPair]) -> ScoreFormat:
    """The unit is that of the metric's name."""
    units = {metrics.unit_of(pair.task.metric.split("/")[0]) for pair in pairs}
    largest = max(abs(mean.value) for pair in pairs for mean in pair.means)
    unit = units.pop() if len(units) == 1 else "number"
    if largest > 1 and scores.factor(unit) > 1:  # a log may hold percentages already
        unit = "number"
    return scores.scale(unit, [pair.difference.se for pair in pairs], largest)


def headline(study: ItemStudy) -> list[str]:
    """What is said of all tasks together, and which of three or more models are alike."""
    several, lines = len(study.tasks) > 1, list[str]()
    if several:
        scale = scale_of(study)
        every = zip(study.suite.overall, study.overall, strict=True)
        shown = itertools.islice(every, MOST_PAIRS)
        lines += [overall(pair, by_margin, study, scale) for pair, by_margin in shown]
    tied = [text.listed(group) for group in study.suite.tie_groups if len(group) > 1]
    if tied and len(study.models) > 2:
        where = " in the mean over tasks" if several else ""
        lines.append(f"No difference{where} was shown between {'; between '.join(tied)}.")
    return [*lines, *study.suite.notes]


def directions(study: ItemStudy) -> list[str]:
    """Which scores of each metric are better."""
    said = (
        f"{task.metric}: {text.direction(task.higher_is_better, task.direction_assumed)}"
        for task in study.tasks
    )
    return [*dict.fromkeys(said)]


def of_pair(pair: TaskPair, study: ItemStudy, scale: ScoreFormat) -> Iterator[str]:
    """The difference, the margin, what pairing brought, and of what nothing is said."""
    yield from claims(pair, study, scale)
    apart = pair.difference.unpaired_se if "items" in pair.difference.over else None
    if apart and pair.difference.correlation is not None:
        yield (
            f"Scored on different items, the standard error would be "
            f"{scale.difference(apart)} instead of "
            f"{scale.difference(pair.difference.se)} (correlation of the models' scores of an "
            f"item {pair.difference.correlation:.2f})."
        )
    yield from pair.difference.warnings


def claims(pair: TaskPair, study: ItemStudy, scale: ScoreFormat) -> Iterator[str]:
    """The difference, and what it is beside the margin."""
    said = _direction(pair, pair.difference, study, pair.task.higher_is_better)
    named = [*zip(pair.means, (pair.a, pair.b), strict=True)]
    difference = _as_named(pair.difference, pair.p_adjusted, study)
    if difference is not pair.difference:
        named.reverse()
    means = " and ".join(f"{scale(mean.value)} ({name})" for mean, name in named)
    yield f"{said}: {means}, {measured(difference, pair.p_adjusted, scale)}."
    if study.rules.margin and not study.withheld:
        yield by_margin(pair, pair.by_margin, study.rules, scale)


def of_study(study: ItemStudy) -> list[str]:
    """All sentences, those of several pairs with their names."""
    lines, by_task = headline(study), scales(study)
    for pair in study.pairs:
        head = f"{title(pair)}: " if len(study.pairs) > 1 else ""
        said = of_pair(pair, study, by_task[pair.task.task])
        lines += [head + line for line in said]
    return lines


def all_claims(study: ItemStudy) -> list[str]:
    """The claims on all pairs, those of several with their names."""
    by_task = scales(study)
    return [
        (f"{title(pair)}: " if len(study.pairs) > 1 else "") + line
        for pair in study.pairs
        for line in claims(pair, study, by_task[pair.task.task])
    ]


def title(pair: TaskPair) -> str:
    """Who is compared with whom, and on what."""
    task = f" on {pair.task.task}" if pair.task.task else ""
    return f"{pair.a} against {pair.b}{task}, {pair.task.metric}"


def measured(difference: Estimate, p_adjusted: float, scale: ScoreFormat) -> str:
    """A difference with its interval, its p-value and what they speak of."""
    sizes = difference.sizes
    return (
        f"difference {scale.difference(difference.value)}, {scale.ci(difference.possible)}, "
        f"corrected p {text.p_value(p_adjusted)}, over {OVER[difference.over]} "
        f"({counted(sizes.items, sizes.clusters)})"
    )


def counted(items: int, clusters: int) -> str:
    """How many items, and in how many clusters."""
    within = f" in {text.counted(clusters, 'cluster')}" if clusters < items else ""
    return text.counted(items, "item") + within


def _as_named(difference: Estimate, p_adjusted: float, study: ItemStudy) -> Estimate:
    """The difference in the order in which `_direction` names the models: higher first."""
    shown = p_adjusted <= study.rules.alpha and not study.withheld
    return difference.swapped if difference.value < 0 and shown else difference


def _direction(
    pair: TaskPair | OverallPair, difference: Estimate, study: ItemStudy, higher_is_better: bool
) -> str:
    a, b = pair.a, pair.b
    if study.withheld:
        return f"Nothing is said of {a} against {b}, since {_WITHHELD}"
    if difference.p_value is not None and math.isnan(difference.p_value):
        alike = "score the same" if difference.value == 0 else "differ by the same"
        return f"{a} and {b} {alike} over all {' and '.join(difference.over)}, {_NO_MORE}"
    if not pair.p_adjusted <= study.rules.alpha or difference.value == 0:
        return f"No difference between {a} and {b} was shown{_though(difference, study)}"
    higher, lower = (a, b) if difference.value > 0 else (b, a)
    better = "" if higher_is_better else f", and so {lower} is the better one"
    return f"{higher} scores higher than {lower}{better}"


def _though(difference: Estimate, study: ItemStudy) -> str:
    """Why an interval beside it excludes 0: its test is that of the p-value before correction."""
    p = difference.p_value
    if p is None or not p <= study.rules.alpha:
        return ""
    return f" after the correction (p {text.p_value(p)} without it), though the CI excludes 0"


def by_margin(
    pair: TaskPair | OverallPair, shown: ByMargin, rules: Rules, scale: ScoreFormat
) -> str:
    """With the p-values of the tests against the margin, which are not that of the difference."""
    margin = scores.difference(rules.margin, scale.unit)
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


def overall(pair: OverallPair, shown: ByMargin, study: ItemStudy, scale: ScoreFormat) -> str:
    """The two claims on all tasks: these very ones, and others like them."""
    count = len(study.tasks)
    higher = study.tasks[0].higher_is_better
    these, others = pair.mean_over_tasks, pair.tasks_as_sample
    said = _direction(pair, these, study, higher)
    named = _as_named(these, pair.p_adjusted, study)
    line = (
        f"Mean over these {count} tasks: {said}: difference {scale.difference(named.value)}, "
        f"{scale.ci(named.possible)}, corrected p {text.p_value(pair.p_adjusted)}, over "
        f"{OVER[these.over]}."
    )
    if study.rules.margin and not study.withheld:
        line += f" {by_margin(pair, shown, study.rules, scale)}"
    if others is not None:
        others = others if named is these else others.swapped
        line += f" Tasks as a sample of such tasks: {scale.ci(others.possible)}."
    return line


def outcome(study: ItemStudy) -> str:
    """The gate's answer on the first model against the second, and what decides."""
    a, b = study.models[:2]
    decided = studies.decision(study)
    margin = ""
    if study.rules.margin:
        margin = f" by more than {scores.difference(study.rules.margin, scale_of(study).unit)}"
    where = _where(study, decided.on)
    if decided.outcome == "not shown":
        return f"{a} was not shown to be better or worse than {b}{margin}{where}"
    return f"{a} is {decided.outcome} than {b}{margin}{where}"


def _where(study: ItemStudy, on: Sequence[str | None]) -> str:
    """The tasks that decide, of several; where nothing is said of any, why."""
    if study.withheld:
        return f", since {_WITHHELD}"
    if len(study.tasks) == 1:
        return ""
    named = [task for task in on if task is not None]
    parts = ["in the mean over tasks"] if None in on else []
    parts += [f"on {listed(named, MOST_PAIRS)}"] if named else []
    return f" {text.listed(parts)}"


def _methods(study: ItemStudy) -> str:
    """How intervals of each kind were made."""
    overall = study.suite.overall
    differences = [each.interval for pair in study.pairs for each in pair.estimates]
    differences += [pair.mean_over_tasks.interval for pair in overall]
    as_sample = (pair.tasks_as_sample for pair in overall)
    named = {
        "means": [mean.interval for pair in study.pairs for mean in pair.means],
        "differences": differences,
        "tasks as a sample": [each.interval for each in as_sample if each is not None],
    }
    level = f"{100 * study.rules.confidence:.3g} %"
    return f"{level} {text.methods(named)}; of ranks by Holm's tests of all pairs"


def families(study: ItemStudy) -> str:
    """Over what p-values are corrected: those of the mean over tasks are a family of their own."""
    said = f"Holm over {text.counted(len(study.pairs), 'pair')}"
    if len(study.pairs) == 1:
        return "one comparison"
    if len(study.tasks) == 1:
        return said
    means = text.counted(len(study.suite.overall), "pair")
    overall = f", and over {means} in the mean over tasks" if study.suite.overall else ""
    return f"{said} and tasks{overall}"


def signature(study: ItemStudy) -> str:
    """Everything that fixes the numbers."""
    rules = study.rules
    parts = [
        text.versions(),
        f"level {rules.alpha:g}, {families(study)}",
        _methods(study),
        f"margin {rules.margin:g}",
        f"resamples {rules.resamples}, seed {rules.seed}",
    ]
    return " | ".join(parts)
