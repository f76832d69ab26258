"""Members of several sizes in one program: each is what a model of its own size would be."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxeval.config import fields
from jaxeval.contracts import Corpus, Member, Split
from jaxeval.population import Training, engine, member, optimisers
from jaxeval.population import epoch as epochs
from tests.tasks import tiny_pairs

Sizes = dict[str, int]
_ONE_LAYER = {"encoder_layers": 1, "decoder_layers": 1}
_TWO_LAYERS = {"encoder_layers": 2, "decoder_layers": 2}
SMALL: dict[str, Sizes] = {
    "attentive_lstm": {"embedding": 6, "hidden": 5, "encoder_layers": 1},
    "transformer": {"embedding": 8, "hidden": 5, **_ONE_LAYER, "heads": 2},
}
LARGE: dict[str, Sizes] = {
    "attentive_lstm": {"embedding": 8, "hidden": 9, "encoder_layers": 2},
    "transformer": {"embedding": 16, "hidden": 9, **_TWO_LAYERS, "heads": 4},
}
LETTERS, ROWS, EPOCHS = 6, 13, 3
BOTH = pytest.mark.parametrize("architecture", list(SMALL))
OPTIMISER = optimisers.Optimiser(name="sgd", hyperparameters={"learning_rate": 0.3})
RATES = {"dropout": 0.3, "label_smoothing": 0.1}
BATCH = tiny_pairs.batch(6, 6, 7, LETTERS, seed=0)
CORPUS = Corpus((tiny_pairs.columns(ROWS, 5, 6, LETTERS, seed=1),), ())

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


# how lanes are computed, and each member's sizes and batch size; the second is SMALL
POPULATIONS: dict[str, tuple[Lanes, list[tuple[Sizes, int]]]] = {
    "attentive_lstm": (
        jax.vmap,
        [({"embedding": 7, "hidden": 6, "encoder_layers": 2}, 3), (SMALL["attentive_lstm"], 5)],
    ),
    "transformer": (
        _mapped,
        [
            ({**LARGE["transformer"], "embedding": 12, "encoder_layers": 1, "heads": 1}, 3),
            (SMALL["transformer"], 5),
        ],
    ),
}


class Trained(NamedTuple):
    """What members went through, on the host; leaves [S, ...]."""

    initial: Any
    params: Any
    losses: np.ndarray  # [S, EPOCHS]
    outputs: np.ndarray  # [S, B, T] of large initial parameters


def _split(number: int) -> Split:
    rows = np.arange(ROWS, dtype=np.int32)
    return Split((rows,), (rows[:1],), (rows[:1],), {})


def _problem(architecture: str, sizes: Sizes, batch: int, micro: int | None) -> member.Problem:
    task = tiny_pairs.task(architecture, LETTERS, **sizes)
    how = {"batch_size": batch, "evaluation_batch_size": 4, "micro_batch": micro}
    return member.Problem(task, CORPUS, _split, Training(optimiser=OPTIMISER, **how))


def _member(seed: int, more: dict[str, float]) -> Member:
    hparams = {**fields.active(OPTIMISER), **RATES, **more}
    return Member(seed, 0, tuple(sorted(hparams.items())))


def _lanes(problem: member.Problem, members: list[Member]) -> tuple[member.Shared, member.Lane]:
    """What a population's functions are given; leaves of the lanes [S, ...]."""
    longest = engine.most_steps(members, _split(0))
    stacked = engine.stack([engine.lane_of(problem, who, longest) for who in members])
    shared = member.Shared(CORPUS, member.steps([ROWS], problem.training.batch_size))
    return jax.tree.map(jnp.asarray, shared), stacked


def _ran(
    lanes: Lanes, problem: member.Problem, members: list[Member], *orders: list[int]
) -> list[Trained]:
    """Some epochs of a population in every order of its lanes; one program."""
    shared, lane = _lanes(problem, members)

    def of_lane(lane: member.Lane) -> Trained:
        begin = member.init(problem, shared, lane)

        def epoch(state: Any, _: Any) -> Any:
            return epochs.train_epoch(problem, shared, state, lane)

        state, losses = lax.scan(epoch, begin, length=EPOCHS)
        # else all rows get the same word
        params, key = jax.tree.map(lambda leaf: 8 * leaf, begin.params), jax.random.key(0)
        outputs, _ = problem.task.predict(params, (), BATCH, key, lane.hparams)
        return Trained(begin.params, state.params, losses, outputs)

    run = jax.jit(lanes(of_lane))
    ordered = (jax.tree.map(lambda leaf, at=at: leaf[np.array(at)], lane) for at in orders)
    return [jax.device_get(run(each)) for each in ordered]


@functools.cache
def _population(architecture: str) -> list[Trained]:
    """Members that differ in every size and in their batches, which are cut in parts of four
    rows; with dropout. Each is in the place of the other once."""
    lanes, settings = POPULATIONS[architecture]
    members = [
        _member(seed, {**sizes, "batch_size": float(size)})
        for seed, (sizes, size) in enumerate(settings)
    ]
    problem = _problem(architecture, LARGE[architecture], 4, 4)
    return _ran(lanes, problem, members, [0, 1])


@functools.cache
def _unpadded(architecture: str) -> Trained:
    """The second member as the only one of a program of its own sizes and whole batches."""
    sizes, size = POPULATIONS[architecture][1][1]
    problem = _problem(architecture, sizes, size, None)
    return _lane(_ran(_alone, problem, [_member(1, {})], [0])[0], 0)


def _lane(trained: Any, number: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[number], trained)


def _same(architecture: str, name: str, tolerance: float) -> None:
    """Asserts: every parameter of the second member is that of the model of its own size, beside
    zeros; that the numbers stand in their places, losses and outputs say."""
    own = dict(jax.tree_util.tree_leaves_with_path(getattr(_unpadded(architecture), name)))
    padded = _lane(getattr(_population(architecture)[0], name), 1)
    for path, leaf in jax.tree_util.tree_leaves_with_path(padded):
        live = own.get(path, np.zeros(0))  # of a layer that it lacks: none
        mine, other = (np.sort(array[array != 0]) for array in (leaf, live))
        assert mine.shape == other.shape, jax.tree_util.keystr(path)
        np.testing.assert_allclose(mine, other, rtol=tolerance, atol=tolerance)


@BOTH
def test_a_member_starts_and_learns_as_the_model_of_its_size(architecture: str) -> None:
    """Dies if an initial weight depends on the padded size, if padding, or the other member,
    reaches a loss, a gradient or a mask of dropout, if a dead unit moves, or a batch in parts is
    not the whole batch."""
    _same(architecture, "initial", 1e-6)
    _same(architecture, "params", 1e-5)
    losses = _population(architecture)[0].losses
    np.testing.assert_allclose(losses[1], _unpadded(architecture).losses, rtol=1e-5)
    assert (losses[:, -1] < losses[:, 0]).all()


@BOTH
def test_a_member_writes_as_the_model_of_its_size(architecture: str) -> None:
    """Dies if padding, or another member of its program, changes what a member decodes."""
    outputs = _population(architecture)[0].outputs
    np.testing.assert_array_equal(outputs[1], _unpadded(architecture).outputs)
    assert len(np.unique(outputs.reshape(-1, outputs.shape[-1]), axis=0)) > len(outputs)
