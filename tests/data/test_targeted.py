"""Texts in words, and rows of them as arrays."""

import numpy as np

from jaxeval.data import targeted
from jaxeval.data.buckets import Shape
from jaxeval.data.labelled_text import LabelledText, Target, by_text
from jaxeval.data.targeted import Row, TargetedSentence


def _text(content: str, *targets: tuple[str, str]) -> LabelledText:
    """A text with a target for each (words, label), at the first place where the words stand."""
    places = [(content.index(words), words, label) for words, label in targets]
    return LabelledText(
        content, tuple(Target(at, at + len(words), label) for at, words, label in places)
    )


def _words(sentence: TargetedSentence) -> list[list[str]]:
    return [[*sentence.words[target.start : target.end]] for target in sentence.targets]


def _one(text: LabelledText, tokenised: bool = False) -> TargetedSentence:
    (sentence,) = targeted.sentences({"train": [text]}, tokenised)["train"]
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


def test_every_mention_has_its_own_place() -> None:
    """Dies if the second of two equal targets is looked up and found in place of the first."""
    content = "bar , bar and bar"
    (text,) = by_text((content, Target(at, at + 3, label)) for at, label in ((14, "a"), (6, "b")))
    assert _one(text).targets == (Target(2, 3, "b"), Target(4, 5, "a"))


def test_a_text_that_is_its_target() -> None:
    """Dies if an empty context is an error."""
    assert _one(_text("bar", ("bar", "x"))).targets == (Target(0, 1, "x"),)


def test_words_between_blanks_are_cut_at_targets_alone() -> None:
    """Dies if text that is in words already is cut by rules, or a target keeps its neighbours."""
    sentence = _one(_text("don't #food-court .", ("food", "x")), tokenised=True)
    assert sentence.words == ("don't", "#", "food", "-court", ".")
    assert sentence.targets == (Target(2, 3, "x"),)


def test_labels_of_whole_texts_have_no_place() -> None:
    """Dies if 0, 0 is looked up in the words."""
    assert _one(LabelledText(" so", (Target(0, 0, "x"),))).targets == (Target(0, 0, "x"),)


def test_equal_texts_have_equal_words() -> None:
    """Dies if a text of two parts is cut in two ways: it could not be dealt as a whole."""
    train, test = _text("barfoodpub", ("food", "x")), _text("barfoodpub", ("bar", "y"))
    read = targeted.sentences({"train": [train], "test": [test]}, False)
    assert read["train"][0].words == read["test"][0].words == ("bar", "food", "pub")


SENTENCES = [
    TargetedSentence(("a", "b", "c"), (Target(0, 1, "x"), Target(1, 3, "y"))),
    TargetedSentence(("b",), (Target(0, 1, "y"),)),
]


def test_rows() -> None:
    """Dies if a row a target holds other targets, or a sentence is doubled or lost."""
    first, second = SENTENCES
    x, y = first.targets
    assert targeted.rows(SENTENCES, "sentences") == [
        Row(first, (x, y)),
        Row(second, second.targets),
    ]
    assert targeted.rows(SENTENCES, "targets") == [
        Row(first, (x,)),
        Row(first, (y,)),
        Row(second, second.targets),
    ]


def test_arrays_of_rows() -> None:
    """Dies if padding is no 0, a target takes another's place or label, or K is not kept."""
    numbers = targeted.Numbers(["", "a", "b", "c"], ["x", "y"])
    arrays = targeted.columns(targeted.rows(SENTENCES, "sentences"), numbers, Shape(4, 3))
    expected = {
        "forms": [[1, 2, 3, 0], [2, 0, 0, 0]],
        "length": [3, 1],
        "start": [[0, 1, 0], [0, 0, 0]],
        "end": [[1, 3, 0], [1, 0, 0]],
        "targets": [2, 1],
        "labels": [[0, 1, 0], [1, 0, 0]],
    }
    assert {name: array.tolist() for name, array in arrays.items()} == expected
    assert all(array.dtype == np.int32 for array in arrays.values())
