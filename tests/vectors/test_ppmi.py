"""PPMI by hand on twelve words, the SVD against numpy's."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from jaxeval.data import vectors
from jaxeval.errors import ConfigError, DataError, RunError
from jaxeval.vectors import baseline, corpus, counts, ppmi
from jaxeval.vectors.counts import Windows

TWELVE = """\
the cat sat on the mat
a dog sat on a log
the dog saw the cat
a bird saw a dog by the log
the bird sat by the mat near a log
"""


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "twelve.txt"
    path.write_text(TWELVE)
    return path


def _counts(text: Path) -> tuple[list[str], sparse.csr_array]:
    words = corpus.count_words(text, 1)
    assert len(words.counts) == 12
    return [*words.counts], counts.count_pairs(text, words, Windows(2))


@pytest.mark.parametrize(("smoothing", "shift"), [(1.0, 1.0), (0.75, 1.0), (0.75, 5.0), (0, 2)])
def test_ppmi_by_hand(text: Path, smoothing: float, shift: float) -> None:
    """Dies if words and contexts are exchanged, sums are of smoothed words, or log k is added."""
    words, matrix = _counts(text)
    n = matrix.toarray()
    assert n[words.index("sat"), words.index("on")] == 2
    assert n[words.index("the"), words.index("the")] == 0  # three words apart
    expected = np.zeros((12, 12))
    smoothed = [sum(n[w, c] for w in range(12)) ** smoothing for c in range(12)]
    for w in range(12):
        for c in range(12):
            if n[w, c]:
                ratio = n[w, c] * sum(smoothed) / (n[w].sum() * smoothed[c])
                expected[w, c] = max(0, math.log(ratio) - math.log(shift))
    np.testing.assert_allclose(ppmi.ppmi(matrix, smoothing, shift).toarray(), expected, atol=1e-12)


def test_a_number_by_hand() -> None:
    """Dies if the logarithm has another base: log(3 * 8 / (4 * 4)) = log 1.5."""
    matrix = sparse.csr_array(np.array([[3.0, 1.0], [1.0, 3.0]]))
    values = ppmi.ppmi(matrix).toarray()
    np.testing.assert_allclose(values, [[math.log(1.5), 0], [0, math.log(1.5)]])
    assert ppmi.ppmi(matrix).nnz == 2


@pytest.mark.parametrize("contexts", [False, True])
@pytest.mark.parametrize("exponent", [0, 0.5, 1])
def test_svd_is_numpys(text: Path, exponent: float, contexts: bool) -> None:
    """Dies if values do not fall, the exponent is of squares, or contexts are lost."""
    matrix = ppmi.ppmi(_counts(text)[1], 0.75)
    left, values, right = np.linalg.svd(matrix.toarray())
    table = (left[:, :5] + right[:5].T if contexts else left[:, :5]) * values[:5] ** exponent
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    factors = ppmi.factors(matrix, 5)
    np.testing.assert_allclose(factors.values, values[:5])
    ours = ppmi.embed(factors, exponent, contexts)
    np.testing.assert_allclose(ours @ ours.T, table @ table.T, atol=1e-5)
    assert (np.take_along_axis(factors.words, np.abs(factors.words).argmax(0)[None], 0) > 0).all()
    np.testing.assert_array_equal(ppmi.factors(matrix, 5).words, factors.words)


def test_a_word_without_association() -> None:
    """Dies if its vector becomes nan."""
    factors = ppmi.Factors(np.array([[0.6, 0.8], [0, 0]]), np.array([4.0, 1.0]), np.zeros((2, 2)))
    np.testing.assert_allclose(ppmi.embed(factors)[0], np.array([1.2, 0.8]) / np.hypot(1.2, 0.8))
    assert ppmi.embed(factors)[1].tolist() == [0, 0]


@pytest.mark.parametrize("contexts", [False, True])
def test_words_of_rounding_error_alone_get_zeros(contexts: bool) -> None:
    """Dies if words without association, or with words alone that the dimensions leave out, get
    vectors of rounding error, or others change."""
    generator = np.random.default_rng(0)
    dense = generator.random((60, 60))
    dense[50:] = dense[:, 50:] = 0
    dense[58, 59] = 0.1  # less than each value of the others
    factors = ppmi.factors(sparse.csr_array(dense), 5)
    table = ppmi.embed(factors, 0.5, contexts)
    left, values, right = np.linalg.svd(dense)
    expected = (left[:50, :5] + right[:5].T[:50] * contexts) * values[:5] ** 0.5
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(table[:50] @ table[:50].T, expected @ expected.T, atol=1e-5)
    assert np.abs(factors.words[50:]).max() > 0 and not table[50:].any()


@pytest.mark.parametrize("contexts", [False, True])
def test_words_without_association_get_zeros_at_any_rank(contexts: bool) -> None:
    """Dies if rounding error that small values enlarge is taken for a word's vector: values over
    eleven orders of magnitude, as many dimensions as the rank."""
    generator = np.random.default_rng(0)
    graded = generator.random((50, 30)) * np.logspace(0, -11, 30) @ generator.random((30, 50))
    dense = np.zeros((60, 60))
    dense[:50, 10:] = graded  # ten words without a row, ten contexts without a column
    factors = ppmi.factors(sparse.csr_array(dense), 30)
    assert factors.values[-1] < 1e-10 * factors.values[0]
    assert not factors.words[50:].any() and not factors.contexts[:10].any()
    lengths = np.linalg.norm(ppmi.embed(factors, 0.5, contexts), axis=1)
    np.testing.assert_allclose(lengths[:50], 1, rtol=1e-6)
    np.testing.assert_allclose(lengths[50:], float(contexts), rtol=1e-6)


def test_more_dimensions_than_the_matrix_has() -> None:
    """Dies if arbitrary vectors of values that are 0 but for rounding are written."""
    generator = np.random.default_rng(0)
    matrix = sparse.csr_array(generator.random((40, 6)) @ generator.random((6, 40)))
    with pytest.raises(ConfigError, match=r"expected at most 6, the rank of the matrix.*found 7"):
        ppmi.factors(matrix, 7)
    np.testing.assert_array_equal(ppmi.factors(matrix, 6).words, ppmi.factors(matrix, 6).words)


@pytest.mark.parametrize(("shift", "advice"), [(1, "a larger corpus"), (1.5, "a lower --shift")])
def test_a_corpus_of_low_rank_is_named(tmp_path: Path, shift: float, advice: str) -> None:
    """Dies if the option, the corpus or what would help is not told."""
    corpus, out = tmp_path / "star.txt", tmp_path / "v.txt"
    corpus.write_text("a hub\nb hub\nc hub\nd hub\n" * 9)
    options = baseline.Options(Windows(2), 1, dimension=3, shift=shift)
    said = r"star\.txt: --dimension: expected at most 2, the rank of the matrix, found 3; or give "
    with pytest.raises(ConfigError, match=f"{said}{advice}$"):
        baseline.make(corpus, out, options)
    assert not out.exists()


@pytest.mark.parametrize("name", ["v.txt", "v.txt.gz"])
def test_from_corpus_to_file(text: Path, name: str) -> None:
    """Dies if an option is lost on the way, or numbers are rounded when written."""
    options = baseline.Options(
        Windows(2), 1, smoothing=0.5, shift=1.5, dimension=3, exponent=1, add_contexts=True
    )
    counted = baseline.make(text, text.with_name(name), options)
    words, matrix = _counts(text)
    associated = ppmi.ppmi(matrix, 0.5, 1.5)
    read = vectors.read(text.with_name(name))
    assert [*read.index] == words
    expected = ppmi.embed(ppmi.factors(associated, 3), 1, True)
    np.testing.assert_array_equal(read.table, expected)
    assert counted[:4] == (len(TWELVE.split()), 12, matrix.nnz, associated.nnz)


def test_too_many_dimensions(text: Path) -> None:
    """Dies if it is told after the counting, or an old file is lost."""
    out = text.with_name("v.txt")
    out.write_text("old")
    with pytest.raises(ConfigError, match=r"fewer than the 12 words that stand in .* 1 times"):
        baseline.make(text, out, baseline.Options(Windows(2), 1, dimension=12))
    with pytest.raises(ConfigError, match="fewer than the 12 words"):
        ppmi.factors(ppmi.ppmi(_counts(text)[1]), 12)
    assert out.read_text() == "old"


@pytest.mark.parametrize("link", [False, True])
def test_the_corpus_is_not_overwritten(text: Path, link: bool) -> None:
    """Dies if vectors replace the corpus, or another name of it is taken for another file."""
    out = text
    if link:
        out = text.with_name("link.txt")
        out.symlink_to(text)
    with pytest.raises(ConfigError, match=r"--out .* is the corpus"):
        baseline.make(text, out, baseline.Options(Windows(2), 1, dimension=3))
    assert text.read_text() == TWELVE and out.is_symlink() == link


def test_no_positive_association(text: Path) -> None:
    """Dies if ARPACK's error on a matrix of zeros is shown, or nothing is said of the shift."""
    out = text.with_name("v.txt")
    options = baseline.Options(Windows(2), 1, dimension=3, shift=1e6)
    with pytest.raises(DataError, match=r"twelve.txt.*no pair has positive .* a lower --shift"):
        baseline.make(text, out, options)
    text.write_text("a a\nb b\na b\na b\n")  # independent: each pair as often, log 1 = 0
    with pytest.raises(DataError, match="no pair has positive association; expected a larger"):
        baseline.make(text, out, baseline.Options(Windows(2), 1, dimension=1, smoothing=1))
    assert not out.exists()
    with pytest.raises(RunError, match=r"SVD with 3 dimensions failed .*ARPACK"):
        ppmi.factors(sparse.csr_array((12, 12)), 3)
