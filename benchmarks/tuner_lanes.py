"""What does padding save where successive halving refills lanes?

The same settings of the small space of attentive LSTMs, begun twice, each time in a fresh process
with an empty compilation cache: padded to the shape buckets of the search, and each at its own
size. Dev scores and decisions are compared nowhere: a setting may go on in one of them and be
stopped in the other. Georgian words, cut to so many of train and of dev. One JSON line: settings,
those that joined a population that was running, programs, processor seconds, wall seconds.

    python benchmarks/tuner_lanes.py --data g2p2021 --trials 8 --items 300
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
CONFIG = "wiemerslage2024/georgian_attentive_lstm_small"
SPACE = "wiemerslage2024/space_attentive_lstm_small"


def parser() -> argparse.ArgumentParser:
    """Arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, help="folder of Georgian words (geo_train.tsv)")
    parser.add_argument("--trials", type=int, default=8)
    parser.add_argument("--parallel", type=int, default=3)
    parser.add_argument("--items", type=int, default=300, help="train words (300), dev a third")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--method", default="sobol")
    parser.add_argument("--how", choices=("padded", "apart"), help="only one, in this process")
    return parser


def main() -> None:
    """Measures both, or one."""
    args = parser().parse_args()
    if args.how:
        print(json.dumps(_measured(args)))
        return
    each = {how: _in_a_process(how) for how in ("padded", "apart")}
    import common

    names = ("trials", "parallel", "items", "epochs", "method")
    common.report(
        benchmark="tuner_lanes",
        **{name: getattr(args, name) for name in names},
        **each,
        ratio=round(each["apart"]["processor_seconds"] / each["padded"]["processor_seconds"], 2),
    )


def _in_a_process(how: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "XDG_CACHE_HOME": cache, "PYTHONPATH": str(ROOT)}
        environment.pop("JAX_COMPILATION_CACHE_DIR", None)
        command = [sys.executable, __file__, *sys.argv[1:], "--how", how]
        said = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout
    known: dict[str, Any] = json.loads(said.splitlines()[-1])
    return known


def _measured(args: argparse.Namespace) -> dict[str, Any]:
    """One way, from reading the config to the last score."""
    from jaxeval import backend

    backend.prepare()
    from jaxeval import runs
    from jaxeval import space as spaces
    from jaxeval.studies import launching
    from jaxeval.tune import target as targets
    from jaxeval.tune.populations import Populations
    from jaxeval.tuning import Search, State
    from jaxeval.tuning.history import Halving, History

    begin = time.perf_counter()
    if args.how == "apart":
        targets.Target.padded = lambda *arguments: []  # type: ignore[method-assign]
    search = Search(spaces.load(SPACE)[0], args.method, seed=1, halving=Halving(3))
    state = State(search, History(), args.trials)
    with tempfile.TemporaryDirectory() as folder:
        _cut(Path(args.data), Path(folder), args.items)
        changes = [f"training.epochs={args.epochs}"]
        of = targets.target(CONFIG, changes, folder, search)
        with runs.open_store(Path(folder)) as store:
            fed = Populations(of, state, store, Path(folder), args.parallel)
            for _ in launching.train(fed, store, Path(folder)):
                pass
    ended = state.history.evaluations
    return {
        "settings": len(ended),
        "refilled": sum(e.joined is not None and e.joined[1] > 0 for e in ended),
        "epochs": sum(e.stopped.epochs if e.stopped else args.epochs for e in ended),
        "programs": sum(map(len, of.session.programs.values())),
        "processor_seconds": round(time.process_time(), 1),
        "seconds": round(time.perf_counter() - begin, 1),
    }


def _cut(source: Path, folder: Path, items: int) -> None:
    """The first lines of each part."""
    for part, count in (("train", items), ("dev", items // 3), ("test", items // 3)):
        lines = (source / f"geo_{part}.tsv").read_text(encoding="utf-8").splitlines()[:count]
        (folder / f"geo_{part}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
