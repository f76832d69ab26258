"""Models over several data sets: sentences, and tables for a paper."""

from collections.abc import Iterator, Sequence

from jaxeval.report import text
from jaxeval.report.comparison import claims, words
from jaxeval.report.document import Table
from jaxeval.stats.datasets import Across, Ranking
from jaxeval.stats.pairs import FEW_DATA_SETS, RunScores
from jaxeval.stats.study import RunStudy

_MOST_NAMED = 8  # models in a sentence
_NO_CONCLUSION = f"no conclusion can be drawn, which takes at least {FEW_DATA_SETS}"


def sentences(study: RunStudy, across: Across) -> Iterator[str]:
    """Yields claims about other data sets, by ranks, and about other runs on these data sets."""
    ranking, over = across.ranking, f"Over {len(across.data_sets)} data sets"
    if ranking is not None:
        friedman, test = ranking.friedman, ranking.iman_davenport
        each = zip(ranking.models, ranking.average_ranks, strict=True)
        ranks = _few([f"{model} {rank:.2f}" for model, rank in each])
        tested = (
            f"average ranks {ranks}; Friedman chi-squared {friedman.statistic:.2f}, p "
            f"{text.p_value(friedman.p_value)}; Iman-Davenport F {test.statistic:.2f}, p "
            f"{text.p_value(test.p_value)} by permutation"
        )
        enough = test.n[0] >= FEW_DATA_SETS
        differ = enough and test.p_value <= study.rules.alpha
        shown = "the models differ" if differ else "no difference between the models was shown"
        yield f"{over} {shown if enough else _NO_CONCLUSION}: {tested}."
        if differ:
            yield _nemenyi(ranking)
    elif across.signed_rank is not None:
        yield f"{over} {_signed_rank(across, study)}."
    if across.aggregates is not None and len(across.aggregates.improvement) == 1:
        (((a, b), won),) = across.aggregates.improvement.items()
        chance = f"better than one of {b} with probability {claims.probability(won)}"
        yield f"On these data sets a run of {a} is {chance}."
    elif across.aggregates is not None and not across.one_scale:
        yield "On these data sets scores are on different scales: see P(row better)."


def _nemenyi(ranking: Ranking) -> str:
    critical = ranking.critical_difference
    how = f"Nemenyi's test, critical difference {critical:.2f} at {ranking.alpha:g}"
    ranks = dict(zip(ranking.models, ranking.average_ranks, strict=True))
    over = {a: [b for b in ranks if ranks[b] - ranks[a] > critical] for a in ranks}
    better = "; ".join(f"{a} over {_few(worse)}" for a, worse in over.items() if worse)
    return f"{f'Ranked better: {better}' if better else 'Which differ was not shown'} ({how})."


def _signed_rank(across: Across, study: RunStudy) -> str:
    """Returns the verdict on two models; if data sets are the units, that of the pair."""
    test, ((a, first), (b, second)) = across.signed_rank, across.means.items()
    assert test is not None
    p, name = test.p_value, "p"
    if study.unit == "dataset" and study.pairs:  # one test, stated twice
        p, name = study.pairs[0].p_adjusted, "corrected p"
    tested = f"Wilcoxon signed-rank of one score per data set, {name} {text.p_value(p)}"
    if len(across.data_sets) < FEW_DATA_SETS:
        return f"{_NO_CONCLUSION}: {tested}"
    shown = (test.direction or 0) if p <= study.rules.alpha else 0
    if not shown:
        return f"no difference between {a} and {b} was shown: {tested}"
    higher, lower = (a, b) if shown > 0 else (b, a)
    by_data_set = RunScores(a, b, "", first, second, (first, second), True, "data set")
    if others := by_data_set.contradicting(shown):
        disagreement = claims.disagree("Wilcoxon signed-rank", higher, lower, others)
        return f"m{disagreement[1:]}: {tested}"
    best, other = (higher, lower) if study.scores.higher_is_better else (lower, higher)
    return f"{best} is better than {other}: {tested}"


def _few(named: Sequence[str]) -> str:
    more = len(named) - _MOST_NAMED
    return ", ".join(named[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def tables(study: RunStudy, across: Across) -> Iterator[Table]:
    """Yields a row for each model, best first, and P(row better than column)."""
    found, ranking, scale = across.aggregates, across.ranking, words.score_format(study)
    order = [*across.means] if ranking is None else [*ranking.models]
    level, columns = words.level(study), dict[str, dict[str, str]]()
    if ranking is not None:
        ranks = zip(order, ranking.average_ranks, strict=True)
        columns["average rank"] = {model: f"{rank:.3f}" for model, rank in ranks}
    columns["mean"] = {m: scale(float(values.mean())) for m, values in across.means.items()}
    if found is not None:
        means = found.interquartile_mean.items()
        cells = {m: f"{scale(of.estimate)} {scale.interval(of.interval)}" for m, of in means}
        columns[f"interquartile mean [{level}]"] = cells
    rows = [(m, *(column.get(m, "-") for column in columns.values())) for m in order]
    yield Table((f"{len(across.data_sets)} data sets", *columns), rows)
    if found is not None and 2 < len(order) <= _MOST_NAMED:
        shares = {}
        for (a, b), won in found.improvement.items():
            low, high = won.interval[:2]
            turned = won.interval._replace(low=1 - high, high=1 - low)
            shares[a, b] = f"{won.estimate:.2f} {text.bounds(won.interval)}"
            shares[b, a] = f"{1 - won.estimate:.2f} {text.bounds(turned)}"
        head = (f"P(row better) [{level}]", *order)
        yield Table(head, [(a, *(shares.get((a, b), "") for b in order)) for a in order])
