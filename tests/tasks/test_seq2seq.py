"""Sequence to sequence: the laws, the loss, exact match and edits, and what is written."""

import functools
import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval import models
from jaxeval.contracts import Batch
from jaxeval.data import seq2seq
from jaxeval.models.dropout import HashedDropout
from jaxeval.tasks import seq2seq as tasks
from tests import conformance
from tests.tasks import tiny_pairs

PAD, START, END, UNKNOWN = range(4)
BOTH = pytest.mark.parametrize("architecture", ["attentive_lstm", "transformer"])


def _perfect(batch: Batch) -> np.ndarray:
    """What is to be written, END repeated, and longer than the gold is."""
    gold = np.asarray(batch.rows["target"])[:, 1:]
    return np.pad(np.where(gold == PAD, END, gold), ((0, 0), (0, 2)), constant_values=END)


def test_the_laws_of_a_task() -> None:
    """Dies if the task breaks a law that the trainer relies on; what it asks of its models is
    asked of both below."""
    conformance.check(
        conformance.Case(
            tiny_pairs.task("attentive_lstm", 6),
            tiny_pairs.batch(6, 5, 6, 6, seed=0),
            {"dropout": jnp.float32(0.1), "label_smoothing": jnp.float32(0.05)},
            ["target", "target_length"],
            len(tiny_pairs.vocabularies(6).target_names),
            lambda b: 1.0,
            _perfect,
        )
    )


_count = jax.jit(tasks._count)


def _counts(outputs: Any, batch: Batch) -> dict[str, float]:
    return {name: float(value) for name, value in _count(outputs, batch).items()}


def _one(*gold: int, width: int = 7) -> Batch:
    """A batch of one target."""
    target = np.full((1, width), PAD)
    target[0, : len(gold) + 2] = [START, *gold, END]
    rows = {"target": target, "target_length": np.array([len(gold) + 2])}
    return Batch(rows, np.ones(1, np.float32), (), ())


@pytest.mark.parametrize(
    ("gold", "written", "right", "edits"),
    [
        ([5, 6, 7], [5, 6, 7, END], 1, 0),
        ([5, 6, 7], [5, 6, 7, END, 9, 9, 9, 9], 1, 0),  # what follows END does not count
        ([5, 6, 7], [5, 6, 7, 8, END], 0, 1),  # too long
        ([5, 6, 7], [5, 6, 7, PAD, END], 0, 1),  # PAD is a symbol when a model writes it
        ([5, 6, 7], [5, 6, 7, 8, 8, 8, 8, 8, 8], 0, 6),  # never ended
        ([5, 6, 7, 8, 9], [5, 6, 7, 8, 9, END], 1, 0),  # as long as the bucket
        ([5, 6, 7, 8, 9], [5, 6, 7, 8, 9, 5, 5, 5, 5], 0, 4),  # the same, without its END
        ([5], [END], 0, 1),
        ([5, UNKNOWN, 7], [5, UNKNOWN, 7, END], 0, 1),  # never right
    ],
    ids=str,
)
def test_exact_match_and_edits(
    gold: list[int], written: list[int], right: int, edits: int
) -> None:
    """Dies if END, what follows it, padding or a symbol that train lacks is counted wrongly."""
    outputs = np.full((1, 9), END)
    outputs[0, : len(written)] = written
    counts = _counts(outputs, _one(*gold))
    assert counts == {"items": 1, "right": right, "edits": edits, "symbols": len(gold)}


def test_label_smoothing_is_the_published_formula() -> None:
    """Dies if the smoothed share leaves out the right symbol, or is not divided by V."""
    draw = np.random.default_rng(0)
    scores, gold = draw.normal(size=(3, 4, 6)).astype(np.float32) * 3, draw.integers(0, 6, (3, 4))
    chances = _log_softmax(scores)
    right = np.take_along_axis(chances, gold[..., None], -1)[..., 0]
    for smoothing, traced in ((0.0, None), (0.0, np.float32(0)), (0.15, np.float32(0.15))):
        actual = jax.jit(models.nll)(scores, gold, traced)
        expected = -(1 - smoothing) * right - smoothing * chances.mean(-1)
        np.testing.assert_allclose(actual, expected, rtol=1e-5)


def _scores(architecture: str, letters: int) -> Any:
    model: Any = tiny_pairs.model(architecture, letters)
    return jax.jit(
        lambda p, b: model.apply({"params": p}, b, HashedDropout(), method=tasks._logits)
    )


def _log_softmax(scores: Any) -> np.ndarray:
    exact = np.asarray(scores, np.float64)
    return exact - np.log(np.exp(exact).sum(-1, keepdims=True))


LETTERS = 1


@functools.cache
def _written(architecture: str, beam: int) -> Any:
    task = tiny_pairs.task(architecture, LETTERS, beam=beam)
    return jax.jit(lambda p, batch: task.predict(p, (), batch, jax.random.key(0), {})[0])


def _short(rows: int) -> Batch:
    """Targets are START, END: three symbols are written at most."""
    batch = tiny_pairs.batch(rows, 5, 4, LETTERS, seed=3)
    target = np.tile(np.int32([[START, END]]), (rows, 1))
    gold = {"target": target, "target_length": np.full(rows, 2, np.int32)}
    return batch._replace(rows={**batch.rows, **gold})


@BOTH
def test_what_is_written_is_what_is_learned(architecture: str) -> None:
    """Dies if writing and learning differ: every symbol is the best one after those before it.

    Also if more beams than there are sequences do not find the best of all sequences: states then
    are those of other beams.
    """
    rows, names = 2, len(seq2seq.SPECIALS) + LETTERS
    batch = _short(rows)
    params = tiny_pairs.parameters(tiny_pairs.task(architecture, LETTERS), batch, 1, 1.0)
    every = np.array(list(itertools.product(range(names), repeat=3)))
    inputs = np.concatenate([np.full((len(every), 1), START), every], axis=1)
    scores = _scores(architecture, LETTERS)
    written = [np.asarray(_written(architecture, k)(params, batch)) for k in (1, names**3)]
    for row in range(rows):
        source = {
            n: np.repeat(batch.rows[n][row][None], len(every), 0)
            for n in ("source", "source_length")
        }
        after = scores(params, batch._replace(rows={**source, "target": inputs}))
        chances = _log_softmax(after)
        ended = np.cumsum(every == END, axis=1) - (every == END) > 0  # after an END
        own = np.take_along_axis(chances, every[..., None], -1)[..., 0]
        whole = np.where(~ended, own, np.where(every == END, 0.0, -np.inf)).sum(1)
        assert written[1][row].tolist() == every[np.argmax(whole)].tolist()
        number = int(np.flatnonzero(np.all(every == written[0][row], axis=1))[0])
        best = np.where(ended[number], END, chances[number].argmax(-1))
        assert written[0][row].tolist() == best.tolist()
