"""Evaluation of language models: averages over dropout masks, dynamic evaluation, other texts.

Notation: T tokens of a window, B rows, K samples of the masks. The samples of a row are K rows of
one batch, sample by sample: [T, K B].
"""

import dataclasses
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxeval.config import reading
from jaxeval.contracts import Array, Batch, Hparams, Task, Tree
from jaxeval.data import language as data
from jaxeval.data import text as texts
from jaxeval.models import dropout
from jaxeval.models import language as models
from jaxeval.population import member
from jaxeval.tasks import kind
from jaxeval.tasks.kind import Options, SavedModel
from jaxeval.tasks.language import Language, LanguageCarry, Outputs, build, make_outputs, summed

_Mean = Literal["arithmetic", "geometric"]
_RATES = 0.8  # an average's dropout rates divided by those of training
_DECAY, _EPSILON = 0.02, 1.0  # of dynamic evaluation


class Averaging(NamedTuple):
    """An average over K = `samples` dropout masks (Gal & Ghahramani 2016); static.

    Arithmetic: of probabilities, each sample with its own recurrent state; geometric: of logits,
    all from the state of the model without dropout.
    """

    mean: _Mean
    samples: int


def averaged(language: Language, averaging: Averaging, factor: float = _RATES) -> Task:
    """Returns the task with averaged predictions, at the training rates times a factor."""
    plain = build(language)
    samples = averaging.samples

    def tile(tree: Tree) -> Tree:
        return jax.tree.map(lambda leaf: jnp.tile(leaf, (samples, 1)), tree)

    def by_sample(rows: Array) -> Array:
        """[T, K B, ...] -> [T, K, B, ...]."""
        return rows.reshape(len(rows), samples, -1, *rows.shape[2:])

    def start(rows: int) -> LanguageCarry:
        carry: LanguageCarry = plain.start(rows)
        tiled = averaging.mean == "arithmetic"
        return carry._replace(state=tile(carry.state)) if tiled else carry

    def predict(params: Tree, carry: Tree, batch: Batch, key: Array, hparams: Hparams) -> tuple:
        tokens = language.window_tokens(batch)[:-1]
        sites = dropout.rates(hparams).items()
        rates = {dropout.rate_name(site): factor * rate for site, rate in sites}
        tiled = jnp.tile(tokens, (1, samples))
        if averaging.mean == "arithmetic":
            state, hidden = language.run(params, carry.state, tiled, rates, key)
        else:
            state, _ = language.run(params, carry.state, tokens, {}, None)
            _, hidden = language.run(params, tile(carry.state), tiled, rates, key)
            # logits are linear in the softmax's input: their mean is that of the mean input
            hidden = by_sample(hidden).mean(axis=1)
        return make_outputs(params, hidden, hparams), LanguageCarry(state, carry.position)

    def count(outputs: Outputs, batch: Batch) -> Mapping[str, Array]:
        if averaging.mean == "geometric":
            return plain.count(outputs, batch)
        targets = jnp.tile(language.window_tokens(batch)[1:], (1, samples))
        losses = models.token_losses(outputs.table, outputs.bias, outputs.hidden, targets)
        log_probs = -by_sample(losses)
        return summed(jnp.log(samples) - jax.nn.logsumexp(log_probs, axis=1), batch)

    return dataclasses.replace(plain, start=start, predict=predict, count=count)


class WindowSequence(NamedTuple):
    """N successive windows of B streams."""

    start: Array  # [N, B] positions of the first inputs
    length: Array  # [N, B] tokens predicted


