"""What all tasks' predictions share: saved models, what is asked of them, how each one is run."""

import collections
import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import jax
import numpy as np
import pydantic

from jaxeval.contracts import Hparams, Tree
from jaxeval.errors import ConfigError, DataError, argument
from jaxeval.population import parameter_files

T = TypeVar("T")
P = TypeVar("P")  # what a model says of the input
H = TypeVar("H", bound=Hashable)


class SavedModel(NamedTuple):
    """A member as a runs folder keeps it; nothing of the corpus that it was trained on.

    Attributes:
      path: file of the parameters.
      program: the same of models with the same config, vocabulary and tables.
      config: of the program that trained it.
      vocabulary: plain JSON, as `Source.vocabulary` gave it.
      meanings: file of the vocabulary.
      tables: arrays beside the parameters, by name.
      arrays: the parameters, by name.
      hparams: the member's own.
    """

    path: Path
    program: str
    config: Any
    vocabulary: Mapping[str, Any]
    meanings: Path
    tables: Mapping[str, np.ndarray]
    arrays: Mapping[str, np.ndarray]
    hparams: Mapping[str, float]


class Options(NamedTuple):
    """What is asked for beside the predictions of each model.

    Attributes:
      vote: one prediction of all models instead of one each.
      n_best: seq2seq: so many hypotheses, with their log-probabilities.
      beam: seq2seq: width of the beam, instead of the config's.
      max_length: seq2seq: most symbols generated, instead of the config's `data.max_length`.
      whole: language: the score of the whole text instead of one a line.
    """

    vote: bool = False
    n_best: int | None = None
    beam: int | None = None
    max_length: int | None = None
    whole: bool = False

    def refuse_others(self, task: str, *own: str) -> None:
        """Raises ConfigError for an option that a task does not have."""
        for name, value in self._asdict().items():
            if value and name not in ("vote", *own):
                raise ConfigError(f"{argument(name)}: not for {task} models")


class PredictionProgram(NamedTuple, Generic[P]):
    """What is compiled once for all models of a program.

    Attributes:
      like: shapes and types of their parameters.
      predict: (params, hparams) -> a model's predictions of the input.
    """

    like: Tree
    predict: Callable[[Tree, Hparams], P]


def of_each(
    models: Iterable[SavedModel], build: Callable[[SavedModel], PredictionProgram[P]]
) -> list[P]:
    """The predictions of each model.

    Args:
      build: the program of a model and of all that share it.

    Raises:
      DataError: parameters of other sizes than the config and the vocabulary ask for.
    """
    programs: dict[str, PredictionProgram[P]] = {}
    predictions = []
    for model in models:
        if model.program not in programs:
            programs[model.program] = build(model)
        program = programs[model.program]
        params = jax.device_put(parameter_files.fit(model.path, model.arrays, program.like))
        hparams = {name: np.float32(value) for name, value in model.hparams.items()}
        predictions.append(program.predict(params, hparams))
    return predictions


def by_batches(
    numbers: Sequence[np.ndarray],
    columns: Sequence[Mapping[str, np.ndarray]],
    size: int,
    run: Callable[[Mapping[str, np.ndarray]], Tree],
) -> list[Tree]:
    """What a compiled function says of each item, in the order of the items.

    Args:
      numbers: of each bucket the items in it.
      columns: of each bucket arrays [N, ...].
      size: rows of a batch; the last one is filled with its bucket's first row.
      run: batch -> arrays [size, ...], one or a tuple of several.
    """
    results: dict[int, Tree] = {}
    for items, arrays in zip(numbers, columns, strict=True):
        for begin in range(0, len(items), size):
            rows = np.arange(begin, begin + size)
            rows = np.where(rows < len(items), rows, 0)
            outputs = jax.device_get(run({name: each[rows] for name, each in arrays.items()}))
            for row, item in enumerate(items[begin : begin + size].tolist()):
                results[item] = jax.tree.map(lambda leaf, row=row: leaf[row], outputs)
    return [results[item] for item in range(len(results))]


def majority(votes: Sequence[H]) -> H:
    """The most frequent; among equally frequent ones the first."""
    return collections.Counter(votes).most_common(1)[0][0]


def checked(cls: type[T], tree: object, path: Path) -> T:
    """Plain data as settings of a class.

    Raises:
      DataError: naming the first key that is wrong.
    """
    try:
        return pydantic.TypeAdapter(cls).validate_json(json.dumps(tree))
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "all of it"
        message = f"{key}: {first['msg'][0].lower()}{first['msg'][1:]}"
        advice = "damaged, or saved by another version of jaxeval"
        raise DataError(f"{message} ({advice})", path) from None
