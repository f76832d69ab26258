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
from jaxeval.errors import ConfigError, RunError
from jaxeval.population import parameter_files
from jaxeval.population.scoring import Scorer
from jaxeval.studies import prepared as preparing
from jaxeval.studies import saved
from jaxeval.studies.cohorts import Cohort
from jaxeval.tasks import language, language_evaluation
from jaxeval.tasks.language_evaluation import Averaging

Part = Literal["dev", "test"]
Scores = list[dict[str, float]]
# as the authors searched: from above 1 downwards
TEMPERATURES = tuple(round(1.1 - 0.02 * k, 2) for k in range(16))


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

    prepared: preparing.Prepared
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
        record = cohort.records[0]
        other = saved.of_other_data(folder, record)
        said = f" (other data was recorded under the same path, {record.data}, as {other})"
        raise RunError(
            f"{folder}: no saved model of experiment {record.id}{said if other else ''} for "
            f"{preparing.listed(missing)}; train it with training.save_models=true (and "
            "--again, if it was trained without), or choose other seeds with --seed-list: a "
            "member that diverged at once has none"
        )
    like = preparing.parameter_shapes(cohort.problem, cohort.members[0])
    params = [parameter_files.load(path, like) for path in paths]
    return Models(cohort.entries[0].prepared, cohort.members, params)


def on_file(models: Models, file: str) -> Models:
    """The same models with a file of one's own as their test part.

    Raises:
      ConfigError: data that is not read from a folder, members of random splits, or models whose
        vocabulary depends on the test part: it is that of all parts, or of what was left of train
        when test was drawn from it.
      DataError: the file cannot be read.
    """
    prepared = models.prepared
    table, _, _ = prepared.kind.data_key.rpartition(".")
    folder = preparing.at(reading.to_dict(prepared.config), prepared.kind.data_key)
    if folder is None or not Path(folder).is_dir():
        raise ConfigError(
            "--input: expected models trained on the files of a folder; name it with --data DIR"
        )
    if any(who.split for who in models.members):
        raise ConfigError(
            "--input: expected models trained on the given split, not on random ones"
        )
    change = f"{table}.test={json.dumps(str(Path(file).absolute()), ensure_ascii=False)}"
    config = reading.read(type(prepared.config), prepared.config, [change])
    other = preparing.prepare(config)
    if other.source.vocabulary(0) != prepared.source.vocabulary(0):
        raise ConfigError(f"--input: {_why_other_words(prepared, other)}")
    return models._replace(prepared=other)


def _why_other_words(before: preparing.Prepared, after: preparing.Prepared) -> str:
    """Why models have another vocabulary with another test part, and what to do."""
    train = [sum(map(len, of.source.split(0).train)) for of in (before, after)]
    if train[0] != train[1]:
        return (
            "these models have no test part of their own: it was drawn from train, and their "
            "vocabulary is that of the rest; train on a folder with a test part, or tag the file "
            "with `jaxeval predict`"
        )
    return (
        "the vocabulary of these models is also that of their test part; train with the "
        "vocabulary of train"
    )


def scores(models: Models, condition: Condition, part: Part) -> Scores:
    """Scores of each member on a part of its text."""
    prepared = _prepared(models.prepared, condition)
    if condition.dynamic is not None:
        return _dynamic(models, prepared, condition.dynamic, part)
    problem = prepared.problem
    more: dict[str, float] = {}
    if condition.averaging is not None:
        task = language_evaluation.averaged(_language(prepared), condition.averaging)
        problem = problem._replace(task=task)
    if condition.temperature is not None:
        more["temperature"] = condition.temperature
    return Scorer(problem, models.members, models.params).scores(part, [more] * len(models.params))


def as_trained(models: Models, part: Part) -> Scores:
    """Scores of each member on a part of its data, read as in training; of any task."""
    return Scorer(models.prepared.problem, models.members, models.params).scores(part)


def best_temperature(models: Models, rows: int) -> float:
    """The temperature of the lowest mean dev score over members, among `TEMPERATURES`."""
    problem = _prepared(models.prepared, Condition(rows)).problem
    scorer, name = Scorer(problem, models.members, models.params), problem.task.metric.name
    means = {
        t: np.mean([s[name] for s in scorer.scores("dev", [{"temperature": t}] * len(models[1]))])
        for t in TEMPERATURES
    }
    return min(means, key=lambda t: means[t])


def _prepared(prepared: preparing.Prepared, condition: Condition) -> preparing.Prepared:
    """The experiment with its text laid out in another number of streams."""
    config = prepared.config
    training = dataclasses.replace(config.training, evaluation_batch_size=condition.rows)
    config = dataclasses.replace(config, training=training)
    text = laid_out(prepared.data, config.data, training.batch_size, condition.rows)
    source, task = prepared.kind.build(config, text)
    return prepared._replace(config=config, data=text, source=source, task=task)


def _language(prepared: preparing.Prepared) -> language.Language:
    return language.language_of(prepared.config, prepared.data)


def _dynamic(models: Models, prepared: preparing.Prepared, rate: float, part: Part) -> Scores:
    """One member after the other: each step of each depends on the step before."""
    text, spoken, task = prepared.data, _language(prepared), prepared.problem.task
    tokens = jnp.asarray(text.corpus.shared["tokens"])
    rows = prepared.config.training.evaluation_batch_size
    columns = text.corpus.buckets[0]
    windows = language_evaluation.WindowSequence(
        *(jnp.asarray(columns[n][text.rows[part]].reshape(-1, rows)) for n in ("start", "length"))
    )
    train = language_evaluation.train_windows(spoken, prepared.config.training.batch_size)

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
