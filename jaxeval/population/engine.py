"""The compiled programs of a population: fill lanes, train an epoch, evaluate, keep the best."""

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent import futures
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh

from jaxeval.contracts import Array, Member, Split, Tree
from jaxeval.errors import ConfigError
from jaxeval.population import epoch as epochs
from jaxeval.population import lanes, member
from jaxeval.population.member import Inputs, MemberState, Problem, Program, Shared


class _Lane(NamedTuple):
    """A lane's member: its inputs, and the rows that it is scored on."""

    inputs: Inputs
    dev: Sequence[np.ndarray]
    test: Sequence[np.ndarray]


class Engine(NamedTuple):
    """Functions over all lanes; `active` and the like are bool [S].

    `epoch` leaves arbitrary state and loss in idle lanes.
    """

    mesh: Mesh
    mode: lanes.Mode
    shared: Shared
    fill: Callable[..., Tree]  # (shared, state, lane, fresh) -> state
    epoch: Callable[..., Tree]  # (shared, state, lane, active) -> (state, loss [S])
    evaluate: Callable[..., Tree]  # (shared, params, inputs, rows, active) -> counts, leaves [S]
    keep: Callable[..., Tree]  # (shared, best, params, better) -> best
    row_counts: Callable[..., Tree]  # as `evaluate`, leaves [S, rows]; compiled at the first call


def build(problem: Problem, split: Split, mesh: Mesh) -> Engine:
    """Returns the programs, not yet compiled; any split of the corpus gives the sizes."""
    program, mode = problem.program, problem.mode

    def fill(shared: Shared, state: MemberState, lane: _Lane, fresh: Array) -> Tree:
        init = functools.partial(member.init, program, shared, lane.inputs)
        return lanes.choose(mode, fresh, init, state)

    def epoch(shared: Shared, state: MemberState, lane: _Lane, active: Array) -> Tree:
        train = functools.partial(epochs.train_epoch, program, shared, state, lane.inputs)
        if mode == "vmap":  # an idle lane would wait anyway: it trains too, and nobody reads it
            return train()
        return lax.cond(active, train, lambda: (state, jnp.float32(0)))

    def keep(shared: Shared, best: Tree, params: Tree, better: Array) -> Tree:
        # over all lanes at once: lane by lane takes ten times as many operations
        return lanes.choose("vmap", better, lambda: params, best)

    def over_part(count: Callable) -> Callable[..., Tree]:
        def counts(
            shared: Shared, params: Tree, inputs: Inputs, rows: Tree, active: Array
        ) -> Tree:
            # an idle lane evaluates no rows: its loops end before their first step
            rows = [jnp.where(active, part, -1) for part in rows]
            return count(program, shared, params, inputs, rows)

        return lanes.spread(counts, mesh, mode)

    return Engine(
        mesh,
        mode,
        _shared(problem, split, mesh),
        lanes.spread(fill, mesh, mode, donate=True, brief=True),
        lanes.spread(epoch, mesh, mode, donate=True),
        over_part(member.evaluate),
        lanes.spread(keep, mesh, "vmap", donate=True, brief=True),
        over_part(member.row_counts),
    )


def _shared(problem: Problem, split: Split, mesh: Mesh) -> Shared:
    """Places what all members read on every device."""
    steps = member.steps([len(rows) for rows in split.train], problem.training.batch_size)
    placed = Shared(problem.corpus, member.Steps(*map(jnp.asarray, steps)))
    return Shared(*lanes.replicate(placed, mesh))


def _member_steps(who: Member, split: Split) -> member.Steps | None:
    """Returns the steps of a member with its own batch size, else None."""
    size = dict(who.hparams).get("batch_size")
    if size is None:
        return None
    if not float(size).is_integer() or size < 1:
        raise ConfigError(f"batch_size: expected a whole number above 0, got {size:g}")
    return member.steps([len(rows) for rows in split.train], int(size))


def most_steps(members: Sequence[Member], split: Split) -> int:
    """Returns the most steps per epoch of members with their own batch size; 0 without any.

    Rounded up to a power of two, so that later populations find programs. This costs nothing, as
    each member's number of steps is traced.
    """
    each = filter(None, (_member_steps(who, split) for who in members))
    most = max((len(steps.bucket) for steps in each), default=0)
    return 1 << (most - 1).bit_length() if most else 0


