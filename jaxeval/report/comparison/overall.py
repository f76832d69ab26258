"""What several data sets say together: one headline, then tables of models."""

from collections.abc import Iterator, Sequence

from jaxeval.report import text
from jaxeval.report.comparison import verdict
from jaxeval.report.scores import ScoreFormat
from jaxeval.stats import pairwise
from jaxeval.stats.across import Across
from jaxeval.stats.datasets import Aggregates
from jaxeval.stats.pairwise import FEW_DATA_SETS, Rules
from jaxeval.stats.ranking import Ranking
from jaxeval.stats.results import Effect
from jaxeval.stats.study import ScoreStudy

Row = Sequence[str]
_MOST_NAMED = 8  # models in one sentence


def headline(study: ScoreStudy, scale: ScoreFormat) -> list[str]:
    """What is said of all data sets: of other data sets by ranks, of other runs by all scores."""
    across = study.across
    if across is None:
        return []
    lines = list(_of_ranks(across, study))
    if across.aggregates is not None:
        lines.append(_of_runs(across.aggregates, across.one_scale, study, scale))
    return lines


def model_table(study: ScoreStudy, scale: ScoreFormat) -> tuple[Row, list[Row]]:
    """A row a model, best first where models are ranked: head and rows."""
    across = study.across
    assert across is not None
    columns: dict[str, dict[str, str]] = {}
    order = list(across.means)
    if across.ranking is not None:
        order = list(across.ranking.models)
        ranks = zip(order, across.ranking.average_ranks, strict=True)
        columns["average rank"] = {model: f"{rank:.3f}" for model, rank in ranks}
    if across.against:
        columns["z"] = {against.model: f"{against.z:.3f}" for against in across.against}
        columns["p"] = {against.model: text.p_cell(against.p_value) for against in across.against}
        columns["p (Holm)"] = {
            against.model: text.p_cell(against.p_adjusted) for against in across.against
        }
    columns["mean"] = {m: scale(float(values.mean())) for m, values in across.means.items()}
    if across.aggregates is not None:
        for name, effects in (
            ("interquartile mean", across.aggregates.interquartile_mean),
            ("optimality gap", across.aggregates.optimality_gap),
        ):
            if effects:
                columns[f"{name} [{_confidence(study)}]"] = {
                    m: _score(effect, scale) for m, effect in effects.items()
                }
    head = (f"{len(across.datasets)} data sets", *columns)
    return head, [(m, *(column.get(m, "-") for column in columns.values())) for m in order]


def improvement_table(study: ScoreStudy) -> tuple[Row, list[Row]]:
    """P(row better than column), averaged over data sets: head and rows; none for two models."""
    across = study.across
    if across is None or across.aggregates is None or not 2 < len(across.means) <= _MOST_NAMED:
        return (), []
    cells = {}
    for (a, b), effect in across.aggregates.improvement.items():
        ab = effect.interval
        ba = ab._replace(low=1 - ab.high, high=1 - ab.low)
        cells[a, b] = f"{effect.estimate:.2f} {text.bounds(ab)}"
        cells[b, a] = f"{1 - effect.estimate:.2f} {text.bounds(ba)}"
    order = across.ranking.models if across.ranking else tuple(across.means)
    head = (f"P(row better) [{_confidence(study)}]", *order)
    return head, [(a, *(cells.get((a, b), "") for b in order)) for a in order]


def _of_ranks(across: Across, study: ScoreStudy) -> Iterator[str]:
    rules = study.comparison.rules
    sets = f"Over {len(across.datasets)} data sets"
    if across.ranking is not None:
        yield f"{sets} {_omnibus(across.ranking, rules)}"
        if across.against:
            yield _of_control(across, rules)
        elif _shown(across.ranking, rules):
            yield _by_nemenyi(across.ranking)
    elif across.signed_rank is not None:
        yield f"{sets} {_of_two(across, study)}"


def _omnibus(ranking: Ranking, rules: Rules) -> str:
    test = ranking.iman_davenport
    ranks = _listed(
        [f"{m} {r:.2f}" for m, r in zip(ranking.models, ranking.average_ranks, strict=True)]
    )
    tested = f"average ranks {ranks}; Iman-Davenport F {test.statistic:.2f}, p "
    tested += text.p_value(test.p_value)
    if test.n[0] < FEW_DATA_SETS:
        return f"no conclusion can be drawn, which takes at least {FEW_DATA_SETS}: {tested}."
    if not _shown(ranking, rules):
        return f"no difference between the models was shown: {tested}."
    return f"the models differ: {tested}."


