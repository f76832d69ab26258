"""What handing jobs over costs, and how much faster two processes train many small cohorts.

Hand-over: jobs that are nothing to train, from `submit` until the launcher says that they have
ended, beside tasks of the engine that do nothing. Speed-up: cohorts of one member and a shape of
their own, so that each is compiled, by one process on one core, one process on all cores, and
`local:2`, in turn, without a compilation cache; wall and CPU seconds.

    uv run python benchmarks/launchers.py --cohorts 16 --epochs 400 --tries 2
    uv run python benchmarks/launchers.py --launch slurm --jobs 8 --tries 0
"""

import argparse
import operator
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import common

from jaxeval import launchers, observe, studies
from jaxeval.launchers import engines
from jaxeval.studies import prepared

_SMALL = [
    *("task=sentiment", "model.architecture=bag", "data.source.sentences=400"),
    *("data.max_widths=1", "training.batch_size=16", "training.patience=0"),
]


def train(folder: str, launch: str, cohorts: int, epochs: int) -> None:
    """Trains cohorts of one member, each of another shape."""
    launcher, trials = launchers.prepare(launch), []
    for k in range(cohorts):
        own = [f"data.dimension={10 + k}", f"training.epochs={epochs}"]
        trials += prepared.seeds_by_splits(studies.read(None, [*_SMALL, *own]), [1])
    observe.train(trials, Path(folder), launcher=launcher, quiet=True)


def seconds(launch: str, cohorts: int, epochs: int, cores: int | None = None) -> tuple:
    """Wall and CPU seconds of a new process, on so many cores or all, that trains all."""
    allowed = os.sched_getaffinity(0)
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": f"{folder}/xla"}
        environment.pop("JAX_NUM_CPU_DEVICES", None)
        words = [folder, launch, str(cohorts), str(epochs)]
        begin, before = time.perf_counter(), os.times()
        os.sched_setaffinity(0, sorted(allowed)[:cores])  # which a new process inherits
        subprocess.run([sys.executable, __file__, "--one", *words], env=environment, check=True)
        os.sched_setaffinity(0, allowed)
        wall, after = time.perf_counter() - begin, os.times()
        used = (of.children_user + of.children_system for of in (before, after))
        return wall, -operator.sub(*used)


def hand_over(launch: str, count: int) -> list[float]:
    """Seconds a job of a first array, which starts processes, and of a second one."""
    launcher, found = launchers.prepare(launch), []
    assert launcher is not None
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for of in ("first", "second"):
            paths = [Path(folder) / "jobs" / f"{of}{k}" / "job.json" for k in range(count)]
            for path in paths:
                path.parent.mkdir(parents=True)
            begin = time.perf_counter()
            launcher.submit(paths)
            while launcher.running():
                time.sleep(0.01)
            found.append((time.perf_counter() - begin) / count)
        launcher.close()
    return found


def no_op(launch: str, count: int) -> float | None:
    """Seconds a task that does nothing, by the engine's own means; None for local processes."""
    begin = time.perf_counter()
    if launch.startswith("slurm"):
        words = ["--parsable", f"--array=0-{count - 1}", "--output=/dev/null", "--wrap=true"]
        done = subprocess.run(["sbatch", *words], capture_output=True, text=True, check=True)
        asking = ["squeue", "--noheader", f"--job={done.stdout.strip()}"]
        while subprocess.run(asking, capture_output=True, text=True).stdout:
            time.sleep(0.2)
    elif launch.startswith("ray"):
        import ray

        ray.get([ray.remote(lambda: None).remote() for _ in range(count)])
    else:
        return None
    return (time.perf_counter() - begin) / count


def main() -> None:
    """Prints a line for each measurement."""
    engines._ASKED_EVERY = 0.2
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--launch", default="local:2")
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--cohorts", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=400)
    parser.add_argument("--tries", type=int, default=2)
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        folder, launch, cohorts, epochs = args.one
        train(folder, launch, int(cohorts), int(epochs))
        return
    first, second = hand_over(args.launch, args.jobs)
    more = {"first": first, "warm": second, "no_op": no_op(args.launch, args.jobs)}
    common.report(what="hand-over", launch=args.launch, jobs=args.jobs, **more)
    about = {"cohorts": args.cohorts, "epochs": args.epochs}
    ways = {"one_core": (launchers.HERE, 1), "one": (launchers.HERE,), "launched": (args.launch,)}
    tried = {name: list[tuple]() for name in ways}
    for name in [*ways] * args.tries:
        way, *cores = ways[name]
        tried[name].append(seconds(way, *about.values(), *cores))
    if args.tries:
        wall, cpu = (
            {n: statistics.median(of[k] for of in tried[n]) for n in ways} for k in (0, 1)
        )
        many = wall["launched"]
        ratios = {"ratio": wall["one_core"] / many, "ratio_of_one": wall["one"] / many}
        common.report(
            what="speed-up", launch=args.launch, **about, **wall, **ratios, cpu_seconds=cpu
        )


if __name__ == "__main__":
    main()
