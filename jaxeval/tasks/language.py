"""Language modelling as a Task.

The recurrent state and every stream's position in the text are carried from step to step, and are
saved in checkpoints. Notation: T tokens of a window, B rows (streams).
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from pydantic import Field

from jaxeval.config import fields, reading
from jaxeval.contracts import Array, Batch, Hparams, Metric, Task, Tree, weighted_rows
from jaxeval.data import language as data
from jaxeval.data.language import LanguageData
from jaxeval.errors import ConfigError, argument
from jaxeval.models import dropout
from jaxeval.models import language as models
from jaxeval.models.dropout import KeyedDropout
from jaxeval.models.language import LanguageModelSettings
from jaxeval.population import Plateau, Training, optimisers
from jaxeval.tasks import kind

_FRESH = -1  # position of a stream that has not begun
# of equivalence: 3 of a perplexity of 80 (Melis et al. 2018, section 7.3), or as many bits
_MARGINS = {"perplexity": 3.0, "bits": 0.05}
_DIVERGED = 200.0  # nats a token of a diverged model; a uniform guess takes log V
_TRAINING = Training(
    batch_size=64,
    evaluation_batch_size=64,
    epochs=100,
    patience=30,
    # the authors' "rmsprop": Adam without its first moment, as in TensorFlow
    optimiser=optimisers.Optimiser(
        name="tf_adam", hyperparameters={"beta1": 0.0, "learning_rate": 0.003}, clip_at=10.0
    ),
    plateau=Plateau(),
)


@reading.settings
class _Config:
    """One experiment on a text of your own; an epoch is `data.steps_per_epoch` steps."""

    name: fields.Name = "language"
    task: Literal["language"] = Field("language", description="what is learned")
    data: LanguageData = LanguageData()
    model: LanguageModelSettings = LanguageModelSettings()
    training: Training = _TRAINING


class LanguageCarry(NamedTuple):
    """The state carried from window to window."""

    state: Tree  # of all layers
    position: Array  # [B] int32 of each stream's next input; -1 before its first window


class Outputs(NamedTuple):
    """Factors of the logits, which are too large to be materialised."""

    hidden: Array  # [T, B, E]
    table: Array  # [V, E]
    bias: Array  # [V]


class Language(NamedTuple):
    """A language model and its text; static."""

    choices: LanguageModelSettings  # with both sizes
    vocabulary: int
    window: int
    train_tokens: int
    metric: Literal["perplexity", "bits"] = "perplexity"

    @property
    def model(self) -> models.LanguageModel:
        """The part of the model before the softmax."""
        return models.LanguageModel(self.choices, self.vocabulary)

    def run(
        self, params: Tree, state: Tree, tokens: Array, hparams: Hparams, key: Array | None
    ) -> tuple[Tree, Array]:
        """Returns the state after tokens [T, B], and the softmax's input [T, B, E].

        The key is for dropout masks; without it nothing is dropped.
        """
        drop = KeyedDropout(dropout.rates(hparams), key, sites=models.SITES)
        result: Any = self.model.apply({"params": params}, tokens, state, drop)
        return result

    def window_tokens(self, batch: Batch) -> Array:
        """Returns the inputs of an evaluation's windows, and one more: [T + 1, B]."""
        positions = batch.rows["start"][None] + jnp.arange(self.window + 1)[:, None]
        tokens: Array = batch.shared["tokens"][positions]
        return tokens


