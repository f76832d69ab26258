"""Logs of lm-evaluation-harness, HELM and openai/evals.

lm-evaluation-harness writes samples_TASK_DATE.jsonl beside results_DATE.json, from version 0.4.7
with `lm_eval --output_path DIR --log_samples`: a line is a document under a filter, with a key for
each metric (lm_eval/result_schema.py). HELM writes per_instance_stats.json beside run_spec.json.
"""

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

SAMPLES = re.compile(r"samples_(?P<task>.+?)(?:_(?P<date>\d{4}-\d\d-\d\dT[\d.+-]+?))?\.jsonl")
RESULTS = re.compile(r"results_.*\.json")
HELM = "per_instance_stats.json"
_SETTINGS = ("model_args", "gen_kwargs")  # how a model was made, and how it answered
_PERPLEXITY = "perplexity"  # of an item its log-likelihood, whose exp(-mean) the results have
# what HELM says of requests, not of answers
_BOOKKEEPING = re.compile(
    r"num_references|num_train_\w+|num_prompt_tokens|prompt_truncated|training_\w+_cost|batch_size"
    r"|finish_reason_\w+"
)
_OF_MODEL = re.compile(r"[,:](?:model|model_deployment)=(?P<model>[^,]*)")


def read_lm_eval(source: Source, layout: Layout, notes: Notes) -> Iterator[Record]:
    """The scores in a file of samples; metrics that are no number of an item are noted.

    Raises DataError: naming the line.
    """
    path, named = source.path, SAMPLES.fullmatch(source.path.name)
    task, date = (named["task"], named["date"]) if named else (path.stem, None)
    beside = sorted(path.parent.glob(f"*_{date}.json")) if date else []
    results = files.members(files.tree(beside[0])) if beside else {}
    directions = files.members(files.members(results.get("higher_is_better")).get(task))
    made = (files.members(results.get("config")).get(key) for key in _SETTINGS)
    base = Record(
        str(results.get("model_name") or path.parent.name),
        *(task, "", "", 0.0),
        settings=records.settings(*made) if results else None,
    )
    items = set[str]()
    for number, sample in files.lines(path):
        item = records.label(sample.get("doc_id"), "doc_id", path, number)
        items.add(item)
        of_item = base._replace(
            item=item,
            cluster=records.cluster_of(sample.get("doc"), layout, source, item, number),
            content=_joined(sample, "doc_hash", "target_hash"),
            prompt=_joined(sample, "prompt_hash"),
        )
        metrics = sample.get("metrics")
        if not isinstance(metrics, list):
            expected = "expected a list of names, as lm-evaluation-harness has it from 0.4.7 on"
            raise DataError(f"metrics: {expected}", path, number)
        for name in map(str, metrics):
            yield from _score(of_item, sample, name, directions.get(name), notes)
    answered = files.members(files.members(results.get("n-samples")).get(task)).get("effective")
    records.note_lost(len(items), answered, source, notes)


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


def read_helm(source: Source, layout: Layout, notes: Notes) -> Iterator[Record]:
    """The scores of a run of HELM.

    A statistic is a sum and how many numbers it sums; trials, each with other examples in its
    prompts, are runs; other splits than test are tasks of their own. Perturbed instances are left
    out and noted.
    Raises DataError: naming the instance.
    """
    path = source.path
    if layout.cluster:
        raise DataError(f"HELM's {HELM} holds no data of items to cluster them by", path)
    spec = path.with_name("run_spec.json")
    known = files.members(files.tree(spec)) if spec.is_file() else {}
    name, by_name = str(known.get("name") or path.parent.name), None
    model = str(files.members(known.get("adapter_spec")).get("model") or "")
    by_name = _OF_MODEL.search(name)
    model = model or (by_name["model"] if by_name else name)
    task = _OF_MODEL.sub("", name)
    instances = files.tree(path)
    if not (isinstance(instances, list) and all(isinstance(of, Mapping) for of in instances)):
        raise DataError("expected a list of objects", path)
    seen: set[int] = set()  # statistics that two of HELM's metrics give alike
    for instance in instances:
        if instance.get("perturbation"):
            notes[f"task {task}: perturbed instances are left out"] += 1
            continue
        item = records.label(instance.get("instance_id"), "instance_id", path)
        trial = f"trial {instance.get('train_trial_index', 0)}"
        for split, metric, score in _statistics(instance, path):
            key = hash((item, trial, split, metric))
            if key not in seen:
                seen.add(key)
                of_split = task if split == "test" else f"{task} ({split})"
                yield Record(model, of_split, metric, item, score, trial)


def _statistics(instance: Mapping[str, Json], path: Path) -> Iterator[tuple[str, str, float]]:
    """Split, name and mean of each statistic of an answer, of at least one number."""
    stats = instance.get("stats")
    for stat in stats if isinstance(stats, list) else ():
        if not isinstance(stat, Mapping):
            raise DataError("stats: expected a list of objects", path)
        named = stat.get("name")
        name = named if isinstance(named, Mapping) else {"name": named}
        total, count = records.number(stat.get("sum")), records.number(stat.get("count"))
        if count and total is not None and not _BOOKKEEPING.fullmatch(str(name.get("name"))):
            label = records.label(name.get("name"), "name of a statistic", path)
            yield str(name.get("split") or "test"), label, total / count


def read_evals(source: Source, layout: Layout, notes: Notes) -> Iterator[Record]:
    """The scores of a log of openai/evals; raises DataError naming the line.

    Events of type match give accuracy, those of type metrics their numbers (evals/record.py);
    several of one kind are several answers.
    """
    path, lines = source.path, files.lines(source.path)
    base = _spec(next(lines, (1, {}))[1].get("spec"), path)
    finished, times = False, Counter[tuple[str, str]]()
    failed, prompts = dict[str, None](), dict[str, str]()
    for number, event in lines:
        finished = finished or "final_report" in event
        kind, data = event.get("type"), event.get("data")
        if kind not in ("match", "metrics", "error", "sampling") or not isinstance(data, Mapping):
            continue
        item = records.label(event.get("sample_id"), "sample_id", path, number)
        if kind == "sampling":
            prompts.setdefault(item, records.digest(data.get("prompt")))
        elif kind == "error":
            failed[item] = None
        scores = {"accuracy": data.get("correct")} if kind == "match" else data
        for metric, value in scores.items() if kind in ("match", "metrics") else ():
            score = records.number(value)
            if score is None and kind == "metrics":
                continue
            times[item, metric] += 1
            score = math.nan if score is None else score
            yield base._replace(
                metric=metric,
                item=item,
                score=score,
                status=Status.SCORED if math.isfinite(score) else Status.UNSCORED,
                sample=times[item, metric],
                prompt=prompts.get(item, ""),
                cluster=records.cluster_of(data, layout, source, item, number),
            )
    if not finished:
        notes[f"{path.name}: no final report: other samples may be missing"] += 1
    for item in itertools.filterfalse({item for item, _ in times}.__contains__, failed):
        yield base._replace(item=item, status=Status.FAILED)


def _spec(spec: Json, path: Path) -> Record:
    """What the first line says of all events."""
    if not isinstance(spec, Mapping):
        raise DataError('expected a first line {"spec": {...}}', path, 1)
    models = spec.get("completion_fns")
    model = ",".join(map(str, models)) if isinstance(models, list) else models
    return Record(
        records.label(model, "completion_fns", path, 1),
        records.label(spec.get("eval_name"), "eval_name", path, 1),
        *("", "", math.nan),
        run_id=str(spec.get("run_id") or ""),
    )
