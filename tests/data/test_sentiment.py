"""From classified texts to arrays, and their splits."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxeval.config import reading
from jaxeval.data import labelled_text, sentiment, splits
from jaxeval.data.labelled_text import LabelledText, Sentence, Target
from jaxeval.errors import ConfigError, DataError
from tests.data import hand_sentiment


def _text(content: str, *targets: tuple[str, str]) -> LabelledText:
    """A text with a target for each (words, label), at the first place where the words stand."""
    places = [(content.index(words), words, label) for words, label in targets]
    return LabelledText(
        content,
        tuple(Target(at, at + len(words), label) for at, words, label in places),
        (0,) * len(places),
    )


def _words(sentence: Sentence) -> list[list[str]]:
    return [[*sentence.words[target.start : target.end]] for target in sentence.targets]


def _one(text: LabelledText, tokenised: bool = False) -> Sentence:
    (sentence,) = labelled_text.tokenise({"": [text]}, tokenised, {"": "FILE"})[""]
    return sentence


def test_targets_in_words() -> None:
    """Dies if a target at an end, beside punctuation, with accents or emoji or within a word
    covers other words, or keeps its characters' places."""
    content = "Cafe\u0301's bar-food 👩🏽\u200d🍳 wasn't pizza"
    targets = ("Cafe\u0301", "x"), ("ar-foo", "y"), ("👩🏽\u200d🍳", "x"), ("pizza", "y")
    sentence = _one(_text(content, *targets))
    assert _words(sentence) == [["Cafe\u0301"], ["ar", "-", "foo"], ["👩🏽\u200d🍳"], ["pizza"]]
    assert sentence.targets[0] == Target(0, 1, "x")
    assert sentence.targets[-1].end == len(sentence.words)
    assert [*sentence.words[:4]] == ["Cafe\u0301", "'s", "b", "ar"]


@pytest.mark.parametrize("target", ["\x07", ""])
def test_a_text_or_target_without_words_is_refused(target: str) -> None:
    """Dies if control characters, of which no word is made, are a text or a target."""
    text = (
        _text(f"a {target}", (target, "x")) if target else labelled_text.without_target("\x07", 9)
    )
    with pytest.raises(DataError, match=r"FILE.*: expected words, found '\\x07'"):
        _one(text)


def test_equal_texts_have_equal_words() -> None:
    """Dies if a text of two parts is cut in two ways: it could not be dealt as a whole."""
    train, test = _text("barfoodpub", ("food", "x")), _text("barfoodpub", ("bar", "y"))
    read = labelled_text.tokenise(
        {"train": [train], "test": [test]}, False, dict.fromkeys(splits.PARTS, "FILE")
    )
    assert read["train"][0].words == read["test"][0].words == ("bar", "food", "pub")


def test_rows_of_one_text_count_as_having_equally_many_targets() -> None:
    """Dies if they may lie in different buckets, between which splits move nothing."""
    one, two = (Target(0, 1, "x"),), (Target(0, 1, "x"), Target(1, 2, "y"))
    rows = [Sentence(("a", "b"), two), Sentence(("a", "b"), one), Sentence(("c",), one)]
    assert sentiment._most_targets(rows) == sentiment._most_targets(rows[::-1])[::-1] == [2, 2, 1]


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
    assert classified.labels == ["neg", "pos"] and classified.saved["targeted"]
    counts = {part: sum(map(len, classified.given_split[part])) for part in splits.PARTS}
    assert counts == {"train": 3 if rows == "targets" else 2, "dev": 1, "test": 1}
    assert sorted(np.concatenate(classified.positions).tolist()) == [*range(sum(counts.values()))]
    facts = classified.facts["padded_widths"], classified.facts["padded_targets"]
    for bucket, places, width, targets in zip(
        classified.corpus.buckets, classified.positions, *facts, strict=True
    ):
        assert bucket["forms"].shape == (len(places), width)
        assert bucket["start"].shape == bucket["labels"].shape == (len(places), targets)
    assert max(facts[1]) == (1 if rows == "targets" else 2)


def test_padding_that_is_read(tmp_path: Path) -> None:
    """Dies if padding is masked though it is to be read, is a word, or a text is not cut; or if
    a text to be classified is read in another way."""
    folder = tmp_path / "c"
    folder.mkdir()
    for part, lines in {"train": "1 a b c d\n0 c\n", "dev": "1 c d\n", "test": "0 d\n"}.items():
        (folder / part).write_text(lines)
    source = sentiment.SentimentSource(path=str(folder), format="sst")
    data = sentiment.SentimentData(source=source, padded_to=3)
    classified = sentiment.build(data, 2)
    with pytest.raises(ConfigError, match=r"split 1: .*; random ones need data\.vocabulary=all"):
        classified.split(1)
    (bucket,) = classified.corpus.buckets
    assert bucket["length"].tolist() == [3] * 4
    assert (bucket["forms"] > 0).sum(axis=1).tolist() == [3, 1, 2, 1]
    assert classified.corpus.shared["row"][0] == 0 and classified.split(0).tables["known"][0]
    saved = reading.read(sentiment.SavedVocabulary, classified.vocabulary(0))
    texts = [labelled_text.without_target(content, 1) for content in ("a b c d", "c")]
    _, (shared, bucketed) = sentiment.encode(data, saved, texts, folder, 2)
    (others,) = bucketed.columns
    row, known = shared["row"], classified.corpus.shared["row"]
    assert others["length"].tolist() == [3, 3]
    assert row[others["forms"]].tolist() == known[bucket["forms"][:2]].tolist()


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"train": hand_sentiment.HAND["train"][:1]}, "the only label of train is 'pos'"),
        ({"dev": [("a b", "b", "x")]}, "dev: label 'x' of 'a b'; expected those of train: neg"),
        ({"test": hand_sentiment.HAND["train"]}, "train and test hold the same targets"),
    ],
)
def test_what_is_refused(parts: hand_sentiment.Lines, message: str, tmp_path: Path) -> None:
    """Dies if there is nothing to learn, or a label that no model can give passes."""
    with pytest.raises(DataError, match=message):
        hand_sentiment.build(tmp_path / "c", {**hand_sentiment.HAND, **parts})


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
