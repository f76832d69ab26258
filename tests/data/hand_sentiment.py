"""A hand-made corpus of classified texts, a generated one, and what is read back from arrays."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jaxeval.contracts import Split
from jaxeval.data import corpora, sentiment, splits

HAND = {
    "train": [
        ("Good bar , bad food .", "bar", "pos"),
        ("Good bar , bad food .", "food", "neg"),
        ("the good bar", "bar", "pos"),
    ],
    "dev": [("bad pub", "pub", "neg")],
    "test": [("odd pub", "pub", "pos")],
}
Lines = Mapping[str, list[tuple[str, str, str]]]


def settings(folder: Path, parts: Lines = HAND, **changes: Any) -> sentiment.SentimentData:
    folder.mkdir(exist_ok=True)
    for part, lines in parts.items():
        rows = ({"text": text, "target": target, "label": label} for text, target, label in lines)
        (folder / f"{part}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    source = sentiment.SentimentSource(path=str(folder))
    return sentiment.SentimentData(source=source, **changes)


def build(folder: Path, parts: Lines = HAND, **changes: Any) -> corpora.WordCorpus:
    return sentiment.build(settings(folder, parts, **changes), 2)


def generated(**changes: Any) -> corpora.WordCorpus:
    source = sentiment.SentimentSource(sentences=60)
    return sentiment.build(sentiment.SentimentData(source=source, **changes), 8)


def real(split: Split) -> dict[str, list[list[int]]]:
    """Rows of each part and bucket, without padding, which must stand behind them."""
    by_part = {}
    for part in splits.PARTS:
        rows = [np.asarray(of_bucket) for of_bucket in getattr(split, part)]
        assert all((np.diff((of_bucket >= 0).astype(int)) <= 0).all() for of_bucket in rows)
        by_part[part] = [of_bucket[of_bucket >= 0].tolist() for of_bucket in rows]
    return by_part


def items(classified: corpora.WordCorpus, split: Split, part: str) -> Counter[tuple]:
    """(words, start, end, label) of each target of a part, read back from the arrays."""
    forms = {row: word for word, row in classified.table.folded.items()}
    counts: Counter[tuple] = Counter()
    for bucket, rows in zip(classified.corpus.buckets, real(split)[part], strict=True):
        for row in rows:
            numbers = bucket["forms"][row, : bucket["length"][row]]
            assert not bucket["forms"][row, bucket["length"][row] :].any()
            text = tuple(forms[n] for n in classified.table.row[numbers].tolist())
            for k in range(bucket["targets"][row]):
                span = bucket["start"][row, k], bucket["end"][row, k]
                counts[text, *map(int, span), classified.labels[bucket["labels"][row, k]]] += 1
    return counts
