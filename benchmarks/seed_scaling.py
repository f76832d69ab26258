"""What does one more member cost, and how near is a population to the machine's limit?

For each population size S: seconds per member and epoch (training only, median of three epochs),
seconds to compile, peak memory, and the matrix-product operations of the model (on the padded
shapes it computes) a second, against the rate of plain matrix products of the model's own shape on
all devices at once. Each S runs in a process of its own, so that peak memory is its own.

    python benchmarks/seed_scaling.py --data FOLDER --sizes 1,2,4,8,16,32,64
"""

import argparse
import resource
import subprocess
import sys
import time

import common
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxeval.population import lanes


def operations(prepared: common.studies.Prepared, batch: int) -> float:
    """Floating-point operations of the matrix products of one member's epoch of training."""
    tagged = prepared.data
    vectors, characters = tagged.table.vectors.shape[1], 30
    positions = sum(
        -(-len(rows) // batch) * batch * width
        for rows, width in zip(tagged.split(0).train, tagged.widths, strict=True)
    )
    total, size, live = 0.0, vectors + characters, characters
    for units in prepared.config.model.layers:
        gates = 4 * units
        # both directions; inputs: forward, kernel gradient, gradient of the features that need one
        total += 2 * 2 * gates * (2 * size + live) + 2 * 3 * 2 * gates * units
        size = live = 2 * units
    total += 3 * 2 * size * len(tagged.labels)
    return positions * total


def product_rate() -> float:
    """Operations a second of [640, 300] @ [300, 400] on all devices at once, best of five."""
    mesh = lanes.make_mesh()
    left, right = (np.ones((mesh.size, *shape), np.float32) for shape in ((640, 300), (300, 400)))

    def repeat(shared: object, matrices: tuple) -> jax.Array:
        del shared

        def step(_: int, left: jax.Array) -> jax.Array:
            return left + 1e-9 * jnp.sum(left @ matrices[1]).astype(jnp.float32)

        return lax.fori_loop(0, 200, step, matrices[0])

    run = lanes.spread(repeat, mesh, "map")
    pair = lanes.shard((left, right), mesh)
    jax.block_until_ready(run((), pair))
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        jax.block_until_ready(run((), pair))
        times.append(time.perf_counter() - begin)
    return 200 * mesh.size * 2 * 640 * 300 * 400 / min(times)


def measure(args: argparse.Namespace) -> None:
    """One population size."""
    prepared = common.prepare(args.data, args.batch, args.sentences)
    size = args.size
    population, compile_seconds = common.population(prepared, size)
    common.epoch_seconds(population)
    seconds = [common.epoch_seconds(population) / size for _ in range(3)]
    rate = operations(prepared, args.batch) / float(np.median(seconds))
    limit = product_rate()
    common.report(
        benchmark="seed_scaling",
        members=size,
        batch=args.batch,
        sentences=sum(map(len, prepared.data.split(0).train)),
        seconds_per_member_epoch=common.quartiles(seconds),
        compile_seconds=round(compile_seconds, 1),
        peak_memory_megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        gigaflops=round(rate / 1e9, 1),
        product_gigaflops=round(limit / 1e9, 1),
        ratio=round(rate / limit, 3),
    )


def main() -> None:
    """Measures each size in a process of its own."""
    arguments = common.parser(__doc__)
    arguments.add_argument("--sizes", default="1,2,4,8,16,32,64")
    arguments.add_argument("--size", type=int, help="only this one, in this process")
    args = arguments.parse_args()
    if args.size:
        measure(args)
        return
    for size in args.sizes.split(","):
        command = [sys.executable, __file__, "--data", args.data, "--batch", str(args.batch)]
        if args.sentences:
            command += ["--sentences", str(args.sentences)]
        subprocess.run([*command, "--size", size], check=True)


if __name__ == "__main__":
    main()
