"""Saved sequence-to-sequence models on sources of one's own."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxeval.contracts import Batch, Hparams, Tree
from jaxeval.data import seq2seq as data
from jaxeval.data import symbols
from jaxeval.data.symbols import SavedVocabulary, SequencePair
from jaxeval.errors import ConfigError, DataError, argument
from jaxeval.models import seq2seq as models
from jaxeval.population import member
from jaxeval.tasks import prediction, seq2seq
from jaxeval.tasks.prediction import Options, PredictionProgram, SavedModel

Hypotheses = list[tuple[str, float]]  # of a source, with log-probabilities, best first


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
        narrow, wanted = argument("beam", options.beam), argument("n_best", options.n_best)
        raise ConfigError(f"{narrow}: less than {wanted}")
    sources = data.read_sources(saved[0].config.data, file)
    predictions = prediction.of_each(saved, lambda model: _program(model, sources.pairs, options))
    for line, *each in zip(sources.lines, *predictions, strict=True):
        if options.n_best:
            yield from (f"{line}\t{text}\t{total:.6f}" for text, total in each[0])
            continue
        best = [hypotheses[0][0] for hypotheses in each]
        yield "\t".join([line, *([prediction.majority(best)] if options.vote else best)])


def _program(
    model: SavedModel, pairs: Sequence[SequencePair], options: Options
) -> PredictionProgram[list[Hypotheses]]:
    config = model.config
    vocabulary = prediction.checked(SavedVocabulary, model.vocabulary, model.meanings)
    if vocabulary.specials != symbols.SPECIALS:
        raise DataError("vocabulary of another version of jaxeval", model.meanings)
    vocabularies, size = vocabulary.vocabularies, config.training.evaluation_batch_size
    numbers, columns = data.encode(config.data, vocabularies, pairs, size)
    width = max(options.beam or config.model.beam, options.n_best or 1)
    generate = seq2seq.hypotheses(width, (options.max_length or config.data.max_length) + 1)  # END
    sizes = len(vocabularies.source_names), len(vocabularies.target)

    @jax.jit
    def run(params: Tree, rows: Tree, hparams: Hparams) -> Tree:
        module: Any = config.model.model(*sizes, models.live_of(hparams))
        batch = Batch(rows, jnp.ones(size), {}, ())
        return module.apply({"params": params}, batch, method=generate)

    def texts(outputs: tuple[np.ndarray, np.ndarray]) -> Hypotheses:
        sequences, totals = outputs
        named = (
            vocabularies.target_text(s, config.data.target_symbols) for s in sequences.tolist()
        )
        ranked = zip(named, totals.tolist(), strict=True)
        return [(text, total) for text, total in ranked if math.isfinite(total)][: options.n_best]

    def written(params: Tree, hparams: Hparams) -> list[Hypotheses]:
        outputs = prediction.by_batches(
            numbers, columns, size, lambda rows: run(params, rows, hparams)
        )
        return [texts(output) for output in outputs]

    task = seq2seq.build(config.model, vocabularies)
    first = {name: column[:1] for name, column in columns[0].items()}
    batch = Batch({**first, "target": np.zeros((1, 2), np.int32)}, jnp.ones(1), {}, ())
    return PredictionProgram(
        jax.eval_shape(task.init, member.root_key(0), batch, model.hparams), written
    )
