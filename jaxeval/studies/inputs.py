"""Which files a config names: what is written should replace none of them."""

import os
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path

from jaxeval.config import reading
from jaxeval.files import Json

_PATTERNS = ("train", "dev", "test")  # of a corpus' files, beside its path


def files_of(*configs: object) -> Iterator[Path]:
    """The files that are there of configs' corpora and word vectors, whatever their tasks.

    Of a folder those that fit a pattern beside it, as readers of corpora find them, or the only
    one.

    Args:
      configs: settings, or plain data of some.
    """
    for config in configs:
        yield from _named(config if isinstance(config, Mapping) else reading.to_dict(config))


def _named(tree: Mapping[str, Json]) -> Iterator[Path]:
    match tree.get("path"):
        case str(path):
            patterns = [tree[key] for key in _PATTERNS if key in tree]
            yield from _of_corpus(path, [text for text in patterns if isinstance(text, str)])
    match tree.get("vectors"):
        case str(path) if os.path.isfile(path):
            yield Path(path)
    for value in tree.values():
        if isinstance(value, Mapping):
            yield from _named(value)


def _of_corpus(path: str, patterns: list[str]) -> Iterator[Path]:
    """The file, or a folder's; an absolute path is no pattern (`data.folders`)."""
    absolute = [pattern for pattern in patterns if os.path.isabs(pattern)]
    yield from (Path(text) for text in [path, *absolute] if os.path.isfile(text))
    if os.path.isdir(path):  # both are False of a text that is too long for a path
        files = [entry for entry in Path(path).iterdir() if entry.is_file()]
        for file in files:
            if len(files) == 1 or any(fnmatch(file.name, pattern) for pattern in patterns):
                yield file
