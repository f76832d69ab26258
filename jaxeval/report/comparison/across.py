"""What several data sets say together: sentences, and tables of models."""

from collections.abc import Iterator, Sequence

from jaxeval.report import text
from jaxeval.report.comparison import claims, words
from jaxeval.report.document import Table
from jaxeval.report.scores import ScoreFormat
from jaxeval.stats.datasets import Across, Ranking
from jaxeval.stats.pairs import FEW_DATA_SETS, RunScores
from jaxeval.stats.results import Effect
from jaxeval.stats.study import RunStudy

_MOST_NAMED = 8  # models in one sentence
_NO_CONCLUSION = f"no conclusion can be drawn, which takes at least {FEW_DATA_SETS}"


def sentences(study: RunStudy, across: Across) -> Iterator[str]:
    """What is said of all data sets: of other data sets by ranks, of other runs by all scores."""
    ranking, over = across.ranking, f"Over {len(across.data_sets)} data sets"
    if ranking is not None:
        test = ranking.iman_davenport
        ranks = zip(ranking.models, ranking.average_ranks, strict=True)
        tested = f"average ranks {_listed([f'{model} {rank:.2f}' for model, rank in ranks])}; "
        friedman = f"Friedman chi-squared {ranking.friedman.statistic:.2f}"
        tested += f"{friedman}, p {text.p_value(ranking.friedman.p_value)}; Iman-Davenport F "
        tested += f"{test.statistic:.2f}, p {text.p_value(test.p_value)} by permutation"
        enough = test.n[0] >= FEW_DATA_SETS
        differ = enough and test.p_value <= study.rules.alpha
        said = "the models differ" if differ else "no difference between the models was shown"
        yield f"{over} {said if enough else _NO_CONCLUSION}: {tested}."
        if across.against:
            yield _of_control(across, differ, study.rules.alpha)
        elif differ:
            yield _by_nemenyi(ranking)
    elif across.signed_rank is not None:
        yield f"{over} {_of_two(across, study)}."
    yield from _of_runs(across, study)


def _by_nemenyi(ranking: Ranking) -> str:
    critical = ranking.critical_difference
    how = f"Nemenyi's test, critical difference {critical:.2f} at {ranking.alpha:g}"
    ranks = dict(zip(ranking.models, ranking.average_ranks, strict=True))
    better = [
        f"{a} over {_listed(worse)}"
        for a in ranking.models
        if (worse := [b for b in ranking.models if ranks[b] - ranks[a] > critical])
    ]
    if not better:
        return f"Which ones differ was not shown ({how})."
    return f"Ranked better: {'; '.join(better)} ({how})."


def _of_control(across: Across, differ: bool, alpha: float) -> str:
    if not differ:
        return f"So no difference from the control {across.control} was shown."
    shown: dict[str, list[str]] = {}
    for of in across.against:
        side = "better" if of.z > 0 else "worse"
        side = f"ranked {side}" if of.p_adjusted <= alpha else "no significant difference"
        shown.setdefault(side, []).append(f"{of.model} (p {text.p_value(of.p_adjusted)})")
    said = "; ".join(f"{side}: {_listed(of)}" for side, of in sorted(shown.items(), reverse=True))
    return f"Against the control {across.control}, {said} (z of average ranks, Holm)."


def _of_two(across: Across, study: RunStudy) -> str:
    """The verdict on two models, which is the pair's own where data sets are its units."""
    test, ((a, first), (b, second)) = across.signed_rank, across.means.items()
    assert test is not None
    p, name = test.p_value, "p"
    if study.unit == "dataset" and study.pairs:  # one test, said twice: as the pair says it
        p, name = study.pairs[0].p_adjusted, "corrected p"
    tested = f"Wilcoxon signed-rank of one score per data set, {name} {text.p_value(p)}"
    if len(across.data_sets) < FEW_DATA_SETS:
        return f"{_NO_CONCLUSION}: {tested}"
    shown = (test.direction or 0) if p <= study.rules.alpha else 0
    if not shown:
        return f"no difference between {a} and {b} was shown: {tested}"
    higher, lower = (a, b) if shown > 0 else (b, a)
    of = RunScores(a, b, "", first, second, (first, second), True, "data set")
    if others := of.contradicting(shown):
        said = claims.disagree("Wilcoxon signed-rank", higher, lower, others)
        return f"m{said[1:]}: {tested}"
    best, other = (higher, lower) if study.scores.higher_is_better else (lower, higher)
    return f"{best} is better than {other}: {tested}"


def _of_runs(across: Across, study: RunStudy) -> Iterator[str]:
    of, begin = across.aggregates, "On these data sets"
    if of is None:
        return
    if len(of.improvement) == 1:
        (((a, b), won),) = of.improvement.items()
        said = f"{won.estimate:.2f}{claims.confidence(won.interval)}"
        yield f"{begin} a run of {a} is better than one of {b} with probability {said}."
    elif not across.one_scale:
        yield f"{begin} scores are on different scales: see P(row better)."
    else:
        means, sign = of.interquartile_mean, -1 if study.scores.higher_is_better else 1
        order = sorted(means, key=lambda model: sign * means[model].estimate)
        scale = words.scale(study)
        said = _listed([f"{model} {_score(means[model], scale, True)}" for model in order])
        yield f"{begin}, interquartile means of all runs [{words.level(study)}]: {said}."


def tables(study: RunStudy, across: Across) -> Iterator[Table]:
    """Models, best first where they are ranked; P(row better than column) of up to eight."""
    of, ranking, scale = across.aggregates, across.ranking, words.scale(study)
    order = list(across.means) if ranking is None else list(ranking.models)
    columns: dict[str, dict[str, str]] = {}
    if ranking is not None:
        ranks = zip(order, ranking.average_ranks, strict=True)
        columns["average rank"] = {model: f"{rank:.3f}" for model, rank in ranks}
    if across.against:
        columns["z"] = {one.model: f"{one.z:.3f}" for one in across.against}
        columns["p"] = {one.model: text.p_cell(one.p_value) for one in across.against}
        columns["p (Holm)"] = {one.model: text.p_cell(one.p_adjusted) for one in across.against}
    columns["mean"] = {m: scale(float(values.mean())) for m, values in across.means.items()}
    if of is not None:
        means = {model: _score(mean, scale) for model, mean in of.interquartile_mean.items()}
        columns[f"interquartile mean [{words.level(study)}]"] = means
    rows = [(m, *(column.get(m, "-") for column in columns.values())) for m in order]
    yield Table((f"{len(across.data_sets)} data sets", *columns), rows)
    if of is not None and 2 < len(order) <= _MOST_NAMED:
        cells = {}
        for (a, b), won in of.improvement.items():
            ab = won.interval
            ba = ab._replace(low=1 - ab.high, high=1 - ab.low)
            cells[a, b] = f"{won.estimate:.2f} {text.bounds(ab)}"
            cells[b, a] = f"{1 - won.estimate:.2f} {text.bounds(ba)}"
        head = (f"P(row better) [{words.level(study)}]", *order)
        yield Table(head, [(a, *(cells.get((a, b), "") for b in order)) for a in order])


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _score(effect: Effect, scale: ScoreFormat, explained: bool = False) -> str:
    """A score with its interval; in a sentence a missing one has its reason."""
    if explained and effect.interval.absent:
        return f"{scale(effect.estimate)} ({scale.ci(effect.interval)})"
    return f"{scale(effect.estimate)} {scale.interval(effect.interval)}"
