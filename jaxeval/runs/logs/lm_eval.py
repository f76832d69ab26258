"""Samples of lm-evaluation-harness: samples_TASK_DATE.jsonl beside results_DATE.json.

A line is a document under a filter, with a key for each metric (lm_eval/result_schema.py); written
with `lm_eval --output_path DIR --log_samples`, from version 0.4.7 on.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from jaxeval.errors import DataError
from jaxeval.files import Json
from jaxeval.runs.layout import Layout
from jaxeval.runs.logs import files, records
from jaxeval.runs.logs.records import Notes, Record, Source

_NAMED = re.compile(r"samples_(?P<task>.+?)(?:_(?P<date>\d{4}-\d\d-\d\dT[\d.+-]+?))?\.jsonl")
RESULTS = re.compile(r"results_.*\.json")
_READ = ("model_name", "higher_is_better", "config", "n-samples")
_SETTINGS = ("model_args", "gen_kwargs")  # how a model was made, and how it answered
_PERPLEXITY = "perplexity"  # of an item its log-likelihood, whose exp(-mean) the results have


def is_log(path: Path) -> bool:
    """Whether a file is named as the harness names samples."""
    return _NAMED.fullmatch(path.name) is not None


def read(source: Source, layout: Layout, notes: Notes) -> Iterator[Record]:
    """The scores in a file of samples; metrics that are no number of an item are noted.

    Raises:
      DataError: naming the line.
    """
    named = _NAMED.fullmatch(source.path.name)
    task, date = (named["task"], named["date"]) if named else (source.path.stem, None)
    results = _results(source.path, date)
    directions, counts = (
        _of(_of(results.get(k)).get(task)) for k in ("higher_is_better", _READ[3])
    )
    made = [_of(results.get("config")).get(key) for key in _SETTINGS] if results else None
    items = set[str]()
    for number, sample in files.lines(source.path):
        item = records.label(sample.get("doc_id"), "doc_id", source, number)
        items.add(item)
        base = Record(
            str(results.get("model_name") or source.path.parent.name),
            task,
            "",
            item,
            0.0,
            cluster=records.cluster_of(sample.get("doc"), layout, source, item, number),
            content=_joined(sample, "doc_hash", "target_hash"),
            prompt=_joined(sample, "prompt_hash"),
            settings=records.settings(*made) if made else None,
        )
        metrics = sample.get("metrics")
        if not isinstance(metrics, list):
            expected = "expected a list of names, as lm-evaluation-harness has it from 0.4.7 on"
            raise DataError(f"metrics: {expected}", source.path, number)
        for name in map(str, metrics):
            yield from _score(base, sample, name, directions.get(name), notes)
    records.note_lost(len(items), counts.get("effective"), source, notes)


def _score(
    base: Record, sample: Mapping[str, Json], name: str, higher: Json, notes: Notes
) -> Iterator[Record]:
    """A metric of a line; a log-likelihood under the name of perplexity as nll, its negative."""
    score = records.number(sample.get(name))
    if name == _PERPLEXITY and score is not None and score <= 0:
        said = "perplexity of an item is its log-likelihood, and is read as nll (nats)"
        notes[f"task {base.dataset}: {said}"] = 1
        name, score, higher = "nll", 0.0 - score, False
    filtered = str(sample.get("filter") or "none")
    metric = name if filtered == "none" else f"{name}/{filtered}"
    if score is None:
        notes[f"task {base.dataset}: {metric} is no number of each item, and is left out"] += 1
    else:
        known = higher if isinstance(higher, bool) else None
        yield base._replace(metric=metric, score=score, higher_is_better=known)


def _joined(sample: Mapping[str, Json], *names: str) -> str:
    """Several hashes as one; "" where one lacks."""
    values = [str(sample.get(name) or "") for name in names]
    return "".join(values) if all(values) else ""


def _of(tree: Json) -> Mapping[str, Json]:
    return tree if isinstance(tree, Mapping) else {}


def _results(path: Path, date: str | None) -> dict[str, Json]:
    """What is read of the results of the same date; the rest, such as configs, is not kept."""
    beside = sorted(path.parent.glob(f"*_{date}.json")) if date else []
    for results in beside:
        return {key: value for key, value in files.members(results) if key in _READ}
    return {}
