"""Saved models to predict with; the corpus they were trained on is elsewhere by then."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from jaxeval import runs
from tests.verbs import evaluate, predict

SHORT = ["training.save_models=true", "training.evaluation_batch_size=8", "training.patience=0"]
Trained = tuple[Path, Path, list[runs.MemberRow]]  # runs folder, dev's file, what is recorded


def trained(
    root: Path, corpus: Callable[[Path], Path], verb: Callable[[list[str]], int], words: list[str]
) -> Trained:
    """Three members, whose corpus is then taken away, to `corpus`, but for its dev part."""
    data, folder = corpus(root / "data"), root / "runs"
    verb([*SHORT, *words, "--data", str(data), "--out", str(folder)])
    dev = shutil.copy(data / "dev", root / "dev")
    data.rename(root / "corpus")
    return folder, Path(dev), runs.load(folder)


def check_evaluated(trained: Trained, capsys: pytest.CaptureFixture, *words: str) -> None:
    """Dies if models score dev, or a file of one's own that is its copy, otherwise than in
    training; dev is not test."""
    folder, file, rows = trained
    recorded = {row.seed: row.dev for row in rows}
    assert recorded != pytest.approx({row.seed: row.test for row in rows}, rel=1e-3)
    paths = ["--data", str(folder.parent / "corpus"), "--out", str(folder)]
    for which in (["--part", "dev"], ["--input", str(file)]):
        capsys.readouterr()
        assert evaluate([*SHORT, *words, *paths, *which, "--json", "-"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert {row["seed"]: row["score"] for row in told} == pytest.approx(recorded, rel=1e-6)
        assert {row["part"] for row in told} == {which[1]}


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
