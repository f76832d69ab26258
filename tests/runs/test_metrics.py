"""What the name of a metric says: its unit, and which scores are better; scores of summed
counts, and their items' values by the delta method."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxeval import sources
from jaxeval.errors import ConfigError, DataError
from jaxeval.runs import metrics
from jaxeval.runs.scores import Scores
from tests.runs.reading import read

_GOOD = [0.10, 0.101, 0.102, 0.099, 0.098, 0.1005]
_BAD = [0.20, 0.201, 0.202, 0.199, 0.198, 0.2005]


HIGHER = (
    "test_accuracy, acc_val, BLEU, rougeL, top_1_accuracy, hits@10, eval/hits_at_1, ndcg@k, P@1, "
    "mAP@[.5:.95], AP50, top5_acc, accuracy_top1, span_f1, chrF++, bleurt, COMET22, pass@1, "
    "pAUC@FPR=0.1, recall@err=0.1, BLEU@latency1, acc_at_loss_1, ner_f1_macro, bert_score_f1"
)
LOWER = (
    "nll, valid-ppl, dev WER, TER, eval/loss, word_perplexity, bits_per_byte, enwik8_bpc, "
    "neg_log_likelihood, top-1 error, zero_one_loss, 0-1_loss, fold_1_loss, one_shot_wer, "
    "stage_1_nll, no_dropout_loss, neg_log_likelihood_nats, test_loss_bits, loss_val, rmse test, "
    "logloss, latency_ms, regret, dev DER, test_xent, valLoss, wer@5, "
    "classif.ce, val_ce, fpr@95tpr, perplexity@1k, NLL/token, bits_per_dim, kl_div, FID50k, "
    "false_positive_rate, latency_p99, brier_score, liver_hd95, dice_loss"
)
UNKNOWN = (
    "neg_log_loss, neg_mean_squared_error, 1-wer, 1 - test_wer, one_minus_wer, negated_loss, "
    "inverted_ppl, -loss, valid/-loss, no_loss, neg_bits, -nll_nats, points, sum_logprobs_bits, "
    "log_likelihood_bits_per_byte, loglik_nats, neg_log_loss_mean, 1-hits@10, acc_stderr, lstm2, "
    "TPR@FPR=0.01, tpr_at_fpr_0.01, throughput_at_latency_100, throughput_latency_100, "
    "auc_fpr_0.1, time_to_acc_90, win_loss_rate, latency_score, hd, pass, kid, hits, ce, AP, rat, "
    "pat, bit, kl_weight, dropout_rate, loss_fn"
)
# models, sizes, counts
NO_METRICS = "lstm_f1 lstm2 unigram bert-map hd pass kid hits ce AP f2 rat pat bit"
OF_UNITS = {  # unit -> whether it says that lower is better -> names
    "nats": {True: "test score, nll", False: "-score, log_likelihood, elbo"},
    "bits": {False: "mutual_information, information gain"},
    "perplexity": {True: "points", False: "perplexity_reduction"},
    "fraction": {False: "points"},
}


def test_the_direction_of_well_known_metrics() -> None:
    """Dies if a loss is a gain, or if what no one knows is guessed."""
    for names, higher in ((HIGHER, True), (LOWER, False), (UNKNOWN, None)):
        for name in names.split(", "):
            assert metrics.higher_is_better(name) is higher, name
    for unit, of in OF_UNITS.items():
        for lower, names in of.items():
            for name in names.split(", "):
                assert metrics.higher_is_better(name, unit) is (False if lower else None), name
    whole = "hits@10, test mAP50-95, chrF++, ROUGE-L, mean_squared_error, macro_f1, final_dev_acc"
    assert all(map(metrics.is_metric, whole.split(", ")))
    assert not any(map(metrics.is_metric, NO_METRICS.split()))


def _found(folder: Path, column: str, more: str = "", **layout: Any) -> Scores:
    """Of A the lower scores; `more` is NAME=VALUE of further columns."""
    names, values = ([pair.split("=")[k] for pair in more.split()] for k in (0, 1))
    rows = [",".join([m, str(s), *values]) for m, of in (("A", _GOOD), ("B", _BAD)) for s in of]
    head = ",".join(["model", column, *names])
    return read(folder, "\n".join([head, *rows]), columns={"score": column}, **layout)


@pytest.mark.parametrize(
    ("column", "more", "asked", "higher", "direction"),
    [
        ("wer", "", None, False, "named"),
        ("test_ppl", "", None, False, "named"),
        ("wer", "", True, True, "recorded"),  # who asks overrules a name
        ("points", "", None, True, "assumed"),
        ("points", "", False, False, "recorded"),
        ("points", "metric=wer", None, False, "named"),
        ("nll", "metric=accuracy", True, True, "recorded"),
        ("score", "metric=score unit=nats", None, False, "named"),
        ("score", "metric=log_likelihood unit=nats", None, True, "assumed"),
        ("f1", "higher_is_better=false", None, False, "recorded"),
    ],
)
def test_who_says_what_is_better(
    tmp_path: Path, column: str, more: str, asked: bool | None, higher: bool, direction: str
) -> None:
    """Dies if the higher loss is the better one, a guess is known, or a flag is unheard."""
    found = _found(tmp_path, column, more, higher_is_better=asked)
    assert (found.higher_is_better, found.direction) == (higher, direction)
    if direction == "recorded":
        with pytest.raises(DataError, match="-is-better: the table says that"):
            sources._redirect(found, not higher)
    else:
        turned = sources._redirect(found, not higher)
        assert (turned.higher_is_better, turned.direction) == (not higher, "recorded")
        assert sources._redirect(found, None).data_sets == found.data_sets


_FRACTIONS, _PERCENT = [0.79, 0.80, 0.81, 0.795, 0.805], [70.0, 72.0, 75.0, 71.0, 74.0]


def _records(metric: str, low: list[float], high: list[float], **more: str) -> list[dict]:
    of = (("A", low), ("B", high))
    return [{"model": m, metric: s, **more} for m, scores in of for s in scores]


@pytest.mark.parametrize(
    ("metric", "low", "more", "refused"),
    [
        ("accuracy", _FRACTIONS, {}, True),
        ("score", _FRACTIONS, {}, True),
        ("f1", [0.0, *_FRACTIONS], {}, True),
        ("accuracy", [0.9, 1.4, 0.8, 1.1, 0.9], {}, False),
        ("accuracy", _FRACTIONS, {"unit": "number"}, False),
        ("reward", _FRACTIONS, {}, False),
        ("perplexity", _FRACTIONS, {}, False),
        ("accuracy", [0.0] * 5, {}, False),
    ],
)
def test_fractions_beside_percent(
    metric: str, low: list[float], more: dict[str, str], refused: bool
) -> None:
    """Dies if the scale decides who wins, or scores that may be of one scale are refused."""
    records = _records(metric, low, _PERCENT, **more)
    if refused:
        with pytest.raises(DataError, match=r"A look like fractions .* divide by 100"):
            sources.read(records)
    else:
        assert sources.read(records).metric == ("" if metric == "score" else metric)


def test_scores_around_one_are_of_one_scale() -> None:
    """Dies if human-normalised scores of .97 and 1.02 cannot be compared."""
    around = [0.96, 0.97, 0.98], [1.01, 1.02, 1.03]
    assert sources.read(_records("human_normalized_score", *around)).models == ("A", "B")
    with pytest.raises(DataError, match="like percent"):
        sources.read(_records("accuracy", *around))


def test_differences_in_points_of_fractions() -> None:
    """Dies if 3 is 300 points, or is refused of percentages and of what are no fractions."""
    for unit, stored in (("f1", 0.9), ("wer", 0.2)):
        with pytest.raises(ConfigError, match=r"--margin 3: .* fractions; 3 points are 0\.03"):
            metrics.refuse_points("margin", 3, metrics.stored_unit(unit, stored))
    for unit, largest, margin in (("f1", 90.0, 3), ("points", 0.9, 3), ("f1", 0.9, 0.03)):
        metrics.refuse_points("margin", margin, metrics.stored_unit(unit, largest))


DRAW = np.random.default_rng(5)
GOLD = DRAW.integers(0, 5, 500)
PREDICTED = DRAW.integers(0, 5, 500)
SPANS = np.stack([DRAW.binomial(np.minimum(GOLD, PREDICTED), 0.8), PREDICTED, GOLD], axis=1)
CLASSES = np.eye(3)[DRAW.integers(0, 3, 500)]
SAID = np.where(DRAW.random((500, 1)) < 0.6, CLASSES, np.eye(3)[DRAW.integers(0, 3, 500)])
# right, predicted, gold of each class in turn
MACRO = np.stack([CLASSES * SAID, SAID, CLASSES], axis=-1).reshape(500, 9)
NATS = np.stack([DRAW.gamma(2.0, 3.0, 500), DRAW.integers(1, 9, 500)], axis=1)


def _perplexity(sums: np.ndarray) -> np.ndarray:
    return np.exp(metrics.ratio(sums))


def test_nothing_found_scores_0() -> None:
    """Dies if 0 / 0 is nan, a class that does not occur counts as found, or repairs are mixed."""
    assert metrics.f1(np.zeros(3)) == metrics.ratio(np.zeros(2)) == 0.0
    assert metrics._macro_f1(np.array([2.0, 2, 2, 0, 0, 0])) == 0.5
    for counts in ([0.0, 3, 2, 2, 2], [2.0, 2, 0, 3, 2]):  # the better of two repairs
        assert metrics._best_f1(np.array(counts)) == 1.0


def test_of_a_share_they_are_the_items_own() -> None:
    """Dies if right and wrong answers become other numbers than 1 and 0."""
    right = (DRAW.random(80) < 0.7).astype(float)
    values = metrics._delta_values(np.stack([right, np.ones(80)], axis=1), metrics.ratio)
    assert values.tolist() == right.tolist()  # as intervals of right and wrong answers need


@pytest.mark.parametrize(
    ("of", "score"), [(SPANS, metrics.f1), (MACRO, metrics._macro_f1), (NATS, _perplexity)]
)
def test_an_item_is_worth_what_the_score_loses_without_it(
    of: np.ndarray, score: metrics.Score
) -> None:
    """Dies if values are mirrored at their mean, of other items, or leave out what an item adds
    below the fraction line: the jackknife's, whose error is that of items drawn anew."""
    values, sums = metrics._delta_values(of, score), of.sum(0)
    assert values.mean() == pytest.approx(float(score(sums)), rel=1e-9)
    jackknife = score(sums) + 499 * (score(sums) - score(sums - of))
    # equal but for terms of 1 / N
    np.testing.assert_allclose(values, jackknife, atol=0.03 * np.ptp(values))
