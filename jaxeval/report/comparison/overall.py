"""What several data sets say together: one headline, then tables of models."""

from collections.abc import Iterator, Sequence

from jaxeval.report import verdict
from jaxeval.stats import pairwise
from jaxeval.stats.across import Across
from jaxeval.stats.datasets import Aggregates
from jaxeval.stats.pairwise import FEW, Rules
from jaxeval.stats.ranking import Ranking
from jaxeval.stats.results import Effect
from jaxeval.stats.study import Study

Row = Sequence[str]
_MOST_NAMED = 8  # models in one sentence


def headline(study: Study, scale: verdict.Scale) -> list[str]:
    """What is said of all data sets: of other data sets by ranks, of other runs by all scores."""
    found = study.across
    if found is None:
        return []
    lines = list(_of_ranks(found, study))
    if found.aggregates is not None:
        lines.append(_of_runs(found.aggregates, found.one_scale, study, scale))
    return lines


def model_table(study: Study, scale: verdict.Scale) -> tuple[Row, list[Row]]:
    """A row a model, best first where models are ranked: head and rows."""
    found = study.across
    assert found is not None
    columns: dict[str, dict[str, str]] = {}
    order = list(found.means)
    if found.ranking is not None:
        order = list(found.ranking.models)
        ranks = zip(order, found.ranking.average_ranks, strict=True)
        columns["average rank"] = {model: f"{rank:.3f}" for model, rank in ranks}
    if found.against:
        columns["z"] = {one.model: f"{one.z:.3f}" for one in found.against}
        columns["p"] = {one.model: f"{one.p_value:.3f}" for one in found.against}
        columns["p (Holm)"] = {one.model: f"{one.p_adjusted:.3f}" for one in found.against}
    columns["mean"] = {m: scale(float(values.mean())) for m, values in found.means.items()}
    if found.aggregates is not None:
        for name, effects in (
            ("interquartile mean", found.aggregates.interquartile_mean),
            ("optimality gap", found.aggregates.optimality_gap),
        ):
            if effects:
                columns[name] = {m: _score(effect, scale) for m, effect in effects.items()}
    head = (f"{len(found.datasets)} data sets", *columns)
    return head, [(m, *(column.get(m, "-") for column in columns.values())) for m in order]


def improvement_table(study: Study) -> tuple[Row, list[Row]]:
    """P(row better than column), averaged over data sets: head and rows; none for two models."""
    found = study.across
    if found is None or found.aggregates is None or not 2 < len(found.means) <= _MOST_NAMED:
        return (), []
    known = {}
    for (a, b), effect in found.aggregates.improvement.items():
        low, high = effect.interval.low, effect.interval.high
        known[a, b] = f"{effect.estimate:.2f} [{low:.2f}, {high:.2f}]"
        known[b, a] = f"{1 - effect.estimate:.2f} [{1 - high:.2f}, {1 - low:.2f}]"
    order = found.ranking.models if found.ranking else tuple(found.means)
    head = ("P(row better)", *order)
    return head, [(a, *(known.get((a, b), "") for b in order)) for a in order]


def _of_ranks(found: Across, study: Study) -> Iterator[str]:
    rules = study.comparison.rules
    sets = f"Over {len(found.datasets)} data sets"
    if found.ranking is not None:
        yield f"{sets} {_omnibus(found.ranking, rules)}"
        if found.against:
            yield _of_control(found, rules)
        elif _shown(found.ranking, rules):
            yield _told_apart(found.ranking)
    elif found.signed_rank is not None:
        yield f"{sets} {_of_two(found, study)}"


def _omnibus(ranking: Ranking, rules: Rules) -> str:
    test = ranking.iman_davenport
    ranks = _listed(
        [f"{m} {r:.2f}" for m, r in zip(ranking.models, ranking.average_ranks, strict=True)]
    )
    tested = f"average ranks {ranks}; Iman-Davenport F {test.statistic:.2f}, p "
    tested += verdict.p_value(test.p_value)
    if test.n[0] < FEW:
        return f"there is no verdict, as {FEW} are the fewest to carry one: {tested}."
    if not _shown(ranking, rules):
        return f"no difference between the models was shown: {tested}."
    return f"the models differ: {tested}."


