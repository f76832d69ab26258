"""The tables of a comparison as rows of text: for the terminal and to paste."""

from collections.abc import Sequence

from jaxeval.report import text
from jaxeval.report.comparison import overall
from jaxeval.report.scores import ScoreFormat
from jaxeval.stats.comparison import Pair
from jaxeval.stats.study import ScoreStudy

Row = Sequence[str]
Table = tuple[Row, list[Row]]  # head and rows
MOST_PAIRS = 6  # shown with all their tests; more only in a table


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


def pasted(study: ScoreStudy, scale: ScoreFormat) -> list[Table]:
    """Tables to paste; of many data sets only what they say together."""
    together = [overall.model_table(study, scale)] if study.across is not None else []
    if is_large(study):
        return together
    return [*together, models(study, scale), pairs(study, scale)]
