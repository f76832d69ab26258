"""What does a selection save by training its models in one process?

The same fixed-confidence search among the four small models of Moss et al. (2019) on the generated
corpus, by the verb `select`: with configs as models, trained in process; and with `--command`, one
`python -m jaxeval.train` an evaluation. In wall seconds from its start to its end, and in CPU
seconds of all its processes, which other programs on the machine change less. The first search
begins with an empty compilation cache (`first`); then both find all programs in it, so that the
commands do not compile either: the harder peer, as a careful user would have it. All must evaluate
the same, to the same scores. One JSON line.

    python benchmarks/select_cost.py
    python benchmarks/select_cost.py --cache DIR     # where an earlier one has compiled all

With --workers above 1 the rule must not depend on which result comes first: --rule non-adaptive.
"""

import argparse
import json
import os
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
MODELS = ("lstm_small", "tdlstm_small", "atae_small", "ian_small")


class Timed(NamedTuple):
    """A search's seconds, its own and its commands', and what `select --json` tells of it."""

    seconds: float
    cpu_seconds: float
    told: Mapping[str, Any]


def main() -> None:
    """Searches both ways, compares, prints."""
    args = _parser().parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        searches = {} if args.cache else {"in_process_first": _in_process(args, folder / "first")}
        searches["in_process"] = _in_process(args, folder / "within")
        searches["by_command"] = _by_command(args, folder / "apart")
        cache = (args.cache or folder / "cache").absolute()
        timed = {kind: _search(words, folder, cache) for kind, words in searches.items()}
    within, apart = timed["in_process"], timed["by_command"]
    for other in timed.values():
        assert other.told["scores"] == within.told["scores"], "other evaluations, or scores"
        assert other.told["best"] == within.told["best"]
    import common

    common.report(
        benchmark="select_cost",
        **{**vars(args), "cache": bool(args.cache)},
        best=within.told["best"],
        evaluations={model: len(scores) for model, scores in within.told["scores"].items()},
        seconds={kind: round(search.seconds, 1) for kind, search in timed.items()},
        cpu_seconds={kind: round(search.cpu_seconds, 1) for kind, search in timed.items()},
        ratio=round(apart.seconds / within.seconds, 2),
        ratio_cpu=round(apart.cpu_seconds / within.cpu_seconds, 2),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rule", choices=("top-two", "non-adaptive"), default="top-two")
    parser.add_argument("--delta", type=float, default=0.05)
    parser.add_argument("--workers", type=int, default=1, help="commands at once (1)")
    parser.add_argument("--sentences", type=int, default=400, help="of train (400)")
    parser.add_argument("--epochs", type=int, default=12, help="at most (12)")
    parser.add_argument(
        "--cache", type=Path, metavar="DIR", help="compilation cache that holds all programs"
    )
    return parser


def _changes(args: argparse.Namespace) -> Sequence[str]:
    return f"data.source.sentences={args.sentences}", f"training.epochs={args.epochs}"


def _rule(args: argparse.Namespace) -> Sequence[str]:
    rule = ["--rule", args.rule, "--delta", str(args.delta)]
    return rule if args.rule == "non-adaptive" else [*rule, "--batch", str(args.workers)]


def _in_process(args: argparse.Namespace, runs: Path) -> Sequence[str]:
    models = [f"moss2019/{model}" for model in MODELS]
    return [*models, *_changes(args), *_rule(args), "--out", str(runs)]


def _by_command(args: argparse.Namespace, runs: Path) -> Sequence[str]:
    train = [sys.executable, "-m", "jaxeval.train", "moss2019/{model}", *_changes(args)]
    train += ["--split-list", "{split}", "--seed-list", "{seed}", "--json", "-"]
    train += ["--out", f"{runs}/{{model}}_{{seed}}"]
    command = ["--command", shlex.join(train), "--json-field", "test.median"]
    options = ["--workers", str(args.workers), "--state", f"{runs}.json"]
    return [*MODELS, *_rule(args), *command, *options]


def _search(words: Sequence[str], folder: Path, cache: Path) -> Timed:
    """Runs the verb in a process of its own; all searches share a compilation cache."""
    answer = folder / "answer.json"
    begin, spent = time.perf_counter(), _cpu_seconds()
    subprocess.run(
        [sys.executable, "-m", "jaxeval.select", *words, "--json", str(answer)],
        env={**os.environ, "JAX_COMPILATION_CACHE_DIR": str(cache)},
        cwd=ROOT,
        check=True,
    )
    seconds, cpu = time.perf_counter() - begin, _cpu_seconds() - spent
    return Timed(seconds, cpu, json.loads(answer.read_text()))


def _cpu_seconds() -> float:
    """Of all processes started from here that have ended, and of those that they started."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
