"""Tables of a comparison: models, pairs and tests, for the terminal and for a paper."""

from collections import Counter
from collections.abc import Iterator, Sequence

from jaxeval.report import Bold, Table, scores, text
from jaxeval.report.comparison import answers, words
from jaxeval.report.comparison.words import CHANCE, TESTS
from jaxeval.stats.datasets import Across
from jaxeval.stats.estimates import Estimate
from jaxeval.stats.pairs import Pair
from jaxeval.stats.study import Board, ItemDesign, Row, Study

_NUMBERS = ("min", "q1", "median", "q3", "max", "mean")
_MOST_PAIRS, _FEW_PAIRS = 12, 6  # in a table; beside which a paper has models in full
_MOST_DATA_SETS = 3  # on which each model has a row of its own
_MOST_ROWS = 8  # models against models
_MOST_ACROSS = 6  # data sets as columns of a paper's table


def shown(study: Study) -> Iterator[Table]:
    """Yields the models and the pairs; many on several data sets are counted."""
    data_sets = len(study.boards)
    if study.item_design:
        if study.main:
            yield leaderboard(study.main, study)
        if data_sets > 1:
            yield _by_task(study, study.item_design)
        if len((pairs := _pairs(study)).rows) > 1:
            yield pairs
        return
    yield models(study, ["mean"]) if data_sets <= _MOST_DATA_SETS else _by_data_set(study)
    if len(study.pairs) > 1:
        few = data_sets == 1 or len(study.pairs) + len(study.overall) <= _MOST_PAIRS
        if few or study.overall:
            yield _pairs(study)
        if not few:
            yield _counts(study)


def models(study: Study, numbers: Sequence[str] = _NUMBERS) -> Table:
    """Returns n, these numbers, the interval of the mean and the sd of each model, best first."""
    scale = words.score_format(study)
    failed = study.failures
    several = len(study.boards) > 1
    names = [*dict.fromkeys([*answers.order(study), *study.scores.models])]
    by_name = sorted(words.described(study), key=lambda of: names.index(of[1]))
    places = [board.data_set for board in study.boards]
    rows = [
        (
            model,
            *([data_set] if several else []),
            *([str(failed.of(model, data_set).failed)] if failed else []),
            str(of.n),
            *(scale(getattr(of, name)) for name in numbers),
            scale.interval(of.interval),
            scale(of.sd),
        )
        for data_set, model, of in sorted(by_name, key=lambda of: places.index(of[0]))
    ]
    head = (scale.label(study.scores.metric or "score"), *([study.noun] if several else []))
    counts = (*(["failed"] if failed else []), "n", *numbers, text.confidence(study.rules), "sd")
    return Table((*head, *counts), rows, words=1 + several)


def _pairs(study: Study) -> Table:
    """Returns a row for each pair, the better model first; of many, those with the best model."""
    listed = [*study.overall, *study.pairs]
    order = answers.order(study)
    listed = [*(study.overall or study.pairs)] if len(listed) > _MOST_PAIRS else listed
    places = [board.data_set for board in study.boards]
    if study.run_design:
        control = answers.control(study)
        order = sorted(order, key=lambda model: model == control)
    else:
        order = [*study.scores.models] if len(order) == 2 else order
    if len(listed) > _MOST_PAIRS:
        chosen = best(study)
        listed = [pair for pair in listed if chosen in pair.names]
    ordered = [words.swapped(p) if order.index(p.a) > order.index(p.b) else p for p in listed]
    where = {None: -1, **{name: k for k, name in enumerate(places)}}
    ordered.sort(key=lambda p: (where[p.data_set], order.index(p.a), order.index(p.b)))
    margin = []
    several = len(places) > 1
    if study.rules.margin is not None:
        beyond = scores.difference(study.rules.margin, words.score_format(study).unit)
        margin = ["equivalent" if study.run_design else f"by {beyond}"]
    head = ("A", "B", *(["on"] if several else []), "A - B", text.confidence(study.rules))
    head = (*head, *(["P(A better)"] if study.run_design else []), *margin, words.p_name(study))
    rows = []
    mixed = len({pair.looks > 1 for pair in ordered}) > 1
    for pair in ordered:
        scale = words.score_format(study, pair.data_set)
        chance, beside = _beside(pair)
        on = [f"mean over {study.noun}s" if pair.data_set is None else pair.data_set or "-"]
        cells = (*(on if several else []), scale(pair.value), scale.interval(pair.interval))
        p = "anytime " * (mixed and pair.looks > 1) + text.p_cell(pair.p_adjusted)
        cells = (*cells, *chance, *(beside if margin else []), p)
        rows.append((pair.a, pair.b, *cells))
    return Table(head, rows, words=2 + several)


