"""Experiments of sequence tagging."""

import dataclasses
from typing import Annotated, Literal

import pydantic

from jaxeval.config import reading
from jaxeval.data import tagging as tagging_data
from jaxeval.experiment import base
from jaxeval.models import tagging_settings
from jaxeval.population.settings import Training
from jaxeval.tasks import tagging as tasks

DATA = "data.source.path"  # the key that --data sets


@reading.settings
class Config:
    """One experiment. No config file: these defaults, on the generated corpus."""

    name: Annotated[str, pydantic.Field(description="shown in tables")] = "default"
    task: Annotated[Literal["tagging"], pydantic.Field(description="what is learned")] = "tagging"
    data: tagging_data.TaggingData = tagging_data.TaggingData()
    model: tagging_settings.TaggerSettings = tagging_settings.TaggerSettings()
    scoring: tasks.Scoring = tasks.Scoring()
    training: Training = Training()


def prepare(config: Config, random_splits: bool = False) -> base.Prepared:
    """Reads the sentences and builds the task.

    Random splits need the vocabulary of all sentences. That changes the parameters' shapes, and so
    it is written into the config, by which experiments are told apart.
    """
    if random_splits:
        config = dataclasses.replace(config, data=tagging_data.for_random_splits(config.data))
    tagged = tagging_data.build(config.data, config.training.batch_size)
    task = tasks.build(config.model, config.scoring, tagged)
    source = config.data.source
    read = base.Read(
        tagged.corpus,
        tagged.split,
        tagged.fingerprint,
        source.path or f"generated, seed {source.seed}",
        (("data", "source", "path"), ("data", "vectors")),
        {
            "sentences": {part: sum(map(len, rows)) for part, rows in tagged.given.items()},
            "labels": tagged.predicted,
            "padded_widths": list(tagged.widths),
        },
        tagged.vocabulary,
        tagged.tables(config.model.words.trained),
        tagged.findings,
        tagged.table.fingerprint,
    )
    return base.prepared(config, tagged, read, task)
