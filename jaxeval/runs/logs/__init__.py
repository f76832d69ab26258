"""Logs of evaluations in files and folders; no program is imported, and nothing in one is run."""

import dataclasses
import fnmatch
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from jaxeval.data import text
from jaxeval.errors import ConfigError, DataError, JaxevalError, argument, parsing, printable
from jaxeval.runs import cube, items
from jaxeval.runs.columns import Columns, counted, listed
from jaxeval.runs.layout import Layout
from jaxeval.runs.logs import inspect_logs, programs
from jaxeval.runs.logs.records import Log, Reader, Record, Text
from jaxeval.runs.metrics import Key
from jaxeval.runs.normal import Rows
from jaxeval.runs.scores import Scores, Status
from jaxeval.runs.texts import Coded, constant, join

_MOST = 50_000_000  # scores of all logs
_MOST_SHOWN = 4000  # characters of a text
_HEAD = 1 << 16
_EVAL_LOG = re.compile(rb'\s*\{\s*"(version|status|eval)"\s*:')
_SUFFIXES = (".eval", ".json", ".jsonl", ".ndjson")
_INSPECT = re.compile(r"\d{4}-\d\d-\d\dT")  # 2026-03-01T10-00-00+00-00_TASK_ID.json
_ANSWERS = re.compile(rb'"(score|correct|predicted)"\s*:')
_RESULTS = re.compile(r"results_.*\.json")
_EXPECTED = (
    "samples_*.jsonl of lm-evaluation-harness (--log_samples), .eval or .json of Inspect, "
    "per_instance_stats.json of HELM, .jsonl of openai/evals or of predictions, .csv of items"
)
_CODED = ("model", "dataset", "metric", "item", "cluster", "content")
_Texts = Callable[[Path, Collection[str]], Iterator[tuple[str, Text]]]
# reader of scores -> the names of its files ("": known by their content), reader of texts
_FORMATS: dict[Reader, tuple[str, _Texts]] = {
    inspect_logs.read: (r".*\.eval", inspect_logs.texts),
    programs.read_lm_eval: (programs.SAMPLES.pattern, programs.lm_eval_texts),
    programs.read_helm: (re.escape(programs.HELM), programs.helm_texts),
    programs.read_evals: ("", programs.evals_texts),
    programs.read_answers: ("", programs.answer_texts),
}


def read(paths: Sequence[str | Path], layout: Layout | None = None) -> Scores:
    """Reads the scores of all logs in files and folders, of the tasks that all models have.

    Raises DataError: as `read_rows` and `cube.build`.

    Args:
      paths: as of `read_rows`.
    """
    layout = layout or Layout()
    return cube.build(read_rows(paths, layout), layout)


def read_rows(paths: Sequence[str | Path], layout: Layout) -> Rows:
    """Reads all logs in files and folders.

    Raises DataError: names the file; no log, or no such task.

    Args:
      paths: PATH or NAME=PATH: all logs there are runs of the model NAME.
    """
    if not paths:
        raise ConfigError("expected files or folders of logs")
    logs: dict[Path, Log] = {}
    for log in (log for path in paths for log in _find(str(path), layout)):
        first = logs.get(log.path.resolve(), log)  # named twice: read once
        logs[log.path.resolve()] = first if first.model else log
        if log.model and first.model and first.model != log.model:
            message = f"named as a run of {first.model} and of {log.model}; expected each once"
            raise DataError(message, log.path)
    found: list[tuple[Log, Rows]] = []
    total = 0
    last: dict[tuple[str, ...], Log] = {}
    for log in logs.values():
        with parsing("cannot be read", log.path, passing=(JaxevalError, MemoryError)):
            of_log = log.read(log)
            rows = of_log if isinstance(of_log, Rows) else _from_records(of_log, log)
        model = constant(printable(log.model), len(rows)) if log.model else rows.model
        found.append((log, dataclasses.replace(rows, model=model)))
        if (total := total + len(rows)) > _MOST:
            raise DataError(f"more than {_MOST} scores", log.path)
        for of, when in log.tried.items():
            last[of] = log if of not in last or when > last[of].tried[of] else last[of]
    whole = [(log, rows) for log, rows in found if all(last[of] is log for of in log.tried)]
    notes = _check(whole, layout)
    if again := len(found) - len(whole):
        notes["a log of an evaluation that was tried again is left out"] = again
    named = f"{counted(len(whole), 'log')}: {listed(paths, 4, longest=None)}"
    rows = _merge(whole, named, layout)
    said = (f"{note} ({n} times)" if n > 1 else note for note, n in notes.items())
    return dataclasses.replace(rows, warnings=tuple(map(printable, said)))


