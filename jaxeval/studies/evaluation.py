"""Saved models scored again; language models also in other ways than during training."""

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxeval.config import reading
from jaxeval.contracts import Array, Member, Tree
from jaxeval.data.language import laid_out
from jaxeval.errors import ConfigError, RunError, argument
from jaxeval.population import parameter_files
from jaxeval.population.engine import Scorer
from jaxeval.studies import memory, prepared, saved
from jaxeval.studies.cohorts import Cohort
from jaxeval.tasks import language, language_evaluation
from jaxeval.tasks.language_evaluation import Averaging

Part = Literal["dev", "test"]
Scores = list[dict[str, float]]
# as the authors searched: from above 1 downwards
_TEMPERATURES = tuple(round(1.1 - 0.02 * k, 2) for k in range(16))


class Condition(NamedTuple):
    """How a text is scored; the default is the plain evaluation in one stream.

    Attributes:
      rows: streams, each of an equal stretch of the part.
      temperature: the scores before the softmax are divided by it.
      averaging: over dropout masks.
      dynamic: rate of dynamic evaluation: learning goes on while reading.
    """

    rows: int = 1
    temperature: float | None = None
    averaging: Averaging | None = None
    dynamic: float | None = None

    def __str__(self) -> str:
        parts = ["1 stream" if self.rows == 1 else f"{self.rows} streams"]
        if self.averaging is not None:
            mean, samples = self.averaging
            parts.append(f"{mean} mean of {samples} samples")
        if self.temperature is not None:
            parts.append(f"temperature {self.temperature:g}")
        if self.dynamic is not None:
            parts.append(f"dynamic, rate {self.dynamic:g}")
        return ", ".join(parts)


class Models(NamedTuple):
    """Members with their best parameters."""

    prepared: prepared.Prepared
    members: Sequence[Member]
    params: Sequence[Tree]


def load(cohort: Cohort, folder: Path) -> Models:
    """The saved models of trials of one config.

    Raises:
      RunError: naming the seeds and splits without one.
    """
    paths = [saved.path_of(folder, entry) for entry in cohort.entries]
    missing = [
        (entry.trial.split, entry.trial.seed)
        for entry, path in zip(cohort.entries, paths, strict=True)
        if not path.is_file()
    ]
    if missing:
        raise RunError(
            f"{folder}: no saved model of experiment {cohort.records[0].id} for "
            f"{prepared.listed(missing)}; train it with training.save_models=true (and "
            f"{argument('again', True)}, if it was trained without), or choose other "
            f"{argument('seeds')}: a member that diverged at once has none"
        )
    like = memory.parameter_shapes(cohort.problem, cohort.members[0])
    params = [parameter_files.fit(path, parameter_files.arrays(path), like) for path in paths]
    return Models(cohort.entries[0].prepared, cohort.members, params)


def on_file(models: Models, file: str) -> Models:
    """The same models with a file of one's own as their test part.

    Raises:
      ConfigError: data that is not read from a folder, members of random splits, or models whose
        vocabulary depends on the test part: it is that of all parts, or of what was left of train
        when test was drawn from it.
      DataError: the file cannot be read.
    """
    trained = models.prepared
    table, _, _ = trained.kind.data_key.rpartition(".")
    folder = prepared.at(reading.to_dict(trained.config), trained.kind.data_key)
    if folder is None or not Path(folder).is_dir():
        raise ConfigError(
            "--input: expected models trained on the files of a folder; name it with --data DIR"
        )
    if any(who.split for who in models.members):
        raise ConfigError(
            "--input: expected models trained on the given split, not on random ones"
        )
    change = f"{table}.test={json.dumps(str(Path(file).absolute()), ensure_ascii=False)}"
    config = reading.read(type(trained.config), trained.config, [change])
    other = prepared.prepare(config)
    if other.source.vocabulary(0) != trained.source.vocabulary(0):
        raise ConfigError(
            "--input: the vocabulary of these models is also that of their test part, or of what "
            "was left of train when that was drawn from it; train with a test part and the "
            "vocabulary of train, or tag the file with `jaxeval predict`"
        )
    return models._replace(prepared=other)


def scores(models: Models, condition: Condition, part: Part) -> Scores:
    """Scores of each member on a part of its text."""
    own = _laid_out(models.prepared, condition)
    if condition.dynamic is not None:
        return _dynamic(models, own, condition.dynamic, part)
    problem = own.problem
    more: dict[str, float] = {}
    if condition.averaging is not None:
        task = language_evaluation.averaged(_language(own), condition.averaging)
        problem = problem._replace(task=task)
    if condition.temperature is not None:
        more["temperature"] = condition.temperature
    return Scorer(problem, models.members, models.params).scores(part, more)


def as_trained(models: Models, part: Part) -> Scores:
    """Scores of each member on a part of its data, read as in training; of any task."""
    return Scorer(models.prepared.problem, models.members, models.params).scores(part)


def best_temperature(models: Models, rows: int) -> float:
    """The temperature of the lowest mean dev score over members, among `_TEMPERATURES`."""
    problem = _laid_out(models.prepared, Condition(rows)).problem
    scorer, name = Scorer(problem, models.members, models.params), problem.task.metric.name
    means = {
        t: np.mean([s[name] for s in scorer.scores("dev", {"temperature": t})])
        for t in _TEMPERATURES
    }
    return min(means, key=lambda t: means[t])


def _laid_out(trained: prepared.Prepared, condition: Condition) -> prepared.Prepared:
    """The experiment with its text laid out in another number of streams."""
    config = trained.config
    training = dataclasses.replace(config.training, evaluation_batch_size=condition.rows)
    config = dataclasses.replace(config, training=training)
    text = laid_out(trained.data, config.data, training.batch_size, condition.rows)
    source, task = trained.kind.build(config, text)
    return trained._replace(config=config, data=text, source=source, task=task)


def _language(own: prepared.Prepared) -> language.Language:
    return language.language_of(own.config, own.data)


def _dynamic(models: Models, own: prepared.Prepared, rate: float, part: Part) -> Scores:
    """One member after the other: each step of each depends on the step before."""
    text, spoken, task = own.data, _language(own), own.problem.task
    tokens = jnp.asarray(text.corpus.shared["tokens"])
    rows = own.config.training.evaluation_batch_size
    columns = text.corpus.buckets[0]
    windows = language_evaluation.WindowSequence(
        *(jnp.asarray(columns[n][text.rows[part]].reshape(-1, rows)) for n in ("start", "length"))
    )
    train = language_evaluation.train_windows(spoken, own.config.training.batch_size)

    @jax.jit
    def counts(
        params: Tree,
        tokens: Array,
        train: language_evaluation.WindowSequence,
        windows: language_evaluation.WindowSequence,
    ) -> Mapping[str, Array]:
        scale = language_evaluation.gradient_scale(spoken, params, tokens, train)
        return language_evaluation.dynamic(spoken, params, scale, tokens, windows, rate)

    def each() -> Iterator[dict[str, float]]:
        for params in models.params:
            sums = jax.device_get(counts(params, tokens, train, windows))
            yield task.score({name: float(value) for name, value in sums.items()})

    return list(each())
