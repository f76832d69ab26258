"""Random pairs of sequences as arrays."""

import functools
from typing import Any

import jax
import numpy as np

from jaxeval.contracts import Batch, Task
from jaxeval.data import seq2seq
from jaxeval.data import seq2seq as data
from jaxeval.models.seq2seq import Seq2Seq
from jaxeval.tasks import seq2seq as tasks

ONE = {  # a small model of each architecture
    "attentive_lstm": {"embedding": 8, "hidden": 12},
    "transformer": {
        "architecture": "transformer",
        "embedding": 8,
        "hidden": 12,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "heads": 2,
    },
}


def vocabularies(letters: int) -> data.Vocabularies:
    """Of so many symbols, tied, without features."""
    symbols = tuple("abcdefghijklmnopqrstuvwxyz"[:letters])
    return data.Vocabularies(source=symbols, target=symbols, features=None)


def _settings(architecture: str, changes: Any) -> Seq2Seq:
    return Seq2Seq(**{**ONE[architecture], **changes})


def model(architecture: str, letters: int) -> Any:
    """The task's model."""
    return tasks._make_model(_settings(architecture, {}), vocabularies(letters), {})


@functools.cache
def task(architecture: str, letters: int, **changes: Any) -> Task:
    """The task with a small model, or with sizes as given."""
    return tasks._build(_settings(architecture, changes), vocabularies(letters))


def _sequences(draw: np.random.Generator, lengths: np.ndarray, letters: int) -> np.ndarray:
    """START, `lengths` - 2 symbols, END, PAD."""
    width = int(lengths.max())
    rows = draw.integers(
        len(seq2seq.SPECIALS), len(seq2seq.SPECIALS) + letters, (len(lengths), width)
    )
    rows[:, 0] = seq2seq.START
    rows[np.arange(len(lengths)), lengths - 1] = seq2seq.END
    rows[np.arange(width)[None] >= lengths[:, None]] = seq2seq.PAD
    return rows.astype(np.int32)


def columns(rows: int, source: int, target: int, letters: int, seed: int) -> dict[str, np.ndarray]:
    """A bucket of rows of at most so many symbols, START and END counted."""
    draw = np.random.default_rng(seed)
    arrays = {}
    for name, most in (("source", source), ("target", target)):
        lengths = draw.integers(3, most + 1, rows).astype(np.int32)
        lengths[0] = most
        arrays |= {name: _sequences(draw, lengths, letters), f"{name}_length": lengths}
    return arrays


def batch(rows: int, source: int, target: int, letters: int, seed: int) -> Batch:
    """A bucket as a batch."""
    arrays = columns(rows, source, target, letters, seed)
    return Batch(arrays, np.ones(rows, np.float32), (), ())


def parameters(task: Task, batch: Batch, seed: int, scale: float) -> Any:
    """Random ones, not those that a model starts from: other choices in every row."""
    draw = np.random.default_rng(seed)
    shapes = jax.eval_shape(task.init, jax.random.key(0), batch, {})
    return jax.tree.map(lambda s: np.float32(scale * draw.normal(size=s.shape)), shapes)
