"""Runs the commands of tests/golden/commands.py and writes or reads the table of their scores.

    uv run python -m tests.golden.record              # all commands
    uv run python -m tests.golden.record "crf"        # those whose name holds this text

A refactoring changes no line of the table. Where a change of scores is the purpose, the commit
that records them anew says so. Programs are compiled as in all tests (tests/compiling.py), which
may change the last bits.
"""

import importlib
import importlib.metadata
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).with_name("scores.tsv")


class Score(NamedTuple):
    """A member, or a model evaluated in another way; numbers as the shortest text that is exact.

    Attributes:
      repeat: from 1, of members alike in model, split and seed.
      loss: of the last training epoch: it tells more than scores that count right answers.
    """

    command: str
    model: str
    split: str
    seed: str
    repeat: str
    end: str
    dev: str
    test: str
    loss: str


def versions() -> dict[str, str]:
    """What the last bits may depend on."""
    packages = ("jax", "jaxlib", "numpy")
    return {**{name: importlib.metadata.version(name) for name in packages}, "cpu": _cpu()}


def differing(here: dict[str, str], recorded: dict[str, str]) -> str:
    """What is not as it was recorded, for people; "" where the last bits must be equal."""
    return ", ".join(
        f"{name} {here[name]}, recorded with {recorded[name]}"
        for name in recorded
        if here[name] != recorded[name]
    )


def _cpu() -> str:
    """The processor's name and its widest vectors."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = dict(line.replace("\t", "").split(": ", 1) for line in lines if ": " in line)
    flags = facts.get("flags", "").split()
    widest = next((flag for flag in ("avx512f", "avx2", "avx") if flag in flags), "no avx")
    return f"{facts.get('model name', platform.machine())}, {widest}"


def prepare(folder: Path) -> Path:
    """Writes what the commands read under a folder."""
    from tests.golden import commands, corpora

    corpora.write(folder)
    (folder / "space.toml").write_text(commands.SPACE)
    (folder / "variants.toml").write_text(commands.VARIANTS)
    return folder


def run(command: str, data: Path, out: Path) -> list[Score]:
    """Makes a command's calls, one after the other, and reads what they left."""
    from jaxeval import __main__ as command_line
    from tests.golden import commands

    evaluated: list[Score] = []
    for call in commands.COMMANDS[command]:
        words = [word.format(data=data) for word in call.words.split()]
        answer = out / f"{call.verb}.json"
        words += ["--out", str(out / "runs"), "--json", str(answer)]
        status = command_line.main([call.verb, *words])
        if status:
            raise RuntimeError(f"{command}: {call.verb} ended with {status}")
        if call.verb == "evaluate":
            evaluated = [_of_condition(command, row) for row in json.loads(answer.read_text())]
    return [*_recorded(command, out / "runs"), *evaluated]


def _recorded(command: str, folder: Path) -> Iterator[Score]:
    """The members of a runs folder."""
    from jaxeval import runs

    losses = {
        (row.experiment, row.split, row.seed, row.hparams): row.value
        for row in runs.load_curves(folder)  # the last epoch comes last
        if (row.part, row.metric) == ("train", "loss")
    }
    alike: dict[tuple, int] = {}
    for row in sorted(runs.load(folder), key=lambda r: (r.name, r.split, r.seed, r.hparams)):
        who = (row.name, row.split, row.seed)
        alike[who] = alike.get(who, 0) + 1
        loss = losses[row.experiment, row.split, row.seed, row.hparams]
        end = f"{row.status} {row.best_epoch}/{row.epochs}"
        numbers = map(repr, (row.dev, row.test, loss))
        yield Score(command, *map(str, who), str(alike[who]), end, *numbers)


def _of_condition(command: str, row: dict) -> Score:
    """A line of what `evaluate` writes."""
    who = (row["condition"], "0", str(row["seed"]), "1")
    return Score(command, *who, end="-", dev="-", test=repr(row["score"]), loss="-")


def read() -> tuple[dict[str, str], list[Score]]:
    """The versions and the scores of the table."""
    head, _, *lines = TABLE.read_text(encoding="utf-8").splitlines()
    recorded = dict(item.split("=", 1) for item in head.removeprefix("# ").split("; "))
    return recorded, [Score(*line.split("\t")) for line in lines]


def write(scores: Iterable[Score]) -> None:
    """Replaces the table."""
    head = "; ".join(f"{name}={value}" for name, value in versions().items())
    lines = [f"# {head}", "\t".join(Score._fields), *map("\t".join, scores)]
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Records the commands whose names hold the argument, all without one."""
    from jaxeval import backend
    from tests import compiling

    os.environ["JAX_NUM_CPU_DEVICES"] = "1"  # under vmap, how many lanes a device has counts
    compiling.prepare()
    backend.prepare()
    from tests.golden import commands

    chosen = [name for name in commands.COMMANDS if all(text in name for text in sys.argv[1:])]
    kept = read()[1] if TABLE.exists() else []
    by_command = {name: [s for s in kept if s.command == name] for name in commands.COMMANDS}
    with tempfile.TemporaryDirectory() as scratch:
        data = prepare(Path(scratch) / "data")
        for number, name in enumerate(chosen):
            begin = time.process_time()
            by_command[name] = run(name, data, Path(scratch) / str(number))
            print(f"{name}: {time.process_time() - begin:.1f} s of CPU", file=sys.stderr)
    write(score for scores in by_command.values() for score in scores)


if __name__ == "__main__":
    main()
