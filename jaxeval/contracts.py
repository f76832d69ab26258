"""The types that rooms hand to one another; read this page first.

Notation, used in every docstring: S members, B rows of a batch, T positions, D input size,
H hidden size, V vocabulary, Y labels, N rows of a corpus, W characters of a word, C characters.
Everything in a Task is written for ONE member; only `jaxeval.population` adds the axis S.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import jax
import numpy as np

Array = jax.Array
Tree = Any  # a pytree of arrays
Hparams = Mapping[str, Any]  # name -> traced float32 scalar


_Unit = Literal["fraction", "bits", "nats", "perplexity", "error rate", "number"]


class Metric(NamedTuple):
    """The score that early stopping reads and that ranks members."""

    name: str
    higher_is_better: bool = True
    unit: _Unit = "number"  # of the scores, by which they are printed
    margin: float = 0.0  # of equivalence: models that differ by less count as equal

    @property
    def worst(self) -> float:
        """The score that any other score improves on."""
        return float("-inf") if self.higher_is_better else float("inf")

    def improves(self, score: float, best: float) -> bool:
        """True if `score` is strictly better than `best`."""
        return score > best if self.higher_is_better else score < best


class Batch(NamedTuple):
    """The rows of a corpus that a Task sees in one step."""

    rows: Tree  # leaves [B, ...]
    weight: Array  # [B] float32: 1 for a real row, 0 for padding
    shared: Tree  # tables of the corpus, the same for all members (never a member axis)
    split: Tree  # tables that depend on the member's own split
    # [B] int32, of each row in the batch of an update; None: in order
    positions: Array | None = None


def weighted_rows(batch: Batch) -> Array:
    """Returns [] the number of real rows."""
    return batch.weight.sum()


class Table(NamedTuple):
    """A parameter [R, D] of which the loss of a batch reads few rows.

    If the batch's `split` holds read [n] and place [R], both int32, the loss gets only the rows
    that are read, a table [n, D], in which row r is number place[r].
    """

    name: str  # its path among the parameters, such as "features/words"
    # batch -> [n] int32, the rows that its loss reads, perhaps with others, in any order
    rows: Callable[[Batch], Array]


@dataclasses.dataclass(frozen=True)
class Task:
    """A learning problem: pure functions written for one member.

    Laws (tests/conformance.py checks them for every task): the same key gives the same params;
    rows of weight 0 change neither loss nor counts; counts and normalisers of two halves add up to
    those of the whole, whose loss is the mean of theirs weighted by the normalisers; `predict`
    ignores gold fields; the loss of an untrained model is near log(outcomes) a decision and falls
    on fixed rows; traced hparams cause no compilation; perfect outputs score best.
    """

    init: Callable[[Array, Batch, Hparams], Tree]  # (key, batch, hparams) -> params
    start: Callable[[int], Tree]  # (batch size) -> carry; () unless state is carried
    loss: Callable[[Tree, Tree, Batch, Array, Hparams], tuple[Array, Tree]]
    predict: Callable[[Tree, Tree, Batch, Array, Hparams], tuple[Tree, Tree]]
    count: Callable[[Tree, Batch], Mapping[str, Array]]  # additive float32 sums, scalars
    score: Callable[[Mapping[str, float]], dict[str, float]]  # on the host, float64
    metric: Metric
    # [] float32, the number of terms (rows, words ...) of which a batch's loss is the mean
    normaliser: Callable[[Batch], Array] = weighted_rows
    # True if random draws depend on `Batch.positions`: then all parts of a batch get one key, and
    # cutting a batch into other parts changes nothing
    keyed_by_position: bool = False
    table: Table | None = None  # None: every parameter is read as a whole


class Corpus(NamedTuple):
    """A corpus as padded arrays: one entry of `buckets` for each shape of row."""

    buckets: tuple[Tree, ...]  # bucket b: leaves [N_b, ...]
    shared: Tree


class Split(NamedTuple):
    """The rows of each bucket that are train, dev and test.

    Every split has as many a bucket; -1, for no row, fills up those that have fewer.
    """

    train: tuple[np.ndarray, ...]  # bucket b: int32 row numbers
    dev: tuple[np.ndarray, ...]
    test: tuple[np.ndarray, ...]
    tables: Tree


@dataclasses.dataclass(frozen=True)
class Member:
    """A member: everything in which two members of one compiled program may differ."""

    seed: int
    split: int = 0  # 0: the corpus's own split; k > 0: the k-th random split
    hparams: tuple[tuple[str, float], ...] = ()  # sorted by name
    repeat: int = 0  # number of this training of the seed; it changes nothing else
    # fingerprint of its word vectors, in programs whose members differ in them
    vectors: str = ""


GIVEN_SPLIT = 0
