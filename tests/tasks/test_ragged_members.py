"""Members of several sizes in one program: each is what a model of its own size would be."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import flatten_util, lax

from jaxeval.config import markers
from jaxeval.contracts import Corpus, Member, Split
from jaxeval.population import engine, member, optimisers, schedule, training
from tests import quick
from tests.tasks import padding, tiny_pairs
from tests.tasks.padding import LARGE, SMALL, Leaf, Sizes

LETTERS, STEPS = 6, 10
BOTH = pytest.mark.parametrize("architecture", list(SMALL))
# with its usual epsilon Adam makes whole steps of gradients that are rounding alone, as those of
# the biases of keys are, which change no softmax
OPTIMISER = optimisers.Optimiser(
    name="adam", hyperparameters={"learning_rate": 0.005, "epsilon": 1e-4}
)
PLAIN = optimisers.Optimiser(name="sgd")  # quicker to compile


class Trained(NamedTuple):
    """What a model went through, on the host."""

    initial: Any
    params: Any
    losses: list[float]
    norms: list[float]
    grads: Any  # of the first step
    outputs: np.ndarray


BATCH = tiny_pairs.batch(6, 6, 7, LETTERS, seed=0)
RATES = {"dropout": 0.3, "label_smoothing": 0.1}


def _trained(architecture: str, arrays: Sizes, sizes: Sizes) -> Trained:
    """Some steps of a model with arrays of some sizes; `sizes`: what its hparams say of them."""
    task = tiny_pairs.task(architecture, LETTERS, **arrays)
    hparams = {
        name: jnp.float32(value)
        for name, value in {**markers.active(OPTIMISER), **RATES, **sizes}.items()
    }

    def loss(params: Any, key: Any) -> Any:
        return task.loss(params, (), BATCH, key, hparams)[0]

    gradient = quick.jit(jax.value_and_grad(loss))
    initial = jax.jit(task.init)(jax.random.key(1), BATCH, hparams)
    params, tree = flatten_util.ravel_pytree(initial)
    optimiser = optimisers.make(OPTIMISER, hparams, jnp.int32(0), len(BATCH.weight))
    state, update = optimiser.init(params), quick.jit(optimiser.update)
    losses, norms, first = [], [], None
    for number in range(STEPS):
        value, grads = gradient(tree(params), jax.random.key(number))
        first = grads if first is None else first
        flat, _ = flatten_util.ravel_pytree(grads)
        updates, state = update(flat, state, params)
        params = params + updates
        losses.append(float(value))
        norms.append(float(np.linalg.norm(flat)))
    outputs = quick.jit(task.predict)(tree(params), (), BATCH, jax.random.key(0), hparams)[0]
    return Trained(*jax.device_get((initial, tree(params), losses, norms, first, outputs)))


@functools.cache
def _both(architecture: str) -> tuple[Trained, Trained]:
    """The model of its own size, and the padded member."""
    small, large = SMALL[architecture], LARGE[architecture]
    return _trained(architecture, small, {}), _trained(architecture, large, small)


def _pairs_of(architecture: str, name: str) -> list[Leaf]:
    own, padded = (getattr(run, name) for run in _both(architecture))
    return padding.leaves(architecture, own, padded, SMALL[architecture], LARGE[architecture])


@BOTH
def test_a_member_starts_as_the_model_of_its_size(architecture: str) -> None:
    """Dies if an initial weight depends on the padded size, or is not 0 elsewhere."""
    for leaf in _pairs_of(architecture, "initial"):
        padding.check_live(leaf, 1e-6)
        assert not np.any(leaf.padded[~leaf.live]), leaf.name


@BOTH
def test_a_member_learns_as_the_model_of_its_size(architecture: str) -> None:
    """Dies if padding reaches a loss, a gradient, a mask of dropout or what is written."""
    own, padded = _both(architecture)
    np.testing.assert_allclose(padded.losses, own.losses, rtol=1e-5)
    np.testing.assert_allclose(padded.norms, own.norms, rtol=1e-5)
    assert own.losses[-1] < own.losses[0]
    np.testing.assert_array_equal(padded.outputs, own.outputs)
    assert len(np.unique(own.outputs, axis=0)) > 1  # rows differ
    for name in ("grads", "params"):
        for leaf in _pairs_of(architecture, name):
            padding.check_live(leaf, 1e-5)


@BOTH
def test_what_is_dead_stays_zero(architecture: str) -> None:
    """Dies if a dead unit begins to move, or a layer that a member lacks is trained."""
    for name in ("grads", "params"):
        for leaf in _pairs_of(architecture, name):
            assert not np.any(leaf.padded[~leaf.live]), (name, leaf.name)


Lanes = Callable[[Callable[[Any], Any]], Callable[[Any], Any]]


def _mapped(lane: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """One lane after the other, as on a CPU."""
    return functools.partial(lax.map, lane)


def _alone(lane: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The only lane that there is."""

    def only(inputs: Any) -> Any:
        output = lane(jax.tree.map(lambda leaf: leaf[0], inputs))
        return jax.tree.map(lambda leaf: leaf[None], output)

    return only


