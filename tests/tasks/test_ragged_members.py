"""Members of several sizes in one program: each is what a model of its own size would be."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import flatten_util, lax

from jaxeval.contracts import Corpus, Member, Split
from jaxeval.population import engine, member, optimisers, schedule, training
from tests import quick
from tests.tasks import tiny_pairs

LETTERS, STEPS = 6, 10
SMALL = {
    "attentive_lstm": {"embedding": 6, "hidden": 5, "encoder_layers": 1},
    "transformer": {
        "embedding": 8,
        "hidden": 5,
        "encoder_layers": 2,
        "decoder_layers": 1,
        "heads": 2,
    },
}
LARGE = {
    "attentive_lstm": {"embedding": 8, "hidden": 9, "encoder_layers": 2},
    "transformer": {
        "embedding": 16,
        "hidden": 9,
        "encoder_layers": 3,
        "decoder_layers": 2,
        "heads": 4,
    },
}
BOTH = pytest.mark.parametrize("architecture", list(SMALL))
# with its usual epsilon Adam makes whole steps of gradients that are rounding alone, as those of
# the biases of keys are, which change no softmax
OPTIMISER = optimisers.Optimiser(
    name="adam", hyperparameters={"learning_rate": 0.005, "epsilon": 1e-4}
)
PLAIN = optimisers.Optimiser(name="sgd")  # quicker to compile
Sizes = dict[str, int]

# the axes of every parameter: "." has no dead units; e, h: embedding, hidden; g, b: gates and
# directions, blocks of h; s, t: heads, three times heads, blocks of e; l: layers
_LSTM = {"kernel": "eg", "recurrent": "hg", "bias_input": "g", "bias_recurrent": "g"}
_NORM = {"scale": "le", "bias": "le"}
_ATTENTION = {
    "inner": {"kernel": "let", "bias": "lt"},
    "outer": {"kernel": "lse", "bias": "le"},
    "norm": _NORM,
}
_FEED = {
    "inner": {"kernel": "leh", "bias": "lh"},
    "outer": {"kernel": "lhe", "bias": "le"},
    "norm": _NORM,
}
_LAST = {"scale": "e", "bias": "e"}
AXES: dict[str, Any] = {
    "attentive_lstm": {
        "source": ".e",
        "target": ".e",
        "attention": {
            "keys": {"kernel": "bh", "bias": "h"},
            "query": "hh",
            "score": "h",
            "score_bias": ".",
        },
        "start": {"hidden": "h", "memory": "h"},
        "decoder": {**_LSTM, "context": "bg"},
        "output": {"kernel": "h.", "bias": "."},
        "encoder_0": {"forward": _LSTM, "backward": _LSTM},
        "encoder_1": {way: {**_LSTM, "kernel": "bg"} for way in ("forward", "backward")},
    },
    "transformer": {
        "source": ".e",
        "target": ".e",
        "encoder": {"layers": {"own": _ATTENTION, "feed_forward": _FEED}, "norm": _LAST},
        "decoder": {
            "layers": {"own": _ATTENTION, "across": _ATTENTION, "feed_forward": _FEED},
            "norm": _LAST,
        },
        "output": {"kernel": "e.", "bias": "."},
    },
}


class Leaf(NamedTuple):
    """A parameter of a member.

    Attributes:
      own: of the model of its size; None: of a layer that it lacks.
      padded: all of it.
      live: what in `padded` is the member's own.
    """

    name: str
    own: np.ndarray | None
    padded: np.ndarray
    live: np.ndarray


def _places(letter: str, length: int, sizes: Sizes, large: Sizes, layers: int) -> np.ndarray:
    """Which units of an axis are live: bool."""
    if letter == ".":
        return np.ones(length, bool)
    if letter == "l":
        return np.arange(length) < layers
    heads = large.get("heads", 1)
    blocks = {"g": 4, "b": 2, "s": heads, "t": 3 * heads}.get(letter, 1)
    name = "embedding" if letter in "est" else "hidden"
    of_block = sizes[name] // (heads if letter in "st" else 1)
    return np.arange(length) % (length // blocks) < of_block


def _leaves(architecture: str, own: Any, padded: Any, sizes: Sizes, large: Sizes) -> list[Leaf]:
    """Every parameter, or gradient, of a member and of the model of its own size."""
    axes = AXES[architecture]
    found = []
    for path, leaf in jax.tree_util.tree_leaves_with_path(padded):
        keys = [entry.key for entry in path]
        layers = sizes.get(f"{keys[0]}_layers", 0)  # a transformer's
        letters = functools.reduce(lambda tree, key: tree[key], keys, axes)
        units = [
            _places(letter, n, sizes, large, layers)
            for letter, n in zip(letters, leaf.shape, strict=True)
        ]
        live = functools.reduce(np.multiply.outer, units)
        mine = None
        if keys[0] == "encoder_1" and sizes["encoder_layers"] == 1:
            live = np.zeros_like(live)
        else:
            mine = functools.reduce(lambda tree, key: tree[key], keys, own)
        found.append(Leaf("/".join(keys), mine, np.asarray(leaf), live))
    return found


def _check_live(leaf: Leaf, tolerance: float) -> None:
    """The live part is that of the model of its own size, up to rounding or exactly."""
    if leaf.own is None:
        return
    own, mine = leaf.own, leaf.padded[leaf.live].reshape(leaf.own.shape)
    np.testing.assert_allclose(mine, own, rtol=tolerance, atol=tolerance, err_msg=leaf.name)


class Trained(NamedTuple):
    """What a model went through, on the host."""

    began: Any
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
        for name, value in {**OPTIMISER.traced(), **RATES, **sizes}.items()
    }

    def loss(params: Any, key: Any) -> Any:
        return task.loss(params, (), BATCH, key, hparams)[0]

    gradient = quick.jit(jax.value_and_grad(loss))
    began = jax.jit(task.init)(jax.random.key(1), BATCH, hparams)
    params, tree = flatten_util.ravel_pytree(began)
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
    return Trained(*jax.device_get((began, tree(params), losses, norms, first, outputs)))


@functools.cache
def _both(architecture: str) -> tuple[Trained, Trained]:
    """The model of its own size, and the padded member."""
    small, large = SMALL[architecture], LARGE[architecture]
    return _trained(architecture, small, {}), _trained(architecture, large, small)


def _pairs_of(architecture: str, name: str) -> list[Leaf]:
    own, padded = (getattr(run, name) for run in _both(architecture))
    return _leaves(architecture, own, padded, SMALL[architecture], LARGE[architecture])


@BOTH
def test_a_member_starts_as_the_model_of_its_size(architecture: str) -> None:
    """Dies if an initial weight depends on the padded size: exactly equal, and 0 elsewhere."""
    for leaf in _pairs_of(architecture, "began"):
        _check_live(leaf, 0.0)
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
            _check_live(leaf, 1e-5)


@BOTH
def test_what_is_dead_stays_zero(architecture: str) -> None:
    """Dies if a dead unit begins to move, or a layer that a member lacks is trained."""
    for name in ("grads", "params"):
        for leaf in _pairs_of(architecture, name):
            assert not np.any(leaf.padded[~leaf.live]), (name, leaf.name)


ROWS, EPOCHS = 13, 2
# how lanes are computed (`lanes.Mode`), and each member's sizes and batch size
POPULATIONS: dict[str, tuple[str, list[tuple[Sizes, int]]]] = {
    "attentive_lstm": (
        "map",
        [
            (SMALL["attentive_lstm"], 5),
            ({"embedding": 7, "hidden": 6, "encoder_layers": 2}, 3),
        ],
    ),
    "transformer": (
        "vmap",
        [
            (SMALL["transformer"], 5),
            (LARGE["transformer"], 13),
            ({**LARGE["transformer"], "embedding": 12, "encoder_layers": 1, "heads": 1}, 3),
        ],
    ),
}


def _program(architecture: str, sizes: Sizes, batch: int, micro: int | None) -> member.Program:
    task = tiny_pairs.task(architecture, LETTERS, **sizes)
    return member.Program(task, PLAIN, batch, 4, micro)


def _lanes(program: member.Program, members: list[Member]) -> tuple[member.Shared, member.Load]:
    """What a population's functions are given; leaves of the load [S, ...]."""
    rows = np.arange(ROWS, dtype=np.int32)
    split = Split((rows,), (rows[:1],), (rows[:1],), {})
    longest = engine.most_steps(members, split)
    given = engine.stack([engine.lane_of(program, who, split, longest) for who in members])
    shared = member.Shared(CORPUS, schedule.steps([ROWS], program.batch_size))
    return jax.tree.map(jnp.asarray, (shared, given.load))


