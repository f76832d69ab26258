"""Labelled sentences from TensorFlow Datasets, read without TensorFlow."""

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxeval.data.sentences import Sentence
from jaxeval.errors import DataError

_PREFIX = "tfds:"
_PARTS = {"train": ("train",), "dev": ("dev", "validation"), "test": ("test",)}
_WORDS = ("tokens", "words", "forms", "text")
_TAGS = ("ner", "tags", "upos", "pos")


def read(name: str, tag_feature: str | None = None) -> dict[str, list[Sentence]]:
    """Train, dev and test sentences of `tfds:NAME` or of a prepared folder `tfds:/path`.

    The set must have been prepared on this machine (nothing is downloaded here), in a format that
    reads without TensorFlow (array_record).

    Args:
      name: such as "tfds:conll2003" or "tfds:/data/mine/1.0.0".
      tag_feature: feature of the tags; None takes the first of ner, tags, upos, pos.

    Raises:
      DataError: unknown or not prepared, a part or feature that is not there.
    """
    builder = _builder(name.removeprefix(_PREFIX), name)
    features = builder.info.features
    words = _feature(features, _WORDS, "words", name)
    tags = _feature(features, (tag_feature,) if tag_feature else _TAGS, "tags", name)
    names = getattr(getattr(features[tags], "feature", None), "names", None)
    return {
        part: _part(builder, splits, words, tags, names, name) for part, splits in _PARTS.items()
    }


def _builder(place: str, name: str) -> Any:
    import tensorflow_datasets as tfds

    if not place:
        raise DataError("expected a name or folder after it, such as tfds:conll2003", name)
    if Path(place).is_dir():
        try:
            return tfds.builder_from_directory(place)
        except (OSError, ValueError, KeyError) as error:
            raise DataError(f"not a prepared tfds folder ({error})", place) from None
    stem = place.partition("/")[0].partition(":")[0]
    for module in (f"text.{stem}.{stem}", f"translate.{stem}.{stem}", f"datasets.{stem}.{stem}"):
        try:  # builders that tfds hides where TensorFlow is absent register when imported
            importlib.import_module(f"tensorflow_datasets.{module}")
            break
        except ImportError:
            continue
    try:
        builder = tfds.builder(place, try_gcs=False, file_format="array_record")
    except (tfds.core.registered.DatasetNotFoundError, ValueError) as error:
        raise DataError(f"{name}: tfds knows no such set ({str(error).splitlines()[0]})") from None
    except ImportError as error:
        raise DataError(f"{name}: tfds cannot open it here ({error})") from None
    if not Path(builder.data_dir).is_dir():
        raise DataError(
            f"{name}: not prepared on this machine ({builder.data_dir}); with a network, run: "
            f"python -c \"import tensorflow_datasets as t; t.builder('{place}', "
            "file_format='array_record').download_and_prepare()\""
        )
    return builder


def _feature(features: Any, candidates: Sequence[str], what: str, name: str) -> str:
    found = next((c for c in candidates if c in features), None)
    if found is None:
        raise DataError(
            f"{name}: no feature for the {what} among {', '.join(candidates)}; it has "
            f"{', '.join(features)}; set data.source.tag_feature"
        )
    return found


def _part(
    builder: Any, splits: Sequence[str], words: str, tags: str, names: Any, name: str
) -> list[Sentence]:
    split = next((s for s in splits if s in builder.info.splits), None)
    if split is None:
        there = ", ".join(builder.info.splits)
        raise DataError(f"{name}: no split {' or '.join(splits)}; it has {there}")
    sentences = []
    for example in builder.as_data_source(split=split):
        tokens = tuple(_text(token) for token in example[words])
        labels = tuple(_label(tag, names) for tag in example[tags])
        if tokens:  # tfds' CoNLL reader adds an empty sentence at the end of a file
            sentences.append(Sentence(tokens, labels))
    return sentences


def _text(value: Any) -> str:
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def _label(value: Any, names: Sequence[str] | None) -> str:
    return _text(value) if names is None else names[int(value)]
