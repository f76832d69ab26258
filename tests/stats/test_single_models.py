"""Tests on the items of two trained models: against enumeration, mirrored, and what is refused."""

import dataclasses
import itertools
import math
import re
from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval import stats
from jaxeval.report.comparison import single
from jaxeval.report.scores import ScoreFormat
from jaxeval.runs import counts as counted
from jaxeval.runs.trained import TrainedModel
from jaxeval.stats import single_models
from jaxeval.stats.pairwise import Rules
from jaxeval.tasks import classification

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


def _model(name: str, metric: str, skill: float, n: int = 60, **changes: Any) -> TrainedModel:
    seed = len(name) + ord(name[0])
    member: Any = SimpleNamespace(
        seed=seed, split=0, metric=metric, task="tagging", data_hash="d", dev=0.5
    )
    counts = _counts(metric, n, seed, skill)
    model = TrainedModel(name, "", member, "test", _NAMES[metric], counts)
    return dataclasses.replace(model, **changes)


def _compare(*models: TrainedModel, **rules: Any) -> single_models.SingleModels:
    return single_models.compare(models, Rules(**rules), iterations=20_000)


@pytest.mark.parametrize("metric", _NAMES)
def test_randomisation_of_items_equals_all_swaps(metric: str) -> None:
    """Dies if a metric is not that of the summed counts, in each of 2^9 swaps of whole items."""
    a, b = _model("A", metric, 0.8, 9), _model("B", metric, 0.4, 9)
    (pair,) = _compare(a, b).pairs
    assert a.counts is not None and b.counts is not None
    x, y = a.counts.astype(float), b.counts.astype(float)
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
    bootstrap = stats.paired_bootstrap(a, b, score=counted.ratio)
    gaps = right - other
    error = gaps.std() / np.sqrt(2000)
    assert bootstrap.estimate == pytest.approx(gaps.mean())
    assert (bootstrap.interval.high - bootstrap.interval.low) / 2 == pytest.approx(
        1.96 * error, rel=0.05
    )
    assert bootstrap.interval.low < gaps.mean() < bootstrap.interval.high


@pytest.mark.parametrize("metric", _NAMES)
def test_swapped_models_give_mirrored_sentences(metric: str) -> None:
    """Dies if a verdict, an interval or a p-value depends on which model is called A."""
    higher = metric not in ("perplexity", "bits")
    a, b = _model("A", metric, 0.75), _model("B", metric, 0.55)
    said, compared = [], []
    for first, second in ((a, b), (b, a)):
        result = _compare(first, second, higher_is_better=higher, resamples=500)
        study: Any = SimpleNamespace(
            comparison=SimpleNamespace(rules=Rules(higher_is_better=higher)),
            samples=SimpleNamespace(unit="seed"),
            single=result,
        )
        compared += result.pairs
        said += single.of_study(study, ScoreFormat("number", 3))
    forward, backward = compared
    assert forward.adjusted == backward.adjusted
    assert forward.difference.estimate == pytest.approx(-backward.difference.estimate)
    assert forward.difference.interval.low == pytest.approx(-backward.difference.interval.high)
    claims = [re.findall(r"(\w) scores higher|so (\w) is the better", line) for line in said]
    assert claims[0] == claims[1]
    better = ("B scores higher, and so A is the better one", "A scores higher")[higher]
    assert better in said[0]
    for line in said:
        assert "Of these two trained models" in line
        assert "over sentences like these 60 of test" in line
        assert "Which method is better over seeds" in line


def test_p_values_are_corrected_over_all_pairs() -> None:
    """Dies if a pair is judged as if it were the only one, or McNemar's tests count as others."""
    models = [
        _model(name, "accuracy", skill) for name, skill in zip("ABC", (0.8, 0.6, 0.4), strict=True)
    ]
    pairs = _compare(*models).pairs
    assert [(pair.a.model, pair.b.model) for pair in pairs] == [("A", "B"), ("A", "C"), ("B", "C")]
    for name in ("approximate_randomization", "mcnemar"):
        p_values = [pair.tests[name].p_value for pair in pairs]
        corrected = [pair.adjusted[name] for pair in pairs]
        assert corrected == pytest.approx(stats.adjust_p_values(p_values, "holm").tolist())
    with_control = single_models.compare(models, Rules(), "C", iterations=100)
    assert [pair.a.model for pair in with_control.pairs] == ["A", "B"]


def test_a_task_keeps_what_its_metrics_need() -> None:
    """Dies if accuracy or macro-F1 of targets is unknown here, so that no test can be made."""
    labels = jnp.arange(3)
    names = tuple(classification.count(labels, labels, jnp.ones(3), 3))
    assert {*names} == {*_NAMES["macro_f1"]}
    for metric, score in (("accuracy", counted.ratio), ("macro_f1", counted.macro_f1)):
        how = single_models.scoring(metric, names)
        assert how is not None and how.score is score
    a, b = (_model(name, "macro_f1", 0.7) for name in "AB")
    assert a.counts is not None
    other = a.counts.copy()
    other[:, 2::3] = np.roll(other[:, 2::3], 1, axis=1)  # the same targets of other gold
    (note,) = _compare(dataclasses.replace(a, counts=other), b).notes
    assert "their items differ" in note


def test_only_the_same_items_are_compared() -> None:
    """Dies if models without outcomes, of other data or of other items are tested, in silence."""
    a, b = _model("A", "f1", 0.8), _model("B", "f1", 0.6)
    (note,) = _compare(a, dataclasses.replace(b, counts=None, names=())).notes
    assert note.startswith("No tests on single items: B without outcomes; train --outputs")
    elsewhere: Any = SimpleNamespace(**{**vars(b.member), "data_hash": "other"})
    shuffled = _counts("f1", 60, 3, 0.6)[::-1]
    for other, reason in (
        (dataclasses.replace(b, member=elsewhere), "different data"),
        (dataclasses.replace(b, counts=shuffled), "their items differ"),
        (_model("B", "f1", 0.6, 50), "their items differ"),
        (_model("B", "accuracy", 0.6), "different data"),
    ):
        result = _compare(a, other)
        assert not result.pairs
        assert reason in result.notes[0]
    assert not _compare(a, dataclasses.replace(b, dataset="another")).notes