def build(language: Language) -> Task:
    """Returns the task; the loss is the mean over streams of the sum over time (Melis' code)."""

    def init(key: Array, batch: Batch, hparams: Hparams) -> Tree:
        rows = len(batch.weight)
        tokens = jnp.zeros((1, rows), jnp.int32)
        drop = KeyedDropout({}, None)
        return language.model.init(key, tokens, start(rows).state, drop)["params"]

    def start(rows: int) -> LanguageCarry:
        return LanguageCarry(language.choices.start(rows), jnp.full(rows, _FRESH, jnp.int32))

    def loss(params: Tree, carry: Tree, batch: Batch, key: Array, hparams: Hparams) -> tuple:
        position_key, reset_key, drop_key = jax.random.split(key, 3)
        position = _begun(carry.position, position_key, language.train_tokens)
        steps = position[None] + jnp.arange(language.window + 1)[:, None]
        tokens = batch.shared["tokens"][1 + (steps - 1) % language.train_tokens]
        state = _reset(carry.state, reset_key, language.choices.state_reset_probability)
        state, hidden = language.run(params, state, tokens[:-1], hparams, drop_key)
        weight = batch.weight / jnp.maximum(weighted_rows(batch), 1.0)
        weights = jnp.broadcast_to(weight[None], tokens[1:].shape)
        table, bias = models.softmax_table(params)
        total = models.weighted_loss(table, bias, hidden, tokens[1:], weights)
        return total, LanguageCarry(state, (position + language.window) % language.train_tokens)

    def predict(params: Tree, carry: Tree, batch: Batch, key: Array, hparams: Hparams) -> tuple:
        tokens = language.window_tokens(batch)
        state, hidden = language.run(params, carry.state, tokens[:-1], {}, None)
        return make_outputs(params, hidden, hparams), LanguageCarry(state, carry.position)

    def count(outputs: Outputs, batch: Batch) -> Mapping[str, Array]:
        targets = language.window_tokens(batch)[1:]
        losses = models.token_losses(outputs.table, outputs.bias, outputs.hidden, targets)
        return summed(losses, batch)

    unit = language.metric
    metric = Metric(unit, higher_is_better=False, unit=unit, margin=_MARGINS[unit])
    return Task(init, start, loss, predict, count, _score, metric)


def make_outputs(params: Tree, hidden: Array, hparams: Hparams) -> Outputs:
    """Returns the outputs of hidden [T, B, E] at `hparams["temperature"]`, if it is given."""
    table, bias = models.softmax_table(params)
    if "temperature" in hparams:
        hidden, bias = hidden / hparams["temperature"], bias / hparams["temperature"]
    return Outputs(hidden, table, bias)


def summed(losses: Array, batch: Batch) -> dict[str, Array]:
    """Sums a window's losses [T, B] up to the end of each stream."""
    steps = jnp.arange(len(losses))[:, None]
    read = (steps < batch.rows["length"][None]) * batch.weight[None]
    return {"nats": jnp.sum(losses * read), "tokens": jnp.sum(read)}


def _score(counts: Mapping[str, float]) -> dict[str, float]:
    """Returns perplexity and bits; infinite if the model has diverged."""
    nats = counts["nats"] / max(counts["tokens"], 1.0)
    if not nats < _DIVERGED:
        nats = math.inf
    return {"perplexity": math.exp(nats), "bits": nats / math.log(2)}


def _begun(position: Array, key: Array, tokens: int) -> Array:
    """Returns the streams' positions; fresh ones are spread evenly from a random position."""
    first = jax.random.randint(key, (), 0, tokens)
    spread = (first + jnp.arange(len(position)) * (tokens // len(position))) % tokens
    return jnp.where(position == _FRESH, spread, position)


def _reset(state: Tree, key: Array, probability: float) -> Tree:
    """Zeroes the states of random streams in all layers."""
    rows = len(jax.tree.leaves(state)[0])
    keep = jax.random.bernoulli(key, 1.0 - probability, (rows,))
    return jax.tree.map(lambda leaf: jnp.where(keep[:, None], leaf, 0.0), state)


def make_language(config: _Config, text: data.Text) -> Language:
    """Returns the model of a config and its text; solves for sizes."""
    return Language(
        config.model.sized(len(text.symbols)),
        len(text.symbols),
        config.data.window,
        text.tokens["train"],
        "bits" if config.data.unit == "byte" else "perplexity",
    )


def _built(config: _Config, text: data.Text) -> tuple[data.Text, Task]:
    language = make_language(config, text)
    sizes = {name: getattr(language.choices, name) for name in ("hidden", "embedding")}
    count = {"counted_parameters": language.choices.parameters(len(text.symbols))}
    described = dataclasses.replace(text, facts={**text.facts, **sizes, **count})
    return described, build(language)


def _no_random_splits(config: _Config) -> _Config:
    left_out = argument("splits")
    raise ConfigError(f"a text has only the split that its files give; leave {left_out} out")


KIND = kind.Kind(
    _Config,
    "data.path",
    lambda config: (
        config.data,
        config.training.batch_size,
        config.training.evaluation_batch_size,
    ),
    data.build,
    _built,
    _no_random_splits,
)
