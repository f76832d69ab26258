"""The tables of a comparison: of models, of pairs, of tests; to print and to paste."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from jaxeval.report import scores, standings, text
from jaxeval.report.comparison import answers, words
from jaxeval.report.comparison.words import TESTS, Study
from jaxeval.report.document import Bold, Table
from jaxeval.report.scores import ScoreFormat
from jaxeval.stats.describe import Described
from jaxeval.stats.items.study import Board, ItemStudy, Row
from jaxeval.stats.pairs import Pair
from jaxeval.stats.study import RunStudy

_MEAN = "mean over tasks"
_MOST_PAIRS = 12  # of which lines are printed
_MOST_DATA_SETS = 3  # of which each model has a line
_MOST_ACROSS = 6  # data sets in a row of a paper's table


def of_runs(study: RunStudy) -> Iterator[Table]:
    """Models; then a line a pair, or of many data sets a line two models."""
    scale, data_sets = words.scale(study), len(study.samples.data_sets)
    yield (_means if data_sets > _MOST_DATA_SETS else _models)(study, scale)
    if data_sets > 1 and len(study.pairs) > _MOST_PAIRS:
        yield _counts(study, scale)
    elif len(study.pairs) > 1:
        yield _pairs(study)


def of_items(study: ItemStudy) -> Iterator[Table]:
    """Models by their mean; tasks by models; pairs."""
    first = study.board or study.boards[0]
    if study.board is not None or len(study.boards) == 1:
        yield ranked(first, study)
    if len(study.boards) > 1:
        yield _by_task(study, [row.model for row in first.rows])
    if len((pairs := _pairs(study)).rows) > 1:
        yield pairs


def _models(study: RunStudy, scale: ScoreFormat) -> Table:
    """A row a model and data set, best first."""
    places, failed = study.samples.data_sets, study.failures
    several, order = len(places) > 1, answers.order(study)
    models = [*dict.fromkeys([*order, *study.scores.models])]
    rows = [
        (
            *(of.model, *([of.data_set] if several else [])),
            *([str(failed.of(of.model, of.data_set).failed)] if failed else []),
            *(str(of.summary.n), scale(of.summary.mean)),
            *(scale.interval(of.summary.mean_interval), scale(of.summary.sd)),
        )
        for of in sorted(
            study.models, key=lambda of: (places.index(of.data_set), models.index(of.model))
        )
    ]
    head = (_metric(study, scale), *(["data set"] if several else []))
    counts = (*(["failed"] if failed else []), "n", "mean", words.level(study), "sd")
    return Table((*head, *counts), rows, words=1 + several)


def _metric(study: RunStudy, scale: ScoreFormat) -> str:
    return scale.label(study.scores.metric or "score")


def _means(study: RunStudy, scale: ScoreFormat) -> Table:
    """A row a data set, a column a model: mean (sd), the number of runs where it is one."""
    cells: dict[str, dict[str, Described]] = {}
    for of in study.models:
        cells.setdefault(of.data_set, {})[of.model] = of
    models, counts = answers.order(study), {of.summary.n for of in study.models}
    n = [str(*counts)] if len(counts) == 1 else []
    rows = []
    for data_set, cell in cells.items():
        found = [cell[m].summary if m in cell else None for m in models]
        rows.append(
            (data_set, *n, *(f"{scale(of.mean)} ({scale(of.sd)})" if of else "-" for of in found))
        )
    return Table((f"{_metric(study, scale)}, mean (sd)", *(["n"] if n else []), *models), rows)


def _pairs(study: Study) -> Table:
    """A row a pair; of many those with the best model. A stands before B, the control is B."""
    if isinstance(study, RunStudy):
        shown, places = [*study.pairs], [*study.samples.data_sets]
        control = answers.control(study)
        order = sorted(answers.order(study), key=lambda model: model == control)
        best = standings.first(order, answers.signs(shown)) if shown else ""
    else:
        shown, places = [*study.overall, *study.pairs], [of.data_set for of in study.data_sets]
        order = [row.model for row in (study.board or study.boards[0]).rows]
        best, order = order[0], [*study.models] if len(order) == 2 else order
        shown = [*(study.overall or study.pairs)] if len(shown) > _MOST_PAIRS else shown
    if len(shown) > _MOST_PAIRS:
        shown = [pair for pair in shown if best in pair.names]
    turned = [words.turned(p) if order.index(p.a) > order.index(p.b) else p for p in shown]
    where = {None: -1} | {name: k for k, name in enumerate(places)}
    turned.sort(key=lambda p: (where[p.data_set], order.index(p.a), order.index(p.b)))
    of_runs, margin, several = isinstance(study, RunStudy), [], len(places) > 1
    if study.rules.margin is not None:
        beyond = scores.difference(study.rules.margin, words.scale(study).unit)
        margin = ["equivalent" if of_runs else f"by {beyond}"]
    head = ("A", "B", *(["on"] if several else []), "A - B", words.level(study))
    chance = ["P(A better)"] if of_runs else []
    rows = [_row(pair, study, several, bool(margin)) for pair in turned]
    return Table((*head, *chance, *margin, words.p(study)), rows, words=2 + several)


def _row(pair: Pair, study: Study, several: bool, margin: bool) -> Sequence[str]:
    """Names, difference, chance of runs, what is beside the margin, p-value."""
    scale, chance, beside = words.scale(study, pair.data_set), [], []
    on = _MEAN if pair.data_set is None else pair.data_set or "-"
    if isinstance(study, RunStudy):
        won = pair.effects["probability_of_improvement"]
        ends = "" if won.interval.absent else f" {text.bounds(won.interval)}"
        chance, beside = [f"{won.estimate:.2f}{ends}"], ["yes" if pair.equivalent else "-"]
    elif (of := pair.by_margin) is not None:
        beside = ["equivalent" if of.equivalent else of.outcome]
    return (
        *(pair.a, pair.b, *([on] if several else [])),
        *(scale(pair.value), scale.interval(pair.interval), *chance),
        *(*(beside if margin else []), text.p_cell(pair.p_adjusted)),
    )


def _counts(study: RunStudy, scale: ScoreFormat) -> Table:
    """A row two models: on how many data sets each was shown to be better."""
    models, found = answers.order(study), answers.signs(study.pairs)
    gaps: dict[tuple[str, ...], list[float]] = {}
    for pair in study.pairs:
        sign = 1 if models.index(pair.a) < models.index(pair.b) else -1
        gaps.setdefault(pair.names[::sign], []).append(sign * pair.value)
    rows = []
    for (a, b), of in sorted(gaps.items(), key=lambda item: [*map(models.index, item[0])]):
        counts = map(str, map(len, standings.record(found, a, b)))
        rows.append((a, b, *counts, scale(min(of)), scale(max(of))))
    head = ("A", "B", "A better", "B better", "not shown", "A - B, least", "most")
    return Table(head, rows, words=2)


def summaries(study: RunStudy) -> Table:
    """Data set (where there is one), model and the five numbers, mean and sd of each."""
    scale, named = words.scale(study), any(of.data_set for of in study.models)
    numbers = ("min", "q1", "median", "q3", "max", "mean")
    rows = [
        (
            *(*((of.data_set,) if named else ()), of.model, str(of.summary.n)),
            *(scale(getattr(of.summary, name)) for name in numbers),
            *(scale.interval(of.summary.mean_interval), scale(of.summary.sd)),
        )
        for of in study.models
    ]
    head = (_metric(study, scale), "n", *numbers, f"{words.level(study)} (t)", "sd")
    return Table((*(("data set",) if named else ()), *head), rows, words=1 + named)


def tests(pair: Pair) -> Table:
    """All tests of a pair of whole runs."""
    roles = {pair.primary: "primary", pair.scores and pair.scores.spread_test: "spread"}
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
    scale, cells = words.scale(study), dict[tuple[str, str], str]()
    if study.unit == "dataset":  # a score each, which has no sd and no test
        for model, of in study.samples.by_data_set[""].items():
            for data_set, score in zip(of.labels.tolist(), of.scores.tolist(), strict=True):
                cells[model, data_set] = scale(score)
    won, pairs = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for pair in study.pairs if study.unit != "dataset" else ():
        pairs.update((name, pair.data_set or "") for name in pair.names)
        won.update([(pair.names[pair.better < 0], pair.data_set or "")] if pair.better else [])
    for one in study.models if study.unit != "dataset" else ():
        said = f"{scale(one.summary.mean)} ± {scale(one.summary.sd)}"
        key = one.model, one.data_set
        cells[key] = Bold(said) if won[key] and won[key] == pairs[key] else said
    names, data_sets = ([*dict.fromkeys(key[k] for key in cells)] for k in (0, 1))
    if len(data_sets) > max(_MOST_ACROSS, len(names)):
        rows = [(d, *(cells.get((m, d), "-") for m in names)) for d in data_sets]
        return Table((_metric(study, scale), *names), rows, _caption(study))
    rows = [(m, *(cells.get((m, d), "-") for d in data_sets)) for m in names]
    head = (_metric(study, scale), *(name or "mean ± sd" for name in data_sets))
    return Table(head, rows, _caption(study))


def _caption(study: RunStudy) -> str:
    """What the cells of `paper` are, and when one is bold."""
    better = "higher" if study.scores.higher_is_better else "lower"
    metric = f"{study.scores.metric or 'score'} ({better} is better)"
    if study.unit == "dataset":
        return f"One {metric} a data set; none is tested, and none is bold."
    if not study.pairs:
        return f"{metric} of models of one run each; none is tested."
    n = text.ranging(of.summary.n for of in study.models)
    return (
        f"Mean ± sd of {metric} over {n} {study.pairs[0].unit}s. Bold: shown to be better than "
        "every model that it is compared with on the data set "
        f"({words.primary(study.primary)}); nothing is bold where none was shown to be."
    )


def ranked(board: Board, study: ItemStudy) -> Table:
    """A row a model, best first; models with a letter in common were not told apart."""
    unit, several = words.scale(study, board.data_set), len(study.models) > 2
    clustered = board.rows[0].mean.sizes.clusters < board.rows[0].mean.sizes.items
    head = [unit.label(board.metric or "score"), "items", *(["clusters"] if clustered else [])]
    head += ["runs", "mean", words.level(study), *(["rank", "tied"] if several else [])]
    rows = []
    for row in board.rows:
        of, mean = row.mean.sizes, unit(row.mean.value)
        counts = [str(of.items), *([str(of.clusters)] if clustered else [])]
        counts.append(f"{of.runs[0]}" + (f" x {of.samples}" if of.samples > 1 else ""))
        cells = [mean if row.beaten else Bold(mean), unit.interval(row.mean.interval)]
        ranks = [rank(row), _letters(row.groups, " ")] if several else []
        rows.append([row.model, *counts, *cells, *ranks])
    return Table(head, rows)


def rank(row: Row) -> str:
    """A model's rank, and those that are left open."""
    return f"{row.rank}" if row.low == row.high else f"{row.rank} [{row.low}, {row.high}]"


