"""Prepared sets of TensorFlow Datasets, read without TensorFlow: tagged sentences, and texts."""

import contextlib
import importlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxeval.data.conll import Sentence
from jaxeval.errors import DataError, parsing

if TYPE_CHECKING:
    from tensorflow_datasets.core import DatasetBuilder

PREFIX = "tfds:"
_SPLITS = {"train": ("train",), "dev": ("dev", "validation"), "test": ("test",)}
_BLOCK = 100  # examples read at once
_WORDS = ("tokens", "words", "forms", "text")
_TAGS = ("ner", "tags", "upos", "pos")
_TEXTS = ("text", "sentence", "document", "article")


def sentences(name: str, tag_feature: str | None = None) -> dict[str, list[Sentence]]:
    """Returns train, dev and test sentences of `tfds:NAME` or of a prepared folder `tfds:/path`.

    `tag_feature` is by default the first of ner, tags, upos, pos. Raises DataError: the set is not
    prepared on this machine as array_record; it lacks a part or feature.
    """
    builder = _open(name)
    key = "data.source.tag_feature"
    words = _feature(builder, _WORDS, key, name)
    tags = _feature(builder, (tag_feature,) if tag_feature else _TAGS, key, name)
    names = getattr(getattr(builder.info.features[tags], "feature", None), "names", None)
    parts: dict[str, list[Sentence]] = {}
    for part, split in _splits(builder, tuple(_SPLITS), name).items():
        read = []
        for example in _examples(builder, split, name):
            own = (tag if names is None else names[int(tag)] for tag in example[tags])
            read.append(Sentence(tuple(map(_text, example[words])), tuple(map(_text, own))))
        # tfds' CoNLL reader adds an empty sentence at the end of a file
        parts[part] = [sentence for sentence in read if sentence.words]
    return parts


def texts(name: str, feature: str | None = None) -> dict[str, Iterator[bytes]]:
    """Returns the examples of each part of a set, each closed by a newline.

    `feature` is by default the first of text, sentence, document, article. Raises DataError: the
    set is not prepared; it has no train; the feature is missing or not a text.
    """
    builder = _open(name)
    key = "data.text_feature"
    chosen = _feature(builder, (feature,) if feature else _TEXTS, key, name)

    def closed(split: str) -> Iterator[bytes]:
        for example in _examples(builder, split, name):
            raw = example[chosen]
            if not isinstance(raw, bytes):
                raise DataError(f"{name}: feature {chosen} is not a text; set {key}")
            yield raw if raw.endswith(b"\n") else raw + b"\n"

    return {part: closed(split) for part, split in _splits(builder, ("train",), name).items()}


def _text(value: object) -> str:
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def _splits(builder: "DatasetBuilder", required: Sequence[str], name: str) -> dict[str, str]:
    """Returns the set's names of train, dev and test; a part that it lacks is left out."""
    available, named = builder.info.splits, {}
    for part, names in _SPLITS.items():
        if own := next((n for n in names if n in available), None):
            named[part] = own
        elif part in required:
            expected = " or ".join(names)
            raise DataError(f"{name}: no split {expected}; it has {', '.join(available)}")
    return named


def _feature(builder: "DatasetBuilder", candidates: Sequence[str], key: str, name: str) -> str:
    """Returns the first of the candidates that the set has."""
    if found := next((each for each in candidates if each in builder.info.features), None):
        return found
    lacking = f"no feature among {', '.join(candidates)}"
    raise DataError(f"{name}: {lacking}; it has {', '.join(builder.info.features)}; set {key}")


def _examples(builder: "DatasetBuilder", split: str, name: str) -> Iterator[Mapping[str, Any]]:
    """Yields the examples of a split, feature -> value, in their prepared order."""
    expected = "cannot be read; expected a set prepared with file_format='array_record'"
    with parsing(expected, name, passing=(MemoryError,)):
        source = builder.as_data_source(split=split)
        for begin in range(0, len(source), _BLOCK):  # four times as fast as one by one
            yield from source.__getitems__(range(begin, min(begin + _BLOCK, len(source))))


def _open(name: str) -> "DatasetBuilder":
    """Returns the builder of `tfds:NAME` or of a prepared folder; downloads nothing."""
    import tensorflow_datasets as tfds

    path = name.removeprefix(PREFIX)
    if not path:
        raise DataError("expected a name or folder after it, such as tfds:conll2003", name)
    if Path(path).is_dir():
        with parsing("not a prepared tfds folder", path, passing=(MemoryError,)):
            return tfds.builder_from_directory(path)
    stem = path.partition("/")[0].partition(":")[0]
    for folder in ("text", "translate", "datasets"):
        with contextlib.suppress(ImportError):  # registers what tfds hides without TensorFlow
            importlib.import_module(f"tensorflow_datasets.{folder}.{stem}.{stem}")
    with parsing("tfds cannot open it here", name, passing=(MemoryError,)):
        builder = tfds.builder(path, try_gcs=False, file_format="array_record")
    if not Path(builder.data_dir).is_dir():
        raise DataError(
            f"{name}: not prepared on this machine ({builder.data_dir}); with a network, run: "
            f"python -c \"import tensorflow_datasets as t; t.builder('{path}', "
            "file_format='array_record').download_and_prepare()\""
        )
    return builder
