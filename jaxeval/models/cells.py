"""Recurrent cells: the LSTM of taggers and classifiers, and the cells of language models.

Notation: T time steps, B rows, D inputs, H hidden units, G gates or mask groups (1, or one per
gate), L levels of a highway. The inputs' part of all time steps is one product outside the loop.

Cells of language models follow Melis et al. (2018); initial values follow the authors' code: every
tile of a kernel truncated normal with standard deviation sqrt(1 / fan-in), biases random.
"""

import functools
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn
from pydantic import Field

from jaxeval.config import fields, reading
from jaxeval.contracts import Array, Tree
from jaxeval.models import Module, Weights, glorot_uniform, recurrence, unroll
from jaxeval.models.unroll import Blocks, Tap

_Kind = Literal["lstm", "rhn", "nas"]
_Gates = Literal["untied", "tied", "capped"]
_BIAS = 1.0  # initial mean bias of a forget or carry gate
_TRUNCATED = 0.87962566103423978  # standard deviation of a normal truncated at two of its own


@reading.settings
class LSTMVariant:
    """The variant of the LSTM; the default is the plain one with a forget gate."""

    hard_sigmoid: bool = Field(False, description="gates by clip(.2 x + .5, 0, 1) (Keras 1, 2)")
    coupled_forget: bool = Field(False, description="forget gate = 1 - input gate (Lample)")
    peepholes: bool = Field(False, description="i sees c(t-1), o sees c(t), element-wise (Lample)")
    learned_start: bool = Field(False, description="h(0) and c(0) are parameters (Lample)")
    forget_bias: float = Field(1.0, description="initial bias of the forget gate")
    gradient_clip: float | None = Field(
        None, description="clips gates' gradients in the loop (LasagneNLP)"
    )

    @property
    def gates(self) -> int:
        """Gates of a unit: input, output, candidate, and forget unless coupled."""
        return 3 if self.coupled_forget else 4

    def update(
        self, gates: Array | Sequence[Array], memory: Array, weights: Weights
    ) -> tuple[Array, Array]:
        """Returns hidden and memory [B, H], given gate inputs [B, G H] or G of [B, H].

        The order of gates is input, output, candidate (, forget).
        """
        # `jax.nn.hard_sigmoid` has the slope 1/6
        keras = self.hard_sigmoid
        sigmoid = (lambda x: jnp.clip(0.2 * x + 0.5, 0.0, 1.0)) if keras else jax.nn.sigmoid
        if isinstance(gates, jax.Array):
            gates = jnp.split(gates, self.gates, axis=-1)
        input_gate, output_gate, candidate, *forget_gate = gates
        if self.peepholes:
            input_gate = input_gate + memory * weights["peephole_in"][None]
        input_gate = sigmoid(input_gate)
        forget = sigmoid(forget_gate[0]) if forget_gate else 1.0 - input_gate
        memory = forget * memory + input_gate * jnp.tanh(candidate)
        if self.peepholes:
            output_gate = output_gate + memory * weights["peephole_out"][None]
        return sigmoid(output_gate) * jnp.tanh(memory), memory


PLAIN = LSTMVariant()


def plain_states(
    gates: Array, bias: Array, recurrent: Array, valid: Array, reverse: bool = False
) -> Array:
    """Hidden states [T, B, H] of the plain LSTM from zero, given the inputs' gates [T, B, 4 H].

    Where `valid` [T, B] is false, the previous state is held.
    """
    zeros = jnp.zeros((gates.shape[1], len(recurrent)))
    start = zeros, zeros
    return recurrence.run(
        PLAIN.update, reverse, None, gates, bias, recurrent, {}, start, valid, None
    )


