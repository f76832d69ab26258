"""Random splits of classified texts, and what is counted in the train part of each."""

import functools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxeval.data import buckets, sentiment, splits, words
from jaxeval.errors import ConfigError
from tests.data import hand_sentiment


@pytest.mark.parametrize("rows", ["targets", "sentences"])
@pytest.mark.parametrize("split", ["stratified", "block"])
def test_random_splits_keep_texts_whole_and_shapes_equal(split: Any, rows: Any) -> None:
    """Dies if targets of a text are in two parts, a row is lost or doubled, padding is in front,
    or a split's arrays have other shapes: its members could not share a program."""
    classified = hand_sentiment.generated(split=split, rows=rows, vocabulary="all")
    own = classified.split(0)
    texts = [
        [tuple(row[: row.nonzero()[0].max() + 1]) for row in bucket["forms"]]
        for bucket in classified.corpus.buckets
    ]
    whole = [*range(sum(map(len, texts)))]
    seen = []
    for number in range(4):
        drawn = classified.split(number)
        real = hand_sentiment.real(drawn)
        for part in splits.PARTS:
            assert [*map(len, getattr(drawn, part))] == [*map(len, getattr(own, part))]
        positions = {
            part: [classified.positions[b][row] for b, of in enumerate(real[part]) for row in of]
            for part in splits.PARTS
        }
        assert sorted(sum(positions.values(), [])) == whole  # noqa: RUF017
        of_part = {
            part: {texts[b][row] for b, of in enumerate(real[part]) for row in of}
            for part in splits.PARTS
        }
        assert sum(map(len, of_part.values())) == len(set().union(*of_part.values()))
        seen.append(sorted(map(int, positions["test"])))
        if split == "stratified":
            assert {p: sum(map(len, of)) for p, of in real.items()} == {
                p: sum(map(len, of)) for p, of in classified.given_split.items()
            }
    assert len({*map(tuple, seen)}) == 4


def test_block_splits_do_not_depend_on_what_a_row_is() -> None:
    """Dies if models that see a sentence's targets at once are tested on other blocks."""
    parts = []
    for rows in ("targets", "sentences"):
        classified = hand_sentiment.generated(split="block", rows=rows, vocabulary="all")
        parts.append(
            [hand_sentiment.items(classified, classified.split(k), "test") for k in (0, 1, 2)]
        )
    assert parts[0] == parts[1]


def test_a_text_that_stands_in_two_parts_is_dealt_as_one(tmp_path: Path) -> None:
    """Dies if it is in train and test of a random split, or arrays are too short for it."""
    text = ("odd pub", "odd", "neg")
    parts = {
        **hand_sentiment.HAND,
        "train": [*hand_sentiment.HAND["train"], text],
        "dev": [*hand_sentiment.HAND["dev"], ("so bad", "so", "neg")],
    }
    classified = hand_sentiment.build(tmp_path / "c", parts, vocabulary="all")
    assert [sum(map(len, part)) for part in classified.split(0)[:3]] == [5, 2, 1]
    with pytest.raises(ConfigError, match="split 1: no text is left for test, of 5"):
        classified.split(1)
    parts["test"] = [*parts["test"], ("no pub", "pub", "neg")]
    classified = hand_sentiment.build(tmp_path / "d", parts, vocabulary="all")
    for number in range(1, 9):
        real = hand_sentiment.real(classified.split(number))
        together = [
            hand_sentiment.items(classified, classified.split(number), part) for part in real
        ]
        whole = [items for items in together if any(item[0] == ("odd", "pub") for item in items)]
        assert len(whole) == 1 and sum(map(Counter.total, together)) == 8


def test_rows_of_a_text_lie_in_one_bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a text that stands again with fewer targets lies in the bucket of these: what is
    dealt as a whole is counted in one bucket, and arrays of random splits are too short."""
    free = functools.partial(buckets.choose_shapes, shape_cost=0)
    monkeypatch.setattr(buckets, "choose_shapes", free)
    again = [("Good bar , bad food .", "food", "neg")]
    parts = {
        **hand_sentiment.HAND,
        "dev": [*hand_sentiment.HAND["dev"], *again],
        "test": [*hand_sentiment.HAND["test"], ("a b", "a", "neg")],
    }
    classified = hand_sentiment.build(tmp_path / "c", parts, rows="sentences", vocabulary="all")
    assert [shape.targets for shape in classified.shapes] == [1, 2]
    assert [bucket["targets"].tolist() for bucket in classified.corpus.buckets][1] == [2, 1]
    for number in range(1, 9):
        real = hand_sentiment.real(classified.split(number))
        assert sum(len(rows) for of_part in real.values() for rows in of_part) == 6


def test_random_splits_need_all_words(tmp_path: Path) -> None:
    """Dies if random splits are drawn although words of their train may have no row."""
    settings = hand_sentiment.settings(tmp_path / "c")
    with pytest.raises(ConfigError, match=r"split 1: .* data\.vocabulary=all"):
        sentiment.build(settings, 2).split(1)


def test_known_and_once_count_a_text_once(tmp_path: Path) -> None:
    """Dies if a word counts for every target of its text, or words of dev do."""
    classified = hand_sentiment.build(tmp_path / "c")
    names = {row: word for word, row in classified.table.folded.items()}
    tables = classified.split(0).tables
    once = {names[row] for row in np.flatnonzero(tables["once"]).tolist()}
    known = {names[row] for row in np.flatnonzero(tables["known"]).tolist() if row > words.UNKNOWN}
    assert once == {",", "bad", "food", ".", "the"} and known == once | {"good", "bar"}
    two = hand_sentiment.build(tmp_path / "c", min_count=2).split(0).tables["known"]
    assert two.sum() == words.UNKNOWN + 1 + 2


def test_known_of_random_splits() -> None:
    """Dies if tables are those of the given split, or padding counts as the bucket's last row."""
    classified = hand_sentiment.generated(split="block", vocabulary="all", min_count=2)
    for number in (1, 2):
        split = classified.split(number)
        texts = {
            tuple(classified.table.row[bucket["forms"][row, : bucket["length"][row]]].tolist())
            for bucket, rows in zip(
                classified.corpus.buckets, hand_sentiment.real(split)["train"], strict=True
            )
            for row in rows
        }
        counts = Counter(row for text in texts for row in text)
        real = range(2, len(classified.table.vectors))
        assert split.tables["known"][2:].tolist() == [counts[row] > 1 for row in real]
        assert split.tables["once"][2:].tolist() == [counts[row] == 1 for row in real]