ROWS, EPOCHS = 13, 2
# how lanes are computed, and each member's sizes and batch size
POPULATIONS: dict[str, tuple[Lanes, list[tuple[Sizes, int]]]] = {
    "attentive_lstm": (
        _mapped,
        [
            (SMALL["attentive_lstm"], 5),
            ({"embedding": 7, "hidden": 6, "encoder_layers": 2}, 3),
        ],
    ),
    "transformer": (
        jax.vmap,
        [
            (SMALL["transformer"], 5),
            ({**LARGE["transformer"], "embedding": 12, "encoder_layers": 1, "heads": 1}, 3),
        ],
    ),
}


def _program(architecture: str, sizes: Sizes, batch: int, micro: int | None) -> member.Program:
    task = tiny_pairs.task(architecture, LETTERS, **sizes)
    return member.Program(task, PLAIN, batch, 4, micro)


def _lanes(program: member.Program, members: list[Member]) -> tuple[member.Shared, member.Inputs]:
    """What a population's functions are given; leaves of the inputs [S, ...]."""
    rows = np.arange(ROWS, dtype=np.int32)
    split = Split((rows,), (rows[:1],), (rows[:1],), {})
    longest = engine.most_steps(members, split)
    stacked = engine.stack([engine.lane_of(program, who, split, longest) for who in members])
    shared = member.Shared(CORPUS, schedule.steps([ROWS], program.batch_size))
    return jax.tree.map(jnp.asarray, shared), stacked.inputs


def _computed(
    of_lane: Callable[[Any], Any], lanes: Lanes, inputs: tuple, orders: tuple[list[int], ...]
) -> list[Any]:
    """A function of each lane, once for every order of the lanes; one program."""
    run = quick.jit(lanes(of_lane))
    ordered = (jax.tree.map(lambda leaf, at=at: leaf[np.array(at)], inputs) for at in orders)
    return [jax.device_get(run(lane)) for lane in ordered]


def _ran(
    lanes: Lanes, program: member.Program, members: list[Member], params: Any, *orders: list[int]
) -> list[Any]:
    """Params and losses of a population after some epochs from the given params [S, ...]."""
    shared, inputs = _lanes(program, members)

    def of_lane(lane: tuple) -> Any:
        inputs, params = lane
        size = member.batch_size(program, inputs)
        state = optimisers.make(PLAIN, inputs.hparams, jnp.int32(0), size).init(params)
        begin = member.MemberState(params, state, params, (), jnp.int32(0))

        def epoch(state: Any, _: Any) -> Any:
            return training.train_epoch(program, shared, state, inputs)

        state, losses = lax.scan(epoch, begin, length=EPOCHS)
        return state.params, losses

    return _computed(of_lane, lanes, (inputs, params), orders)


def _written(
    lanes: Lanes, program: member.Program, members: list[Member], params: Any, *orders: list[int]
) -> list[Any]:
    """What a population of the given params [S, ...] writes: [S, B, T]."""

    def of_lane(lane: tuple) -> Any:
        inputs, params = lane
        return program.task.predict(params, (), BATCH, jax.random.key(0), inputs.hparams)[0]

    return _computed(of_lane, lanes, (_lanes(program, members)[1], params), orders)