class LSTM(Module):
    """One direction of an LSTM layer: inputs [T, B, D] -> hidden [T, B, H].

    As in Keras, kernels start Glorot uniform, recurrent kernels orthogonal (one matrix for all
    gates: one QR decomposition), and biases 0 except for the forget gate.
    """

    width: int
    variant: LSTMVariant = LSTMVariant()
    reverse: bool = False
    frozen: int = 0  # number of leading inputs that need no gradient

    @nn.compact
    def __call__(
        self,
        inputs: Array,
        valid: Array,
        input_mask: Array | None = None,
        recurrent_mask: Array | None = None,
    ) -> Array:
        """Reads inputs [T, B, D]; `valid` [T, B] is false at padding, which is at the end.

        Masks [G, B, D] and [G, B, H] multiply the inputs and h(t-1) at all steps.
        """
        variant, shape = self.variant, (inputs.shape[1], self.width)
        units = variant.gates * self.width
        kernel = self.param("kernel", glorot_uniform, (inputs.shape[-1], units))
        recurrent = self.param("recurrent", nn.initializers.orthogonal(), (self.width, units))
        bias = self.param("bias", self._bias)
        peepholes = self._vectors("peephole_in", "peephole_out") if variant.peepholes else {}
        if input_mask is None or len(input_mask) == 1:
            masked = inputs if input_mask is None else inputs * input_mask[:1]
            gates = recurrence.project(masked, kernel, self.frozen)
        else:
            pairs = zip(input_mask, jnp.split(kernel, len(input_mask), axis=-1), strict=True)
            each = [recurrence.project(inputs * m[None], k, self.frozen) for m, k in pairs]
            gates = jnp.concatenate(each, axis=-1)
        if variant.learned_start:
            begin = self._vectors("hidden_start", "memory_start").values()
            hidden, memory = (jnp.broadcast_to(vector, shape) for vector in begin)
        else:
            hidden, memory = jnp.zeros(shape), jnp.zeros(shape)
        update = variant.update
        clip = variant.gradient_clip
        start = (hidden, memory)
        return recurrence.run(
            update,
            self.reverse,
            clip,
            gates,
            bias,
            recurrent,
            peepholes,
            start,
            valid,
            recurrent_mask,
        )

    def _vectors(self, *names: str) -> Weights:
        return {n: self.param(n, nn.initializers.zeros, (self.width,)) for n in names}

    def _bias(self, key: Array) -> Array:
        forget = jnp.full(self.width * (self.variant.gates - 3), self.variant.forget_bias)
        return jnp.concatenate([jnp.zeros(3 * self.width), forget])


class Masks(NamedTuple):
    """Dropout masks [B, H] of a layer, constant over a window."""

    state: Array | None = None  # on h(t-1), before all gates (Gal & Ghahramani 2016)
    update: Array | None = None  # on the candidate (Semeniuta et al. 2016); not for NAS cells


@reading.settings
class Cell:
    """The cell of a language model's layers.

    Gates: equations 1 (untied), 2 (tied), 3 (capped) of the paper; a highway has no capped ones.
    """

    kind: _Kind = Field("lstm", description="kind of the cells")
    gates: _Gates | None = Field(
        None, description="input gate; absent: capped for lstm, untied for rhn"
    )
    clip: float | None = Field(None, gt=0, description="clips the memory of lstm to [-clip, clip]")
    depth: fields.Layers = Field(1, description="rhn: depth of its one layer")

    @property
    def blocks(self) -> int:
        """Number of gate blocks of H units."""
        return {"lstm": 4, "rhn": 3, "nas": 8}[self.kind] - (self.gates == "tied")

    def layer_parameters(self, inputs: int, hidden: int) -> int:
        """Number of parameters of one layer."""
        if self.kind == "nas":
            return self.blocks * hidden * (inputs + hidden)
        levels = (self.depth - 1) * self.blocks * hidden * (hidden + 1)
        return self.blocks * hidden * (inputs + hidden + 1) + levels


def _dropped(x: Array, mask: Array | None) -> Array:
    return x if mask is None else x * mask


def _biased(gates: Blocks, biases: Weights, name: str) -> Blocks:
    """Adds the bias of the kernel `name`, unless it is added to the kernel's product."""
    if not biases:
        return gates
    parts = jnp.split(biases[name], len(gates))
    return [gate + bias[None] for gate, bias in zip(gates, parts, strict=True)]


def _lstm_step(
    cell: Cell, tap: Tap, weights: Weights, masks: Masks, state: Tree, inputs: Blocks
) -> Tree:
    """One step of the LSTM with state (h, c); one block of inputs per gate."""
    hidden, memory = state
    product = tap("recurrent", _dropped(hidden, masks.state))
    gates = _biased([*map(jnp.add, inputs, product)], weights, "recurrent")
    candidate, output_gate, forget_gate, *input_gates = gates
    update = _dropped(jnp.tanh(candidate), masks.update)
    forget = jax.nn.sigmoid(forget_gate)
    input_gate = 1.0 - forget if cell.gates == "tied" else jax.nn.sigmoid(input_gates[0])
    if cell.gates in (None, "capped"):
        input_gate = jnp.minimum(1.0 - forget, input_gate)
    memory = forget * memory + input_gate * update
    hidden = jax.nn.sigmoid(output_gate) * jnp.tanh(memory)  # before it is clipped
    if cell.clip is not None:
        memory = jnp.clip(memory, -cell.clip, cell.clip)
    return hidden, memory


