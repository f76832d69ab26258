"""`jaxeval vectors judge`: evaluates word vectors by training small models with them."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jaxeval import launchers, parameters
from jaxeval.errors import ConfigError, argument
from jaxeval.parameters import Changes, Quiet, Seeds

if TYPE_CHECKING:
    from jaxeval import runs
    from jaxeval.report.vectors import JudgedVectors
    from jaxeval.studies.cohorts import Entry

_TASKS = ("pos", "chunk", "ner", "sentiment", "questions", "nli")
MODES = {"both": ("fixed", "tuned"), "fixed": ("fixed",), "tuned": ("tuned",)}
_FIXED = {  # key -> what sets it
    "name": "the file and the mode",
    "data.vectors": "the files",
    "model.words.trained": "the modes",
}
_RECORDED = ("experiment", "seed", "status", "epochs", "best_epoch", "dev", "test", "wall_seconds")


@parameters.verb
def vectors_judge(
    *files: str | Path,
    changes: Changes = (),
    data: Mapping[str, str | Path] | None = None,
    modes: Literal["both", "fixed", "tuned"] = "both",
    baseline: str | Path | None = None,
    seeds: Seeds = 8,
    out: str | Path = "runs",
    launch: str = launchers.HERE,
    quiet: Quiet = False,
) -> "JudgedVectors":
    """Evaluates word vectors on six tasks (Nayak, Angeli & Manning 2016).

    Trains small models on fixed and fine-tuned vectors, with many seeds: perceptrons over five
    words (pos, chunk, ner), LSTMs (sentiment, questions), two LSTMs (nli). The configs are
    nayak2016/TASK_MODE. All files share one program. The same command resumes an interrupted run;
    with further files, it trains only what is new.

    Args:
      files: files of vectors. key=value changes all configs, TASK:key=value those of a task.
      changes: key=value changes all configs, TASK:key=value those of a task.
      data: corpus of a task, as TASK=PATH; repeatable.
      baseline: the file of vectors for the relative error reduction.

    Examples:
      jaxeval vectors judge glove.txt svd.txt --data pos=EWT --data sentiment=SST
      jaxeval vectors judge a.txt b.txt --data ner=DIR --baseline b.txt --modes fixed
      jaxeval vectors judge a.txt --data nli=SNLI nli:data.source.format=auto
    """
    from jaxeval.vectors import short_names

    named = short_names(files, "vectors")
    against = None if baseline is None else _baseline(str(baseline), named)
    launcher = launchers.prepare(launch)
    from jaxeval import observe
    from jaxeval.studies import cohorts

    each = parameters.numbers(seeds)
    groups = plan(named, data, MODES[modes], each, changes)
    rows: list[runs.MemberRow] = []
    for group in groups:  # the word tables of all files in a group lie on the device together
        planned = cohorts.by_program(group)
        rows += observe.train_cohorts(planned, Path(out), launcher=launcher, quiet=quiet)
        del planned  # before the next ones are stacked
    return _judged(named, [*itertools.chain(*groups)], rows, MODES[modes], each, against)


def _corpora(data: Mapping[str, str | Path] | None) -> dict[str, str]:
    """The corpus of each task, in the order of tasks."""
    known = {task: str(path) for task, path in (data or {}).items()}
    if not known or {*known} - {*_TASKS}:
        found = f", got {', '.join(known)}" if known else ""
        expected = f"expected TASK=PATH with one of {', '.join(_TASKS)}"
        raise ConfigError(f"{argument('data')}: {expected}{found}")
    return {task: known[task] for task in _TASKS if task in known}


def _baseline(baseline: str, named: Mapping[str, str]) -> str:
    """The short name of a baseline that is given by name or path."""
    for name, path in named.items():
        if baseline == name or Path(path).resolve() == Path(baseline).resolve():
            return name
    expected = f"expected one of {', '.join(named.values())}"
    raise ConfigError(f"{argument('baseline', baseline)}: {expected}")


def _task_changes(changes: Changes, tasks: Mapping[str, str]) -> dict[str, list[str]]:
    """Returns the changes of each task's configs."""
    found: dict[str, list[str]] = {task: [] for task in tasks}
    for change in changes:
        task, _, own = change.partition(":")
        for other in [task] if task in tasks else tasks:
            found[other].append(own if task in tasks else change)
    return found


def plan(
    named: Mapping[str, str],
    data: Mapping[str, str | Path] | None,
    modes: Sequence[str],
    seeds: Sequence[int],
    changes: Changes,
) -> "list[list[Entry]]":
    """Reads all data and vectors; returns the members of each task in each mode.

    Args:
      named: short name -> file of vectors.
      data, changes: as of `vectors_judge`.

    Raises ConfigError, DataError: an invalid file, corpus or config; a change of a fixed key.
    """
    corpora = _corpora(data)
    more = _task_changes(changes, corpora)
    from jaxeval import studies
    from jaxeval.config import reading
    from jaxeval.studies import cohorts, prepared, running

    loader = studies.Session().loader
    groups = []
    for (task, corpus), mode in itertools.product(corpora.items(), modes):
        trials = []
        for name, path in named.items():
            values = f"{name} {mode}", path, mode == "tuned"
            fixed = dict(zip(_FIXED, values, strict=True))
            own = [f"{key}={reading.canonical(value)}" for key, value in fixed.items()]
            own += more[task]
            config: Any = studies.read(f"nayak2016/{task}_{mode}", own, corpus)
            for key, value in fixed.items():
                if prepared.at(reading.to_dict(config), key) != value:
                    raise ConfigError(f"{key} cannot be changed: it is set by {_FIXED[key]}")
            trials += prepared.seeds_by_splits(config, seeds, vectors=name, task=task, mode=mode)
        groups.append(cohorts.entries(trials, loader))
        running.refuse_impossible(cohorts.by_program(groups[-1]))
    return groups


def _judged(
    named: Mapping[str, str],
    entries: "Sequence[Entry]",
    rows: "Sequence[runs.MemberRow]",
    modes: Sequence[str],
    seeds: Sequence[int],
    baseline: str | None,
) -> "JudgedVectors":
    """Compares the scores by file, task and seed in each mode; entries are as `plan` has them."""
    import numpy as np

    from jaxeval.report.vectors import JudgedVectors
    from jaxeval.stats import judgement

    by_key = {(of.experiment, of.seed, of.split, of.repeat, of.hparams): of for of in rows}
    metrics: dict[str, str] = {}
    coverage: dict[tuple[str, str], Any] = {}
    trainings = []
    for entry in entries:
        row = by_key[entry.key]
        labels = entry.trial.labels
        metrics[labels["task"]] = entry.record.metric
        facts = entry.prepared.data.findings.facts
        coverage[labels["vectors"], labels["task"]] = facts["vectors"]
        trainings.append({**labels, **{field: getattr(row, field) for field in _RECORDED}})
    # [tasks, modes, files, seeds], NaN for a failed training
    tests = np.array([training["test"] for training in trainings], float)
    tests = tests.reshape(len(metrics), len(modes), len(named), len(seeds))
    judged = []
    for mode, of_mode in zip(modes, tests.swapaxes(0, 1), strict=True):
        scores = dict(zip(named, of_mode.swapaxes(0, 1), strict=True))
        judged.append(judgement.judge(mode, [*metrics], seeds, scores, baseline))
    return JudgedVectors(named, metrics, coverage, judged, trainings)
