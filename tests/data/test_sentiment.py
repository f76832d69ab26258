"""From classified texts to arrays: a hand-made corpus, splits of all kinds, real counts."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxeval.config import reading
from jaxeval.data import sentiment, sentiment_lookup, sentiment_sources, splits, words
from jaxeval.data.labelled_text import LabelledText, Target
from jaxeval.errors import ConfigError, DataError
from tests.data import hand_sentiment

VECTORS = "pub 1 2\ngood 3 4\n<unk> 5 6\n"


@pytest.mark.parametrize("rows", ["targets", "sentences"])
def test_arrays_hold_the_texts(rows: Any, tmp_path: Path) -> None:
    """Dies if a target changes part, place or label, or a row has another sentence's words."""
    classified = hand_sentiment.build(tmp_path / "c", rows=rows, vocabulary="all")
    text = ("good", "bar", ",", "bad", "food", ".")
    expected = {
        "train": {
            (text, 1, 2, "pos"): 1,
            (text, 4, 5, "neg"): 1,
            (("the", "good", "bar"), 2, 3, "pos"): 1,
        },
        "dev": {(("bad", "pub"), 1, 2, "neg"): 1},
        "test": {(("odd", "pub"), 1, 2, "pos"): 1},
    }
    split = classified.split(0)
    assert {
        part: hand_sentiment.items(classified, split, part) for part in splits.PARTS
    } == expected
    assert classified.labels == ["neg", "pos"] and classified.targeted
    counts = {part: sum(map(len, classified.given_split[part])) for part in splits.PARTS}
    assert counts == {"train": 3 if rows == "targets" else 2, "dev": 1, "test": 1}
    assert sorted(np.concatenate(classified.positions).tolist()) == [*range(sum(counts.values()))]
    for bucket, shape, places in zip(
        classified.corpus.buckets, classified.shapes, classified.positions, strict=True
    ):
        assert bucket["forms"].shape == (len(places), shape.width)
        assert bucket["start"].shape == bucket["labels"].shape == (len(places), shape.targets)
    assert max(shape.targets for shape in classified.shapes) == (1 if rows == "targets" else 2)


def test_vectors(tmp_path: Path) -> None:
    """Dies if a vector lands on another word, or coverage is not told."""
    (tmp_path / "v").write_text(VECTORS)
    classified = hand_sentiment.build(
        tmp_path / "c", vectors=str(tmp_path / "v"), vectors_unknown="<unk>"
    )
    named = classified.vocabulary(0)["vectors"]
    assert {n: classified.table.vectors[row].tolist() for n, row in named.items()} == {
        "pub": [1, 2],
        "good": [3, 4],
    }
    assert classified.table.vectors[words.UNKNOWN].tolist() == [5, 6]
    assert classified.findings.facts["vectors"]["dev"] == {"tokens": 0.5, "types": 0.5}
    assert classified.corpus.shared["pretrained"].sum() == 4
    untrained = classified.table.untrained
    assert [*untrained(True)] == ["vectors"] and untrained(False)


def test_texts_without_targets(tmp_path: Path) -> None:
    """Dies if the label of a whole text is of its first word, or counts as no target."""
    folder = tmp_path / "c"
    folder.mkdir()
    for part, lines in {"train": "1 a b\n0 c\n", "dev": "1 c d\n", "test": "0 d\n"}.items():
        (folder / part).write_text(lines)
    source = sentiment_sources.SentimentSource(path=str(folder), format="sst")
    classified = sentiment.build(sentiment.SentimentData(source=source), 2)
    assert not classified.targeted
    assert {shape.targets for shape in classified.shapes} == {1}
    for bucket in classified.corpus.buckets:
        assert bucket["targets"].tolist() == [1] * len(bucket["length"])
        assert not bucket["start"].any() and not bucket["end"].any()
    assert classified.vocabulary(0)["tokenised"] and not classified.vocabulary(0)["targeted"]


