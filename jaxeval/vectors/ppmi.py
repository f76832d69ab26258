"""Word vectors of counts: positive pointwise mutual information, then a truncated SVD.

Formulas and options are those of hyperwords (Levy, Goldberg & Dagan 2015, "Improving
Distributional Similarity with Lessons Learned from Word Embeddings", TACL 3, sections 2 and 3).
Notation: V words, D dimensions.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jaxeval.errors import ConfigError, RunError

if TYPE_CHECKING:
    from scipy import sparse

_EPSILON = np.finfo(np.float64).eps


class Factors(NamedTuple):
    """The largest singular values and their vectors: words diag(values) contexts'."""

    words: np.ndarray  # U [V, D]
    values: np.ndarray  # s [D], falling
    contexts: np.ndarray  # [V, D]


def ppmi(
    counts: "sparse.csr_array", smoothing: float = 1.0, shift: float = 1.0
) -> "sparse.csr_array":
    """max(0, log[n_wc sum_c' n_c'^a / (n_w n_c^a)] - log k) of the pairs that were counted.

    Args:
      counts: [V, V] n_wc.
      smoothing: a, of the contexts' distribution (cds; 1: none).
      shift: k (neg; 1: none).
    """
    of_words, of_contexts = counts.sum(axis=1), counts.sum(axis=0) ** smoothing
    matrix = counts.tocoo()
    ratio = matrix.data / of_words[matrix.row] / of_contexts[matrix.col]
    matrix.data = np.maximum(0, np.log(ratio * of_contexts[of_contexts > 0].sum()) - np.log(shift))
    positive = matrix.tocsr()
    positive.eliminate_zeros()
    return positive


def factors(matrix: "sparse.csr_array", dimension: int) -> Factors:
    """Truncated SVD by ARPACK, the same at every call where no values are equal: signs make each
    column's largest positive. Rows of empty rows and columns of the matrix are zeros.

    Args:
      matrix: [V, V], of no negative values.

    Raises:
      ConfigError: as many dimensions as words, or more; more than the matrix has.
      RunError: ARPACK fails, as on a matrix of zeros.
    """
    from scipy.sparse import linalg

    if dimension >= min(matrix.shape):
        raise ConfigError(
            f"dimension: expected fewer than the {min(matrix.shape)} words, found {dimension}"
        )
    start = np.random.default_rng(0).standard_normal(min(matrix.shape))
    try:
        left, values, right = linalg.svds(matrix, k=dimension, v0=start, solver="arpack")
    except linalg.ArpackError as error:
        reason = str(error).partition("\n")[0]
        message = f"truncated SVD with {dimension} dimensions failed ({reason})"
        raise RunError(f"{message}; expected a lower --dimension, or a larger corpus") from None
    # vectors of values that are 0 but for rounding are arbitrary (as numpy.linalg.matrix_rank)
    rank = int(np.sum(values > _EPSILON * max(matrix.shape) * values.max()))
    if rank < dimension:
        raise ConfigError(
            f"dimension: expected at most {rank}, the rank of the matrix, found {dimension}"
        )
    order = np.argsort(-values, kind="stable")
    left, values, right = left[:, order], values[order], right[order].T
    largest = np.take_along_axis(left, np.abs(left).argmax(axis=0)[None], axis=0)
    signs = np.where(largest < 0, -1.0, 1.0)
    left, right = left * signs, right * signs
    left[matrix.sum(axis=1) == 0] = 0  # of zeros but for rounding, which small values enlarge
    right[matrix.sum(axis=0) == 0] = 0
    return Factors(left, values, right)


def embed(factors: Factors, exponent: float = 0.5, add_contexts: bool = False) -> np.ndarray:
    """Vectors [V, D] of length 1: U S^p, or (U + C) S^p where contexts are added (w+c).

    A word without any positive association, or with words alone that these dimensions leave out,
    gets a vector of zeros: what there is of it is rounding error, which has no direction.
    """
    left = factors.words + factors.contexts if add_contexts else factors.words
    table = left * factors.values**exponent
    rounding = _EPSILON * len(left) * factors.values[0] / factors.values  # of unit vectors
    table[np.all(np.abs(left) <= rounding, axis=1)] = 0
    length = np.linalg.norm(table, axis=1, keepdims=True)
    return np.asarray(table / np.where(length > 0, length, 1), np.float32)
