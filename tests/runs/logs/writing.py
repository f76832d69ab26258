"""Logs as the programs write them, from their schemas."""

import hashlib
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

DATE = "2026-03-01T10-00-00.123456"


def lm_eval(
    folder: Path,
    model: str,
    scores: Mapping[str, Sequence[float]],
    *,
    task: str = "arc",
    date: str = DATE,
    order: Sequence[int] = (),
    metrics: Mapping[str, bool] | None = None,
    **changes: Any,
) -> Path:
    """A folder of a model: filter -> a score of each document (of every metric alike).

    Args:
      order: documents by place, for shuffled ones; doc_id counts the places.
      changes: keys of every sample.
    """
    metrics = metrics or {"acc": True}
    folder = folder / model.replace("/", "__")
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        {
            "doc_id": position,
            **_document(document),
            "filter": name,
            "metrics": [*metrics],
            **dict.fromkeys(metrics, values[document]),
            **changes,
        }
        for name, values in scores.items()
        for position, document in enumerate(order or range(len(values)))
    ]
    samples = folder / f"samples_{task}_{date}.jsonl"
    samples.write_text("".join(json.dumps(line) + "\n" for line in lines))
    path = folder / f"results_{date}.json"
    former = json.loads(path.read_text()) if path.is_file() else {}
    tree = _results(model, task, {**former.get("higher_is_better", {}), task: dict(metrics)})
    size = len({line["doc_id"] for line in lines})
    tree["n-samples"] = {**former.get("n-samples", {}), task: {"effective": size}}
    path.write_text(json.dumps(tree, indent=2))
    return folder


def _results(model: str, task: str, higher_is_better: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "results": {task: {"alias": task, "acc,none": 0.5, "acc_stderr,none": "N/A"}},
        "configs": {task: {"task": task}},
        "higher_is_better": higher_is_better,
        "config": {"model": "hf", "random_seed": 0},
        "model_name": model,
        "model_name_sanitized": model.replace("/", "__"),
    }


def _document(number: int) -> dict[str, Any]:
    """What a sample says of the document alone."""
    doc = {"question": f"question {number}", "passage": f"p{number // 3}"}
    return {
        "doc": doc,
        "target": "A",
        "resps": [[["-1.5", "False"]]],
        "doc_hash": digest(doc),
        "prompt_hash": digest(doc["question"]),
        "target_hash": digest("A"),
    }


def digest(tree: Any) -> str:
    """A hash of data."""
    return hashlib.sha256(json.dumps(tree).encode()).hexdigest()


def inspect_head(model: str = "openai/a", task: str = "popularity", **changes: Any) -> dict:
    """The key eval of a log of Inspect."""
    return {
        "eval_id": "e1",
        "run_id": "r1",
        "created": "2026-03-01T10:00:00+00:00",
        "task": task,
        "task_id": f"{model} {task}",
        "task_args": {},
        "model": model,
        "model_args": {},
        **changes,
    }


def inspect_sample(item: Any, value: Any, epoch: int = 1, **changes: Any) -> dict:
    """A summary of a sample."""
    return {
        "id": item,
        "epoch": epoch,
        "input": [{"id": f"random {item} {epoch}", "role": "user", "content": f"question {item}"}],
        "target": "Yes",
        "metadata": {"passage": f"p{item}"},
        "scores": {"match": {"value": value, "answer": "Yes", "explanation": "..."}},
        "model_usage": {},
        "completed": True,
        **changes,
    }


def inspect_json(path: Path, head: dict, samples: Sequence[dict], status: str = "success") -> Path:
    """A whole log as .json."""
    log = {"version": 2, "status": status, "eval": head, "plan": {"steps": []}, "results": None}
    path.write_text(json.dumps({**log, "stats": {}, "samples": [*samples]}, indent=2))
    return path


def inspect_eval(
    path: Path, head: dict, samples: Sequence[dict], compression: int = zipfile.ZIP_DEFLATED
) -> Path:
    """A finished log as .eval."""
    start = {"version": 2, "eval": head, "plan": {}}
    members = {
        "_journal/start.json": start,
        "_journal/summaries/1.json": samples,
        "samples/1_epoch_1.json": {"id": 1, "messages": []},
        "summaries.json": samples,
        "header.json": {**start, "status": "success", "results": {}, "stats": {}},
    }
    return zipped(path, {name: json.dumps(tree) for name, tree in members.items()}, compression)


def zipped(
    path: Path, members: Mapping[str, str], compression: int = zipfile.ZIP_DEFLATED
) -> Path:
    """An archive."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def helm(folder: Path, model: str, scores: Mapping[tuple[str, int], float], task: str) -> Path:
    """A run of HELM: (instance, trial) -> score."""
    name = f"{task},model={model.replace('/', '_')}"
    run = folder / name
    run.mkdir(parents=True)
    spec = {"name": name, "adapter_spec": {"method": "generation", "model": model}}
    (run / "run_spec.json").write_text(json.dumps(spec, indent=2))
    (run / "stats.json").write_text("[]")
    instances = []
    for (instance, trial), score in scores.items():
        stat = {"name": {"name": "exact_match", "split": "test"}, "count": 2, "sum": 2 * score}
        empty = {"name": {"name": "bleu_4", "split": "test"}, "count": 0, "sum": 0}
        record = {"instance_id": instance, "train_trial_index": trial, "stats": [stat, empty]}
        perturbed = {**record, "perturbation": {"name": "typos"}}
        # two of HELM's metrics give the same statistic
        instances += [record, perturbed, {**record, "stats": [stat]}]
    (run / "per_instance_stats.json").write_text(json.dumps(instances, indent=2))
    return run


def evals(
    path: Path, model: str, events: Sequence[tuple[str, str, dict]], done: bool = True
) -> Path:
    """A log of openai/evals: (sample id, type, data) an event."""
    spec = {"completion_fns": [model], "eval_name": "coqa.dev.v0", "run_id": "230101ABC"}
    lines: list[dict] = [{"spec": {**spec, "base_eval": "coqa", "split": "dev"}}]
    for number, (sample, kind, data) in enumerate(events):
        event = {"run_id": spec["run_id"], "event_id": number, "sample_id": sample, "type": kind}
        lines.append({**event, "data": data, "created_by": "", "created_at": "2023-01-01"})
    if done:
        lines.append({"final_report": {"accuracy": 0.5}, "run_id": spec["run_id"]})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path
