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
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CONFIGS = ROOT / "configs" / "wiemerslage2024"
_COMPILED = "/jax/core/compile/backend_compile_duration"


def parser() -> argparse.ArgumentParser:
    """Arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, help="folder of Georgian words (geo_train.tsv)")
    parser.add_argument(
        "--architecture", choices=("attentive_lstm", "transformer"), default="transformer"
    )
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--items", type=int, default=2000, help="train words (2,000)")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--how", choices=("ragged", "apart"), help="only one, in this process")
    parser.add_argument("--part", type=int, default=0, help="of `apart`: which core's shapes")
    parser.add_argument("--parts", type=int, default=1, help="of `apart`: how many processes")
    return parser


def main() -> None:
    """Measures both, or one."""
    args = parser().parse_args()
    if args.how:
        print(json.dumps(_measured(args)))
        return
    cores = len(os.sched_getaffinity(0))
    ragged = _in_processes("ragged", 1)[0]
    apart = _in_processes("apart", cores)
    import common

    names = ("architecture", "runs", "items", "epochs")
    common.report(
        benchmark="sweep_cost",
        **{name: getattr(args, name) for name in names},
        ragged=_summed([ragged]),
        apart={**_summed(apart), "processes": cores},
        ratio=round(max(run["seconds"] for run in apart) / ragged["seconds"], 2),
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
        said = [process.communicate()[0] for process in started]
    if any(process.returncode for process in started):
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


def _measured(args: argparse.Namespace) -> dict[str, Any]:
    """One way, from reading the config to the last score."""
    compiled = _compilations()
    from jaxeval import observe, space
    from jaxeval.studies import padding, sweeps

    begin = time.perf_counter()
    path = str(CONFIGS / f"georgian_{args.architecture}_small.toml")
    changes = [f"training.epochs={args.epochs}", f"data.train_items={args.items}"]
    changes.append(f"data.path={json.dumps(args.data)}")
    of = space.load(CONFIGS / f"space_{args.architecture}_small.toml")[0]
    drawn = sweeps.draw(path, changes, None, of, seed=1, count=args.runs, folder=Path())
    entries, estimates, operations = _planned(args, [*drawn.entries], drawn.base)
    work = padding.by_estimates(entries, estimates, drawn.session.loader)
    with tempfile.TemporaryDirectory() as folder:
        observe.train_cohorts(work, Path(folder), session=drawn.session)
    return {
        "seconds": round(time.perf_counter() - begin, 1),
        "programs": len(work),
        "compilations": len(compiled),
        "compile_seconds": sum(compiled),
        **operations,
    }


def _compilations() -> list[float]:
    """Prepares JAX; seconds of every compilation, which are added as they end."""
    from jaxeval import backend

    backend.prepare()
    import jax

    compiled: list[float] = []

    def note(name: str, seconds: float, **_: Any) -> None:
        if name == _COMPILED:
            compiled.append(seconds)

    jax.monitoring.register_event_duration_secs_listener(note)
    return compiled


def _planned(
    args: argparse.Namespace, entries: list[Any], prepared: Any
) -> tuple[list[Any], list[Any], dict[str, float]]:
    """The runs as they are planned, their cohorts, and operations: computed, and needed."""
    from jaxeval.studies import costs, padding, sweeps

    jobs, machine = padding.jobs(entries), sweeps.machine_of(prepared)
    if args.how == "ragged":
        estimates = costs.plan(jobs, machine)
        operations = sum(estimate.operations for estimate in estimates)
        needed = sum(estimate.needed for estimate in estimates)
    else:
        entries = [_without_member_sizes(entry) for entry in entries]
        alone = dataclasses.replace(machine, devices=1, compile_seconds=0.0)  # nothing is joined
        apart = costs.plan(padding.jobs(entries), alone)
        estimates = _by_operations(apart, jobs)[args.part :: args.parts]
        of_part = [jobs[number] for estimate in estimates for number in estimate.jobs]
        operations = sum(_operations(job, _padded_rows(job, machine.sizes)) for job in of_part)
        needed = sum(_operations(job, sum(machine.sizes)) for job in of_part)
    return entries, estimates, {"operations": operations, "needed": needed}


def _without_member_sizes(entry: Any) -> Any:
    """A run that only shares a program with those of its own size and batch size."""
    kind = entry.prepared.kind._replace(member_sizes=None)
    return dataclasses.replace(entry, prepared=entry.prepared._replace(kind=kind))


def _by_operations(estimates: list[Any], jobs: list[Any]) -> list[Any]:
    """Cohorts with most operations first."""
    return sorted(
        estimates,
        key=lambda estimate: sum(_operations(jobs[n], 1) for n in estimate.jobs),
        reverse=True,
    )


def _operations(job: Any, rows: int) -> float:
    """Of a run at its own size, for so many rows an epoch."""
    return job.epochs * rows * job.shape.operations(job.shape)


def _padded_rows(job: Any, sizes: Sequence[int]) -> int:
    from jaxeval.studies import costs

    return costs.rows_computed(sizes, job.batch_size, job.batch_size)


if __name__ == "__main__":
    main()
