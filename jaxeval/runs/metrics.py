"""Metrics by name: unit, direction, and how they follow from summed counts of items."""

import functools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np

from jaxeval.errors import ConfigError, DataError, argument
from jaxeval.runs.layout import words_of

Key = tuple[str, str]  # data set and metric
Score = Callable[[np.ndarray], np.ndarray]  # sums [..., K] -> [...]
# who says whether higher is better: the file or the user, the metric's name, or no one
Direction = Literal["recorded", "named", "assumed"]
_KNOWN = {
    "fraction": (
        "accuracy acc balanced_accuracy f1 f1score f2 fscore precision p@ recall r@ "
        "exact_match em auc auroc roc_auc pr_auc uas las map ap mrr ndcg hits@ pass@"
    ),
    "error rate": "error_rate wer cer",
    "bits": "bits bpc bpb bpw bpd bits_per_character bits_per_byte bits_per_word bits_per_dim",
    "nats": "nats nll nll_token nll_per_token cross_entropy log_loss",
    "perplexity": "perplexity ppl",
    "number": "bleu sacrebleu chrf ter",  # from 0 to 100
}
LOWER_UNITS = ("error rate", "bits", "nats", "perplexity")
# metrics of any unit
_LOWER = (
    "ter loss losses error err mse rmse mae mape mcd edit_distance negative_log_likelihood "
    "neg_log_likelihood mean_squared_error root_mean_squared_error mean_absolute_error brier "
    "brier_score ece fid logloss rmsle smape wape mase crps eer fpr false_positive_rate lpips "
    "fvd hd95 latency latency_ms regret der wil xent ce kl kl_div kl_divergence merror mlogloss"
)
_HIGHER = (
    "bleu sacrebleu chrf rouge rouge1 rouge2 rouge_l rouge_lsum meteor comet bleurt bertscore "
    "cider mcc auprc average_precision acc_norm correct pearson spearman pearsonr spearmanr "
    "kendall kappa r2 rsq rsquared iou miou dice matthews_correlation percent_correct"
)
_UNCLEAR = re.compile(r"ap|ce|f2|(.*[^a-z])?(bit|nat)")  # val_ce and mAP are clear, w_bit is not
_STEP = 1e-4  # of a sum, for derivatives
_OF_CLASS = re.compile("gold_[0-9]+")
# words that do not say what is measured: "test score" in nats
_PART_WORDS = "test dev train valid validation val eval evaluation mean average avg"
_PARTS = frozenset(_PART_WORDS.split())
_NEUTRAL = _PARTS | {"score", "metric", "value", "result", "point"}
# beside a metric's name; classif and regr are of mlr3
_BESIDE = "training score macro micro weighted best final last max min classif regr @"
_ASIDE = _PARTS.union(_BESIDE.split())
_NUMBER = re.compile(r"(\b(top|p))?\d+k?$|^k$|^top$")  # top5, p99, and the ends of AP50, FID50k
# more bits of information are better, or no one knows
GAINS = re.compile(r"likelihoods?|log_?liks?|log_?probs?|informations?|gains?")
# the sign of what follows is turned, or may be
_TURNING = {"neg", "negative", "negated", "minus", "inverse", "inverted", "reciprocal"}
_TURNING_FIRST = ("1", "one", "no")  # 1-wer and 1 - test_wer, but not zero_one_loss
_ANY_SIGN = {"loss", "nat", "nll", "likelihood"}  # negative ones are of densities
_TRAINING = {"train", "training", "trn"}
DEV = {"dev", "val", "valid", "validation"}
_LOSS = {"loss", "nll", "cost", "logloss"}
PERCENT = ("fraction", "error rate")  # stored from 0 to 1, shown in percent


def _words(metric: str | None) -> Sequence[str]:
    """Returns the words of a name, of hits@10 and hits_at_10 "hit" and "@".

    What follows is a condition, which has no direction: TPR@FPR=0.1.
    """
    words = words_of(re.sub("^metrics[./]", "", metric or "").replace("@", " at "))
    return (*words[: words.index("at", 1)], "@") if "at" in words[1:] else words


_UNITS = {"".join(_words(of)): unit for unit, names in _KNOWN.items() for of in names.split()}
_DIRECTIONS = {  # words of a name -> whether higher is better
    **{name: unit not in LOWER_UNITS for name, unit in _UNITS.items()},
    **{"".join(_words(name)): True for name in _HIGHER.split()},
    **{"".join(_words(name)): False for name in _LOWER.split()},
}


