"""The n-gram benchmark: against a slow recursive model with dictionaries, and laws."""

import importlib.util
import math
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

PATH = Path(__file__).parents[1] / "benchmarks" / "kneser_ney.py"


def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("kneser_ney", PATH)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(PATH.parent))  # it imports `common`, which stands beside it
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(PATH.parent))
    return module


kneser_ney = _script()


class Slow:
    """The same model after Chen & Goodman (1998), by the book: tuples, sets and recursion."""

    def __init__(self, train: list[int], order: int, vocabulary: int) -> None:
        padded = [0] * (order - 1) + train
        ngrams = [tuple(padded[i : i + order]) for i in range(len(train))]
        self.vocabulary = vocabulary
        self.counts: dict[int, dict[tuple[int, ...], int]] = {order: dict(Counter(ngrams))}
        for k in range(order - 1, 0, -1):
            longer = self.counts[k + 1]
            self.counts[k] = dict(Counter(gram[1:] for gram in longer))  # one for each left word

    def discount(self, k: int, count: int) -> float:
        n = Counter(self.counts[k].values())
        if n[1] == 0:
            return 0.5
        y = n[1] / (n[1] + 2 * n[2])
        if 0 in (n[2], n[3], n[4]):
            return y
        d = [c - (c + 1) * y * n[c + 1] / n[c] for c in (1, 2, 3)]
        return d[min(count, 3) - 1] if min(d) > 0 else y

    def probability(self, context: tuple[int, ...], word: int) -> float:
        lower = self.probability(context[1:], word) if context else 1 / self.vocabulary
        k = len(context) + 1
        after = {g[-1]: c for g, c in self.counts[k].items() if g[:-1] == context}
        if not after:
            return lower
        total = sum(after.values())
        back = sum(self.discount(k, c) for c in after.values()) / total
        count = after.get(word, 0)
        own = count - self.discount(k, count) if count else 0.0
        return own / total + back * lower


def _stream(seed: int, size: int, vocabulary: int) -> np.ndarray:
    """A skewed random text, in which all counts from one to many occur; word V - 1 does not."""
    weights = 1 / np.arange(1, vocabulary)
    return np.random.default_rng(seed).choice(vocabulary - 1, size, p=weights / weights.sum())


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_as_the_slow_model(order: int) -> None:
    """Dies if a lower order has raw counts, the highest has not, or an unseen context is skipped.

    It dies also if the start of a part has another context, or if a discount is that of a
    neighbouring count or order.
    """
    vocabulary, train = 30, _stream(1, 300, 30)
    other = np.append(_stream(2, 50, 30), 29)
    slow = Slow(train.tolist(), order, vocabulary)
    orders = kneser_ney.fit(kneser_ney.rows(train, order), vocabulary)
    ngrams = kneser_ney.rows(other, order)
    probabilities = kneser_ney.probabilities(orders, ngrams, vocabulary)
    padded = [0] * (order - 1) + other.tolist()
    expected = [
        slow.probability(tuple(padded[i : i + order - 1]), padded[i + order - 1])
        for i in range(len(other))
    ]
    np.testing.assert_allclose(probabilities, expected, rtol=0, atol=1e-10)
    if order > 1:  # otherwise only the fallback would have been compared
        assert any(len(set(model.discounts)) == 3 for model in orders)


@pytest.mark.parametrize("order", [1, 2, 5])
def test_probabilities_sum_to_one(order: int) -> None:
    """Dies if what is discounted is not what the order below gets, in any kind of context."""
    vocabulary, train = 30, _stream(3, 2000, 30)
    ngrams = kneser_ney.rows(train, order)
    orders = kneser_ney.fit(ngrams, vocabulary)
    strange = np.random.default_rng(4).integers(0, vocabulary, (100, order))
    context = np.concatenate([ngrams[:100], strange, np.full((1, order), 29)])
    every = np.repeat(context, vocabulary, axis=0)
    every[:, -1] = np.tile(np.arange(vocabulary), len(context))
    probabilities = kneser_ney.probabilities(orders, every, vocabulary).reshape(-1, vocabulary)
    assert probabilities.min() > 0
    np.testing.assert_allclose(probabilities.sum(1), 1, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        ((8, 4, 2, 1, 7), (0.5, 1.25, 2.0)),  # Y = 8 / 16
        ((8, 4, 2, 0, 7), (0.5, 0.5, 0.5)),  # no n4: the single discount
        ((8, 1, 9, 1, 7), (0.8, 0.8, 0.8)),  # D2 = 2 - 3 * 0.8 * 9 < 0
        ((0, 4, 2, 1, 7), (0.5, 0.5, 0.5)),  # no n1: a half
    ],
)
def test_discounts_by_hand(n: tuple[int, ...], expected: tuple[float, ...]) -> None:
    """Dies if a formula of the discounts, or what stands in for it, changes."""
    counts = np.repeat(np.arange(1, 6), n)
    assert kneser_ney.discounts(counts) == pytest.approx(expected, abs=1e-12)


def test_scored_tokens(tmp_path: Path) -> None:
    """Dies if an end of line is not scored, or dev begins a token early or knows train's end."""
    (tmp_path / "a.train.txt").write_text("a b c\n\nb a a\n" * 4)
    (tmp_path / "a.valid.txt").write_text("a z\n\nc\n")
    (tmp_path / "a.test.txt").write_text("b c\n")
    measured = kneser_ney.measure(str(tmp_path), "word", 3)
    slow = Slow([2, 3, 4, 0, 0, 3, 2, 2, 0] * 4, 3, 5)  # end, unknown, a, b, c
    for part, tokens in {"dev": [2, 1, 0, 0, 4, 0], "test": [3, 4, 0]}.items():
        assert measured["tokens"][part] == len(tokens)
        padded = [0, 0, *tokens]
        logs = [
            math.log(slow.probability((padded[i], padded[i + 1]), padded[i + 2]))
            for i in range(len(tokens))
        ]
        expected = math.exp(-sum(logs) / len(tokens))
        assert measured[f"{part}_perplexity"] == pytest.approx(expected, abs=1e-4)
