"""A board without processes: scores are drawn instead of trained, all else is done as it is."""

import contextlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import numpy as np
from starlette.testclient import TestClient

from jaxeval.errors import JaxevalError, RunError
from jaxeval.report.vectors import JudgedVectors
from jaxeval.serve import app, boards, judged
from jaxeval.serve.board import Board, Settings
from jaxeval.serve.confined import Limits
from jaxeval.stats import judgement
from tests.serve.test_serve import LOCAL

MODES, TASKS, SEEDS = ("fixed", "tuned"), ("pos", "ner"), 6
JUDGE = {"data": dict.fromkeys(TASKS, "/x"), "changes": [], "modes": "both", "seeds": SEEDS}
QUALITY = {"base": 0.5, "good": 0.6, "alike": 0.6, "poor": 0.4}


def scores(name: str, mode: str) -> np.ndarray:
    """The scores [tasks, seeds] of a file, by its name; "broken" has one seed that ended."""
    if name == "broken":
        return np.array([[0.9] + [np.nan] * 5, [0.9] * 6])
    draw = np.random.default_rng([*name.encode(), MODES.index(mode)])
    return np.clip(QUALITY.get(name, 0.5) + 0.01 * draw.normal(size=(2, SEEDS)), 0, 1)


def result(name: str) -> JudgedVectors:
    """What `vectors judge` returns for one file."""
    modes = [judgement.judge(m, TASKS, range(1, 7), {name: scores(name, m)}) for m in MODES]
    shares = {part: {"tokens": 0.5, "types": 0.25} for part in ("train", "dev", "test")}
    coverage = {(name, task): shares for task in TASKS}
    return JudgedVectors({name: name}, dict.fromkeys(TASKS, "f1"), coverage, modes, [])


async def call(work: str, limits: Limits, arguments: Mapping[str, Any]) -> tuple[Any, bool]:
    """Stands in for processes: nothing is trained, all else is done here."""
    if work == "check":
        return {"words": 3, "dimension": 2}, True
    if work == "judge":
        file = Path(arguments["file"])
        if file.read_text() == "bad":
            raise RunError("no vector of any word")
        made = json.dumps(result(file.stem).to_dict())
        file.with_name("result.json").write_text(made)
        return None, True

    def do() -> Any:
        # only `table` changes the folder; others run beside it
        with contextlib.chdir(".") if work == "table" else contextlib.nullcontext():
            return getattr(judged, work)(**arguments)

    try:
        return await anyio.to_thread.run_sync(do), True
    except JaxevalError as error:
        raise RunError(str(error)) from None


def opened(folder: Path, **more: Any) -> Board:
    """A board that no server serves yet."""
    baseline = folder.parent / f"{folder.name}_files" / "base.txt.gz"
    baseline.parent.mkdir(exist_ok=True)
    baseline.write_text("base")
    given = {"judge": JUDGE, "baseline": baseline, "limits": Limits(60, 1 << 33)}
    return Board(folder, Settings(**{**given, "most_bytes": 1000, **more}))


def client(of: Board, token: str | None = None, base: str = LOCAL) -> TestClient:
    """A browser without a server."""
    made = app.make(boards.part(of), token)
    return TestClient(made, base_url=base, follow_redirects=False)


def upload(site: TestClient, name: str, content: str | None = None, **more: str) -> Any:
    """Uploads a file that holds its name."""
    return site.post("/vectors", params={"name": name, **more}, content=content or name)


def wait(site: TestClient, names: set[str]) -> None:
    """Waits until the leaderboard has these files."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        answer = site.get("/vectors.json")
        if answer.status_code == 200 and {row["name"] for row in answer.json()["rows"]} == names:
            return
        time.sleep(0.02)
    raise AssertionError(site.get("/queue.json").text)
