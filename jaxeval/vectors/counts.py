"""How often words stand near one another: sparse counts of (word, context) over a corpus.

As corpus2pairs of hyperwords (Levy, Goldberg & Dagan 2015) has them. A block of the corpus gives
sorted pairs with their counts, which go to disk; ranges of all blocks' pairs are then merged one
after the other. A block's random numbers depend on the seed and its place in the corpus alone, so
the counts do not depend on the number of processes.
"""

import dataclasses
import functools
import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from jaxeval.errors import DataError, RunError
from jaxeval.vectors import corpus
from jaxeval.vectors.corpus import Vocabulary

if TYPE_CHECKING:
    from scipy import sparse

_AT_ONCE = 1 << 23  # pairs that are merged at a time
_SAMPLED = 1 << 10  # pairs for each of which one is looked at for the ranges


@dataclasses.dataclass(frozen=True)
class Windows:
    """Which words are contexts of a word.

    Attributes:
      size: words on either side, within the line.
      dynamic: each word's window is drawn from 1 to `size`.
      subsample: t; a word that makes up a share f > t of the vocabulary's tokens is dropped with
        probability 1 - sqrt(t / f). 0 drops none.
      delete: whether dropped words, and those outside the vocabulary, leave no gap, which widens
        windows.
    """

    size: int = 2
    dynamic: bool = False
    subsample: float = 0.0
    delete: bool = False
    seed: int = 0


def count_pairs(
    path: str | Path,
    vocabulary: Vocabulary,
    windows: Windows,
    *,
    lower_case: bool = False,
    processes: int = 1,
    scratch: str | None = None,
) -> "sparse.csr_array":
    """Counts [V, V] float64 of a word (row) with a context (column).

    Args:
      scratch: folder, made where it is missing, for the sorted pairs of all blocks, up to 12 bytes
        a pair; the system's own for temporary files where None.

    Raises:
      DataError: the corpus cannot be read, or no two words are near one another.
      RunError: the folder cannot be written.
    """
    if scratch is not None:
        Path(scratch).mkdir(parents=True, exist_ok=True)
    blocks = enumerate(corpus.blocks(path, lower_case))
    with tempfile.TemporaryDirectory(prefix="jaxeval-", dir=scratch) as folder:
        task = functools.partial(
            _count_block,
            index=vocabulary.index,
            keep=_keep(vocabulary.counts, windows.subsample),
            windows=windows,
            folder=folder,
        )
        sizes = list(corpus.in_order(task, blocks, processes))
        if not sum(sizes):
            raise DataError("no two words of the vocabulary stand near one another", path)
        return _merged(folder, sizes, len(vocabulary.counts))


def _keep(counts: Mapping[str, int], subsample: float) -> np.ndarray | None:
    """Probability of each word to be kept [V]; None where all are."""
    if not subsample:
        return None
    n = np.fromiter(counts.values(), np.float64, len(counts))
    return np.minimum(1, np.sqrt(subsample * n.sum() / n))


def _count_block(
    numbered: tuple[int, str],
    index: Mapping[str, int],
    keep: np.ndarray | None,
    windows: Windows,
    folder: str,
) -> int:
    """Writes a block's distinct pairs, sorted, and their counts; returns how many there are."""
    number, block = numbered
    lines = [line.split() for line in block.split("\n")]
    total = sum(map(len, lines))
    tokens = np.fromiter((index.get(w, -1) for line in lines for w in line), np.int64, total)
    line_of = np.repeat(np.arange(len(lines)), [len(line) for line in lines])
    generator = np.random.default_rng([windows.seed, number])
    if keep is not None:
        dropped = generator.random(total) >= keep[tokens]
        tokens[dropped] = -1
    if windows.delete:
        tokens, line_of = tokens[tokens >= 0], line_of[tokens >= 0]
    reach = np.full(len(tokens), windows.size)
    if windows.dynamic:
        reach = generator.integers(1, windows.size, len(tokens), endpoint=True)
    keys = _pairs(tokens, line_of, reach, windows.size, len(index))
    pairs, counts = np.unique(keys, return_counts=True)
    try:
        np.save(Path(folder, f"{number}.pairs.npy"), pairs)
        np.save(Path(folder, f"{number}.counts.npy"), counts.astype(np.int32))
    except OSError as error:
        why = error.strerror or error
        raise RunError(
            f"{folder}: cannot be written ({why}); expected another --scratch"
        ) from None
    return len(pairs)


def _pairs(
    tokens: np.ndarray, line_of: np.ndarray, reach: np.ndarray, most: int, words: int
) -> np.ndarray:
    """word * V + context of every pair of tokens, the word's window reaching its context.

    Args:
      tokens: [N] numbers of words, -1 a gap.
      reach: [N] size of each word's window, at most `most`.
    """
    keys = [np.zeros(0, np.int64)]
    for distance in range(1, most + 1):
        left, right = tokens[:-distance], tokens[distance:]
        near = (line_of[:-distance] == line_of[distance:]) & (left >= 0) & (right >= 0)
        after = near & (reach[:-distance] >= distance)
        before = near & (reach[distance:] >= distance)
        keys.append(left[after] * words + right[after])
        keys.append(right[before] * words + left[before])
    return np.concatenate(keys)


def _merged(folder: str, sizes: Sequence[int], words: int) -> "sparse.csr_array":
    """The sum of all blocks' counts."""
    from scipy import sparse

    columns, values, per_row = [], [], np.zeros(words, np.int64)
    for pairs, counts in _ranges(folder, sizes):
        order = np.argsort(pairs, kind="stable")  # quick on runs that are sorted
        pairs = pairs[order]
        first = np.flatnonzero(np.concatenate([[True], pairs[1:] != pairs[:-1]]))
        values.append(np.add.reduceat(counts[order], first, dtype=np.float64))
        rows, context = np.divmod(pairs[first], words)
        columns.append(context.astype(np.int32))
        per_row += np.bincount(rows, minlength=words)
    starts = np.concatenate([[0], np.cumsum(per_row)])
    matrix = (np.concatenate(values), np.concatenate(columns), starts)
    return sparse.csr_array(matrix, shape=(words, words))


def _ranges(folder: str, sizes: Sequence[int]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pairs and counts of all blocks within one range of pairs after the other."""
    files = [
        tuple(
            np.load(Path(folder, f"{number}.{kind}.npy"), mmap_mode="r")
            for kind in ("pairs", "counts")
        )
        for number in range(len(sizes))
    ]
    sampled = np.sort(np.concatenate([pairs[::_SAMPLED] for pairs, _ in files]))
    parts = math.ceil(sum(sizes) / _AT_ONCE)
    bounds = sampled[np.arange(1, parts) * len(sampled) // parts]
    cuts = [[0, *np.searchsorted(pairs, bounds), len(pairs)] for pairs, _ in files]
    for k in range(len(bounds) + 1):
        slices = [slice(cut[k], cut[k + 1]) for cut in cuts]
        chosen = [
            (pairs[part], counts[part])
            for (pairs, counts), part in zip(files, slices, strict=True)
        ]
        pairs, counts = (np.concatenate(arrays) for arrays in zip(*chosen, strict=True))
        if len(pairs):
            yield pairs, counts