def best(study: Study) -> str:
    """Returns the model whose pairs are shown if there are many: the control, else the best."""
    order = answers.order(study)
    if not study.run_design:
        return order[0]
    return answers.control(study) or text.leader(
        order, answers.signs(study.overall or study.pairs)
    )


def _beside(pair: Pair) -> tuple[list[str], list[str]]:
    """Returns a pair's P(A better) of runs, and what was shown beside the margin."""
    if pair.by_margin is not None:
        of = pair.by_margin
        return [], ["equivalent" if of.equivalent else of.outcome]
    won = pair.effects[CHANCE]
    return [text.estimate(won.estimate, won.interval)], ["yes" if pair.equivalent else "-"]


def _counts(study: Study) -> Table:
    """Returns on how many data sets each of two models was shown to be better."""
    scale, order = words.score_format(study), answers.order(study)
    shown = answers.signs(study.pairs)
    gaps: dict[tuple[str, ...], list[float]] = {}
    for pair in study.pairs:
        sign = 1 if order.index(pair.a) < order.index(pair.b) else -1
        gaps.setdefault(pair.names[::sign], []).append(sign * pair.value)
    rows = []
    for (a, b), of in sorted(gaps.items(), key=lambda item: [*map(order.index, item[0])]):
        counts = map(str, text.record(shown, a, b))
        rows.append((a, b, *counts, scale(min(of)), scale(max(of))))
    head = ("A", "B", "A better", "B better", "not shown", "A - B, least", "most")
    return Table(head, rows, words=2)


def tests(pair: Pair) -> Table:
    """Returns all tests of a pair of whole runs."""
    roles = {pair.primary: "primary", pair.scores and pair.scores.spread_test: "spread"}
    rows = []
    for name, test in pair.tests.items():
        numbers = f"{test.statistic:.6g}", f"{test.p_value:.3g}", f"{pair.adjusted[name]:.3g}"
        known = (number.replace("nan", "-") for number in numbers)
        rows.append((TESTS[name], *known, roles.get(name, "")))
    return Table(("test", "statistic", "p", "corrected p", ""), rows)


def for_paper(study: Study) -> list[Table]:
    """Returns the tables of a paper: models by data sets, ranks, and few models in full."""
    assert study.run_design is not None
    of = study.run_design.across
    together = across(study, of) if of else ()
    few = of is None or len(study.pairs) <= _FEW_PAIRS
    return [_by_data_set(study), *together, *([models(study)] if few else [])]


def _by_data_set(study: Study) -> Table:
    """Returns mean ± sd of models by data sets, bold where better than all others was shown.

    The longer side goes down.
    """
    scale = words.score_format(study)
    cells: dict[tuple[str, str], str] = {}
    if study.run_design and study.run_design.unit == "dataset":  # single scores: no sd and no test
        for model, of in study.run_design.samples.by_data_set[""].items():
            for data_set, score in zip(of.labels.tolist(), of.scores.tolist(), strict=True):
                cells[model, data_set] = scale(score)
    else:
        won = Counter[tuple[str, str]]()
        pairs = Counter[tuple[str, str]]()
        for pair in study.pairs:
            pairs.update((name, pair.data_set or "") for name in pair.names)
            better = [(pair.names[pair.better < 0], pair.data_set or "")]
            won.update(better if pair.better else [])
        for data_set, model, summary in words.described(study):
            mean = f"{scale(summary.mean)} ± {scale(summary.sd)}"
            key = (model, data_set)
            cells[key] = Bold(mean) if won[key] and won[key] == pairs[key] else mean
    names, sets = ([*dict.fromkeys(key[k] for key in cells)] for k in (0, 1))
    down, across = names, sets
    if len(sets) > max(_MOST_ACROSS, len(names)):
        down, across = sets, names
        cells = {(data_set, model): cell for (model, data_set), cell in cells.items()}
    rows = [(d, *(cells.get((d, a), "-") for a in across)) for d in down]
    head = (scale.label(study.scores.metric or "score"), *(name or "mean ± sd" for name in across))
    title, bold = _caption(study)
    return Table(head, rows, title, bold=bold)


def _caption(study: Study) -> tuple[str, str]:
    """Returns the title of means by data set, and what bold ones are."""
    better = "higher" if study.scores.higher_is_better else "lower"
    metric = f"{study.scores.metric or 'score'} ({better} is better)"
    assert study.run_design is not None
    if study.run_design.unit == "dataset":
        return f"One {metric} a {study.noun}; none is tested, and none is bold.", ""
    if not study.pairs:
        return f"Mean ± sd of {metric}; models of one run are not tested.", ""
    n = text.ranging(summary.n for *_, summary in words.described(study))
    tests = words.primary(study.run_design.primary)
    bold = f"shown to be better than all models compared on the {study.noun} ({tests})."
    return f"Mean ± sd of {metric} over {n} {study.pairs[0].unit}s.", bold


