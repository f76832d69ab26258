"""Saved models: chosen from a runs folder, loaded without their corpus, and scored again."""

import dataclasses
import functools
import json
import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxeval import tasks
from jaxeval.config import reading
from jaxeval.contracts import Array, Findings, Member, Tree
from jaxeval.data.language import lay_out
from jaxeval.errors import ConfigError, DataError, RunError, argument, counted
from jaxeval.population import engine, member
from jaxeval.runs import records
from jaxeval.studies import prepared, recording
from jaxeval.studies.cohorts import Cohort
from jaxeval.tasks import kind, language, language_evaluation
from jaxeval.tasks.kind import Options, SavedModel
from jaxeval.tasks.language_evaluation import Averaging

_Identity = tuple[str, int, int]  # of a member: experiment, split, seed
_Part = Literal["dev", "test"]
Scores = list[dict[str, float]]  # of each member
# as the authors searched: from above 1 downwards
_TEMPERATURES = tuple(round(1.1 - 0.02 * k, 2) for k in range(16))


class ModelFile(NamedTuple):
    """A saved model whose parameters have not been read yet."""

    path: Path  # of the parameters
    about: recording.Description

    @property
    def rank(self) -> tuple[float, int, str]:
        """Sort key: the best of dev first, equal ones by seed, last those without dev."""
        about = self.about
        dev = math.inf if about.dev is None else about.dev
        sign = -1 if about.higher_is_better and about.dev is not None else 1
        return sign * dev, about.seed, self.path.name


def choose(
    folder: Path,
    experiment: str | None = None,
    seed: int | None = None,
    members: Collection[_Identity] | None = None,
) -> list[ModelFile]:
    """Returns the models of one experiment, perhaps of one seed, the best of dev first.

    Args:
      experiment: id, beginning of one, or name; None: the only one.
      members: considers only models of these.

    Raises RunError, saying what there is, or DataError of a description.
    """
    if not folder.is_dir():
        raise RunError(f"{folder}: no such folder; expected one that `train --out` has written")
    models = [
        of
        for of in _described(folder)
        if members is None or (of.about.experiment, of.about.split, of.about.seed) in members
    ]
    if not models:
        whose = "" if members is None else " of these runs"
        raise RunError(f"{folder}: no saved model{whose}; train with training.save_models=true")
    names = {each.about.experiment: each.about.name for each in models}
    chosen_ids = [*names] if experiment is None else records.find_ids(names, experiment)
    if len(chosen_ids) != 1:
        lacking = f"no saved model of {experiment!r}; train it with training.save_models=true, or"
        found = f"saved models of {len(chosen_ids)} experiments;" if chosen_ids else lacking
        shown = records.describe_ids({key: names[key] for key in chosen_ids or names})
        raise RunError(f"{folder}: {found} choose one with {argument('experiment')}: {shown}")
    models = [each for each in models if each.about.experiment == chosen_ids[0]]
    chosen = [each for each in models if seed in (None, each.about.seed)]
    if not chosen:
        seeds = ", ".join(map(str, sorted({each.about.seed for each in models})[:20]))
        asked = argument("seed", seed)
        raise RunError(f"{asked}: no saved model of experiment {chosen_ids[0]}; seeds: {seeds}")
    return sorted(chosen, key=lambda each: each.rank)


def _described(folder: Path) -> list[ModelFile]:
    """Returns all saved models of a runs folder; raises DataError of a description."""
    models = []
    for path in sorted((folder / "models").glob("*/seed*.npz")):
        file = path.with_suffix(".json")
        models.append(ModelFile(path, kind.checked(recording.Description, _read_json(file), file)))
    return models


def predictions(models: Sequence[ModelFile], file: Path, options: Options) -> list[str]:
    """Returns predictions on a file in the form of the models' task; raises as `Kind.predict`.

    The corpus that they were trained on is not needed; files that models share are read once.
    """
    task = models[0].about.task
    predict = tasks.kind_of(task).predict
    if predict is None:
        raise ConfigError(f"task: models of {task} predict nothing")
    read_json = functools.cache(_read_json)
    read_arrays = functools.cache(member.read_arrays)
    loaded = []
    for path, about in models:
        vocabulary = path.with_name(about.vocabulary)
        tables = path.with_name("tables.npz")
        cls = tasks.kind_of(about.task).Config
        where = str(path.with_suffix(".json"))
        loaded.append(
            SavedModel(
                path,
                program=reading.canonical([about.config, str(vocabulary)]),
                config=reading.read(cls, about.config, (), where),
                vocabulary=read_json(vocabulary),
                vocabulary_path=vocabulary,
                tables=read_arrays(tables) if tables.exists() else {},
                arrays=member.read_arrays(path),
                hparams=about.hparams,
            )
        )
    return list(predict(loaded, file, options))


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error})", path) from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"not JSON ({error}); damaged, or cut short", path) from None


# Models scored again; language models also in other ways than during training.


