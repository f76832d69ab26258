"""Trained language models scored in other ways than during training."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxeval.contracts import Member, Tree
from jaxeval.data.language import laid_out
from jaxeval.errors import RunError
from jaxeval.experiment import base, language, saved
from jaxeval.population import kept
from jaxeval.population.scoring import Scorer
from jaxeval.tasks import dynamic_evaluation
from jaxeval.tasks.dynamic_evaluation import Dynamic
from jaxeval.tasks.language_averaging import Averaging, averaged

Part = Literal["dev", "test"]
Scores = list[dict[str, float]]
# as the authors searched: from above 1 downwards
TEMPERATURES = tuple(round(1.1 - 0.02 * k, 2) for k in range(16))


class Condition(NamedTuple):
    """How a text is read; the default is the plain reading by one reader.

    Attributes:
      rows: readers, each of an equal stretch of the part.
      temperature: the scores before the softmax are divided by it.
      averaging: over dropout masks, the members' rates times `rate_factor`.
      dynamic: learning goes on while reading.
    """

    rows: int = 1
    temperature: float | None = None
    averaging: Averaging | None = None
    rate_factor: float = 1.0
    dynamic: Dynamic | None = None

    def __str__(self) -> str:
        parts = [f"batch {self.rows}"]
        if self.averaging is not None:
            mean, samples = self.averaging
            parts.append(f"{mean} mean of {samples} samples, rates x {self.rate_factor:g}")
        if self.temperature is not None:
            parts.append(f"temperature {self.temperature:g}")
        if self.dynamic is not None:
            rate, decay, epsilon = self.dynamic
            parts.append(f"dynamic, rate {rate:g}, decay {decay:g}, epsilon {epsilon:g}")
        return ", ".join(parts)


class Kept(NamedTuple):
    """Members with their best parameters."""

    prepared: base.Prepared
    members: Sequence[Member]
    params: Sequence[Tree]


def load(prepared: base.Prepared, members: Sequence[Member], folder: Path) -> Kept:
    """The kept models of a runs folder.

    Raises:
      RunError: naming the seeds and splits without one.
    """
    paths = [saved.path_of(folder, prepared, who) for who in members]
    missing = [who for who, path in zip(members, paths, strict=True) if not path.is_file()]
    if missing:
        raise RunError(
            f"{folder}: no kept model of experiment {prepared.record.id} for "
            f"{base.listed(missing)}; train it with training.keep_models=true (and "
            "--again, if it was trained without), or choose other seeds with --seed-list: a "
            "member that diverged at once has none"
        )
    like = base.parameter_shapes(prepared)
    return Kept(prepared, members, [kept.load(path, like) for path in paths])


def scores(models: Kept, condition: Condition, part: Part) -> Scores:
    """Scores of each member on a part of its text."""
    prepared = _prepared(models.prepared, condition)
    if condition.dynamic is not None:
        return _dynamic(models, prepared, condition.dynamic, part)
    problem = prepared.problem
    more: dict[str, float] = {}
    if condition.averaging is not None:
        task = averaged(_language(prepared), condition.averaging)
        problem = problem._replace(task=task)
        more["rate_factor"] = condition.rate_factor
    if condition.temperature is not None:
        more["temperature"] = condition.temperature
    return Scorer(problem, models.members, models.params).scores(part, [more] * len(models.params))


def best_temperature(models: Kept, rows: int) -> float:
    """The temperature of the lowest mean dev score over members, among `TEMPERATURES`."""
    problem = _prepared(models.prepared, Condition(rows)).problem
    scorer, name = Scorer(problem, models.members, models.params), problem.task.metric.name
    means = {
        t: np.mean([s[name] for s in scorer.scores("dev", [{"temperature": t}] * len(models[1]))])
        for t in TEMPERATURES
    }
    return min(means, key=lambda t: means[t])


def _prepared(prepared: base.Prepared, condition: Condition) -> base.Prepared:
    """The experiment with its text laid out for other readers."""
    config = prepared.config
    training = dataclasses.replace(config.training, evaluation_batch_size=condition.rows)
    text = laid_out(prepared.data, config.data, training.batch_size, condition.rows)
    return language.prepare_text(dataclasses.replace(config, training=training), text)


def _language(prepared: base.Prepared) -> Any:
    return language.language_of(prepared.config, prepared.data)


def _dynamic(models: Kept, prepared: base.Prepared, how: Dynamic, part: Part) -> Scores:
    """One member after the other: each step of each depends on the step before."""
    text, spoken, task = prepared.data, _language(prepared), prepared.problem.task
    tokens = jnp.asarray(text.corpus.shared["tokens"])
    rows = prepared.config.training.evaluation_batch_size
    columns = text.corpus.buckets[0]
    windows = dynamic_evaluation.WindowSequence(
        *(jnp.asarray(columns[n][text.rows[part]].reshape(-1, rows)) for n in ("start", "length"))
    )
    train = dynamic_evaluation.train_windows(spoken, prepared.config.training.batch_size)

    @jax.jit
    def counts(params: Tree, tokens: Any, train: Any, windows: Any) -> Mapping[str, Any]:
        scale = dynamic_evaluation.gradient_scale(spoken, params, tokens, train)
        return dynamic_evaluation.evaluate(spoken, params, scale, tokens, windows, how)

    def each() -> Iterator[dict[str, float]]:
        for params in models.params:
            found = jax.device_get(counts(params, tokens, train, windows))
            yield task.score({name: float(value) for name, value in found.items()})

    return list(each())
