"""One member: state, steps of an epoch, evaluation, as pure functions; `epoch` has its training.

Nothing here knows of other members; `lanes` spreads these functions over the member axis. Every
random draw is `fold_in` of the member's seed with a purpose and a number, so results depend on
(task, settings, split, seed, hparams) and never on lane or neighbours.

Batches have one sequence of shapes for all members: a batch comes from one bucket, and the order
of buckets is drawn once from the corpus and the same in every epoch, so that a step has one shape
in all lanes. Which rows fill a bucket's batches is drawn by member and epoch.
"""

import functools
import types
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import traverse_util
from jax import lax

from jaxeval import files
from jaxeval.contracts import Array, Batch, Corpus, Hparams, Member, Split, Task, Tree
from jaxeval.errors import ConfigError, DataError, parsing
from jaxeval.population import Training, lanes, optimisers

INIT, ORDER, STEP, EVALUATE = range(4)  # purposes of random draws


class Steps(NamedTuple):
    """The steps of an epoch."""

    bucket: Array | np.ndarray  # [steps] int32, counted over the buckets that have train rows
    batch: Array | np.ndarray  # [steps] int32, number of the batch within its bucket
    count: Any  # [] int32 number of steps; those after them are padding


class MemberState(NamedTuple):
    """The state that a lane carries from epoch to epoch; checkpointed."""

    params: Tree
    optimiser: Tree
    best: Tree  # params with the best dev score
    carry: Tree  # of the task, from step to step and epoch to epoch
    epoch: Array  # [] int32, epochs done


class Lane(NamedTuple):
    """A member's own arguments; numpy arrays on the host, traced in a program."""

    seed: Array | np.uint32  # [] uint32
    hparams: Hparams  # scalars
    tables: Tree  # of the member's split
    train: Sequence[Array | np.ndarray]  # bucket b: [N_b] int32
    dev: Sequence[Array | np.ndarray] = ()  # rows to score, padded with -1 to whole batches
    test: Sequence[Array | np.ndarray] = ()
    steps: Steps | None = None  # of a member with a batch size of its own


class Shared(NamedTuple):
    """Arguments that all members read: without a member axis, never closed over."""

    corpus: Corpus
    steps: Steps


class Problem(NamedTuple):
    """The task and data that a cohort learns."""

    task: Task
    corpus: Corpus
    split: Callable[[int], Split]  # split number -> rows; sizes are equal for all numbers
    training: Training
    # splits of members with other vectors than the first's, by `Member.vectors`
    splits: Mapping[str, Callable[[int], Split]] = types.MappingProxyType({})

    def split_of(self, who: Member) -> Split:
        """Returns the member's own split, with the tables that depend on it."""
        return self.splits.get(who.vectors, self.split)(who.split)

    @property
    def mode(self) -> lanes.Mode:
        """Way in which the lanes of a device are computed."""
        return lanes.resolve(self.training.lane_mode)

    def refuse_cut_batches(self, key: str) -> None:
        """Raises ConfigError, naming the config's key, if the task's batches cannot be cut."""
        if jax.tree.leaves(jax.eval_shape(lambda: self.task.start(1))):
            raise ConfigError(
                f"{key}: this task carries state from batch to batch, whose rows must stay "
                "together; leave it out"
            )


