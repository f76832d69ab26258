"""How often words of a corpus stand near one another: sparse counts of (word, context).

As corpus2pairs of hyperwords (Levy, Goldberg & Dagan 2015) has them: rare words leave gaps, and
windows end with the line. A corpus is read in blocks of lines, which several processes count.
"""

import dataclasses
import functools
import itertools
import signal
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent import futures
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from jaxeval.data import text
from jaxeval.errors import DataError, argument

if TYPE_CHECKING:
    from scipy import sparse

_BLOCK = 1 << 21  # bytes
_LONGEST_WORD = 1 << 16  # bytes
_AHEAD = 2  # blocks waiting for each process
In = TypeVar("In")
Out = TypeVar("Out")


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """Words that are frequent enough, the most frequent first, equal ones in code-point order.

    Attributes:
      tokens: of the corpus, other words included.
    """

    counts: Mapping[str, int]
    tokens: int


def blocks(path: str | Path, lower_case: bool = False) -> Iterator[str]:
    """About two megabytes of a corpus at a time, plain or gzip.

    Blocks end with a line; where a line is longer than a block (text8 is one line), with a word.

    Raises:
      DataError: no such file, damaged, not UTF-8, a word longer than 65,536 bytes.
    """
    left, ended = b"", False
    with text.opened(path) as stream:
        while not ended:
            block = stream.read(_BLOCK)
            left, ended = left + block, not block
            end = len(left) if ended else left.rfind(b"\n") + 1 or left.rfind(b" ") + 1
            if not end and len(left) > _LONGEST_WORD:
                message = f"expected words of at most {_LONGEST_WORD} bytes; is this text?"
                raise DataError(message, path)
            decoded, left = text.decode_block(left[:end], path), left[end:]
            yield decoded.lower() if lower_case else decoded


def count_words(
    path: str | Path, min_count: int, *, lower_case: bool = False, processes: int = 1
) -> Vocabulary:
    """Words, between blanks, that stand in a corpus `min_count` times or more.

    Raises:
      DataError: it cannot be read, or has no two such words.
    """
    totals: Counter[str] = Counter()
    for counts in in_order(_words, blocks(path, lower_case), processes):
        totals.update(counts)
    frequent = ((word, n) for word, n in totals.items() if n >= min_count)
    kept = dict(sorted(frequent, key=lambda item: (-item[1], item[0])))
    if len(kept) < 2:
        message = f"expected two words or more that stand in it {min_count} times, found "
        raise DataError(f"{message}{len(kept)}; give a lower {argument('min_count')}", path)
    return Vocabulary(kept, sum(totals.values()))


def _words(block: str) -> Counter[str]:
    return Counter(block.split())


def count_pairs(
    path: str | Path,
    vocabulary: Vocabulary,
    window: int,
    *,
    lower_case: bool = False,
    processes: int = 1,
) -> "sparse.csr_array":
    """Counts [V, V] float64 of a word (row) with a context (column).

    Args:
      window: words on either side of a word that are its contexts.

    Raises:
      DataError: the corpus cannot be read, or no two words are near one another.
    """
    index = {word: number for number, word in enumerate(vocabulary.counts)}
    task = functools.partial(_pairs, index=index, window=window)
    sums: list[tuple[int, sparse.csr_array]] = []  # of 2^k blocks: few additions of large ones
    for counts in in_order(task, blocks(path, lower_case), processes):
        sums.append((1, counts))
        while len(sums) > 1 and sums[-1][0] == sums[-2][0]:
            (size, later), (_, earlier) = sums.pop(), sums.pop()
            sums.append((2 * size, earlier + later))
    whole = sums.pop()[1]
    while sums:
        whole = sums.pop()[1] + whole
    if not whole.nnz:
        raise DataError("no two words of the vocabulary stand near one another", path)
    return whole


def _pairs(block: str, index: Mapping[str, int], window: int) -> "sparse.csr_array":
    """The counts [V, V] of a block."""
    from scipy import sparse

    lines = [line.split() for line in block.split("\n")]
    total, words = sum(map(len, lines)), len(index)
    tokens = np.fromiter((index.get(w, -1) for line in lines for w in line), np.int64, total)
    line_of = np.repeat(np.arange(len(lines)), [len(line) for line in lines])
    keys = [np.zeros(0, np.int64)]
    for distance in range(1, window + 1):
        left, right = tokens[:-distance], tokens[distance:]
        near = (line_of[:-distance] == line_of[distance:]) & (left >= 0) & (right >= 0)
        left, right = left[near], right[near]
        keys += [left * words + right, right * words + left]
    pairs, counts = np.unique(np.concatenate(keys), return_counts=True)
    places = np.divmod(pairs, words)
    return sparse.csr_array((counts.astype(np.float64), places), shape=(words, words))


def in_order(function: Callable[[In], Out], items: Iterable[In], processes: int) -> Iterator[Out]:
    """What a function gives for each item, in order, computed ahead in some processes."""
    items = iter(items)
    first = list(itertools.islice(items, 2))
    items = itertools.chain(first, items)
    if processes == 1 or len(first) < 2:
        yield from map(function, items)
        return
    waiting: deque[futures.Future[Out]] = deque()
    with _pool(processes) as pool:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > _AHEAD * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _pool(processes: int) -> futures.ProcessPoolExecutor:
    """Processes that SIGHUP does not reach: a terminal that is closed sends it to all of them, and
    it is this one that ends the others."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])
    try:
        pool = futures.ProcessPoolExecutor(processes, get_context("spawn"))
        pool.submit(int)  # starts them, and multiprocessing's own, with this mask
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return pool