def _ran(architecture: str, program: member.Program, members: list[Member], params: Any) -> Any:
    """Params and losses of a population after some epochs from the given params [S, ...]."""

    def one(shared: Any, given: tuple) -> Any:
        load, params = given
        size = member.batch_size(program, load)
        state = optimisers.make(PLAIN, load.hparams, jnp.int32(0), size).init(params)
        begin = member.State(params, state, params, (), jnp.int32(0))

        def epoch(state: Any, _: Any) -> Any:
            return training.train_epoch(program, shared, state, load)

        state, losses = lax.scan(epoch, begin, length=EPOCHS)
        return state.params, losses

    def every(shared: Any, given: tuple) -> Any:
        lane = functools.partial(one, shared)
        return (
            lax.map(lane, given)
            if POPULATIONS[architecture][0] == "map"
            else jax.vmap(lane)(given)
        )

    shared, load = _lanes(program, members)
    return jax.device_get(quick.jit(every)(shared, (load, params)))


def _started(program: member.Program, members: list[Member]) -> Any:
    """Params of a population before its first epoch."""
    shared, load = _lanes(program, members)
    init = lambda load: member.init(program, shared, load).params  # noqa: E731
    return jax.device_get(quick.jit(lambda loads: lax.map(init, loads))(load))


def _lane(tree: Any, number: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[number], tree)


