"""The window perceptron against the same computed word by word."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.config import reading
from jaxeval.contracts import Batch
from jaxeval.data import words
from jaxeval.models import tagging, window
from jaxeval.models.tagging_settings import TaggerSettings
from tests import quick

CHOICES: dict[str, Any] = {
    "encoder": "window",
    "characters": {"encoder": "none"},
    "casing": "capitals",
    "classifier": "softmax",
    "dropout": {"kind": "none"},
}


@pytest.mark.parametrize(("reach", "trained"), [(0, False), (2, False), (2, True), (9, True)])
def test_emissions_are_those_computed_word_by_word(reach: int, trained: bool) -> None:
    """Dies if a window is shifted, a word's neighbours are those of another sentence, or beyond
    an end stands anything but padding: its vector (which is trained), and no capitals."""
    draw = np.random.default_rng(0)
    forms, length = draw.integers(1, 6, (3, 7)), np.array([7, 1, 4])
    forms = np.where(np.arange(7)[None] < length[:, None], forms, 0)
    vectors = draw.normal(size=(6, 3)).astype(np.float32)
    capitals = np.array([words.NO_CAPITALS, 0, 1, 2, 3, 4])
    shared = {"row": np.arange(6), "vectors": vectors, "pretrained": np.ones(6, bool)}
    batch = Batch(
        {"forms": forms, "length": length},
        np.ones(3),
        {**shared, "capitals": capitals},
        {"known": np.ones(6, bool), "once": np.zeros(6, bool)},
    )
    batch = jax.tree.map(jnp.asarray, batch)
    tree = {**CHOICES, "window": {"reach": reach, "hidden": 4}, "words": {"trained": trained}}
    choices = reading.from_dict(TaggerSettings, tree)
    model = tagging.Tagger(choices, tagging.Sizes(2, 0, 0, 6))
    shapes = jax.eval_shape(model.init, jax.random.key(0), batch, {}, None)["params"]
    params = jax.tree.map(lambda s: draw.normal(size=s.shape).astype(np.float32), shapes)
    run = quick.jit(lambda p: model.apply({"params": p}, batch, {}, None).emissions)
    emissions = np.asarray(run(params))
    table = params["features"]["words"] if trained else vectors
    features = np.concatenate([table, np.vstack([np.zeros(5), np.eye(5)])], axis=1)
    hidden, last = params["window"]["hidden"], params["emissions"]
    for sentence in range(3):
        padded = [0] * reach + [*forms[sentence, : length[sentence]]] + [0] * reach
        for t in range(length[sentence]):
            window = features[padded[t : t + 2 * reach + 1]].reshape(-1)
            state = np.tanh(window @ hidden["kernel"] + hidden["bias"])
            expected = state @ last["kernel"] + last["bias"]
            np.testing.assert_allclose(emissions[t, sentence], expected, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize(("span", "width"), [(1, 3), (3, 2), (5, 4)])
def test_the_convolution_and_its_gradients(span: int, width: int) -> None:
    """Dies if a word's part goes to another window, or a gradient is another's."""
    draw = np.random.default_rng(1)
    steps, batch, size = 6, 2, 3
    x = draw.normal(size=(steps + span - 1, batch, size)).astype(np.float32)
    kernel = draw.normal(size=(span * size, width)).astype(np.float32)
    bias, above = draw.normal(size=width), draw.normal(size=(steps, batch, width))

    @quick.jit
    def both(above: jax.Array, *of: jax.Array) -> tuple:
        out, pull = jax.vjp(window.convolve, *of)
        return out, *pull(above)

    out, d_x, d_kernel = np.tile(bias, (steps, batch, 1)), np.zeros_like(x), np.zeros_like(kernel)
    for t in range(steps):
        for b in range(batch):
            words = x[t : t + span, b].reshape(-1)
            out[t, b] += words @ kernel
            d_kernel += np.outer(words, above[t, b])
            d_x[t : t + span, b] += (kernel @ above[t, b]).reshape(span, size)
    expected = out, d_x, d_kernel, above.sum(axis=(0, 1))
    actual = both(above.astype(np.float32), x, kernel, bias.astype(np.float32))
    for array, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(array, other, rtol=1e-4, atol=1e-5)


def test_capitals_are_vecevals_five_patterns() -> None:
    """Dies if a pattern is another's: [a-z]+, [A-Z][a-z]+, [A-Z]+, one capital inside, others."""
    kinds = {"apple": 0, "Apple": 1, "NASA": 2, "A": 2, "iPhone": 3, "3D": 3, "McDonald": 4}
    others = {"1999": 4, "zoë": 4, "U.S.": 4, ",": 4, "x-ray": 4}
    assert {word: words.capitals(word) for word in {**kinds, **others}} == {**kinds, **others}
    assert words.shapes(["", "Bo"])["capitals"].tolist() == [words.NO_CAPITALS, 1]
