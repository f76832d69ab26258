"""Logs of lm-evaluation-harness, HELM and openai/evals, and answers of any program.

lm-evaluation-harness writes samples_TASK_DATE.jsonl beside results_DATE.json, from version 0.4.7
with `lm_eval --output_path DIR --log_samples`: a line is a document under a filter, with a key for
each metric (lm_eval/result_schema.py). HELM writes per_instance_stats.json beside run_spec.json.

Answers of other programs are tables or JSON lines. In JSON lines the keys are named as roles, the
line's number stands for a missing item, and a list under score, correct or predicted holds runs.
"""

import dataclasses
import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from jaxeval.errors import DataError
from jaxeval.files import Json
from jaxeval.runs import columns as files
from jaxeval.runs import items, layout
from jaxeval.runs.columns import Columns
from jaxeval.runs.logs import records
from jaxeval.runs.logs.records import Log, Record, Text, dig, first, members, plain
from jaxeval.runs.normal import Rows

SAMPLES = re.compile(r"samples_(?P<task>.+?)(?:_(?P<date>\d{4}-\d\d-\d\dT[\d.+-]+?))?\.jsonl")
TABLES = (".csv", ".tsv")
HELM = "per_instance_stats.json"
_ANSWERS = ("score", "correct", "predicted")
_HASHES = ("doc_hash", "target_hash", "prompt_hash")
_SETTINGS = ("model_args", "gen_kwargs")  # how a model was made, and how it answered
# statistics of HELM that describe requests, not answers
_BOOKKEEPING = re.compile(
    r"num_references|num_train_\w+|num_prompt_tokens|prompt_truncated|training_\w+_cost|batch_size"
    r"|finish_reason_\w+"
)
_OF_MODEL = re.compile(r"[,:](?:model|model_deployment)=(?P<model>[^,]*)")


def read_lm_eval(log: Log) -> Iterator[Record]:
    """Yields the scores in a file of samples; metrics that are no numbers are noted.

    Raises DataError: names the line.
    """
    path, named = log.path, SAMPLES.fullmatch(log.path.name)
    task, date = (named["task"], named["date"]) if named else (path.stem, None)
    beside = sorted(path.parent.glob(f"*_{date}.json")) if date else []
    results = members(records.read_json(beside[0])) if beside else {}
    directions = members(results, "higher_is_better", task)
    base = Record(str(results.get("model_name") or path.parent.name), task)
    if results:
        made = (dig(results, "config", key) for key in _SETTINGS)
        log.settings[base.model, task] = records.settings(*made)
    items: set[str] = set()
    for number, sample in files.json_lines(path):
        item = log.label(sample.get("doc_id"), "doc_id", number)
        items.add(item)
        hashes = [str(sample.get(key) or "") for key in _HASHES]
        of_item = base._replace(
            item=item,
            cluster=log.cluster(sample.get("doc"), item, number),
            content="".join(hashes) if all(hashes) else "",
        )
        metrics = sample.get("metrics")
        if not isinstance(metrics, list):
            expected = "expected a list of names, as lm-evaluation-harness has it from 0.4.7 on"
            raise DataError(f"metrics: {expected}", path, number)
        for name in map(str, metrics):
            yield from _read_metric(of_item, sample, name, directions.get(name), log)
    log.note_missing(len(items), dig(results, "n-samples", task, "effective"))


def _read_metric(
    base: Record, sample: Mapping[str, Json], name: str, higher: Json, log: Log
) -> Iterator[Record]:
    """Yields a metric of a line; the perplexity of an item, a log-likelihood, as nll."""
    score = records.number(sample.get(name))
    if name == "perplexity" and score is not None and score <= 0:
        why = "perplexity of an item is its log-likelihood, and is read as nll (nats)"
        log.notes[f"task {base.dataset}: {why}"] = 1
        name, score, higher = "nll", 0.0 - score, False
    filtered = str(sample.get("filter") or "none")
    metric = name if filtered == "none" else f"{name}/{filtered}"
    if score is None:
        found = f"{metric} is not one number per item and is left out"
        log.notes[f"task {base.dataset}: {found}"] += 1
        return
    if isinstance(higher, bool):
        log.directions[base.dataset, metric] = higher
    yield base._replace(metric=metric, score=score)


