"""How the weights of a classifier begin: as in Keras, as in PyTorch, or uniform within a scale.

Notation: D inputs, H hidden units, N outputs. A key is consumed.
"""

from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn

Array = jax.Array
Weights = dict[str, Array]
Kind = Literal["keras", "torch", "uniform"]
_GATES = 4  # of an LSTM: input, output, candidate, forget
_SMALL = 0.01  # bound of an attention's vector


class Initial(NamedTuple):
    """The choice of an initialisation.

    Attributes:
      scale: of uniform; traced.
      zero_biases: of uniform.
    """

    kind: Kind = "keras"
    scale: Array | float = 0.0
    zero_biases: bool = False

    def linear(self, key: Array, inputs: int, outputs: int, biased: bool = True) -> Weights:
        """Kernel [D, N] and, if biased, bias [N] of a linear layer."""
        kernel_key, bias_key = jax.random.split(key)
        kernel = self._matrix(kernel_key, inputs, outputs)
        if not biased:
            return {"kernel": kernel}
        return {"kernel": kernel, "bias": self._bias(bias_key, (outputs,), inputs)}

    def lstm(self, key: Array, inputs: int, width: int) -> Weights:
        """Kernel [D, 4 H], recurrent [H, 4 H] and biases [n, 4 H], which are added up.

        Torch has two biases, and so twice the step of one; its bound is 1 / sqrt(H) for all.
        """
        first, second, third = jax.random.split(key, 3)
        units = _GATES * width
        if self.kind == "keras":
            bias = jnp.zeros((1, units)).at[:, 3 * width :].set(1.0)  # remembers at first
            kernel = self._xavier(first, inputs, units)
            recurrent = nn.initializers.orthogonal()(second, (width, units))
            return {"kernel": kernel, "recurrent": recurrent, "biases": bias}
        return {
            "kernel": self._symmetric(first, (inputs, units), width),
            "recurrent": self._symmetric(second, (width, units), width),
            "biases": self._bias(third, (2 if self.kind == "torch" else 1, units), width),
        }

    def bilinear(self, key: Array, left: int, right: int) -> Weights:
        """Kernel [left, right] and a bias [] of zero: Glorot uniform, as in AllenNLP."""
        return {"kernel": self.table(key, left, right), "bias": jnp.zeros(())}

    def table(self, key: Array, rows: int, size: int) -> Array:
        """Embeddings [rows, size], Glorot uniform, as in AllenNLP."""
        if self.kind == "uniform":
            return self._symmetric(key, (rows, size), 1)
        return self._xavier(key, rows, size)

    def vector(self, key: Array, size: int) -> Array:
        """A vector [size] of an attention, U(-.01, .01)."""
        if self.kind == "uniform":
            return self._symmetric(key, (size,), 1)
        return jax.random.uniform(key, (size,), minval=-_SMALL, maxval=_SMALL)

    def _matrix(self, key: Array, inputs: int, outputs: int) -> Array:
        if self.kind == "keras":
            return self._xavier(key, inputs, outputs)
        return self._symmetric(key, (inputs, outputs), inputs)

    def _bias(self, key: Array, shape: tuple[int, ...], inputs: int) -> Array:
        if self.kind == "keras" or self.zero_biases:
            return jnp.zeros(shape)
        return self._symmetric(key, shape, inputs)

    def _xavier(self, key: Array, inputs: int, outputs: int) -> Array:
        return nn.initializers.glorot_uniform()(key, (inputs, outputs))

    def _symmetric(self, key: Array, shape: tuple[int, ...], inputs: int) -> Array:
        bound = self.scale if self.kind == "uniform" else inputs**-0.5
        return jax.random.uniform(key, shape, minval=-bound, maxval=bound)
