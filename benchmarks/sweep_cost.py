"""What do ragged populations save in a random sweep?

The same runs of one small space twice, each time in a fresh process with an empty compilation
cache: in cohorts that the cost model chose, and one program for every shape (widths, layers,
heads, batch size), where runs of equal shapes still share a population. Wall seconds in all,
compiled programs, seconds of compiling, and wasted operations. One JSON line.

    python benchmarks/sweep_cost.py --data g2p2021 --architecture transformer --runs 40
"""

import argparse
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
    return made


def main() -> None:
    """Measures both, or one."""
    given = parser().parse_args()
    if given.how:
        print(json.dumps(_measured(given)))
        return
    found = {how: _in_process(how) for how in ("ragged", "apart")}
    import common

    common.report(
        benchmark="sweep_cost",
        **{name: value for name, value in vars(given).items() if name not in ("how", "data")},
        **found,
        ratio=round(found["apart"]["seconds"] / found["ragged"]["seconds"], 2),
    )


def _in_process(how: str) -> Any:
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, __file__, *sys.argv[1:], "--how", how],
            env={**os.environ, "XDG_CACHE_HOME": cache, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    return json.loads(done.stdout.splitlines()[-1])


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
    from jaxeval.experiment import sweeping
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
    made = cohorts.plan(
        sweeping.asked(runs, module, prepared),
        sweeping.sizes_of(prepared),
        machine_of(prepared),
    )
    with tempfile.TemporaryDirectory() as folder:
        train = _ragged if given.how == "ragged" else _apart
        programs = train(runs, made, module, prepared, of, Path(folder))
    operations, needed = sum(c.operations for c in made), sum(c.needed for c in made)
    return {
        "seconds": round(time.perf_counter() - begin, 1),
        "programs": programs,
        "compilations": len(compiled),
        "compile_seconds": round(sum(compiled), 1),
        "wasted": round(1 - needed / operations, 3) if given.how == "ragged" else 0.0,
    }


def _ragged(runs: Any, made: Any, module: Any, prepared: Any, of: Any, folder: Path) -> int:
    from jaxeval.experiment import running, sweeping

    record = sweeping.record_of(prepared, of, 1)
    for number, cohort in enumerate(made):
        one, members = sweeping.prepare(cohort, number, runs, module, record)
        running.run(one, members, folder)
    return len(made)


def _apart(runs: Any, made: Any, module: Any, prepared: Any, of: Any, folder: Path) -> int:
    """Every shape as `train` would train it; runs of one shape are one population."""
    del made, prepared, of
    from jaxeval import experiment
    from jaxeval.contracts import Member
    from jaxeval.experiment import running, sweeping

    shapes: dict[Any, list[int]] = {}
    for number, run in enumerate(runs):
        model = tuple(getattr(run.config.model, name) for name in module.RAGGED)
        shapes.setdefault((*model, run.config.training.batch_size), []).append(number)
    for numbers in shapes.values():
        config = runs[numbers[0]].config
        one = experiment.prepare(config)
        members = [
            Member(n + 1, 0, tuple(sorted(sweeping.traced(runs[n].config).items())))
            for n in numbers
        ]
        running.run(one, members, folder)
    return len(shapes)


if __name__ == "__main__":
    main()
