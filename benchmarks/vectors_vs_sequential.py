"""How much faster are all vectors, seeds and tasks in one program than one after the other?

Four files of word vectors with eight seeds each, on VecEval's six tasks with vectors fixed
(`configs/nayak2016`): a population of 32 members a task, as `jaxeval vectors judge` trains it,
against PyTorch as `peers` describes it, of which `one_process` is one member after the other.
Before anything is timed the loss and the gradients of a batch must agree, of the same weights. In
every round an epoch of each in turn; a ratio is that of seconds a member, training only. `total`
adds up the tasks. (With fewer --steps, of which a total counts as many as an epoch has, ours
shuffle the whole train set for them, and seem slower than they are.)

With --commands the same is done through verbs, whole commands in CPU seconds from cold caches:
`vectors judge` once, against one `train` a file, seed and task, of which N a task are run.

    pip install torch==2.13.0
    python benchmarks/vectors_vs_sequential.py --data pos=EWT --data ner=WNUT17 --data nli=PPDB
    python benchmarks/vectors_vs_sequential.py training.epochs=5 --data pos=EWT --commands 2

Vectors are drawn, of 100 numbers, for --words words of the corpora: their values cost nothing.
"""

import argparse
import collections
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import common
import jax
import numpy as np
import peers
import sentiment_vs_pytorch
import torch
import vectors_agreement
import vectors_pytorch

from jaxeval import judge, studies
from jaxeval.population import host
from jaxeval.studies import cohorts

FILES, DIMENSION = 4, 100


def main() -> None:
    """Measures and prints, a line a task and one of all."""
    arguments = _parser().parse_args()
    data = dict(word.split("=", 1) for word in arguments.data)
    with tempfile.TemporaryDirectory() as folder:
        files = _vectors(Path(folder), data, arguments.changes, arguments.words)
        if arguments.commands:
            _commands(files, data, arguments, Path(folder))
            return
        totals: dict[str, float] = collections.defaultdict(float)
        for task, path in data.items():
            seconds = _task(task, {task: path}, files, arguments)
            for name, value in seconds.items():
                totals[name] += value
    ours = totals.pop("ours")
    common.report(
        benchmark="vectors_vs_sequential",
        task="total",
        tasks=[*data],
        ratio={name: round(value / ours, 2) for name, value in totals.items()},
        seconds_per_member_epoch=round(ours, 3),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "changes", nargs="*", metavar="KEY=VALUE", help="of all configs, or TASK:KEY=VALUE"
    )
    parser.add_argument("--data", action="append", required=True, metavar="TASK=PATH")
    parser.add_argument("--words", type=int, default=20_000, help="with a vector, at most")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--steps", type=int, help="of a timed turn; default: an epoch")
    parser.add_argument("--pairs", type=int, default=5, help="rounds")
    parser.add_argument("--commands", type=int, metavar="N", help="`train` is called so often")
    return parser


def _vectors(folder: Path, data: dict[str, str], changes: Sequence[str], most: int) -> list[str]:
    """Files of drawn vectors of the words that most of the corpora have."""
    counts: collections.Counter[str] = collections.Counter()
    for task, path in data.items():
        own = [*judge._task_changes(changes, data)[task], "data.without_vector=own"]
        config: Any = studies.read(f"nayak2016/{task}_fixed", own, path)
        prepared = studies.prepare(config)
        counts.update(dict.fromkeys(prepared.data.table.folded, 1))
    words = [word for word, _ in counts.most_common(most)]
    files = []
    for number in range(FILES):
        table = np.random.default_rng(number).normal(size=(len(words), DIMENSION))
        file = folder / f"v{number}.txt"
        with file.open("w", encoding="utf-8") as out:
            for word, row in zip(words, table, strict=True):
                out.write(" ".join([word, *(f"{x:.4f}" for x in row)]) + "\n")
        files.append(str(file))
    return files


