"""Metrics by name: the unit of their scores, and whether higher scores are better."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from jaxeval.errors import ConfigError, DataError, argument
from jaxeval.runs import texts
from jaxeval.runs.columns import listed

Key = tuple[str, str]  # data set and metric
# who says whether higher is better: the file or the user, the metric's name, or no one
Direction = Literal["recorded", "named", "assumed"]
_KNOWN = {
    "fraction": (
        "accuracy acc balanced_accuracy f1 f1_score f1_macro f1_micro f1_weighted precision "
        "recall exact_match em auc auroc uas las map mrr ndcg"
    ),
    "error rate": "error_rate wer cer",
    "bits": "bits bpc bpb bpw bits_per_character bits_per_byte bits_per_word",
    "nats": "nats nll cross_entropy log_loss",
    "perplexity": "perplexity ppl",
    "number": "bleu sacrebleu chrf ter",  # from 0 to 100
}
_LOWER_UNITS = ("error rate", "bits", "nats", "perplexity")
# metrics of any unit
_LOWER = (
    "ter loss losses error err mse rmse mae mape mcd edit_distance negative_log_likelihood "
    "neg_log_likelihood mean_squared_error root_mean_squared_error mean_absolute_error brier "
    "brier_score ece fid"
)
_HIGHER = (
    "bleu sacrebleu chrf rouge rouge1 rouge2 rougel rougelsum rouge_1 rouge_2 rouge_l meteor "
    "mcc auprc average_precision acc_norm accuracy_score correct macro_f1 micro_f1 f_score "
    "pearson spearman pearsonr spearmanr kappa r2 iou dice"
)
# words that do not say what is measured: "test score" in nats
_NEUTRAL_WORDS = (
    "score scores metric value result points test dev train valid validation val eval "
    "evaluation mean average avg"
)
_NEUTRAL = frozenset(_NEUTRAL_WORDS.split())
# more bits of information are better, or no one knows
_GAINS = re.compile(r"likelihoods?|log_?liks?|log_?probs?|informations?|gains?")
# the sign of what follows is turned, or may be
_TURNING = {"neg", "negative", "negated", "minus", "inverse", "inverted", "reciprocal"}
_TURNING_FIRST = ("1", "one", "no")  # 1-wer and 1 - test_wer, but not zero_one_loss
# metrics without an upper end, on any scale
_UNBOUNDED = re.compile(
    r"rewards?|returns?|throughput|speed|speedup|seconds|time|psnr|snr|elbo|likelihoods?"
    r"|log_?probs?|informations?|gains?|ratio"
)
_UNIT_NAMES = tuple(_KNOWN)
PERCENT = ("fraction", "error rate")  # stored from 0 to 1, shown in percent
_UNITS = {name: unit for unit, names in _KNOWN.items() for name in names.split()}
_DIRECTIONS = {
    **dict.fromkeys((*_KNOWN["fraction"].split(), *_HIGHER.split()), True),
    **{name: False for name, unit in _UNITS.items() if unit in _LOWER_UNITS},
    **dict.fromkeys(_LOWER.split(), False),
}


def unit_of(metric: str | None) -> str:
    """Returns the unit of a well-known metric by its name (test_f1), else "number"."""
    return next((_UNITS[name] for name, _ in _endings(metric) if name in _UNITS), "number")


def stored_unit(metric: str | None, largest: float, unit: str | None = None) -> str:
    """Returns the unit of scores as they are stored; an accuracy of 85.3 is a number.

    Args:
      largest: the largest absolute score.
      unit: the unit that the source records.
    """
    named = unit if unit in _UNIT_NAMES else unit_of(metric)
    return "number" if largest > 1 and named in PERCENT else named


def bounds(
    metric: str | None, scores: np.ndarray, unit: str | None = None
) -> tuple[float, float] | None:
    """Returns the range of a metric, (0, 1) or (0, 100) for fractions; None if unknown."""
    named = unit if unit in _UNIT_NAMES else unit_of(metric)
    if named != "fraction" or not len(scores) or scores.min() < 0:
        return None
    return next(((0.0, top) for top in (1.0, 100.0) if scores.max() <= top), None)


def refuse_points(name: str, difference: float, unit: str) -> None:
    """Raises ConfigError for a difference of 1 or more between fractions, meant in points."""
    if unit in PERCENT and difference >= 1:
        asked = argument(name, int(difference) if float(difference).is_integer() else difference)
        points = "1 point is" if difference == 1 else f"{difference:g} points are"
        raise ConfigError(f"{asked}: the scores are fractions; {points} {difference / 100:g}")


def refuse_scales(
    scores: Mapping[str, np.ndarray],
    metric: str | None,
    unit: str | None,
    source: str | None,
    *,
    items: bool = False,
) -> None:
    """Raises DataError if one model's scores are fractions and another's are percent.

    Fractions: all scores lie in [0, 1], one strictly between. Percent: all lie in (1, 100].
    Scores of 0 are ignored. Only metrics of which higher is better are checked.

    Args:
      scores: model -> its scores.
      unit: the unit that the source records; "number" switches the check off.
      items: the scores are of items: 0 and 1 are fractions, and only well-known fractions count.
    """
    known_unit = unit_of(metric)
    open_ended = _UNBOUNDED.search("_".join(_words(metric))) or known_unit in _LOWER_UNITS
    if open_ended or unit not in (None, "", *PERCENT) or (items and known_unit != "fraction"):
        return
    known = {model: values[values != 0] for model, values in scores.items() if np.any(values)}
    low = [m for m, x in known.items() if x.max() <= 1 and (items or 0 < x.min() < 1)]
    high = [m for m, x in known.items() if x.max() > 1]
    high = [m for m in high if items or (known[m].min() > 1 and known[m].max() <= 100)]
    if low and high:
        raise DataError(
            f"the scores of {low[0]} look like fractions ({known[low[0]][0]:g}), those of "
            f"{high[0]} like percent ({known[high[0]].max():g}); expected one scale: multiply or "
            "divide by 100, or, if they are on one scale, add a column unit with the value number",
            source,
        )


def higher_is_better(metric: str | None, unit: str | None = None) -> bool | None:
    """Returns whether higher scores of a metric are better, by its name; None if unknown.

    The unit counts only if the name has no word of its own: nats may be a loss or a likelihood.
    """
    if re.match(r"(.*/)?\s*[-\u2212]", metric or ""):
        return None
    for name, before in _endings(metric):
        first, *others = before or [""]
        turned = _TURNING & {*before} or (first in _TURNING_FIRST and _NEUTRAL.issuperset(others))
        if _UNITS.get(name) == "bits" or name == "nats":
            known = higher_is_better(" ".join(before))
            unknown = known is None and (turned or _GAINS.search("_".join(before)))
            return None if unknown else known or False
        if name in _DIRECTIONS:
            return None if turned else _DIRECTIONS[name]
    return False if _NEUTRAL.issuperset(_words(metric)) and unit in _LOWER_UNITS else None


def check_direction(higher_is_better: object) -> bool | None:
    """Returns a direction as bool or None; raises DataError for 0, "no" and the like."""
    if higher_is_better is None:
        return None
    if not isinstance(higher_is_better, bool | np.bool_):
        found = f"found {higher_is_better!r:.60}"
        raise DataError(f"higher_is_better: expected True or False, {found}")
    return bool(higher_is_better)


def resolve_direction(
    recorded: bool | None,
    asked: bool | None,
    named: bool | None,
    metric: str,
    who: str,
    source: str | None = None,
) -> bool | None:
    """Returns the recorded direction, else the requested, else the name's; None if unknown.

    Raises DataError: the opposite of the recorded direction is requested.

    Args:
      who: begins the message: "the table says".
    """
    asked = check_direction(asked)
    if recorded is None:
        return named if asked is None else asked
    if asked not in (None, recorded):
        better = "higher" if recorded else "lower"
        found = f"{argument('lower_is_better', recorded)}: {who} that {better} {metric} is better"
        raise DataError(found, source)
    return recorded


def column_direction(
    columns: Mapping[str, Sequence[object]],
    name: str | None,
    source: str,
    asked: bool | None = None,
    who: str = "the table says",
) -> tuple[bool | None, bool, str]:
    """Returns the direction of a table's scores (None if unknown), if it is recorded, the metric.

    The column higher_is_better records it; else the column metric, or the score column's name,
    names a metric.

    Raises DataError: the table contradicts itself or the request, or metrics differ in direction.
    """
    recorded = None
    if "higher_is_better" in columns:
        words = {str(value).lower() for value in texts.distinct(columns["higher_is_better"])}
        if words not in ({"true"}, {"false"}):
            expected = "expected true or false, the same in all rows"
            raise DataError(f"higher_is_better: {expected}, found {listed(sorted(words))}", source)
        recorded = words == {"true"}
    unit = next((str(unit) for unit in columns.get("unit", ())), None)
    metrics = [str(metric) for metric in dict.fromkeys(texts.distinct(columns.get("metric", ())))]
    known = {higher_is_better(metric, unit) for metric in metrics}
    if len(known) > 1:
        known = {asked if higher is None else higher for higher in known}
    if len(known) > 1 and recorded is None:
        expected = "expected one metric, as higher scores are not better of all of them"
        raise DataError(f"several metrics ({listed(metrics)}); {expected}", source)
    named = next(iter(known), None)
    if named is None:  # the unit is that of the column metric
        named = higher_is_better(name, None if metrics else unit)
    metric = (metrics or [name or "score"])[0]
    higher = resolve_direction(recorded, asked, named, metric, who, source)
    return higher, recorded is not None or asked is not None, metric


def _words(metric: str | None) -> list[str]:
    return [word for word in re.split(r"[^a-z0-9]+", (metric or "").lower()) if word]


def _endings(metric: str | None) -> Iterator[tuple[str, list[str]]]:
    """Yields every ending of a name, the longest first, and the words before it."""
    words = _words(metric)
    for k in range(len(words)):
        yield "_".join(words[k:]), words[:k]
