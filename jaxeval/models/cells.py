"""Recurrent cells of language models after Melis et al. (2018): LSTM, recurrent highway, NAS.

Notation: T time steps, B rows, D inputs, H hidden units, L levels of a highway.

The input's part of all time steps is one product outside the loop. Initial values are those of
the authors' code: every tile of a kernel truncated normal with standard deviation
sqrt(1 / fan-in) of that tile, biases random (their text says nothing of it).
"""

import functools
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn

from jaxeval.contracts import Array, Tree
from jaxeval.models import recurrence
from jaxeval.models.parameters import Module, Weights
from jaxeval.models.recurrence import Blocks, Tap

State = Tree  # (h, c), or s of a highway
Kind = Literal["lstm", "rhn", "nas"]
Gates = Literal["untied", "tied", "capped"]
_BIAS = 1.0  # of a forget or carry gate at first, its mean
_TRUNCATED = 0.87962566103423978  # standard deviation of a normal cut at two of its own


class Masks(NamedTuple):
    """Dropout masks of a layer, the same at all time steps of a window; None: nothing dropped.

    Attributes:
      state: [B, H] on h(t-1) before all gates (Gal & Ghahramani 2016; variational).
      update: [B, H] on the candidate (Semeniuta et al. 2016; "recurrent dropout"); the NAS cell
        has no such place.
    """

    state: Array | None = None
    update: Array | None = None


class Cell(NamedTuple):
    """What a layer is made of; static.

    Attributes:
      gates: of the LSTM: equations 1 (untied), 2 (tied) and 3 (capped) of the paper; of the
        highway: untied or tied (coupled).
      clip: the stored memory is held in [-clip, clip] (LSTM); None: free.
      depth: levels of the highway.
    """

    kind: Kind = "lstm"
    gates: Gates = "capped"
    clip: float | None = None
    depth: int = 1

    @property
    def blocks(self) -> int:
        """Gate blocks of H units each."""
        if self.kind == "nas":
            return 8
        whole = 4 if self.kind == "lstm" else 3
        return whole - (self.gates == "tied")


def parameter_count(cell: Cell, inputs: int, hidden: int) -> int:
    """Parameters of one layer of the cell."""
    if cell.kind == "nas":
        return 8 * hidden * (inputs + hidden)
    gates = cell.blocks * hidden * (inputs + hidden + 1)
    if cell.kind == "rhn":
        return gates + (cell.depth - 1) * cell.blocks * hidden * (hidden + 1)
    return gates


def start(cell: Cell, rows: int, hidden: int) -> State:
    """The zero state of a layer: (h, c), or s of a highway."""
    zero = jnp.zeros((rows, hidden))
    return zero if cell.kind == "rhn" else (zero, zero)


def _lstm_step(
    cell: Cell, tap: Tap, weights: Weights, masks: Masks, state: State, inputs: Blocks
) -> tuple[State, Array]:
    """One step of the LSTM: state (h, c); inputs: their part of the gates, a block a gate."""
    hidden, memory = state
    product = tap("recurrent", _dropped(hidden, masks.state))
    biases = jnp.split(weights["bias"], cell.blocks)
    gates = [a + b + c[None] for a, b, c in zip(inputs, product, biases, strict=True)]
    candidate, output_gate, forget_gate, *input_gates = gates
    update = _dropped(jnp.tanh(candidate), masks.update)
    forget = jax.nn.sigmoid(forget_gate)
    if cell.gates == "tied":
        input_gate = 1.0 - forget
    else:
        input_gate = jax.nn.sigmoid(input_gates[0])
        if cell.gates == "capped":
            input_gate = jnp.minimum(1.0 - forget, input_gate)
    memory = forget * memory + input_gate * update
    hidden = jax.nn.sigmoid(output_gate) * jnp.tanh(memory)  # before it is clipped
    if cell.clip is not None:
        memory = jnp.clip(memory, -cell.clip, cell.clip)
    return (hidden, memory), hidden


