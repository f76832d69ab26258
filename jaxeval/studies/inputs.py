"""Which files a config names: what is written should replace none of them."""

import os
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path

from jaxeval.config import reading
from jaxeval.files import Json


def files_of(config: object) -> list[Path]:
    """The files that are there of a config's texts, whatever its task.

    Of a folder those that fit a pattern beside it, as readers of corpora find them, or the only
    one.

    Args:
      config: settings, or plain data of some.
    """
    tree = config if isinstance(config, Mapping) else reading.to_dict(config)
    return [*_named(tree)]


def _named(tree: Mapping[str, Json]) -> Iterator[Path]:
    texts = [value for value in tree.values() if isinstance(value, str)]
    for text in texts:
        if os.path.isfile(text):  # False of a text that is too long for a path
            yield Path(text)
        elif os.path.isdir(text):
            files = [entry for entry in Path(text).iterdir() if entry.is_file()]
            yield from (
                file
                for file in files
                if len(files) == 1 or any(fnmatch(file.name, pattern) for pattern in texts)
            )
    for value in tree.values():
        if isinstance(value, Mapping):
            yield from _named(value)
