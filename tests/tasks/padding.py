"""Padded members beside models of their own size: which numbers of the one are the other's."""

import functools
from typing import Any, NamedTuple

import jax
import numpy as np

SMALL = {
    "attentive_lstm": {"embedding": 6, "hidden": 5, "encoder_layers": 1},
    "transformer": {
        "embedding": 8,
        "hidden": 5,
        "encoder_layers": 2,
        "decoder_layers": 1,
        "heads": 2,
    },
}
LARGE = {
    "attentive_lstm": {"embedding": 8, "hidden": 9, "encoder_layers": 2},
    "transformer": {
        "embedding": 16,
        "hidden": 9,
        "encoder_layers": 3,
        "decoder_layers": 2,
        "heads": 4,
    },
}
Sizes = dict[str, int]

# the axes of every parameter: "." has no dead units; e, h: embedding, hidden; g, b: gates and
# directions, blocks of h; s, t: heads, three times heads, blocks of e; l: layers
_LSTM = {"kernel": "eg", "recurrent": "hg", "bias_input": "g", "bias_recurrent": "g"}
_NORM = {"scale": "le", "bias": "le"}
_ATTENTION = {
    "inner": {"kernel": "let", "bias": "lt"},
    "outer": {"kernel": "lse", "bias": "le"},
    "norm": _NORM,
}
_FEED = {
    "inner": {"kernel": "leh", "bias": "lh"},
    "outer": {"kernel": "lhe", "bias": "le"},
    "norm": _NORM,
}
_LAST = {"scale": "e", "bias": "e"}
AXES: dict[str, Any] = {
    "attentive_lstm": {
        "source": ".e",
        "target": ".e",
        "attention": {
            "keys": {"kernel": "bh", "bias": "h"},
            "query": "hh",
            "score": "h",
            "score_bias": ".",
        },
        "start": {"hidden": "h", "memory": "h"},
        "decoder": {**_LSTM, "context": "bg"},
        "output": {"kernel": "h.", "bias": "."},
        "encoder_0": {"forward": _LSTM, "backward": _LSTM},
        "encoder_1": {way: {**_LSTM, "kernel": "bg"} for way in ("forward", "backward")},
    },
    "transformer": {
        "source": ".e",
        "target": ".e",
        "encoder": {"layers": {"own": _ATTENTION, "feed_forward": _FEED}, "norm": _LAST},
        "decoder": {
            "layers": {"own": _ATTENTION, "across": _ATTENTION, "feed_forward": _FEED},
            "norm": _LAST,
        },
        "output": {"kernel": "e.", "bias": "."},
    },
}


class Leaf(NamedTuple):
    """A parameter of a member.

    Attributes:
      own: of the model of its size; None: of a layer that it lacks.
      padded: all of it.
      live: what in `padded` is the member's own.
    """

    name: str
    own: np.ndarray | None
    padded: np.ndarray
    live: np.ndarray


def _places(letter: str, length: int, sizes: Sizes, large: Sizes, layers: int) -> np.ndarray:
    """Which units of an axis are live: bool."""
    if letter == ".":
        return np.ones(length, bool)
    if letter == "l":
        return np.arange(length) < layers
    heads = large.get("heads", 1)
    blocks = {"g": 4, "b": 2, "s": heads, "t": 3 * heads}.get(letter, 1)
    name = "embedding" if letter in "est" else "hidden"
    of_block = sizes[name] // (heads if letter in "st" else 1)
    return np.arange(length) % (length // blocks) < of_block


def leaves(architecture: str, own: Any, padded: Any, sizes: Sizes, large: Sizes) -> list[Leaf]:
    """Every parameter, or gradient, of a member and of the model of its own size."""
    axes = AXES[architecture]
    actual = []
    for path, leaf in jax.tree_util.tree_leaves_with_path(padded):
        keys = [entry.key for entry in path]
        layers = sizes.get(f"{keys[0]}_layers", 0)  # a transformer's
        letters = functools.reduce(lambda tree, key: tree[key], keys, axes)
        units = [
            _places(letter, n, sizes, large, layers)
            for letter, n in zip(letters, leaf.shape, strict=True)
        ]
        live = functools.reduce(np.multiply.outer, units)
        mine = None
        if keys[0] == "encoder_1" and sizes["encoder_layers"] == 1:
            live = np.zeros_like(live)
        else:
            mine = functools.reduce(lambda tree, key: tree[key], keys, own)
        actual.append(Leaf("/".join(keys), mine, np.asarray(leaf), live))
    return actual


def check_live(leaf: Leaf, tolerance: float) -> None:
    """The live part is that of the model of its own size, up to rounding."""
    if leaf.own is None:
        return
    own, mine = leaf.own, leaf.padded[leaf.live].reshape(leaf.own.shape)
    np.testing.assert_allclose(mine, own, rtol=tolerance, atol=tolerance, err_msg=leaf.name)
