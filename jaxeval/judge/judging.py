"""What is trained to judge vectors, and what is made of its scores."""

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jaxeval import observe, runs, studies
from jaxeval.config import reading
from jaxeval.errors import ConfigError
from jaxeval.files import Json
from jaxeval.report.judgement import data
from jaxeval.stats import judgement
from jaxeval.stats.rules import Rules
from jaxeval.studies import cohorts, proposers, running
from jaxeval.studies.cohorts import Entry
from jaxeval.vectors import judge_options

_SUFFIXES = {".txt", ".gz", ".vec", ".bin", ".w2v"}


class Plan(NamedTuple):
    """What is to be trained.

    Attributes:
      files: name of the vectors -> their file.
      groups: members of each task in each mode; their trials' labels say vectors, task and mode.
      baseline: name of the vectors that errors are reduced against.
    """

    files: Mapping[str, str]
    tasks: tuple[str, ...]
    modes: tuple[str, ...]
    seeds: tuple[int, ...]
    groups: Sequence[Sequence[Entry]]
    baseline: str | None

    @property
    def entries(self) -> list[Entry]:
        """Members of all tasks and modes."""
        return [*itertools.chain.from_iterable(self.groups)]

    def cohorts(self) -> Iterator[cohorts.Cohort]:
        """The programs in which they are trained, those of a group side by side.

        Tables of all files of a group are stacked when it is asked for: who keeps no cohort has
        one group's at a time.
        """
        for group in self.groups:
            yield from cohorts.by_program(group)


def plan(
    files: Sequence[str],
    tasks: Mapping[str, str],
    modes: Sequence[str],
    seeds: Sequence[int],
    changes: Sequence[str] = (),
    baseline: str | None = None,
) -> Plan:
    """Reads all data and vectors and says which members share programs; nothing is trained.

    Args:
      files: of vectors.
      tasks: task -> where its corpus is.
      changes: `key=value` each, of all configs, or `TASK:key=value`.
      baseline: one of the files.

    Raises:
      ConfigError, DataError: a file or corpus cannot be read, the baseline is none of the files,
        a change of what files and modes set.
    """
    names = named(files)
    against = None if baseline is None else _name_of(baseline, names)
    judge_options.refuse_changes(changes, tasks)
    loader = studies.Session().loader
    groups = [
        cohorts.entries(_trials(names, seeds, task, mode, corpus, changes), loader)
        for task, corpus in tasks.items()
        for mode in modes
    ]
    planned = Plan(names, tuple(tasks), tuple(modes), tuple(seeds), groups, against)
    for cohort in planned.cohorts():
        running.refuse_impossible([cohort])
        del cohort
    return planned


def _trials(
    names: Mapping[str, str],
    seeds: Sequence[int],
    task: str,
    mode: str,
    corpus: str,
    changes: Sequence[str],
) -> Iterator[studies.Trial]:
    """Each file of vectors with each seed, in one task and mode."""
    for name, path in names.items():
        config = _config(task, mode, name, path, corpus, changes)
        yield from proposers.seeds_by_splits(config, seeds, vectors=name, task=task, mode=mode)


def named(files: Sequence[str]) -> dict[str, str]:
    """Short names of files: without folders and suffixes where these tell them apart."""
    paths = list({Path(path).resolve(): path for path in reversed(files)}.values())[::-1]
    short = [_stem(path) for path in paths]
    distinct = len({*short}) == len(short)
    return dict(zip(short if distinct else paths, paths, strict=True))


def _name_of(baseline: str, names: Mapping[str, str]) -> str:
    """The name of a baseline that is given by name or path."""
    if baseline in names:
        return baseline
    for name, path in names.items():
        if Path(path).resolve() == Path(baseline).resolve():
            return name
    raise ConfigError(f"--baseline {baseline}: expected one of {', '.join(names.values())}")


def _stem(path: str) -> str:
    name = Path(path).name
    while Path(name).suffix in _SUFFIXES and Path(name).stem:
        name = Path(name).stem
    return name