@functools.lru_cache(1 << 10)
def unit_of(metric: str | None) -> str:
    """Returns the unit of a well-known metric by its name (test_f1), else "number"."""
    return next((_UNITS[name] for name, _ in _endings(metric) if name in _UNITS), "number")


def stored_unit(metric: str | None, largest: float, unit: str | None = None) -> str:
    """Returns the unit of scores as they are stored; an accuracy of 85.3 is a number.

    Args:
      largest: the largest absolute score.
      unit: the unit that the source records.
    """
    named = unit if unit in _KNOWN else unit_of(metric)
    return "number" if largest > 1 and named in PERCENT else named


def bounds(
    metric: str | None, scores: np.ndarray, unit: str | None = None
) -> tuple[float, float] | None:
    """Returns the range of a metric, (0, 1) of fractions, (0, inf) of errors; None if unknown."""
    named = unit if unit in _KNOWN else unit_of(metric)
    least = scores.min(initial=math.inf)
    if named == "fraction" and least >= 0:
        return next(((0.0, top) for top in (1.0, 100.0) if scores.max(initial=0) <= top), None)
    errors = higher_is_better(metric) is False and _ANY_SIGN.isdisjoint(_words(metric))
    low = float(named == "perplexity")
    return (low, math.inf) if errors and low <= least else None


def refuse_points(name: str, difference: float, unit: str) -> None:
    """Raises ConfigError for a difference of 1 or more between fractions, meant in points."""
    if unit in PERCENT and difference >= 1:
        asked = argument(name, int(difference) if float(difference).is_integer() else difference)
        points = "1 point is" if difference == 1 else f"{difference:g} points are"
        raise ConfigError(f"{asked}: the scores are fractions; {points} {difference / 100:g}")


def higher_is_better(metric: str | None, unit: str | None = None) -> bool | None:
    """Returns whether higher scores of a metric are better, by its name; None if unknown.

    The unit counts only if the name has no word of its own: nats may be a loss or a likelihood.
    """
    if re.match(r"(.*/)?\s*[-\u2212]", metric or ""):
        return None
    for name, before in _endings(metric):
        first, *others = before or [""]
        turned = _TURNING & {*before} or (first in _TURNING_FIRST and _NEUTRAL.issuperset(others))
        if _UNITS.get(name) == "bits" or name == "nat":
            known = higher_is_better(" ".join(before))
            unknown = known is None and (turned or GAINS.search("_".join(before)))
            return None if unknown else known or False
        if name in _DIRECTIONS:
            return None if turned else _DIRECTIONS[name]
    return False if _NEUTRAL.issuperset(_words(metric)) and unit in LOWER_UNITS else None


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
    if recorded is None:
        return named if asked is None else asked
    if asked not in (None, recorded):
        better = "higher" if recorded else "lower"
        found = f"{argument('lower_is_better', recorded)}: {who} that {better} {metric} is better"
        raise DataError(found, source)
    return recorded


def is_metric(name: str) -> bool:
    """True for a metric's name, also beside words for parts of the data or means: dev_f1, UAS."""
    known = (before for ending, before in _endings(name) if ending in _DIRECTIONS)
    return _ASIDE.issuperset(_words(name)) or any(map((_ASIDE | _TURNING).issuperset, known))


def sort_scores(columns: Iterable[str]) -> list[str]:
    """Sorts columns of scores: test scores first, losses and training scores last."""

    def key(name: str) -> tuple[bool, ...]:
        words = {*words_of(name)}
        return is_training(name), bool(words & _LOSS), "test" not in words, bool(words & DEV)

    return sorted(columns, key=key)


def is_training(name: str) -> bool:
    """True for a training score: train/loss, training_acc, and a loss alone."""
    return bool(_TRAINING & {*words_of(name)}) or words_of(name) == ("loss",)


def after_models(names: Sequence[str]) -> tuple[str, ...]:
    """Returns the metrics in which all names of columns end, as lstm_ppl and gru_ppl; else ()."""
    found = (
        [end for end, before in _endings(name) if end in _DIRECTIONS and before] for name in names
    )
    known = [next(iter(ends), "") for ends in found]
    return tuple(dict.fromkeys(known)) if all(known) else ()


def _endings(metric: str | None) -> Iterator[tuple[str, Sequence[str]]]:
    """Yields every ending of a name, joined, the longest first, and the words before it.

    Then those of loss_val without the part of the data, and of AP50 without the number. Before
    a number a metric stands alone: auc_fpr_0.1 is an AUC. A latency_score may be turned.
    """
    words = () if _UNCLEAR.fullmatch((metric or "").lower()) else _words(metric)
    numbered = False
    while words:
        for k in range(len(words)):
            if not numbered or _ASIDE.issuperset(words[:k]):
                yield "".join(words[k:]), words[:k]
        *before, last = words
        plain = "" if last in _ASIDE else _NUMBER.sub("", last)
        if plain == last or (last == "score" and higher_is_better(" ".join(before)) is False):
            return
        numbered = numbered or last not in _ASIDE
        words = (*before, plain) if plain else (*before,)