def train_windows(language: Language, rows: int, most: int = 500) -> WindowSequence:
    """Returns the first windows of `rows` streams spread evenly over train."""
    stretch = language.train_tokens // rows
    count = max(1, min(most, stretch // language.window))
    start = jnp.arange(rows)[None] * stretch + language.window * jnp.arange(count)[:, None]
    return WindowSequence(start, jnp.full(start.shape, min(language.window, stretch)))


def gradient_scale(
    language: Language, params: Tree, tokens: Array, windows: WindowSequence
) -> Tree:
    """Returns the root mean square over windows of each parameter's gradient, without dropout.

    The loss is the mean over rows of the sum over time; tokens [n] are all parts, train first.
    """
    loss = _window_loss(language, tokens)

    def step(running: tuple, window: WindowSequence) -> tuple[tuple, None]:
        squares, state = running
        (_, (state, _)), grads = jax.value_and_grad(loss, has_aux=True)(params, state, window)
        return (jax.tree.map(lambda s, g: s + g * g, squares, grads), state), None

    state = language.choices.start(windows.start.shape[1])
    zero = jax.tree.map(jnp.zeros_like, params)
    (squares, _), _ = lax.scan(step, (zero, state), windows)
    return jax.tree.map(lambda s: jnp.sqrt(s / len(windows.start)), squares)


def dynamic(
    language: Language,
    params: Tree,
    scale: Tree,
    tokens: Array,
    windows: WindowSequence,
    learning_rate: float,
) -> dict[str, Array]:
    """Evaluates a part dynamically: the model continues to learn while it is tested.

    Krause et al. (2018), as in the public code of Melis et al. (2018): after each window the
    parameters take a step down its gradient g, scaled by the root mean square r of the gradients
    on train (`scale`), and decay towards the trained ones:

        p <- p - learning_rate g / (r + epsilon mean(r)) + min(1, decay r / mean(r)) (trained - p)

    Every token is predicted before the model learns from it; several rows share one set of
    parameters. Their epsilon is an absolute number. For rare words r is nearly 0, and with a small
    epsilon the first occurrence of a word would ruin its embedding; relative to the mean of r, one
    value serves bytes and words.
    """
    loss = _window_loss(language, tokens)
    leaves = jax.tree.leaves(scale)
    mean = sum(jnp.sum(leaf) for leaf in leaves) / sum(leaf.size for leaf in leaves)

    def updated(param: Array, gradient: Array, root: Array, trained: Array) -> Array:
        decay = jnp.minimum(1.0, _DECAY * root / mean)
        step = learning_rate * gradient / (root + _EPSILON * mean)
        return param - step + decay * (trained - param)

    def step(running: tuple, window: WindowSequence) -> tuple[tuple, Array]:
        current, state = running
        (_, (state, nats)), grads = jax.value_and_grad(loss, has_aux=True)(current, state, window)
        return (jax.tree.map(updated, current, grads, scale, params), state), nats

    state = language.choices.start(windows.start.shape[1])
    _, nats = lax.scan(step, (params, state), windows)
    return {"nats": jnp.sum(nats), "tokens": jnp.sum(windows.length).astype(jnp.float32)}


def _window_loss(language: Language, tokens: Array) -> Callable[..., tuple]:
    """Returns (params, state, window) -> (mean over rows of summed nats, (state, all nats))."""

    def loss(params: Tree, state: Tree, window: WindowSequence) -> tuple:
        steps = jnp.arange(language.window + 1)[:, None]
        read = tokens[window.start[None] + steps]
        state, hidden = language.run(params, state, read[:-1], {}, None)
        weights = (steps[:-1] < window.length[None]).astype(jnp.float32)
        nats = models.weighted_loss(*models.softmax_table(params), hidden, read[1:], weights)
        return nats / len(window.start), (state, nats)

    return loss


@reading.settings
class _SavedVocabulary:
    """The meaning of a language model's numbers: words, or values of bytes."""

    tokens: tuple[str | int, ...]


def predict(saved: Sequence[SavedModel], file: Path, options: Options) -> Iterator[str]:
    """Yields a table: each line's number of tokens, and for each model nats and perplexity.

    Models of bytes have bits instead of perplexity. The text is one stream: its state is carried
    from line to line. A vote averages the probabilities of each token.
    """
    options.refuse_others("language", "whole")
    in_bytes = saved[0].config.data.unit == "byte"
    if in_bytes:
        raw = texts.read_bytes(file)
        tokens: Sequence[str | int] = [*raw]
        lengths = [len(line) for line in io.BytesIO(raw)]
    else:
        lines = [[*line.split(), data.END] for line in texts.iterate_lines(file)]
        tokens = [token for line in lines for token in line]
        lengths = [*map(len, lines)]
    each = kind.predictions(saved, lambda model: _program(model, tokens))
    nats = np.stack(each)
    if options.vote:
        nats = -np.logaddexp.reduce(-nats, axis=0, keepdims=True) + math.log(len(nats))
    unit = "bits" if in_bytes else "perplexity"
    names = [f" {model.path.stem}" for model in saved] if len(nats) > 1 else [""]
    yield "\t".join(["line", "tokens", *(f"{n}{name}" for name in names for n in ("nats", unit))])
    if options.whole:
        lengths = [len(tokens)]
    sums = np.add.reduceat(nats, np.cumsum([0, *lengths[:-1]]), axis=1)
    for number, (length, totals) in enumerate(zip(lengths, sums.T.tolist(), strict=True), 1):
        cells = ["all" if options.whole else str(number), str(length)]
        for total in totals:
            mean = total / length
            value = mean / math.log(2) if in_bytes else math.exp(min(mean, 700.0))
            cells += [f"{total:.6f}", f"{value:.6f}"]
        yield "\t".join(cells)


def _program(saved: SavedModel, tokens: Sequence[str | int]) -> kind.Program:
    """Returns the program for the nats of each token."""
    config = saved.config
    vocabulary = saved.read_vocabulary(_SavedVocabulary).tokens
    size = config.data.window
    language = Language(config.model.sized(len(vocabulary)), len(vocabulary), size, 0)
    # numbers of each window's inputs, and one more: [steps, T + 1]
    unknown = 0 if config.data.unit == "byte" else 1
    number = {token: k for k, token in enumerate(vocabulary)}
    steps = -(-len(tokens) // size)
    numbers = np.zeros(steps * size + 1, np.int32)  # an end of line stands before the first
    numbers[1 : len(tokens) + 1] = [number.get(token, unknown) for token in tokens]
    windows = numbers[np.arange(steps)[:, None] * size + np.arange(size + 1)]

    @jax.jit
    def losses(params: Tree, windows: Array) -> Array:
        def step(state: Tree, window: Array) -> tuple[Tree, Array]:
            state, hidden = language.run(params, state, window[:-1, None], {}, None)
            table, bias = models.softmax_table(params)
            return state, models.token_losses(table, bias, hidden, window[1:, None])[:, 0]

        return lax.scan(step, language.choices.start(1), windows)[1]

    def nats(params: Tree, hparams: Hparams) -> np.ndarray:
        return np.asarray(losses(params, windows), np.float64).ravel()[: len(tokens)]

    key = member.root_key(0)
    batch = Batch({}, jnp.ones(1), {}, ())
    like = jax.eval_shape(build(language).init, key, batch, saved.hparams)
    return kind.Program(like, nats)
