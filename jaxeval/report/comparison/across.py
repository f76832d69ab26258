"""What several data sets say together: sentences, and tables of models."""

from collections.abc import Iterator, Sequence

from jaxeval.report import text
from jaxeval.report.comparison import run_claims
from jaxeval.report.comparison.words import scale_of_runs
from jaxeval.report.document import Table
from jaxeval.report.scores import ScoreFormat
from jaxeval.stats import pairs
from jaxeval.stats.datasets import Across
from jaxeval.stats.pairs import FEW_DATA_SETS, RunScores
from jaxeval.stats.ranking import Ranking
from jaxeval.stats.results import Effect
from jaxeval.stats.study import RunStudy

_MOST_NAMED = 8  # models in one sentence


def sentences(study: RunStudy) -> list[str]:
    """What is said of all data sets: of other data sets by ranks, of other runs by all scores."""
    across = study.across
    if across is None:
        return []
    sets, lines = f"Over {len(across.data_sets)} data sets", list[str]()
    if across.ranking is not None:
        lines.append(f"{sets} {_omnibus(across.ranking, study)}")
        if across.against:
            lines.append(_of_control(across, across.ranking, study))
        elif _differ(across.ranking, study):
            lines.append(_by_nemenyi(across.ranking))
    elif across.signed_rank is not None:
        lines.append(f"{sets} {_of_two(across, study)}")
    return [*lines, *_of_runs(across, study)]


def _omnibus(ranking: Ranking, study: RunStudy) -> str:
    test = ranking.iman_davenport
    ranks = zip(ranking.models, ranking.average_ranks, strict=True)
    tested = f"average ranks {_listed([f'{model} {rank:.2f}' for model, rank in ranks])}; "
    tested += f"Iman-Davenport F {test.statistic:.2f}, p {text.p_value(test.p_value)}"
    if test.n[0] < FEW_DATA_SETS:
        return f"no conclusion can be drawn, which takes at least {FEW_DATA_SETS}: {tested}."
    if not _differ(ranking, study):
        return f"no difference between the models was shown: {tested}."
    return f"the models differ: {tested}."


def _differ(ranking: Ranking, study: RunStudy) -> bool:
    test = ranking.iman_davenport
    return test.n[0] >= FEW_DATA_SETS and test.p_value <= study.rules.alpha


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


def _of_control(across: Across, ranking: Ranking, study: RunStudy) -> str:
    if not _differ(ranking, study):
        return f"So no difference from the control {across.control} was shown."
    words = {1: "ranked better", -1: "ranked worse", 0: "no significant difference"}
    shown: dict[int, list[str]] = {sign: [] for sign in words}
    for against in across.against:
        sign = (1 if against.z > 0 else -1) if against.p_adjusted <= study.rules.alpha else 0
        shown[sign].append(f"{against.model} (p {text.p_value(against.p_adjusted)})")
    said = "; ".join(f"{words[sign]}: {_listed(names)}" for sign, names in shown.items() if names)
    return f"Against the control {across.control}, {said} (z of average ranks, Holm)."


def _of_two(across: Across, study: RunStudy) -> str:
    """The verdict on two models, which is the pair's own where data sets are its units."""
    test, alpha = across.signed_rank, study.rules.alpha
    assert test is not None
    (a, first), (b, second) = across.means.items()
    p, named = test.p_value, "p"
    if study.unit == "dataset" and study.pairs:  # one test, said twice: as the pair says it
        p, named = study.pairs[0].p_adjusted, "corrected p"
    tested = f"Wilcoxon signed-rank of one score per data set, {named} {text.p_value(p)}"
    if len(across.data_sets) < FEW_DATA_SETS:
        return f"no conclusion can be drawn, which takes at least {FEW_DATA_SETS}: {tested}."
    shown = (test.direction or 0) if p <= alpha else 0
    if not shown:
        return f"no difference between {a} and {b} was shown: {tested}."
    higher, lower = (a, b) if shown > 0 else (b, a)
    of = RunScores(a, b, "", first, second, (first, second), True, "data set")
    if others := pairs.against(of, shown):
        return f"{run_claims.disagree('Wilcoxon signed-rank', higher, lower, others)}: {tested}."
    better = "" if study.scores.higher_is_better else f", and so {lower} is the better one"
    return f"{higher}'s scores are higher{better}: {tested}."


