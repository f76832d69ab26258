"""The tables of a comparison: of models, of pairs, of tests; to print and to paste."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from jaxeval.report import standings, text
from jaxeval.report.comparison import answers, words
from jaxeval.report.comparison.words import TESTS
from jaxeval.report.document import Bold, Table
from jaxeval.report.scores import ScoreFormat
from jaxeval.stats.describe import Described
from jaxeval.stats.items.study import ItemStudy
from jaxeval.stats.pairs import Pair
from jaxeval.stats.study import RunStudy

MOST_PAIRS = 12  # of which lines are printed
_MOST_DATA_SETS = 3  # of which each model has a line
_MOST_ACROSS = 6  # data sets in a row of a paper's table
_WIDTH = 100  # columns
_CELL = 9  # letters of a score with its group


def of_runs(study: RunStudy) -> Iterator[Table]:
    """Models; then a line a pair, or of many data sets a line two models."""
    scale, data_sets = words.scale_of_runs(study), len(study.samples.data_sets)
    wide = data_sets > _MOST_DATA_SETS
    yield _by_data_set(study, scale) if wide else _models(study, scale)
    if data_sets > 1 and len(study.pairs) > MOST_PAIRS:
        yield _counts(study, scale)
    elif len(study.pairs) > 1:
        yield _run_pairs(study, scale)


def _models(study: RunStudy, scale: ScoreFormat) -> Table:
    """A row a model and data set, best first."""
    places, failed = study.samples.data_sets, study.failures
    several = len(places) > 1
    models = [*answers.order(study)]
    models += [model for model in study.scores.models if model not in models]
    head = (
        *(_metric(study, scale), *(["data set"] if several else [])),
        *(*(["failed"] if failed else []), "n", "mean", _level(study), "sd"),
    )
    every = sorted(
        study.models, key=lambda of: (places.index(of.data_set), models.index(of.model))
    )
    rows = [
        (
            *(of.model, *([of.data_set] if several else [])),
            *([str(failed.of(of.model, of.data_set).failed)] if failed else []),
            *(str(of.summary.n), scale(of.summary.mean)),
            *(scale.interval(of.summary.mean_interval), scale(of.summary.sd)),
        )
        for of in every
    ]
    return Table(head, rows, words=1 + several)


def _metric(study: RunStudy, scale: ScoreFormat) -> str:
    return scale.label(study.scores.metric or "score")


def _level(study: RunStudy | ItemStudy) -> str:
    return f"{100 * study.rules.confidence:.3g} % CI"


def _by_data_set(study: RunStudy, scale: ScoreFormat) -> Table:
    """A row a data set, a column a model: mean (sd), the number of runs in the head."""
    cells: dict[str, dict[str, Described]] = {}
    for of in study.models:
        cells.setdefault(of.data_set, {})[of.model] = of
    models, counts = answers.order(study), {of.summary.n for of in study.models}
    n = [str(*counts)] if len(counts) == 1 else []
    rows = [
        (
            *(data_set, *n),
            *(
                f"{scale(cell[m].summary.mean)} ({scale(cell[m].summary.sd)})"
                if m in cell
                else "-"
                for m in models
            ),
        )
        for data_set, cell in cells.items()
    ]
    return Table((f"{_metric(study, scale)}, mean (sd)", *(["n"] if n else []), *models), rows)


def _run_pairs(study: RunStudy, scale: ScoreFormat) -> Table:
    """A row a pair: of many those with the best model. A is placed better, or B the control."""
    models, control = answers.order(study), answers.control(study)
    models.sort(key=lambda model: model == control)
    pairs, places = list(study.pairs), study.samples.data_sets
    if len(pairs) > MOST_PAIRS:
        best = standings.first(models, answers.signs(pairs))
        pairs = [pair for pair in pairs if best in pair.names]
    pairs.sort(
        key=lambda of: (places.index(of.data_set or ""), *sorted(map(models.index, of.names)))
    )
    several, margin = len(places) > 1, [] if study.rules.margin is None else ["equivalent"]
    head = ("A", "B", *(["data set"] if several else []), "A - B", _level(study), "P(A better)")
    corrected = "p" if len(study.pairs) == 1 else "corrected p"
    rows = [_run_pair(pair, scale, models, several, bool(margin)) for pair in pairs]
    return Table((*head, *margin, corrected), rows, words=2 + several)


def _run_pair(
    pair: Pair, scale: ScoreFormat, models: Sequence[str], several: bool, margin: bool
) -> Sequence[str]:
    won = pair.effects["probability_of_improvement"]
    names, size, chance = pair.names, pair.value, won.estimate
    interval, bounds = pair.interval, won.interval
    if models.index(pair.a) > models.index(pair.b):
        names, size, chance = names[::-1], -size, 1 - chance
        interval = interval._replace(low=-interval.high, high=-interval.low)
        bounds = bounds._replace(low=1 - bounds.high, high=1 - bounds.low)
    return (
        *(*names, *([pair.data_set or ""] if several else [])),
        *(scale(size), scale.interval(interval)),
        f"{chance:.2f}" + ("" if bounds.absent else f" {text.bounds(bounds)}"),
        *(["yes" if pair.equivalent else "-"] if margin else []),
        text.p_cell(pair.p_adjusted),
    )


def _counts(study: RunStudy, scale: ScoreFormat) -> Table:
    """A row two models: on how many data sets each was shown to be better."""
    models, found = answers.order(study), answers.signs(study.pairs)
    gaps: dict[tuple[str, ...], list[float]] = {}
    for pair in study.pairs:
        sign = 1 if models.index(pair.a) < models.index(pair.b) else -1
        gaps.setdefault(words.names_of(pair, sign), []).append(sign * pair.value)
    rows = []
    for (a, b), of in sorted(gaps.items(), key=lambda item: [*map(models.index, item[0])]):
        counts = map(str, map(len, standings.record(found, a, b)))
        rows.append((a, b, *counts, scale(min(of)), scale(max(of))))
    head = ("A", "B", "A better", "B better", "not shown", "A - B, least", "most")
    return Table(head, rows, words=2)


def summaries(study: RunStudy) -> Table:
    """Data set (where there is one), model and the five numbers, mean and sd of each."""
    scale, named = words.scale_of_runs(study), any(of.data_set for of in study.models)
    numbers = ("min", "q1", "median", "q3", "max", "mean")
    rows = [
        (
            *(*((of.data_set,) if named else ()), of.model, str(of.summary.n)),
            *(scale(getattr(of.summary, name)) for name in numbers),
            *(scale.interval(of.summary.mean_interval), scale(of.summary.sd)),
        )
        for of in study.models
    ]
    head = (_metric(study, scale), "n", *numbers, f"{_level(study)} (t)", "sd")
    return Table((*(("data set",) if named else ()), *head), rows, words=1 + named)


def tests(pair: Pair) -> Table:
    """All tests of a pair of whole runs."""
    spread = pair.scores.spread_test if pair.scores else None
    roles = {pair.primary: "primary", spread: "spread"}
    rows = [
        (
            *(TESTS[name], _number(test.statistic, 6), _number(test.p_value)),
            *(_number(pair.adjusted[name]), roles.get(name, "")),
        )
        for name, test in pair.tests.items()
    ]
    return Table(("test", "statistic", "p", "corrected p", ""), rows)


def _number(value: float, digits: int = 3) -> str:
    return "-" if math.isnan(value) else f"{value:.{digits}g}"


def paper(study: RunStudy) -> Table:
    """Models and data sets with mean and sd, bold where shown to be better than all others.

    The longer of the two goes down.
    """
    scale, cells = words.scale_of_runs(study), dict[tuple[str, str], str]()
    if study.unit == "dataset":  # a score each, which has no sd and no test
        for model, of in study.samples.by_data_set[""].items():
            for data_set, score in zip(of.labels.tolist(), of.scores.tolist(), strict=True):
                cells[model, data_set] = scale(score)
    else:
        best = _better_than_all(study)
        for one in study.models:
            said = f"{scale(one.summary.mean)} ± {scale(one.summary.sd)}"
            key = one.model, one.data_set
            cells[key] = Bold(said) if key in best else said
    names, data_sets = ([*dict.fromkeys(key[k] for key in cells)] for k in (0, 1))
    head, metric = [name or "mean ± sd" for name in data_sets], _metric(study, scale)
    if len(data_sets) > max(_MOST_ACROSS, len(names)):
        rows = [(d, *(cells.get((m, d), "-") for m in names)) for d in data_sets]
        return Table((metric, *names), rows, _caption(study))
    rows = [(m, *(cells.get((m, d), "-") for d in data_sets)) for m in names]
    return Table((metric, *head), rows, _caption(study))


def _better_than_all(study: RunStudy) -> set[tuple[str, str]]:
    """(model, data set) shown to be better than every model that it is compared with there."""
    won, pairs = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for pair in study.pairs:
        pairs.update((name, pair.data_set or "") for name in pair.names)
        if pair.better:
            won[words.names_of(pair, pair.better)[0], pair.data_set or ""] += 1
    return {key for key, count in won.items() if count == pairs[key]}


def _caption(study: RunStudy) -> str:
    """What the cells of `paper` are, and when one is bold."""
    metric = study.scores.metric or "score"
    better = "higher" if study.scores.higher_is_better else "lower"
    if study.unit == "dataset":
        return f"One {metric} ({better} is better) a data set; none is tested, and none is bold."
    if not study.pairs:
        return f"{metric} ({better} is better) of models of one run each; none is tested."
    counts = sorted({of.summary.n for of in study.models})
    n = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return (
        f"Mean ± sd of {metric} ({better} is better) over {n} {study.pairs[0].unit}s. Bold: shown "
        "to be better than every model that it is compared with on the data set "
        f"({words.primary(study.primary)}); nothing is bold where none was shown to be."
    )
