"""Logs of HELM and of openai/evals."""

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from jaxeval.errors import DataError
from jaxeval.files import Json
from jaxeval.runs.layout import Layout
from jaxeval.runs.logs import files, records
from jaxeval.runs.logs.records import Notes, Record, Source
from jaxeval.runs.scores import Status

HELM = "per_instance_stats.json"
# what HELM says of requests, not of answers
_BOOKKEEPING = re.compile(
    r"num_references|num_train_\w+|num_prompt_tokens|prompt_truncated|training_\w+_cost|batch_size"
    r"|finish_reason_\w+"
)
_OF_MODEL = re.compile(r"[,:](?:model|model_deployment)=(?P<model>[^,]*)")


def read_helm(source: Source, layout: Layout, notes: Notes) -> Iterator[Record]:
    """The scores of a run of HELM: per_instance_stats.json beside run_spec.json.

    A statistic is a sum and how many numbers it sums; trials, each with other examples in its
    prompts, are runs; other splits than test are tasks of their own. Perturbed instances are left
    out and noted.

    Raises:
      DataError: naming the instance.
    """
    if layout.cluster:
        raise DataError(f"HELM's {HELM} holds no data of items to cluster them by", source.path)
    model, task = _run(source.path)
    seen: set[int] = set()  # statistics that two of HELM's metrics give alike
    for _, instance in files.members(source.path):
        if not isinstance(instance, Mapping):
            raise DataError("expected a list of objects", source.path)
        if instance.get("perturbation"):
            notes[f"task {task}: perturbed instances are left out"] += 1
            continue
        item = records.label(instance.get("instance_id"), "instance_id", source)
        trial = f"trial {instance.get('train_trial_index', 0)}"
        for split, metric, score in _statistics(instance, source):
            key = hash((item, trial, split, metric))
            if key not in seen:
                seen.add(key)
                of_split = task if split == "test" else f"{task} ({split})"
                yield Record(model, of_split, metric, item, score, trial)


def _statistics(instance: Mapping[str, Json], source: Source) -> Iterator[tuple[str, str, float]]:
    """Split, name and mean of each statistic of an answer, of at least one number."""
    stats = instance.get("stats")
    for stat in stats if isinstance(stats, list) else ():
        if not isinstance(stat, Mapping):
            raise DataError("stats: expected a list of objects", source.path)
        named = stat.get("name")
        name = named if isinstance(named, Mapping) else {"name": named}
        total, count = records.number(stat.get("sum")), records.number(stat.get("count"))
        if count and total is not None and not _BOOKKEEPING.fullmatch(str(name.get("name"))):
            label = records.label(name.get("name"), "name of a statistic", source)
            yield str(name.get("split") or "test"), label, total / count


def _run(path: Path) -> tuple[str, str]:
    """Model and task by the run's specification or, without it, by its folder's name."""
    name, model = path.parent.name, ""
    spec = path.with_name("run_spec.json")
    if spec.is_file():
        tree = dict(files.members(spec))
        name = str(tree.get("name") or name)
        adapter = tree.get("adapter_spec")
        model = str(adapter.get("model") or "") if isinstance(adapter, Mapping) else ""
    by_name = _OF_MODEL.search(name)
    return model or (by_name["model"] if by_name else name), _OF_MODEL.sub("", name)


def read_evals(source: Source, layout: Layout, notes: Notes) -> Iterator[Record]:
    """The scores of a log of openai/evals: JSON lines of a spec, events, and a final report.

    Events of type match give accuracy, those of type metrics their numbers (evals/record.py);
    several events of one kind in a sample are its several answers.

    Raises:
      DataError: naming the line.
    """
    lines = files.lines(source.path)
    spec, finished = _spec(next(lines, (1, {}))[1], source), False
    times: Counter[tuple[str, str]] = Counter()
    failed: dict[str, None] = {}
    prompts: dict[str, str] = {}
    for number, event in lines:
        finished = finished or "final_report" in event
        kind, data = event.get("type"), event.get("data")
        if kind not in ("match", "metrics", "error", "sampling") or not isinstance(data, Mapping):
            continue
        item = records.label(event.get("sample_id"), "sample_id", source, number)
        if kind == "sampling":
            prompts.setdefault(item, records.digest(data.get("prompt")))
        elif kind == "error":
            failed[item] = None
        for metric, score in _scores(str(kind), data):
            times[item, metric] += 1
            yield spec._replace(
                metric=metric,
                item=item,
                score=score,
                status=Status.SCORED if math.isfinite(score) else Status.UNSCORED,
                sample=times[item, metric],
                prompt=prompts.get(item, ""),
                cluster=records.cluster_of(data, layout, source, item, number),
            )
    if not finished:
        notes[f"{source.path.name}: no final report: other samples may be missing"] += 1
    scored = {item for item, _ in times}
    for item in itertools.filterfalse(scored.__contains__, failed):
        yield spec._replace(item=item, status=Status.FAILED)


def _spec(first: Mapping[str, Json], source: Source) -> Record:
    """What the first line says of all events."""
    spec = first.get("spec")
    if not isinstance(spec, Mapping):
        raise DataError('expected a first line {"spec": {...}}', source.path, 1)
    models = spec.get("completion_fns")
    model = ",".join(map(str, models)) if isinstance(models, list) else models
    return Record(
        records.label(model, "completion_fns", source, 1),
        records.label(spec.get("eval_name"), "eval_name", source, 1),
        "",
        "",
        math.nan,
        run_id=str(spec.get("run_id") or ""),
    )


def _scores(kind: str, data: Mapping[str, Json]) -> Iterator[tuple[str, float]]:
    if kind == "match":
        correct = records.number(data.get("correct"))
        yield "accuracy", math.nan if correct is None else correct
    elif kind == "metrics":
        for name, value in data.items():
            score = records.number(value)
            if score is not None:
                yield name, score
