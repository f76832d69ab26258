"""Does the tuner find better settings of trained networks than random search, at equal time?

`jaxeval tune` with each method over the same spaces, seed and number of settings, eight at once;
the best setting is trained again with fresh seeds. Two tasks: the small attentive LSTM on Georgian
grapheme to phoneme (accuracy), and the small LSTM on the head of enwik8 (bits per byte; the
hyperparameters that a program takes as arguments). `--training short` trains smaller models for
few epochs on a part of the data, Georgian too without hyperparameters that set shapes: its scores
stand for nothing but that.

One JSON line a repetition and method is added to FILE: the best dev score after each setting, the
dev scores of the best setting with fresh seeds, the optimism of the search, failures, and the wall
seconds of the search and CPU seconds of all (of the last piece, where it was stopped). What FILE
has is not run again, and a search that was stopped goes on, so that the whole protocol is one
command, in as many pieces as it takes:

    python benchmarks/tuner_real.py --data DIR --repetitions 5 --file tuner_real.jsonl
    python benchmarks/tuner_real.py --data DIR --training short --tasks georgian --repetitions 1

DIR has g2p2021/ and enwik8/enwik8.head2MB.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

EVERY = 4  # lines of Georgian's train part, of which a short training has one
HEAD = 300_000  # bytes of enwik8 that a short training has
# what tells the lines of FILE apart; "space": the stem of its file
KEYS = ("task", "training", "trials", "repetition", "method", "space")


class Task(NamedTuple):
    """What is tuned.

    Attributes:
      spaces: of a whole and of a short training.
      data: below DIR.
      short: changes of the config for a short training.
    """

    config: str
    spaces: tuple[str, str]
    data: str
    short: tuple[str, ...]


def _space(name: str) -> str:
    return str(Path(__file__).with_name(f"tuner_real_{name}.toml"))


TASKS = {
    "georgian": Task(
        "wiemerslage2024/georgian_attentive_lstm_small",
        ("wiemerslage2024/space_attentive_lstm_small", _space("georgian")),
        "g2p2021",
        ("training.epochs=8", "model.hidden=64", "model.embedding=32"),
    ),
    "enwik8": Task(
        "melis2018/enwik8_lstm_small",
        (_space("enwik8"),) * 2,
        "enwik8/enwik8.head2MB",
        ("training.epochs=2", "data.steps_per_epoch=40", "model.budget=60_000"),
    ),
}


def main() -> None:
    """Runs what FILE lacks."""
    args = _parser().parse_args()
    file = Path(args.file)
    lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    recorded = {tuple(line[key] for key in KEYS) for line in lines}
    for repetition in range(args.repetitions):
        for name in args.tasks.split(","):
            for method in args.methods.split(","):
                space = Path(TASKS[name].spaces[args.training == "short"]).stem
                key = (name, args.training, args.trials, repetition, method, space)
                if key in recorded:
                    continue
                line = {"benchmark": "tuner_real", **dict(zip(KEYS, key, strict=True))}
                line |= search(TASKS[name], args, line)
                with file.open("a") as out:
                    out.write(json.dumps(line) + "\n")
                print(json.dumps(line), flush=True)


def search(task: Task, args: argparse.Namespace, line: dict[str, object]) -> dict[str, object]:
    """What one search found."""
    short = args.training == "short"
    data = Path(args.data) / task.data
    work = Path(args.work) / "_".join(
        [str(line[key]) for key in ("task", "training", "trials", "repetition")]
    )
    work.mkdir(parents=True, exist_ok=True)
    if short:
        data = _part(data, work)
    # programs are compiled once: the seconds of the first search have it in them
    cache = {"JAX_COMPILATION_CACHE_DIR": str(Path(args.work).absolute() / "cache")}
    out = work / str(line["method"]).replace(":", "_")
    result = out.with_suffix(".json")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [sys.executable, "-m", "jaxeval", "tune", task.config, *(task.short if short else ())]
    words += [
        "--data",
        str(data),
        "--space",
        task.spaces[short],
        "--out",
        str(out),
        "--json",
        str(result),
    ]
    words += ["--method", str(line["method"]), "--trials", str(args.trials), "--parallel", "8"]
    words += ["--seed", str(line["repetition"]), "--retrain", str(args.retrain)]
    subprocess.run(words, check=True, env={**os.environ, **cache}, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    tree = json.loads(result.read_text())
    fresh = statistics.fmean(tree["retrained"]["scores"]["dev"])
    sign = 1 if tree["higher_is_better"] else -1
    return {
        "best_so_far": [value and round(value, 5) for value in _best_so_far(tree)],
        "retrained": [round(value, 5) for value in tree["retrained"]["scores"]["dev"]],
        "retrained_mean": round(fresh, 5),
        "optimism": sign * (statistics.fmean(tree["best"]["scores"]) - fresh),
        "failures": sum(tree["failures"].values()),
        "values": tree["best"]["values"],
        "wall_seconds": round(tree["seconds"], 1),
        "cpu_seconds": round(
            after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1
        ),
    }


def _best_so_far(tree: dict[str, Any]) -> list[float | None]:
    """The best mean score up to each setting, in the order of proposal."""
    better, best = max if tree["higher_is_better"] else min, list[float]()
    so_far: list[float | None] = []
    for evaluation in tree["evaluations"]:
        if scores := evaluation["result"]["scores"]:
            best.append(statistics.fmean(scores))
        so_far.append(better(best, default=None))
    return so_far


def _part(data: Path, work: Path) -> Path:
    """A part of a corpus, written below `work`."""
    if data.is_dir():
        part = work / "data"
        part.mkdir(exist_ok=True)
        for name in ("geo_train.tsv", "geo_dev.tsv", "geo_test.tsv"):
            lines = (data / name).read_text().splitlines(keepends=True)
            (part / name).write_text("".join(lines[::EVERY]))
        return part
    head = work / "head"
    with data.open("rb") as whole:
        head.write_bytes(whole.read(HEAD))
    return head


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--methods", default="gp,random")
    parser.add_argument("--training", choices=("whole", "short"), default="whole")
    parser.add_argument("--trials", type=int, default=48)
    parser.add_argument("--retrain", type=int, default=8)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--work", default="tuner_real", help="folder of searches and programs")
    parser.add_argument("--file", default="tuner_real.jsonl")
    return parser


if __name__ == "__main__":
    main()
