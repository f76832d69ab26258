"""Which words, characters and tags get numbers and vectors; what is saved of them."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from jaxeval.data import tagging, words
from tests.data import hand_tagging

SWAPPED = {
    **hand_tagging.HAND,
    "dev": "Ünder S-LOC\nowl O\ndogs O\n",
    "test": "a B-ORG\nlonger E-ORG\n\nother O\n",
}


def test_rows_of_the_vocabulary_depend_on_train_alone(tmp_path: Path) -> None:
    """Dies if a word, character, tag or vector of dev or test moves or adds a row of train's."""
    built = [
        tagging.build(hand_tagging.with_vectors(tmp_path / name, parts=parts), 2)
        for name, parts in (("a", hand_tagging.HAND), ("b", SWAPPED))
    ]
    first, second = built
    rows = first.table.vocabulary
    assert rows == second.table.vocabulary == 2 + 5  # red, dog, fox, ran, far9
    np.testing.assert_array_equal(first.table.vectors[:rows], second.table.vectors[:rows])
    for name in ("labels", "characters", "scheme"):
        assert first.saved[name] == second.saved[name]
    for settings, tagged in zip(("a", "b"), built, strict=True):
        forms = hand_tagging.forms(
            hand_tagging.settings(
                tmp_path / settings, hand_tagging.HAND if settings == "a" else SWAPPED
            )
        )
        row = dict(zip(forms, tagged.table.row.tolist(), strict=True))
        assert [row[word] for word in ("red", "Red", "dog", "far9", "fox", "ran")] == [
            *(2, 2, 3, 4, 5, 6)
        ]


def test_words_outside_the_vocabulary(tmp_path: Path) -> None:
    """Dies if a read vector of a test word is lost or trained, or other words are not unknown."""
    parts = {**hand_tagging.HAND, "test": "fox O\nowl O\nelk O\n"}
    vectors = f"{hand_tagging.VECTORS}elk 9 9\n"
    settings = hand_tagging.with_vectors(tmp_path / "c", vectors, parts=parts)
    tagged = tagging.build(settings, 2)
    row = dict(zip(hand_tagging.forms(settings), tagged.table.row.tolist(), strict=True))
    assert row["owl"] == tagged.table.vocabulary and row["blue"] == words.UNKNOWN
    assert tagged.table.vectors[[row["owl"], row["elk"]]].tolist() == [[1, 2], [9, 9]]
    assert tagged.split(0).tables["known"][row["owl"]]
    trained = SimpleNamespace(model=SimpleNamespace(words=SimpleNamespace(trained=True)))
    assert [*tagged.tables(trained)] == ["vectors"]  # those of owl and elk are not parameters
    folded = {**hand_tagging.HAND, "test": "Dog O\n"}
    settings = hand_tagging.settings(tmp_path / "folded", folded)
    row = dict(
        zip(hand_tagging.forms(settings), tagging.build(settings, 2).table.row, strict=True)
    )
    assert row["Dog"] == row["dog"] > words.UNKNOWN


def test_coverage_of_vectors(tmp_path: Path) -> None:
    """Dies if types are counted for tokens, or spellings are not looked up. Red, red: 2 of 6."""
    actual = tagging.build(hand_tagging.with_vectors(tmp_path / "c"), 2).findings
    assert actual.facts["vectors"] == {
        "train": {"tokens": 0.3333, "types": 0.3333},
        "dev": {"tokens": 0.0, "types": 0.0},
        "test": {"tokens": 0.5, "types": 0.5},
    }
    assert "train 33.3 % (33.3 %)" in actual.remarks[0]
    assert "only 33.3 % of train's tokens have a vector" in actual.warnings[-1]


@pytest.mark.parametrize("vocabulary", ["train", "all"])
def test_a_saved_vocabulary_finds_the_row_of_any_word(vocabulary: str, tmp_path: Path) -> None:
    """Dies if a lookup by the file alone differs from training's, or row 1 is given out."""
    settings = hand_tagging.with_vectors(tmp_path / "c", vocabulary=vocabulary)
    tagged = tagging.build(settings, 2)
    saved = tagged.vocabulary(0)
    known = tagged.split(0).tables["known"]

    def row_of(word: str) -> int:
        named = (saved["vectors"][s] for s in words.spellings(word) if s in saved["vectors"])
        return next(named, saved["words"].get(word.lower(), words.UNKNOWN))

    for form, row in zip(
        hand_tagging.forms(settings)[1:], tagged.table.row.tolist()[1:], strict=True
    ):
        assert row_of(form) == (row if known[row] else words.UNKNOWN)
    assert row_of("RED") == row_of("red") and row_of("DOG") == row_of("dog") > words.UNKNOWN
    assert row_of("owl") != words.UNKNOWN == row_of("blue") == row_of("unheard")
    assert min([*saved["vectors"].values(), *saved["words"].values()]) > words.UNKNOWN


def test_a_saved_vocabulary_tells_nothing_of_test(tmp_path: Path) -> None:
    """Dies if words of dev or test without a vector, also spelled otherwise, are written."""
    other = {**hand_tagging.HAND, "dev": "DOG O\nred S-COL\n", "test": "Fox O\nmoth O\n"}
    first, second = (
        tagging.build(hand_tagging.settings(tmp_path / name, parts), 2).vocabulary(0)
        for name, parts in (("a", hand_tagging.HAND), ("b", other))
    )
    assert first == second and sorted(first["words"]) == ["dog", "far9", "fox", "ran", "red"]
