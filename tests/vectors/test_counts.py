"""Counts of words near one another, against a loop over the corpus."""

import gzip
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from jaxeval.errors import DataError
from jaxeval.vectors import corpus, counts
from jaxeval.vectors.counts import Windows

WORDS = [f"w{k}" for k in range(9)]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """200 lines of 0 to 12 words, frequent and rare ones."""
    generator = np.random.default_rng(0)
    share = np.arange(1, 10) / 45
    lines = [generator.choice(WORDS, size, p=share) for size in generator.integers(0, 13, 200)]
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(map(" ".join, lines)) + "\n")
    return path


def _loop(path: Path, kept: list[str], size: int, delete: bool) -> np.ndarray:
    """As corpus2pairs of hyperwords does it, without its random numbers."""
    pairs: Counter[tuple[str, str]] = Counter()
    for line in path.read_text().splitlines():
        tokens = [word if word in kept else None for word in line.split()]
        if delete:
            tokens = [word for word in tokens if word]
        for i, word in enumerate(tokens):
            near = tokens[max(0, i - size) : i] + tokens[i + 1 : i + size + 1]
            pairs.update((word, context) for context in near if word and context)
    return np.array([[pairs[word, context] for context in kept] for word in kept])


@pytest.mark.parametrize("delete", [False, True])
@pytest.mark.parametrize("size", [1, 3])
def test_windows(text: Path, size: int, delete: bool) -> None:
    """Dies if windows cross lines, a gap is closed or kept against the option, or sides differ."""
    words = corpus.count_words(text, 60)
    assert len(words.counts) < len(WORDS)
    pairs = counts.count_pairs(text, words, Windows(size, delete=delete))
    expected = _loop(text, [*words.counts], size, delete)
    np.testing.assert_array_equal(pairs.toarray(), expected)


def test_vocabulary(text: Path) -> None:
    """Dies if the order depends on the text's, or rare words are kept."""
    tally = Counter(text.read_text().split())
    words = corpus.count_words(text, 60)
    assert words.counts == {w: n for w, n in tally.items() if n >= 60}
    assert [*words.counts] == sorted(words.counts, key=lambda w: (-tally[w], w))
    assert words.tokens == tally.total()
    with pytest.raises(DataError, match="stand in it 1000 times, found 0; give a lower"):
        corpus.count_words(text, 1000)


def test_blocks_change_nothing(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a block's edge cuts a line or a word, or ranges of pairs lose or repeat some."""
    words = corpus.count_words(text, 1)
    whole = counts.count_pairs(text, words, Windows(3)).toarray()
    monkeypatch.setattr(corpus, "BLOCK", 100)
    monkeypatch.setattr(counts, "_AT_ONCE", 50)
    monkeypatch.setattr(counts, "_SAMPLED", 4)
    assert corpus.count_words(text, 1) == words
    np.testing.assert_array_equal(counts.count_pairs(text, words, Windows(3)).toarray(), whole)


def test_a_corpus_of_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if text8, one line of 10^8 characters, is held whole or cut within words."""
    monkeypatch.setattr(corpus, "BLOCK", 64)
    path = tmp_path / "text8"
    path.write_text(" ".join(f"word{k % 7}" for k in range(500)))
    blocks = list(corpus.blocks(path))
    assert max(map(len, blocks)) <= 128 and " ".join(blocks).split() == path.read_text().split()
    monkeypatch.setattr(corpus, "_LONGEST_WORD", 200)
    path.write_text("x" * 1000)
    with pytest.raises(DataError, match="words of at most 200 bytes"):
        list(corpus.blocks(path))


def test_compressed_and_damaged_corpora(tmp_path: Path) -> None:
    """Dies if gzip is read as text, or damage as the end."""
    path = tmp_path / "c"
    whole = gzip.compress(b"The cat\nthe dog\n")
    path.write_bytes(whole)
    assert corpus.count_words(path, 1, lower_case=True).counts == {"the": 2, "cat": 1, "dog": 1}
    for data, message in (
        (whole[:-4], "damaged gzip"),
        (b"a\xff", "not UTF-8"),
        (b"\0", "NUL"),
        ("a b".encode("utf-16"), "iconv -f UTF-16 -t UTF-8"),
    ):
        path.write_bytes(data)
        with pytest.raises(DataError, match=message):
            corpus.count_words(path, 1)


RANDOM = Windows(4, dynamic=True, subsample=0.05, delete=True, seed=3)


def test_processes_change_nothing(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if random numbers depend on which process draws them."""
    monkeypatch.setattr(corpus, "BLOCK", 1000)
    words = corpus.count_words(text, 1)
    alone = counts.count_pairs(text, words, RANDOM).toarray()
    both = counts.count_pairs(text, words, RANDOM, processes=2).toarray()
    np.testing.assert_array_equal(both, alone)
    other = counts.count_pairs(text, words, Windows(4, True, 0.05, True, seed=4)).toarray()
    assert (other != alone).any()


def test_dynamic_windows_weigh_near_words_more(tmp_path: Path) -> None:
    """Dies if windows are drawn from 0, or up to less than the size: 4/4, 3/4, 2/4 and 1/4."""
    path = tmp_path / "c"
    path.write_text("a b c d e\n" * 20_000)
    words = corpus.count_words(path, 1)
    shares = counts.count_pairs(path, words, Windows(4, dynamic=True)).toarray() / 20_000
    np.testing.assert_allclose(shares[0], [0, 1, 0.75, 0.5, 0.25], atol=0.015)
    np.testing.assert_allclose(shares[4], [0.25, 0.5, 0.75, 1, 0], atol=0.015)


def test_subsampling(tmp_path: Path) -> None:
    """Dies if a word of share f is kept other than with probability sqrt(t / f), rare ones all."""
    path = tmp_path / "c"
    path.write_text("a b\n" * 20_000 + "c d\n" * 5_000)
    words = corpus.count_words(path, 1)
    pairs = counts.count_pairs(path, words, Windows(1, subsample=0.1)).toarray()
    assert pairs[0, 1] / 20_000 == pytest.approx(0.1 / 0.4, abs=0.015)  # both kept
    assert pairs[2, 3] == 5_000


def test_no_pair_at_all(tmp_path: Path) -> None:
    """Dies if a corpus of one word a line is a crash later on."""
    (tmp_path / "c").write_text("a\nb\na\nb\n")
    words = corpus.count_words(tmp_path / "c", 1)
    with pytest.raises(DataError, match="no two words"):
        counts.count_pairs(tmp_path / "c", words, Windows(2))
