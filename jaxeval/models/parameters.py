"""Parameters of models: the base class of all modules, and how the weights of a classifier begin.

Notation: D inputs, H hidden units, N outputs. A key is consumed.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn

from jaxeval.contracts import Array

Weights = dict[str, Any]  # arrays by name, or of a part by its name
Kind = Literal["keras", "torch", "uniform"]
_SMALL = 0.01  # bound of an attention's vector


class Module(nn.Module):
    """A Flax module that does not trace an initialiser where nothing is initialised.

    Flax traces it to compare shapes: a quarter of the time in which a transformer is traced.
    """

    def param(self, name: str, init_fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """A parameter, as Flax declares it."""
        if not self.is_initializing() and self.has_variable("params", name):
            return self.get_variable("params", name)
        return super().param(name, init_fn, *args, **kwargs)


class Initial(NamedTuple):
    """How weights begin: as in Keras, as in PyTorch, or uniform within a scale (traced)."""

    kind: Kind = "keras"
    scale: Array | float = 0.0
    zero_biases: bool = False  # of uniform

    def linear(self, key: Array, inputs: int, outputs: int, biased: bool = True) -> Weights:
        """Kernel [D, N] and, if biased, bias [N] of a linear layer."""
        kernel_key, bias_key = jax.random.split(key)
        kernel = self._kernel(kernel_key, (inputs, outputs), inputs)
        bias = {"bias": self._bias(bias_key, (outputs,), inputs)} if biased else {}
        return {"kernel": kernel, **bias}

    def lstm(self, key: Array, inputs: int, width: int) -> Weights:
        """Kernel [D, 4 H], recurrent [H, 4 H] and biases [n, 4 H], which are added up.

        Torch has two biases, and so twice the step of one; its bound is 1 / sqrt(H) for all.
        """
        first, second, third = jax.random.split(key, 3)
        units = 4 * width
        if self.kind == "keras":
            bias = jnp.zeros((1, units)).at[:, 3 * width :].set(1.0)  # remembers at first
            recurrent = nn.initializers.orthogonal()(second, (width, units))
        else:
            bias = self._bias(third, (2 if self.kind == "torch" else 1, units), width)
            recurrent = self._uniform(second, (width, units), width)
        kernel = self._kernel(first, (inputs, units), width)
        return {"kernel": kernel, "recurrent": recurrent, "biases": bias}

    def table(self, key: Array, rows: int, size: int) -> Array:
        """Embeddings [rows, size], or a bilinear form: Glorot uniform, as in AllenNLP."""
        uniform = self.kind == "uniform"
        return self._uniform(key, (rows, size), 1) if uniform else _glorot(key, (rows, size))

    def vector(self, key: Array, size: int) -> Array:
        """A vector [size] of an attention, U(-.01, .01)."""
        bound = self.scale if self.kind == "uniform" else _SMALL
        return jax.random.uniform(key, (size,), minval=-bound, maxval=bound)

    def _kernel(self, key: Array, shape: tuple[int, int], inputs: int) -> Array:
        return _glorot(key, shape) if self.kind == "keras" else self._uniform(key, shape, inputs)

    def _bias(self, key: Array, shape: tuple[int, ...], inputs: int) -> Array:
        zero = self.kind == "keras" or self.zero_biases
        return jnp.zeros(shape) if zero else self._uniform(key, shape, inputs)

    def _uniform(self, key: Array, shape: tuple[int, ...], inputs: int) -> Array:
        bound = self.scale if self.kind == "uniform" else inputs**-0.5
        return jax.random.uniform(key, shape, minval=-bound, maxval=bound)


def _glorot(key: Array, shape: tuple[int, int]) -> Array:
    drawn: Array = nn.initializers.glorot_uniform()(key, shape)
    return drawn