def _own(architecture: str, shapes: Any, padded: Any, sizes: Sizes, large: Sizes) -> Any:
    """The live part of params, as the model of the member's own size has it."""
    leaves = _leaves(architecture, shapes, padded, sizes, large)
    live = [
        leaf.padded[leaf.live].reshape(leaf.own.shape) for leaf in leaves if leaf.own is not None
    ]
    return jax.tree.unflatten(jax.tree.structure(shapes), live)


CORPUS = Corpus((tiny_pairs.columns(ROWS, 5, 6, LETTERS, seed=1),), ())


def _member(seed: int, more: dict[str, float]) -> Member:
    hparams = {**PLAIN.traced(), **RATES, **more}
    return Member(seed, 0, tuple(sorted(hparams.items())))


@BOTH
def test_a_population_of_sizes_and_batch_sizes(architecture: str) -> None:
    """Dies if a member of a population is not what it would be alone: in one program members
    differ in every size and in the batches, which are cut in parts of four rows; with dropout."""
    members, large = POPULATIONS[architecture][1], LARGE[architecture]
    given = [
        _member(seed, {**sizes, "batch_size": float(size)})
        for seed, (sizes, size) in enumerate(members)
    ]
    whole = _program(architecture, large, 4, 4)
    began = _started(whole, given)
    params, losses = _ran(architecture, whole, given, began)
    for lane, (sizes, size) in enumerate(members):
        program, who = _program(architecture, sizes, size, None), _member(lane, {})
        init = functools.partial(program.task.init, jax.random.key(0), BATCH)
        shapes = jax.eval_shape(init, dict(who.hparams))
        # that it starts like this is tested above
        start = _own(architecture, shapes, _lane(began, lane), sizes, large)
        alone, expected = _ran(
            architecture, program, [who], jax.tree.map(lambda v: v[None], start)
        )
        np.testing.assert_allclose(losses[lane], expected[0], rtol=1e-5)
        assert losses[lane][1] < losses[lane][0]
        mine = _lane(params, lane)
        for leaf in _leaves(architecture, _lane(alone, 0), mine, sizes, large):
            _check_live(leaf, 1e-5)
