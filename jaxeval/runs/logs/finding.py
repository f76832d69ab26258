"""Which files are logs, of which program, and their scores as one table."""

import functools
import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from jaxeval.data import text
from jaxeval.errors import DataError, JaxevalError, parsing
from jaxeval.runs.logs import helm, inspect_logs, lm_eval, openai_evals, predictions, tables
from jaxeval.runs.logs.records import Keys, Notes, Reader, Record, Source
from jaxeval.runs.logs.tables import LogTable

_HEAD = 1 << 16
_MOST_FILES = 100_000
_EVAL_LOG = re.compile(rb'\s*\{\s*"(version|status|eval)"\s*:')
_SUFFIXES = (".eval", ".json", ".jsonl", ".ndjson")
_INSPECT = re.compile(r"\d{4}-\d\d-\d\dT")  # 2026-03-01T10-00-00+00-00_TASK_ID.json
_ANSWERS = re.compile(rb'"(score|correct|predicted)"\s*:')
_EXPECTED = (
    "samples_*.jsonl of lm-evaluation-harness (--log_samples), .eval or .json of Inspect, "
    "per_instance_stats.json of HELM, .jsonl of openai/evals or of predictions, .csv of items"
)


def read(paths: Sequence[str], keys: Keys | None = None, tasks: Sequence[str] = ()) -> LogTable:
    """The scores of all logs in files and folders.

    Args:
      paths: PATH or NAME=PATH: all logs there are of the model NAME, each a run of it.
      tasks: only these, or of these patterns; none: all.

    Raises:
      DataError: naming the file; no log among them; no such task.
    """
    keys, notes = keys or Keys(), Notes()
    any_lines = bool(keys.columns)
    sources = dict.fromkeys(source for path in paths for source in _sources(path, any_lines))
    by_path: dict[Path, Source] = {}
    for source in sources:  # one that was named twice is read once
        first = by_path.setdefault(source.path.resolve(), source)
        if source.model and first.model and first.model != source.model:
            message = f"named as a run of {first.model} and of {source.model}; expected each once"
            raise DataError(message, source.path)
    readers = {source: _reader(source.path, True) for source in by_path.values()}
    of_inspect = [s for s, reader in readers.items() if reader is inspect_logs.read]
    kept = {*inspect_logs.latest(of_inspect, notes)}
    logs = [
        (source, functools.partial(_records, source, reader, keys))
        for source, reader in readers.items()
        if reader is not None and (reader is not inspect_logs.read or source in kept)
    ]
    return tables.of_logs(logs, notes, tasks)


def files(paths: Sequence[str], any_lines: bool = False) -> list[Path]:
    """The files that `read` reads of files and folders.

    Args:
      any_lines: as of `_sources`.
    """
    return [source.path for path in paths for source in _sources(path, any_lines)]


def _records(source: Source, reader: Reader, keys: Keys, notes: Notes) -> Iterator[Record]:
    with parsing("cannot be read", source.path, passing=(JaxevalError, MemoryError)):
        yield from reader(source, keys, notes)


def _sources(argument: str, any_lines: bool) -> list[Source]:
    """The logs of an argument.

    Args:
      any_lines: whether all JSON lines in a folder are taken for predictions.

    Raises:
      DataError: no such file, or none in it.
    """
    model, equals, rest = argument.partition("=")
    if Path(argument).exists() or not equals:
        model, rest = "", argument  # HELM's folders have = in their names
    if not rest:
        raise DataError(f"--log {argument}: expected a path, found none")
    path = Path(rest)
    if path.is_file():
        text.refuse_pointer(path)
        if _reader(path, True) is None:
            raise DataError(f"no log of an evaluation; expected {_EXPECTED}", path)
        return [Source(path, "", model)]
    if not path.is_dir():
        raise text.no_file(path)
    files = [*itertools.islice(_files(path), _MOST_FILES + 1)]
    if len(files) > _MOST_FILES:
        raise DataError(f"more than {_MOST_FILES} files; name a smaller folder", path)
    others = {f for f in files if f.suffix in predictions.TABLES and not predictions.is_table(f)}
    logs = [f for f in files if f not in others and _reader(f, any_lines) is not None]
    if not logs:
        only = any(lm_eval.RESULTS.fullmatch(file.name) for file in files)
        hint = "results without samples: run lm_eval with --log_samples" if only else _EXPECTED
        raise DataError(f"no log of items in it; expected {hint}", path)
    return [Source(f, str(f.relative_to(path).with_suffix("")), model) for f in logs]


def _files(folder: Path) -> Iterator[Path]:
    """Files below a folder in the order of their names; hidden ones are passed over."""
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.is_file() and not hidden:
            yield path


def _reader(path: Path, any_lines: bool) -> Reader | None:
    """Who reads a file; None: it is no log.

    Args:
      any_lines: whether JSON lines are predictions though they look like none.
    """
    if path.suffix in _SUFFIXES and (_is_named(path) or path.suffix != ".json"):
        text.refuse_pointer(path)
    if path.suffix == ".eval":
        return inspect_logs.read
    if helm.is_log(path):
        return helm.read
    if lm_eval.is_log(path):
        return lm_eval.read
    if path.suffix in predictions.TABLES:
        return predictions.read
    if path.suffix not in _SUFFIXES:
        return None
    head = _head(path)
    if path.suffix == ".json" and _EVAL_LOG.match(head) and b'"eval"' in head:
        return inspect_logs.read
    if head.startswith(b'{"spec"'):
        return openai_evals.read
    lines = path.suffix != ".json" or b"\n{" in head
    return predictions.read if lines and (any_lines or _ANSWERS.search(head)) else None


def _is_named(path: Path) -> bool:
    """Whether a file is named as a log is: other JSON may be there, such as a model's."""
    return bool(_INSPECT.match(path.name) or lm_eval.is_log(path) or helm.is_log(path))


def _head(path: Path) -> bytes:
    with parsing("cannot be read", path, passing=(MemoryError,)), path.open("rb") as file:
        return file.read(_HEAD)