def _shown(ranking: Ranking, rules: Rules) -> bool:
    test = ranking.iman_davenport
    return test.n[0] >= FEW and test.p_value <= rules.alpha


def _told_apart(ranking: Ranking) -> str:
    how = f"Nemenyi's test, critical difference {ranking.critical_difference:.2f} at "
    how += f"{ranking.alpha:g}"
    ranks = dict(zip(ranking.models, ranking.average_ranks, strict=True))
    enough = ranking.critical_difference
    apart = [
        f"{a} over {_listed(worse)}"
        for a in ranking.models
        if (worse := [b for b in ranking.models if ranks[b] - ranks[a] > enough])
    ]
    if not apart:
        return f"Which ones differ was not shown ({how})."
    return f"Ranked better: {'; '.join(apart)} ({how})."


def _of_control(found: Across, rules: Rules) -> str:
    assert found.ranking is not None
    if not _shown(found.ranking, rules):
        return f"So no model is said to differ from the control {found.control}."
    shown: dict[int, list[str]] = {1: [], -1: [], 0: []}
    for one in found.against:
        sign = (1 if one.z > 0 else -1) if one.p_adjusted <= rules.alpha else 0
        shown[sign].append(f"{one.model} (p {verdict.p_value(one.p_adjusted)})")
    words = {1: "ranked better", -1: "ranked worse", 0: "not told apart"}
    said = "; ".join(f"{words[sign]}: {_listed(names)}" for sign, names in shown.items() if names)
    return f"Against the control {found.control}, {said} (z of average ranks, Holm)."


def _of_two(found: Across, study: Study) -> str:
    """The verdict on two models, which is the pair's own where data sets are its units."""
    assert found.signed_rank is not None
    rules = study.comparison.rules
    (a, b), test = found.means, found.signed_rank.test
    same = study.samples.unit == "dataset"  # one test, said twice: as the pair says it
    pair = study.comparison.pairs[0] if same else None
    p = test.p_value if pair is None else pair.adjusted[pair.scores.location_test]
    named = "p" if pair is None else "corrected p"
    tested = f"Wilcoxon signed-rank of one score a data set, {named} {verdict.p_value(p)}"
    if len(found.datasets) < FEW:
        return f"there is no verdict, as {FEW} are the fewest to carry one: {tested}."
    shown = found.signed_rank.higher if p <= rules.alpha else 0
    if not shown:
        return f"no difference between {a} and {b} was shown: {tested}."
    higher, lower = (a, b) if shown > 0 else (b, a)
    others = pairwise.against(_paired(found), shown)
    if others:
        return f"{verdict.disagree('Wilcoxon signed-rank', higher, lower, others)}: {tested}."
    better = "" if rules.higher_is_better else f", and so {lower} is the better one"
    return f"{higher}'s scores are higher{better}: {tested}."


def _paired(found: Across) -> pairwise.Scores:
    """One score a data set of each of two models."""
    (a, first), (b, second) = found.means.items()
    return pairwise.Scores(a, b, "", first, second, (first, second), True, "data set")


def _of_runs(found: Aggregates, one_scale: bool, study: Study, scale: verdict.Scale) -> str:
    here = "On these data sets"
    if len(found.improvement) == 1:
        (((a, b), effect),) = found.improvement.items()
        low, high = effect.interval.low, effect.interval.high
        return (
            f"{here} a run of {a} is better than one of {b} with probability "
            f"{effect.estimate:.2f} [{low:.2f}, {high:.2f}]."
        )
    if not one_scale:
        return f"{here} scores are on different scales: see P(row better)."
    means = found.interquartile_mean
    sign = -1 if study.comparison.rules.higher_is_better else 1
    order = sorted(means, key=lambda model: sign * means[model].estimate)
    said = [f"{model} {_score(means[model], scale)}" for model in order]
    return f"{here}, interquartile means of all runs: {_listed(said)}."


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _score(effect: Effect, scale: verdict.Scale) -> str:
    return f"{scale(effect.estimate)} {scale.interval(effect.interval)}"
