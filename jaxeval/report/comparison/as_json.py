"""A study as JSON; docs/compare.md describes it."""

from typing import Any

from jaxeval.report import overall, verdict
from jaxeval.report.plain import plain
from jaxeval.stats import comparison
from jaxeval.stats.across import Across
from jaxeval.stats.comparison import Pair
from jaxeval.stats.datasets import Aggregates
from jaxeval.stats.ranking import Ranking
from jaxeval.stats.study import Described, Study

_DIRECTIONS = {1: "a", -1: "b", 0: None}


def to_dict(study: Study) -> dict[str, Any]:
    """Results under the names of the functions that make them; scores in the table's own unit."""
    scale = verdict.Scale(study)
    table, rules = study.table, study.comparison.rules
    return {
        "source": table.source,
        "signature": verdict.signature(study),
        "unit": study.samples.unit,
        "averaged": list(study.samples.averaged),
        "metric": table.metric,
        "higher_is_better": table.higher_is_better,
        "rules": plain(rules),
        "adjust_p_values": {
            "method": rules.correction,
            "verdict_tests": study.comparison.verdict_tests,
            "further_tests": study.comparison.further_tests,
        },
        "missing": table.missing,
        "unusable": plain(table.unusable),
        "statuses": plain(table.statuses),
        "warnings": list(study.warnings),
        "models": [_model(one) for one in study.described],
        "pairs": [_pair(pair, study, scale) for pair in study.comparison.pairs],
        "across_datasets": None if study.across is None else _across(study.across),
        "headline": overall.headline(study, scale),
        "verdict": verdict.of_study(study, scale),
    }


def _model(one: Described) -> dict[str, Any]:
    expected = one.expected_best
    return {
        "model": one.model,
        "dataset": one.dataset,
        "summarize": plain(one.summary),
        "variance_components": plain(one.components),
        "spearman": None
        if one.dev_test is None
        else {"rho": one.dev_test[0], "note": one.dev_test[1]},
        "expected_validation_performance": None
        if expected is None
        else {"without_replacement": plain(expected[0]), "with_replacement": plain(expected[1])},
    }


def _pair(pair: Pair, study: Study, scale: verdict.Scale) -> dict[str, Any]:
    rules, one = study.comparison.rules, pair.scores
    tests = {
        name: plain(test)
        | {"p_adjusted": pair.adjusted[name], "verdict": name in one.verdict_tests}
        for name, test in pair.tests.items()
    }
    return {
        "a": one.a,
        "b": one.b,
        "dataset": one.dataset,
        "n": list(one.n),
        "pairs": 0 if one.paired is None else len(one.paired[0]),
        "verdict": {
            "higher": _DIRECTIONS[comparison.location(pair, rules)],
            "wider": _DIRECTIONS[comparison.spread(pair, rules)],
            "location_test": one.location_test,
            "against": list(comparison.against(pair, rules)),
            "compared": one.unit,
            "text": list(verdict.of_pair(pair, rules, scale)),
        },
        **tests,
        **{name: plain(effect) for name, effect in pair.effects.items()},
        "rope": plain(pair.rope),
        **plain(pair.plan),
    }


def _across(found: Across) -> dict[str, Any]:
    return {
        "datasets": list(found.datasets),
        "means": plain(found.means),
        **(_ranking(found.ranking) if found.ranking else {"friedman": None, "nemenyi": None}),
        "against_control": None
        if found.control is None
        else {"control": found.control, "models": plain(found.against)},
        "wilcoxon_signed_rank": None
        if found.signed_rank is None
        else plain(found.signed_rank.test) | {"higher": _DIRECTIONS[found.signed_rank.higher]},
        **(_aggregates(found.aggregates) if found.aggregates else {"interquartile_mean": None}),
    }


def _ranking(found: Ranking) -> dict[str, Any]:
    chi_squared, f = found.without_ties
    return {
        "friedman": plain(found.friedman) | {"without_ties": chi_squared},
        "iman_davenport": plain(found.iman_davenport) | {"without_ties": f},
        "nemenyi": {
            "models": list(found.models),
            "average_ranks": list(found.average_ranks),
            "critical_difference": found.critical_difference,
            "alpha": found.alpha,
            "groups": plain(found.groups),
            "pairs": [{"a": a, "b": b, "p_value": p} for (a, b), p in found.p_values.items()],
        },
    }


def _aggregates(found: Aggregates) -> dict[str, Any]:
    return {
        "interquartile_mean": plain(found.interquartile_mean),
        "optimality_gap": {"gamma": found.gamma, "models": plain(found.optimality_gap)},
        "average_probability_of_improvement": [
            {"a": a, "b": b, **plain(effect)} for (a, b), effect in found.improvement.items()
        ],
        "performance_profile": {
            "thresholds": plain(found.profiles.thresholds),
            "models": {
                model: {"share": plain(share), "low": plain(low), "high": plain(high)}
                for model, (share, low, high) in found.profiles.shares.items()
            },
        },
    }
