"""Sequence to sequence as a Task.

The loss is cross-entropy with label smoothing a, averaged over the target's symbols and END, with
teacher forcing: (1 - a) (-log p(gold)) + a mean over V of (-log p) (the public code of Wiemerslage
et al. 2024). Scores are of the model's own output.

Notation: B pairs, Ts and Tt positions, V target symbols.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np
from jax import lax
from pydantic import Field

from jaxeval.config import fields, reading
from jaxeval.contracts import Array, Batch, Hparams, Metric, Task, Tree
from jaxeval.data import seq2seq as data
from jaxeval.data.seq2seq import Seq2SeqData, SequencePair, Vocabularies
from jaxeval.errors import ConfigError, DataError, argument
from jaxeval.models import dropout, nll
from jaxeval.models import seq2seq as models
from jaxeval.models.attentive_lstm import AttentiveLstm
from jaxeval.models.dropout import HashedDropout
from jaxeval.models.seq2seq import Seq2Seq
from jaxeval.models.transformer import Transformer
from jaxeval.population import Training, optimisers
from jaxeval.tasks import kind
from jaxeval.tasks.kind import Options, SavedModel

_CLASSES = {"attentive_lstm": AttentiveLstm, "transformer": Transformer}
_ROWS = 64  # for choosing widths, so that members with different batch sizes share a corpus
_TRAINING = Training(
    batch_size=64,
    evaluation_batch_size=128,
    epochs=60,
    patience=20,
    optimiser=optimisers.Optimiser(name="adam", hyperparameters={"learning_rate": 0.001}),
)


@reading.settings
class _Config:
    """One experiment on pairs of your own (--data)."""

    name: fields.Name = "seq2seq"
    task: Literal["seq2seq"] = Field("seq2seq", description="what is learned")
    data: Seq2SeqData = Seq2SeqData()
    model: Seq2Seq = Seq2Seq()
    training: Training = _TRAINING


def _make_model(choices: Seq2Seq, vocabularies: Vocabularies, hparams: Hparams) -> Any:
    """Returns the Flax module of a member; hparams named as `models.seq2seq.Live` are sizes."""
    shape = choices.shape(len(vocabularies.source_names), len(vocabularies.target_names))
    return _CLASSES[choices.architecture](shape, models.Live.from_hparams(hparams))


def _build(choices: Seq2Seq, vocabularies: Vocabularies) -> Task:
    """Returns the task; members may differ in sizes: hparams named as `models.seq2seq.Live`."""

    def init(key: Array, batch: Batch, hparams: Hparams) -> Tree:
        model = _make_model(choices, vocabularies, hparams)
        return model.init(key, batch, HashedDropout(), method=_logits)["params"]

    def loss(params: Tree, carry: Tree, batch: Batch, key: Array, hparams: Hparams) -> tuple:
        drop = HashedDropout()
        if "dropout" in hparams:
            drop = HashedDropout(dropout.words(key), hparams["dropout"], batch.positions)
        model = _make_model(choices, vocabularies, hparams)
        logits = model.apply({"params": params}, batch, drop, method=_logits)
        losses = nll(logits, _gold(batch), hparams.get("label_smoothing"))
        weights = _weights(batch)
        return jnp.sum(losses * weights) / jnp.maximum(jnp.sum(weights), 1.0), carry

    def predict(params: Tree, carry: Tree, batch: Batch, key: Array, hparams: Hparams) -> tuple:
        model = _make_model(choices, vocabularies, hparams)
        steps = 3 * batch.rows["target"].shape[1] // 2  # longer outputs are wrong anyway
        outputs = model.apply(
            {"params": params}, batch, choices.beam, steps, False, method=_search
        )
        return outputs, carry

    metric = Metric("accuracy", unit="fraction", margin=0.01)
    return Task(
        init,
        lambda size: (),
        loss,
        predict,
        _count,
        _score,
        metric,
        lambda batch: jnp.sum(_weights(batch)),
        keyed_by_position=True,
    )


def _gold(batch: Batch) -> Array:
    return batch.rows["target"][:, 1:]


def _weights(batch: Batch) -> Array:
    """[B, Tt - 1] 1 at symbols and END of real rows."""
    return (_gold(batch) != data.PAD) * batch.weight[:, None]


def _logits(model: Any, batch: Batch, drop: HashedDropout) -> Array:
    """[B, Tt - 1, V], teacher-forced."""
    memory = model.encode(batch.rows["source"], batch.rows["source_length"], drop)
    logits: Array = model.teacher_forced(memory, batch.rows["target"][:, :-1], drop)
    return logits


def _search(model: Any, batch: Batch, width: int, steps: int, ranked: bool) -> Any:
    """Returns the best output [B, T] of a beam search or, if ranked, all as `models.beams`."""
    source, length = batch.rows["source"], batch.rows["source_length"]
    memory = model.encode(source, length, HashedDropout())
    decoder = model.stepwise(memory, width, steps)
    limits = len(source), steps, data.START, data.END
    if width == 1 and not ranked:
        return models.greedy(decoder, *limits)
    found = models.beams(decoder, *limits, width)
    return found if ranked else found[0][:, 0]


def _count(outputs: Array, batch: Batch) -> Mapping[str, Array]:
    """Compares outputs [B, T] with gold; any output for an unknown symbol is wrong."""
    gold = jnp.where(_gold(batch) == data.UNKNOWN, -1, _gold(batch))
    length = batch.rows["target_length"] - 1  # with END
    needed = jnp.arange(gold.shape[1])[None] < length[:, None]
    right = jnp.all((outputs[:, : gold.shape[1]] == gold) | ~needed, axis=1)
    generated = jnp.sum(jnp.cumsum(outputs == data.END, axis=1) == 0, axis=1)
    edits = _edit_distance(outputs, generated, gold, length - 1)
    return {
        "items": jnp.sum(batch.weight),
        "right": jnp.sum(right * batch.weight),
        "edits": jnp.sum(edits * batch.weight),
        "symbols": jnp.sum((length - 1) * batch.weight),
    }


def _edit_distance(output: Array, length: Array, gold: Array, gold_length: Array) -> Array:
    """Returns the Levenshtein distances [B] int32 of sequences [B, T] and [B, G]."""
    columns = jnp.arange(gold.shape[1] + 1)[None]
    first = jnp.broadcast_to(columns, (len(gold), columns.shape[1]))

    def next_row(above: Array, numbered: tuple[Array, Array]) -> tuple[Array, None]:
        number, symbol = numbered
        replaced = above[:, :-1] + (gold != symbol[:, None])
        row = jnp.minimum(above + 1, jnp.pad(replaced, ((0, 0), (1, 0)), constant_values=1 << 20))
        # insertions along the row: a running minimum of row[j] - j
        row = lax.cummin(row - columns, axis=1) + columns
        return jnp.where((number < length)[:, None], row, above), None

    numbers = jnp.arange(output.shape[1])
    last, _ = lax.scan(next_row, first, (numbers, output.T))
    return jnp.take_along_axis(last, gold_length[:, None], axis=1)[:, 0]


def _score(counts: Mapping[str, float]) -> dict[str, float]:
    """Returns the accuracy of whole targets, and the edits per gold symbol."""
    return {
        "accuracy": counts["right"] / max(counts["items"], 1.0),
        "symbol_error_rate": counts["edits"] / max(counts["symbols"], 1.0),
    }


def _member_sizes(config: _Config, pairs: data.SequenceCorpus) -> models.Seq2SeqSizes:
    """Returns what the arrays of a member must hold."""
    model, vocabularies = config.model, pairs.vocabularies
    shape = model.shape(len(vocabularies.source_names), len(vocabularies.target_names))
    source, target = (
        float(np.mean(np.concatenate([b[f"{side}_length"] for b in pairs.corpus.buckets])))
        for side in ("source", "target")
    )
    return models.Seq2SeqSizes(model.architecture, shape, (source, target), model.embedding)


def _predict(saved: Sequence[SavedModel], file: Path, options: Options) -> Iterator[str]:
    """Yields the lines of a file, with a column of predictions for each model.

    With `n_best`, a line for each hypothesis, with the sum of its symbols' log-probabilities. A
    vote is taken over whole predictions.
    """
    options.refuse_others("seq2seq", "n_best", "beam", "max_length")
    if options.n_best and len(saved) > 1:
        raise ConfigError(f"{argument('n_best')}: for a single model, got {len(saved)}")
    if options.n_best and options.beam and options.beam < options.n_best:
        narrow, asked = argument("beam", options.beam), argument("n_best", options.n_best)
        raise ConfigError(f"{narrow}: less than {asked}")
    lines, pairs = data.read_sources(saved[0].config.data, file, options.max_length or 0)
    each = kind.predictions(saved, lambda model: _program(model, pairs, options))
    for line, *hypotheses in zip(lines, *each, strict=True):
        if options.n_best:
            yield from (f"{line}\t{text}\t{total:.6f}" for text, total in hypotheses[0])
            continue
        best = [of_model[0][0] for of_model in hypotheses]
        yield "\t".join([line, *([kind.majority(best)] if options.vote else best)])


def _program(saved: SavedModel, pairs: Sequence[SequencePair], options: Options) -> kind.Program:
    """Returns the program for hypotheses (text, log-probability) of each source, best first."""
    config = saved.config
    vocabularies = saved.read_vocabulary(Vocabularies)
    if vocabularies.specials != data.SPECIALS:
        raise DataError("vocabulary of another version of jaxeval", saved.vocabulary_path)
    size = config.training.evaluation_batch_size
    bucketed = data.encode(config.data, vocabularies, pairs, size)
    width = max(options.beam or config.model.beam, options.n_best or 1)
    most = options.max_length or config.data.max_length

    def run(params: Tree, batch: Batch, hparams: Hparams) -> Tree:
        model = _make_model(config.model, vocabularies, hparams)
        return model.apply({"params": params}, batch, width, most + 1, True, method=_search)  # END

    def read(outputs: list[tuple[np.ndarray, np.ndarray]]) -> list[list[tuple[str, float]]]:
        unit = config.data.target_symbols
        named = (
            # an output without END fills its place
            [(vocabularies.target_text(s[:most], unit), p) for s, p in zip(*both, strict=True)]
            for both in ((sequences.tolist(), totals.tolist()) for sequences, totals in outputs)
        )
        return [[h for h in each if math.isfinite(h[1])][: options.n_best] for each in named]

    # gold symbols, of which only the number matters
    for arrays in bucketed.columns:
        arrays["target"] = np.zeros((len(arrays["source"]), 2), np.int32)
    rows = kind.Rows(bucketed)
    task = _build(config.model, vocabularies)
    return kind.program(saved, task.init, run, rows, read)


KIND = kind.Kind(
    _Config,
    "data.path",
    lambda config: (config.data, _ROWS),
    data.build,
    lambda config, pairs: (pairs, _build(config.model, pairs.vocabularies)),
    member_sizes=_member_sizes,
    predict=_predict,
)
