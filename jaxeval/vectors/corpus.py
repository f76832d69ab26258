"""A corpus in blocks of sentences, one a line: its words counted, the frequent ones numbered."""

import dataclasses
import signal
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent import futures
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

from jaxeval.data import text
from jaxeval.errors import DataError

BLOCK = 1 << 21  # bytes; decides what random numbers a token gets, so it is no option
_LONGEST_WORD = 1 << 16  # bytes
_AHEAD = 2  # blocks waiting for each process
In = TypeVar("In")
Out = TypeVar("Out")


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """Words that are frequent enough, the most frequent first, equal ones in code-point order."""

    counts: Mapping[str, int]
    tokens: int  # of the corpus, other words included

    @property
    def index(self) -> dict[str, int]:
        """Word -> number."""
        return {word: number for number, word in enumerate(self.counts)}


def blocks(path: str | Path, lower_case: bool = False) -> Iterator[str]:
    """About two megabytes of a corpus at a time, plain or gzip.

    Blocks end with a line; where a line is longer than a block (text8 is one line), with a word.

    Raises:
      DataError: no such file, damaged, not UTF-8, a word longer than 65,536 bytes.
    """
    left = b""
    with text.opened(path) as stream:
        while block := stream.read(BLOCK):
            left += block
            end = left.rfind(b"\n") + 1 or left.rfind(b" ") + 1
            if not end and len(left) > _LONGEST_WORD:
                message = f"expected words of at most {_LONGEST_WORD} bytes; is this text?"
                raise DataError(message, path)
            whole, left = left[:end], left[end:]
            yield _decoded(whole, lower_case, path)
    if left:
        yield _decoded(left, lower_case, path)


def _decoded(block: bytes, lower_case: bool, path: str | Path) -> str:
    decoded = text.decode(block, path)
    return decoded.lower() if lower_case else decoded


def count_words(
    path: str | Path, min_count: int, *, lower_case: bool = False, processes: int = 1
) -> Vocabulary:
    """Words, between blanks, that stand in a corpus `min_count` times or more.

    Raises:
      DataError: it cannot be read, or has no two such words.
    """
    totals: Counter[str] = Counter()
    for counts in in_order(_counts, blocks(path, lower_case), processes):
        totals.update(counts)
    frequent = ((word, n) for word, n in totals.items() if n >= min_count)
    kept = dict(sorted(frequent, key=lambda item: (-item[1], item[0])))
    if len(kept) < 2:
        message = f"expected two words or more that stand in it {min_count} times, found "
        raise DataError(f"{message}{len(kept)}; give a lower --min-count", path)
    return Vocabulary(kept, sum(totals.values()))


def _counts(block: str) -> Counter[str]:
    return Counter(block.split())


def in_order(function: Callable[[In], Out], items: Iterable[In], processes: int) -> Iterator[Out]:
    """What a function gives for each item, in order, computed ahead in some processes."""
    if processes == 1:
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
