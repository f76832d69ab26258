"""Arguments of `vectors judge`."""

import argparse
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from jaxeval import cli
from jaxeval.errors import ConfigError
from jaxeval.runs import arguments

TASKS = ("pos", "chunk", "ner", "sentiment", "questions", "nli")
MODES = ("fixed", "tuned")
_LABELS = {
    "name": "the file and the mode",
    "data.vectors": "the files",
    "model.words.trained": "--modes",
}
DESCRIPTION = """\
Judges files of word vectors by six tasks (Nayak, Angeli & Manning 2016): small models that read
them are trained with many seeds, vectors fixed and fine-tuned, those of all files in one program.
Shows scores, the error reduced against a baseline, and which files were told apart.
"""
EXAMPLES = """\
tasks: pos, chunk, ner (perceptron over five words), sentiment, questions (LSTM), nli (two LSTMs);
their configs are nayak2016/TASK_MODE (jaxeval configs nayak2016/pos_fixed).

examples:
  python -m jaxeval.vectors judge glove.txt svd.txt.gz --data pos=EWT --data sentiment=SST
  python -m jaxeval.vectors judge a.txt b.txt --data DIR --baseline b.txt --html judged.html
  python -m jaxeval.vectors judge a.txt b.txt --data DIR --tasks ner,nli --modes fixed --seeds 16
  python -m jaxeval.vectors judge a.txt --data DIR training.epochs=5    # all tasks for 5 epochs
  python -m jaxeval.vectors judge a.txt --data DIR nli:data.source.format=auto      # nli is SNLI

DIR holds a folder a task, named as the task. The same command continues what was interrupted;
further files train only what is new. docs/judging_vectors.md says more.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `vectors judge`."""
    parser.epilog = EXAMPLES.replace("python -m jaxeval.vectors judge", parser.prog)
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="of vectors; key=value changes all configs, TASK:key=value those of a task",
    )
    parser.add_argument(
        "--data",
        action="append",
        default=[],
        metavar="TASK=PATH",
        help="the corpus of a task; or a folder that holds one a task, where none is named",
    )
    parser.add_argument(
        "--tasks", type=_names(TASKS), metavar="A,B,..", help="these (all that have data)"
    )
    both = list(MODES)
    parser.add_argument(
        "--modes", type=_names(MODES), default=both, metavar="A,B", help="fixed, tuned (both)"
    )
    parser.add_argument(
        "--baseline", metavar="FILE", help="one of the files, against which errors are reduced"
    )
    cli.add_seeds(parser)
    parser.add_argument(
        "--out", "--runs", default="runs", metavar="RUNS", help="runs folder (runs)"
    )
    parser.add_argument("--store", metavar="URL", help="database instead of RUNS/runs.sqlite")
    _add_rules(parser.add_argument_group("how they are compared"))
    _add_output(parser.add_argument_group("output"))


def _add_output(out: "argparse._ArgumentGroup") -> None:
    out.add_argument("--json", metavar="PATH", help="everything as JSON, - for stdout")
    out.add_argument("--csv", metavar="PATH", help="a row a training, as `compare --table` reads")
    out.add_argument("--latex", metavar="PATH", help="tables to paste, - for stdout")
    out.add_argument("--html", metavar="PATH", help="one page with figures, which opens offline")
    out.add_argument("--dry-run", action="store_true", help="say what would be trained, and stop")


def _add_rules(rules: "argparse._ArgumentGroup") -> None:
    rules.add_argument(
        "--alpha", type=arguments.probability, default=0.05, help="corrected level (.05)"
    )
    rules.add_argument(
        "--resamples", type=arguments.whole, default=9999, help="of bootstraps (9999)"
    )
    rules.add_argument(
        "--resample-seed", type=arguments.seed, default=0, help="of the resamples (0)"
    )


def _names(known: Sequence[str]) -> Callable[[str], list[str]]:
    """A list of these names, for argparse."""

    def read(text: str) -> list[str]:
        names = list(dict.fromkeys(part.strip() for part in text.split(",")))
        wrong = [name for name in names if name not in known]
        if wrong:
            raise argparse.ArgumentTypeError(
                f"expected some of {', '.join(known)}, got {wrong[0]!r}"
            )
        return names

    return read


def data_of(words: Sequence[str], tasks: Sequence[str] | None) -> dict[str, str]:
    """Task -> where its corpus is, of the tasks that are judged.

    Args:
      words: TASK=PATH each, or folders that hold one a task, where none is named.
      tasks: those that are judged; None: all that have data.

    Raises:
      ConfigError: no data, of a task that is asked for or of any; an unknown task, or one twice.
    """
    named, inside = dict[str, list[str]](), dict[str, list[str]]()
    for word in words:
        task, equals, path = word.partition("=")
        if equals and task in TASKS and path:
            named.setdefault(task, []).append(path)
        elif Path(word).is_dir():
            for held in (Path(word) / name for name in TASKS):
                if held.exists():
                    inside.setdefault(held.name, []).append(str(held))
        else:
            raise ConfigError(
                f"--data: expected TASK=PATH with one of {', '.join(TASKS)}, or a folder that "
                f"holds such folders, got {word!r}"
            )
    found = inside | named
    lacking = [task for task in tasks or () if task not in found]
    if lacking or not found:
        raise ConfigError(_no_corpus(lacking, words))
    return {task: _only(task, found[task]) for task in TASKS if task in (tasks or found)}


def _only(task: str, paths: Sequence[str]) -> str:
    """The one path of a task, however often and by whatever name it is given."""
    first, *others = {Path(path).resolve(): path for path in paths}.values()
    if others:
        raise ConfigError(
            f"--data: {task} has two corpora, {first} and {others[0]}; expected one a task"
        )
    return first


def _no_corpus(lacking: Sequence[str], words: Sequence[str]) -> str:
    """What was looked for: a folder a task in each folder that was named.

    Args:
      lacking: tasks that were asked for; none: any would do.
    """
    folders = [word for word in words if "=" not in word or Path(word).is_dir()]
    sought = " or ".join(lacking or TASKS)
    where = f"; {', '.join(folders)}: no folder {sought} in it" if folders else ""
    named = lacking[0] if len(lacking) == 1 else "TASK"
    return f"no corpus of {', '.join(lacking) or 'any task'}: expected --data {named}=PATH{where}"


def changes_of(task: str, changes: Sequence[str]) -> list[str]:
    """Those of `key=value` and `TASK:key=value` that change the configs of a task."""
    split = [_task_and_change(change) for change in changes]
    return [change for other, change in split if other in ("", task)]


def refuse_changes(changes: Sequence[str], tasks: Collection[str]) -> None:
    """Refuses what would make labels untrue, or change nothing.

    Raises:
      ConfigError: a key that files and modes set, or a task that is not judged.
    """
    for change in changes:
        task, own = _task_and_change(change)
        if task and task not in tasks:
            raise ConfigError(
                f"{change}: {task} is not judged; expected one of {', '.join(tasks)}"
            )
        key = own.partition("=")[0].strip()
        if key in _LABELS:
            raise ConfigError(f"{key} cannot be changed: it is set by {_LABELS[key]}")


def _task_and_change(change: str) -> tuple[str, str]:
    task, colon, own = change.partition(":")
    return (task, own) if colon and task in TASKS else ("", change)
