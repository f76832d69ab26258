"""Scores of HELM: per_instance_stats.json of a run, beside its run_spec.json.

A list of objects {instance_id, perturbation, train_trial_index, stats}: a statistic is a sum and
how many numbers it sums. Trials, each with other examples in its prompts, are runs.
"""

import itertools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from jaxeval.errors import DataError
from jaxeval.files import Json
from jaxeval.runs.logs import archive, records, streaming
from jaxeval.runs.logs.records import Keys, Notes, Record, Source

NAME = "per_instance_stats.json"
_SPEC = "run_spec.json"
# what is said of requests, not of answers
_BOOKKEEPING = re.compile(
    r"num_references|num_train_\w+|num_prompt_tokens|prompt_truncated|training_\w+_cost|batch_size"
    r"|finish_reason_\w+"
)
_OF_MODEL = re.compile(r"[,:](?:model|model_deployment)=(?P<model>[^,]*)")


def is_log(path: Path) -> bool:
    """Whether a file is named as HELM names it."""
    return path.name == NAME


def read(source: Source, keys: Keys, notes: Notes) -> Iterator[Record]:
    """The scores of a run; those of perturbed instances are left out and noted.

    Beside instances of the split test those of other splits are left out and noted too.

    Raises:
      DataError: naming the instance.
    """
    if keys.cluster:
        raise DataError(f"HELM's {NAME} holds no data of items to cluster them by", source.path)
    model, task = _run(source.path)
    seen: set[int] = set()  # statistics that two of HELM's metrics give alike
    others: dict[str, list[Record]] = {}  # of other splits than test, by instance
    tested = False
    with source.path.open("rb") as file:
        stream = archive.Bounded(file, source.path)
        for _, instance in streaming.members(stream, source.path, ()):
            if not isinstance(instance, Mapping):
                raise DataError("expected a list of objects", source.path)
            if instance.get("perturbation"):
                notes[f"task {task}: perturbed instances are left out"] += 1
                continue
            item = records.label(instance.get("instance_id"), "instance_id", source)
            trial = str(instance.get("train_trial_index", 0))
            of_test = _split(instance) == "test"
            tested = tested or of_test
            for metric, score in _scores(instance, source):
                key = hash((item, trial, metric))
                if key not in seen:
                    seen.add(key)
                    record = Record(model, task, metric, item, score, f"trial {trial}")
                    if of_test:
                        yield record
                    else:
                        others.setdefault(item, []).append(record)
    if tested and others:
        notes[f"task {task}: instances of other splits than test are left out"] += len(others)
    else:
        yield from itertools.chain.from_iterable(others.values())


def _split(instance: Mapping[str, Json]) -> str:
    """As its first statistic names it; test where none does."""
    stats = instance.get("stats")
    first = stats[0] if isinstance(stats, list) and stats else {}
    named = first.get("name") if isinstance(first, Mapping) else None
    return str((named.get("split") if isinstance(named, Mapping) else None) or "test")


def _scores(instance: Mapping[str, Json], source: Source) -> Iterator[tuple[str, float]]:
    """Name and mean of each statistic of an answer, of at least one number."""
    stats = instance.get("stats")
    for stat in stats if isinstance(stats, list) else ():
        if not isinstance(stat, Mapping):
            raise DataError("stats: expected a list of objects", source.path)
        named = stat.get("name")
        name = named.get("name") if isinstance(named, Mapping) else named
        if _BOOKKEEPING.fullmatch(str(name)):
            continue
        total, count = records.number(stat.get("sum")), records.number(stat.get("count"))
        if count and total is not None:
            yield records.label(name, "name of a statistic", source), total / count


def _run(path: Path) -> tuple[str, str]:
    """Model and task by the run's specification or, without it, by its folder's name."""
    name, model = path.parent.name, ""
    spec = path.with_name(_SPEC)
    if spec.is_file():
        with spec.open("rb") as file:
            tree = dict(streaming.members(archive.Bounded(file, spec, 1 << 24), spec, ()))
        name = str(tree.get("name") or name)
        adapter = tree.get("adapter_spec")
        model = str(adapter.get("model") or "") if isinstance(adapter, Mapping) else ""
    by_name = _OF_MODEL.search(name)
    return model or (by_name["model"] if by_name else name), _OF_MODEL.sub("", name)