def _task(
    task: str, data: dict[str, str], files: Sequence[str], arguments: argparse.Namespace
) -> dict[str, float]:
    """Seconds of a member's epoch over its whole train set: ours, and each peer's."""
    seeds = [*range(1, arguments.seeds + 1)]
    changes = judge._task_changes(arguments.changes, data)
    (entries,) = judge.plan({file: file for file in files}, data, ["fixed"], seeds, changes)
    (cohort,) = cohorts.by_program(entries)
    whole = _steps(cohort.problem, cohort.members)
    count = whole if arguments.steps is None else min(arguments.steps, whole)
    population, compile_seconds = sentiment_vs_pytorch.cut_population(
        cohort.problem, cohort.members, count
    )
    prepared = entries[0].prepared
    cores = jax.device_count()
    params = sentiment_vs_pytorch.params_of(population, cores)
    batches = [sentiment_vs_pytorch.batches_of(prepared, population, n) for n in range(cores)]
    differences = vectors_agreement.check(prepared, params[0], batches[0][0])
    content = _payload(prepared, params, batches)
    file, ways = vectors_pytorch.__file__, vectors_pytorch.WAYS[content["kind"]]
    rounds = sentiment_vs_pytorch.measure(population, content, file, ways, arguments.pairs)
    peers.announce(task, rounds)
    common.report(
        benchmark="vectors_vs_sequential",
        task=task,
        **peers.summary(rounds, "steps_per_second", lambda seconds: count / seconds),
        members=len(cohort.members),
        steps=count,
        steps_of_an_epoch=whole,
        rows_of_a_step=prepared.config.training.batch_size,
        words_with_a_vector=len(prepared.data.table.named),
        agreement=differences._asdict(),
        torch=torch.__version__,
        compile_seconds=round(compile_seconds, 1),
    )
    each = {"ours": rounds.ours, **rounds.theirs}
    return {name: float(np.median(of)) * whole / count for name, of in each.items()}


def _steps(problem: Any, members: Sequence[Any]) -> int:
    """Of an epoch."""
    population = host.Population(problem, members[:1], 1)
    return int(jax.device_get(population.engine.shared.steps).count)


def _payload(prepared: studies.Prepared, params: list[Any], batches: list[Any]) -> dict[str, Any]:
    """What the processes of PyTorch read."""
    kind, optimiser = (
        vectors_agreement.kind_of(prepared.config),
        prepared.config.training.optimiser,
    )
    tables = vectors_agreement.tables_of(prepared)
    decayed = [name.replace("/kernel", ".weight") for name in optimiser.l2_parameters or ()]
    return {
        "kind": kind,
        "sizes": tuple(vectors_agreement.model_of(prepared)),
        "vectors": torch.from_numpy(prepared.data.table.vectors),
        "weights": [vectors_agreement.named(member) for member in params],
        "batches": [
            [vectors_pytorch.prepare(kind, batch, tables) for batch in rows] for rows in batches
        ],
        "rate": optimiser.hyperparameters["learning_rate"],
        "decay": optimiser.l2,
        "decayed": decayed,
    }


def _commands(
    files: Sequence[str], data: dict[str, str], arguments: argparse.Namespace, folder: Path
) -> None:
    """CPU seconds of whole commands; the compilation caches of both ways are empty at first."""
    data_flags = [f"--data={task}={path}" for task, path in data.items()]
    words = ["vectors", "judge", *files, *data_flags, "--modes", "fixed", *arguments.changes]
    judged = _cpu_seconds([*words, "--seeds", str(arguments.seeds)], folder / "judge")
    train_seconds = [
        _cpu_seconds(call, folder / "train") for call in _train_calls(files, data, arguments)
    ]
    calls = len(files) * arguments.seeds * len(data)
    common.report(
        benchmark="vectors_vs_sequential",
        task="commands",
        tasks=[*data],
        judge_cpu_seconds=round(judged, 1),
        train_cpu_seconds_per_call=common.quartiles(train_seconds),
        train_calls=calls,
        ratio=round(float(np.mean(train_seconds)) * calls / judged, 2),
        changes=arguments.changes,
    )


def _train_calls(
    files: Sequence[str], data: dict[str, str], arguments: argparse.Namespace
) -> Iterator[list[str]]:
    """So many calls a task, with other seeds."""
    for task, path in data.items():
        changes = judge._task_changes(arguments.changes, data)[task]
        for seed in range(1, arguments.commands + 1):
            flags = ["--data", path, "--seeds", f"{seed},", f"data.vectors={files[0]}"]
            yield ["train", f"nayak2016/{task}_fixed", *flags, *changes]


def _cpu_seconds(words: Sequence[str], out: Path) -> float:
    """User and system time of a command and all that it starts."""
    environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(out / "cache")}
    before = os.times()
    command = [sys.executable, "-m", "jaxeval", *words, "--out", str(out / "runs")]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


if __name__ == "__main__":
    main()
