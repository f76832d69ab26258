"""The types that subpackages exchange; read this module first.

Notation, used in every docstring: S members, B rows of a batch, T positions, D input size,
H hidden size, V vocabulary, Y labels, N rows of a corpus, W characters of a word, C characters.
All of a Task is written for ONE member; only `jaxeval.population` adds the axis S.
"""

import dataclasses
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import jax
import numpy as np

from jaxeval.files import Json

Array = jax.Array
Tree = Any  # a pytree of arrays
Hparams = Mapping[str, Any]  # name -> traced float32 scalar


_Unit = Literal["fraction", "bits", "nats", "perplexity", "error rate", "number"]


class Metric(NamedTuple):
    """The score that early stopping reads and that ranks members."""

    name: str
    higher_is_better: bool = True
    unit: _Unit = "number"  # decides how scores are printed
    margin: float = 0.0  # models that differ by less count as equal

    def improves(self, score: float, best: float) -> bool:
        """True if `score` is strictly better than `best`."""
        return score > best if self.higher_is_better else score < best


class Findings(NamedTuple):
    """Observations about a corpus, beside its sizes."""

    facts: Mapping[str, Json] = types.MappingProxyType({})  # for plans and records
    remarks: Sequence[str] = ()
    warnings: Sequence[str] = ()  # probable mistakes

    def joined(self, other: "Findings") -> "Findings":
        """Returns these findings and others."""
        lines = ([*own, *more] for own, more in zip(self[1:], other[1:], strict=True))
        return Findings({**self.facts, **other.facts}, *lines)


class Batch(NamedTuple):
    """The rows of a corpus that a Task sees in one step."""

    rows: Tree  # leaves [B, ...]
    weight: Array  # [B] float32: 1 for a real row, 0 for padding
    shared: Tree  # tables of the corpus, the same for all members (never a member axis)
    split: Tree  # tables that depend on the member's own split
    # [B] int32: position of each row in the batch of an update; None: in order
    positions: Array | None = None


def weighted_rows(batch: Batch) -> Array:
    """Returns the number of real rows, []."""
    return batch.weight.sum()


class Table(NamedTuple):
    """A parameter [R, D] of which a batch reads few rows, such as word vectors.

    If the batch's `split` holds `read` [n] and `place` [R], both int32, the loss gets only the
    rows that are read: a table [n, D] in which row r of the parameter is row place[r].
    """

    name: str  # its path among the parameters, such as "features/words"
    # batch -> [n] int32: at least the rows that its loss reads, in any order
    rows: Callable[[Batch], Array]


@dataclasses.dataclass(frozen=True)
class Task:
    """A learning problem: pure functions written for one member.

    Laws, which tests/conformance.py checks for every task:
      * The same key gives the same params.
      * Rows of weight 0 change neither loss nor counts.
      * Counts and normalisers of two halves add up to those of the whole. The loss of the whole is
        the mean of theirs, weighted by the normalisers.
      * `predict` ignores gold fields; perfect outputs score best.
      * The loss of an untrained model is near log(outcomes) per decision, and falls on fixed rows.
      * Traced hparams cause no compilation.
    """

    init: Callable[[Array, Batch, Hparams], Tree]  # (key, batch, hparams) -> params
    start: Callable[[int], Tree]  # (batch size) -> carry; () unless state is carried
    # (params, carry, batch, key, hparams) -> (mean loss [], carry)
    loss: Callable[[Tree, Tree, Batch, Array, Hparams], tuple[Array, Tree]]
    # (params, carry, batch, key, hparams) -> (outputs, carry)
    predict: Callable[[Tree, Tree, Batch, Array, Hparams], tuple[Tree, Tree]]
    count: Callable[[Tree, Batch], Mapping[str, Array]]  # (outputs, batch) -> float32 sums, []
    score: Callable[[Mapping[str, float]], dict[str, float]]  # counts -> metrics, on the host
    metric: Metric
    # batch -> [] float32: the number of terms (rows, words ...) that its loss averages
    normaliser: Callable[[Batch], Array] = weighted_rows
    # True if random draws depend on `Batch.positions`: then all parts of a batch get the same key,
    # and cutting a batch into other parts changes nothing
    keyed_by_position: bool = False
    table: Table | None = None  # None: every parameter is read as a whole


class Corpus(NamedTuple):
    """A corpus as padded arrays, with one bucket for each shape of row."""

    buckets: tuple[Tree, ...]  # bucket b: leaves [N_b, ...]
    shared: Tree


class Split(NamedTuple):
    """The rows of each bucket that are train, dev and test.

    Bucket b has the same number of rows in every split; shorter ones are padded with -1 (no row).
    """

    train: tuple[np.ndarray, ...]  # bucket b: int32 row numbers
    dev: tuple[np.ndarray, ...]
    test: tuple[np.ndarray, ...]
    tables: Tree
    padded: bool = False  # the same for all splits: batches of train may have no row


@dataclasses.dataclass(frozen=True)
class Member:
    """Everything in which two members of one compiled program may differ."""

    seed: int
    split: int = 0  # 0: the corpus's own split; k > 0: the k-th random split
    hparams: tuple[tuple[str, float], ...] = ()  # sorted by name
    repeat: int = 0  # number of this training of the seed; has no other effect
    # fingerprint of its word vectors, if the members of a program differ in them
    vectors: str = ""


GIVEN_SPLIT = 0
