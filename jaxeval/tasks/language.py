"""Language modelling as a Task: where text, model, loss and perplexity meet.

Notation: T tokens a window, B rows (read heads). The recurrent state and every head's place in the
text are carried from step to step, and with the population's state into checkpoints.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp

from jaxeval.contracts import Array, Batch, Hparams, Metric, Task, Tree, weighted_rows
from jaxeval.models import language as models
from jaxeval.models.budget import Shape
from jaxeval.models.cells import Cell

_FRESH = -1  # a head that has not begun
# equivalence margins: 3 of a perplexity of 80 (Melis et al. 2018, section 7.3), or as many bits
_MARGINS = {"perplexity": 3.0, "bits": 0.05}
_LOST = 200.0  # nats a token at which a model has diverged; an even guess takes log V


class Reading(NamedTuple):
    """What is carried from window to window.

    Attributes:
      state: of all layers.
      place: [B] int32 place of each head's next input; -1 before its first window.
    """

    state: Tree
    place: Array


class Outputs(NamedTuple):
    """What predictions are made of; the scores of all words are never whole."""

    hidden: Array  # [T, B, E]
    table: Array  # [V, E]
    bias: Array  # [V]


class Language(NamedTuple):
    """What a language model is trained on and how; static."""

    shape: Shape
    cell: Cell
    window: int
    train_tokens: int
    metric: Literal["perplexity", "bits"] = "perplexity"
    forget: float = 0.01  # chance that an example's state is zeroed before a window


def build(language: Language) -> Task:
    """The task of a text.

    The loss is the mean over heads of the sum over time of -log p, as in the authors' code:
    clipping and weight decay act on that scale.
    """
    model = models.LanguageModel(language.shape, language.cell)

    def start(rows: int) -> Reading:
        state = models.start(language.shape, language.cell, rows)
        return Reading(state, jnp.full(rows, _FRESH, jnp.int32))

    run = runner(language)

    def init(key: Array, batch: Batch, hparams: Hparams) -> Tree:
        del hparams
        rows = len(batch.weight)
        tokens = jnp.zeros((1, rows), jnp.int32)
        return model.init(key, tokens, start(rows).state, models.Drawn({}, None))["params"]

    def loss(params: Tree, carry: Reading, batch: Batch, key: Array, hparams: Hparams) -> tuple:
        place_key, forget_key, drop_key = jax.random.split(key, 3)
        place = _begun(carry.place, place_key, language.train_tokens)
        steps = place[None] + jnp.arange(language.window + 1)[:, None]
        tokens = batch.shared["tokens"][1 + (steps - 1) % language.train_tokens]
        state = _forgetful(carry.state, forget_key, language.forget)
        state, hidden = run(params, state, tokens[:-1], hparams, drop_key)
        share = batch.weight / jnp.maximum(weighted_rows(batch), 1.0)
        weights = jnp.broadcast_to(share[None], tokens[1:].shape)
        table, bias = models.softmax_table(params)
        total = models.weighted_loss(table, bias, hidden, tokens[1:], weights)
        return total, Reading(state, (place + language.window) % language.train_tokens)

    def predict(
        params: Tree, carry: Reading, batch: Batch, key: Array, hparams: Hparams
    ) -> tuple[Outputs, Reading]:
        del key  # nothing is dropped
        tokens = window_of(batch, language.window)
        state, hidden = run(params, carry.state, tokens[:-1], {}, None)
        return outputs_of(params, hidden, hparams), Reading(state, carry.place)

    def count(outputs: Outputs, batch: Batch) -> Mapping[str, Array]:
        targets = window_of(batch, language.window)[1:]
        losses = models.token_losses(outputs.table, outputs.bias, outputs.hidden, targets)
        return summed(losses, batch)

    def score(counts: Mapping[str, float]) -> dict[str, float]:
        nats = counts["nats"] / max(counts["tokens"], 1.0)
        if not nats < _LOST:
            nats = math.inf
        return {"perplexity": math.exp(nats), "bits": nats / math.log(2)}

    margin = _MARGINS[language.metric]
    metric = Metric(language.metric, higher_is_better=False, unit=language.metric, margin=margin)
    return Task(init, start, loss, predict, count, score, metric)


def runner(language: Language) -> Callable[..., tuple[Tree, Array]]:
    """(params, state, tokens [T, B], rates, key or None) -> (state, what the softmax sees)."""
    model = models.LanguageModel(language.shape, language.cell)

    def run(
        params: Tree, state: Tree, tokens: Array, rates: Hparams, key: Array | None
    ) -> tuple[Tree, Array]:
        found: Any = model.apply({"params": params}, tokens, state, models.Drawn(rates, key))
        return found

    return run


def window_of(batch: Batch, window: int) -> Array:
    """[T + 1, B] tokens of an evaluation's windows: the inputs, and one more."""
    places = batch.rows["start"][None] + jnp.arange(window + 1)[:, None]
    tokens: Array = batch.shared["tokens"][places]
    return tokens


def outputs_of(params: Tree, hidden: Array, hparams: Hparams) -> Outputs:
    """What the softmax is made of, its scores divided by `hparams["temperature"]` if there is one.

    Args:
      hidden: [T, B, E].
    """
    table, bias = models.softmax_table(params)
    if "temperature" in hparams:
        hidden, bias = hidden / hparams["temperature"], bias / hparams["temperature"]
    return Outputs(hidden, table, bias)


def summed(losses: Array, batch: Batch) -> dict[str, Array]:
    """Counts of a window's losses [T, B]; what lies beyond a head's stretch counts for nothing."""
    steps = jnp.arange(len(losses))[:, None]
    read = (steps < batch.rows["length"][None]) * batch.weight[None]
    return {"nats": jnp.sum(losses * read), "tokens": jnp.sum(read)}


def _begun(place: Array, key: Array, tokens: int) -> Array:
    """Places of the heads; those that have not begun stand equally far apart from a random one."""
    first = jax.random.randint(key, (), 0, tokens)
    apart = (first + jnp.arange(len(place)) * (tokens // len(place))) % tokens
    return jnp.where(place == _FRESH, apart, place)


def _forgetful(state: Tree, key: Array, chance: float) -> Tree:
    """The states with whole examples zeroed at random, in all layers at once."""
    rows = len(jax.tree.leaves(state)[0])
    kept = jax.random.bernoulli(key, 1.0 - chance, (rows,))
    return jax.tree.map(lambda leaf: jnp.where(kept[:, None], leaf, 0.0), state)
