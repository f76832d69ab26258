"""Sequence tagging as a Task: where corpus, model, loss and metric meet.

Notation: T positions, B sentences, Y labels. The loss of a CRF is the negative log-likelihood of a
sentence, averaged over sentences (not divided by their lengths, as in UKPLab's and Lample's
code); that of a softmax is the cross-entropy averaged over words.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import pydantic

from jaxeval.config import fields, markers, reading
from jaxeval.contracts import Array, Batch, Hparams, Metric, Table, Task, Tree, weighted_rows
from jaxeval.data import schemes, word_table, words
from jaxeval.data import tagging as data
from jaxeval.data.tagging import TaggingData
from jaxeval.errors import ConfigError
from jaxeval.models import crf, tagging_settings
from jaxeval.models import tagging as models
from jaxeval.population.settings import Training
from jaxeval.tasks import kind, spans, word_vectors


@reading.settings
class Scoring:
    """How predictions are scored."""

    metric: Annotated[
        Literal["auto", "f1", "accuracy"],
        pydantic.Field(description="read by early stopping; auto: f1 of entities, else accuracy"),
    ] = "auto"
    rule: Annotated[
        spans.Rule, pydantic.Field(description="what counts as an entity where labels are invalid")
    ] = "conlleval"


class Labels(NamedTuple):
    """What is predicted, and labels that only gold has after it; whether they are of entities."""

    names: Sequence[str]
    entities: bool
    legality: schemes.Legality


def build(choices: tagging_settings.TaggerSettings, scoring: Scoring, tagged: data.Tagged) -> Task:
    """The tagging task of a corpus; raises as `task_of`."""
    sizes = models.Sizes(
        tagged.predicted, tagged.alphabet, len(words.CASINGS), tagged.table.vocabulary
    )
    labels = Labels(tagged.labels, tagged.entities, tagged.legality)
    return task_of(choices, scoring, sizes, labels)


def task_of(
    choices: tagging_settings.TaggerSettings, scoring: Scoring, sizes: models.Sizes, labels: Labels
) -> Task:
    """The tagging task of all corpora of these sizes and labels.

    Raises:
      ConfigError: the metric is of entities, and the tags are none.
    """
    metric = Metric(_metric(scoring, labels.entities), unit="fraction", margin=0.01)
    model = models.Tagger(choices, sizes)
    normaliser = weighted_rows if choices.classifier == "crf" else _words
    table = spans.label_table(labels.names) if labels.entities else None

    def init(key: Array, batch: Batch, hparams: Hparams) -> Tree:
        del hparams
        neutral = dict.fromkeys(markers.active(choices.dropout), jnp.float32(0))
        return model.init(key, batch, neutral, None)["params"]

    apply = _applied(model, labels.legality if choices.mask_illegal else None)

    def loss(params: Tree, carry: Tree, batch: Batch, key: Array, hparams: Hparams) -> tuple:
        logits = apply(params, batch, key, hparams)
        columns = batch.rows["labels"], batch.rows["length"]
        by_sentence = sentence_losses(logits, *columns, selected=choices.encoder == "window")
        total = jnp.sum(by_sentence * batch.weight)
        return total / jnp.maximum(normaliser(batch), 1.0), carry

    def predict(params: Tree, carry: Tree, batch: Batch, key: Array, hparams: Hparams) -> tuple:
        del key  # decoding is not random
        return decode(apply(params, batch, None, hparams), batch.rows["length"]), carry

    def count(outputs: Array, batch: Batch) -> Mapping[str, Array]:
        gold, valid = batch.rows["labels"], _valid(batch)
        right = jnp.sum((outputs == gold) & valid, axis=1)
        counts = {
            "words": _words(batch),
            "right_words": jnp.sum(right * batch.weight),
        }
        if table is None:
            return counts
        return counts | spans.count(gold, outputs, valid, batch.weight, table, scoring.rule)

    def score(counts: Mapping[str, float]) -> dict[str, float]:
        accuracy = {"accuracy": counts["right_words"] / max(counts["words"], 1.0)}
        return accuracy if table is None else accuracy | spans.f1(dict(counts))

    functions = init, lambda size: (), loss, predict, count, score
    return Task(*functions, metric, normaliser, table=_word_table(choices))


def _word_table(choices: tagging_settings.TaggerSettings) -> Table | None:
    """Of windows alone: their step takes less than an update of all words.

    That of an LSTM takes longer, and would gain little for other last bits than earlier versions.
    """
    if choices.encoder != "window" or not choices.words.trained:
        return None
    reach = choices.window.reach
    return Table("features/words", functools.partial(models.rows_of_windows, reach))


def _applied(
    model: models.Tagger, legality: schemes.Legality | None
) -> Callable[[Tree, Batch, Array | None, Hparams], models.TaggerLogits]:
    """(params, batch, key or None, hparams) -> logits, without illegal moves if so asked."""

    def apply(
        params: Tree, batch: Batch, key: Array | None, hparams: Hparams
    ) -> models.TaggerLogits:
        logits: Any = model.apply({"params": params}, batch, hparams, key)
        if logits.potentials is None or legality is None:
            return logits
        return logits._replace(
            potentials=crf.mask_illegal(logits.potentials, *map(jnp.asarray, legality))
        )

    return apply


def _metric(scoring: Scoring, entities: bool) -> str:
    """The name of what early stopping reads."""
    if scoring.metric == "auto":
        return "f1" if entities else "accuracy"
    if scoring.metric == "f1" and not entities:
        raise ConfigError(
            "scoring.metric: these tags have accuracy only, and f1 is of entities: expected "
            "data.source.scheme=iob1, bio or iobes, and tags such as B-PER"
        )
    return scoring.metric


def _words(batch: Batch) -> Array:
    """[] number of words of real rows."""
    return jnp.sum(batch.rows["length"] * batch.weight)


def _valid(batch: Batch) -> Array:
    """[B, T] true at words, false at padding."""
    return jnp.arange(batch.rows["forms"].shape[1])[None] < batch.rows["length"][:, None]


def _axes(potentials: crf.Potentials) -> crf.Potentials:
    """Which axis of the potentials is the batch's, for vmap."""
    if potentials.transitions.ndim == 4:
        return crf.Potentials(1, None, None)  # type: ignore[arg-type]
    return crf.Potentials(None, None, None)  # type: ignore[arg-type]


