"""Interface of a kind of task to the rest of the system, and predictions of saved models."""

import collections
import dataclasses
import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import pydantic

from jaxeval.contracts import Array, Batch, Hparams, Task, Tree
from jaxeval.data import buckets
from jaxeval.data.corpora import Source
from jaxeval.errors import ConfigError, DataError, argument
from jaxeval.files import Json
from jaxeval.population import member

_T = TypeVar("_T")
_H = TypeVar("_H", bound=Hashable)


class SavedModel(NamedTuple):
    """A trained member in a runs folder, without its corpus."""

    path: Path  # file of the parameters
    program: str  # equal for models with the same config, vocabulary and tables
    config: Any
    vocabulary: Mapping[str, Any]  # of the corpus that it was trained on
    vocabulary_path: Path
    tables: Mapping[str, np.ndarray]  # arrays beside the parameters, by name
    arrays: Mapping[str, np.ndarray]  # the parameters, by name
    hparams: Mapping[str, float]

    def read_vocabulary(self, cls: type[_T]) -> _T:
        """Returns the vocabulary as settings of a class; raises DataError if it is damaged."""
        return checked(cls, self.vocabulary, self.vocabulary_path)


class Options(NamedTuple):
    """Options of `jaxeval.predict`."""

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


class Kind(NamedTuple):
    """A kind of task, listed in `tasks.KINDS`.

    Laws: `read(*arguments(config))` depends on nothing else: configs with equal arguments share
    it. `build` is cheap compared to it. Fields marked `fields.IMMATERIAL` change no score, and
    traced ones cause no compilation. Members cannot do what an absent optional function does.
    """

    Config: type  # settings with the fields name, task, data, model and training
    data_key: str  # key of the path of the data, which --data sets
    arguments: Callable[[Any], tuple]  # config -> arguments of `read`
    read: Callable[..., Any]  # arguments -> data, a Source in all but tests
    # (config, data) -> the data, perhaps with more facts, and the task
    build: Callable[[Any, Any], tuple[Source, Task]]
    # config -> that of members trained on random splits; ConfigError: the data has none
    random_splits: Callable[[Any], Any] = lambda config: config
    # (config, data) -> what the arrays of a member must hold (`studies.costs.Shape`): arrays are
    # padded so that members with different ragged fields share a program
    member_sizes: Callable[[Any, Any], Any] | None = None
    # (config, data) -> the part of the arrays' sizes that must be equal if members that differ in
    # their word vectors are to share a program (`corpora.join`)
    joining: Callable[[Any, Any], Json] | None = None
    # models, file -> lines with their predictions. DataError: models that do not fit their
    # descriptions, or a file that cannot be read; ConfigError: options of another task
    predict: Callable[[Sequence[SavedModel], Path, Options], Iterable[str]] | None = None


def word_kind(
    config: type, read: Callable[..., Any], build: Callable[[Any, Any], tuple], predict: Any
) -> Kind:
    """Returns the kind of a task whose data is a `WordCorpus`."""

    def random_splits(config: Any) -> Any:
        # random splits need rows for all words, which changes the parameters' shapes; therefore it
        # is part of the config, by which experiments are identified
        data = dataclasses.replace(config.data, vocabulary="all")
        return dataclasses.replace(config, data=data)

    def key(config: Any, data: Any) -> Json:
        # programs that sum over all rows of a trained table (a global norm, the mean of all
        # vectors) need equal numbers of rows, since zeros could change last bits
        vocabulary, (rows, dimension) = data.table.vocabulary, data.table.vectors.shape
        words, clip = config.model.words, config.training.optimiser.clip
        summed = clip == "global_norm" or getattr(words, "initialiser", "") == "normal"
        more = [vocabulary, rows - vocabulary] if words.trained and summed else []
        return [dimension, *more]

    return Kind(
        config,
        "data.source.path",
        lambda config: (config.data, config.training.batch_size),
        read,
        build,
        random_splits,
        joining=key,
        predict=predict,
    )


