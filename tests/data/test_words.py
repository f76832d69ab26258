"""What a tagger sees of a word: casing, spellings, characters."""

import numpy as np
import pytest

from jaxeval.data import words

KINDS = {
    "2024": "numeric",
    "3.5": "mainly_numeric",
    "12a": "mainly_numeric",
    "1a": "all_lower",
    "zoë": "all_lower",
    "U2": "all_upper",
    "ÉTÉ": "all_upper",
    "Zoë": "initial_upper",
    "B2b": "initial_upper",
    "x2Y": "contains_digit",
    "iPhone": "other",
    "--": "other",
}


@pytest.mark.parametrize(("word", "kind"), KINDS.items())
def test_casing(word: str, kind: str) -> None:
    """Dies if two tests change places, or exactly half digits counts as mainly numeric."""
    assert words.CASINGS[words.casing(word)] == kind


def test_every_casing_but_padding_occurs() -> None:
    """Dies if a kind is added that no word here has, or padding is a word's."""
    assert {*KINDS.values()} == {*words.CASINGS} - {"padding"}
    assert words.CASINGS[words.PADDING] == "padding"


@pytest.mark.parametrize(
    ("word", "normal"),
    [
        ("London", "london"),
        ("a--b", "a-b"),
        ('""', '"'),
        ("2006-09-12", "DATE_TOKEN"),
        ("9:30", "TIME_TOKEN"),
        ("12:30:05", "TIME_TOKEN"),
        ("3,000.5", "NUMBER_TOKEN"),
        ("5pm", "NUMBER_TOKENpm"),
        (".", "NUMBER_TOKEN"),
    ],
)
def test_normalise(word: str, normal: str) -> None:
    """Dies if numbers are replaced before dates and times, or the tokens are lowered too."""
    assert words.normalise(word) == normal


def test_zero_digits() -> None:
    """Dies if a run of digits becomes one 0: Lample keeps a number's length."""
    assert words.zero_digits("B-52, 2024") == "B-00, 0000"


def test_the_first_known_spelling_counts() -> None:
    """Dies if a word as it stands does not come before lower case, or that before normalised."""
    index = {"Bath": 0, "bath": 1, "NUMBER_TOKEN": 2, "7": 3}
    forms = ["Bath", "BATH", "bath", "7", "8", "cat"]
    actual = words.rows(forms, index)
    assert actual.tolist() == [0, 1, 1, 3, 2, -1]
    assert actual.dtype == np.int32


def test_alphabet_is_the_same_for_the_same_characters() -> None:
    """Dies if numbers begin at padding or unknown, or follow the order of the forms."""
    assert words.alphabet(["ba", "aé"]) == words.alphabet(["éa", "b"]) == {"a": 2, "b": 3, "é": 4}


def test_characters_are_cut_and_padded() -> None:
    """Dies if a long form widens the table, or a character without number is padding."""
    table = words.characters(["", "ab", "azb", "bbbbbbb"], {"a": 2, "b": 3}, most=4)
    assert table.tolist() == [[0, 0, 0, 0], [2, 3, 0, 0], [2, 1, 3, 0], [3, 3, 3, 3]]
    assert words.characters(["", "ab"], {"a": 2, "b": 3}, most=4).shape == (2, 2)


@pytest.mark.parametrize("count", [249, 250, 255, 300])
def test_many_characters_keep_their_numbers(count: int) -> None:
    """Dies if a number wraps around in bytes (Chinese)."""
    form = "".join(chr(0x4E00 + i) for i in range(count))
    table = words.characters([form], words.alphabet([form]), most=count)
    assert table[0].tolist() == [*range(2, count + 2)]
