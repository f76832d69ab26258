"""The tables of a comparison as rows of text: for the terminal and to paste."""

from collections import Counter
from collections.abc import Sequence

from jaxeval.report import latex_markdown, text
from jaxeval.report.comparison import overall, verdict
from jaxeval.report.scores import ScoreFormat
from jaxeval.stats import comparison
from jaxeval.stats.comparison import Pair
from jaxeval.stats.study import ScoreStudy

Row = Sequence[str]
Table = tuple[Row, list[Row]]  # head and rows
MOST_PAIRS = 6  # shown with all their tests; more only in a table
_MOST_ACROSS = 6  # data sets in a row of a paper's table


def is_large(study: ScoreStudy) -> bool:
    """Whether the data sets together are what is read, and each of them a detail."""
    if study.across is None:
        return False
    one_each = study.samples.unit == "dataset" and study.across.ranking is not None
    return one_each or len(study.comparison.pairs) > MOST_PAIRS


def models(study: ScoreStudy, scale: ScoreFormat) -> Table:
    """Data set (where there is one), model and the five numbers, mean and sd of each."""
    confidence = f"{100 * study.comparison.rules.confidence:g} % CI (t)"
    named = any(described.dataset for described in study.described)
    metric = scale.label(study.table.metric or "score")
    head = ("n", "min", "q1", "median", "q3", "max", "mean", confidence, "sd")
    rows: list[Row] = [
        (
            *((described.dataset,) if described.dataset else ()),
            described.model,
            str(described.summary.n),
            *(scale(getattr(described.summary, key)) for key in head[1:7]),
            scale.interval(described.summary.mean_interval),
            scale(described.summary.sd),
        )
        for described in study.described
    ]
    return (*(("data set",) if named else ()), metric, *head), rows


def pairs(study: ScoreStudy, scale: ScoreFormat) -> Table:
    """One row a pair: difference, probability of improvement and corrected p-values."""
    confidence = f"{100 * study.comparison.rules.confidence:g} % CI"
    head = (
        "A",
        "B",
        "data set",
        "A - B",
        confidence,
        f"P(A better) [{confidence}]",
        "p location",
        "p spread",
    )
    return head, [_pair(pair, scale) for pair in study.comparison.pairs]


def _pair(pair: Pair, scale: ScoreFormat) -> Row:
    gap, won = pair.effects["difference"], pair.effects["probability_of_improvement"]
    return (
        pair.scores.a,
        pair.scores.b,
        pair.scores.dataset or "-",
        scale(gap.estimate),
        scale.interval(gap.interval),
        f"{won.estimate:.2f} {text.bounds(won.interval)}",
        text.p_cell(pair.adjusted[pair.scores.location_test]),
        text.p_cell(pair.adjusted.get(pair.scores.spread_test or "")),
    )


def paper(study: ScoreStudy, scale: ScoreFormat) -> tuple[Row, list[Row], str]:
    """Models and data sets with mean and sd, bold where shown to be better: head, rows, caption.

    The longer of the two goes down.
    """
    cells, datasets = _cells(study, scale)
    names = list(dict.fromkeys(model for model, _ in cells))
    metric = scale.label(study.table.metric or "score")
    if len(datasets) > max(_MOST_ACROSS, len(names)):
        rows: list[Row] = [(d, *(cells.get((m, d), "-") for m in names)) for d in datasets]
        return (metric, *names), rows, caption(study)
    rows = [(m, *(cells.get((m, d), "-") for d in datasets)) for m in names]
    return (metric, *(d or "mean ± sd" for d in datasets)), rows, caption(study)


def _cells(study: ScoreStudy, scale: ScoreFormat) -> tuple[dict[tuple[str, str], str], list[str]]:
    """(model, data set) -> cell, and the data sets."""
    if study.samples.unit == "dataset":  # a score each, which has no sd and no test
        scores = study.samples.by_dataset[study.samples.datasets[0]]
        cells = {
            (model, dataset): scale(float(score))
            for model, sample in scores.items()
            for dataset, score in zip(sample.labels, sample.scores, strict=True)
        }
        return cells, list(dict.fromkeys(dataset for _, dataset in cells))
    best = _better_than_all(study)
    cells = {}
    for of in study.described:
        key = of.model, of.dataset
        text = f"{scale(of.summary.mean)} ± {scale(of.summary.sd)}"
        cells[key] = latex_markdown.Bold(text) if key in best else text
    return cells, list(study.samples.datasets)


def _better_than_all(study: ScoreStudy) -> set[tuple[str, str]]:
    """(model, data set) shown to be better than every model that it is compared with there."""
    rules = study.comparison.rules
    won, pairs = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for pair in study.comparison.pairs:
        of = pair.scores
        pairs.update([(of.a, of.dataset), (of.b, of.dataset)])
        shown = comparison.location(pair, rules)
        if shown and not comparison.against(pair, rules):
            won[of.a if (shown > 0) == rules.higher_is_better else of.b, of.dataset] += 1
    return {key for key, count in won.items() if count == pairs[key]}


def caption(study: ScoreStudy) -> str:
    """What the cells of `paper` are, and when one is bold."""
    rules, metric = study.comparison.rules, study.table.metric or "score"
    better = "higher" if rules.higher_is_better else "lower"
    if study.samples.unit == "dataset":
        return f"One {metric} ({better} is better) a data set; none is tested, and none is bold."
    counts = sorted({described.summary.n for described in study.described})
    n = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    units = {pair.scores.unit for pair in study.comparison.pairs}
    if not units:
        return f"{metric} ({better} is better) of models of one run each; none is tested."
    return (
        f"Mean ± sd of {metric} ({better} is better) over {n} {min(units)}s. Bold: shown to be "
        "better than every model that it is compared with on the data set "
        f"({verdict.primary(study.comparison)}); nothing is bold where none was shown to be."
    )


def pasted(study: ScoreStudy, scale: ScoreFormat) -> list[Table]:
    """Tables to paste; of many data sets only what they say together."""
    together = [overall.model_table(study, scale)] if study.across is not None else []
    if is_large(study):
        return together
    return [*together, models(study, scale), pairs(study, scale)]
