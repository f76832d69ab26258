"""What all experiments share: records, members, plans, locks."""

import contextlib
import dataclasses
import fcntl
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax

from jaxeval import backend, runs
from jaxeval.config import reading
from jaxeval.contracts import Corpus, Member, Split, Task, Tree
from jaxeval.data import checks
from jaxeval.errors import RunError
from jaxeval.population import lanes, member, schedule
from jaxeval.population.problem import Problem, lanes_for

# what does not change a member's scores does not make another experiment
_IMMATERIAL = (
    ("name",),
    *(("training", key) for key in ("checkpoint_every", "lanes", "keep_models")),
)


class Read(NamedTuple):
    """What an experiment learns from: a corpus as arrays, and what is said of it.

    Attributes:
      source: where it came from, for people.
      places: keys of the config that only say where; the contents are in the fingerprint.
      facts: what a plan tells of it.
      vocabulary: split number -> what the numbers in the arrays stand for, as plain JSON: what a
        model trained on that split must know to read other data.
      tables: arrays that a model reads beside its parameters, whatever the data.
      findings: what is odd about it, and how much of it pretrained vectors cover.
      pretrained: fingerprint of what else was read, such as word vectors.
    """

    corpus: Corpus
    split: Callable[[int], Split]
    fingerprint: str
    source: str
    places: Sequence[tuple[str, ...]]
    facts: Mapping[str, Any]
    vocabulary: Callable[[int], Mapping[str, Any]]
    tables: Mapping[str, Any] = types.MappingProxyType({})
    findings: checks.Findings = checks.Findings()
    pretrained: str = ""


class Prepared(NamedTuple):
    """An experiment ready for training; `data` is what its task's reader gave.

    Attributes:
      drawn: of the members that are runs of a sweep, what was drawn, as canonical JSON.
      cohort: number among those of a sweep; None: the experiment trains at once.
    """

    config: Any
    data: Any
    read: Read
    problem: Problem
    record: runs.Experiment
    drawn: Mapping[Member, str] = types.MappingProxyType({})
    cohort: int | None = None

    @property
    def place(self) -> str:
        """Name of its checkpoints."""
        return self.record.id + ("" if self.cohort is None else f"-{self.cohort}")


def prepared(config: Any, data: Any, read: Read, task: Task) -> Prepared:
    """Puts an experiment together."""
    problem, training = Problem(task, read.corpus, read.split, config.training), config.training
    if (training.micro_batch or training.batch_size) < training.batch_size:
        problem.refuse_cut_batches("training.micro_batch")
    return Prepared(config, data, read, problem, _record(config, read, task))


def study(prepared: Prepared, name: str) -> Prepared:
    """The same experiment under a record of its own, for members that differ from its config.

    Its scores are not mixed with those of the config itself, and no models are kept.
    """
    config = dataclasses.replace(
        prepared.config,
        training=dataclasses.replace(prepared.config.training, keep_models=False),
    )
    record = dataclasses.replace(
        prepared.record,
        id=reading.digest(f"{prepared.record.id} {name}"),
        name=f"{prepared.record.name}, {name}",
    )
    problem = prepared.problem._replace(training=config.training)
    return prepared._replace(config=config, problem=problem, record=record)


def _record(config: Any, read: Read, task: Task) -> runs.Experiment:
    tree = reading.to_dict(config)
    text = reading.canonical(tree)
    for place in (*_IMMATERIAL, *read.places):
        branch = tree
        for name in place[:-1]:
            branch = branch[name]
        branch.pop(place[-1])
    config_hash = reading.digest(reading.canonical(tree))
    return runs.Experiment(
        id=reading.digest(config_hash + read.fingerprint + read.pretrained),
        name=config.name,
        task=config.task,
        metric=task.metric.name,
        higher_is_better=task.metric.higher_is_better,
        config=text,
        config_hash=config_hash,
        data=read.source,
        data_hash=read.fingerprint,
        facts=reading.canonical({**read.facts, **read.findings.facts}),
    )


def members(config: Any, seeds: Sequence[int], splits: Sequence[int]) -> list[Member]:
    """All seeds on all splits, with the config's traced hyperparameters."""
    training = config.training
    traced = {**training.optimiser.traced(), **config.model.rates()}
    if training.plateau is not None:
        traced |= training.plateau.traced()
    hparams = tuple(sorted(traced.items()))
    return [Member(seed, split, hparams) for split in splits for seed in seeds]