def read_helm(log: Log) -> Iterator[Record]:
    """Yields the scores of a run of HELM: the means of its statistics.

    Trials, which have other examples in their prompts, are runs. Splits other than test are tasks
    of their own. Perturbed instances are left out and noted.

    Raises DataError: names the instance.
    """
    path = log.path
    if log.layout.cluster:
        raise DataError(f"HELM's {HELM} holds no data of items to cluster them by", path)
    spec = path.with_name("run_spec.json")
    known = records.read_json(spec) if spec.is_file() else {}
    name = str(dig(known, "name") or path.parent.name)
    by_name = _OF_MODEL.search(name)
    model = str(dig(known, "adapter_spec", "model") or (by_name["model"] if by_name else name))
    task = _OF_MODEL.sub("", name)
    seen: set[int] = set()  # two metrics of HELM may give one statistic
    for instance in records.objects(records.read_json(path)):
        if instance.get("perturbation"):
            log.notes[f"task {task}: perturbed instances are left out"] += 1
            continue
        item = log.label(instance.get("instance_id"), "instance_id")
        trial = f"trial {instance.get('train_trial_index', 0)}"
        for stat in records.objects(instance, "stats"):
            named = members(stat, "name") or {"name": stat.get("name")}
            total, count = (records.number(stat.get(key)) for key in ("sum", "count"))
            if not count or total is None or _BOOKKEEPING.fullmatch(str(named.get("name"))):
                continue
            metric = log.label(named.get("name"), "name of a statistic")
            split = str(named.get("split") or "test")
            if (key := hash((item, trial, split, metric))) not in seen:
                seen.add(key)
                of_split = task if split == "test" else f"{task} ({split})"
                yield Record(model, of_split, metric, item, total / count, trial)


def read_evals(log: Log) -> Iterator[Record]:
    """Yields the scores of a log of openai/evals; raises DataError that names the line.

    Events "match" give accuracy, events "metrics" their numbers (evals/record.py). Several events
    of one kind are several answers.
    """
    lines = files.json_lines(log.path)
    spec = next(lines, (1, {}))[1].get("spec")
    if not isinstance(spec, Mapping):
        raise DataError('expected a first line {"spec": {...}}', log.path, 1)
    models = spec.get("completion_fns")
    model = ",".join(map(str, models)) if isinstance(models, list) else models
    task = log.label(spec.get("eval_name"), "eval_name", 1)
    base = Record(log.label(model, "completion_fns", 1), task)
    finished, times = False, Counter[tuple[str, str]]()
    failed, prompts = dict[str, None](), dict[str, str]()
    for number, event in lines:
        finished = finished or "final_report" in event
        kind, data = event.get("type"), event.get("data")
        if kind not in ("match", "metrics", "error", "sampling") or not isinstance(data, Mapping):
            continue
        item = log.label(event.get("sample_id"), "sample_id", number)
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
            yield base._replace(
                metric=metric,
                item=item,
                score=score if score is not None and math.isfinite(score) else None,
                sample=times[item, metric],
                content=prompts.get(item, ""),
                cluster=log.cluster(data, item, number),
            )
    if not finished:
        log.notes[f"{log.path.name}: no final report: other samples may be missing"] += 1
    answered = {item for item, _ in times}
    for item in (item for item in failed if item not in answered):
        yield base._replace(item=item)


def lm_eval_texts(path: Path, wanted: Collection[str]) -> Iterator[tuple[str, Text]]:
    """Yields items and their texts; the question is the first argument of a request."""
    for _, line in files.json_lines(path):
        asked = line.get("arguments")
        for _ in range(2):  # under names or in lists
            asked = first([*asked.values()] if isinstance(asked, Mapping) else asked)
        answer = first(line.get("filtered_resps")) or first(line.get("resps"))
        question = plain(asked) or plain(line.get("doc"))
        yield str(line.get("doc_id")), Text(question, plain(line.get("target")), plain(answer))


def helm_texts(path: Path, wanted: Collection[str]) -> Iterator[tuple[str, Text]]:
    """Yields items and their texts, of requests that are not perturbed."""
    path = path.with_name("scenario_state.json")
    tree = records.read_json(path) if path.is_file() else {}
    for state in records.objects(tree, "request_states"):
        instance = members(state, "instance")
        if not instance.get("perturbation"):
            right = [
                plain(dig(reference, "output", "text"))
                for reference in records.objects(instance, "references")
                if "correct" in str(reference.get("tags"))
            ]
            asked = dig(state, "request", "prompt") or dig(instance, "input", "text")
            said = plain(dig(state, "result", "completions", 0, "text"))
            yield str(instance.get("id")), Text(plain(asked), "\n".join(right), said)


