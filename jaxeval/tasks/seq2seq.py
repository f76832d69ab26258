"""Sequence to sequence as a Task: where pairs, model, loss and metric meet.

Notation: B pairs, Ts and Tt positions, V target symbols. The loss is cross-entropy with label
smoothing a, averaged over the target's symbols and END, the decoder being told the true symbols
before: (1 - a) (-log p(gold)) + a mean over V of (-log p) (Wiemerslage et al. 2024, as their
public code computes it). Scores are of what the model writes by itself.
"""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from jaxeval.contracts import Array, Batch, Hparams, Metric, Task, Tree
from jaxeval.data import seq2seq as data
from jaxeval.data import symbols
from jaxeval.models import decoding, ragged, seq2seq, seq2seq_settings
from jaxeval.models.seq2seq import Dropping
from jaxeval.tasks.edit_distance import edit_distance


def build(choices: seq2seq_settings.Seq2Seq, vocabularies: data.Vocabularies) -> Task:
    """The task; members may differ in sizes: hparams named as `seq2seq.Live` (see `ragged`)."""
    sizes = len(vocabularies.source_names), len(vocabularies.target)

    def using(params: Tree, hparams: Hparams, use: Callable[..., Any], *given: Any) -> Any:
        model: Any = choices.model(*sizes, seq2seq.live_of(hparams))
        return model.apply({"params": params}, *given, method=use)

    def init(key: Array, batch: Batch, hparams: Hparams) -> Tree:
        model: Any = choices.model(*sizes, seq2seq.live_of(hparams))
        return model.init(key, batch, Dropping(), method=_scores)["params"]

    def loss(params: Tree, carry: Tree, batch: Batch, key: Array, hparams: Hparams) -> tuple:
        drop = Dropping()
        if "dropout" in hparams:
            drop = Dropping(ragged.words(key), hparams["dropout"], batch.places)
        scores = using(params, hparams, _scores, batch, drop)
        losses = symbol_losses(scores, _gold(batch), hparams.get("label_smoothing"))
        weights = _weights(batch)
        return jnp.sum(losses * weights) / jnp.maximum(jnp.sum(weights), 1.0), carry

    def predict(params: Tree, carry: Tree, batch: Batch, key: Array, hparams: Hparams) -> tuple:
        del key  # decoding is not random
        return using(params, hparams, _writer(choices.beam), batch), carry

    return Task(
        init,
        lambda size: (),
        loss,
        predict,
        count,
        score,
        Metric("accuracy", unit="fraction", margin=0.01),
        share=share,
        by_place=True,
    )


def share(batch: Batch) -> Array:
    """Symbols that the loss is a mean over."""
    return jnp.sum(_weights(batch))


def _gold(batch: Batch) -> Array:
    return batch.rows["target"][:, 1:]


def _weights(batch: Batch) -> Array:
    """[B, Tt - 1] 1 at symbols and END of real rows."""
    return (_gold(batch) != symbols.PAD) * batch.weight[:, None]


def _scores(model: seq2seq.Model, batch: Batch, drop: Dropping) -> Array:
    """[B, Tt - 1, V], the true symbols before being known."""
    memory = model.encode(batch.rows["source"], batch.rows["source_length"], drop)
    return model.taught(memory, batch.rows["target"][:, :-1], drop)


def symbol_losses(scores: Array, gold: Array, smoothing: Array | None = None) -> Array:
    """Losses [B, T] of scores [B, T, V] and gold symbols [B, T]."""
    chances = jax.nn.log_softmax(scores)
    right = -jnp.take_along_axis(chances, gold[..., None], axis=-1)[..., 0]
    if smoothing is None:
        return right
    return (1 - smoothing) * right - smoothing * jnp.mean(chances, axis=-1)


def _writer(width: int) -> Callable[[seq2seq.Model, Batch], Array]:
    def write(model: seq2seq.Model, batch: Batch) -> Array:
        source, length = batch.rows["source"], batch.rows["source_length"]
        # the longest output is as long as the bucket's targets and half as much: longer ones,
        # which are wrong, are cut
        rows, steps = len(source), 3 * batch.rows["target"].shape[1] // 2
        if width > 1:
            source, length = (jnp.repeat(part, width, axis=0) for part in (source, length))
        memory = model.encode(source, length, Dropping())
        state = model.begin(memory, steps)

        def step(state: Tree, token: Array, place: Array) -> tuple[Array, Tree]:
            return model.step(memory, state, token, place)

        ends = (symbols.START, symbols.END)
        if width == 1:
            return decoding.greedy(step, state, rows, steps, *ends)
        return decoding.beam(step, state, rows, steps, *ends, width, model.rows_axis)

    return write


def count(outputs: Array, batch: Batch) -> Mapping[str, Array]:
    """Outputs [B, T] against gold; what a model writes for an unknown symbol is never right."""
    gold = jnp.where(_gold(batch) == symbols.UNKNOWN, -1, _gold(batch))
    length = batch.rows["target_length"] - 1  # with END
    needed = jnp.arange(gold.shape[1])[None] < length[:, None]
    right = jnp.all((outputs[:, : gold.shape[1]] == gold) | ~needed, axis=1)
    written = jnp.sum(jnp.cumsum(outputs == symbols.END, axis=1) == 0, axis=1)
    edits = edit_distance(outputs, written, gold, length - 1)
    return {
        "items": jnp.sum(batch.weight),
        "right": jnp.sum(right * batch.weight),
        "edits": jnp.sum(edits * batch.weight),
        "symbols": jnp.sum((length - 1) * batch.weight),
    }


def score(counts: Mapping[str, float]) -> dict[str, float]:
    """Exact match, and edits for each gold symbol."""
    return {
        "accuracy": counts["right"] / max(counts["items"], 1.0),
        "symbol_error_rate": counts["edits"] / max(counts["symbols"], 1.0),
    }
