"""Accuracy and macro-F1 against the formulas of scikit-learn's documentation."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.config import reading
from jaxeval.tasks import classification, registry


def _macro_f1(gold: list[int], predicted: list[int], classes: int) -> float:
    """The mean of 2 P R / (P + R) over all classes, 0 where a part of it is undefined."""
    values = []
    for k in range(classes):
        right = sum(g == p == k for g, p in zip(gold, predicted, strict=True))
        precision = right / predicted.count(k) if k in predicted else 0.0
        recall = right / gold.count(k) if k in gold else 0.0
        both = precision + recall
        values.append(2 * precision * recall / both if both else 0.0)
    return sum(values) / classes


@pytest.mark.parametrize("seed", range(4))
def test_scores_are_the_formulas(seed: int) -> None:
    """Dies if padding counts, F1 is of the wrong class, or a class that is missing is left out."""
    draw = np.random.default_rng(seed)
    gold, predicted = draw.integers(0, 3, (2, 30)) % (3 if seed else 2)  # of seed 0 no class 2
    weights = draw.integers(0, 2, 30)
    counts = classification.count(*map(jnp.asarray, (gold, predicted, weights)), 4)
    score = classification.score({name: float(count) for name, count in counts.items()}, 4)
    real = weights == 1
    pair = gold[real].tolist(), predicted[real].tolist()
    assert score["accuracy"] == pytest.approx(np.mean(np.equal(*pair)))
    assert score["macro_f1"] == pytest.approx(_macro_f1(*pair, 4))


def test_macro_f1_is_scikit_learns() -> None:
    """Dies if a class without gold and predictions counts as 1 or not at all."""
    metrics = pytest.importorskip("sklearn.metrics")
    gold, predicted = np.random.default_rng(5).integers(0, 3, (2, 40))
    counts = classification.count(*map(jnp.asarray, (gold, predicted)), jnp.ones(40), 4)
    score = classification.score({name: float(count) for name, count in counts.items()}, 4)
    expected = metrics.f1_score(gold, predicted, labels=range(4), average="macro", zero_division=0)
    assert score["macro_f1"] == pytest.approx(expected)
    assert score["accuracy"] == pytest.approx(metrics.accuracy_score(gold, predicted))


def test_nothing_scores_nothing() -> None:
    """Dies if an empty part divides by zero."""
    counts = {f"{name}_{k}": 0.0 for name in ("gold", "predicted", "right") for k in range(2)}
    score = classification.score({**counts, "right": 0.0, "targets": 0.0}, 2)
    assert score == {"accuracy": 0.0, "macro_f1": 0.0}


def test_nll_is_of_the_gold_class() -> None:
    """Dies if the loss is of another class or base."""
    logits = np.random.default_rng(0).normal(size=(2, 3, 4))
    labels = np.array([[0, 3, 1], [2, 2, 0]])
    probs = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    rows = zip(probs, labels, strict=True)
    expected = -np.log([[p[k] for p, k in zip(*row, strict=True)] for row in rows])
    actual = classification.nll(jnp.asarray(logits), jnp.asarray(labels))
    np.testing.assert_allclose(actual, expected, rtol=1e-5)


@pytest.mark.parametrize("task", ["tagging", "sentiment", "pairs"])
def test_random_splits_have_the_words_of_all_parts(task: str) -> None:
    """Dies if words of a random split's train have no row, or another key changes."""
    kind = registry.KINDS[task]
    plain, pooled = (
        reading.to_dict(of(kind.Config())) for of in (lambda c: c, kind.random_splits)
    )
    assert pooled["data"].pop("vocabulary") == "all" != plain["data"].pop("vocabulary")
    assert pooled == plain
