"""Decimal numbers of a whole text at once."""

import random

import numpy as np
import pytest

from jaxeval.data import decimals


def _parsed(words: list[str]) -> np.ndarray | None:
    return decimals.parse((" ".join(words) + "\n").encode(), len(words))


def _number(generator: random.Random) -> str:
    """Any number of digits before and after the point, perhaps no point, or an exponent."""
    whole, fraction = (
        "".join(generator.choices("0123456789", k=generator.randint(low, high)))
        for low, high in ((1, 10), (0, 18))
    )
    point = generator.choice(["."] * 9 + [""])
    exponent = generator.choice([""] * 9 + ["e-5", "E3", "e+10"])
    return generator.choice(["", "-"]) + whole + point + fraction + exponent


def test_every_bit_is_as_float_has_it() -> None:
    """Dies if digits are summed in floating point, or a power of ten beyond 10^15 is used."""
    generator = random.Random(0)
    words = [_number(generator) for _ in range(20_000)]
    words += ["-0.0", "0.0", "0.1", ".5", "5.", "+1.5", "9007199254740993.0", "1e-400"]
    parsed = _parsed(words)
    assert parsed is not None
    expected = np.array([float(word) for word in words])
    np.testing.assert_array_equal(parsed.view(np.uint64), expected.view(np.uint64))


@pytest.mark.parametrize(
    "word",
    [
        "",
        "x",
        "1.2.3",
        "1.5-2",
        "-",
        "--1.5",
        ".",
        "1.x5",
        "1:5",
        "1.5/",
        "0x1.8",
        "1,5",
        "x.5",
        ":.5",
    ],
)
def test_no_number_is_taken_for_one(word: str) -> None:
    """Dies if characters next to the digits in ASCII count as digits, or a sign as a separator."""
    assert _parsed(["0.25", word, "-1.5"]) is None


def test_numbers_must_be_as_many() -> None:
    """Dies if a number more or less shifts all that follow."""
    assert decimals.parse(b"1.5 2.5\n", 3) is None
    assert decimals.parse(b"1.5 2.5\n", 1) is None
