"""Sequence to sequence as a Task: where pairs, model, loss and metric meet.

Notation: B pairs, Ts and Tt positions, V target symbols. The loss is cross-entropy with label
smoothing a, averaged over the target's symbols and END, with teacher forcing:
(1 - a) (-log p(gold)) + a mean over V of (-log p) (Wiemerslage et al. 2024, as their public code
computes it). Scores are of what the model generates by itself.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import pydantic

from jaxeval.config import fields, reading
from jaxeval.contracts import Array, Batch, Hparams, Metric, Task, Tree
from jaxeval.data import seq2seq as data
from jaxeval.data import symbols
from jaxeval.data.seq2seq import Seq2SeqData
from jaxeval.data.symbols import Vocabularies
from jaxeval.models import decoding, hash_random, seq2seq, seq2seq_settings, seq2seq_sizes
from jaxeval.models.dropout import HashedDropout
from jaxeval.population import optimisers
from jaxeval.population.settings import Training
from jaxeval.tasks import kind
from jaxeval.tasks.edit_distance import edit_distance


def build(choices: seq2seq_settings.Seq2Seq, vocabularies: Vocabularies) -> Task:
    """The task; members may differ in sizes: hparams named as `seq2seq.Live` (see `ragged`)."""
    sizes = len(vocabularies.source_names), len(vocabularies.target)

    def apply(params: Tree, hparams: Hparams, method: Callable[..., Any], *inputs: Any) -> Any:
        model: Any = choices.model(*sizes, seq2seq.live_of(hparams))
        return model.apply({"params": params}, *inputs, method=method)

    def init(key: Array, batch: Batch, hparams: Hparams) -> Tree:
        model: Any = choices.model(*sizes, seq2seq.live_of(hparams))
        return model.init(key, batch, HashedDropout(), method=_logits)["params"]

    def loss(params: Tree, carry: Tree, batch: Batch, key: Array, hparams: Hparams) -> tuple:
        drop = HashedDropout()
        if "dropout" in hparams:
            drop = HashedDropout(hash_random.words(key), hparams["dropout"], batch.positions)
        logits = apply(params, hparams, _logits, batch, drop)
        losses = symbol_losses(logits, _gold(batch), hparams.get("label_smoothing"))
        weights = _weights(batch)
        return jnp.sum(losses * weights) / jnp.maximum(jnp.sum(weights), 1.0), carry

    def predict(params: Tree, carry: Tree, batch: Batch, key: Array, hparams: Hparams) -> tuple:
        del key  # decoding is not random
        return apply(params, hparams, _generator(choices.beam), batch), carry

    return Task(
        init,
        lambda size: (),
        loss,
        predict,
        count,
        score,
        Metric("accuracy", unit="fraction", margin=0.01),
        normaliser=normaliser,
        keyed_by_position=True,
    )


def normaliser(batch: Batch) -> Array:
    """[] symbols that the loss is a mean over."""
    return jnp.sum(_weights(batch))


def _gold(batch: Batch) -> Array:
    return batch.rows["target"][:, 1:]


def _weights(batch: Batch) -> Array:
    """[B, Tt - 1] 1 at symbols and END of real rows."""
    return (_gold(batch) != symbols.PAD) * batch.weight[:, None]


def _logits(model: seq2seq.Model, batch: Batch, drop: HashedDropout) -> Array:
    """[B, Tt - 1, V], teacher-forced."""
    memory = model.encode(batch.rows["source"], batch.rows["source_length"], drop)
    return model.teacher_forced(memory, batch.rows["target"][:, :-1], drop)


def symbol_losses(logits: Array, gold: Array, smoothing: Array | None = None) -> Array:
    """Losses [B, T] of logits [B, T, V] and gold symbols [B, T]."""
    log_probs = jax.nn.log_softmax(logits)
    nll = -jnp.take_along_axis(log_probs, gold[..., None], axis=-1)[..., 0]
    if smoothing is None:
        return nll
    return (1 - smoothing) * nll - smoothing * jnp.mean(log_probs, axis=-1)


_ENDS = symbols.START, symbols.END


def _generator(width: int) -> Callable[[seq2seq.Model, Batch], Array]:
    def generate(model: seq2seq.Model, batch: Batch) -> Array:
        # the longest output is as long as the bucket's targets and half as much: longer ones,
        # which are wrong, are cut
        rows, steps = len(batch.rows["source"]), 3 * batch.rows["target"].shape[1] // 2
        step, state = _before_first(model, batch, width, steps)
        if width == 1:
            return decoding.greedy(step, state, rows, steps, *_ENDS)
        return decoding.beam(step, state, rows, steps, *_ENDS, width, model.rows_axis)

    return generate


def hypotheses(width: int, steps: int) -> Callable[[seq2seq.Model, Batch], tuple[Array, Array]]:
    """What a beam search finds in at most so many steps: `decoding.beams`."""

    def generate(model: seq2seq.Model, batch: Batch) -> tuple[Array, Array]:
        step, state = _before_first(model, batch, width, steps)
        rows = len(batch.rows["source"])
        return decoding.beams(step, state, rows, steps, *_ENDS, width, model.rows_axis)

    return generate


def _before_first(
    model: seq2seq.Model, batch: Batch, width: int, steps: int
) -> tuple[decoding.Step, Tree]:
    """What generates a symbol, and the state before the first; `width` beams of each source."""
    source, length = batch.rows["source"], batch.rows["source_length"]
    if width > 1:
        source, length = (jnp.repeat(part, width, axis=0) for part in (source, length))
    memory = model.encode(source, length, HashedDropout())

    def step(state: Tree, token: Array, position: Array) -> tuple[Array, Tree]:
        return model.step(memory, state, token, position)

    return step, model.initial_state(memory, steps)


def count(outputs: Array, batch: Batch) -> Mapping[str, Array]:
    """Outputs [B, T] against gold; what a model generates for an unknown symbol is never right."""
    gold = jnp.where(_gold(batch) == symbols.UNKNOWN, -1, _gold(batch))
    length = batch.rows["target_length"] - 1  # with END
    needed = jnp.arange(gold.shape[1])[None] < length[:, None]
    right = jnp.all((outputs[:, : gold.shape[1]] == gold) | ~needed, axis=1)
    generated = jnp.sum(jnp.cumsum(outputs == symbols.END, axis=1) == 0, axis=1)
    edits = edit_distance(outputs, generated, gold, length - 1)
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


# widths are chosen as for batches of so many rows, whatever the batch size is, so that members
# with different batch sizes see the same corpus
_ROWS = 64
_TRAINING = Training(
    batch_size=64,
    evaluation_batch_size=128,
    epochs=60,
    patience=20,
    optimiser=optimisers.Optimiser(name="adam", hyperparameters={"learning_rate": 0.001}),
)


@reading.settings
class Config:
    """One experiment on pairs of your own (--data)."""

    name: fields.Name = "seq2seq"
    task: Annotated[Literal["seq2seq"], pydantic.Field(description="what is learned")] = "seq2seq"
    data: Seq2SeqData = Seq2SeqData()
    model: seq2seq_settings.Seq2Seq = seq2seq_settings.Seq2Seq()
    training: Training = _TRAINING


def _source(config: Config, pairs: data.Pairs) -> kind.Source:
    return kind.Source(
        pairs.corpus,
        pairs.split,
        pairs.fingerprint,
        config.data.path,
        {
            "pairs": {part: sum(map(len, rows)) for part, rows in pairs.given_split.items()},
            "source_symbols": len(pairs.vocabularies.source_names),
            "target_symbols": len(pairs.vocabularies.target),
            "padded_widths": [list(widths) for widths in pairs.widths],
        },
        lambda number: pairs.vocabularies.to_dict(),
        pairs.positions,
        findings=pairs.findings,
    )


def _member_sizes(config: Config, pairs: data.Pairs) -> seq2seq_sizes.Seq2SeqSizes:
    """What the arrays of a member must hold."""
    model, vocabularies = config.model, pairs.vocabularies
    shape = model.shape(len(vocabularies.source_names), len(vocabularies.target))
    source, target = (
        float(
            np.mean(np.concatenate([bucket[f"{side}_length"] for bucket in pairs.corpus.buckets]))
        )
        for side in ("source", "target")
    )
    return seq2seq_sizes.Seq2SeqSizes(model.architecture, shape, (source, target), model.embedding)


KIND = kind.Kind(
    Config,
    "data.path",
    lambda config: (config.data, _ROWS),
    data.build,
    lambda config, pairs: (_source(config, pairs), build(config.model, pairs.vocabularies)),
    member_sizes=_member_sizes,
)
