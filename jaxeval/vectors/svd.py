"""Word vectors from counts: positive pointwise mutual information, then a truncated SVD.

This follows hyperwords (Levy, Goldberg & Dagan 2015, TACL 3, sections 2 and 3), with the smoothing
and the exponent that its authors recommend. Rare words leave gaps, and windows end with the line.
Several processes count blocks of lines. Notation: V words, D dimensions.
"""

import functools
import gzip
import itertools
import signal
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent import futures
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from jaxeval import files
from jaxeval.data import text
from jaxeval.errors import ConfigError, DataError, RunError, argument

if TYPE_CHECKING:
    from scipy import sparse

_SMOOTHING = 0.75  # of the contexts' distribution (cds)
_EXPONENT = 0.5  # of the singular values (eig)
_EPSILON = np.finfo(np.float64).eps
_BLOCK = 1 << 21  # bytes
_LONGEST_WORD = 1 << 16  # bytes
_AHEAD = 2  # blocks waiting for each process
_In = TypeVar("_In")
_Out = TypeVar("_Out")


class Counted(NamedTuple):
    """Numbers of tokens, words, distinct pairs, and pairs with positive association."""

    tokens: int
    words: int
    pairs: int
    positive: int


def make(
    corpus: str | Path,
    output: str | Path,
    *,
    window: int = 2,
    dimension: int = 100,
    min_count: int = 100,
    lower_case: bool = False,
    processes: int = 1,
) -> Counted:
    """Writes the vectors of a corpus in word2vec's text format, gzip if the name ends with .gz.

    Raises DataError: the corpus cannot be read, or holds too little; ConfigError: as many
    dimensions as words, or more; RunError: the file cannot be written, or the SVD fails.
    """
    words, tokens = _count_words(corpus, min_count, lower_case, processes)
    if dimension >= len(words):
        expected = f"fewer than the {len(words)} words that stand in {corpus} {min_count} times"
        raise ConfigError(f"{argument('dimension', dimension)}: expected {expected}")
    matrix = _count_pairs(corpus, words, window, lower_case, processes)
    associated = _ppmi(matrix)
    if not associated.nnz:
        raise DataError("no pair has positive association; expected a larger corpus", corpus)
    table = _embed(associated, dimension)
    _write(Path(output), words, table)
    return Counted(tokens, len(words), matrix.nnz, associated.nnz)


def _blocks(path: str | Path, lower_case: bool = False) -> Iterator[str]:
    """Yields a corpus, plain or gzip, in blocks of about two megabytes.

    Blocks end with a line, or with a word if a line is longer than a block (text8 is one line).
    """
    left = b""
    with text.opened(path) as stream:
        block = stream.read(_BLOCK)
        while block:
            left = left + block
            block = stream.read(_BLOCK)
            end = left.rfind(b"\n") + 1 or left.rfind(b" ") + 1 if block else len(left)
            if not end and len(left) > _LONGEST_WORD:
                message = f"expected words of at most {_LONGEST_WORD} bytes; is this text?"
                raise DataError(message, path)
            decoded = text.decode(left[:end], path)
            left = left[end:]
            yield decoded.lower() if lower_case else decoded


def _count_words(
    path: str | Path, min_count: int, lower_case: bool = False, processes: int = 1
) -> tuple[list[str], int]:
    """Counts words between blanks; returns those with `min_count` or more, and the total of all.

    Words are sorted by falling count, then by code point.
    """
    totals: Counter[str] = Counter()
    for counts in _in_order(_counted, _blocks(path, lower_case), processes):
        totals.update(counts)
    frequent = (word for word, n in totals.items() if n >= min_count)
    words = sorted(frequent, key=lambda word: (-totals[word], word))
    if len(words) < 2:
        message = f"expected two words or more that stand in it {min_count} times, found "
        raise DataError(f"{message}{len(words)}; give a lower {argument('min_count')}", path)
    return words, totals.total()


def _counted(block: str) -> Counter[str]:
    return Counter(block.split())


