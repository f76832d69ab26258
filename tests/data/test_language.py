"""Text as windows of tokens: folders and files, words and bytes."""

from pathlib import Path

import numpy as np
import pytest

from jaxeval.data import language
from jaxeval.errors import DataError


def _text(folder: Path) -> str:
    (folder / "wiki.train.txt").write_text("a b c\n\nb a\n" * 9)
    (folder / "wiki.valid.txt").write_text("a z\nb\n")
    (folder / "wiki.test.txt").write_text("c\n")
    return str(folder)


@pytest.mark.parametrize(
    ("tokens", "window", "streams"), [(23, 5, 1), (23, 5, 4), (7, 35, 3), (40, 4, 10)]
)
def test_windows_cover_every_token_once(tokens: int, window: int, streams: int) -> None:
    """Dies if a token is skipped or predicted twice, or a stream's windows leave a gap."""
    actual = language._windows(tokens, window, streams)
    start, length = (column.reshape(-1, streams) for column in actual)
    seen = [s + k for s, n in zip(*actual, strict=True) for k in range(n)]
    assert sorted(seen) == list(range(tokens))
    for stream in range(streams):
        used = length[:, stream] > 0
        steps = np.flatnonzero(used)
        assert list(steps) == list(range(len(steps)))  # no gap before a stream has ended
        np.testing.assert_array_equal(np.diff(start[used, stream]), length[used, stream][:-1])


def test_words_and_ends_of_lines(tmp_path: Path) -> None:
    """Dies if an end of line is lost or doubled, or an unknown word is dropped."""
    settings = language.LanguageData(path=_text(tmp_path), window=4, steps_per_epoch=2)
    text = language.build(settings, batch=3, evaluation_batch=2)
    assert len(text.symbols) == 5  # end, unknown, a, b, c
    assert text.tokens == {"train": 72, "dev": 5, "test": 2}
    tokens = text.corpus.shared["tokens"]
    assert tokens[:9].tolist() == [0, 2, 3, 4, 0, 0, 3, 2, 0]
    assert tokens[73:].tolist() == [0, 2, 1, 0, 3, 0, 0, 4, 0]
    columns, (rows,) = text.corpus.buckets[0], text.given_split["dev"]
    predicted = [
        tokens[columns["start"][r] + 1 + k] for r in rows for k in range(columns["length"][r])
    ]
    assert sorted(predicted) == sorted([2, 1, 0, 3, 0])
    assert len(text.given_split["train"][0]) == 6


def test_bytes_of_one_file_are_cut_in_parts(tmp_path: Path) -> None:
    """Dies if the 90/5/5 cut loses a byte, or an unseen byte has the number of another."""
    path = tmp_path / "head"
    path.write_bytes(bytes(range(65, 85)) * 9 + b"\x00abcdefghi" + b"A" * 10)
    text = language.build(language.LanguageData(path=str(path), unit="byte", window=5), 4, 2)
    assert text.tokens == {"train": 180, "dev": 10, "test": 10}
    assert len(text.symbols) == 21
    tokens = text.corpus.shared["tokens"]
    assert tokens[182:192].tolist() == [0] * 10 and tokens[193:].tolist() == [1] * 10


@pytest.mark.parametrize(
    ("unit", "train", "test", "message"),
    [
        ("word", "a a a\n" * 9, "a b\n", "train repeats a single word"),
        ("byte", "a" * 50, "ab", "train repeats a single byte"),
        ("word", "a b\n" * 9, "a b\n" * 9, "train and test hold the same texts"),
    ],
)
def test_texts_with_nothing_to_learn_or_to_test(
    unit: str, train: str, test: str, message: str, tmp_path: Path
) -> None:
    """Dies if a vocabulary of one is trained on, or train is scored as test."""
    for part, content in (("train", train), ("valid", "b a\n"), ("test", test)):
        (tmp_path / f"{part}.txt").write_text(content)
    with pytest.raises(DataError, match=message):
        language.build(language.LanguageData(path=str(tmp_path), unit=unit, window=4), 2, 2)
