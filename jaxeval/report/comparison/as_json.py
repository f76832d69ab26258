"""A study as JSON; docs/compare.md describes it."""

from jaxeval.files import Json
from jaxeval.report.comparison import answer, overall, single, verdict
from jaxeval.report.items import as_json as items
from jaxeval.report.plain import plain, record
from jaxeval.report.scores import ScoreFormat
from jaxeval.stats import comparison
from jaxeval.stats.across import Across
from jaxeval.stats.comparison import Pair
from jaxeval.stats.datasets import Aggregates
from jaxeval.stats.ranking import Ranking
from jaxeval.stats.study import Described, ScoreStudy

_DIRECTIONS = {1: "a", -1: "b", 0: None}


def to_dict(study: ScoreStudy) -> dict[str, Json]:
    """Results under the names of the functions that make them; scores in the table's own unit."""
    scale = verdict.scale_of(study)
    table, rules = study.table, study.comparison.rules
    return {
        "source": table.source,
        "signature": verdict.signature(study),
        "unit": study.samples.unit,
        "averaged": list(study.samples.averaged),
        "metric": table.metric,
        "metric_unit": scale.unit,
        "higher_is_better": table.higher_is_better,
        "direction_assumed": table.direction_assumed,
        "rules": plain(rules),
        "adjust_p_values": {
            "method": rules.correction,
            **study.comparison.families._asdict(),
        },
        "primary": record(study.comparison.primary) | {"text": verdict.primary(study.comparison)},
        "missing": table.missing,
        "unusable": plain(table.unusable),
        "statuses": plain(table.statuses),
        "failures": _failures(study),
        "notes": list(study.table.notes),
        "warnings": list(study.warnings),
        "copies": plain(study.copies),
        "models": [_model(described) for described in study.described],
        "pairs": [_pair(pair, study, scale) for pair in study.comparison.pairs],
        "across_datasets": None if study.across is None else _across(study.across),
        "items_and_runs": None if study.items is None else items.to_dict(study.items),
        "single_models": None if study.single is None else _single(study, scale),
        "answer": answer.sentences(study, scale),
        "headline": overall.headline(study, scale),
        "verdict": verdict.of_study(study, scale),
    }


def _failures(study: ScoreStudy) -> Json:
    """Runs by model and data set, and Fisher's tests of all pairs; None where none failed."""
    if study.failures is None:
        return None
    counts = [
        {"model": model, "dataset": dataset, "runs": of.runs, "n_failed": of.failed}
        for (model, dataset), of in study.failures.counts.items()
    ]
    return {"counts": plain(counts), "fisher_exact": plain(study.failures.tests)}


def _model(described: Described) -> dict[str, Json]:
    expected = described.expected_best
    return {
        "model": described.model,
        "dataset": described.dataset,
        "summarize": plain(described.summary),
        "variance_components": plain(described.components),
        "spearman": None
        if described.dev_test is None
        else {"rho": described.dev_test[0], "note": described.dev_test[1]},
        "expected_validation_performance": None
        if expected is None
        else {"without_replacement": plain(expected[0]), "with_replacement": plain(expected[1])},
    }


def _pair(pair: Pair, study: ScoreStudy, scale: ScoreFormat) -> dict[str, Json]:
    rules, of = study.comparison.rules, pair.scores
    tests = {
        name: record(test)
        | {"p_adjusted": pair.adjusted[name], "verdict": name in of.verdict_tests}
        for name, test in pair.tests.items()
    }
    return {
        "a": of.a,
        "b": of.b,
        "dataset": of.dataset,
        "n": list(of.n),
        "pairs": 0 if of.paired is None else len(of.paired[0]),
        "verdict": {
            "higher": _DIRECTIONS[comparison.location(pair, rules)],
            "wider": _DIRECTIONS[comparison.spread(pair, rules)],
            "location_test": of.location_test,
            "against": list(comparison.against(pair, rules)),
            "compared": of.unit,
            "text": list(verdict.of_pair(pair, rules, scale)),
        },
        **tests,
        **{name: plain(effect) for name, effect in pair.effects.items()},
        "rope": plain(pair.rope),
        **record(pair.plan),
    }


def _single(study: ScoreStudy, scale: ScoreFormat) -> dict[str, Json]:
    assert study.single is not None
    return {
        "notes": list(study.single.notes),
        "pairs": [
            {
                "a": pair.a.model,
                "b": pair.b.model,
                "dataset": pair.a.dataset,
                "seeds": [pair.a.member.seed, pair.b.member.seed],
                "split": pair.a.member.split,
                "part": pair.a.part,
                "items": pair.items,
                "scores": list(pair.scores),
                "text": single.of_pair(pair, study, scale),
                "difference": plain(pair.difference),
                **{
                    name: record(test) | {"p_adjusted": pair.adjusted[name]}
                    for name, test in pair.tests.items()
                },
            }
            for pair in study.single.pairs
        ],
    }


def _across(across: Across) -> dict[str, Json]:
    ranking, aggregates = across.ranking, across.aggregates
    return {
        "datasets": list(across.datasets),
        "means": plain(across.means),
        **(_ranking(ranking) if ranking else {"friedman": None, "nemenyi": None}),
        "against_control": None
        if across.control is None
        else {
            "control": across.control,
            "critical_difference": across.control_difference,
            "models": plain(across.against),
        },
        "wilcoxon_signed_rank": None
        if across.signed_rank is None
        else record(across.signed_rank)
        | {"higher": _DIRECTIONS[across.signed_rank.direction or 0]},
        **(_aggregates(aggregates) if aggregates else {"interquartile_mean": None}),
    }


def _ranking(ranking: Ranking) -> dict[str, Json]:
    chi_squared, f = ranking.without_ties
    return {
        "friedman": record(ranking.friedman) | {"without_ties": plain(chi_squared)},
        "iman_davenport": record(ranking.iman_davenport) | {"without_ties": plain(f)},
        "nemenyi": {
            "models": list(ranking.models),
            "average_ranks": list(ranking.average_ranks),
            "critical_difference": ranking.critical_difference,
            "alpha": ranking.alpha,
            "groups": plain(ranking.groups),
            "pairs": [{"a": a, "b": b, "p_value": p} for (a, b), p in ranking.p_values.items()],
        },
    }


def _aggregates(aggregates: Aggregates) -> dict[str, Json]:
    return {
        "interquartile_mean": plain(aggregates.interquartile_mean),
        "optimality_gap": {"gamma": aggregates.gamma, "models": plain(aggregates.optimality_gap)},
        "average_probability_of_improvement": [
            {"a": a, "b": b, **record(effect)} for (a, b), effect in aggregates.improvement.items()
        ],
        "performance_profile": {
            "thresholds": plain(aggregates.profiles.thresholds),
            "models": {
                model: {"share": plain(share), "low": plain(low), "high": plain(high)}
                for model, (share, low, high) in aggregates.profiles.shares.items()
            },
        },
    }