def test_padding_that_is_read(tmp_path: Path) -> None:
    """Dies if padding is masked though it is to be read, is a word, or a text is not cut; or if
    a text to be classified is read in another way."""
    folder = tmp_path / "c"
    folder.mkdir()
    for part, lines in {"train": "1 a b c d\n0 c\n", "dev": "1 c d\n", "test": "0 d\n"}.items():
        (folder / part).write_text(lines)
    source = sentiment_sources.SentimentSource(path=str(folder), format="sst")
    data = sentiment.SentimentData(source=source, padded_to=3)
    classified = sentiment.build(data, 2)
    (bucket,) = classified.corpus.buckets
    assert bucket["length"].tolist() == [3] * 4
    assert (bucket["forms"] > 0).sum(axis=1).tolist() == [3, 1, 2, 1]
    assert classified.corpus.shared["row"][0] == 0 and classified.split(0).tables["known"][0]
    saved = reading.from_dict(sentiment_lookup.SavedVocabulary, classified.vocabulary(0))
    texts = [LabelledText("a b c d", (Target(0, 0, ""),)), LabelledText("c", (Target(0, 0, ""),))]
    encoded = sentiment_lookup.encode(data, saved, texts, 2)
    (others,) = encoded.columns
    row, known = encoded.shared["row"], classified.corpus.shared["row"]
    assert others["length"].tolist() == [3, 3]
    assert row[others["forms"]].tolist() == known[bucket["forms"][:2]].tolist()


def test_texts_that_begin_alike_are_different_ones(tmp_path: Path) -> None:
    """Dies if random splits deal texts together, or keep one of them, for equal first words."""
    folder = tmp_path / "c"
    folder.mkdir()
    for part in splits.PARTS:
        lines = [f"{n % 2} a {part} {n}\n" for n in range(20)]
        (folder / part).write_text("".join(lines))
    source = sentiment_sources.SentimentSource(path=str(folder), format="sst")
    read = [
        sentiment.build(sentiment.SentimentData(source=source, vocabulary="all", padded_to=n), 4)
        for n in (None, 1)
    ]
    counts = [[sum(map(len, of)) for of in data.split(1)[:3]] for data in read]
    assert counts[0] == counts[1] and min(counts[0]) > 3


def test_texts_with_targets_are_not_cut(tmp_path: Path) -> None:
    """Dies if a target may be cut off."""
    with pytest.raises(ConfigError, match=r"data\.padded_to"):
        sentiment.build(sentiment.SentimentData(padded_to=3), 2)


def test_fingerprint_covers_what_was_read(tmp_path: Path) -> None:
    """Dies if a changed word, place, label or part leaves it, or what a row is changes it."""
    first = hand_sentiment.build(tmp_path / "c").fingerprint
    assert (
        first
        == hand_sentiment.build(tmp_path / "c", rows="sentences", vocabulary="all").fingerprint
    )
    changed = [
        {**hand_sentiment.HAND, "dev": [("bad club", "club", "neg")]},
        {**hand_sentiment.HAND, "dev": [("bad pub", "bad", "neg")]},
        {**hand_sentiment.HAND, "dev": [("bad pub", "pub", "pos")]},
        {
            **hand_sentiment.HAND,
            "dev": hand_sentiment.HAND["test"],
            "test": hand_sentiment.HAND["dev"],
        },
    ]
    prints = [
        hand_sentiment.build(tmp_path / f"c{k}", parts).fingerprint
        for k, parts in enumerate(changed)
    ]
    assert len({first, *prints}) == 5


def test_named_labels(tmp_path: Path) -> None:
    """Dies if their order is not kept, or a config cannot name them."""
    assert hand_sentiment.build(tmp_path / "c", labels=("pos", "odd", "neg")).labels == [
        "pos",
        "odd",
        "neg",
    ]
    read = reading.read(sentiment.SentimentData, None, ['labels=["b", "a"]'])
    assert read.labels == ("b", "a")
    for labels in ('["a"]', '["a", "a"]', "none"):
        with pytest.raises(ConfigError, match="labels"):
            reading.read(sentiment.SentimentData, None, [f"labels={labels}"])