def lane_of(program: Program, who: Member, split: Split, longest: int) -> _Lane:
    """Returns a member's lane, on the host; `longest` is `most_steps` of its cohort."""
    sizes = [max(len(d), len(t)) for d, t in zip(split.dev, split.test, strict=True)]
    hparams = {name: np.float32(value) for name, value in who.hparams}
    train = [np.asarray(rows, np.int32) for rows in split.train]
    steps = _member_steps(who, split)
    if steps is not None:
        padding = (0, longest - len(steps.bucket))
        padded = np.pad(steps.bucket, padding), np.pad(steps.batch, padding)
        steps = member.Steps(*padded, steps.count)
    inputs = Inputs(np.uint32(who.seed), hparams, train, split.tables, steps)

    def whole(part: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Pads rows with -1 to whole batches that hold dev and test."""
        batches = [member.evaluation_rows(program, size) for size in sizes]
        lengths = [-(-size // batch) * batch for size, batch in zip(sizes, batches, strict=True)]
        pairs = zip(part, lengths, strict=True)
        return [np.pad(r, (0, length - len(r)), constant_values=-1) for r, length in pairs]

    return _Lane(inputs, whole(split.dev), whole(split.test))


def with_hparams(lane: _Lane, changes: Mapping[str, float]) -> _Lane:
    """Returns the lane with hyperparameters changed or added."""
    changed = {name: np.float32(value) for name, value in changes.items()}
    inputs = lane.inputs._replace(hparams={**lane.inputs.hparams, **changed})
    return lane._replace(inputs=inputs)


def empty_state(engine: Engine, program: Program, lane: _Lane, width: int) -> Tree:
    """Returns zeros of the shape of a population's state: [S, ...]."""
    # shapes and types alone: arrays have a mesh too, for which `init` would be traced again
    inputs = jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), (engine.shared, lane.inputs)
    )
    shape = jax.eval_shape(functools.partial(member.init, program), *inputs)
    return jax.tree.map(lambda leaf: np.zeros((width, *leaf.shape), leaf.dtype), shape)


def stack(each: Sequence[Tree]) -> Tree:
    """Stacks the lanes' trees on a new leading axis, on the host."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *each)


def _arguments(state: MemberState, lane: _Lane, flags: Array) -> dict[str, tuple]:
    """Returns the arguments of each program after `_shared`, by its name."""
    whole = state, lane, flags
    scored = state.params, lane.inputs, lane.dev, flags
    kept = state.best, state.params, flags
    return {"epoch": whole, "evaluate": scored, "fill": whole, "keep": kept}


def compile_all(
    engine: Engine, state: MemberState, lane: _Lane, tell: Callable[[str, float | None], None]
) -> Engine:
    """Compiles the programs for these shapes, in parallel threads.

    They are traced one after the other, the longest first, as tracing holds Python's lock. Calls
    `tell` with each program's name, first with None, then with the seconds it took.
    """
    flags = lanes.shard(np.zeros(len(jax.tree.leaves(state)[0]), bool), engine.mesh)
    calls = _arguments(state, lane, flags)

    def compiled(name: str, lowered: Any, begin: float) -> Callable[..., Tree]:
        program: Callable[..., Tree] = lowered.compile()
        tell(name, time.perf_counter() - begin)
        return program

    for name in calls:
        tell(name, None)
    pool, compiling = futures.ThreadPoolExecutor(), {}
    try:
        for name, each in calls.items():
            begin = time.perf_counter()
            lowered = getattr(engine, name).lower(engine.shared, *each)
            compiling[name] = pool.submit(compiled, name, lowered, begin)
        programs: dict[str, Any] = {name: f.result() for name, f in compiling.items()}
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # a signal need not wait for what runs
    return engine._replace(**programs)


class Scorer:
    """Scores members with given parameters."""

    def __init__(self, problem: Problem, members: Sequence[Member], params: Sequence[Tree]):
        self._task, self._mesh = problem.task, lanes.make_mesh()
        self._width = lanes.round_up(len(members), self._mesh)
        first = problem.split_of(members[0])
        self._engine, longest = build(problem, first, self._mesh), most_steps(members, first)
        self._lanes = [
            lane_of(problem.program, who, problem.split_of(who), longest) for who in members
        ]
        self._params = self._stacked(params)

    def _stacked(self, each: Sequence[Tree]) -> Tree:
        idle = self._width - len(each)  # these lanes repeat the last member and score no rows
        return lanes.shard(stack([*each, *[each[-1]] * idle]), self._mesh)

    def scores(
        self, part: Literal["dev", "test"], more: Mapping[str, float] | None = None
    ) -> list[dict[str, float]]:
        """Scores each member on a part; `more` are hyperparameters for all."""
        stacked = self._stacked([with_hparams(lane, more or {}) for lane in self._lanes])
        flags = lanes.shard(np.arange(self._width) < len(self._lanes), self._mesh)
        each = self._params, stacked.inputs, getattr(stacked, part), flags
        counts = jax.device_get(self._engine.evaluate(self._engine.shared, *each))
        return [
            self._task.score({name: float(values[k]) for name, values in counts.items()})
            for k in range(len(self._lanes))
        ]