def _config(
    task: str, mode: str, name: str, path: str, where: str, changes: Sequence[str]
) -> object:
    quoted = {"name": f"{name} {mode}", "data.vectors": path}
    own = [f"{key}={reading.canonical(value)}" for key, value in quoted.items()]
    own_changes = judge_options.changes_of(task, changes)
    config: Any = studies.read(f"nayak2016/{task}_{mode}", [*own_changes, *own], where)
    if config.model.words.trained != (mode == "tuned"):  # by a change of the whole table
        raise ConfigError("model.words.trained cannot be changed: it is set by --modes")
    return config


def programs(of: Plan) -> list[dict[str, Json]]:
    """What each program would train, as plain data; files with equal vectors are one."""
    described: list[dict[str, Json]] = []
    for cohort in of.cohorts():
        labels = [entry.trial.labels for entry in cohort.entries]
        described.append(
            {
                "task": labels[0]["task"],
                "mode": labels[0]["mode"],
                "vectors": [*dict.fromkeys(label["vectors"] for label in labels)],
                "members": len(cohort.members),
                "word_tables_bytes": int(cohort.problem.corpus.shared["vectors"].nbytes),
            }
        )
        del cohort  # before the next one is stacked
    return described


def describe(of: Plan) -> dict[str, Json]:
    """What would be trained, as plain data."""
    each = programs(of)
    return {
        "vectors": dict(of.files),
        "tasks": [*of.tasks],
        "modes": [*of.modes],
        "seeds": [*of.seeds],
        "members": len({entry.key for entry in of.entries}),
        "compiled programs": len(each),
        "programs": [*each],
    }


def judge(of: Plan, folder: Path, store: str | None, rules: Rules) -> data.Judged:
    """Trains what has not ended yet, and compares.

    Raises:
      RunError: as `studies.run_cohorts`.
      DataError: the scores cannot be compared.
    """
    begin = time.perf_counter(), time.process_time()
    members: list[runs.MemberRow] = []
    for cohort in of.cohorts():  # one after the other: programs and tables of each are let go
        members += observe.train_cohorts([cohort], folder, store)
        del cohort  # before the next one is stacked
    spent = time.perf_counter() - begin[0], time.process_time() - begin[1]
    by_key = {
        (row.experiment, row.seed, row.split, row.repeat, row.hparams): row for row in members
    }
    scores: dict[str, dict[str, dict[str, dict[int, float | None]]]] = {
        mode: {name: {task: {} for task in of.tasks} for name in of.files} for mode in of.modes
    }
    cells: dict[tuple[str, str, str], list[runs.MemberRow]] = {}
    for entry in of.entries:
        row, labels = by_key[entry.key], entry.trial.labels
        name, task, mode = (labels[key] for key in ("vectors", "task", "mode"))
        cells.setdefault((mode, task, name), []).append(row)
        scores[mode][name][task][row.seed] = row.test
    return data.Judged(
        dict(of.files),
        tuple(judgement.judge(mode, scores[mode], rules, of.baseline) for mode in of.modes),
        tuple(data.Cell(*key, tuple(rows)) for key, rows in cells.items()),
        {task: _metric(of, task) for task in of.tasks},
        _coverage(of),
        data.Cost(sum(row.wall_seconds for row in by_key.values()), *spent),
        rules,
        _same(of),
    )


def _metric(of: Plan, task: str) -> str:
    return next(e.record.metric for e in of.entries if e.trial.labels["task"] == task)


def _coverage(of: Plan) -> dict[tuple[str, str], Mapping[str, Mapping[str, float]]]:
    """(Vectors, task) -> part -> the fraction of its tokens and types with a vector."""
    return {
        (e.trial.labels["vectors"], e.trial.labels["task"]): e.prepared.source.findings.facts[
            "vectors"
        ]  # type: ignore[misc]
        for e in of.entries
    }


def _same(of: Plan) -> list[str]:
    """Lines on files that give the words of a task the same vectors."""
    files: dict[tuple[str, str], set[str]] = {}
    for entry in of.entries:
        key = entry.trial.labels["task"], entry.record.id
        files.setdefault(key, set()).add(entry.trial.labels["vectors"])
    return sorted(
        f"{' and '.join(sorted(names))} have the same vectors of all words of {task}"
        for (task, _), names in files.items()
        if len(names) > 1
    )
