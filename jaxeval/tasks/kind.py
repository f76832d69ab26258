"""What a kind of task is to the rest of the system, and what all kinds share.

Kinds whose words have vectors share their word tables, and all share how saved models predict.
"""

import collections
import dataclasses
import json
import types
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import pydantic

from jaxeval.contracts import Array, Batch, Corpus, Hparams, Split, Task, Tree
from jaxeval.data import checks, word_table
from jaxeval.errors import ConfigError, DataError, argument
from jaxeval.files import Json
from jaxeval.population import member, parameter_files

T = TypeVar("T")
H = TypeVar("H", bound=Hashable)


class Source(NamedTuple):
    """What is learned from: a corpus as arrays, and what is said of it."""

    corpus: Corpus
    split: Callable[[int], Split]
    fingerprint: str
    name: str
    facts: Mapping[str, Any]  # what a plan tells of it
    # split number -> plain JSON of what the numbers in the arrays stand for: what a model trained
    # on that split must know to read other data
    vocabulary: Callable[[int], Mapping[str, Any]]
    positions: Sequence[Any]  # bucket b: [N_b] place of each row in the data; -1: no item
    tables: Mapping[str, Any] = types.MappingProxyType({})  # that a model reads beside parameters
    findings: checks.Findings = checks.Findings()  # what is odd about it
    pretrained: str = ""  # fingerprint of what else was read, such as word vectors


class SavedModel(NamedTuple):
    """A member as a runs folder keeps it; nothing of the corpus that it was trained on."""

    path: Path  # file of the parameters
    program: str  # the same of models with the same config, vocabulary and tables
    config: Any
    vocabulary: Mapping[str, Any]  # as `Source.vocabulary` gave it
    meanings: Path  # its file
    tables: Mapping[str, np.ndarray]  # arrays beside the parameters, by name
    arrays: Mapping[str, np.ndarray]  # the parameters, by name
    hparams: Mapping[str, float]

    def read_vocabulary(self, cls: type[T]) -> T:
        """The vocabulary as settings of a class; raises DataError where it is damaged."""
        return checked(cls, self.vocabulary, self.meanings)


class Options(NamedTuple):
    """What is asked for beside the predictions of each model: options of `jaxeval.predict`."""

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


class Joining(NamedTuple):
    """Members of one program that differ in their word vectors."""

    # (config, data) -> what they must have in common beside config and sentences, as JSON
    key: Callable[[Any, Any], Json]
    # data that have it -> the same, each with its own word table among those of all
    join: Callable[[Sequence[Any]], Sequence[Any]]


class Kind(NamedTuple):
    """A kind of task; `tasks/<stem>.py` exports its KIND, and `tasks.registry` lists them.

    Laws: `read(*arguments(config))` depends on nothing else: configs with equal arguments share
    it. `build` is cheap beside it. Keys marked `fields.IMMATERIAL` change no score; traced ones
    cause no compilation. Where an optional field is None, members cannot do that.
    """

    Config: type  # settings with the fields name, task, data, model and training
    data_key: str  # the key that says where the data is, which --data sets
    arguments: Callable[[Any], tuple]  # config -> what `read` takes
    read: Callable[..., Any]
    build: Callable[[Any, Any], tuple[Source, Task]]  # (config, data) -> both
    # the config of members that are trained on random splits; ConfigError: the data has none
    random_splits: Callable[[Any], Any] = lambda config: config
    # (config, data) -> what the arrays of a member need (`studies.costs.Shape`): they are padded
    # to one another's ragged sizes
    member_sizes: Callable[[Any, Any], Any] | None = None
    joining: Joining | None = None
    # lines that say what the models make of a file. DataError: models that do not fit their
    # descriptions, or a file that cannot be read; ConfigError: options of another task
    predict: Callable[[Sequence[SavedModel], Path, Options], Iterable[str]] | None = None


