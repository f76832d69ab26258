"""Entity counts against seqeval's default mode and hand-made golden cases."""

import numpy as np
import pytest
from seqeval.metrics.sequence_labeling import get_entities

from jaxeval.tasks import scoring as spans
from tests import quick

GOLDEN = [  # gold, prediction, F1 by: repair to O, repair to B, conlleval, strict (the reference)
    ("B-NP I-NP O", "I-NP I-NP O", 0.0, 1.0, 1.0, 0.0),
    ("B-PER B-LOC I-LOC O", "B-PER I-LOC I-LOC O", 2 / 3, 1.0, 1.0, 2 / 3),
]


def _count(names: list[str], rule: spans.Rule, *arrays: np.ndarray) -> dict[str, float]:
    """Of labels, predictions, valid positions and weights."""
    table = spans.label_table(names)
    actual = quick.jit(lambda *arrays: spans.count_spans(*arrays, table, rule))(*arrays)
    return {name: float(value) for name, value in actual.items()}


def _counts(gold: list, predicted: list, rule: spans.Rule) -> dict[str, float]:
    """Counts of tag sequences of any lengths, padded to one batch."""
    names = sorted({tag for sentence in gold + predicted for tag in sentence})
    width = max(map(len, gold)) + 2
    arrays = []
    for sentences in (gold, predicted):
        array = np.full((len(gold), width), len(names) - 1, np.int32)
        for row, sentence in enumerate(sentences):
            array[row, : len(sentence)] = [names.index(tag) for tag in sentence]
        arrays.append(array)
    valid = np.arange(width)[None] < np.array([len(s) for s in gold])[:, None]
    weight = np.ones(len(gold), np.float32)
    return _count(names, rule, *arrays, valid, weight)


@pytest.mark.parametrize("prefixes", ["BI", "BIES"])
def test_conlleval_counts_equal_seqeval_on_random_sequences(prefixes: str) -> None:
    """Dies if any rule on where a span begins or ends differs, in illegal sequences above all."""
    generator = np.random.default_rng(len(prefixes))
    tags = ["O", *(f"{p}-{k}" for p in prefixes for k in ("PER", "LOC"))]
    pairs = [
        [[tags[i] for i in generator.integers(len(tags), size=length)] for _ in range(2)]
        for length in generator.integers(1, 12, size=400)
    ]
    gold, predicted = [p[0] for p in pairs], [p[1] for p in pairs]
    actual = _counts(gold, predicted, "conlleval")
    truth = [set(get_entities(s)) for s in gold]
    guess = [set(get_entities(s)) for s in predicted]
    assert actual["gold_spans"] == sum(map(len, truth))
    assert actual["predicted_spans"] == sum(map(len, guess))
    assert actual["right_spans"] == sum(len(a & b) for a, b in zip(truth, guess, strict=True)) > 20


@pytest.mark.parametrize("case", GOLDEN, ids=["start", "type"])
def test_golden_cases_by_rule(case: tuple) -> None:
    """Dies if two rules are swapped (published F1 by rule)."""
    gold, predicted = [case[0].split()], [case[1].split()]
    scores = {
        rule: spans.f1(_counts(gold, predicted, rule))["f1"]
        for rule in ("conlleval", "strict", "ukp")
    }
    assert scores["conlleval"] == pytest.approx(case[4])
    assert scores["strict"] == pytest.approx(case[5])
    assert scores["ukp"] == pytest.approx(max(case[2], case[3]))
    dropped = _counts(gold, predicted, "ukp")
    only_dropped = {
        "gold_spans": dropped["gold_spans"],
        "predicted_spans": dropped["predicted_spans_dropped"],
        "right_spans": dropped["right_spans_dropped"],
    }
    assert spans.f1(only_dropped)["f1"] == pytest.approx(case[2])


def test_iobes_read_leniently_and_strictly() -> None:
    """Dies if strict IOBES forgives a wrong inner boundary, or ukp's reading does not."""
    gold, predicted = [["B-PER", "E-PER", "S-PER"]], [["B-PER", "I-PER", "S-PER"]]
    assert spans.f1(_counts(gold, predicted, "ukp"))["f1"] == pytest.approx(1.0)
    assert spans.f1(_counts(gold, predicted, "strict"))["f1"] == pytest.approx(2 / 3)


def test_rows_of_weight_zero_and_padding_do_not_count() -> None:
    """Dies if the weight or the mask is not applied."""
    labels = np.array([[1, 2, 1], [1, 1, 1]])
    valid = np.array([[True, True, False], [True, True, True]])
    weights = np.float32([1, 0])
    actual = _count(["O", "B-X", "I-X"], "conlleval", labels, labels, valid, weights)
    assert actual == {"gold_spans": 1, "predicted_spans": 1, "right_spans": 1}


def test_undefined_scores_are_zero() -> None:
    """Dies if a division by zero escapes (conlleval prints 0)."""
    zero = {"gold_spans": 0.0, "predicted_spans": 0.0, "right_spans": 0.0}
    assert spans.f1(zero) == {"precision": 0.0, "recall": 0.0, "f1": 0.0}
