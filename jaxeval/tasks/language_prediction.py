"""Saved language models on a text of one's own."""

import io
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxeval.config import reading
from jaxeval.contracts import Array, Batch, Hparams, Tree
from jaxeval.data import language as data
from jaxeval.data import text
from jaxeval.models import language as models
from jaxeval.population import member
from jaxeval.tasks import language, prediction
from jaxeval.tasks.prediction import Options, PredictionProgram, SavedModel


@reading.settings
class SavedVocabulary:
    """As the language models' source gives it: words, or values of bytes, by number."""

    tokens: tuple[str | int, ...]


class Lines(NamedTuple):
    """A text: all its tokens, and how many tokens each line has, its end among them."""

    tokens: Sequence[str | int]
    lengths: Sequence[int]


def predict(saved: Sequence[SavedModel], file: Path, options: Options) -> Iterator[str]:
    """A table of a text: of each line its tokens, and of each model nats and nats a token.

    The last is told as perplexity, or as bits of texts of bytes. The text is read from its begin
    to its end in one stream, its state carried from line to line. A vote averages the
    probabilities of each token.

    Raises:
      DataError, ConfigError: see `Kind.predict`.
    """
    options.refuse_others("language", "whole")
    unit = saved[0].config.data.unit
    lines = _read(unit, file)
    each = prediction.of_each(saved, lambda model: _program(model, lines.tokens))
    nats = np.stack(each)
    if options.vote:
        nats = -np.logaddexp.reduce(-nats, axis=0, keepdims=True) + math.log(len(nats))
    metric = "bits" if unit == "byte" else "perplexity"
    yield "\t".join(["line", "tokens", *["nats", metric] * len(nats)])
    lengths = [len(lines.tokens)] if options.whole else lines.lengths
    begins = np.cumsum([0, *lengths[:-1]])
    sums = np.add.reduceat(nats, begins, axis=1)
    for number, (length, totals) in enumerate(zip(lengths, sums.T.tolist(), strict=True), 1):
        name = "all" if options.whole else str(number)
        yield "\t".join([name, str(length), *(_shown(total, length, metric) for total in totals)])


def _shown(nats: float, tokens: int, metric: str) -> str:
    mean = nats / tokens
    value = mean / math.log(2) if metric == "bits" else math.exp(min(mean, 700.0))
    return f"{nats:.6f}\t{value:.6f}"


def _read(unit: data.Unit, file: Path) -> Lines:
    if unit == "byte":
        raw = text.read_bytes(file)
        return Lines([*raw], [len(line) for line in io.BytesIO(raw)])
    lines = [[*line.split(), data.END] for line in text.iterate_lines(file)]
    return Lines([token for line in lines for token in line], [len(line) for line in lines])


def _program(model: SavedModel, tokens: Sequence[str | int]) -> PredictionProgram[np.ndarray]:
    config = model.config
    vocabulary = prediction.checked(SavedVocabulary, model.vocabulary, model.meanings)
    shape, cell = config.model.shape(len(vocabulary.tokens)), config.model.cell()
    spoken = language.Language(shape, cell, config.data.window, 0)
    run, start = language.runner(spoken), models.start(shape, cell, 1)
    windows = _windows(vocabulary, config.data, tokens)

    @jax.jit
    def losses(params: Tree, windows: Array, hparams: Hparams) -> Array:
        def step(state: Tree, window: Array) -> tuple[Tree, Array]:
            state, hidden = run(params, state, window[:-1, None], {}, None)
            outputs = language.outputs_of(params, hidden, {})
            return state, models.token_losses(*outputs[1:], outputs.hidden, window[1:, None])[:, 0]

        return lax.scan(step, start, windows)[1]

    def nats(params: Tree, hparams: Hparams) -> np.ndarray:
        values = np.asarray(losses(params, windows, hparams), np.float64)
        return values.ravel()[: len(tokens)]

    batch = Batch({}, jnp.ones(1), {}, ())
    task = language.build(spoken)
    return PredictionProgram(
        jax.eval_shape(task.init, member.root_key(0), batch, model.hparams), nats
    )


def _windows(
    vocabulary: SavedVocabulary, settings: data.LanguageData, tokens: Sequence[str | int]
) -> np.ndarray:
    """[steps, T + 1] numbers of a text's tokens: each window's inputs, and one more."""
    unknown = 0 if settings.unit == "byte" else 1
    number = {token: k for k, token in enumerate(vocabulary.tokens)}
    size = settings.window
    steps = -(-len(tokens) // size)
    numbers = np.zeros(steps * size + 1, np.int32)  # an end of line stands before the first
    numbers[1 : len(tokens) + 1] = [number.get(token, unknown) for token in tokens]
    return numbers[np.arange(steps)[:, None] * size + np.arange(size + 1)]
