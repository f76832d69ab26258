"""Predictions of a language model averaged over dropout masks (Gal & Ghahramani 2016).

Notation: T tokens a window, B rows, K samples of the masks. The samples of a row are K rows of one
batch, sample by sample: [T, K B].
"""

import dataclasses
from collections.abc import Mapping
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp

from jaxeval.contracts import Array, Batch, Hparams, Task, Tree
from jaxeval.models import dropout
from jaxeval.models import language as models
from jaxeval.tasks.language import (
    Language,
    LanguageCarry,
    Outputs,
    build,
    outputs_of,
    runner,
    summed,
    window_of,
)

Mean = Literal["arithmetic", "geometric"]


class Averaging(NamedTuple):
    """Of what and how; static.

    Attributes:
      mean: arithmetic: of probabilities, each sample with a recurrent state of its own;
        geometric: of logits, all from the state of the model without dropout.
      samples: K.
    """

    mean: Mean
    samples: int


def averaged(language: Language, averaging: Averaging) -> Task:
    """The task of a text, its predictions averaged; losses and training are as they were.

    Rates are the member's times `hparams["rate_factor"]` (1 if absent).
    """
    plain, run, samples = build(language), runner(language), averaging.samples

    def tile(tree: Tree) -> Tree:
        return jax.tree.map(lambda leaf: jnp.tile(leaf, (samples, 1)), tree)

    def start(rows: int) -> LanguageCarry:
        carry: LanguageCarry = plain.start(rows)
        if averaging.mean == "arithmetic":
            return carry._replace(state=tile(carry.state))
        return carry

    def predict(
        params: Tree, carry: LanguageCarry, batch: Batch, key: Array, hparams: Hparams
    ) -> tuple[Outputs, LanguageCarry]:
        tokens = window_of(batch, language.window)[:-1]
        tiled, rates = jnp.tile(tokens, (1, samples)), _rates(hparams)
        if averaging.mean == "arithmetic":
            state, hidden = run(params, carry.state, tiled, rates, key)
        else:
            state, _ = run(params, carry.state, tokens, {}, None)
            _, hidden = run(params, tile(carry.state), tiled, rates, key)
            # logits are linear in what the softmax sees: their mean is that of its mean
            hidden = _by_sample(hidden, samples).mean(axis=1)
        return outputs_of(params, hidden, hparams), LanguageCarry(state, carry.position)

    def count(outputs: Outputs, batch: Batch) -> Mapping[str, Array]:
        targets = window_of(batch, language.window)[1:]
        if averaging.mean == "geometric":
            return plain.count(outputs, batch)
        losses = models.token_losses(
            outputs.table, outputs.bias, outputs.hidden, jnp.tile(targets, (1, samples))
        )
        log_probs = -_by_sample(losses, samples)
        return summed(jnp.log(samples) - jax.nn.logsumexp(log_probs, axis=1), batch)

    return dataclasses.replace(plain, start=start, predict=predict, count=count)


def _rates(hparams: Hparams) -> dict[str, Array]:
    factor = hparams.get("rate_factor", 1.0)
    names = (dropout.rate_name(site) for site in models.SITES)
    return {name: factor * hparams[name] for name in names if name in hparams}


def _by_sample(rows: Array, samples: int) -> Array:
    """[T, K B, ...] -> [T, K, B, ...]."""
    return rows.reshape(len(rows), samples, -1, *rows.shape[2:])