def are_in(path: str | Path) -> bool:
    """Returns whether a path has logs; nothing of them is read but how they begin."""
    try:
        return bool(_find(str(path), Layout()))
    except DataError:
        return False


def read_texts(path: Path, wanted: Collection[str]) -> dict[str, Text]:
    """Returns the texts of items of a log, by id; of several answers the first.

    Readers of scores keep none of it: the file is read again for the items of one page.

    Raises:
      DataError: the log cannot be read.
    """
    found: dict[str, Text] = {}
    _, texts = _FORMATS[_reader(path, True) or programs.read_answers]
    with parsing("cannot be read", path, passing=(JaxevalError, MemoryError)):
        for item, new in texts(path, wanted):
            if item in wanted:
                both = zip(found.get(item, Text()), map(_short, new), strict=True)
                found[item] = Text(*(old or of for old, of in both))
    return found


def _short(text: str) -> str:
    cut = f"{text[:_MOST_SHOWN]} \u2026 ({len(text)} characters)"
    return text if len(text) <= _MOST_SHOWN else cut


def _find(given: str, layout: Layout) -> list[Log]:
    """Returns the logs of an argument; raises DataError if there is none."""
    model, equals, rest = given.partition("=")
    if Path(given).exists() or not equals:
        model, rest = "", given  # HELM's folders have = in their names
    if not rest:
        raise DataError(f"{given}: expected a path, found none")
    path = Path(rest)
    if path.is_file():
        text.refuse_pointer(path)
        if (reader := _reader(path, True)) is None:
            raise DataError(f"no log of an evaluation; expected {_EXPECTED}", path)
        return [Log(path, reader, model, layout)]
    if not path.is_dir():
        raise text.no_file(path)
    found = [
        file
        for file in sorted(path.rglob("*"))
        if file.is_file() and not any(p.startswith(".") for p in file.relative_to(path).parts)
    ]
    any_lines = bool(layout.columns)  # JSON lines are read whatever their keys
    fitting = (file for file in found if not programs.lacks_items(file))
    logs = [(file, reader) for file in fitting if (reader := _reader(file, any_lines))]
    if not logs:
        only = any(_RESULTS.fullmatch(file.name) for file in found)
        hint = "results without samples: run lm_eval with --log_samples" if only else _EXPECTED
        raise DataError(f"no log of items in it; expected {hint}", path)
    return [Log(file, reader, model, layout) for file, reader in logs]


def _reader(path: Path, any_lines: bool) -> Reader | None:
    """Returns the reader for a log file, or None if the file is not a log."""
    if path.suffix in programs.TABLES:
        return programs.read_answers
    if path.suffix not in _SUFFIXES:
        return None
    known = (of for of, (name, _) in _FORMATS.items() if re.fullmatch(name, path.name))
    named = next(known, None)
    if named or _INSPECT.match(path.name) or path.suffix != ".json":
        text.refuse_pointer(path)  # other JSON may be there, such as a model's
    if named:
        return named
    with parsing("cannot be read", path, passing=(MemoryError,)), path.open("rb") as file:
        head = file.read(_HEAD)
    if path.suffix == ".json" and _EVAL_LOG.match(head) and b'"eval"' in head:
        return inspect_logs.read
    if head.startswith(b'{"spec"'):
        return programs.read_evals
    lines = path.suffix != ".json" or b"\n{" in head
    return programs.read_answers if lines and (any_lines or _ANSWERS.search(head)) else None


def _from_records(records: Iterator[Record], log: Log) -> Rows:
    columns = [*zip(*records, strict=True)] or [()] * len(Record._fields)
    values = dict(zip(Record._fields, columns, strict=True))
    table = Columns(str(log.path), values, range(1, len(columns[0]) + 1))
    rows = items.to_rows(table, label="", scored="")
    rows.status[rows.metric.among([""])] = Status.FAILED
    return rows


