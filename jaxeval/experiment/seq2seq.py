"""Experiments of sequence to sequence."""

from typing import Annotated, Literal

import numpy as np
import pydantic

from jaxeval.config import reading
from jaxeval.data import seq2seq as pairs_data
from jaxeval.experiment import base
from jaxeval.models import seq2seq_settings, seq2seq_sizes
from jaxeval.population import optimisers
from jaxeval.population.settings import Training
from jaxeval.tasks import seq2seq as tasks

RAGGED = seq2seq_sizes.RAGGED  # keys of the model in which members of a program may differ
DATA = "data.path"  # the key that --data sets
# widths are chosen as for batches of so many rows, whatever the batch size is, so that members
# with different batch sizes see the same corpus
_ROWS = 64
_TRAINING = Training(
    batch_size=64,
    evaluation_batch_size=128,
    epochs=60,
    patience=20,
    optimiser=optimisers.Optimiser(name="adam", hyperparameters={"learning_rate": 0.001}),
)


@reading.settings
class Config:
    """One experiment on pairs of your own (--data)."""

    name: Annotated[str, pydantic.Field(description="shown in tables")] = "seq2seq"
    task: Annotated[Literal["seq2seq"], pydantic.Field(description="what is learned")] = "seq2seq"
    data: pairs_data.Seq2SeqData = pairs_data.Seq2SeqData()
    model: seq2seq_settings.Seq2Seq = seq2seq_settings.Seq2Seq()
    training: Training = _TRAINING


def prepare(config: Config, random_splits: bool = False) -> base.Prepared:
    """Reads the pairs and builds the task; random splits have the given one's vocabularies."""
    del random_splits
    pairs = pairs_data.build(config.data, _ROWS)
    read = base.Read(
        pairs.corpus,
        pairs.split,
        pairs.fingerprint,
        config.data.path,
        (("data", "path"),),
        {
            "pairs": {part: sum(map(len, rows)) for part, rows in pairs.given.items()},
            "source_symbols": len(pairs.vocabularies.source_names),
            "target_symbols": len(pairs.vocabularies.target),
            "padded_widths": [list(widths) for widths in pairs.widths],
        },
        lambda number: pairs.vocabularies.to_dict(),
        findings=pairs.findings,
    )
    return base.prepared(config, pairs, read, tasks.build(config.model, pairs.vocabularies))


def extent(config: Config, pairs: pairs_data.Pairs) -> seq2seq_sizes.Seq2SeqSizes:
    """What the arrays of a run of a sweep must hold."""
    model, vocabularies = config.model, pairs.vocabularies
    shape = model.shape(len(vocabularies.source_names), len(vocabularies.target))
    lengths = [
        float(
            np.mean(np.concatenate([bucket[f"{side}_length"] for bucket in pairs.corpus.buckets]))
        )
        for side in ("source", "target")
    ]
    return seq2seq_sizes.Seq2SeqSizes(
        model.architecture, shape, (lengths[0], lengths[1]), model.embedding
    )
