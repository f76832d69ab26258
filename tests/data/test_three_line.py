"""Blocks of three lines: the place of `$T$`, sentences put together again."""

from pathlib import Path

import pytest

from jaxeval.data import three_line
from jaxeval.data.labelled_text import LabelledText, Target
from jaxeval.errors import DataError

BLOCKS = (
    "the $T$ was fine , the bar food was not\nbar food\n1\n"
    "$T$ rocks :\nZoë 's  pub\n0\n\n"
    "the bar food was fine , the $T$ was not\nbar food\n-1\n"
    "i saw $T$ and $T$s\nbo\n0\n"
)


def _read(folder: Path, content: str) -> list[LabelledText]:
    file = folder / "train.raw"
    file.write_text(content)
    read = three_line.read(file)
    assert read.targeted and read.tokenised
    return [*read.texts]


def test_targets_stand_at_their_hole(tmp_path: Path) -> None:
    """Dies if a target is looked up in its text (the first mention), blocks of one sentence stay
    apart, or `$T$` is left in a text."""
    food, zoe, bo = _read(tmp_path, BLOCKS)
    assert food.text == "the bar food was fine , the bar food was not"
    assert food.targets == (Target(4, 12, "positive"), Target(28, 36, "negative"))
    assert zoe == LabelledText("Zoë 's pub rocks :", (Target(0, 10, "neutral"),))
    assert bo == LabelledText("i saw bo and bo s", (Target(6, 8, "neutral"),))


def test_a_text_that_is_its_target(tmp_path: Path) -> None:
    """Dies if an empty context moves the target."""
    assert _read(tmp_path, "$T$\na b\n1") == [LabelledText("a b", (Target(0, 3, "positive"),))]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (BLOCKS + "more $T$\nx\n", ":14: expected three lines"),
        (BLOCKS.replace("saw $T$ and $T$s", "saw bo"), r":11: expected a text with \$T\$"),
        (BLOCKS.replace("\n-1\n", "\n2\n"), ":10: label '2'; expected -1, 0, 1"),
        (BLOCKS.replace("\nbo\n", "\n  \n"), ":12: the target is empty"),
    ],
)
def test_what_is_refused(content: str, message: str, tmp_path: Path) -> None:
    """Dies if a block that lost a line shifts all others, or an error names another line."""
    with pytest.raises(DataError, match=message):
        _read(tmp_path, content)
