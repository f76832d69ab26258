"""Sequence to sequence as a Task: where pairs, model, loss and metric meet.

Notation: B pairs, Ts and Tt positions, V target symbols. The loss is cross-entropy with label
smoothing a, averaged over the target's symbols and END, with teacher forcing:
(1 - a) (-log p(gold)) + a mean over V of (-log p) (Wiemerslage et al. 2024, as their public code
computes it). Scores are of what the model generates by itself.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from pydantic import Field

from jaxeval.config import fields, reading
from jaxeval.contracts import Array, Batch, Hparams, Metric, Task, Tree
from jaxeval.data import seq2seq as data
from jaxeval.data import symbols
from jaxeval.data.seq2seq import Seq2SeqData
from jaxeval.data.symbols import SavedVocabulary, SequencePair, Vocabularies
from jaxeval.errors import ConfigError, DataError, argument
from jaxeval.models import dropout, softmax
from jaxeval.models import seq2seq as models
from jaxeval.models.attentive_lstm import AttentiveLstm
from jaxeval.models.dropout import HashedDropout
from jaxeval.models.seq2seq import Seq2Seq
from jaxeval.models.transformer import Transformer
from jaxeval.population import optimisers
from jaxeval.population.settings import Training
from jaxeval.tasks import kind, prediction, scoring
from jaxeval.tasks.prediction import Options, PredictionProgram, SavedModel

Hypotheses = list[tuple[str, float]]  # of a source, with log-probabilities, best first
_CLASSES = {"attentive_lstm": AttentiveLstm, "transformer": Transformer}


def model_of(choices: Seq2Seq, vocabularies: Vocabularies, hparams: Hparams) -> Any:
    """The Flax module of a member; hparams named as `models.seq2seq.Live` are its sizes."""
    shape = choices.shape(len(vocabularies.source_names), len(vocabularies.target))
    return _CLASSES[choices.architecture](shape, models.live_of(hparams))


def build(choices: Seq2Seq, vocabularies: Vocabularies) -> Task:
    """The task; members may differ in sizes, hparams named as `models.seq2seq.Live`."""

    def apply(params: Tree, hparams: Hparams, method: Callable[..., Any], *inputs: Any) -> Any:
        model = model_of(choices, vocabularies, hparams)
        return model.apply({"params": params}, *inputs, method=method)

    def init(key: Array, batch: Batch, hparams: Hparams) -> Tree:
        model = model_of(choices, vocabularies, hparams)
        return model.init(key, batch, HashedDropout(), method=_logits)["params"]

    def loss(params: Tree, carry: Tree, batch: Batch, key: Array, hparams: Hparams) -> tuple:
        drop = HashedDropout()
        if "dropout" in hparams:
            drop = HashedDropout(dropout.words(key), hparams["dropout"], batch.positions)
        logits = apply(params, hparams, _logits, batch, drop)
        losses = symbol_losses(logits, _gold(batch), hparams.get("label_smoothing"))
        weights = _weights(batch)
        return jnp.sum(losses * weights) / jnp.maximum(jnp.sum(weights), 1.0), carry

    def predict(params: Tree, carry: Tree, batch: Batch, key: Array, hparams: Hparams) -> tuple:
        del key  # decoding is not random
        return apply(params, hparams, generated, batch, choices.beam), carry

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


def _logits(model: models.Model, batch: Batch, drop: HashedDropout) -> Array:
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


def generated(model: models.Model, batch: Batch, width: int) -> Array:
    """What a beam search of some width, greedy search of 1, writes: [B, T].

    T is 3/2 of the longest target of the bucket: longer outputs, which are wrong, are cut.
    """
    rows, steps = len(batch.rows["source"]), 3 * batch.rows["target"].shape[1] // 2
    step, state = _before_first(model, batch, width, steps)
    if width == 1:
        return models.greedy(step, state, rows, steps, *_ENDS)
    found = models.beams(step, state, rows, steps, *_ENDS, width, model.rows_axis)
    return found[0][:, 0]


def hypotheses(model: models.Model, batch: Batch, width: int, steps: int) -> tuple[Array, Array]:
    """What a beam search finds in at most so many steps: `models.beams`."""
    step, state = _before_first(model, batch, width, steps)
    rows = len(batch.rows["source"])
    return models.beams(step, state, rows, steps, *_ENDS, width, model.rows_axis)


def _before_first(
    model: models.Model, batch: Batch, width: int, steps: int
) -> tuple[models.Step, Tree]:
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
    edits = scoring.edit_distance(outputs, generated, gold, length - 1)
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
    task: Literal["seq2seq"] = Field("seq2seq", description="what is learned")
    data: Seq2SeqData = Seq2SeqData()
    model: Seq2Seq = Seq2Seq()
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


def _member_sizes(config: Config, pairs: data.Pairs) -> models.Seq2SeqSizes:
    """What the arrays of a member must hold."""
    model, vocabularies = config.model, pairs.vocabularies
    shape = model.shape(len(vocabularies.source_names), len(vocabularies.target))
    source, target = (
        float(np.mean(np.concatenate([bucket[name] for bucket in pairs.corpus.buckets])))
        for name in ("source_length", "target_length")
    )
    return models.Seq2SeqSizes(model.architecture, shape, (source, target), model.embedding)


def predict(saved: Sequence[SavedModel], file: Path, options: Options) -> Iterator[str]:
    """The lines of a file, after each a tab and its prediction; one column per model.

    With `n_best` a line a hypothesis, and after it the sum of its symbols' log-probabilities. A
    vote is taken over whole predictions.

    Raises:
      DataError, ConfigError: see `Kind.predict`; n-best of several models.
    """
    options.refuse_others("seq2seq", "n_best", "beam", "max_length")
    if options.n_best and len(saved) > 1:
        raise ConfigError(f"{argument('n_best')}: for a single model, got {len(saved)}")
    if options.n_best and options.beam and options.beam < options.n_best:
        narrow, asked = argument("beam", options.beam), argument("n_best", options.n_best)
        raise ConfigError(f"{narrow}: less than {asked}")
    sources = data.read_sources(saved[0].config.data, file)
    predictions = prediction.of_each(saved, lambda model: _program(model, sources.pairs, options))
    for line, *each in zip(sources.lines, *predictions, strict=True):
        if options.n_best:
            yield from (f"{line}\t{text}\t{total:.6f}" for text, total in each[0])
            continue
        best = [hypotheses[0][0] for hypotheses in each]
        yield "\t".join([line, *([prediction.majority(best)] if options.vote else best)])


def _program(
    saved: SavedModel, pairs: Sequence[SequencePair], options: Options
) -> PredictionProgram[list[Hypotheses]]:
    config = saved.config
    vocabulary = prediction.checked(SavedVocabulary, saved.vocabulary, saved.meanings)
    if vocabulary.specials != symbols.SPECIALS:
        raise DataError("vocabulary of another version of jaxeval", saved.meanings)
    vocabularies, size = vocabulary.vocabularies, config.training.evaluation_batch_size
    numbers, columns = data.encode(config.data, vocabularies, pairs, size)
    width = max(options.beam or config.model.beam, options.n_best or 1)
    steps = (options.max_length or config.data.max_length) + 1  # END

    def run(params: Tree, batch: Batch, hparams: Hparams) -> Tree:
        model = model_of(config.model, vocabularies, hparams)
        return model.apply({"params": params}, batch, width, steps, method=hypotheses)

    def texts(sequences: np.ndarray, totals: np.ndarray) -> Hypotheses:
        kind = config.data.target_symbols
        named = (vocabularies.target_text(s, kind) for s in sequences.tolist())
        ranked = zip(named, totals.tolist(), strict=True)
        return [(text, total) for text, total in ranked if math.isfinite(total)][: options.n_best]

    def read(outputs: list[tuple[np.ndarray, np.ndarray]]) -> list[Hypotheses]:
        return [texts(*output) for output in outputs]

    # gold symbols, of which only their number is looked at
    gold = [{**c, "target": np.zeros((len(c["source"]), 2), np.int32)} for c in columns]
    rows, task = prediction.Rows(numbers, gold), build(config.model, vocabularies)
    return prediction.program(saved, task.init, run, rows, read)


KIND = kind.Kind(
    Config,
    "data.path",
    lambda config: (config.data, _ROWS),
    data.build,
    lambda config, pairs: (_source(config, pairs), build(config.model, pairs.vocabularies)),
    member_sizes=_member_sizes,
    predict=predict,
)