class _CountScoring(NamedTuple):
    """Rule that computes a metric from summed counts: the names of the counts, and the score."""

    columns: tuple[str, ...]
    score: Score


def f1(counts: np.ndarray) -> np.ndarray:
    """F1 of counts [..., 3]: true positives, predicted, gold; 0 if nothing is found."""
    hits, predicted, gold = np.moveaxis(np.asarray(counts, np.float64), -1, 0)
    total = predicted + gold
    return np.where(total > 0, 2 * hits / np.where(total > 0, total, 1.0), 0.0)


def ratio(counts: np.ndarray) -> np.ndarray:
    """Share of the right ones, of counts [..., 2]: right, all."""
    right, total = np.moveaxis(np.asarray(counts, np.float64), -1, 0)
    return np.where(total > 0, right / np.where(total > 0, total, 1.0), 0.0)


def _macro_f1(counts: np.ndarray) -> np.ndarray:
    """Mean F1 of Y classes, of counts [..., 3 Y]: those of `f1` for each class in turn."""
    counts = np.asarray(counts, np.float64)
    return f1(counts.reshape(*counts.shape[:-1], -1, 3)).mean(axis=-1)


def _best_f1(counts: np.ndarray) -> np.ndarray:
    """The better F1 of two repairs, of counts [..., 5] (the rule `ukp`)."""
    gold = counts[..., 4:]
    return np.maximum(*(f1(np.append(counts[..., k : k + 2], gold, axis=-1)) for k in (0, 2)))


_SPANS = ("right_spans", "predicted_spans")
_DROPPED = ("right_spans_dropped", "predicted_spans_dropped")
# by metric; the first whose counts are known holds
_SCORINGS = {
    "f1": (
        _CountScoring((*_SPANS, *_DROPPED, "gold_spans"), _best_f1),
        _CountScoring((*_SPANS, "gold_spans"), f1),
    ),
    "accuracy": (
        _CountScoring(("right_words", "words"), ratio),
        _CountScoring(("right", "items"), ratio),
        _CountScoring(("right", "targets"), ratio),
    ),
    "perplexity": (_CountScoring(("nats", "tokens"), lambda counts: np.exp(ratio(counts))),),
    "bits": (_CountScoring(("nats", "tokens"), lambda counts: ratio(counts) / math.log(2)),),
}


def scoring(metric: str, names: Sequence[str]) -> _CountScoring | None:
    """Returns how a metric is computed from counts of these names; None if unknown."""
    known = _SCORINGS.get(metric, ())
    if metric == "macro_f1":
        classes = sum(bool(_OF_CLASS.fullmatch(name)) for name in names)
        kinds = ("right", "predicted", "gold")
        columns = tuple(f"{kind}_{k}" for k in range(classes) for kind in kinds)
        known = (_CountScoring(columns, _macro_f1),) if classes else ()
    return next((s for s in known if set(s.columns) <= set(names)), None)


def _delta_values(counts: np.ndarray, score: Score) -> np.ndarray:
    """Returns [N] values of items whose mean is the score of all, with its standard error.

    The delta method: the value of item i is score(T) + N g.(c_i - T / N), with the sums T and the
    score's gradient g at T, by central differences. For a share of items with one total each the
    values are exactly the items' own scores.

    `counts`: [N, K] of items.
    """
    counts = np.asarray(counts, np.float64)
    if score is ratio and np.ptp(counts[:, 1]) == 0:
        return ratio(counts)
    sums = counts.sum(0)
    steps = np.diag(_STEP * np.maximum(sums, 1.0))
    gradient = (score(sums + steps) - score(sums - steps)) / (2 * np.diag(steps))
    centred = counts - sums / len(counts)
    return np.asarray(float(score(sums)) + len(counts) * centred @ gradient)


def item_values(counts: np.ndarray, names: Sequence[str], metric: str) -> np.ndarray:
    """Returns [I, R, 1] `_delta_values` of counts [I, R, C] that give the metric."""
    how = scoring(metric, names)
    assert how is not None
    columns = [list(names).index(name) for name in how.columns]
    runs = [_delta_values(counts[:, run][:, columns], how.score) for run in range(counts.shape[1])]
    return np.stack(runs, axis=1)[..., np.newaxis]
