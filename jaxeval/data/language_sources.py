"""The parts of a text as lines or as bytes: a folder of files, one file, or a prepared tfds set.

A part that the text does not have is left out; one file is train alone.

A set reads as if each of its splits were one file: the examples in the order in which they were
prepared, a newline after each that does not end in one.
"""

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jaxeval.data import folders, text, tfds_sets
from jaxeval.errors import DataError, argument

if TYPE_CHECKING:
    from tensorflow_datasets.core import DatasetBuilder

_FEATURES = ("text", "sentence", "document", "article")


class TextSource(NamedTuple):
    """Where a text is."""

    path: str  # folder, file or tfds:NAME
    patterns: Mapping[str, str]  # folder: file name pattern by part
    feature: str | None = None  # tfds: feature that holds the text


def lines(source: TextSource) -> dict[str, Iterator[str]]:
    """The lines of each part, without their ends.

    Raises:
      DataError: nothing there, more files than one fit, a set that is not prepared or has no such
        feature or no train; while reading, what `text.iterate_lines` raises.
    """
    if source.path.startswith(tfds_sets.PREFIX):
        return {part: _decode(raw, f"{source.path} ({part})") for part, raw in _set(source)}
    return {part: text.iterate_lines(file) for part, file in _files(source)}


def contents(source: TextSource) -> dict[str, bytes]:
    """The bytes of each part; gzip files are decompressed.

    Raises:
      DataError: as in `lines`, but any bytes will do.
    """
    if source.path.startswith(tfds_sets.PREFIX):
        return {part: b"".join(raw) for part, raw in _set(source)}
    return {part: text.read_bytes(file) for part, file in _files(source)}


def _files(source: TextSource) -> Iterator[tuple[str, Path]]:
    """Part by part its file."""
    path = Path(source.path)
    if path.is_file():
        yield "train", path
    elif path.is_dir():
        _refuse_folder_of_one(path, source.patterns)
        for part, pattern in source.patterns.items():
            yield part, folders.only(path, pattern, part, f"data.{part}")
    else:
        raise text.no_file(path)


def _refuse_folder_of_one(folder: Path, patterns: Mapping[str, str]) -> None:
    """Raises DataError if the folder's only file is no part by its name: it may be the text."""
    inside = folders.names(folder)
    if len(inside) == 1 and not any(fnmatch(inside[0], pattern) for pattern in patterns.values()):
        named = argument("data", str(folder / inside[0]))
        raise DataError(f"holds one file, which is no part by its name; {named} reads it", folder)


def _set(source: TextSource) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Part by part the examples of a set, each closed by a newline."""
    builder = tfds_sets.open_set(source.path)
    feature = _feature(builder, source)
    for part, split in tfds_sets.splits(builder, ("train",), source.path).items():
        yield part, _close(tfds_sets.examples(builder, split, source.path), feature)


def _feature(builder: "DatasetBuilder", source: TextSource) -> str:
    import tensorflow_datasets as tfds

    candidates = (source.feature,) if source.feature else _FEATURES
    key = "data.text_feature"
    name = tfds_sets.feature(builder, candidates, "text", key, source.path)
    kind = builder.info.features[name]
    if not isinstance(kind, tfds.features.Text):
        raise DataError(
            f"{source.path}: feature {name} is {type(kind).__name__}, not Text; it has "
            f"{', '.join(builder.info.features)}; set {key}"
        )
    return name


def _close(examples: Iterable[tfds_sets.Example], feature: str) -> Iterator[bytes]:
    for example in examples:
        raw: bytes = example[feature]
        yield raw if raw.endswith(b"\n") else raw + b"\n"


def _decode(closed: Iterable[bytes], origin: str) -> Iterator[str]:
    raw_lines = (raw for example in closed for raw in example[:-1].split(b"\n"))
    for number, raw in enumerate(raw_lines, 1):
        yield text.decode(raw, origin, number)
