"""Counts of words near one another against a loop, PPMI by hand, the SVD against numpy's."""

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from jaxeval.data import vectors
from jaxeval.errors import ConfigError, DataError
from jaxeval.vectors import svd

WORDS = [f"w{k}" for k in range(9)]
TWELVE = """\
the cat sat on the mat
a dog sat on a log
the dog saw the cat
a bird saw a dog by the log
the bird sat by the mat near a log
"""


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """200 lines of 0 to 12 words, frequent and rare ones."""
    generator = np.random.default_rng(0)
    share = np.arange(1, 10) / 45
    lines = [generator.choice(WORDS, size, p=share) for size in generator.integers(0, 13, 200)]
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(map(" ".join, lines)) + "\n")
    return path


@pytest.fixture
def twelve(tmp_path: Path) -> Path:
    path = tmp_path / "twelve.txt"
    path.write_text(TWELVE)
    return path


def _loop(path: Path, words: list[str], size: int) -> np.ndarray:
    """As corpus2pairs of hyperwords does it, without its random numbers."""
    pairs: Counter[tuple[str, str]] = Counter()
    for line in path.read_text().splitlines():
        tokens = [word if word in words else None for word in line.split()]
        for i, word in enumerate(tokens):
            near = tokens[max(0, i - size) : i] + tokens[i + 1 : i + size + 1]
            pairs.update((word, context) for context in near if word and context)
    return np.array([[pairs[word, context] for context in words] for word in words])


@pytest.mark.parametrize("size", [1, 3])
def test_windows(text: Path, size: int) -> None:
    """Dies if windows cross lines, a gap is closed, or sides differ."""
    words, _ = svd._count_words(text, 60)
    assert len(words) < len(WORDS)
    pairs = svd._count_pairs(text, words, size)
    np.testing.assert_array_equal(pairs.toarray(), _loop(text, words, size))


@pytest.mark.parametrize("processes", [1, 2])
def test_blocks_and_processes_change_nothing(
    text: Path, processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a block's edge cuts a line or a word, or sums of blocks lose or repeat some."""
    words, _ = svd._count_words(text, 1)
    whole = svd._count_pairs(text, words, 3)
    monkeypatch.setattr(svd, "_BLOCK", 1000 if processes > 1 else 100)
    assert svd._count_words(text, 1)[0] == words
    parts = svd._count_pairs(text, words, 3, processes=processes)
    np.testing.assert_array_equal(parts.toarray(), whole.toarray())
    assert (parts.indices == whole.indices).all() and parts.dtype == np.float64


def test_a_corpus_of_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if text8, one line of 10^8 characters, is held whole or cut within words."""
    monkeypatch.setattr(svd, "_BLOCK", 64)
    path = tmp_path / "text8"
    path.write_text(" ".join(f"word{k % 7}" for k in range(500)))
    blocks = list(svd._blocks(path))
    assert max(map(len, blocks)) <= 128 and " ".join(blocks).split() == path.read_text().split()
    path.write_text("a short one")  # is not cut, nor are processes started for it
    assert [*svd._blocks(path)] == ["a short one"]
    monkeypatch.setattr(svd, "_LONGEST_WORD", 200)
    path.write_text("x" * 1000)
    with pytest.raises(DataError, match="words of at most 200 bytes"):
        list(svd._blocks(path))


def _counted(path: Path) -> tuple[list[str], sparse.csr_array]:
    words, _ = svd._count_words(path, 1)
    return words, svd._count_pairs(path, words, 2)


def test_ppmi_by_hand(twelve: Path) -> None:
    """Dies if words and contexts are exchanged, or sums are of smoothed words."""
    words, matrix = _counted(twelve)
    n = matrix.toarray()
    assert len(words) == 12 and n[words.index("sat"), words.index("on")] == 2
    assert n[words.index("the"), words.index("the")] == 0  # three words apart
    expected = np.zeros((12, 12))
    smoothed = [sum(n[w, c] for w in range(12)) ** 0.75 for c in range(12)]
    for w in range(12):
        for c in range(12):
            if n[w, c]:
                ratio = n[w, c] * sum(smoothed) / (n[w].sum() * smoothed[c])
                expected[w, c] = max(0, math.log(ratio))
    found = svd._ppmi(matrix)
    np.testing.assert_allclose(found.toarray(), expected, atol=1e-12)
    assert found.nnz == (expected > 0).sum()


def test_svd_is_numpys(twelve: Path) -> None:
    """Dies if the exponent is of squares, or columns are not in the order of their values."""
    matrix = svd._ppmi(_counted(twelve)[1])
    left, values, _ = np.linalg.svd(matrix.toarray())
    table = left[:, :5] * values[:5] ** 0.5
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    ours = svd._embed(matrix, 5)
    np.testing.assert_allclose(np.abs(ours), np.abs(table), atol=1e-5)
    np.testing.assert_allclose(ours @ ours.T, table @ table.T, atol=1e-5)
    np.testing.assert_array_equal(svd._embed(matrix, 5), ours)


def test_words_of_rounding_error_alone_get_zeros() -> None:
    """Dies if words without association, or with words alone that the dimensions leave out, get
    vectors of rounding error, or others change."""
    dense = np.random.default_rng(0).random((60, 60))
    dense[50:] = dense[:, 50:] = 0
    dense[58, 59] = 0.1  # less than each value of the others
    table = svd._embed(sparse.csr_array(dense), 5)
    left, values, _ = np.linalg.svd(dense)
    expected = left[:50, :5] * values[:5] ** 0.5
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(table[:50] @ table[:50].T, expected @ expected.T, atol=1e-5)
    assert not table[50:].any()


@pytest.mark.parametrize("name", ["v.txt", "v.txt.gz"])
def test_from_corpus_to_file(twelve: Path, name: str) -> None:
    """Dies if an option is lost on the way, or numbers are rounded when written."""
    out = twelve.with_name(name)
    counted = svd.make(twelve, out, window=2, dimension=3, min_count=1)
    words, matrix = _counted(twelve)
    associated = svd._ppmi(matrix)
    read = vectors.read(out)
    assert [*read.index] == words
    np.testing.assert_array_equal(read.table, svd._embed(associated, 3))
    assert counted[:4] == (len(TWELVE.split()), 12, matrix.nnz, associated.nnz)


@pytest.mark.parametrize(
    ("content", "dimension", "error", "message"),
    [
        (TWELVE, 12, ConfigError, "fewer than the 12 words that stand in .* 1 times"),
        ("a hub\nb hub\nc hub\nd hub\n" * 9, 3, ConfigError, "at most 2, the rank of the matrix"),
        ("a\nb\na\nb\n", 1, DataError, "no two words"),
        ("x a a b b x\n" * 2, 9, ConfigError, "fewer than the 3 words"),
    ],
)
def test_corpora_that_hold_too_little(
    content: str, dimension: int, error: type[Exception], message: str, tmp_path: Path
) -> None:
    """Dies if arbitrary vectors are written, or an old file is lost."""
    corpus, out = tmp_path / "c.txt", tmp_path / "v.txt"
    corpus.write_text(content)
    out.write_text("old")
    with pytest.raises(error, match=message):
        svd.make(corpus, out, dimension=dimension, min_count=1)
    assert out.read_text() == "old"
