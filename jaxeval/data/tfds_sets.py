"""Prepared sets of TensorFlow Datasets, read without TensorFlow: splits, features, examples."""

import contextlib
import importlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxeval.errors import DataError, parsing

Example = Mapping[str, Any]  # feature -> what tfds decodes it to

if TYPE_CHECKING:
    from tensorflow_datasets.core import DatasetBuilder

PREFIX = "tfds:"
SPLITS = {"train": ("train",), "dev": ("dev", "validation"), "test": ("test",)}
_BLOCK = 100  # examples read at once


def open_set(name: str) -> "DatasetBuilder":
    """The builder of `tfds:NAME` or of a prepared folder `tfds:/path`; downloads nothing.

    Raises:
      DataError: unknown or not prepared on this machine.
    """
    path = name.removeprefix(PREFIX)
    if not path:
        raise DataError("expected a name or folder after it, such as tfds:conll2003", name)
    return _in_folder(path) if Path(path).is_dir() else _by_name(path, name)


def splits(builder: "DatasetBuilder", required: Sequence[str], name: str) -> dict[str, str]:
    """The set's own names of train, dev and test; a part that it lacks is left out.

    Raises:
      DataError: a required part is lacking; names those there are.
    """
    available = builder.info.splits
    named = {
        part: next((n for n in names if n in available), None) for part, names in SPLITS.items()
    }
    for part in required:
        if named[part] is None:
            expected = " or ".join(SPLITS[part])
            raise DataError(f"{name}: no split {expected}; it has {', '.join(available)}")
    return {part: split for part, split in named.items() if split is not None}


def feature(
    builder: "DatasetBuilder", candidates: Sequence[str], what: str, key: str, name: str
) -> str:
    """The first of the candidates that the set has.

    Raises:
      DataError: none of them; names those there are, and the key that chooses.
    """
    features = builder.info.features
    first = next((c for c in candidates if c in features), None)
    if first is None:
        raise DataError(
            f"{name}: no feature for the {what} among {', '.join(candidates)}; it has "
            f"{', '.join(features)}; set {key}"
        )
    return first


def examples(builder: "DatasetBuilder", split: str, name: str) -> Iterator[Example]:
    """The examples of a split, in the order in which they were prepared.

    Raises:
      DataError: prepared in a format that needs TensorFlow, or files are missing.
    """
    try:
        with parsing("cannot be read", name, passing=(NotImplementedError, MemoryError)):
            source = builder.as_data_source(split=split)
            for begin in range(0, len(source), _BLOCK):  # four times as fast as one by one
                yield from source.__getitems__(range(begin, min(begin + _BLOCK, len(source))))
    except NotImplementedError:
        raise DataError(
            f"{name}: prepared as {builder.info.file_format.value}, which needs TensorFlow; "
            f"prepare it anew with file_format='array_record' ({builder.data_dir})"
        ) from None


@contextlib.contextmanager
def _temporary_files_removed() -> Iterator[None]:
    """tfds makes a folder for what it would download of a set, and leaves it there."""
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder
        try:
            yield
        finally:
            tempfile.tempdir = before


def _in_folder(folder: str) -> "DatasetBuilder":
    import tensorflow_datasets as tfds

    with parsing("not a prepared tfds folder", folder, passing=(MemoryError,)):
        return tfds.builder_from_directory(folder)


def _by_name(path: str, name: str) -> "DatasetBuilder":
    import tensorflow_datasets as tfds

    stem = path.partition("/")[0].partition(":")[0]
    for module in (f"text.{stem}.{stem}", f"translate.{stem}.{stem}", f"datasets.{stem}.{stem}"):
        try:  # builders that tfds hides where TensorFlow is absent register when imported
            importlib.import_module(f"tensorflow_datasets.{module}")
            break
        except ImportError:
            continue
    try:
        passing = (ImportError, OSError, MemoryError)
        with parsing("tfds knows no such set", name, passing=passing), _temporary_files_removed():
            builder = tfds.builder(path, try_gcs=False, file_format="array_record")
    except (ImportError, OSError) as error:
        raise DataError(f"{name}: tfds cannot open it here ({error})") from None
    if not Path(builder.data_dir).is_dir():
        raise DataError(
            f"{name}: not prepared on this machine ({builder.data_dir}); with a network, run: "
            f"python -c \"import tensorflow_datasets as t; t.builder('{path}', "
            "file_format='array_record').download_and_prepare()\""
        )
    return builder
