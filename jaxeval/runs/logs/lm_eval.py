"""Samples of lm-evaluation-harness: samples_TASK_DATE.jsonl beside results_DATE.json.

A line is a document under a filter, with a key for each metric (lm_eval/result_schema.py); written
with `lm_eval --output_path DIR --log_samples`. Until November 2024 (0.4.3 to 0.4.6) a line names
neither its metrics nor its filter: a document's lines stand in the order of the filters, as the
results do (lm_eval/evaluator.py). Of May and June 2024 the file ends in .json, maybe of one array.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from jaxeval.data import text
from jaxeval.errors import DataError
from jaxeval.files import Json
from jaxeval.runs.logs import archive, records, streaming
from jaxeval.runs.logs.records import Keys, Notes, Record, Source

_NAMED = re.compile(r"samples_(?P<task>.+?)(?:_(?P<date>\d{4}-\d\d-\d\dT[\d.+-]+?))?\.jsonl?")
_MOST_BYTES = 1 << 26  # of aggregated results
RESULTS = re.compile(r"results_.*\.json")
_NO_METRICS = {  # of a line that does not say which keys are
    *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter"),
    *("doc_hash", "prompt_hash", "target_hash"),
}
_SETTINGS = ("model_args", "gen_kwargs")
# of tasks of loglikelihood an item's log-likelihood, whose exp(-mean) the results have
_PERPLEXITY = "perplexity"


class _Evaluation(NamedTuple):
    """What is written of all samples together; filters in the order of the results.

    Attributes:
      documents: how many were answered; None: unknown.
    """

    model: str
    higher_is_better: Mapping[str, bool | None]
    filters: tuple[str, ...]
    settings: frozenset[str] | None = None
    documents: Json = None


def is_log(path: Path) -> bool:
    """Whether a file is named as the harness names samples."""
    named = _NAMED.fullmatch(path.name)
    return named is not None and (path.suffix == ".jsonl" or named["date"] is not None)


def read(source: Source, keys: Keys, notes: Notes) -> Iterator[Record]:
    """The scores in a file of samples; metrics that are no number of an item are noted.

    Raises:
      DataError: naming the line.
    """
    named = _NAMED.fullmatch(source.path.name)
    task, date = (named["task"], named["date"]) if named else (source.path.stem, None)
    of, unnamed, items = _evaluation(source.path, task, date), Counter[str](), set[str]()
    for number, sample in _samples(source.path):
        item = records.label(sample.get("doc_id"), "doc_id", source, number)
        items.add(item)
        base = Record(
            of.model,
            task,
            "",
            item,
            0.0,
            cluster=records.cluster_of(sample.get("doc"), keys, source, item, number),
            content=_joined(sample, "doc_hash", "target_hash"),
            prompt=_joined(sample, "prompt_hash"),
            settings=of.settings,
        )
        filtered = sample.get("filter") or _unnamed_filter(of, unnamed, source, item)
        yield from _scores(base, sample, str(filtered), of.higher_is_better, notes)
    records.note_lost(len(items), of.documents, source, notes)


def _unnamed_filter(of: _Evaluation, seen: Counter[str], source: Source, item: str) -> str:
    """By how often the document was there before; `seen` counts it."""
    seen[item] += 1
    if seen[item] > 1 and not of.filters:
        twice = f"doc_id {item:.60} is there twice; expected results_DATE.json beside it, by which"
        raise DataError(f"{twice} filters are told apart in logs before 0.4.7", source.path)
    names = of.filters or ("none",)
    return names[min(seen[item], len(names)) - 1]  # one time more is refused as there twice


def _samples(path: Path) -> Iterator[tuple[int | None, Mapping[str, Json]]]:
    """Number of the line and sample; of an array, which has no lines, None."""
    with path.open("rb") as file:
        if path.suffix == ".jsonl" or not file.read(1 << 12).lstrip().startswith(b"["):
            yield from streaming.objects(path)
            return
        file.seek(0)
        for _, sample in streaming.members(archive.Bounded(file, path), path, ()):
            if not isinstance(sample, Mapping):
                raise DataError("expected an array of objects", path)
            yield None, sample


def _scores(
    base: Record,
    sample: Mapping[str, Json],
    filtered: str,
    higher_is_better: Mapping[str, bool | None],
    notes: Notes,
) -> Iterator[Record]:
    """All of a line; a log-likelihood under the name of perplexity as nll, its negative."""
    metrics = sample.get("metrics")
    if not isinstance(metrics, list):
        metrics = [name for name in sample if name not in _NO_METRICS]
    for name in metrics:
        score, higher = records.number(sample.get(str(name))), higher_is_better.get(str(name))
        if name == _PERPLEXITY and score is not None and score <= 0:
            said = "perplexity of an item is its log-likelihood, and is read as nll (nats)"
            notes[f"task {base.task}: {said}"] = 1
            name, score, higher = "nll", 0.0 - score, False
        metric = str(name) if filtered == "none" else f"{name}/{filtered}"
        if score is None:
            notes[f"task {base.task}: {metric} is no number of each item, and is left out"] += 1
        else:
            yield base._replace(metric=metric, score=score, higher_is_better=higher)


def _joined(sample: Mapping[str, Json], *names: str) -> str:
    """Several hashes as one; "" where one lacks, as in old logs."""
    values = [str(sample.get(name) or "") for name in names]
    return "".join(values) if all(values) else ""


def _evaluation(path: Path, task: str, date: str | None) -> _Evaluation:
    """What is known of a file of samples, by the results of the same date."""
    together = sorted(path.parent.glob(f"*_{date}.json")) if date else []
    together = [file for file in together if not file.name.startswith("samples_")]
    for results in together:
        tree = _members(results)
        directions = tree.get("higher_is_better")
        of_task = directions.get(task) if isinstance(directions, Mapping) else None
        known = of_task if isinstance(of_task, Mapping) else {}
        return _Evaluation(
            str(tree.get("model_name") or path.parent.name),
            {name: higher for name, higher in known.items() if isinstance(higher, bool)},
            _filters(tree.get("results"), task),
            _settings(tree.get("config")),
            _documents(tree.get("n-samples"), task),
        )
    return _Evaluation(path.parent.name, {}, ())


def _settings(config: Json) -> frozenset[str] | None:
    """How a model was made (revision, dtype ...) and how it answered; None: unknown."""
    if not isinstance(config, Mapping):
        return None
    return frozenset().union(*(_arguments(config.get(of)) for of in _SETTINGS))


def _arguments(given: Json) -> frozenset[str]:
    """Of an object, or of a text KEY=VALUE,..."""
    if isinstance(given, str):
        given = dict(part.partition("=")[::2] for part in given.split(",") if part)
    return records.settings(given)


def _documents(counts: Json, task: str) -> Json:
    """How many the results of a task are of."""
    of_task = counts.get(task) if isinstance(counts, Mapping) else None
    return of_task.get("effective") if isinstance(of_task, Mapping) else None


def _filters(results: Json, task: str) -> tuple[str, ...]:
    """Of the keys METRIC,FILTER of a task's results."""
    keys = results.get(task) if isinstance(results, Mapping) else None
    keys = keys if isinstance(keys, Mapping) else {}
    return tuple(dict.fromkeys(key.rpartition(",")[2] for key in keys if "," in key))


def _members(path: Path) -> dict[str, Json]:
    """What is read of the results: the rest, such as configs, is not kept."""
    try:
        text.refuse_pointer(path)
        with path.open("rb") as file:
            stream = archive.Bounded(file, path, _MOST_BYTES)
            members = ("model_name", "higher_is_better", "results", "config", "n-samples")
            return {k: v for k, v in streaming.members(stream, path, ()) if k in members}
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", path) from None
