"""From a config to something that can be trained: the page where all rooms meet."""

import contextlib
import fcntl
import importlib.metadata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import jax
import pydantic

from jaxeval import __version__, backend, runs
from jaxeval.config import reading
from jaxeval.contracts import Member
from jaxeval.data import tagging as tagging_data
from jaxeval.errors import RunError
from jaxeval.models import tagging_settings
from jaxeval.population import lanes, loop, member, seats
from jaxeval.population.settings import Training
from jaxeval.tasks import tagging as tagging_task

# what does not change a member's scores does not make another experiment
_IMMATERIAL = (("name",), ("training", "checkpoint_every"), ("training", "lanes"))
_PLACES = (("data", "source", "path"), ("data", "vectors"))  # their contents are in the data hash


@reading.settings
class Config:
    """One experiment. No config file: these defaults, on the generated corpus."""

    name: Annotated[str, pydantic.Field(description="shown in tables")] = "default"
    task: Annotated[Literal["tagging"], pydantic.Field(description="what is learned")] = "tagging"
    data: tagging_data.Data = tagging_data.Data()
    model: tagging_settings.Tagger = tagging_settings.Tagger()
    scoring: tagging_task.Scoring = tagging_task.Scoring()
    training: Training = Training()


class Prepared(NamedTuple):
    """An experiment ready for training."""

    config: Config
    tagged: tagging_data.Tagged
    problem: loop.Problem
    record: runs.Experiment


def prepare(config: Config) -> Prepared:
    """Reads the data and builds the task."""
    tagged = tagging_data.build(config.data, config.training.batch_size)
    task = tagging_task.build(config.model, config.scoring, tagged)
    problem = loop.Problem(task, tagged.corpus, tagged.split, config.training)
    return Prepared(config, tagged, problem, _record(config, tagged, problem))


def _record(config: Config, tagged: tagging_data.Tagged, problem: loop.Problem) -> runs.Experiment:
    tree = reading.to_dict(config)
    text = reading.canonical(tree)
    for place in (*_IMMATERIAL, *_PLACES):
        branch = tree
        for name in place[:-1]:
            branch = branch[name]
        branch.pop(place[-1])
    config_hash = reading.digest(reading.canonical(tree))
    metric = problem.task.metric
    return runs.Experiment(
        id=reading.digest(config_hash + tagged.fingerprint),
        name=config.name,
        task=config.task,
        metric=metric.name,
        higher_is_better=metric.higher_is_better,
        config=text,
        config_hash=config_hash,
        data=config.data.source.path or f"generated, seed {config.data.source.seed}",
        data_hash=tagged.fingerprint,
    )


def members(config: Config, seeds: Sequence[int], splits: Sequence[int]) -> list[Member]:
    """All seeds on all splits, with the config's traced hyperparameters."""
    traced = {**config.training.optimiser.traced(), **config.model.dropout.rates()}
    hparams = tuple(sorted(traced.items()))
    return [Member(seed, split, hparams) for split in splits for seed in seeds]


def hparams_json(config: Config, who: Member) -> str:
    """Canonical JSON of the hyperparameters in which a member differs from its config."""
    base = dict(members(config, [who.seed], [who.split])[0].hparams)
    return reading.canonical({n: v for n, v in who.hparams if base.get(n) != v})


def parameters(prepared: Prepared) -> int:
    """Number of trained parameters of a member."""
    program = loop.program_of(prepared.problem)
    split = prepared.tagged.split(0)
    who = members(prepared.config, [1], [0])[0]
    return member.parameter_count(program, prepared.tagged.corpus, split, who)


def key_of(config: Config, who: Member) -> tuple[int, int, str]:
    """Under what a member is found in the runs database: seed, split, hparams."""
    return who.seed, who.split, hparams_json(config, who)


def plan(prepared: Prepared, of: Sequence[Member]) -> dict[str, Any]:
    """What would be done, as plain data: config, sizes, compiled programs, memory."""
    config, tagged = prepared.config, prepared.tagged
    training = config.training
    width = lanes.round_up(loop.width(training, len(of)), lanes.make_mesh())
    count = parameters(prepared)
    arrays = jax.tree.leaves(tagged.corpus)
    rows = {part: sum(map(len, tagged.given[part])) for part in tagged.given}
    return {
        "experiment": prepared.record.id,
        "config": reading.to_dict(config),
        "sentences": rows,
        "labels": len(tagged.labels),
        "metric": prepared.problem.task.metric.name,
        "parameters": count,
        "members": len(of),
        "cohorts": 1,
        "lanes": f"{width} on {backend.describe()}",
        "padded_widths": list(tagged.widths),
        "compiled_programs": {
            "train epoch": f"{len(tagged.widths)} shapes, batch {training.batch_size}",
            "evaluation": f"{len(tagged.widths)} shapes, batch {training.evaluation_batch_size}",
            "lane loading": 1,
            "keep best": 1,
        },
        "memory_megabytes": {
            "corpus, on each device": _megabytes(sum(leaf.nbytes for leaf in arrays)),
            # params, best params and at most two moments of the optimiser
            "population": _megabytes(4 * 4 * count * width),
        },
    }


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


class Recorder:
    """Writes what a population reports into the runs database."""

    def __init__(self, store: runs.Store, prepared: Prepared, width: int):
        self._store, self._prepared = store, prepared
        mode = prepared.config.training.lane_mode
        if mode == "auto":
            mode = lanes.default_mode()
        self._signature: dict[str, Any] = {
            # under map a score does not depend on the number of lanes
            "lanes": mode if mode == "map" else f"{mode}:{width}",
            "jax": jax.__version__,
            "flax": importlib.metadata.version("flax"),
            "jaxeval": __version__,
            "device": backend.describe(),
        }

    def __call__(self, report: loop.Report) -> None:
        """Records a report in one transaction."""
        ended = [self._result(end) for end in report.ended]
        self._store.record(ended, [row for s in report.scores for row in self._scores(s)])

    def _key(self, who: Member) -> dict:
        return {
            "experiment": self._prepared.record.id,
            "seed": who.seed,
            "split": who.split,
            "hparams": hparams_json(self._prepared.config, who),
        }

    def _result(self, end: seats.Ended) -> runs.MemberResult:
        return runs.MemberResult(
            **self._key(end.member),
            status=end.status,
            epochs=end.epochs,
            best_epoch=end.best_epoch,
            dev=end.dev,
            test=end.test,
            wall_seconds=end.seconds,
            message=end.message,
            **self._signature,
        )

    def _scores(self, found: seats.EpochScores) -> list[runs.EpochScore]:
        key = self._key(found.member)
        return [
            runs.EpochScore(
                **key,
                epoch=found.epoch,
                part=found.part,
                metric=metric,
                value=value if abs(value) < float("inf") else None,
            )
            for metric, value in found.scores.items()
        ]
