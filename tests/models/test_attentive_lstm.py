"""The attentive LSTM against a plain numpy loop and finite differences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.models import attentive_lstm
from jaxeval.models.attentive_lstm import AttentiveLstm
from jaxeval.models.dropout import HashedDropout
from jaxeval.models.seq2seq import Seq2SeqShape
from tests.models import pairs
from tests.models.pairs import GIVEN, Inputs

E, H, LAYERS = 4, 3, 2
MODEL = AttentiveLstm(Seq2SeqShape(pairs.SOURCES, pairs.TARGETS, E, H, LAYERS, 1, 1))


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _cell(w: dict, gates: np.ndarray, h: np.ndarray, c: np.ndarray) -> tuple:
    """Of one row: gates [4 H] without the recurrent share; i, o, candidate, f."""
    i, o, g, f = np.split(gates + h @ w["recurrent"] + w["bias_input"] + w["bias_recurrent"], 4)
    c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
    return _sigmoid(o) * np.tanh(c), c


def _direction(w: dict, x: np.ndarray, back: bool) -> np.ndarray:
    h = c = np.zeros(H)
    hidden = []
    for row in x[::-1] if back else x:
        h, c = _cell(w, row @ w["kernel"], h, c)
        hidden.append(h)
    return np.stack(hidden[::-1] if back else hidden)


def _loop(p: dict, inputs: Inputs, masks: dict[str, np.ndarray]) -> np.ndarray:
    """The model written again from the equations, row by row, without padding.

    Args:
      masks: of dropout: name -> [T, B, units], multiplied.
    """
    scores = []
    for row, (source, length, target) in enumerate(zip(*inputs, strict=True)):
        mask = {name: whole[:, row] for name, whole in masks.items()}
        x = p["source"][source[:length]] * mask["source"][:length]
        for layer in range(LAYERS):
            x = x * mask["layer"][:length] if layer else x
            w = p[f"encoder_{layer}"]
            directions = [_direction(w["forward"], x, False), _direction(w["backward"], x, True)]
            x = np.concatenate(directions, axis=1)
        a = p["attention"]
        matrix = np.concatenate([a["keys"]["kernel"], a["query"]])
        h, c = p["start"]["hidden"], p["start"]["memory"]
        for position, symbol in enumerate(target):
            looks = np.concatenate([x, np.tile(h, (length, 1))], axis=1)
            hidden = np.tanh(looks @ matrix + a["keys"]["bias"])
            context = pairs.softmax(hidden @ a["score"] + a["score_bias"]) @ x
            y = p["target"][symbol] * mask["target"][position]
            w = p["decoder"]
            h, c = _cell(w, y @ w["kernel"] + context @ w["context"], h, c)
            scores.append((h * mask["output"][position]) @ p["output"]["kernel"])
    rows = len(inputs.length)
    return np.reshape(scores, (rows, len(scores) // rows, -1)) + p["output"]["bias"]


@jax.jit
def _masks(drop: HashedDropout) -> dict[str, jax.Array]:
    """Of every site: [T, B, units]."""
    (rows, source), (_, target) = GIVEN.source.shape, GIVEN.target.shape
    sites = {
        "source": (drop.at(attentive_lstm.SOURCE), (source, rows, E)),
        "layer": (drop.at(attentive_lstm.LAYER, 1), (source, rows, 2 * H)),
        "target": (drop.at(attentive_lstm.TARGET), (target, rows, E)),
        "output": (drop.at(attentive_lstm.OUTPUT), (target, rows, H)),
    }
    return {name: drop.apply(jnp.ones(shape), 1) for name, (drop, shape) in sites.items()}


@pytest.mark.parametrize("dropped", [False, True], ids=["plain", "dropout"])
def test_scores_equal_a_numpy_loop(dropped: bool) -> None:
    """Dies if a gate, a direction, the attention, a site of dropout or padding is wrong."""
    with jax.enable_x64(True):
        p, drop = pairs.parameters(MODEL, 1), HashedDropout()
        if dropped:
            drop = HashedDropout(jnp.asarray(pairs.WORDS), pairs.RATE)
        actual = pairs.use(MODEL)(p, GIVEN, drop)
        masks = pairs.host(_masks(drop))
        assert dropped == any(np.any(mask == 0) for mask in masks.values())
        expected = _loop(pairs.host(p), pairs.host(GIVEN), masks)
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-11)
