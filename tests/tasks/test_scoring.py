"""Entity counts against seqeval and golden cases; edit distances; accuracy and macro-F1."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from seqeval.metrics.sequence_labeling import get_entities

from jaxeval.contracts import Batch
from jaxeval.tasks import classification, seq2seq, tagging

GOLDEN = [  # gold, prediction, F1 by: repair to O, repair to B, conlleval, strict (the reference)
    ("B-NP I-NP O", "I-NP I-NP O", 0.0, 1.0, 1.0, 0.0),
    ("B-PER B-LOC I-LOC O", "B-PER I-LOC I-LOC O", 2 / 3, 1.0, 1.0, 2 / 3),
    ("B-PER O O", "B-PER O I-LOC", 1.0, 2 / 3, 2 / 3, 1.0),
    ("B-PER E-PER S-PER", "B-PER I-PER S-PER", 0.0, 1.0, 1.0, 2 / 3),  # IOBES; read as BIO by ukp
]


def _counts(gold: list, predicted: list, rule: tagging._Rule, weight: int = 1) -> dict[str, float]:
    """Counts of tag sequences of any lengths, padded to one batch with what is a tag."""
    names = sorted({tag for sentence in gold + predicted for tag in sentence})
    arrays = np.full((2, len(gold), max(map(len, gold)) + 2), len(names) - 1, np.int32)
    for array, sentences in zip(arrays, (gold, predicted), strict=True):
        for row, sentence in enumerate(sentences):
            array[row, : len(sentence)] = [names.index(tag) for tag in sentence]
    lengths, weights = np.array([*map(len, gold)]), np.ones(len(gold), np.float32)
    weights[-1] = weight
    batch = Batch({"labels": arrays[0], "forms": arrays[0], "length": lengths}, weights, {}, {})
    compiled = jax.jit(lambda *parts: tagging._count(*parts, names, rule))
    return {name: float(value) for name, value in compiled(arrays[1], batch).items()}


@pytest.mark.parametrize("prefixes", ["BI", "BIES"])
def test_conlleval_counts_equal_seqeval_on_random_sequences(prefixes: str) -> None:
    """Dies if any rule on where a span begins or ends differs, in illegal sequences above all, or
    padding or a row of weight 0 counts."""
    draw = np.random.default_rng(len(prefixes))
    tags = ["O", *(f"{p}-{k}" for p in prefixes for k in ("PER", "LOC"))]
    pairs = [
        [[tags[i] for i in draw.integers(len(tags), size=length)] for _ in range(2)]
        for length in draw.integers(1, 12, size=400)
    ]
    gold, predicted = [p[0] for p in pairs], [p[1] for p in pairs]
    actual = _counts(gold, predicted, "conlleval", weight=0)
    truth = [set(get_entities(s)) for s in gold[:-1]]
    guess = [set(get_entities(s)) for s in predicted[:-1]]
    words = [
        pair
        for g, p in zip(gold[:-1], predicted[:-1], strict=True)
        for pair in zip(g, p, strict=True)
    ]
    assert actual["words"] == len(words)
    assert actual["right_words"] == sum(g == p for g, p in words)
    assert actual["gold_spans"] == sum(map(len, truth))
    assert actual["predicted_spans"] == sum(map(len, guess))
    assert actual["right_spans"] == sum(len(a & b) for a, b in zip(truth, guess, strict=True)) > 20


@pytest.mark.parametrize("case", GOLDEN, ids=["start", "type", "odd", "iobes"])
def test_golden_cases_by_rule(case: tuple) -> None:
    """Dies if two rules are swapped (published F1 by rule), or strict IOBES forgives a wrong
    inner boundary."""
    gold, predicted = [case[0].split()], [case[1].split()]
    for rule, expected in (("conlleval", case[4]), ("strict", case[5]), ("ukp", max(case[2:4]))):
        counts = _counts(gold, predicted, rule)  # type: ignore[arg-type]
        assert tagging._span_f1(counts)["f1"] == pytest.approx(expected), rule
    nothing = dict.fromkeys(("gold_spans", "predicted_spans", "right_spans"), 0.0)
    assert tagging._span_f1(nothing) == {"precision": 0.0, "recall": 0.0, "f1": 0.0}


def _distance(a: list[int], b: list[int]) -> int:
    """Levenshtein's table, written again."""
    table = [[i + j for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i, j in itertools.product(range(1, len(a) + 1), range(1, len(b) + 1)):
        replaced = table[i - 1][j - 1] + (a[i - 1] != b[j - 1])
        table[i][j] = min(replaced, table[i - 1][j] + 1, table[i][j - 1] + 1)
    return table[-1][-1]


def test_edit_distance_equals_a_plain_table() -> None:
    """Dies if an operation costs more, runs of insertions are lost, or padding is compared."""
    draw, rows = np.random.default_rng(0), 300
    sizes = draw.integers(0, 8, rows), draw.integers(0, 7, rows)
    for size in sizes:
        size[:20] = 0  # some empty ones
    sizes[1][10:40], sizes[0][:2] = 5, 7
    written, gold = draw.integers(0, 3, (rows, 7)), draw.integers(0, 3, (rows, 6))
    arrays = map(jnp.asarray, (written, sizes[0], gold, sizes[1]))
    actual = jax.jit(seq2seq._edit_distance)(*arrays)
    rows_of = zip(written, sizes[0], gold, sizes[1], strict=True)
    expected = [_distance(list(a[:n]), list(b[:m])) for a, n, b, m in rows_of]
    np.testing.assert_array_equal(actual, expected)
    assert set(expected) >= set(range(7))


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


@pytest.mark.parametrize("seed", range(3))
def test_scores_of_classes_are_the_formulas(seed: int) -> None:
    """Dies if padding counts, F1 is of the wrong class, or a class that is missing is left out."""
    draw = np.random.default_rng(seed)
    gold, predicted = draw.integers(0, 3, (2, 30)) % (3 if seed else 2)  # of seed 0 no class 2
    weights = draw.integers(0, 2, 30)
    counts = classification._count(*map(jnp.asarray, (gold, predicted, weights)), 4)
    score = classification._score({name: float(count) for name, count in counts.items()}, 4)
    pair = gold[weights == 1].tolist(), predicted[weights == 1].tolist()
    assert score["accuracy"] == pytest.approx(np.mean(np.equal(*pair)))
    assert score["macro_f1"] == pytest.approx(_macro_f1(*pair, 4))
    none = classification._score(dict.fromkeys(counts, 0.0), 4)
    assert none == {"accuracy": 0.0, "macro_f1": 0.0}
