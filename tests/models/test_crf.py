"""The CRF against enumeration of all label sequences, and published golden numbers."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.models import crf


def _random(
    seed: int, steps: int, labels: int, by_word: bool
) -> tuple[np.ndarray, crf.Potentials]:
    generator = np.random.default_rng(seed)
    shape = (steps, labels, labels) if by_word else (labels, labels)
    potentials = crf.Potentials(
        generator.normal(size=shape), generator.normal(size=labels), generator.normal(size=labels)
    )
    return generator.normal(size=(steps, labels)), crf.Potentials(*map(jnp.asarray, potentials))


def _enumerate(emissions: np.ndarray, potentials: crf.Potentials, length: int) -> dict:
    """Score of every label sequence of the first `length` words, by plain Python sums."""
    moves = np.asarray(potentials.transitions, np.float64)
    scores = {}
    for path in itertools.product(range(emissions.shape[1]), repeat=length):
        total = float(potentials.start[path[0]]) + float(potentials.end[path[-1]])
        for t, label in enumerate(path):
            total += float(emissions[t, label])
            if t:
                matrix = moves[t] if moves.ndim == 3 else moves
                total += float(matrix[path[t - 1], label])
        scores[path] = total
    return scores


@pytest.mark.parametrize("by_word", [False, True])
@pytest.mark.parametrize("length", [1, 2, 4, 5])
def test_log_partition_and_viterbi_equal_enumeration(length: int, by_word: bool) -> None:
    """Dies if the mask, the start, the end or the direction of the transitions is wrong."""
    emissions, potentials = _random(length, 5, 3, by_word)
    scores = _enumerate(emissions, potentials, length)
    valid = jnp.arange(5) < length
    total = crf.log_partition(jnp.asarray(emissions), potentials, valid)
    np.testing.assert_allclose(total, np.logaddexp.reduce(list(scores.values())), rtol=1e-6)
    best = max(scores, key=lambda path: scores[path])
    actual = crf.viterbi(jnp.asarray(emissions), potentials, valid)
    assert tuple(np.asarray(actual)[:length].tolist()) == best
    labels = jnp.asarray([*best, *[0] * (5 - length)])
    np.testing.assert_allclose(
        crf.score(jnp.asarray(emissions), potentials, labels, valid), scores[best], rtol=1e-6
    )


def test_gradient_is_the_marginal_distribution() -> None:
    """Dies if padding or a label gets a gradient that its probability does not give it."""
    emissions, potentials = _random(7, 4, 3, False)
    scores = _enumerate(emissions, potentials, 3)
    total = np.logaddexp.reduce(list(scores.values()))
    expected = np.zeros((4, 3))
    for path, value in scores.items():
        for t, label in enumerate(path):
            expected[t, label] += np.exp(value - total)
    valid = jnp.arange(4) < 3
    actual = jax.grad(lambda e: crf.log_partition(e, potentials, valid))(jnp.asarray(emissions))
    np.testing.assert_allclose(actual, expected, atol=1e-6)


def test_golden_numbers() -> None:
    """Dies if the score leaves out start, end or a transition (values from the reference)."""
    emissions = jnp.array([[1, 0.2, -0.5], [0.3, 0.8, 0.1], [-0.2, 0.4, 1.1], [0.6, -0.3, 0]])
    potentials = crf.Potentials(
        jnp.array([[0.5, -0.2, 0.1], [-0.4, 0.6, 0], [0.2, -0.1, 0.3]]),
        jnp.array([0.1, -0.1, 0]),
        jnp.array([0, 0.2, -0.2]),
    )
    valid = jnp.ones(4, bool)
    np.testing.assert_allclose(
        crf.log_partition(emissions, potentials, valid), 6.47168078, rtol=1e-6
    )
    path = crf.viterbi(emissions, potentials, valid)
    assert path.tolist() == [0, 0, 2, 0]
    np.testing.assert_allclose(crf.score(emissions, potentials, path, valid), 3.9, rtol=1e-6)


def test_illegal_moves_are_never_decoded() -> None:
    """Dies if the mask of illegal moves is transposed or left out."""
    legal = jnp.array([[True, True, False], [True, True, True], [False, True, True]])
    start, end = jnp.array([True, False, True]), jnp.array([True, True, False])
    for seed in range(20):
        emissions, potentials = _random(seed, 6, 3, False)
        masked = crf.mask_illegal(potentials, legal, start, end)
        path = crf.viterbi(jnp.asarray(emissions), masked, jnp.ones(6, bool)).tolist()
        assert all(legal[a, b] for a, b in itertools.pairwise(path))
        assert start[path[0]] and end[path[-1]]