def _rhn_step(
    cell: Cell, tap: Tap, weights: Weights, masks: Masks, state: Array, inputs: Blocks
) -> Array:
    """One step of the recurrent highway (Zilly et al. 2017): L levels on one state s [B, H]."""
    for level in range(cell.depth):
        product = tap(f"recurrent_{level}", _dropped(state, masks.state))
        gates = _biased(product, weights, f"recurrent_{level}")
        gates = gates if level else [*map(jnp.add, gates, inputs)]
        candidate, carry_gate, *transform_gate = gates
        carry = jax.nn.sigmoid(carry_gate)
        tied = cell.gates == "tied"
        transform = 1.0 - carry if tied else jax.nn.sigmoid(transform_gate[0])
        state = carry * state + transform * _dropped(jnp.tanh(candidate), masks.update)
    return state


def _nas_step(
    cell: Cell, tap: Tap, weights: Weights, masks: Masks, state: Tree, inputs: Blocks
) -> Tree:
    """One step of the NAS cell (Zoph & Le 2017): state (h, c), 8 input blocks, no biases."""
    hidden, memory = state
    a = inputs
    b = tap("recurrent", _dropped(hidden, masks.state))
    sigmoid, relu, tanh = jax.nn.sigmoid, jax.nn.relu, jnp.tanh
    first = tanh(sigmoid(a[0] + b[0]) * relu(a[1] + b[1]))
    second = tanh(sigmoid(a[2] + b[2]) + relu(a[3] * b[3]))
    third = tanh(tanh(a[4] + b[4]) * sigmoid(a[5] + b[5]))
    fourth = sigmoid(tanh(a[6] + b[6]) + sigmoid(a[7] + b[7]))
    memory = tanh(first + memory) * second
    hidden = tanh(memory * tanh(third + fourth))
    return hidden, memory


_STEPS: dict[str, Any] = {"lstm": _lstm_step, "rhn": _rhn_step, "nas": _nas_step}


class Layer(Module):
    """One layer of a language model over a window: inputs [T, B, D] -> outputs [T, B, H]."""

    cell: Cell
    width: int

    @nn.compact
    def __call__(self, inputs: Array, state: Tree, masks: Masks) -> tuple[Tree, Array]:
        """Returns the state after the last step, and the outputs."""
        cell = self.cell
        units = self.cell.blocks * self.width
        # each [D, H] tile has a standard deviation of sqrt(1 / D)
        tiles = nn.initializers.variance_scaling(1.0, "fan_in", "truncated_normal")
        kernel = self.param("kernel", tiles, (inputs.shape[-1], units))
        projected = recurrence.project(inputs, kernel, 0)
        ends = [f"_{level}" for level in range(cell.depth)] if cell.kind == "rhn" else [""]
        names = [f"recurrent{end}" for end in ends]
        kernels = {name: self.param(name, tiles, (self.width, units)) for name in names}
        drawn = [] if cell.kind == "nas" else [f"bias{end}" for end in ends]
        of_kernels = [self.param(name, _biases, cell, self.width) for name in drawn]
        biases = dict(zip(names, of_kernels, strict=False))
        step = functools.partial(_STEPS[cell.kind], cell)
        summed = "recurrent" if cell.kind == "lstm" else None
        given = (biases, {}) if recurrence.accelerated() else ({}, biases)
        return unroll.unroll(step, kernels, *given, masks, projected, state, summed)


def _biases(key: Array, cell: Cell, width: int) -> Array:
    """[G H]: the LSTM's random around its forget bias, the highway's constant."""
    if cell.kind == "rhn":
        return jnp.zeros(cell.blocks * width).at[width : 2 * width].set(_BIAS)
    spread = width**-0.5
    drawn = spread * jax.random.truncated_normal(key, -2, 2, (cell.blocks * width,)) / _TRUNCATED
    return drawn.at[2 * width : 3 * width].add(_BIAS)
