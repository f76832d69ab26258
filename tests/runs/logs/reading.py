"""Logs as tests read them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxeval.runs import logs
from jaxeval.runs.layout import Layout
from jaxeval.runs.scores import Scores, Status
from tests.runs.logs import writing

Row = tuple[Any, ...]
SAMPLES = [
    writing.inspect_sample(1, "C"),
    writing.inspect_sample(2, "P", epoch=1),
    writing.inspect_sample(2, "I", epoch=2),
    writing.inspect_sample("x", True),
    writing.inspect_sample(4, float("nan")),
    writing.inspect_sample(5, None, scores=None, error="timed out"),
]


def read(*paths: Path | str, **layout: Any) -> Scores:
    """The scores of logs."""
    return logs.read([*map(str, paths)], Layout(**layout))


def rows(scores: Scores) -> list[Row]:
    """Model, task, metric, item, cluster, run, answer, status and score of each answer, sorted."""
    found = []
    for data in scores.data_sets:
        for model, of in data.models.items():
            for i, r, k in np.argwhere(of.status != Status.ABSENT).tolist():
                cluster = "" if data.clusters is None else data.clusters[i]
                said = Status(of.status[i, r, k]).name.lower()
                where = (model, data.name, data.metric, data.items[i], cluster, r, k)
                found.append((*where, said, of.scores[i, r, k].item()))
    return sorted(found, key=repr)


def lines(path: Path, of: Sequence[Mapping]) -> Path:
    """A file of JSON lines."""
    path.write_text("".join(json.dumps(line) + "\n" for line in of))
    return path