def _letters(groups: Sequence[int], between: str = "") -> str:
    """Of tie groups: a, b ... z, aa."""

    def letters(number: int) -> str:
        first, last = divmod(number - 1, 26)
        return (letters(first) if first else "") + chr(ord("a") + last)

    return between.join(map(letters, groups))


def _by_task(study: ItemStudy, models: Sequence[str]) -> Table:
    """A row a task; a letter in common in a row: not told apart there."""
    one, rows = len({of.metric for of in study.data_sets}) == 1, []
    for board in study.boards:
        unit, of = words.scale(study, board.data_set), {row.model: row for row in board.rows}
        name = (board.data_set or "-") + (
            "" if one else f", {unit.label(board.metric or 'score')}"
        )
        cells = [f"{unit(of[m].mean.value)} {_letters(of[m].groups)}" for m in models]
        rows.append([name, str(board.rows[0].mean.sizes.items), *cells])
    return Table(["task (same letter: not told apart)", "items", *models], rows)


def differences(study: ItemStudy) -> Table:
    """A row a pair, task and generalisation; p-values are corrected over pairs and tasks."""
    rows = []
    for pair in study.pairs:
        unit = words.scale(study, pair.data_set)
        for of in pair.over:
            over = " and ".join(of.over)
            p = pair.p_adjusted if over == pair.primary else pair.adjusted[over]
            cells = (unit(of.value), unit.interval(of.possible))
            names = (pair.data_set or "-", pair.a, pair.b, over)
            rows.append((*names, *cells, text.p_cell(of.p_value), text.p_cell(p)))
    head = ("task", "A", "B", "over", "A - B", words.level(study), "p", "corrected p")
    return Table(head, rows, words=4)


def sizes(study: ItemStudy) -> Table:
    """What each task rests on."""
    rows = []
    for of in study.data_sets:
        samples = f", {of.samples} samples" if of.samples > 1 else ""
        runs = text.ranging(of.runs.values()) + samples
        lost = sum(of.failed.values()) + sum(of.unscored.values())
        clusters = "-" if of.clusters in (None, of.items) else str(of.clusters)
        counts = (str(of.items), clusters, runs, str(of.left_out), str(lost))
        rows.append((of.data_set or "-", of.metric, *counts))
    head = ("task", "metric", "items", "clusters", "runs of a model", "items left out")
    return Table((*head, "answers without a score"), rows, "What the scores rest on", words=2)


def title(board: Board) -> str:
    """Of what it is."""
    name = _MEAN.capitalize() if board.data_set is None else board.data_set
    return f"{name}, {board.metric}".removeprefix(", ")