def leaderboard(board: Board, study: Study) -> Table:
    """Returns a row for each model, best first; models that share a letter were not told apart."""
    unit = words.score_format(study, board.data_set)
    several = len(board.rows) > 2
    known = [(row, row.mean) for row in board.rows if isinstance(row.mean, Estimate)]
    clustered = known[0][1].sizes.clusters < known[0][1].sizes.items
    head = [unit.label(board.metric or "score"), "items", *(["clusters"] if clustered else [])]
    head += ["runs", "mean", text.confidence(study.rules), *(["rank", "tied"] if several else [])]
    rows = []
    for row, estimate in known:
        of = estimate.sizes
        mean = unit(estimate.value)
        counts = [str(of.items), *([str(of.clusters)] if clustered else [])]
        counts.append(f"{of.runs[0]}" + (f" x {of.samples}" if of.samples > 1 else ""))
        cells = [mean if row.beaten else Bold(mean), unit.interval(estimate.interval)]
        ranks = [rank(row), tied(row.groups)] if several else []
        rows.append([row.model, *counts, *cells, *ranks])
    return Table(head, rows)


def rank(row: Row) -> str:
    """Formats a model's rank with the range that the tests leave open."""
    return f"{row.rank}" if row.low == row.high else f"{row.rank} [{row.low}, {row.high}]"


def tied(groups: Sequence[int], between: str = " ") -> str:
    """Names tie groups a, b ... z, aa."""

    def letters(number: int) -> str:
        first, last = divmod(number - 1, 26)
        return (letters(first) if first else "") + chr(ord("a") + last)

    return between.join(map(letters, groups))


def _by_task(study: Study, item_design: ItemDesign) -> Table:
    one = len({of.metric for of in study.boards}) == 1
    rows = []
    models = answers.order(study)
    for board, counts in zip(study.boards, item_design.data_sets, strict=True):
        unit = words.score_format(study, board.data_set)
        of = {r.model: r for r in board.rows}
        metric = "" if one else f", {unit.label(board.metric or 'score')}"
        cells = [f"{unit(of[m].mean.value)} {tied(of[m].groups, '')}" for m in models]
        rows.append([f"{board.data_set or '-'}{metric}", str(counts.items), *cells])
    return Table(["task (same letter: not told apart)", "items", *models], rows)


def differences(study: Study) -> Table:
    """Returns a row for each pair, task and generalisation, with corrected p-values."""
    rows = []
    for pair in study.pairs:
        unit = words.score_format(study, pair.data_set)
        for of in pair.over:
            over = " and ".join(of.over)
            p = pair.p_adjusted if over == pair.primary else pair.adjusted[over]
            cells = (unit(of.value), unit.interval(of.possible))
            names = (pair.data_set or "-", pair.a, pair.b, over)
            rows.append((*names, *cells, text.p_cell(of.p_value), text.p_cell(p)))
    head = ("task", "A", "B", "over", "A - B", text.confidence(study.rules), "p", "corrected p")
    return Table(head, rows, words=4)


def title(board: Board) -> str:
    """Returns the title of a leaderboard."""
    name = "Mean over tasks" if board.data_set is None else board.data_set
    return f"{name}, {board.metric}".removeprefix(", ")


def across(study: Study, across: Across) -> Iterator[Table]:
    """Yields a row for each model, best first, and P(row better than column)."""
    found = across.aggregates
    ranking = across.ranking
    scale = words.score_format(study)
    order = [*across.means] if ranking is None else [*ranking.models]
    level = text.confidence(study.rules)
    columns: dict[str, dict[str, str]] = {}
    if ranking is not None:
        ranks = zip(order, ranking.average_ranks, strict=True)
        columns["average rank"] = {model: f"{rank:.3f}" for model, rank in ranks}
    columns["mean"] = {m: scale(float(values.mean())) for m, values in across.means.items()}
    if found is not None:
        means = found.interquartile_mean.items()
        cells = {m: text.estimate(of.estimate, of.interval, scale) for m, of in means}
        columns[f"interquartile mean [{level}]"] = cells
    rows = [(m, *(column.get(m, "-") for column in columns.values())) for m in order]
    yield Table((f"{len(across.data_sets)} {study.noun}s", *columns), rows)
    if found is not None and 2 < len(order) <= _MOST_ROWS:
        chances = {(b, a): words.reversed_chance(won) for (a, b), won in found.improvement.items()}
        chances |= found.improvement
        shares = {pair: text.estimate(won.estimate, won.interval) for pair, won in chances.items()}
        head = (f"P(row better) [{level}]", *order)
        yield Table(head, [(a, *(shares.get((a, b), "") for b in order)) for a in order])
