"""Well-known metrics by their names: the unit of their scores, and whether higher is better."""

import re
from collections.abc import Iterator, Mapping

import numpy as np

from jaxeval.errors import ConfigError, DataError, argument

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
# of which the name does not say the unit
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
# say nothing of what is measured, as in "test score" in nats
_SAYING_NOTHING = (
    "score scores metric value result points test dev train valid validation val eval "
    "evaluation mean average avg"
)
_PLAIN = frozenset(_SAYING_NOTHING.split())
# log_likelihood_bits_per_byte, mutual_information in bits: more is better, or no one knows
_GAINS = re.compile(r"likelihoods?|log_?liks?|log_?probs?|informations?|gains?")
# neg_log_loss, -loss: the sign of what follows is turned, or is not
_TURNING = {"neg", "negative", "negated", "minus", "inverse", "inverted", "reciprocal"}
# 1-wer, 1 - test_wer; but of top-1 error, zero_one_loss and one_shot_wer they count
_TURNING_FIRST = ("1", "one", "no")
# of which a good score may be below 1 and a better one far above
_UNBOUNDED = re.compile(
    r"rewards?|returns?|throughput|speed|speedup|seconds|time|psnr|snr|elbo|likelihoods?"
    r"|log_?probs?|informations?|gains?|ratio"
)
UNITS = tuple(_KNOWN)
PERCENT = ("fraction", "error rate")  # stored from 0 to 1, read in percent
_UNITS = {name: unit for unit, names in _KNOWN.items() for name in names.split()}
_DIRECTIONS = {
    **dict.fromkeys((*_KNOWN["fraction"].split(), *_HIGHER.split()), True),
    **{name: False for name, unit in _UNITS.items() if unit in _LOWER_UNITS},
    **dict.fromkeys(_LOWER.split(), False),
}


def unit_of(metric: str | None) -> str:
    """The unit of a well-known metric by its name, such as test_f1; "number" of any other."""
    return next((_UNITS[name] for name, _ in _endings(metric) if name in _UNITS), "number")


def stored_unit(metric: str | None, largest: float, unit: str | None = None) -> str:
    """The unit of scores as they are stored: an accuracy of 85.3 is in percent already, a number.

    Args:
      largest: absolute score.
      unit: where it is recorded.
    """
    named = unit if unit in UNITS else unit_of(metric)
    return "number" if largest > 1 and named in PERCENT else named


def bounds(
    metric: str | None, scores: np.ndarray, unit: str | None = None
) -> tuple[float, float] | None:
    """Between which scores lie by what they measure: F1 from 0 to 1, or 100; None: not known."""
    named = unit if unit in UNITS else unit_of(metric)
    if named != "fraction" or not len(scores) or scores.min() < 0:
        return None
    return next(((0.0, top) for top in (1.0, 100.0) if scores.max() <= top), None)


def refuse_points(name: str, difference: float, unit: str) -> None:
    """Raises ConfigError for a difference of fractions of 1 or more: it was meant in points."""
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
    """Raises DataError for fractions of one model beside percent of another; higher is better.

    Fractions: all scores from 0 to 1, one of them strictly between. Percent: all above 1, up to
    100. A score of 0 says nothing. Metrics without an upper end are let through, and all where
    the table has a unit that is no fraction.

    Args:
      scores: of each model, on one data set or on all.
      unit: where it is recorded.
      items: scores of items, of which 0 and 1 are fractions; of well-known fractions alone.
    """
    of_metric = unit_of(metric)
    open_ended = _UNBOUNDED.search("_".join(_words(metric))) or of_metric in _LOWER_UNITS
    if open_ended or unit not in (None, "", *PERCENT) or (items and of_metric != "fraction"):
        return
    known = {model: of[of != 0] for model, of in scores.items() if np.any(of != 0)}
    low = [m for m, of in known.items() if of.max() <= 1 and (items or 0 < of.min() < 1)]
    high = [m for m, of in known.items() if of.max() > 1 and (items or of.min() > 1)]
    high = [m for m in high if items or known[m].max() <= 100]
    if low and high:
        raise DataError(
            f"the scores of {low[0]} look like fractions ({known[low[0]][0]:g}), those of "
            f"{high[0]} like percent ({known[high[0]].max():g}); expected one scale: multiply or "
            "divide by 100, or, if they are on one scale, add a column unit with the value number",
            source,
        )


def higher_is_better(metric: str | None, unit: str | None = None) -> bool | None:
    """Whether higher is better of a metric, by its name or else its unit; None: not known.

    A unit tells nothing of a name with words of its own: nats may be of a loss or a likelihood.
    """
    if re.match(r"(.*/)?\s*[-\u2212]", metric or ""):
        return None
    for name, before in _endings(metric):
        first, *others = before or [""]
        turned = _TURNING & {*before} or (first in _TURNING_FIRST and _PLAIN.issuperset(others))
        if _UNITS.get(name) == "bits" or name == "nats":
            said = higher_is_better(" ".join(before))
            unknown = said is None and (turned or _GAINS.search("_".join(before)))
            return None if unknown else said or False
        if name in _DIRECTIONS:
            return None if turned else _DIRECTIONS[name]
    return False if _PLAIN.issuperset(_words(metric)) and unit in _LOWER_UNITS else None


def _words(metric: str | None) -> list[str]:
    return [word for word in re.split(r"[^a-z0-9]+", (metric or "").lower()) if word]


def _endings(metric: str | None) -> Iterator[tuple[str, list[str]]]:
    """Every ending of a name, the longest first, and the words before it."""
    words = _words(metric)
    for k in range(len(words)):
        yield "_".join(words[k:]), words[:k]
