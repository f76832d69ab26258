"""What all tasks' predictions share: saved models, what is asked of them, how each one is run."""

import collections
import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import pydantic

from jaxeval.contracts import Array, Batch, Hparams, Tree
from jaxeval.errors import ConfigError, DataError, argument
from jaxeval.population import member, parameter_files

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


class Rows(NamedTuple):
    """The input as arrays.

    Attributes:
      numbers: of each bucket the items in it.
      columns: of each bucket arrays [N, ...].
      shared, split: as of `Batch`.
    """

    numbers: Sequence[np.ndarray]
    columns: Sequence[Mapping[str, np.ndarray]]
    shared: Tree = ()
    split: Tree = ()


def program(
    model: SavedModel,
    init: Callable[[Array, Batch, Hparams], Tree],
    run: Callable[[Tree, Batch, Hparams], Tree],
    rows: Rows,
    read: Callable[[list[Tree]], P],
) -> PredictionProgram[P]:
    """What a model and all that share its program say of the same rows.

    Args:
      run: (params, batch, hparams) -> arrays [B, ...], one or a tuple of several.
      read: what `run` says of each item, in the order of the items -> predictions.
    """
    size = model.config.training.evaluation_batch_size
    shared, split = jax.device_put((rows.shared, rows.split))
    compiled = jax.jit(run)

    def predict(params: Tree, hparams: Hparams) -> P:
        results: dict[int, Tree] = {}
        for items, columns in zip(rows.numbers, rows.columns, strict=True):
            for begin in range(0, len(items), size):
                places = np.arange(begin, begin + size)
                places = np.where(places < len(items), places, 0)  # a full batch
                batch = Batch({n: c[places] for n, c in columns.items()}, ones, shared, split)
                outputs = jax.device_get(compiled(params, batch, hparams))
                for row, item in enumerate(items[begin : begin + size].tolist()):
                    results[item] = jax.tree.map(lambda leaf, row=row: leaf[row], outputs)
        return read([results[item] for item in range(len(results))])

    ones = jnp.ones(size)
    first = {name: column[:1] for name, column in rows.columns[0].items()}
    batch = Batch(first, ones[:1], shared, split)
    like = jax.eval_shape(init, member.root_key(0), batch, model.hparams)
    return PredictionProgram(like, predict)


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