def _count_pairs(
    path: str | Path,
    words: Sequence[str],
    window: int,
    lower_case: bool = False,
    processes: int = 1,
) -> "sparse.csr_array":
    """Counts [V, V] float64 of a word (row) with a context (column), `window` words away or less.

    Raises DataError: no two words are near one another.
    """
    index = {word: number for number, word in enumerate(words)}
    task = functools.partial(_pairs, index=index, window=window)
    sums: list[tuple[int, sparse.csr_array]] = []  # of 2^k blocks: few additions of large ones
    for counts in _in_order(task, _blocks(path, lower_case), processes):
        sums.append((1, counts))
        while len(sums) > 1 and sums[-1][0] == sums[-2][0]:
            (size, later), (_, earlier) = sums.pop(), sums.pop()
            sums.append((2 * size, earlier + later))
    whole = functools.reduce(lambda later, each: each[1] + later, sums[-2::-1], sums[-1][1])
    if not whole.nnz:
        raise DataError("no two words of the vocabulary stand near one another", path)
    return whole


def _pairs(block: str, index: Mapping[str, int], window: int) -> "sparse.csr_array":
    from scipy import sparse

    lines = [line.split() for line in block.split("\n")]
    total = sum(map(len, lines))
    size = len(index)
    tokens = np.fromiter((index.get(w, -1) for line in lines for w in line), np.int64, total)
    line_of = np.repeat(np.arange(len(lines)), [len(line) for line in lines])
    keys = [np.zeros(0, np.int64)]
    for distance in range(1, window + 1):
        left = tokens[:-distance]
        right = tokens[distance:]
        near = (line_of[:-distance] == line_of[distance:]) & (left >= 0) & (right >= 0)
        left, right = left[near], right[near]
        keys += [left * size + right, right * size + left]
    pairs, counts = np.unique(np.concatenate(keys), return_counts=True)
    places = np.divmod(pairs, size)
    return sparse.csr_array((counts.astype(np.float64), places), shape=(size, size))


def _in_order(
    function: Callable[[_In], _Out], items: Iterable[_In], processes: int
) -> Iterator[_Out]:
    """Maps a function over items in order, computing ahead in several processes."""
    items = iter(items)
    first = list(itertools.islice(items, 2))
    items = itertools.chain(first, items)
    if processes == 1 or len(first) < 2:
        yield from map(function, items)
        return
    waiting: deque[futures.Future[_Out]] = deque()
    # it ignores SIGHUP, which a closed terminal sends to all processes
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])
    try:
        pool = futures.ProcessPoolExecutor(processes, get_context("spawn"))
        pool.submit(int)  # starts them, and multiprocessing's own, with this mask
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    with pool:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > _AHEAD * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _ppmi(counts: "sparse.csr_array") -> "sparse.csr_array":
    """Computes max(0, log[n_wc sum_c' n_c'^.75 / (n_w n_c^.75)]) of counts n_wc [V, V]."""
    of_words = counts.sum(axis=1)
    of_contexts = counts.sum(axis=0) ** _SMOOTHING
    matrix = counts.tocoo()
    ratio = matrix.data / of_words[matrix.row] / of_contexts[matrix.col]
    matrix.data = np.maximum(0, np.log(ratio * of_contexts[of_contexts > 0].sum()))
    positive = matrix.tocsr()
    positive.eliminate_zeros()
    return positive


def _embed(matrix: "sparse.csr_array", dimension: int) -> np.ndarray:
    """Computes U S^.5 of the truncated SVD of a nonnegative matrix [V, V], by ARPACK.

    Returns [V, D] float32 with rows of length 1. A row of which only rounding errors are left is
    0: it has no direction. The largest number of each column is positive.

    Raises ConfigError: more dimensions than the rank of the matrix; RunError: ARPACK fails.
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
    left = left[:, order]
    values = values[order]
    largest = np.take_along_axis(left, np.abs(left).argmax(axis=0)[None], axis=0)
    left = left * np.where(largest < 0, -1.0, 1.0)
    left[matrix.sum(axis=1) == 0] = 0  # of zeros but for rounding, which small values enlarge
    table = left * values**_EXPONENT
    rounding = _EPSILON * len(left) * values[0] / values  # of unit vectors
    table[np.all(np.abs(left) <= rounding, axis=1)] = 0
    length = np.linalg.norm(table, axis=1, keepdims=True)
    return np.asarray(table / np.where(length > 0, length, 1), np.float32)


def _write(path: Path, words: Sequence[str], table: np.ndarray) -> None:
    """Writes a header, then a word and its numbers a line; nine digits restore every float32."""

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
