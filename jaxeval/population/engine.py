"""The compiled programs of a population: fill lanes, train an epoch, evaluate, keep the best."""

import functools
import time
import types
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent import futures
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh

from jaxeval.contracts import Array, Corpus, Member, Split, Tree
from jaxeval.population import epoch as epochs
from jaxeval.population import lanes, member
from jaxeval.population.member import Lane, MemberState, Problem, Shared


class Engine(NamedTuple):
    """The programs of a population, over all S lanes; `active`, `fresh` and `better` are bool [S].

    `epoch` leaves arbitrary state and loss in idle lanes.
    """

    mesh: Mesh
    mode: lanes.Mode
    shared: Shared
    fill: Callable[..., Tree]  # (shared, state, lane, fresh) -> state
    epoch: Callable[..., Tree]  # (shared, state, lane, active) -> (state, loss [S])
    evaluate: Callable[..., Tree]  # (shared, params, lane, rows, active) -> counts, leaves [S]
    keep: Callable[..., Tree]  # (shared, best, params, better) -> best
    row_counts: Callable[..., Tree]  # as `evaluate`, leaves [S, rows]; compiled when first called


class Compiling(NamedTuple):
    """An event: the compilation of a program begins (`seconds` is None) or has ended."""

    program: str
    seconds: float | None
    ready: bool  # all programs of the population are compiled: its first epoch begins


def build(problem: Problem, split: Split, mesh: Mesh) -> Engine:
    """Returns the programs, not yet compiled; all splits of a corpus have the same sizes."""
    mode = problem.mode
    shared = _shared(problem, split, mesh)
    # programs are kept for longer than corpora
    problem = Problem(problem.task, Corpus((), ()), lambda number: split, problem.training)

    def fill(shared: Shared, state: MemberState, lane: Lane, fresh: Array) -> Tree:
        return lanes.choose(
            mode, fresh, functools.partial(member.init, problem, shared, lane), state
        )

    def epoch(shared: Shared, state: MemberState, lane: Lane, active: Array) -> Tree:
        train = functools.partial(epochs.train_epoch, problem, shared, state, lane)
        if mode == "vmap":  # an idle lane would wait anyway: it trains too, and nobody reads it
            return train()
        return lax.cond(active, train, lambda: (state, jnp.float32(0)))

    def keep(shared: Shared, best: Tree, params: Tree, better: Array) -> Tree:
        # over all lanes at once: lane by lane takes ten times as many operations
        return lanes.choose("vmap", better, lambda: params, best)

    def over_part(count: Callable) -> Callable[..., Tree]:
        def counts(shared: Shared, params: Tree, lane: Lane, rows: Tree, active: Array) -> Tree:
            # an idle lane evaluates no rows: its loops end before their first step
            rows = [jnp.where(active, part, -1) for part in rows]
            return count(problem, shared, params, lane, rows)

        return lanes.spread(counts, mesh, mode)

    return Engine(
        mesh,
        mode,
        shared,
        lanes.spread(fill, mesh, mode, donate=True, brief=True),
        lanes.spread(epoch, mesh, mode, donate=True),
        over_part(member.evaluate),
        lanes.spread(keep, mesh, "vmap", donate=True, brief=True),
        over_part(member.row_counts),
    )


def _shared(problem: Problem, split: Split, mesh: Mesh) -> Shared:
    """Copies the arrays that all members read to every device."""
    steps = member.steps([len(rows) for rows in split.train], problem.training.batch_size)
    placed = Shared(problem.corpus, member.Steps(*map(jnp.asarray, steps)))
    return Shared(*lanes.replicate(placed, mesh))


def _member_steps(who: Member, split: Split) -> member.Steps | None:
    """Returns the steps of a member with its own batch size, or None."""
    size = dict(who.hparams).get("batch_size")
    return None if size is None else member.steps([*map(len, split.train)], int(size))


def most_steps(members: Sequence[Member], split: Split) -> int:
    """Returns the largest number of steps per epoch of members with their own batch size, or 0.

    It is rounded up to a power of two, so that later populations reuse programs. This costs
    nothing, since each member's number of steps is traced.
    """
    each = filter(None, (_member_steps(who, split) for who in members))
    most = max((len(steps.bucket) for steps in each), default=0)
    return 1 << (most - 1).bit_length() if most else 0


