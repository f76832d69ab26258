"""Scores in logs of Inspect, of finished runs and of such that go on."""

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from jaxeval.errors import DataError
from jaxeval.files import Json
from jaxeval.runs.logs import inspect_files, records
from jaxeval.runs.logs.records import Keys, Notes, Record, Source

# as inspect_ai's value_to_float reads them
_VALUES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_SETTINGS = ("model_args", "model_generate_config")
_MOST_TEXT = 5120  # characters, of a summary's input and target
_TEXTS = ("content", "text")
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


class _Run(NamedTuple):
    """A log's head: of which model, made how, and task."""

    model: str
    task: str
    settings: frozenset[str]


def read(source: Source, keys: Keys, notes: Notes) -> Iterator[Record]:
    """The scores of a log: a metric a scorer, or a scorer and a key of its value.

    Raises:
      DataError: as of `inspect_files.pieces`; samples that are none.
    """
    run, completed, held = None, None, 0
    for key, tree in inspect_files.pieces(source.path):
        if key == "eval" and isinstance(tree, Mapping):
            run = _run(tree, source)
            for reducer in _reducers(tree):
                said = f"its answers of several epochs are reduced by {reducer}"
                notes[f"{source.path.name}: {said}; here their mean is compared"] += 1
        elif key == "status" and tree != "success":
            notes[f"{source.path.name}: status {tree}: other samples may be missing"] += 1
        elif key == "invalidated" and tree:
            notes[f"{source.path.name}: marked as invalidated"] += 1
        elif key == "results" and isinstance(tree, Mapping):
            completed = tree.get("completed_samples")
        elif key == "samples" and isinstance(tree, Mapping):
            if run is None:
                raise DataError("samples before eval, which says whose they are", source.path)
            held += 1
            yield from _sample(tree, run, source, keys, notes)
    if run is None:
        raise DataError("no eval, which says of which model and task the log is", source.path)
    records.note_lost(held, completed, source, notes)


def latest(sources: Sequence[Source], notes: Notes) -> list[Source]:
    """The logs without those of evaluations that were tried again: a later log has it all."""
    last: dict[tuple[str, ...], tuple[str, Source]] = {}
    for source in sources:
        head = next((t for k, t in inspect_files.pieces(source.path) if k == "eval"), None)
        tree = head if isinstance(head, Mapping) else {}
        task_id = tree.get("task_id") or source.path
        key = (source.model, str(tree.get("model")), str(tree.get("task")), str(task_id))
        entry = str(tree.get("created")), source
        last[key] = max(last.get(key, entry), entry, key=lambda e: e[0])
    again = len(sources) - len(last)
    if again:
        notes["a log of an evaluation that was tried again is left out"] += again
    return [source for _, source in last.values()]


def _run(head: Mapping[str, Json], source: Source) -> _Run:
    arguments = head.get("task_args")
    words = arguments.items() if isinstance(arguments, Mapping) else ()
    plain = [f"{k}={v}" for k, v in sorted(words) if not isinstance(v, Mapping | list | None)]
    task = records.label(head.get("task"), "eval.task", source)
    return _Run(
        records.label(head.get("model"), "eval.model", source),
        f"{task} ({', '.join(plain)})" if plain else task,
        frozenset().union(*(records.settings(head.get(of)) for of in _SETTINGS)),
    )


def _reducers(head: Mapping[str, Json]) -> list[str]:
    """How the log reduces several answers to an item, where not by their mean."""
    config = head.get("config")
    tree = config if isinstance(config, Mapping) else {}
    epochs, reducers = tree.get("epochs"), tree.get("epochs_reducer")
    if not isinstance(epochs, int) or epochs < 2 or not isinstance(reducers, list):
        return []
    return [str(reducer) for reducer in reducers if reducer != "mean"]


def _thinned(tree: Json) -> Json:
    """An input as Inspect has it in summaries: texts cut, a word for images and the like."""
    if isinstance(tree, str):
        return tree[:_MOST_TEXT]
    if isinstance(tree, list):
        return [_thinned(value) for value in tree]
    if not isinstance(tree, Mapping):
        return tree
    kind = tree.get("type")
    if "role" not in tree and isinstance(kind, str) and kind != "text":
        return {"type": "text", "text": f"({kind.capitalize()})"}
    return {key: _thinned(value) if key in _TEXTS else value for key, value in tree.items()}


def _sample(
    sample: Mapping[str, Json], run: _Run, source: Source, keys: Keys, notes: Notes
) -> Iterator[Record]:
    item = records.label(sample.get("id"), "a sample's id", source)
    base = Record(
        *(run.model, run.task, "", item, math.nan),
        sample=records.sample(sample.get("epoch"), source),
        cluster=records.cluster_of(sample.get("metadata"), keys, source, item),
        content=records.digest(_thinned(sample.get("input"))),
        prompt=records.digest(_thinned(sample.get("target"))),
        settings=run.settings,
    )
    scores = sample.get("scores")
    if not isinstance(scores, Mapping) or not scores:
        failed = bool(sample.get("error") or sample.get("limit"))
        if not failed:
            notes[f"{source.path.name}: samples without scores count as failed"] += 1
        yield base._replace(status="failed")
        return
    for scorer, score in scores.items():
        value = score.get("value") if isinstance(score, Mapping) else None
        for name, part in _parts(scorer, value):
            if isinstance(part, list):
                notes[f"task {run.task}: {name} is a list, and is left out"] += 1
                continue
            number = _number(part)
            status: records.Status = "scored" if math.isfinite(number) else "unscored"
            yield base._replace(metric=name, score=number, status=status)


def _parts(scorer: str, value: Json) -> Iterator[tuple[str, Json]]:
    """A value, or those that it holds under keys."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _parts(f"{scorer}/{key}", part)
    else:
        yield scorer, value


def _number(value: Json) -> float:
    """A value as Inspect counts it; NaN, its mark of an answer without a score, for the rest."""
    if not isinstance(value, str):
        number = records.number(value)
        return math.nan if number is None else number
    known = _VALUES.get(value, _WORDS.get(value.lower()))
    with contextlib.suppress(ValueError):
        return float(value) if known is None else known
    return math.nan