def evals_texts(path: Path, wanted: Collection[str]) -> Iterator[tuple[str, Text]]:
    """Yields items and their texts; each event of an item has some of them."""
    for _, line in files.json_lines(path):
        data = members(line, "data")
        answer = data.get("sampled", data.get("picked"))
        texts = map(plain, (data.get("prompt"), data.get("expected"), first(answer) or answer))
        yield str(line.get("sample_id")), Text(*texts)


def read_answers(log: Log) -> Rows:
    """Reads a table or JSON lines of answers or scores of items as a log.

    The label "name" is what a user calls a run, "place" its place in a list.

    Raises DataError: names row and column, or the missing column.
    """
    columns = {items.KEYS.get(role, role): name for role, name in log.layout.columns.items()}
    columns |= {"cluster": log.layout.cluster} if log.layout.cluster else {}
    wanted = {*items.ROLES, *items.KEYS, *_ANSWERS, "gold", *columns.values()}
    lines, label = log.path.suffix not in TABLES, "name"
    table = files.read(log.path, wanted)
    if lines:
        item = columns.get("item", "item")
        cells = table.values.get(item, [None] * len(table))
        named = [table.rows[k] if x in (None, "") else x for k, x in enumerate(cells)]
        table = dataclasses.replace(table, values={**table.values, item: named})
    table = items.by_role(table, columns, ("score", *items.PREDICTED), exact=lines)
    if lines:
        table, label = _split_lists(table)
    return items.to_rows(table, label=label, scored=columns.get("score", "score"))


def _split_lists(table: Columns) -> tuple[Columns, str]:
    """Returns JSON lines with one answer a row, and the label of `seed`: "name" or "place"."""
    answer = next(role for role in _ANSWERS if role in table.values)
    cells = [cell if isinstance(cell, list) else [cell] for cell in table[answer]]
    places = [k for k, cell in enumerate(cells) for _ in cell]
    values = {role: [column[k] for k in places] for role, column in table.values.items()}
    values[answer] = given = [x for cell in cells for x in cell]
    rows = [table.rows[k] for k in places]
    lists = any(len(cell) != 1 for cell in cells)
    if lists:
        values["seed"] = [str(k) for cell in cells for k, _ in enumerate(cell, 1)]
    if answer == "score":
        values[answer] = [float(x) if isinstance(x, bool) else x for x in given]
    elif answer == "predicted":
        for gold, predicted, row in zip(values["gold"], given, rows, strict=True):
            kinds = {type(gold), type(predicted)}
            if bool in kinds and kinds & {int, float}:  # 1 may mean true
                found = f"gold {json.dumps(gold)} and predicted {json.dumps(predicted)}"
                expected = "expected both true or false, or both numbers"
                raise DataError(f"{found}; {expected}", table.source, row)
        for role in ("gold", answer):
            values[role] = [None if x is None else _label_text(x) for x in values[role]]
    return Columns(table.source, values, rows), "place" if lists else "name"


def _label_text(value: Any) -> str:
    """Returns a label as text: 1, 1.0 and "1" are one, and so are objects with equal keys."""
    whole = isinstance(value, float) and value.is_integer()
    value = int(value) if whole else value
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def answer_texts(path: Path, wanted: Collection[str]) -> Iterator[tuple[str, Text]]:
    """Yields items of a log and their texts; columns without a role are part of the question."""
    if path.suffix in TABLES:
        table = files.read(path)
        cells = zip(*table.values.values(), strict=True)
        each = (dict(zip(table.values, of, strict=True)) for of in cells)
        lines: Iterable[tuple[int, Mapping]] = zip(table.rows, each, strict=True)
    else:
        lines = files.json_lines(path)
    for number, line in lines:
        roles = layout.item_roles(line)
        left = {*(roles.get(role) for role in ("item", "model", "seed", "gold", *_ANSWERS))}
        left |= {*items.ROLES, *items.KEYS, "prompt"}
        rest = [f"{k}: {plain(of)}" for k, of in line.items() if k not in left]
        gold, predicted = (plain(line.get(roles.get(k, k))) for k in ("gold", "predicted"))
        question = "\n".join(filter(None, [plain(line.get("prompt")), *rest]))
        item = line.get(roles.get("item", "item"))
        yield str(number if item in (None, "") else item), Text(question, gold, predicted)


def lacks_items(path: Path) -> bool:
    """True for a table without columns of items and answers, by its header."""
    if path.suffix not in TABLES:
        return False
    try:
        found = layout.item_roles(files.read_header(path))
    except DataError:  # another kind of file
        return True
    return "item" not in found or {*_ANSWERS}.isdisjoint(found)