def _started(program: member.Program, members: list[Member]) -> Any:
    """Params of a population before its first epoch."""
    shared, inputs = _lanes(program, members)
    init = lambda inputs: member.init(program, shared, inputs).params  # noqa: E731
    return _computed(init, _mapped, inputs, ([0, 1],))[0]


def _lane(tree: Any, number: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[number], tree)


def _reversed(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf[::-1], tree)


CORPUS = Corpus((tiny_pairs.columns(ROWS, 5, 6, LETTERS, seed=1),), ())


def _member(seed: int, more: dict[str, float]) -> Member:
    hparams = {**markers.active(PLAIN), **RATES, **more}
    return Member(seed, 0, tuple(sorted(hparams.items())))


@functools.cache
def _population(architecture: str) -> tuple[member.Program, list[Member], Any]:
    """A program, members that differ in all sizes and batch sizes, and their params [S, ...]."""
    members = [
        _member(seed, {**sizes, "batch_size": float(size)})
        for seed, (sizes, size) in enumerate(POPULATIONS[architecture][1])
    ]
    whole = _program(architecture, LARGE[architecture], 4, 4)
    return whole, members, _started(whole, members)


def _unpadded(architecture: str, number: int, initial: Any) -> tuple[member.Program, Member, Any]:
    """The program, member and params [1, ...] of one that is not padded."""
    sizes, size = POPULATIONS[architecture][1][number]
    program, who = _program(architecture, sizes, size, None), _member(number, {})
    init = functools.partial(program.task.init, jax.random.key(0), BATCH)
    shapes = jax.eval_shape(init, dict(who.hparams))
    # that it starts like this is tested above
    mine = _lane(initial, number)
    start = padding.own_part(architecture, shapes, mine, sizes, LARGE[architecture])
    return program, who, jax.tree.map(lambda leaf: leaf[None], start)


@BOTH
def test_a_population_of_sizes_and_batch_sizes(architecture: str) -> None:
    """Dies if a member of a population is not what it would be alone: in one program members
    differ in every size and in the batches, which are cut in parts of four rows; with dropout.

    Each is in the place of the other once; the second, whose sizes no test above has, is alone.
    """
    whole, members, initial = _population(architecture)
    lanes, (_, (sizes, _)) = POPULATIONS[architecture]
    (params, losses), turned = _ran(lanes, whole, members, initial, [0, 1], [1, 0])
    equal = functools.partial(np.testing.assert_allclose, rtol=1e-6, atol=1e-7)
    jax.tree.map(equal, (params, losses), _reversed(turned))
    program, who, start = _unpadded(architecture, 1, initial)
    ((own, expected),) = _ran(_alone, program, [who], start, [0])
    np.testing.assert_allclose(losses[1], expected[0], rtol=1e-5)
    assert (losses[:, 1] < losses[:, 0]).all()
    large = LARGE[architecture]
    pairs = padding.leaves(architecture, _lane(own, 0), _lane(params, 1), sizes, large)
    for leaf in pairs:
        padding.check_live(leaf, 1e-5)


@BOTH
def test_a_population_writes_what_each_writes_alone(architecture: str) -> None:
    """Dies if padding, or another member of its program, changes what a member decodes."""
    whole, members, initial = _population(architecture)
    initial = jax.tree.map(lambda leaf: 8 * leaf, initial)  # else all rows get the same word
    together, turned = _written(
        POPULATIONS[architecture][0], whole, members, initial, [0, 1], [1, 0]
    )
    np.testing.assert_array_equal(together, _reversed(turned))
    program, who, start = _unpadded(architecture, 1, initial)
    (alone,) = _written(_alone, program, [who], start, [0])
    np.testing.assert_array_equal(together[1], alone[0])
    assert len(np.unique(together.reshape(-1, together.shape[-1]), axis=0)) > len(members)
