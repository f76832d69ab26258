"""Tests on the items of two trained models: against enumeration, mirrored, and what is refused."""

import itertools
import math
from collections.abc import Mapping

import numpy as np
import pytest

from jaxeval.runs import metrics as counted
from jaxeval.runs.scores import DataSetScores, ModelScores, Scores
from jaxeval.stats import Rules, multiple, single_models

_NAMES = {
    "f1": ("right_spans", "predicted_spans", "gold_spans", "words"),
    "accuracy": ("items", "right", "edits", "symbols"),
    "perplexity": ("tokens", "nats"),
    "bits": ("tokens", "nats"),
    "macro_f1": (
        *("right", "targets", "gold_0", "predicted_0", "right_0"),
        *("gold_1", "predicted_1", "right_1", "gold_2", "predicted_2", "right_2"),
    ),
}


def _counts(metric: str, n: int, seed: int, skill: float) -> np.ndarray:
    """Of n items, the truth of which is the same for all seeds."""
    truth, draw = np.random.default_rng(0), np.random.default_rng(seed)
    size = truth.integers(1, 5, n)
    right = draw.binomial(size, skill)
    columns = {
        "f1": (right, right + draw.integers(0, 2, n), size, 3 * size),
        "accuracy": (np.ones(n), draw.random(n) < skill, size - right, size),
        "perplexity": (size, size * draw.normal(5 - skill, 0.5, n)),
        "macro_f1": _of_classes(size % 3, np.where(draw.random(n) < skill, size, size + 1) % 3),
    }
    same = {"bits": "perplexity"}.get(metric, metric)
    return np.stack(columns[same], axis=1).astype(np.float32)


def _of_classes(gold: np.ndarray, predicted: np.ndarray) -> list[np.ndarray]:
    """The counts of a classification of single targets."""
    right = gold == predicted
    by_class = [(gold == k, predicted == k, right & (gold == k)) for k in range(3)]
    return [right, np.ones(len(gold)), *(count for counts in by_class for count in counts)]


def _score(metric: str, counts: np.ndarray) -> float:
    """The metric of summed counts, by its definition."""
    of = dict(zip(_NAMES[metric], counts.tolist(), strict=True))
    if metric == "macro_f1":
        f1 = (2 * of[f"right_{k}"] / (of[f"predicted_{k}"] + of[f"gold_{k}"]) for k in range(3))
        return sum(f1) / 3
    if metric == "f1":
        return 2 * of["right_spans"] / (of["predicted_spans"] + of["gold_spans"])
    if metric == "accuracy":
        return of["right"] / of["items"]
    nats = of["nats"] / of["tokens"]
    return math.exp(nats) if metric == "perplexity" else nats / math.log(2)


def _items(metric: str, skills: Mapping[str, float], n: int = 60) -> Scores:
    models = {}
    for name, skill in skills.items():
        counts = _counts(metric, n, 1 + ord(name), skill)[:, None]
        scores = counted.item_values(counts, _NAMES[metric], metric)
        assert scores is not None
        seed = {"seed": np.array(["7"], object)}
        status = np.zeros(scores.shape, np.uint8)
        models[name] = ModelScores(scores, status, seed, np.arange(1), counts=counts)
    data = DataSetScores(
        "", metric, True, "recorded", models, tuple(map(str, range(n))), counts=_NAMES[metric]
    )
    return Scores("items", tuple(skills), (data,))


@pytest.mark.parametrize("metric", _NAMES)
def test_randomisation_of_items_equals_all_swaps(metric: str) -> None:
    """Dies if a metric is not that of the summed counts, in each of 2^9 swaps of whole items."""
    items = _items(metric, {"A": 0.8, "B": 0.4}, 9)
    (pair,) = single_models.compare(items, Rules(), iterations=20_000).pairs
    x, y = (of.counts[:, 0].astype(float) for of in items.data_sets[0].models.values())  # type: ignore[index]
    gaps = []
    for swap in itertools.product((False, True), repeat=9):
        chosen = np.array(swap)[:, None]
        swapped_x, swapped_y = np.where(chosen, y, x).sum(0), np.where(chosen, x, y).sum(0)
        gaps.append(abs(_score(metric, swapped_x) - _score(metric, swapped_y)))
    assert abs(pair.tests["approximate_randomization"].statistic) == pytest.approx(gaps[0])
    exact = np.mean(np.array(gaps) >= gaps[0] - 1e-9)
    assert pair.tests["approximate_randomization"].p_value == pytest.approx(exact, abs=0.015)
    assert ("mcnemar" in pair.tests) == (metric == "accuracy")
    assert pair.scores[0] == pytest.approx(_score(metric, x.sum(0)))


def test_a_bootstrap_covers_the_other_examples_of_a_population() -> None:
    """Dies if the two runs are drawn apart: the interval of paired answers is far narrower. Both
    have a standard error that theory gives."""
    draw = np.random.default_rng(1)
    right = (draw.random(2000) < 0.5).astype(float)
    other = np.where(draw.random(2000) < 0.05, 1 - right, right)
    a, b = (np.stack([v, np.ones(2000)], axis=1) for v in (right, other))
    bootstrap = single_models._paired_bootstrap(a, b, counted.ratio, Rules())
    gaps = right - other
    error = gaps.std() / np.sqrt(2000)
    assert bootstrap.estimate == pytest.approx(gaps.mean())
    assert (bootstrap.interval.high - bootstrap.interval.low) / 2 == pytest.approx(
        1.96 * error, rel=0.05
    )
    assert bootstrap.interval.low < gaps.mean() < bootstrap.interval.high


def test_p_values_are_corrected_over_all_pairs() -> None:
    """Dies if a pair is judged as if it were the only one, or McNemar's tests count as others."""
    items = _items("accuracy", {"A": 0.8, "B": 0.6, "C": 0.4})
    pairs = single_models.compare(items, Rules(), iterations=20_000).pairs
    assert [(pair.a, pair.b) for pair in pairs] == [("A", "B"), ("A", "C"), ("B", "C")]
    for name in ("approximate_randomization", "mcnemar"):
        p_values = [pair.tests[name].p_value for pair in pairs]
        corrected = [pair.adjusted[name] for pair in pairs]
        assert corrected == pytest.approx(multiple.adjust_p_values(p_values, "holm").tolist())
    with_control = single_models.compare(items, Rules(), "C", iterations=100)
    assert [pair.a for pair in with_control.pairs] == ["A", "B"]
