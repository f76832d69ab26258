"""Tables as tests write and read them."""

from pathlib import Path
from typing import Any

import numpy as np

from jaxeval import sources
from jaxeval.runs.layout import Layout
from jaxeval.runs.scores import Scores


def written(folder: Path, content: str | bytes, name: str = "t.csv") -> str:
    """A file."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def read(folder: Path, content: str | bytes, name: str = "t.csv", **layout: Any) -> Scores:
    """The scores in a file."""
    return sources.read(written(folder, content, name), Layout(**layout))


def by_model(scores: Scores) -> dict[str, list[float]]:
    """Model -> its scores, data set by data set."""
    return {model: scores.scores_of(model).tolist() for model in scores.models}


def labels(scores: Scores, axis: str) -> list[str]:
    """Those of all runs with a score, model by model."""
    every = [of for data in scores.data_sets for of in data.models.values()]
    return [*np.concatenate([of.labels[axis][of.finished] for of in every])] if every else []
