"""Saved models to predict with; the corpus they were trained on is gone by then."""

import shutil
from collections.abc import Callable
from pathlib import Path

from jaxeval import runs
from tests.verbs import predict

SHORT = ["training.save_models=true", "training.evaluation_batch_size=8", "training.patience=0"]
Trained = tuple[Path, Path, list[runs.MemberRow]]  # runs folder, dev's file, what is recorded


def trained(
    root: Path, corpus: Callable[[Path], Path], verb: Callable[[list[str]], int], words: list[str]
) -> Trained:
    """Three members, whose corpus is then taken away but for its dev part."""
    data, folder = corpus(root / "data"), root / "runs"
    verb([*SHORT, *words, "--data", str(data), "--out", str(folder)])
    dev = shutil.move(data / "dev", root / "dev")
    shutil.rmtree(data)
    return folder, Path(dev), runs.load(folder)


def predicted(trained: Trained, *words: str, file: Path | None = None) -> list[list[str]]:
    """The columns of the lines that are written."""
    folder, dev, _ = trained
    target = folder.parent / "predicted"
    paths = ["--input", str(file or dev), "--output", str(target)]
    assert predict([str(folder), *paths, *words]) == 0
    return [line.split("\t") for line in target.read_text().splitlines()]


def members(trained: Trained) -> list[runs.MemberRow]:
    """Best of dev first, as columns stand."""
    sign = -1 if trained[2][0].higher_is_better else 1
    return sorted(trained[2], key=lambda row: (sign * (row.dev or 0), row.seed))