def _rhn_step(
    cell: Cell, tap: Tap, weights: Weights, masks: Masks, state: State, inputs: Blocks
) -> tuple[Array, Array]:
    """One step of the recurrent highway (Zilly et al. 2017): L levels on one state s [B, H]."""
    for level in range(cell.depth):
        product = tap(f"recurrent_{level}", _dropped(state, masks.state))
        biases = jnp.split(weights[f"bias_{level}"], cell.blocks)
        gates = [a + b[None] for a, b in zip(product, biases, strict=True)]
        if level == 0:
            gates = list(map(jnp.add, gates, inputs))
        candidate, carry_gate, *transform_gate = gates
        carry = jax.nn.sigmoid(carry_gate)
        tied = cell.gates == "tied"
        transform = 1.0 - carry if tied else jax.nn.sigmoid(transform_gate[0])
        update = _dropped(jnp.tanh(candidate), masks.update)
        state = carry * state + transform * update
    return state, state


def _nas_step(
    cell: Cell, tap: Tap, weights: Weights, masks: Masks, state: State, inputs: Blocks
) -> tuple[State, Array]:
    """One step of the NAS cell (Zoph & Le 2017): state (h, c), inputs in 8 blocks; no biases."""
    del weights, cell
    hidden, memory = state
    a, b = inputs, tap("recurrent", _dropped(hidden, masks.state))
    sigmoid, relu, tanh = jax.nn.sigmoid, jax.nn.relu, jnp.tanh
    first = tanh(sigmoid(a[0] + b[0]) * relu(a[1] + b[1]))
    second = tanh(sigmoid(a[2] + b[2]) + relu(a[3] * b[3]))
    third = tanh(tanh(a[4] + b[4]) * sigmoid(a[5] + b[5]))
    fourth = sigmoid(tanh(a[6] + b[6]) + sigmoid(a[7] + b[7]))
    memory = tanh(first + memory) * second
    hidden = tanh(memory * tanh(third + fourth))
    return (hidden, memory), hidden


_STEPS = {"lstm": _lstm_step, "rhn": _rhn_step, "nas": _nas_step}


def _dropped(x: Array, mask: Array | None) -> Array:
    return x if mask is None else x * mask


class Layer(Module):
    """One layer of a cell over a window of time."""

    cell: Cell
    width: int

    @nn.compact
    def __call__(self, inputs: Array, state: State, masks: Masks) -> tuple[State, Array]:
        """Runs the layer.

        Args:
          inputs: [T, B, D].
          state: before the first step, as `start` gives it.
          masks: of this window.

        Returns:
          (state after the last step, outputs [T, B, H]).
        """
        cell, units = self.cell, self.cell.blocks * self.width
        kernel = self.param("kernel", _tiles, (inputs.shape[-1], units))
        projected = recurrence.project(inputs, kernel, 0)
        levels = [f"_{level}" for level in range(cell.depth)] if cell.kind == "rhn" else [""]
        names = [f"recurrent{level}" for level in levels]
        kernels = {name: self.param(name, _tiles, (self.width, units)) for name in names}
        names = [] if cell.kind == "nas" else [f"bias{level}" for level in levels]
        biases = {name: self.param(name, _biases, cell, self.width) for name in names}
        step = functools.partial(_STEPS[cell.kind], cell)
        return recurrence.unroll(step, kernels, biases, masks, projected, state)


def _tiles(key: Array, shape: tuple[int, int]) -> Array:
    """[D, G H] kernel: each [D, H] tile truncated normal, standard deviation sqrt(1 / D)."""
    return nn.initializers.variance_scaling(1.0, "fan_in", "truncated_normal")(key, shape)


def _biases(key: Array, cell: Cell, width: int) -> Array:
    """[G H]: the LSTM's random around its forget bias, the highway's constant."""
    if cell.kind == "rhn":
        return jnp.zeros(cell.blocks * width).at[width : 2 * width].set(_BIAS)
    spread = width**-0.5
    drawn = spread * jax.random.truncated_normal(key, -2, 2, (cell.blocks * width,)) / _TRUNCATED
    return drawn.at[2 * width : 3 * width].add(_BIAS)