def _is_wanted(task: str, layout: Layout) -> bool:
    return not layout.tasks or any(x == task or fnmatch.fnmatchcase(task, x) for x in layout.tasks)


def _check(found: Sequence[tuple[Log, Rows]], layout: Layout) -> Counter[str]:
    """Returns notes and how often they hold; refuses logs that do not belong together.

    Raises DataError: no requested task, no score, scores that no task or run tells apart.
    """
    notes = Counter[str]()
    unplaced: dict[str, Path] = {}
    scored = False
    settings: dict[Key, dict[str, None]] = {}
    tasks: dict[str, None] = {}
    for log, rows in found:
        tasks |= dict.fromkeys(rows.dataset.names)
        wanted = [task for task in rows.dataset.names if _is_wanted(task, layout)]
        notes.update(log.notes if wanted else ())
        known = rows.dataset.among(wanted) & (rows.status == Status.SCORED)
        scored = scored or bool(known.any())
        for key, words in log.settings.items() if not log.model else ():
            settings.setdefault(key, {})[words] = None
        placed = "name" in rows.labels or rows.dataset.names != ("",) or log.model
        for model in () if placed else rows.model.names:
            first = unplaced.setdefault(model, log.path)
            if first != log.path:
                message = f"model {model} is in {first.name} too; expected a key task, or run"
                raise DataError(message, log.path)
    for asked in layout.tasks:
        if not any(_is_wanted(known, Layout(tasks=[asked])) for known in tasks):
            expected = f"expected one of {listed(tasks)}"
            raise DataError(f"{argument('task')}: no task {asked!r} in the logs; {expected}")
    if not scored:
        reason = "; ".join(map(printable, notes)) or "no item has one"
        raise DataError(f"no score in {counted(len(found), 'log')} ({reason})")
    for (model, _), each in settings.items():
        if len(each) > 1:
            differ = f"({'; '.join(words or 'none' for words in each):.200})"
            said = f"logs of {model} differ in their settings {differ} and count as one"
            notes[f"{said} model; NAME=PATH separates them"] = 1
    return notes


def _merge(found: Sequence[tuple[Log, Rows]], source: str, layout: Layout) -> Rows:
    """Returns the rows of all logs; raises DataError if a metric has two directions."""
    parts = [rows for _, rows in found]
    sizes = [*map(len, parts)]
    dataset = join([rows.dataset for rows in parts])
    keep = dataset.among([task for task in dataset.names if _is_wanted(task, layout)])

    def coded(columns: Iterable[Coded | None]) -> Coded:
        """Joins columns; "" is unknown."""
        each = zip(columns, sizes, strict=True)
        whole = join([constant("", n) if c is None else c for c, n in each])
        names = tuple(filter(None, whole.names))
        places = {name: k for k, name in enumerate(names)}
        codes = np.array([places.get(name, -1) for name in whole.names], np.int32)
        return Coded(names, codes[whole.codes[keep]])

    def joined(find: Callable[[Rows], np.ndarray]) -> np.ndarray:
        return np.concatenate([*map(find, parts)])[keep]

    own = {name: coded(getattr(r, name) for r in parts) for name in _CODED}
    own["dataset"] = Coded(dataset.names, dataset.codes[keep])
    run = joined(lambda rows: rows.run) + np.repeat(np.cumsum([0, *sizes[:-1]]), sizes)[keep]
    logs = np.repeat(np.arange(len(parts)), sizes)[keep]
    return Rows(
        source,
        **own,  # type: ignore[arg-type]
        run=run,
        score=joined(lambda rows: rows.score),
        status=joined(lambda rows: rows.status),
        number=run + 1,
        labels={"name": coded(rows.labels.get("name") for rows in parts)},
        sample=joined(lambda r: np.ones(len(r), int) if r.sample is None else r.sample),
        recorded=_directions([log for log, _ in found]),
        file=Coded(tuple(str(log.path) for log, _ in found), logs),
    )


def _directions(logs: Sequence[Log]) -> dict[Key, bool]:
    """Returns whether higher is better; raises DataError if logs differ in it."""
    recorded: dict[Key, bool] = {}
    for log in logs:
        for key, higher in log.directions.items():
            if recorded.setdefault(key, higher) != higher:
                message = f"{', '.join(key)}: logs differ in whether higher is better"
                raise DataError(message, log.path)
    return recorded