@pytest.mark.parametrize(
    ("parts", "changes", "message"),
    [
        ({"train": hand_sentiment.HAND["train"][:1]}, {}, "the only label of train is 'pos'"),
        (
            {"dev": [("a b", "b", "x")]},
            {},
            "dev: label 'x' of 'a b'; expected those of train: neg",
        ),
        ({}, {"labels": ("pos", "x")}, "label 'neg' of .*; expected those of data.labels: pos, x"),
        ({"test": hand_sentiment.HAND["train"]}, {}, "train and test hold the same targets"),
    ],
)
def test_what_is_refused(
    parts: hand_sentiment.Lines, changes: dict, message: str, tmp_path: Path
) -> None:
    """Dies if there is nothing to learn, or a label that no model can give passes."""
    with pytest.raises(DataError, match=message):
        hand_sentiment.build(tmp_path / "c", {**hand_sentiment.HAND, **parts}, **changes)


def test_findings(tmp_path: Path) -> None:
    """Dies if counts of classes are of rows, or a drawn part is not told."""
    assert hand_sentiment.build(tmp_path / "c", rows="sentences").findings.facts == {
        "texts": {"train": 2, "dev": 1, "test": 1},
        "classes": {"train": {"neg": 1, "pos": 2}, "dev": {"neg": 1}, "test": {"pos": 1}},
    }
    settings = hand_sentiment.settings(
        tmp_path / "d",
        {
            "train": hand_sentiment.HAND["train"]
            + hand_sentiment.HAND["dev"]
            + hand_sentiment.HAND["test"]
        },
    )
    drawn = sentiment.build(
        reading.read(
            sentiment.SentimentData, settings, ["test_fraction=0.25", "dev_fraction=0.4"]
        ),
        2,
    )
    assert "test: the files have none; it is 25% of train's texts" in drawn.findings.remarks[1]


def test_contradictions_and_mixed_forms_are_told(tmp_path: Path) -> None:
    """Dies if one target has two labels, or one file two Unicode forms, without a word of it."""
    composed, apart = "caf\u00e9", "cafe\u0301"
    train = [*hand_sentiment.HAND["train"], ("the good bar", "bar", "neg")]
    train += [(f"a {form} here", form, "pos") for form in (composed, apart)]
    found = hand_sentiment.build(tmp_path, {**hand_sentiment.HAND, "train": train})
    said = "\n".join(found.findings.warnings)
    assert "train: 1 targets have several labels, such as 'bar' (neg, pos)" in said
    assert "train mixes NFC (1) and NFD (1): equal letters are different symbols" in said
    plain = hand_sentiment.build(tmp_path / "p").findings.warnings
    assert not [line for line in plain if "several labels" in line or "mixes" in line]


@pytest.mark.skipif("JAXEVAL_DATA" not in os.environ, reason="JAXEVAL_DATA names no data folder")
@pytest.mark.parametrize(
    ("folder", "name", "counts"),
    [("sst", "sst", (6920, 872, 1821)), ("trec", "trec", (4362, 1090, 500))],
)
def test_published_sizes(folder: str, name: Any, counts: tuple[int, ...]) -> None:
    """Dies if texts are lost between file and arrays; TREC's dev is a fifth of its texts."""
    path = str(Path(os.environ["JAXEVAL_DATA"]) / folder)
    source = sentiment_sources.SentimentSource(path=path, format=name)
    classified = sentiment.build(sentiment.SentimentData(source=source), 32)
    sizes = [sum(map(len, classified.given_split[part])) for part in splits.PARTS]
    assert np.abs(np.array(sizes) - counts).max() <= (0 if name == "sst" else 2)
    assert sum(sizes) == sum(counts)
