"""Streams and windows: every token is predicted once, from the one before it."""

from pathlib import Path

import numpy as np
import pytest

from jaxeval.data import language
from jaxeval.errors import ConfigError, DataError


def _text(folder: Path) -> str:
    (folder / "wiki.train.txt").write_text("a b c\n\nb a\n" * 9)
    (folder / "wiki.valid.txt").write_text("a z\nb\n")
    (folder / "wiki.test.txt").write_text("c\n")
    return str(folder)


@pytest.mark.parametrize(
    ("tokens", "window", "heads"), [(23, 5, 1), (23, 5, 4), (7, 35, 3), (40, 4, 10)]
)
def test_windows_cover_every_token_once(tokens: int, window: int, heads: int) -> None:
    """Dies if a token is skipped or predicted twice, or a head's windows leave a gap."""
    found = language.windows(tokens, window, heads)
    start, length = (column.reshape(-1, heads) for column in found)
    seen = [s + k for s, n in zip(found.start, found.length, strict=True) for k in range(n)]
    assert sorted(seen) == list(range(tokens))
    for head in range(heads):
        used = length[:, head] > 0
        steps = np.flatnonzero(used)
        assert list(steps) == list(range(len(steps)))  # no gap before a head has ended
        np.testing.assert_array_equal(np.diff(start[used, head]), length[used, head][:-1])


def test_words_and_ends_of_lines(tmp_path: Path) -> None:
    """Dies if an end of line is lost or doubled, or an unknown word is dropped."""
    settings = language.Data(path=_text(tmp_path), window=4, turn=2)
    made = language.build(settings, batch=3, evaluation_batch=2)
    assert made.vocabulary == 5  # end, unknown, a, b, c
    assert made.tokens == {"train": 72, "dev": 5, "test": 2}
    tokens = made.corpus.shared["tokens"]
    assert tokens[:9].tolist() == [0, 2, 3, 4, 0, 0, 3, 2, 0]
    assert tokens[73:].tolist() == [0, 2, 1, 0, 3, 0, 0, 4, 0]
    columns, rows = made.corpus.buckets[0], made.rows["dev"]
    predicted = [
        tokens[columns["start"][r] + 1 + k] for r in rows for k in range(columns["length"][r])
    ]
    assert sorted(predicted) == sorted([2, 1, 0, 3, 0])
    assert len(made.rows["train"]) == 6
    with pytest.raises(ConfigError, match="no --splits"):
        made.split(1)


def test_bytes_of_one_file_are_cut_in_parts(tmp_path: Path) -> None:
    """Dies if the 90/5/5 cut loses a byte, or an unseen byte has the number of another."""
    path = tmp_path / "head"
    path.write_bytes(bytes(range(65, 85)) * 9 + b"\x00abcdefghi" + b"A" * 10)
    made = language.build(language.Data(path=str(path), unit="byte", window=5), 4, 2)
    assert made.tokens == {"train": 180, "dev": 10, "test": 10}
    assert made.vocabulary == 21
    tokens = made.corpus.shared["tokens"]
    assert tokens[182:192].tolist() == [0] * 10 and tokens[193:].tolist() == [1] * 10


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    """Dies if a wrong folder is a traceback."""
    with pytest.raises(DataError, match="no such folder"):
        language.build(language.Data(path=str(tmp_path / "x")), 2, 2)
    _text(tmp_path)
    with pytest.raises(DataError, match=r"0 files match '\*dev\*' for dev"):
        language.build(language.Data(path=str(tmp_path), dev="*dev*"), 2, 2)
    with pytest.raises(DataError, match="train: 72 tokens are too few"):
        language.build(language.Data(path=str(tmp_path)), 100, 2)
    with pytest.raises(DataError, match="cannot be read"):
        language.build(language.Data(path=str(tmp_path / "x"), unit="byte"), 2, 2)