def sentence_losses(
    logits: models.TaggerLogits, labels: Array, length: Array, selected: bool = False
) -> Array:
    """Loss summed over the words of each sentence: labels [B, T], length [B] -> [B].

    Args:
      selected: log-probabilities are selected instead of looked up, which would have a scatter for
        a gradient: of windows alone, since the last bits of all weights may be others.
    """
    valid = jnp.arange(labels.shape[1])[None] < length[:, None]
    if logits.potentials is None:
        log_probs = jax.nn.log_softmax(logits.emissions)
        if selected:
            is_label = jax.nn.one_hot(labels.T, log_probs.shape[-1], dtype=bool)
            chosen = jnp.sum(jnp.where(is_label, log_probs, 0.0), axis=-1)
        else:
            chosen = jnp.take_along_axis(log_probs, labels.T[..., None], axis=-1)[..., 0]
        return -jnp.sum(jnp.where(valid.T, chosen, 0.0), axis=0)
    axes = (1, _axes(logits.potentials), 0, 0)
    by_sentence = jax.vmap(crf.negative_log_likelihood, in_axes=axes)
    return by_sentence(logits.emissions, logits.potentials, labels, valid)


def decode(logits: models.TaggerLogits, length: Array) -> Array:
    """The best labels [B, T] int32: position by position, or Viterbi's sequence."""
    if logits.potentials is None:
        return jnp.argmax(logits.emissions, axis=-1).T.astype(jnp.int32)
    valid = jnp.arange(logits.emissions.shape[0])[None] < length[:, None]
    axes = (1, _axes(logits.potentials), 0)
    return jax.vmap(crf.viterbi, in_axes=axes)(logits.emissions, logits.potentials, valid)


@reading.settings
class Config:
    """One experiment. No config file: these defaults, on the generated corpus."""

    name: fields.Name = "default"
    task: Annotated[Literal["tagging"], pydantic.Field(description="what is learned")] = "tagging"
    data: TaggingData = TaggingData()
    model: tagging_settings.TaggerSettings = tagging_settings.TaggerSettings()
    scoring: Scoring = Scoring()
    training: Training = Training()


def _source(config: Config, tagged: data.Tagged) -> kind.Source:
    labels, widths = tagged.predicted, [*tagged.widths]
    return word_vectors.source(config, tagged, "sentences", labels=labels, padded_widths=widths)


KIND = kind.Kind(
    Config,
    "data.source.path",
    lambda config: (config.data, config.training.batch_size),
    data.build,
    lambda config, tagged: (
        _source(config, tagged),
        build(config.model, config.scoring, tagged),
    ),
    word_vectors.for_random_splits,
    joining=kind.Joining(word_vectors.program_key, word_table.joined),
)
