"""What sweeps are sorted by: architecture, dataset, task, or whatever else names them."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from jaxeval.errors import ConfigError
from jaxeval.runs.imported import Columns

Labels = Mapping[str, str]
_RECORDED = ("name", "task", "metric")  # columns of our own runs


def of_file_name(location: str, pattern: str) -> dict[str, str] | None:
    """The labels in the name of a file or folder; None where the pattern does not fit.

    Args:
      pattern: the name with labels in braces, such as "{dataset}-{architecture}.tsv"; a label is
        as short as the rest allows, and the last one takes what is left.

    Raises:
      ConfigError: a pattern without labels, or with one of them twice.
    """
    parts = re.split(r"\{(\w+)\}", pattern)
    names = parts[1::2]
    if not names or len(set(names)) < len(names):
        raise ConfigError(
            f"--file-name {pattern!r}: expected labels in braces, each once, such as "
            "{dataset}-{architecture}.tsv"
        )
    groups = [rf"(?P<{part}>.+?)" if k % 2 else re.escape(part) for k, part in enumerate(parts)]
    match = re.fullmatch("".join(groups), Path(location).name)
    return None if match is None else match.groupdict()


def of_table(location: str, table: Columns, pattern: str | None) -> dict[str, str]:
    """Columns with one value in all rows, and what the file's name says.

    Raises:
      ConfigError: the pattern does not fit the name.
    """
    constant = {name: column[0] for name, column in table.values.items() if len({*column}) == 1}
    labels = {name: str(value) for name, value in constant.items() if value not in ("", None)}
    named = {} if pattern is None else of_file_name(location, pattern)
    if named is None:
        raise ConfigError(f"--file-name {pattern!r}: does not fit {Path(location).name}")
    return labels | named


def of_sweep(location: str, table: Columns, pattern: str | None) -> dict[str, str]:
    """Of a recorded sweep: name, task, metric, dataset, the keys of its config, its folder's name.

    A key of the config goes by its whole name (`model.architecture`), and by its last part
    (`architecture`) where no other key ends so. `dataset` is the hash of the data.
    """
    keys = _leaves(json.loads(table.texts("config")[0]))
    last = [key.rpartition(".")[2] for key in keys]
    short = {key.rpartition(".")[2]: value for key, value in keys.items()}
    labels = {name: value for name, value in short.items() if last.count(name) == 1}
    labels |= keys | {name: str(table[name][0]) for name in _RECORDED}
    labels["dataset"] = str(table["data_hash"][0])
    return labels | ((pattern and of_file_name(location, pattern)) or {})


def _leaves(tree: object, above: str = "") -> dict[str, str]:
    """All scalars of a config, by their keys; not the space that a sweep was drawn from."""
    if not isinstance(tree, Mapping):
        return {} if tree is None or isinstance(tree, list) else {above: str(tree)}
    leaves: dict[str, str] = {}
    for key, value in tree.items():
        if above or key != "sweep":
            leaves |= _leaves(value, f"{above}.{key}" if above else key)
    return leaves


def readable(texts: Mapping[str, str]) -> dict[str, str]:
    """Names of datasets by their hashes: where they came from, and the hash where that is shared.

    Args:
      texts: hash -> where the data came from.
    """
    shared = [text for text in texts.values() if list(texts.values()).count(text) > 1]
    return {
        key: f"{text} ({key[:8]})" if text in shared or not text else text
        for key, text in texts.items()
    }


def told_apart(names: Sequence[str], details: Sequence[Sequence[str]]) -> list[str]:
    """Names, and behind those that are alike the first of their details that tells them apart.

    Args:
      details: of each, the shortest first.
    """
    unique = list(names)
    for name in {name for name in names if names.count(name) > 1}:
        alike = [k for k, other in enumerate(names) if other == name]
        count = len(details[alike[0]])
        level = next(
            (d for d in range(count) if len({details[k][d] for k in alike}) == len(alike)), None
        )
        for k in alike:
            said = details[k] if level is None else [details[k][level]]
            unique[k] = f"{name} ({', '.join(said)})"
    return unique
