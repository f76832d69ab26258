"""Experiments of language modelling."""

from typing import Annotated, Literal

import pydantic

from jaxeval.config import reading
from jaxeval.data import language as language_data
from jaxeval.errors import ConfigError
from jaxeval.experiment import base
from jaxeval.models import budget, language_settings
from jaxeval.population import optimisers
from jaxeval.population.settings import Plateau, Training
from jaxeval.tasks import language as tasks

DATA = "data.path"  # the key that --data sets
# the authors' "rmsprop": Adam without its first moment, in TensorFlow's form
_OPTIMISER = optimisers.Optimiser(
    name="tf_adam", hyperparameters={"beta1": 0.0, "learning_rate": 0.003}, clip_at=10.0
)
_TRAINING = Training(
    batch_size=64,
    evaluation_batch_size=64,
    epochs=100,
    patience=30,
    optimiser=_OPTIMISER,
    plateau=Plateau(),
)


@reading.settings
class Config:
    """One experiment on a text of your own; an epoch is a turn of `data.turn` steps."""

    name: Annotated[str, pydantic.Field(description="shown in tables")] = "language"
    task: Annotated[Literal["language"], pydantic.Field(description="what is learned")] = (
        "language"
    )
    data: language_data.LanguageData = language_data.LanguageData()
    model: language_settings.LanguageModelSettings = language_settings.LanguageModelSettings()
    training: Training = _TRAINING


def prepare(config: Config, random_splits: bool = False) -> base.Prepared:
    """Reads the text, solves for the sizes and builds the task."""
    if random_splits:
        raise ConfigError("a text has the split that its files give; leave --splits out")
    training = config.training
    return prepare_text(
        config,
        language_data.build(config.data, training.batch_size, training.evaluation_batch_size),
    )


def prepare_text(config: Config, text: language_data.Text) -> base.Prepared:
    """The same for a text that has been read."""
    language = language_of(config, text)
    read = base.Read(
        text.corpus,
        text.split,
        text.fingerprint,
        config.data.path,
        (("data", "path"),),
        {
            "tokens": dict(text.tokens),
            "vocabulary": text.vocabulary,
            "hidden": language.shape.hidden,
            "embedding": language.shape.embedding,
            "counted_parameters": budget.parameter_count(language.shape, language.cell),
        },
        lambda number: {"tokens": [*text.symbols]},
        findings=text.findings,
    )
    return base.prepared(config, text, read, tasks.build(language))


def language_of(config: Config, text: language_data.Text) -> tasks.Language:
    """What a config's model is trained on and how."""
    return tasks.Language(
        config.model.shape(text.vocabulary),
        config.model.cell(),
        config.data.window,
        text.tokens["train"],
        "bits" if config.data.unit == "byte" else "perplexity",
        config.model.forget,
    )
