"""What does a selection save by training its models in one process?

The same fixed-confidence search among the four small models of Moss et al. (2019) on the generated
corpus: by `select`, which trains configs in process; and by `select command`, one `python -m
jaxeval.train` an evaluation. In wall seconds from its start to its end, and in CPU
seconds of all its processes, which other programs on the machine change less. The first search
begins with an empty compilation cache (`first`); then both find all programs in it, so that the
commands do not compile either: the harder peer, as a careful user would have it. All must choose
the same evaluations in the same order, and get the same scores. One JSON line.

    python benchmarks/select_cost.py
    python benchmarks/select_cost.py --cache DIR     # where an earlier one has compiled all
    python benchmarks/select_cost.py --budget 48 --models A B C D  # close ones: a longer search

With --workers above 1 the rule must not depend on which result comes first: --rule non-adaptive.
"""

import argparse
import json
import os
import re
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
MODELS = tuple(f"moss2019/{model}_small" for model in ("lstm", "tdlstm", "atae", "ian"))
CHOSEN = re.compile(
    r"^\d+ evaluations? in all; (\S+), evaluation (\d+): ", re.MULTILINE
)  # a line of progress


class Timed(NamedTuple):
    """A search's seconds, its own and its commands', what it chose in order, and its --json."""

    seconds: float
    cpu_seconds: float
    chosen: Sequence[tuple[str, str]]
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
    _refuse_other_searches(list(timed.values()), ordered=args.workers == 1)
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


def _refuse_other_searches(searches: Sequence[Timed], ordered: bool) -> None:
    """Asserts that all chose the same evaluations, and got the same scores and the same model."""
    first = searches[0]
    order = list if ordered else sorted  # commands side by side end in any order
    for search in searches:
        assert len(search.chosen) == search.told["evaluations"], "a line of progress was not read"
        assert order(search.chosen) == order(first.chosen), "other evaluations, or another order"
        assert search.told["scores"] == first.told["scores"], "other scores"
        assert search.told["best"] == first.told["best"], "another model"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--models", nargs="+", metavar="CONFIG", default=MODELS, help="named as their files are"
    )
    parser.add_argument("--rule", choices=("top-two", "non-adaptive"), default="top-two")
    parser.add_argument("--delta", type=float, default=0.05)
    parser.add_argument("--budget", type=int, metavar="N", help="evaluations at most")
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
    rule += ["--budget", str(args.budget)] if args.budget else []
    return rule if args.rule == "non-adaptive" else [*rule, "--batch", str(args.workers)]


def _in_process(args: argparse.Namespace, runs: Path) -> Sequence[str]:
    return [*args.models, *_changes(args), *_rule(args), "--out", str(runs)]


def _by_command(args: argparse.Namespace, runs: Path) -> Sequence[str]:
    train = [sys.executable, "-m", "jaxeval", "train", "{model}", *_changes(args)]
    train += ["--splits", "{split},", "--seeds", "{seed},", "--json", "-"]
    train += ["--out", f"{runs}/{{model}}/{{seed}}"]
    command = ["command", shlex.join(train), *args.models, "--json-field", "test.median"]
    return [*command, *_rule(args), "--workers", str(args.workers), "--state", f"{runs}.json"]


def _search(words: Sequence[str], folder: Path, cache: Path) -> Timed:
    """Runs the verb in a process of its own; all searches share a compilation cache."""
    answer, progress = folder / "answer.json", folder / "progress"
    begin, spent = time.perf_counter(), _cpu_seconds()
    with progress.open("w") as file:
        subprocess.run(
            [sys.executable, "-m", "jaxeval", "select", *words, "--json", str(answer)],
            env={**os.environ, "JAX_COMPILATION_CACHE_DIR": str(cache)},
            cwd=ROOT,
            check=True,
            stderr=file,
        )
    seconds, cpu = time.perf_counter() - begin, _cpu_seconds() - spent
    result = json.loads(answer.read_text())
    result["best"] = _name(result["best"])
    result["scores"] = {_name(model): scores for model, scores in result["scores"].items()}
    chosen = [(_name(model), number) for model, number in CHOSEN.findall(progress.read_text())]
    return Timed(seconds, cpu, chosen, result)


def _name(model: str) -> str:
    """Of a config, which a command is given by its path."""
    return Path(model).stem


def _cpu_seconds() -> float:
    """Of all processes started from here that have ended, and of those that they started."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
