"""A command to tune, with settings that diverge, and what `--json` writes."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.verbs import tune

PYTHON = sys.executable
SPACE = """\
[rate]
log_uniform = [1e-4, 1.0]
[cell]
choices = ["lstm", "gru"]
[peephole]
uniform = [0, 1]
when = { cell = ["lstm"] }
"""
TRAIN = """\
import math, random, sys, time
given = dict(word.split("=") for word in sys.argv[1:])
open("calls", "a").write(" ".join(sys.argv[1:]) + "\\n")
time.sleep(float(given["seconds"]))
if float(given["rate"]) > 0.5:
    sys.exit("diverged")
random.seed(given["seed"])
print("training ...")
print(0.8 - 0.05 * (math.log10(float(given["rate"])) + 2) ** 2 + random.gauss(0, 0.01))
"""


def words(folder: Path, *more: str, seconds: float = 0.0, method: str = "random") -> list[str]:
    (folder / "space.toml").write_text(SPACE)
    (folder / "train.py").write_text(TRAIN)
    names = "rate={rate} cell={cell} peephole={peephole} seed={seed}"
    command = f"{PYTHON} {folder / 'train.py'} {names} seconds={seconds}"
    head = ["command", command, "--space", str(folder / "space.toml"), "--method", method]
    return [*head, "--retrain", "2", *more]


def json_of(capsys: pytest.CaptureFixture, words: list[str]) -> Any:
    assert tune([*words, "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)
