"""What a kind of task is to the rest of the system."""

import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jaxeval.contracts import Corpus, Split, Task
from jaxeval.data import checks
from jaxeval.files import Json
from jaxeval.tasks.prediction import Options, SavedModel


class Source(NamedTuple):
    """What is learned from: a corpus as arrays, and what is said of it.

    Attributes:
      fingerprint: hash of all its contents.
      name: where it came from, for people.
      facts: what a plan tells of it.
      vocabulary: split number -> plain JSON of what the numbers in the arrays stand for: what a
        model trained on that split must know to read other data.
      positions: bucket b: [N_b] where each row stands in the data, the order of a part's items;
        -1 of a row that is no item.
      tables: arrays that a model reads beside its parameters, whatever the data.
      findings: what is odd about it, and how much of it pretrained vectors cover.
      pretrained: fingerprint of what else was read, such as word vectors.
    """

    corpus: Corpus
    split: Callable[[int], Split]
    fingerprint: str
    name: str
    facts: Mapping[str, Any]
    vocabulary: Callable[[int], Mapping[str, Any]]
    positions: Sequence[Any]
    tables: Mapping[str, Any] = types.MappingProxyType({})
    findings: checks.Findings = checks.Findings()
    pretrained: str = ""


class Joining(NamedTuple):
    """Members of one program that differ in their word vectors.

    Attributes:
      key: (config, data) -> what they must have in common beside config and sentences, as JSON.
      join: data that have it -> the same, each with its own word table among those of all.
    """

    key: Callable[[Any, Any], Json]
    join: Callable[[Sequence[Any]], Sequence[Any]]


class Kind(NamedTuple):
    """A kind of task; `tasks/<stem>.py` exports its KIND, and `tasks.registry` lists them.

    Laws: `read(*arguments(config))` depends on nothing else: configs with equal arguments share
    it. `build` is cheap beside it. Keys marked `markers.IMMATERIAL` change no score; traced ones
    cause no compilation.

    Attributes:
      Config: settings with the fields name, task, data, model and training.
      data_key: the key that says where the data is, which --data sets.
      arguments: config -> what `read` takes.
      read: reads the data.
      build: (config, data) -> what is learned from, and the task.
      random_splits: config -> the config of members that are trained on random splits of all the
        data. Raises ConfigError where the data has none.
      member_sizes: (config, data) -> what the arrays of a member need (`studies.costs.Shape`), for
        tasks whose members can be padded to one another's ragged sizes; None: they cannot.
      joining: how members that differ in their word vectors share a program; None: they do not.
      predict: (saved models, file, options) -> lines that say what the models make of the file;
        None: they cannot. Raises DataError: models that do not fit their descriptions, or a file
        that cannot be read; ConfigError: options of another task.
    """

    Config: type
    data_key: str
    arguments: Callable[[Any], tuple]
    read: Callable[..., Any]
    build: Callable[[Any, Any], tuple[Source, Task]]
    random_splits: Callable[[Any], Any] = lambda config: config
    member_sizes: Callable[[Any, Any], Any] | None = None
    joining: Joining | None = None
    predict: Callable[[Sequence[SavedModel], Path, Options], Iterable[str]] | None = None
