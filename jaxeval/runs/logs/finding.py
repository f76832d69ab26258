"""Finds logs of evaluations in files and folders, and reads the scores of all of them."""

import re
from collections.abc import Sequence
from pathlib import Path

from jaxeval.data import text
from jaxeval.errors import DataError, parsing, printable
from jaxeval.runs import cube, items
from jaxeval.runs.columns import paused_collector
from jaxeval.runs.layout import Layout
from jaxeval.runs.logs import inspect_logs, programs
from jaxeval.runs.logs.records import Collector, Reader, Source
from jaxeval.runs.rows import Rows
from jaxeval.runs.scores import Scores

_HEAD = 1 << 16
_EVAL_LOG = re.compile(rb'\s*\{\s*"(version|status|eval)"\s*:')
_SUFFIXES = (".eval", ".json", ".jsonl", ".ndjson")
_INSPECT = re.compile(r"\d{4}-\d\d-\d\dT")  # 2026-03-01T10-00-00+00-00_TASK_ID.json
_ANSWERS = re.compile(rb'"(score|correct|predicted)"\s*:')
_EXPECTED = (
    "samples_*.jsonl of lm-evaluation-harness (--log_samples), .eval or .json of Inspect, "
    "per_instance_stats.json of HELM, .jsonl of openai/evals or of predictions, .csv of items"
)


def read(paths: Sequence[str], layout: Layout | None = None) -> Scores:
    """Reads the scores of all logs in files and folders, of the tasks that all models have.

    Raises DataError: as `read_rows` and `cube.build`.

    Args:
      paths: as of `read_rows`.
    """
    layout = layout or Layout()
    return cube.build(read_rows(paths, layout), layout)


def read_rows(paths: Sequence[str], layout: Layout) -> Rows:
    """Reads all logs in files and folders.

    Raises DataError: names the file; no log, or no such task.

    Args:
      paths: PATH or NAME=PATH: all logs there are runs of the model NAME.
    """
    by_path: dict[Path, Source] = {}
    for source in (log for path in paths for log in _sources(path, bool(layout.columns))):
        first = by_path.setdefault(source.path.resolve(), source)  # named twice: read once
        if source.model and first.model and first.model != source.model:
            message = f"named as a run of {first.model} and of {source.model}; expected each once"
            raise DataError(message, source.path)
    readers = {source: _reader(source.path, True) for source in by_path.values()}
    collector = Collector(layout)
    inspect = [source for source, reader in readers.items() if reader is inspect_logs.read]
    replaced = {*inspect} - {*inspect_logs.latest(inspect, collector.notes)}
    logs = [source for source in readers if source not in replaced]
    with paused_collector():
        for source in logs:
            collector.read(source, readers[source] or items.read_log)
    more = [f"{len(paths) - 4} more"] if len(paths) > 4 else []
    named = ", ".join([*map(printable, paths[:4]), *more])
    name = f"{len(logs)} log{'s' if len(logs) > 1 else ''}: {named}"
    return collector.rows(name)


def _sources(given: str, any_lines: bool) -> list[Source]:
    """Returns the logs of an argument; raises DataError if there is none.

    Args:
      any_lines: JSON lines in a folder are read whatever their keys.
    """
    model, equals, rest = given.partition("=")
    if Path(given).exists() or not equals:
        model, rest = "", given  # HELM's folders have = in their names
    if not rest:
        raise DataError(f"{given}: expected a path, found none")
    path = Path(rest)
    if path.is_file():
        text.refuse_pointer(path)
        if _reader(path, True) is None:
            raise DataError(f"no log of an evaluation; expected {_EXPECTED}", path)
        return [Source(path, model)]
    if not path.is_dir():
        raise text.no_file(path)
    found = [
        file
        for file in sorted(path.rglob("*"))
        if file.is_file() and not any(p.startswith(".") for p in file.relative_to(path).parts)
    ]
    others = {f for f in found if f.suffix in items.TABLES and not items.is_table(f)}
    logs = [f for f in found if f not in others and _reader(f, any_lines) is not None]
    if not logs:
        only = any(programs.RESULTS.fullmatch(file.name) for file in found)
        hint = "results without samples: run lm_eval with --log_samples" if only else _EXPECTED
        raise DataError(f"no log of items in it; expected {hint}", path)
    return [Source(file, model) for file in logs]


def _reader(path: Path, any_lines: bool) -> Reader | None:
    """Returns the reader for a log file, or None if the file is not a log."""
    if path.suffix in items.TABLES:
        return items.read_log
    if path.suffix not in _SUFFIXES:
        return None
    named = programs.reader(path.name)
    if named or _INSPECT.match(path.name) or path.suffix != ".json":
        text.refuse_pointer(path)  # other JSON may be there, such as a model's
    if named or path.suffix == ".eval":
        return named or inspect_logs.read
    with parsing("cannot be read", path, passing=(MemoryError,)), path.open("rb") as file:
        head = file.read(_HEAD)
    if path.suffix == ".json" and _EVAL_LOG.match(head) and b'"eval"' in head:
        return inspect_logs.read
    if head.startswith(b'{"spec"'):
        return programs.read_evals
    lines = path.suffix != ".json" or b"\n{" in head
    return items.read_log if lines and (any_lines or _ANSWERS.search(head)) else None