def _shown(ranking: Ranking, rules: Rules) -> bool:
    test = ranking.iman_davenport
    return test.n[0] >= FEW_DATA_SETS and test.p_value <= rules.alpha


def _by_nemenyi(ranking: Ranking) -> str:
    how = f"Nemenyi's test, critical difference {ranking.critical_difference:.2f} at "
    how += f"{ranking.alpha:g}"
    ranks = dict(zip(ranking.models, ranking.average_ranks, strict=True))
    critical = ranking.critical_difference
    better = [
        f"{a} over {_listed(worse)}"
        for a in ranking.models
        if (worse := [b for b in ranking.models if ranks[b] - ranks[a] > critical])
    ]
    if not better:
        return f"Which ones differ was not shown ({how})."
    return f"Ranked better: {'; '.join(better)} ({how})."


def _of_control(across: Across, rules: Rules) -> str:
    assert across.ranking is not None
    if not _shown(across.ranking, rules):
        return f"So no difference from the control {across.control} was shown."
    shown: dict[int, list[str]] = {1: [], -1: [], 0: []}
    for against in across.against:
        sign = (1 if against.z > 0 else -1) if against.p_adjusted <= rules.alpha else 0
        shown[sign].append(f"{against.model} (p {text.p_value(against.p_adjusted)})")
    words = {1: "ranked better", -1: "ranked worse", 0: "no significant difference"}
    said = "; ".join(f"{words[sign]}: {_listed(names)}" for sign, names in shown.items() if names)
    return f"Against the control {across.control}, {said} (z of average ranks, Holm)."


def _of_two(across: Across, study: ScoreStudy) -> str:
    """The verdict on two models, which is the pair's own where data sets are its units."""
    assert across.signed_rank is not None
    rules = study.comparison.rules
    (a, b), test = across.means, across.signed_rank
    same = study.samples.unit == "dataset"  # one test, said twice: as the pair says it
    pair = study.comparison.pairs[0] if same else None
    p = test.p_value if pair is None else pair.adjusted[pair.scores.location_test]
    named = "p" if pair is None else "corrected p"
    tested = f"Wilcoxon signed-rank of one score per data set, {named} {text.p_value(p)}"
    if len(across.datasets) < FEW_DATA_SETS:
        return f"no conclusion can be drawn, which takes at least {FEW_DATA_SETS}: {tested}."
    shown = (test.direction or 0) if p <= rules.alpha else 0
    if not shown:
        return f"no difference between {a} and {b} was shown: {tested}."
    higher, lower = (a, b) if shown > 0 else (b, a)
    others = pairwise.against(_paired(across), shown)
    if others:
        return f"{verdict.disagree('Wilcoxon signed-rank', higher, lower, others)}: {tested}."
    better = "" if rules.higher_is_better else f", and so {lower} is the better one"
    return f"{higher}'s scores are higher{better}: {tested}."


def _paired(across: Across) -> pairwise.Scores:
    """One score a data set of each of two models."""
    (a, first), (b, second) = across.means.items()
    return pairwise.Scores(a, b, "", first, second, (first, second), True, "data set")


def _of_runs(
    aggregates: Aggregates, one_scale: bool, study: ScoreStudy, scale: ScoreFormat
) -> str:
    beginning = "On these data sets"
    if len(aggregates.improvement) == 1:
        (((a, b), effect),) = aggregates.improvement.items()
        return (
            f"{beginning} a run of {a} is better than one of {b} with probability "
            f"{effect.estimate:.2f}, {text.confidence(effect.interval)} "
            f"{text.bounds(effect.interval)}."
        )
    if not one_scale:
        return f"{beginning} scores are on different scales: see P(row better)."
    means = aggregates.interquartile_mean
    sign = -1 if study.comparison.rules.higher_is_better else 1
    order = sorted(means, key=lambda model: sign * means[model].estimate)
    said = [f"{model} {_explained(means[model], scale)}" for model in order]
    named = f"interquartile means of all runs [{_confidence(study)}]"
    return f"{beginning}, {named}: {_listed(said)}."


def _confidence(study: ScoreStudy) -> str:
    return f"{100 * study.comparison.rules.confidence:g} % CI"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _score(effect: Effect, scale: ScoreFormat) -> str:
    return f"{scale(effect.estimate)} {scale.interval(effect.interval)}"


def _explained(effect: Effect, scale: ScoreFormat) -> str:
    """In a sentence, where a missing interval has its reason."""
    if effect.interval.absent:
        return f"{scale(effect.estimate)} ({scale.ci(effect.interval)})"
    return _score(effect, scale)
