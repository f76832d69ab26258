"""LSTM layers in the variants of the published taggers, over `recurrence.run`.

Notation: T time steps, B rows, D inputs, H hidden units, G mask groups (1, or one per gate).
"""

import dataclasses
from collections.abc import Mapping, Sequence

import jax
import jax.numpy as jnp
from flax import linen as nn
from pydantic import Field

from jaxeval.config import reading
from jaxeval.contracts import Array
from jaxeval.models import recurrence
from jaxeval.models.parameters import Module


@reading.settings
class LSTMVariant:
    """Which LSTM: the plain one with a forget gate, or a relative that was published."""

    hard_sigmoid: bool = Field(False, description="gates by clip(.2 x + .5, 0, 1) (Keras 1, 2)")
    coupled_forget: bool = Field(False, description="forget gate = 1 - input gate (Lample)")
    peepholes: bool = Field(False, description="i sees c(t-1), o sees c(t), element-wise (Lample)")
    learned_start: bool = Field(False, description="h(0) and c(0) are parameters (Lample)")
    forget_bias: float = Field(1.0, description="initial bias of the forget gate")
    gradient_clip: float | None = Field(
        None, description="clip the gates' gradients inside the loop (LasagneNLP); absent: no"
    )

    @property
    def gates(self) -> int:
        """Gate inputs of a unit: input, output, candidate, and forget unless coupled."""
        return 3 if self.coupled_forget else 4


def hard_sigmoid(x: Array) -> Array:
    """clip(.2 x + .5, 0, 1): Keras 1 and 2 (`jax.nn.hard_sigmoid` has the slope 1/6)."""
    return jnp.clip(0.2 * x + 0.5, 0.0, 1.0)


@dataclasses.dataclass(frozen=True)
class LSTMCell:
    """One step of an LSTM; gates in the order input, output, candidate (, forget)."""

    variant: LSTMVariant

    def __call__(
        self, gates: Array, memory: Array, weights: Mapping[str, Array]
    ) -> tuple[Array, Array]:
        """Hidden and memory [B, H] after gate inputs [B, G H] and the memory before."""
        return self.update(jnp.split(gates, self.variant.gates, axis=-1), memory, weights)

    def update(
        self, gates: Sequence[Array], memory: Array, weights: Mapping[str, Array]
    ) -> tuple[Array, Array]:
        """The same of the gate inputs one by one, [B, H] each."""
        sigmoid = hard_sigmoid if self.variant.hard_sigmoid else jax.nn.sigmoid
        input_gate, output_gate, candidate, *forget_gate = gates
        if self.variant.peepholes:
            input_gate = input_gate + memory * weights["peephole_in"][None]
        input_gate = sigmoid(input_gate)
        forget = sigmoid(forget_gate[0]) if forget_gate else 1.0 - input_gate
        memory = forget * memory + input_gate * jnp.tanh(candidate)
        if self.variant.peepholes:
            output_gate = output_gate + memory * weights["peephole_out"][None]
        return sigmoid(output_gate) * jnp.tanh(memory), memory


class LSTM(Module):
    """One direction of an LSTM layer: inputs [T, B, D] -> hidden [T, B, H].

    Kernels start Glorot uniform, recurrent kernels orthogonal (one matrix for all gates, so one QR
    decomposition), biases 0 but for the forget gate, as in Keras.
    """

    width: int
    variant: LSTMVariant = LSTMVariant()
    reverse: bool = False
    frozen: int = 0  # so many leading inputs need no gradient

    @nn.compact
    def __call__(
        self,
        inputs: Array,
        valid: Array,
        input_mask: Array | None = None,
        recurrent_mask: Array | None = None,
    ) -> Array:
        """Runs the layer.

        Args:
          inputs: [T, B, D].
          valid: [T, B] bool; false at padding, which stands at the end.
          input_mask: [G, B, D] multiplies the inputs, the same at all steps; or None.
          recurrent_mask: [G, B, H] multiplies h(t-1), the same at all steps; or None.
        """
        units = self.variant.gates * self.width
        kernel = self.param("kernel", nn.initializers.glorot_uniform(), (inputs.shape[-1], units))
        recurrent = self.param("recurrent", nn.initializers.orthogonal(), (self.width, units))
        bias = self.param("bias", _initial_bias, self.width, self.variant)
        peepholes = self._vectors("peephole_in", "peephole_out") if self.variant.peepholes else {}
        gates = _input_gates(inputs, kernel, input_mask, self.frozen)
        return recurrence.run(
            LSTMCell(self.variant),
            self.reverse,
            self.variant.gradient_clip,
            gates,
            bias,
            recurrent,
            peepholes,
            self._start(inputs.shape[1]),
            valid,
            recurrent_mask,
        )

    def _vectors(self, *names: str) -> dict[str, Array]:
        return {n: self.param(n, nn.initializers.zeros, (self.width,)) for n in names}

    def _start(self, batch: int) -> tuple[Array, Array]:
        shape = (batch, self.width)
        if not self.variant.learned_start:
            return jnp.zeros(shape), jnp.zeros(shape)
        start = self._vectors("hidden_start", "memory_start")
        hidden, memory = (jnp.broadcast_to(v, shape) for v in start.values())
        return hidden, memory


def _initial_bias(key: Array, width: int, variant: LSTMVariant) -> Array:
    del key  # the bias is not random
    forget = [] if variant.coupled_forget else [jnp.full(width, variant.forget_bias)]
    return jnp.concatenate([jnp.zeros(3 * width), *forget])


def _input_gates(inputs: Array, kernel: Array, mask: Array | None, frozen: int) -> Array:
    """The input's part of all gates and time steps as one product: [T, B, G H]."""
    if mask is None or mask.shape[0] == 1:
        masked = inputs if mask is None else inputs * mask[:1]
        return recurrence.project(masked, kernel, frozen)
    by_gate = zip(mask, jnp.split(kernel, mask.shape[0], axis=-1), strict=True)
    gates = [recurrence.project(inputs * m[None], k, frozen) for m, k in by_gate]
    return jnp.concatenate(gates, axis=-1)