def steps(sizes: Sequence[int], batch_size: int) -> Steps:
    """Draws the steps of an epoch over buckets of `sizes` train rows, in one fixed order."""
    filled = [size for size in sizes if size]
    pairs = [(b, s) for b, size in enumerate(filled) for s in range(-(-size // batch_size))]
    order = np.random.default_rng([len(pairs), batch_size]).permutation(len(pairs))
    shuffled = np.array(pairs, np.int32).reshape(-1, 2)[order]
    return Steps(shuffled[:, 0], shuffled[:, 1], np.int32(len(pairs)))


def root_key(seed: Array | np.uint32 | int) -> Array:
    """Returns the key of a seed, whatever JAX's default generator is."""
    return jax.random.key(seed, impl="threefry2x32")


def key_of(seed: Array | np.uint32, purpose: int, number: Array | int) -> Array:
    """Returns the key of a member's draws for a purpose."""
    return jax.random.fold_in(jax.random.fold_in(root_key(seed), purpose), number)


def gather(shared: Shared, tables: Tree, bucket: int, rows: Array) -> Batch:
    """Returns the batch of the given rows [B] of a bucket; -1 stands for padding."""
    numbers = jnp.maximum(rows, 0)
    columns = jax.tree.map(lambda column: column[numbers], shared.corpus.buckets[bucket])
    return Batch(columns, (rows >= 0).astype(jnp.float32), shared.corpus.shared, tables)


def batch_size(problem: Problem, lane: Lane) -> Array | int:
    """Rows of an update: [] int32 if the number is the member's own."""
    if "batch_size" in lane.hparams:
        return jnp.asarray(lane.hparams["batch_size"], jnp.int32)
    return problem.training.batch_size


def evaluation_rows(problem: Problem, rows: int) -> int:
    """Rows of each batch when so many of a bucket are evaluated: equal, so that few are padding.

    They are multiples of 16, as products of others are slow on CPUs. Tasks whose state is carried
    from batch to batch have batches of one size.
    """
    most = problem.training.evaluation_batch_size
    rows = max(1, rows)
    if jax.tree.leaves(jax.eval_shape(lambda: problem.task.start(1))):
        return most
    share = -(-rows // -(-rows // most))
    return min(most, -(-share // 16) * 16)


def init(problem: Problem, shared: Shared, lane: Lane) -> MemberState:
    """Returns a member's state before its first epoch."""
    training = problem.training
    rows = _init_rows(problem)
    batch = gather(shared, lane.tables, 0, jnp.zeros(rows, jnp.int32))
    # jit: traced once for all that ask for shapes
    params = jax.jit(problem.task.init)(key_of(lane.seed, INIT, 0), batch, lane.hparams)
    epoch, size = jnp.int32(0), batch_size(problem, lane)
    state = optimisers.make(training.optimiser, lane.hparams, epoch, size).init(params)
    return MemberState(params, state, params, problem.task.start(training.batch_size), epoch)


def _init_rows(problem: Problem) -> int:
    return min(problem.training.at_once, problem.training.batch_size)


def parameter_shapes(problem: Problem, who: Member) -> Tree:
    """Returns shapes and types of a member's parameters, computing nothing."""
    hparams = {name: np.float32(value) for name, value in who.hparams}
    rows = _init_rows(problem)
    shape = jax.ShapeDtypeStruct
    columns = jax.tree.map(
        lambda column: shape((rows, *column.shape[1:]), column.dtype), problem.corpus.buckets[0]
    )
    weight: Any = shape((rows,), jnp.float32)
    batch = Batch(columns, weight, problem.corpus.shared, problem.split(0).tables)
    return jax.jit(problem.task.init).eval_shape(jax.eval_shape(root_key, 0), batch, hparams)


def evaluate(
    problem: Problem, shared: Shared, params: Tree, lane: Lane, rows: Sequence[Array]
) -> Mapping[str, Array]:
    """Sums counts over the rows of a part of the corpus (bucket b: [n] int32, -1 is padding)."""

    def zero(counts: Tree, bucket: int) -> tuple[Tree, Tree]:
        zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), counts)
        return zeros, zeros

    def add(running: tuple[Tree, Tree], counts: Tree, number: Array) -> tuple[Tree, Tree]:
        # Kahan's (1965) compensated sum: that of a long text would lose tokens otherwise
        sums, lost = running
        more = jax.tree.map(jnp.subtract, counts, lost)
        after = jax.tree.map(jnp.add, sums, more)
        return after, jax.tree.map(lambda a, s, m: (a - s) - m, after, sums, more)

    counts = _counted(problem, shared, params, lane, rows, problem.task.count, zero, add)
    return jax.tree.map(lambda *sums: sum(sums), *(sums for sums, _ in counts))


def row_counts(
    problem: Problem, shared: Shared, params: Tree, lane: Lane, rows: Sequence[Array]
) -> Mapping[str, Array]:
    """Returns the counts of each row of a part, bucket after bucket: leaves [sum of n].

    A Task's counts are sums over rows, and rows of weight 0 count nothing: the counts of a batch
    in which only one row has weight are that row's.
    """

    def count(outputs: Tree, batch: Batch) -> Mapping[str, Array]:
        by_row = jax.vmap(
            lambda weight: problem.task.count(outputs, batch._replace(weight=weight))
        )
        return by_row(jnp.diag(batch.weight))

    def zero(counts: Tree, bucket: int) -> Tree:
        return jax.tree.map(lambda leaf: jnp.zeros(len(rows[bucket]), leaf.dtype), counts)

    def add(written: Tree, counts: Tree, number: Array) -> Tree:
        return jax.tree.map(
            lambda all_rows, some: lax.dynamic_update_slice(all_rows, some, (number * len(some),)),
            written,
            counts,
        )

    counts = _counted(problem, shared, params, lane, rows, count, zero, add)
    return jax.tree.map(lambda *buckets: jnp.concatenate(buckets), *counts)


def _counted(
    problem: Problem,
    shared: Shared,
    params: Tree,
    lane: Lane,
    rows: Sequence[Array],
    count: Callable[[Tree, Batch], Mapping[str, Array]],
    zero: Callable[[Tree, int], Tree],
    add: Callable[[Tree, Mapping[str, Array], Array], Tree],
) -> list[Tree]:
    """Adds up counts of batches, for each bucket with rows; the task's carry runs through them.

    `zero`: (shapes of counts, bucket) -> start; `add`: (sums, counts, number of a batch) -> sums.
    """
    task = problem.task
    key = key_of(lane.seed, EVALUATE, 0)

    @functools.partial(jax.jit, static_argnums=0)  # traced once, for shapes and for the loop
    def batch_counts(bucket: int, number: Array, carry: Tree) -> tuple[Mapping[str, Array], Tree]:
        size = evaluation_rows(problem, len(rows[bucket]))
        chosen = lax.dynamic_slice(rows[bucket], (number * size,), (size,))
        batch = gather(shared, lane.tables, bucket, chosen)
        step_key = jax.random.fold_in(jax.random.fold_in(key, bucket), number)
        outputs, carry = task.predict(params, carry, batch, step_key, lane.hparams)
        return count(outputs, batch), carry

    def bucket_counts(bucket: int) -> Tree:
        filled = jnp.sum(rows[bucket] >= 0)
        first = jnp.int32(0)
        size = evaluation_rows(problem, len(rows[bucket]))
        start = task.start(size)
        shapes, _ = batch_counts.eval_shape(bucket, first, start)

        def step(number: Array, running: tuple[Tree, Tree]) -> tuple[Tree, Tree]:
            done, carry = running
            counts, carry = batch_counts(bucket, number, carry)
            return add(done, counts, number), carry

        batches = (filled + size - 1) // size
        return lax.fori_loop(first, batches, step, (zero(shapes, bucket), start))[0]

    return [bucket_counts(bucket) for bucket, part in enumerate(rows) if len(part)]


def save(path: Path, params: Mapping[str, Any]) -> None:
    """Writes parameters atomically: one file of arrays, readable with numpy alone."""
    arrays = traverse_util.flatten_dict(jax.device_get(params), sep="/")
    with files.replacing(path, "wb") as stream:
        np.savez(stream, **arrays)


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Reads the arrays that `save` wrote, by name. Raises DataError if it is no such file."""
    with parsing("no readable parameters", path, passing=()):
        if not zipfile.is_zipfile(path):
            raise ValueError("not an .npz file")
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}


def to_params(path: Path, arrays: Mapping[str, np.ndarray], like: Tree) -> Tree:
    """Returns the arrays of a file, by name, as a model's tree of parameters.

    `like` is the expected tree of shapes and dtypes. Raises DataError, naming the path, if the
    arrays are of another model.
    """
    named = traverse_util.flatten_dict(like, sep="/")
    shapes, found = (
        {name: f"{leaf.dtype}{[*leaf.shape]}" for name, leaf in each.items()}
        for each in (named, arrays)
    )
    for name in sorted({*shapes, *found}):
        shape, other = (each.get(name, "nothing") for each in (shapes, found))
        if shape != other:
            raise DataError(
                f"parameters of another model: {name} is {other}, expected {shape}", path
            )
    return traverse_util.unflatten_dict({name: arrays[name] for name in named}, sep="/")
