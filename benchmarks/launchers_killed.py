"""What is left of a study whose processes are killed, stopped and started again at random.

A study is trained by one process, and by a launcher, while this script kills workers (-9), stops
some for a while (SIGSTOP), and kills the command itself, which it then starts again. In the end
every member must be there once, with the same scores in all epochs.

    uv run python benchmarks/launchers_killed.py
    uv run python benchmarks/launchers_killed.py --launch slurm:slurm.toml --kills 10 --drivers 2
"""

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import common

from jaxeval import runs

_STUDY = [
    *("task=sentiment", "model.architecture=bag", "data.source.sentences=60"),
    *("data.max_widths=1", "data.dimension=6", "training.batch_size=16", "training.patience=0"),
    *("training.checkpoint_every=20", "--seeds", "8"),
]
_MARK = "JAXEVAL_BENCHMARK"  # a variable that all processes of the study have


def start(folder: Path, epochs: int, launch: str, mark: str) -> subprocess.Popen:
    """Starts the command."""
    words = [*_STUDY, f"training.epochs={epochs}", "--out", str(folder), "--launch", launch]
    environment = {**os.environ, "JAX_NUM_CPU_DEVICES": "1", _MARK: mark}
    with (folder.parent / f"{folder.name}.log").open("a") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "jaxeval", "train", *words],
            env=environment,
            stdout=log,
            stderr=log,
        )


def workers(mark: str) -> list[int]:
    """Returns the processes on this machine that train jobs of the study."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            ours = f"{_MARK}={mark}".encode() in (folder / "environ").read_bytes()
            if ours and b"python" in (words := (folder / "cmdline").read_bytes())[:60]:
                found += [int(folder.name)] if b"jaxeval.launchers.worker" in words else []
    return found


def progress(folder: Path) -> int:
    """Returns the bytes of all logs of epochs."""
    return sum(path.stat().st_size for path in folder.glob("jobs/*/events.jsonl"))


def disturb(folder: Path, epochs: int, launch: str, asked: list[str], draw: random.Random) -> dict:
    """Trains the study; does what is asked, each time after an epoch; returns what was done."""
    mark, done = uuid.uuid4().hex, dict.fromkeys(asked, 0)
    driver = start(folder, epochs, launch, mark)
    for what in asked:
        before, end = progress(folder), time.monotonic() + 300
        while progress(folder) <= before and time.monotonic() < end and driver.poll() is None:
            time.sleep(0.05)
        time.sleep(draw.random())
        each = workers(mark)
        if driver.poll() is not None or not each:
            continue
        done[what] += 1
        if what == "driver":
            driver.kill()
            driver.wait()
            driver = start(folder, epochs, launch, mark)
        else:
            chosen = draw.choice(each)
            with contextlib.suppress(ProcessLookupError):
                os.kill(chosen, signal.SIGKILL if what == "worker" else signal.SIGSTOP)
                if what == "stop":
                    time.sleep(5.0)
                    os.kill(chosen, signal.SIGCONT)
    done["exit"] = driver.wait()
    return done


def rows(folder: Path) -> tuple:
    """Returns all that is recorded but the clock and the devices."""
    each = [row._replace(wall_seconds=0.0, device="") for row in runs.load(folder)]
    return each, runs.load_curves(folder)


def main() -> None:
    """Prints one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--launch", default="local:2")
    parser.add_argument("--epochs", type=int, default=3000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--stops", type=int, default=2)
    parser.add_argument("--drivers", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    draw = random.Random(args.seed)
    asked = ["worker"] * args.kills + ["stop"] * args.stops + ["driver"] * args.drivers
    draw.shuffle(asked)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        one, many = Path(folder).absolute() / "one", Path(folder).absolute() / "many"
        assert start(one, args.epochs, "local:1", "one").wait() == 0
        begin = time.perf_counter()
        done = disturb(many, args.epochs, args.launch, asked, draw)
        seconds, (first, second) = time.perf_counter() - begin, (rows(one), rows(many))
        about = {"members": len(second[0]), "curves": len(second[1]), "equal": first == second}
        left = len([*many.glob("jobs/*/job.json")])
        common.report(what="deaths", launch=args.launch, done=done, **about, left=left, s=seconds)


if __name__ == "__main__":
    main()
