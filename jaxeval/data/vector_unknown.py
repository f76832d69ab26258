"""Vectors for words that a file has none of, by named rules; and a common vocabulary.

Uploads of different vocabularies are judged on one common vocabulary (Nayak, Angeli & Manning
2016): its words keep their vectors, all other words of the file give the unknown word's.
"""

import dataclasses
from collections.abc import Container
from typing import Literal

import numpy as np

from jaxeval.data.vectors import Vectors

Rule = Literal["mean", "random", "zeros"]
_SPREAD = 0.25  # random vectors are U(-.25, .25) (Kim 2014)


def common(read: Vectors, vocabulary: Container[str]) -> Vectors:
    """Vectors on a common vocabulary, as VecEval (2016) has them.

    The unknown word's vector is the mean of the vectors outside the vocabulary, zeros where there
    is none; those vectors are dropped.
    """
    inside = [row for word, row in read.index.items() if word in vocabulary]
    outside = np.ones(len(read.table), bool)
    outside[inside] = False
    index = {w: k for k, w in enumerate(word for word in read.index if word in vocabulary)}
    return Vectors(index, read.table[inside], mean(read.table, outside), read.repeated)


def with_unknown(read: Vectors, rule: Rule, seed: int = 0) -> Vectors:
    """The same vectors, with one for unknown words.

    Args:
      rule: mean of all vectors; random, uniform from -.25 to .25 by the seed; zeros.
    """
    size = read.table.shape[1]
    if rule == "mean":
        unknown = mean(read.table, np.ones(len(read.table), bool))
    elif rule == "random":
        drawn = np.random.default_rng(seed).uniform(-_SPREAD, _SPREAD, size)
        unknown = np.asarray(drawn, np.float32)
    else:
        unknown = np.zeros(size, np.float32)
    return dataclasses.replace(read, unknown=unknown)


def mean(table: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Mean [D] float32 of the rows [V] bool of a table; zeros of none."""
    if not rows.any():
        return np.zeros(table.shape[1], np.float32)
    total = np.sum(table, axis=0, dtype=np.float64, where=rows[:, None])
    return np.asarray(total / np.count_nonzero(rows), np.float32)
