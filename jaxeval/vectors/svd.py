"""Word vectors of counts: positive pointwise mutual information, then a truncated SVD.

Formulas are those of hyperwords (Levy, Goldberg & Dagan 2015, "Improving Distributional Similarity
with Lessons Learned from Word Embeddings", TACL 3, sections 2 and 3), with the smoothing and the
exponent that its authors recommend. Notation: V words, D dimensions.
"""

import contextlib
import gzip
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jaxeval import files
from jaxeval.errors import ConfigError, DataError, RunError, argument
from jaxeval.vectors import counts

if TYPE_CHECKING:
    from scipy import sparse

_SMOOTHING = 0.75  # of the contexts' distribution (cds)
_EXPONENT = 0.5  # of the singular values (eig)
_EPSILON = np.finfo(np.float64).eps


class Counted(NamedTuple):
    """What was counted.

    Attributes:
      pairs: distinct pairs of word and context; `positive`: those with positive association.
      seconds: by step.
    """

    tokens: int
    words: int
    pairs: int
    positive: int
    seconds: Mapping[str, float]


def make(
    corpus: str | Path,
    output: str | Path,
    *,
    window: int = 2,
    dimension: int = 100,
    min_count: int = 100,
    lower_case: bool = False,
    processes: int = 1,
    waiting: Callable[[str], AbstractContextManager[None]] = lambda doing: nullcontext(),
) -> Counted:
    """Writes the vectors of a corpus as word2vec's text, gzip where the name ends with .gz.

    Args:
      waiting: is entered with what is being done, step by step.

    Raises:
      DataError: the corpus cannot be read, or holds too little.
      ConfigError: as many dimensions as words, or more.
      RunError: the file cannot be written, or the SVD fails.
    """
    seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def step(name: str) -> Iterator[None]:
        begin = time.perf_counter()
        with waiting(f"{corpus}: {name}"):
            yield
        seconds[name] = time.perf_counter() - begin

    with step("words"):
        words = counts.count_words(corpus, min_count, lower_case=lower_case, processes=processes)
    if dimension >= len(words.counts):
        expected = f"fewer than the {len(words.counts)} words that stand in {corpus} {min_count}"
        raise ConfigError(f"{argument('dimension', dimension)}: expected {expected} times")
    with step("pairs"):
        matrix = counts.count_pairs(
            corpus, words, window, lower_case=lower_case, processes=processes
        )
    with step("SVD"):
        associated = ppmi(matrix)
        if not associated.nnz:
            raise DataError("no pair has positive association; expected a larger corpus", corpus)
        table = embed(associated, dimension)
    with step("writing"):
        _write(Path(output), [*words.counts], table)
    return Counted(words.tokens, len(words.counts), matrix.nnz, associated.nnz, seconds)


def ppmi(counts: "sparse.csr_array") -> "sparse.csr_array":
    """max(0, log[n_wc sum_c' n_c'^a / (n_w n_c^a)]) of the pairs that were counted, a = .75.

    Args:
      counts: [V, V] n_wc.
    """
    of_words, of_contexts = counts.sum(axis=1), counts.sum(axis=0) ** _SMOOTHING
    matrix = counts.tocoo()
    ratio = matrix.data / of_words[matrix.row] / of_contexts[matrix.col]
    matrix.data = np.maximum(0, np.log(ratio * of_contexts[of_contexts > 0].sum()))
    positive = matrix.tocsr()
    positive.eliminate_zeros()
    return positive


def embed(matrix: "sparse.csr_array", dimension: int) -> np.ndarray:
    """Vectors [V, D] float32 of length 1: U S^.5 of the truncated SVD of a matrix, by ARPACK.

    A word without any positive association, or with words alone that these dimensions leave out,
    gets a vector of zeros: what there is of it is rounding error, which has no direction. Each
    column's largest number is positive.

    Args:
      matrix: [V, V], of no negative values.

    Raises:
      ConfigError: more dimensions than the rank of the matrix.
      RunError: ARPACK fails.
    """
    from scipy.sparse import linalg

    start = np.random.default_rng(0).standard_normal(min(matrix.shape))
    try:
        left, values, _ = linalg.svds(matrix, k=dimension, v0=start, solver="arpack")
    except linalg.ArpackError as error:
        reason = str(error).partition("\n")[0]
        message = f"truncated SVD with {dimension} dimensions failed ({reason})"
        raise RunError(f"{message}; expected a lower {argument('dimension')}") from None
    # vectors of values that are 0 but for rounding are arbitrary (as numpy.linalg.matrix_rank)
    rank = int(np.sum(values > _EPSILON * max(matrix.shape) * values.max()))
    if rank < dimension:
        expected = f"expected at most {rank}, the rank of the matrix, or a larger corpus"
        raise ConfigError(f"{argument('dimension', dimension)}: {expected}")
    order = np.argsort(-values, kind="stable")
    left, values = left[:, order], values[order]
    largest = np.take_along_axis(left, np.abs(left).argmax(axis=0)[None], axis=0)
    left = left * np.where(largest < 0, -1.0, 1.0)
    left[matrix.sum(axis=1) == 0] = 0  # of zeros but for rounding, which small values enlarge
    table = left * values**_EXPONENT
    rounding = _EPSILON * len(left) * values[0] / values  # of unit vectors
    table[np.all(np.abs(left) <= rounding, axis=1)] = 0
    length = np.linalg.norm(table, axis=1, keepdims=True)
    return np.asarray(table / np.where(length > 0, length, 1), np.float32)


def _write(path: Path, words: Sequence[str], table: np.ndarray) -> None:
    """A header, then a word and its numbers a line: nine digits give back every float32."""

    def lines() -> Iterator[bytes]:
        yield f"{len(words)} {table.shape[1]}\n".encode()
        form = " ".join(["%.9g"] * table.shape[1])
        for word, row in zip(words, table.tolist(), strict=True):
            yield f"{word} {form % tuple(row)}\n".encode()

    with files.replacing(path, "wb") as raw:
        if path.suffix == ".gz":
            with gzip.GzipFile("", "wb", 6, raw, mtime=0) as stream:
                stream.writelines(lines())
        else:
            raw.writelines(lines())
