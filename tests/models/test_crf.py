"""The CRF against enumeration of all label sequences, and published golden numbers."""

import itertools

import jax
import numpy as np
import pytest

from jaxeval.models import crf

STEPS, LABELS = 5, 3


@jax.jit
def _computed(
    emissions: jax.Array, potentials: crf.Potentials, labels: jax.Array, valid: jax.Array
) -> tuple[jax.Array, ...]:
    """All that the module says of a sentence; compiled once for all sentences of a shape."""
    total, of_emissions = jax.value_and_grad(crf._log_partition)(emissions, potentials, valid)
    score = crf._score(emissions, potentials, labels, valid)
    return total, of_emissions, score, crf.viterbi(emissions, potentials, valid)


def _random(seed: int, by_word: bool = False) -> tuple[np.ndarray, crf.Potentials]:
    draw = np.random.default_rng(seed)
    shapes = (STEPS, LABELS, LABELS)[not by_word :], LABELS, LABELS
    potentials = crf.Potentials(*(np.float32(draw.normal(size=shape)) for shape in shapes))
    return np.float32(draw.normal(size=(STEPS, LABELS))), potentials


def _enumerated(emissions: np.ndarray, potentials: crf.Potentials, length: int) -> dict:
    """Score of every label sequence of the first `length` words, by plain Python sums."""
    moves, scores = np.asarray(potentials.transitions, np.float64), {}
    for path in itertools.product(range(LABELS), repeat=length):
        total = float(potentials.start[path[0]]) + float(potentials.end[path[-1]])
        for t, label in enumerate(path):
            total += float(emissions[t, label])
            if t:
                total += float((moves[t] if moves.ndim == 3 else moves)[path[t - 1], label])
        scores[path] = total
    return scores


@pytest.mark.parametrize("by_word", [False, True])
@pytest.mark.parametrize("length", [1, 2, 4, 5])
def test_all_of_it_equals_enumeration(length: int, by_word: bool) -> None:
    """Dies if the mask, the start, the end or the direction of the transitions is wrong, or
    padding or a label gets a gradient that its probability does not give it."""
    emissions, potentials = _random(length, by_word)
    scores = _enumerated(emissions, potentials, length)
    total, best = np.logaddexp.reduce(list(scores.values())), max(scores, key=lambda p: scores[p])
    marginal = np.zeros((STEPS, LABELS))
    for path, value in scores.items():
        marginal[np.arange(length), path] += np.exp(value - total)
    labels = np.array([*best, *[0] * (STEPS - length)])
    actual = _computed(emissions, potentials, labels, np.arange(STEPS) < length)
    np.testing.assert_allclose(actual[0], total, rtol=1e-6)
    np.testing.assert_allclose(actual[1], marginal, atol=1e-6)
    np.testing.assert_allclose(actual[2], scores[best], rtol=1e-6)
    assert tuple(actual[3][:length].tolist()) == best


def test_golden_numbers() -> None:
    """Dies if the score leaves out start, end or a transition (values from the reference)."""
    emissions = np.array([[1, 0.2, -0.5], [0.3, 0.8, 0.1], [-0.2, 0.4, 1.1], [0.6, -0.3, 0]])
    potentials = crf.Potentials(
        np.float32([[0.5, -0.2, 0.1], [-0.4, 0.6, 0], [0.2, -0.1, 0.3]]),
        np.float32([0.1, -0.1, 0]),
        np.float32([0, 0.2, -0.2]),
    )
    padded, valid = np.float32(np.pad(emissions, ((0, 1), (0, 0)))), np.arange(STEPS) < 4
    total, _, score, path = _computed(padded, potentials, np.array([0, 0, 2, 0, 0]), valid)
    np.testing.assert_allclose([total, score], [6.47168078, 3.9], rtol=1e-6)
    assert path[:4].tolist() == [0, 0, 2, 0]