def _of_runs(across: Across, study: RunStudy) -> Iterator[str]:
    of, begin, scale = across.aggregates, "On these data sets", scale_of_runs(study)
    if of is None:
        return
    if len(of.improvement) == 1:
        (((a, b), effect),) = of.improvement.items()
        yield (
            f"{begin} a run of {a} is better than one of {b} with probability "
            f"{effect.estimate:.2f}{run_claims.chance(effect.interval)}."
        )
        return
    if not across.one_scale:
        yield f"{begin} scores are on different scales: see P(row better)."
        return
    means, sign = of.interquartile_mean, -1 if study.scores.higher_is_better else 1
    order = sorted(means, key=lambda model: sign * means[model].estimate)
    said = [f"{model} {_score(means[model], scale, True)}" for model in order]
    named = f"interquartile means of all runs [{_confidence(study)}]"
    yield f"{begin}, {named}: {_listed(said)}."


def tables(study: RunStudy) -> Iterator[Table]:
    """Models, best first where they are ranked; P(row better than column) of up to eight."""
    across, scale = study.across, scale_of_runs(study)
    if across is None:
        return
    of, ranking = across.aggregates, across.ranking
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
        for name, effects in (
            ("interquartile mean", of.interquartile_mean),
            ("optimality gap", of.optimality_gap),
        ):
            if effects:
                columns[f"{name} [{_confidence(study)}]"] = {
                    m: _score(effect, scale) for m, effect in effects.items()
                }
    rows = [(m, *(column.get(m, "-") for column in columns.values())) for m in order]
    yield Table((f"{len(across.data_sets)} data sets", *columns), rows)
    if of is not None and 2 < len(order) <= _MOST_NAMED:
        cells = {}
        for (a, b), effect in of.improvement.items():
            ab = effect.interval
            ba = ab._replace(low=1 - ab.high, high=1 - ab.low)
            cells[a, b] = f"{effect.estimate:.2f} {text.bounds(ab)}"
            cells[b, a] = f"{1 - effect.estimate:.2f} {text.bounds(ba)}"
        head = (f"P(row better) [{_confidence(study)}]", *order)
        yield Table(head, [(a, *(cells.get((a, b), "") for b in order)) for a in order])


def tests(study: RunStudy) -> Iterator[str]:
    """The tests behind the ranks."""
    ranking = None if study.across is None else study.across.ranking
    if ranking is None or study.across is None:
        return
    plain, f = ranking.without_ties
    chi_squared, davenport = ranking.friedman, ranking.iman_davenport
    tied = abs(plain - chi_squared.statistic) > 1e-9
    nemenyi = f"; Nemenyi's critical difference {ranking.critical_difference:.3f} at "
    yield (
        f"Friedman chi-squared {chi_squared.statistic:.3f}, p "
        f"{text.p_value(chi_squared.p_value)}; Iman-Davenport F {davenport.statistic:.3f}, p "
        f"{text.p_value(davenport.p_value)} by permutation"
        + (f" (not corrected for ties: {plain:.3f} and {f:.3f})" if tied else "")
        + ("" if study.across.against else f"{nemenyi}{ranking.alpha:g}")
    )


def _confidence(study: RunStudy) -> str:
    return f"{100 * study.rules.confidence:g} % CI"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _score(effect: Effect, scale: ScoreFormat, explained: bool = False) -> str:
    """A score with its interval; in a sentence a missing one has its reason."""
    if explained and effect.interval.absent:
        return f"{scale(effect.estimate)} ({scale.ci(effect.interval)})"
    return f"{scale(effect.estimate)} {scale.interval(effect.interval)}"
