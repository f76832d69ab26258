"""What do ragged populations save in a random sweep?

The same runs of one small space twice, each time in fresh processes with an empty compilation
cache: in cohorts that the cost model chose; and one program for every shape (widths, layers,
heads, batch size), where runs of equal shapes still share a population. The second has a process
a core, each with every so-manieth shape, so that no core waits while another trains its only run.
Wall seconds in all (of the slowest process), programs, seconds of XLA's compiling, and the share
of operations that is for nothing: dead units and rows of weight 0. One JSON line.

    python benchmarks/sweep_cost.py --data g2p2021 --architecture transformer --runs 40
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CONFIGS = ROOT / "configs" / "wiemerslage2024"
_COMPILED = "/jax/core/compile/backend_compile_duration"


def parser() -> argparse.ArgumentParser:
    """Arguments."""
    made = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--data", required=True, help="folder of Georgian words (geo_train.tsv)")
    made.add_argument(
        "--architecture", choices=("attentive_lstm", "transformer"), default="transformer"
    )
    made.add_argument("--runs", type=int, default=40)
    made.add_argument("--items", type=int, default=2000, help="train words (2,000)")
    made.add_argument("--epochs", type=int, default=2)
    made.add_argument("--how", choices=("ragged", "apart"), help="only one, in this process")
    made.add_argument("--part", type=int, default=0, help="of `apart`: which core's shapes")
    made.add_argument("--parts", type=int, default=1, help="of `apart`: how many processes")
    return made


def main() -> None:
    """Measures both, or one."""
    given = parser().parse_args()
    if given.how:
        print(json.dumps(_measured(given)))
        return
    cores = len(os.sched_getaffinity(0))
    ragged = _in_processes("ragged", 1)[0]
    apart = _in_processes("apart", cores)
    import common

    asked = ("architecture", "runs", "items", "epochs")
    common.report(
        benchmark="sweep_cost",
        **{name: getattr(given, name) for name in asked},
        ragged=_summed([ragged]),
        apart={**_summed(apart), "processes": cores},
        ratio=round(max(one["seconds"] for one in apart) / ragged["seconds"], 2),
    )


def _in_processes(how: str, count: int) -> list[dict[str, Any]]:
    """What each of some processes measured; they run at once, with a cache of their own each."""
    with contextlib.ExitStack() as stack:
        started = []
        for part in range(count):
            cache = stack.enter_context(tempfile.TemporaryDirectory())
            more = ["--how", how, "--part", str(part), "--parts", str(count)]
            environment = {**os.environ, "XDG_CACHE_HOME": cache, "PYTHONPATH": str(ROOT)}
            if count > 1:
                environment["JAX_NUM_CPU_DEVICES"] = "1"
            command = [sys.executable, __file__, *sys.argv[1:], *more]
            started.append(
                subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
            )
        said = [one.communicate()[0] for one in started]
    if any(one.returncode for one in started):
        raise SystemExit("a process failed")
    return [json.loads(lines.splitlines()[-1]) for lines in said]


def _summed(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Of all processes: the slowest one's wall seconds, and sums of all else."""
    total = {name: sum(part[name] for part in parts) for name in parts[0]}
    return {
        "seconds": max(part["seconds"] for part in parts),
        "programs": total["programs"],
        "compilations": total["compilations"],
        "compile_seconds": round(total["compile_seconds"], 1),
        "wasted": round(1 - total["needed"] / total["operations"], 3),
    }


def _measured(given: argparse.Namespace) -> dict[str, Any]:
    """One way, from reading the config to the last score."""
    from jaxeval import backend

    backend.prepare()
    import jax

    compiled: list[float] = []

    def note(name: str, seconds: float, **_: Any) -> None:
        if name == _COMPILED:
            compiled.append(seconds)

    jax.monitoring.register_event_duration_secs_listener(note)
    from jaxeval import experiment
    from jaxeval.experiment import running, sweeping
    from jaxeval.sweep import cohorts, space
    from jaxeval.sweep.__main__ import machine_of

    begin = time.perf_counter()
    path = str(CONFIGS / f"georgian_{given.architecture}_small.toml")
    changes = [f"training.epochs={given.epochs}", f"data.train_items={given.items}"]
    changes.append(f"data.path={json.dumps(given.data)}")
    of = space.read(CONFIGS / f"space_{given.architecture}_small.toml")
    config = experiment.read(path, changes)
    module = experiment.kind(config.task)
    runs = sweeping.draw(path, changes, module, of, 1, given.runs)
    prepared = experiment.prepare(config)
    asked, sizes = sweeping.asked(runs, module, prepared), sweeping.sizes_of(prepared)
    with tempfile.TemporaryDirectory() as folder:
        if given.how == "ragged":
            made = cohorts.plan(asked, sizes, machine_of(prepared))
            record = sweeping.record_of(prepared, of, 1)
            work = [
                sweeping.prepare(cohort, number, runs, module, record)
                for number, cohort in enumerate(made)
            ]
            operations = sum(cohort.operations for cohort in made)
            needed = sum(cohort.needed for cohort in made)
        else:
            shapes = _shapes(asked)[given.part :: given.parts]
            work = [_apart([runs[number] for number in numbers], numbers) for numbers in shapes]
            mine = [asked[number] for numbers in shapes for number in numbers]
            operations = sum(_operations(run, _padded_rows(run, sizes)) for run in mine)
            needed = sum(_operations(run, sum(sizes)) for run in mine)
        for one, members in work:
            running.run(one, members, Path(folder))
    return {
        "seconds": round(time.perf_counter() - begin, 1),
        "programs": len(work),
        "compilations": len(compiled),
        "compile_seconds": sum(compiled),
        "operations": operations,
        "needed": needed,
    }


def _shapes(asked: Any) -> list[list[int]]:
    """Numbers of the runs of each size and batch size, most operations first."""
    found: dict[Any, list[int]] = {}
    for number, run in enumerate(asked):
        found.setdefault((run.extent, run.batch_size), []).append(number)
    return sorted(
        found.values(),
        key=lambda numbers: sum(_operations(asked[n], 1) for n in numbers),
        reverse=True,
    )


def _operations(run: Any, rows: int) -> float:
    """Of a run at its own size, for so many rows an epoch."""
    return run.epochs * rows * run.extent.operations(run.extent)


def _padded_rows(run: Any, sizes: list[int]) -> int:
    from jaxeval.sweep import cohorts

    return cohorts.rows_computed(sizes, run.batch_size, run.batch_size)


def _apart(runs: list[Any], numbers: list[int]) -> Any:
    """Runs of one shape as `train` would train them: one population."""
    from jaxeval import experiment
    from jaxeval.contracts import Member
    from jaxeval.experiment import sweeping

    members = [
        Member(number + 1, 0, tuple(sorted(sweeping.traced(run.config).items())))
        for number, run in zip(numbers, runs, strict=True)
    ]
    return experiment.prepare(runs[0].config), members


if __name__ == "__main__":
    main()