class Condition(NamedTuple):
    """A way to score a text; the default is the plain evaluation in one stream."""

    rows: int = 1  # streams, each of an equal stretch of the part
    temperature: float | None = None  # divides the scores before the softmax
    averaging: Averaging | None = None  # over dropout masks
    dynamic: float | None = None  # learning rate of dynamic evaluation

    def __str__(self) -> str:
        parts = [counted(self.rows, "stream")]
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
    """Loads the saved models of trials of one config. Raises RunError, naming missing ones."""
    paths = [recording.path_of(folder, entry) for entry in cohort.entries]
    pairs = zip(cohort.entries, paths, strict=True)
    missing = [(e.trial.split, e.trial.seed) for e, path in pairs if not path.is_file()]
    if missing:
        advice = "train with training.save_models=true, or choose other "
        advice += (
            f"{argument('seeds')} (one that diverged has none) or an {argument('experiment')}"
        )
        config, known = reading.to_dict(cohort.config), [of.about for of in _described(folder)]
        alike = {about.experiment for about in known if about.config == config}
        if alike and cohort.records[0].id not in alike:
            advice = f"{min(alike)} has its config: have data or word vectors changed since?"
        found = f"no saved model of experiment {cohort.records[0].id}"
        raise RunError(f"{folder}: {found} for {prepared.listed(missing)}; {advice}")
    like = member.parameter_shapes(cohort.problem, cohort.members[0])
    params = [member.to_params(path, member.read_arrays(path), like) for path in paths]
    return Models(cohort.entries[0].prepared, cohort.members, params)


def with_test_file(models: Models, file: str) -> tuple[Models, Findings]:
    """Replaces the test part of models with a file; returns what was found in it, too.

    Raises ConfigError, DataError of the file.
    """
    trained = models.prepared
    asked = argument("input")
    table, _, _ = trained.kind.data_key.rpartition(".")
    folder = prepared.at(reading.to_dict(trained.config), trained.kind.data_key)
    if folder is None or not Path(folder).is_dir():
        raise ConfigError(
            f"{asked}: expected models trained on the files of a folder; name it with "
            + argument("data", "DIR")
        )
    if any(who.split for who in models.members):
        raise ConfigError(
            f"{asked}: expected models trained on the given split, not on random ones"
        )
    change = f"{table}.test={json.dumps(str(Path(file).absolute()), ensure_ascii=False)}"
    config = reading.read(type(trained.config), trained.config, [change])
    other = prepared.prepare(config)
    if other.data.vocabulary(0) != trained.data.vocabulary(0):
        raise ConfigError(
            f"{asked}: the vocabulary of these models depends on their test part; train with a "
            "test part and the vocabulary of train, or tag the file with `jaxeval predict`"
        )
    known, found = trained.data.findings, other.data.findings
    remarks = [line for line in found.remarks if line not in known.remarks]
    warnings = [line for line in found.warnings if line not in known.warnings]
    return models._replace(prepared=other), Findings({}, remarks, warnings)


def scores(models: Models, condition: Condition | None, part: _Part) -> Scores:
    """Scores each member on a part of its data; None: as in training, for any task."""
    if condition is None:
        return engine.scorer(models.prepared.problem, models.members, models.params)(part)
    own = _laid_out(models.prepared, condition.rows)
    if condition.dynamic is not None:
        return _dynamic(models, own, condition.dynamic, part)
    problem, temperature = own.problem, condition.temperature
    if condition.averaging is not None:
        spoken = language.make_language(own.config, own.data)
        problem = problem._replace(task=language_evaluation.averaged(spoken, condition.averaging))
    more = {} if temperature is None else {"temperature": temperature}
    return engine.scorer(problem, models.members, models.params)(part, more)


def best_temperature(models: Models, rows: int) -> float:
    """Returns the temperature of the lowest mean dev score over members."""
    problem = _laid_out(models.prepared, rows).problem
    scored = engine.scorer(problem, models.members, models.params)
    name = problem.task.metric.name
    means = {
        t: np.mean([s[name] for s in scored("dev", {"temperature": t})]) for t in _TEMPERATURES
    }
    return min(means, key=lambda t: means[t])


def _laid_out(trained: prepared.Prepared, rows: int) -> prepared.Prepared:
    """The experiment with its text in another number of streams."""
    config = trained.config
    training = dataclasses.replace(config.training, evaluation_batch_size=rows)
    config = dataclasses.replace(config, training=training)
    text = lay_out(trained.data, config.data, training.batch_size, rows)
    data, task = trained.kind.build(config, text)
    return trained._replace(config=config, data=data, task=task)


def _dynamic(models: Models, own: prepared.Prepared, rate: float, part: _Part) -> Scores:
    """Scores one member after the other: each step depends on the one before."""
    text = own.data
    spoken = language.make_language(own.config, own.data)
    tokens = jnp.asarray(text.corpus.shared["tokens"])
    rows = own.config.training.evaluation_batch_size
    columns = text.corpus.buckets[0]
    (places,) = text.given_split[part]
    start, length = (
        jnp.asarray(columns[name][places].reshape(-1, rows)) for name in ("start", "length")
    )
    windows = language_evaluation.WindowSequence(start, length)
    train = language_evaluation.train_windows(spoken, own.config.training.batch_size)

    @jax.jit
    def counts(params: Tree, tokens: Array, train: Tree, windows: Tree) -> Mapping[str, Array]:
        scale = language_evaluation.gradient_scale(spoken, params, tokens, train)
        return language_evaluation.dynamic(spoken, params, scale, tokens, windows, rate)

    each = (jax.device_get(counts(params, tokens, train, windows)) for params in models.params)
    return [own.task.score({name: float(x) for name, x in sums.items()}) for sums in each]