def of_words(
    config: type, read: Callable[..., Any], build: Callable[[Any, Any], tuple], predict: Any
) -> Kind:
    """The kind of a task whose words have vectors."""

    def random_splits(config: Any) -> Any:
        # a random split deals all words anew; that changes the parameters' shapes, and so it is
        # written into the config, by which experiments are told apart
        data = dataclasses.replace(config.data, vocabulary="all")
        return dataclasses.replace(config, data=data)

    def key(config: Any, data: Any) -> Json:
        """D; of programs that add up all rows of a trained table (a global norm, the mean of all
        vectors) the number of rows too: zeros could change last bits."""
        vocabulary, (rows, dimension) = data.table.vocabulary, data.table.vectors.shape
        words, clip = config.model.words, config.training.optimiser.clip
        summed = clip == "global_norm" or getattr(words, "initialiser", "") == "normal"
        more = [vocabulary, rows - vocabulary] if words.trained and summed else []
        return [dimension, *more]

    def arguments(config: Any) -> tuple:
        return config.data, config.training.batch_size

    begin = config, "data.source.path", arguments, read, build, random_splits
    return Kind(*begin, joining=Joining(key, word_table.joined), predict=predict)


def source_of_words(config: Any, data: Any, rows: str, **facts: Any) -> Source:
    """The source of data whose words have vectors; `rows`: what a row is, in the plural."""
    parts = {part: sum(map(len, of)) for part, of in data.given_split.items()}
    return Source(
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


class Rows(NamedTuple):
    """The input of a saved model as arrays."""

    numbers: Sequence[np.ndarray]  # of each bucket the items in it
    columns: Sequence[Mapping[str, np.ndarray]]  # of each bucket arrays [N, ...]
    shared: Tree = ()  # as of `Batch`
    split: Tree = ()


def rows_of_saved(
    saved: SavedModel, encoded: Any, table: str, trained: bool, least: int
) -> tuple[Rows, int]:
    """The input of a saved model, and how many rows its vocabulary has; all of them are known.

    Raises DataError: the files do not fit one another.

    Args:
      encoded: numbers and columns of each bucket, and `shared` tables.
      table, trained: name of the trained vectors among the parameters; whether there are such.
      least: rows that the vocabulary's numbers ask for.
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
    return Rows(encoded.numbers, encoded.columns, shared, split), known or rows


class Program(NamedTuple):
    """What is compiled once for all saved models with one config, vocabulary and tables."""

    like: Tree  # shapes and types of their parameters
    predict: Callable[[Tree, Hparams], Any]  # a model's predictions of the input


def program(
    model: SavedModel,
    init: Callable[[Array, Batch, Hparams], Tree],
    run: Callable[[Tree, Batch, Hparams], Tree],
    rows: Rows,
    read: Callable[[list[Any]], Any],
) -> Program:
    """What a model and all that share its program say of the same rows.

    Args:
      run: (params, batch, hparams) -> arrays [B, ...], one or a tuple of several.
      read: what `run` says of each item, in the order of the items -> predictions.
    """
    size = model.config.training.evaluation_batch_size
    shared, split = jax.device_put((rows.shared, rows.split))
    compiled, ones = jax.jit(run), jnp.ones(size)

    def predict(params: Tree, hparams: Hparams) -> Any:
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

    first = {name: column[:1] for name, column in rows.columns[0].items()}
    batch = Batch(first, ones[:1], shared, split)
    like = jax.eval_shape(init, member.root_key(0), batch, model.hparams)
    return Program(like, predict)


def predictions(models: Iterable[SavedModel], build: Callable[[SavedModel], Program]) -> list[Any]:
    """The predictions of each model; `build` makes the program of all that share one.

    Raises DataError: parameters of other sizes than the config and the vocabulary ask for.
    """
    programs: dict[str, Program] = {}
    made = []
    for model in models:
        if model.program not in programs:
            programs[model.program] = build(model)
        program = programs[model.program]
        params = jax.device_put(parameter_files.fit(model.path, model.arrays, program.like))
        hparams = {name: np.float32(value) for name, value in model.hparams.items()}
        made.append(program.predict(params, hparams))
    return made


def majority(votes: Sequence[H]) -> H:
    """The most frequent; among equally frequent ones the first."""
    return collections.Counter(votes).most_common(1)[0][0]


def checked(cls: type[T], tree: object, path: Path) -> T:
    """Plain data as settings of a class; DataError names the first key that is wrong."""
    try:
        return pydantic.TypeAdapter(cls).validate_json(json.dumps(tree))
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "all of it"
        message = f"{key}: {first['msg'][0].lower()}{first['msg'][1:]}"
        advice = "damaged, or saved by another version of jaxeval"
        raise DataError(f"{message} ({advice})", path) from None
