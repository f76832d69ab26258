"""How fast could a population of ATAE-LSTMs be if all but its matrix products were free?

A training step at the sizes of `sentiment_vs_pytorch` (300 dimensions, 300 units, batches of MAMS)
holds matrix products whose shapes are fixed, some of them one after the other at every word, and a
dense Adam update of all parameters. This times XLA's products and update alone, in CPU seconds, a
member a core; gates, attention, dropout and lookups are left out. One JSON line: `rows_per_second`
is of all cores, to be set beside PyTorch's in `results/sentiment_vs_pytorch.jsonl`.

    python benchmarks/sentiment_limit.py --batch 25
"""

import argparse
import os
import time
from collections.abc import Callable

import common
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxeval.contracts import Array, Tree
from jaxeval.population import lanes

UNITS, STEPS, TURNS = 300, 5, 5  # of vectors and states; steps of a timed turn, turns


def main() -> None:
    """Times products and updates, prints."""
    args = _parser().parse_args()
    products = _seconds(_products(args.batch, args.words), _product_arguments(args))
    update = _seconds(_adam, tuple(np.ones(args.parameters, np.float32) for _ in range(4)))
    common.report(
        benchmark="sentiment_limit",
        **vars(args),
        products_seconds=round(products, 4),
        adam_seconds=round(update, 4),
        rows_per_second=round((os.cpu_count() or 1) * args.batch / (products + update), 1),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--batch", type=int, default=25)
    parser.add_argument("--words", type=int, default=30, help="of a text (30: MAMS)")
    parser.add_argument("--parameters", type=int, default=5_086_503, help="of a member")
    return parser


def _product_arguments(args: argparse.Namespace) -> tuple[np.ndarray, ...]:
    """Words or states, gates or their gradients, keys; kernels [300, 1200] and [300, 600]."""
    shapes = [
        (args.words, args.batch, UNITS),
        (args.words, args.batch, 4 * UNITS),
        (args.words, args.batch, 2 * UNITS),
        (UNITS, 4 * UNITS),
        (UNITS, 2 * UNITS),
    ]
    return tuple(np.full(shape, 1e-3, np.float32) for shape in shapes)


def _products(batch: int, words: int) -> Callable[..., Tree]:
    """The matrix products of a training step."""
    rows = batch * words

    def step(states: Array, gates: Array, keys: Array, wide: Array, narrow: Array) -> Tree:
        flat, flat_gates, flat_keys = (x.reshape(rows, -1) for x in (states, gates, keys))

        def forward(state: Array, now: Array) -> tuple[Array, None]:
            return 1e-3 * (state @ wide)[:, :UNITS] + now, None

        def backward(state: Array, now: Array) -> tuple[Array, None]:
            return 1e-3 * (now + state[:, :1]) @ wide.T, None

        first, last = states[0], lax.scan(forward, states[0], states)[0]
        last = last + lax.scan(backward, first, gates)[0]
        inputs = flat @ wide, flat_gates @ wide.T, flat.T @ flat_gates
        recurrent = flat.T @ (flat_gates + 1.0)
        attention = flat @ narrow, flat_keys @ narrow.T, flat.T @ flat_keys
        # what the next step reads depends on all of them, so that none is left out or hoisted
        total = 1e-20 * sum(jnp.sum(x) for x in (*inputs, recurrent, *attention, last))
        return states + total, gates + total, keys + total, wide, narrow

    return step


def _adam(params: Array, gradient: Array, mean: Array, square: Array) -> Tree:
    mean = 0.9 * mean + 0.1 * gradient
    square = 0.999 * square + 0.001 * gradient * gradient
    return params - 1e-3 * mean / (jnp.sqrt(square) + 1e-8), gradient, mean, square


def _seconds(step: Callable[..., Tree], arguments: tuple[np.ndarray, ...]) -> float:
    """CPU seconds of a step of one member: the best turn, of a member a device."""
    mesh = lanes.make_mesh()

    def repeat(shared: Tree, running: Tree) -> Tree:
        del shared
        return lax.fori_loop(0, STEPS, lambda _, values: step(*values), running)

    run = lanes.spread(repeat, mesh, "map")
    each = lanes.shard(tuple(np.stack([x] * mesh.size) for x in arguments), mesh)
    jax.block_until_ready(run((), each))
    times = []
    for _ in range(TURNS):
        begin = time.process_time()
        jax.block_until_ready(run((), each))
        times.append(time.process_time() - begin)
    return min(times) / STEPS / mesh.size


if __name__ == "__main__":
    main()