def hparams_json(config: Any, who: Member) -> str:
    """Canonical JSON of the hyperparameters in which a member differs from its config."""
    base = dict(members(config, [who.seed], [who.split])[0].hparams)
    return reading.canonical({n: v for n, v in who.hparams if base.get(n) != v})


def parameter_shapes(prepared: Prepared) -> Tree:
    """Shapes and types of a member's parameters."""
    program = prepared.problem.program
    split = prepared.read.split(0)
    who = members(prepared.config, [1], [0])[0]
    return member.parameter_shapes(program, prepared.read.corpus, split, who)


def parameters(prepared: Prepared) -> int:
    """Number of trained parameters of a member."""
    return sum(leaf.size for leaf in jax.tree.leaves(parameter_shapes(prepared)))


def key_of(prepared: Prepared, who: Member) -> tuple[int, int, str]:
    """Under what a member is found in the runs database: seed, split, hparams."""
    drawn = prepared.drawn.get(who)
    return who.seed, who.split, drawn or hparams_json(prepared.config, who)


def listed(members: Sequence[Member], most: int = 8) -> str:
    """Their seeds, and splits other than the given one; the first of them where there are many."""
    by_split: dict[int, list[str]] = {}
    for who in dict.fromkeys((who.split, who.seed) for who in members[:most]):
        by_split.setdefault(who[0], []).append(str(who[1]))
    shown = [
        f"seed {', '.join(seeds)}" + (f" of split {split}" if split else "")
        for split, seeds in by_split.items()
    ]
    return "; ".join(shown) + (" ..." if len(members) > most else "")


def plan(prepared: Prepared, of: Sequence[Member]) -> dict[str, Any]:
    """What would be done, as plain data: config, sizes, compiled programs, memory."""
    config, read = prepared.config, prepared.read
    training = config.training
    width = lanes.round_up(lanes_for(training, len(of)), lanes.make_mesh())
    count = parameters(prepared)
    arrays = jax.tree.leaves(read.corpus)
    shapes = len(read.corpus.buckets)
    batches = _batches(prepared, of)
    return {
        "experiment": prepared.record.id,
        "config": reading.to_dict(config),
        **read.facts,
        **read.findings.facts,
        **({"warnings": [*read.findings.warnings]} if read.findings.warnings else {}),
        "metric": prepared.problem.task.metric.name,
        "parameters": count,
        "members": len(of),
        "cohorts": 1,
        "lanes": f"{width} on {backend.describe()}",
        "batches": batches,
        "compiled_programs": {
            "train epoch": f"{shapes} shapes, batch {max(batch['at_once'] for batch in batches)}",
            "evaluation": f"{shapes} shapes, batch {training.evaluation_batch_size}",
            "lane loading": 1,
            "keep best": 1,
        },
        "memory_megabytes": {
            "corpus, on each device": _megabytes(sum(leaf.nbytes for leaf in arrays)),
            # params, best params and at most two moments of the optimiser
            "population": _megabytes(4 * 4 * count * width),
        },
    }


def _batches(prepared: Prepared, of: Sequence[Member]) -> list[dict[str, Any]]:
    """For each batch size of the members: rows asked for, computed at once, and really taken.

    A bucket's last batch is of what is left, so that an update has fewer rows on average.
    """
    program = prepared.problem.program
    rows = [len(rows) for rows in prepared.read.split(0).train]
    sizes = {int(dict(who.hparams).get("batch_size", program.batch_size)) for who in of}
    return [
        {
            "nominal": size,
            "at_once": min(program.at_once, size),
            "micro_batches": -(-size // program.at_once),
            "updates_an_epoch": int(schedule.steps(rows, size).count),
            "effective": round(sum(rows) / int(schedule.steps(rows, size).count), 1),
        }
        for size in sorted(sizes)
    ]


def _megabytes(size: float) -> float:
    return round(size / 2**20, 1)


@contextlib.contextmanager
def locked(folder: Path, name: str) -> Iterator[None]:
    """Holds an experiment for this process; the lock goes with the process, however it ends."""
    place = folder / "checkpoints" / f"{name}.lock"
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        stream = place.open("w")
    except OSError as error:
        raise RunError(f"{place}: cannot be written ({error.strerror})") from None
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RunError(
                f"another process is training this experiment into {folder}; wait for it, or give "
                "this one another --out"
            ) from None
        yield