class Rows(NamedTuple):
    """The input of a saved model as arrays."""

    bucketed: buckets.BucketedRows
    shared: Tree = ()  # as in `Batch`
    split: Tree = ()


def saved_rows(
    saved: SavedModel, encoded: buckets.Encoded, table: str, trained: bool, least: int
) -> tuple[Rows, int]:
    """Returns the input of a saved model, and the number of rows of its vocabulary.

    Raises DataError: the files do not fit one another.

    Args:
      table, trained: name of the trained vectors among the parameters; whether there are any.
      least: number of rows that the vocabulary needs.
    """
    vectors = saved.tables.get("vectors")
    known = 0
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
        raise DataError(f"vocabulary of another model: {message}", saved.vocabulary_path)
    shared = {**encoded[0], "vectors": vectors, "pretrained": np.zeros(rows, bool)}
    split = {"known": np.ones(rows, bool), "once": np.zeros(rows, bool)}
    return Rows(encoded[1], shared, split), known or rows


class Program(NamedTuple):
    """A compiled program for all saved models with one config, vocabulary and tables."""

    like: Tree  # shapes and types of their parameters
    predict: Callable[[Tree, Hparams], Any]  # a model's predictions of the input


def program(
    model: SavedModel,
    init: Callable[[Array, Batch, Hparams], Tree],
    run: Callable[[Tree, Batch, Hparams], Tree],
    rows: Rows,
    read: Callable[[list[Any]], Any],
) -> Program:
    """Returns the program that predicts the same rows with a model and similar ones.

    Args:
      run: (params, batch, hparams) -> arrays [B, ...], one or a tuple of several.
      read: outputs of `run` of each item, in the order of the items -> predictions.
    """
    size = model.config.training.evaluation_batch_size
    shared, split = jax.device_put((rows.shared, rows.split))
    compiled, ones = jax.jit(run), jnp.ones(size)

    def predict(params: Tree, hparams: Hparams) -> Any:
        results: dict[int, Tree] = {}
        for items, columns in zip(rows.bucketed.rows, rows.bucketed.columns, strict=True):
            for begin in range(0, len(items), size):
                places = np.arange(begin, begin + size)
                places = np.where(places < len(items), places, 0)  # a full batch
                batch = Batch({n: c[places] for n, c in columns.items()}, ones, shared, split)
                outputs = jax.device_get(compiled(params, batch, hparams))
                for row, item in enumerate(items[begin : begin + size].tolist()):
                    results[item] = jax.tree.map(lambda leaf, row=row: leaf[row], outputs)
        return read([results[item] for item in range(len(results))])

    first = {name: column[:1] for name, column in rows.bucketed.columns[0].items()}
    batch = Batch(first, ones[:1], shared, split)
    like = jax.eval_shape(init, member.root_key(0), batch, model.hparams)
    return Program(like, predict)


def predictions(models: Iterable[SavedModel], build: Callable[[SavedModel], Program]) -> list[Any]:
    """Returns the predictions of each model; `build` makes the program of similar models.

    Raises DataError: parameters of other sizes than the config and the vocabulary require.
    """
    programs: dict[str, Program] = {}
    predicted = []
    for model in models:
        if model.program not in programs:
            programs[model.program] = build(model)
        program = programs[model.program]
        params = jax.device_put(member.to_params(model.path, model.arrays, program.like))
        hparams = {name: np.float32(value) for name, value in model.hparams.items()}
        predicted.append(program.predict(params, hparams))
    return predicted


def majority(votes: Sequence[_H]) -> _H:
    """Returns the most frequent vote; among equally frequent ones the first."""
    return collections.Counter(votes).most_common(1)[0][0]


def checked(cls: type[_T], tree: object, path: Path) -> _T:
    """Returns plain data as settings of a class; raises DataError with the first wrong key."""
    try:
        return pydantic.TypeAdapter(cls).validate_json(json.dumps(tree))
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "all of it"
        message = f"{key}: {first['msg'][0].lower()}{first['msg'][1:]}"
        advice = "damaged, or saved by another version of jaxeval"
        raise DataError(f"{message} ({advice})", path) from None