def lane_of(problem: Problem, who: Member, longest: int) -> Lane:
    """Returns a member's lane, on the host.

    Args:
      longest: `most_steps` of its cohort.
    """
    split = problem.split_of(who)
    sizes = [max(len(d), len(t)) for d, t in zip(split.dev, split.test, strict=True)]
    hparams = {name: np.float32(value) for name, value in who.hparams}
    train = [np.asarray(rows, np.int32) for rows in split.train]
    steps = _member_steps(who, split)
    if steps is not None:
        padding = (0, longest - len(steps.bucket))
        bucket, batch = np.pad(steps.bucket, padding), np.pad(steps.batch, padding)
        steps = member.Steps(bucket, batch, steps.count)

    def whole_batches(part: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Pads rows with -1 to whole batches that hold dev and test."""
        batches = [member.evaluation_rows(problem, size) for size in sizes]
        lengths = [-(-size // batch) * batch for size, batch in zip(sizes, batches, strict=True)]
        pairs = zip(part, lengths, strict=True)
        padded = (np.pad(r, (0, length - len(r)), constant_values=-1) for r, length in pairs)
        return [np.asarray(rows, np.int32) for rows in padded]

    dev, test = whole_batches(split.dev), whole_batches(split.test)
    return Lane(np.uint32(who.seed), hparams, split.tables, train, dev, test, steps)


def with_hparams(lane: Lane, changes: Mapping[str, float]) -> Lane:
    """Returns the lane with hyperparameters changed or added."""
    changed = {name: np.float32(value) for name, value in changes.items()}
    return lane._replace(hparams={**lane.hparams, **changed})


def empty_state(problem: Problem, shared: Shared, lane: Lane, width: int) -> Tree:
    """Returns zeros in the shape of a population's state: leaves [S, ...], with S = `width`."""
    # shapes and types alone: arrays have a mesh too, for which `init` would be traced again
    each = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), (shared, lane))
    return zeros(jax.eval_shape(functools.partial(member.init, problem), *each), width)


def zeros(shapes: Tree, *width: int) -> Tree:
    """Returns zeros of these shapes, or of so many lanes of them."""
    return jax.tree.map(lambda leaf: np.zeros((*width, *leaf.shape), leaf.dtype), shapes)


def stack(each: Sequence[Tree]) -> Tree:
    """Stacks the lanes' trees on a new leading axis, on the host."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *each)


def _arguments(state: MemberState, lane: Lane, flags: Array) -> dict[str, tuple]:
    """Returns the arguments of each program after `_shared`, by its name."""
    whole = state, lane, flags
    scored = state.params, lane, lane.dev, flags
    kept = state.best, state.params, flags
    return {"epoch": whole, "evaluate": scored, "fill": whole, "keep": kept}


def compile_all(
    engine: Engine, state: MemberState, lane: Lane
) -> Generator[Compiling, None, Engine]:
    """Compiles the programs for these shapes in parallel threads, and returns the new engine.

    Programs are traced one after the other, the longest first, since tracing holds Python's lock.
    Yields when the compilation of each program begins, and when it has ended.
    """
    flags = lanes.shard(np.zeros(len(jax.tree.leaves(state)[0]), bool), engine.mesh)
    calls = _arguments(state, lane, flags)

    def compiled(name: str, lowered: Any, begin: float) -> tuple[str, Callable[..., Tree], float]:
        return name, lowered.compile(), time.perf_counter() - begin

    for name in calls:
        yield Compiling(name, None, False)
    pool = futures.ThreadPoolExecutor()
    compiling = []
    programs: dict[str, Any] = {}
    try:
        for name, each in calls.items():
            begin = time.perf_counter()
            lowered = getattr(engine, name).lower(engine.shared, *each)
            compiling.append(pool.submit(compiled, name, lowered, begin))
        for future in futures.as_completed(compiling):
            name, programs[name], seconds = future.result()
            yield Compiling(name, seconds, len(programs) == len(calls))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # a signal need not wait for what runs
    return engine._replace(**programs)


def scorer(
    problem: Problem, members: Sequence[Member], params: Sequence[Tree]
) -> Callable[..., list[dict[str, float]]]:
    """Returns a function (part, hparams for all) -> scores of each member on "dev" or "test".

    Args:
      params: trained parameters of each member.
    """
    mesh = lanes.make_mesh()
    idle = lanes.round_up(len(members), mesh) - len(members)
    first = problem.split_of(members[0])
    engine = build(problem, first, mesh)
    longest = most_steps(members, first)
    each = [lane_of(problem, who, longest) for who in members]

    def stacked(each: Sequence[Tree]) -> Tree:
        # idle lanes repeat the last member and score no rows
        return lanes.shard(stack([*each, *[each[-1]] * idle]), mesh)

    placed = stacked(params)

    def scores(part: str, more: Mapping[str, float] = types.MappingProxyType({})) -> list:
        lane = stacked([with_hparams(own, more) for own in each])
        flags = lanes.shard(np.arange(len(each) + idle) < len(each), mesh)
        counts = engine.evaluate(engine.shared, placed, lane, getattr(lane, part), flags)
        return member_scores(problem, jax.device_get(counts), range(len(each)))

    return scores


def member_scores(
    problem: Problem, counts: Mapping[str, np.ndarray], chosen: Iterable[int]
) -> list[dict[str, float]]:
    """Returns the scores of chosen lanes from their counts, leaves [S]."""
    each = ({name: float(values[lane]) for name, values in counts.items()} for lane in chosen)
    return [problem.task.score(sums) for sums in each]
