"""Word vectors: corpora, saved models, and which files' members can share a program."""

import dataclasses
from typing import Any

import numpy as np

from jaxeval.errors import DataError
from jaxeval.tasks import kind, prediction
from jaxeval.tasks.prediction import SavedModel


def program_key(config: Any, data: Any) -> list[int]:
    """What word tables must have in common for members of both in one program: D.

    The number of rows too, where all rows of a trained table are added up (a global norm, the mean
    of all vectors): zeros could change last bits.
    """
    vocabulary, (rows, dimension) = data.table.vocabulary, data.table.vectors.shape
    words = config.model.words
    summed = (
        config.training.optimiser.clip == "global_norm"
        or getattr(words, "initialiser", "") == "normal"
    )
    return [dimension, vocabulary, rows - vocabulary] if words.trained and summed else [dimension]


def source(config: Any, data: Any, rows: str, **facts: Any) -> kind.Source:
    """The corpus of a task whose words have vectors, and what is said of it.

    Args:
      data: what the task's `data.build` has made.
      rows: what a row is, in the plural.
      facts: what a plan tells beside the rows of each part.
    """
    parts = {part: sum(map(len, of)) for part, of in data.given_split.items()}
    return kind.Source(
        corpus=data.corpus,
        split=data.split,
        fingerprint=data.fingerprint,
        name=config.data.source.path or f"generated, seed {config.data.source.seed}",
        facts={rows: parts, **facts},
        vocabulary=data.vocabulary,
        positions=data.positions,
        tables=data.table.untrained(config.model.words.trained),
        findings=data.findings,
        pretrained=data.table.fingerprint,
    )


def for_random_splits(config: Any) -> Any:
    """The config with the vocabulary of all parts: a random split deals all of them anew.

    That changes the parameters' shapes, and so it is written into the config, by which experiments
    are told apart.
    """
    data = dataclasses.replace(config.data, vocabulary="all")
    return dataclasses.replace(config, data=data)


def rows_of_saved(
    saved: SavedModel, encoded: Any, table: str, trained: bool, least: int
) -> tuple[prediction.Rows, int]:
    """The input of a saved model, and how many rows its vocabulary has.

    What the model's split does not know is in none of its tables: all rows are known.

    Args:
      encoded: numbers and columns of each bucket, and `shared` tables.
      table: name of the trained vectors among the parameters.
      trained: whether there are such.
      least: rows that the vocabulary's numbers ask for.

    Raises:
      DataError: the files do not fit one another.
    """
    vectors, known = saved.tables.get("vectors"), 0
    if trained:
        parameters = saved.arrays.get(table)
        if parameters is None or parameters.ndim != 2:
            raise DataError(f"parameters of another model: no table {table}", saved.path)
        known = len(parameters)
        vectors = np.zeros_like(parameters) if vectors is None else vectors
        if vectors.shape[1:] != parameters.shape[1:]:
            raise DataError("tables.npz holds vectors of another size", saved.path)
    if vectors is None or vectors.ndim != 2 or vectors.dtype != np.float32:
        raise DataError("tables.npz beside it holds no word vectors", saved.path)
    rows = len(vectors)
    if least > rows:
        message = f"rows up to {least - 1}, the word table has {rows}"
        raise DataError(f"vocabulary of another model: {message}", saved.meanings)
    shared = {**encoded.shared, "vectors": vectors, "pretrained": np.zeros(rows, bool)}
    split = {"known": np.ones(rows, bool), "once": np.zeros(rows, bool)}
    return prediction.Rows(encoded.numbers, encoded.columns, shared, split), known or rows
