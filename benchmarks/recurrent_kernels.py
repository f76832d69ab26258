"""Is the way back through a recurrent kernel faster from the kernel as stored, or from a copy?

Gradients of an LSTM over 35 steps, A B A B in one process on one core: seconds with a transposed
copy of the kernel, divided by those with the kernel as it is (`unroll._reads_as_stored`); and
whether both gradients are equal to the last bit.

    taskset -c 0 python benchmarks/recurrent_kernels.py
"""

import time
from typing import Any

import common
import jax
import jax.numpy as jnp
import numpy as np

from jaxeval.models import unroll

STEPS, TURNS = 35, 40
SHAPES = [(hidden, rows) for hidden in (100, 200, 512, 650) for rows in (1, 8, 20, 32, 64)]


def main() -> None:
    """Measures and prints."""
    for hidden, rows in SHAPES:
        draw = np.random.default_rng(0)
        kernel = jnp.asarray(draw.normal(size=(hidden, 4 * hidden)) / hidden**0.5, jnp.float32)
        inputs = jnp.asarray(draw.normal(size=(STEPS, rows, 4 * hidden)), jnp.float32)
        copy, stored = (_compiled(kernel, inputs, way) for way in (False, True))
        pairs = [(_seconds(copy), _seconds(stored)) for _ in range(TURNS)]
        first, second = np.array(pairs[2:]).T
        equal = [bool((a == b).all()) for a, b in zip(copy(), stored(), strict=True)]
        common.report(
            benchmark="recurrent_kernels",
            hidden=hidden,
            rows=rows,
            ratio_of_minima=round(first.min() / second.min(), 3),
            ratio_of_medians=round(float(np.median(first) / np.median(second)), 3),
            bits_equal=all(equal),
        )


def _compiled(kernel: jax.Array, inputs: jax.Array, stored: bool) -> Any:
    start = (jnp.zeros((inputs.shape[1], len(kernel))),) * 2
    unroll._reads_as_stored = lambda rows, units: stored

    def loss(kernel: jax.Array, inputs: jax.Array) -> jax.Array:
        return jnp.sum(unroll.unroll(_lstm, {"recurrent": kernel}, {}, {}, {}, inputs, start)[1])

    program = jax.jit(jax.grad(loss, (0, 1))).lower(kernel, inputs).compile()
    return lambda: program(kernel, inputs)


def _lstm(tap: Any, weights: Any, masks: Any, state: Any, inputs: Any) -> Any:
    hidden, memory = state
    gates = [own + given for own, given in zip(tap("recurrent", hidden), inputs, strict=True)]
    entry, keep, output = map(jax.nn.sigmoid, gates[:3])
    memory = keep * memory + entry * jnp.tanh(gates[3])
    return output * jnp.tanh(memory), memory


def _seconds(run: Any) -> float:
    begin = time.perf_counter()
    jax.block_until_ready(run())
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
