"""Do ATAE-LSTM and IAN of jaxeval and of PyTorch compute the same, of the same weights?"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import sentiment_pytorch
import torch

from jaxeval import studies
from jaxeval.config import fields
from jaxeval.contracts import Batch

_GATES = (0, 3, 2, 1)  # where jaxeval keeps torch's input, forget, candidate and output gates
_MOST = 1e-5  # difference that is let pass
Columns = Mapping[str, np.ndarray]  # rows of a bucket
Leaves = Iterator[tuple[str, np.ndarray]]
Named = dict[str, torch.Tensor]


def named(params: Mapping[str, Any]) -> Named:
    """Weights of jaxeval, or gradients of them, under torch's names and in its layouts."""
    leaves = _ian(params) if "target" in params["encoder"] else _atae(params)
    return {name: torch.tensor(np.asarray(leaf)) for name, leaf in leaves}


def _atae(params: Mapping[str, Any]) -> Leaves:
    yield from _ends(params)
    encoder = params["encoder"]
    text, attention = encoder["text"]["lstm"], encoder["attention"]
    yield from lstm("text", text)
    hidden = len(text["recurrent"])
    yield "of_state.weight", attention["kernel"][:hidden].T
    yield "of_target.weight", attention["kernel"][hidden:].T
    yield "of_target.bias", attention["bias"]
    yield "attention_vector", encoder["attention_vector"]


def _ian(params: Mapping[str, Any]) -> Leaves:
    yield from _ends(params)
    for side in ("text", "target"):
        yield from lstm(side, params["encoder"][side]["lstm"])
        attention = params["encoder"][f"{side}_attention"]
        yield f"{side}_query.weight", attention["kernel"].T
        yield f"{side}_bias", attention["bias"]


def _ends(params: Mapping[str, Any]) -> Leaves:
    for table in ("words", "target_words"):
        yield f"{table}.weight", params["embedding"][table]
    yield "logits.weight", params["logits"]["kernel"].T
    yield "logits.bias", params["logits"]["bias"]


def lstm(name: str, weights: Mapping[str, Any]) -> Leaves:
    """Of an LSTM; the second bias where it has two."""
    biases = zip(("bias_ih_l0", "bias_hh_l0"), weights["biases"], strict=False)
    pairs = {
        "weight_ih_l0": weights["kernel"],
        "weight_hh_l0": weights["recurrent"],
        **dict(biases),
    }
    for theirs, ours in pairs.items():
        blocks = np.split(np.asarray(ours), len(_GATES), axis=-1)
        yield f"{name}.{theirs}", np.concatenate([blocks[n] for n in _GATES], axis=-1).T


class Differences(NamedTuple):
    """Between two losses, and between their gradients.

    That of gradients is the most that one of a weight differs by, in shares of its norm, or of a
    thousandth of the norm of all where it is smaller: some are nothing.
    """

    loss: float
    gradient: float


def check(
    prepared: studies.Prepared, params: Any, theirs: torch.nn.Module, columns: Columns
) -> Differences:
    """Stops unless losses and gradients of a batch are equal to 1e-5, padded and packed.

    Nothing is dropped.
    """
    theirs.eval()
    own = ours(prepared, params, columns, named)
    batch = sentiment_pytorch.prepare(columns, prepared.data.corpus.shared["row"])
    each = []
    for way in sentiment_pytorch.WAYS:
        theirs.zero_grad()
        loss = sentiment_pytorch.loss(theirs, batch, way == "packed")
        loss.backward()
        gradients = {name: parameter.grad for name, parameter in theirs.named_parameters()}
        each.append(differences(own, (loss.item(), gradients)))
    return worst_of(each)


def worst_of(each: Sequence[Differences]) -> Differences:
    """The largest differences; stops where they are too large."""
    worst = Differences(*(max(values) for values in zip(*each, strict=True)))
    assert max(worst) < _MOST, f"ours and PyTorch's differ: {worst}"
    return worst


def ours(
    prepared: studies.Prepared,
    params: Any,
    columns: Columns,
    named: Callable[[Any], Named],
) -> tuple[float, Named]:
    """The loss and its gradient, as `named` has it, without dropout."""
    corpus = prepared.data.corpus
    values = fields.active(prepared.config)
    hparams = {
        name: jnp.float32(0 if name.startswith("dropout") else value)
        for name, value in values.items()
    }
    tables = prepared.data.split(0).tables
    weight = np.ones(len(columns["labels"]), np.float32)
    batch = Batch(dict(columns), weight, corpus.shared, tables)

    def loss(params: Any, batch: Batch) -> jax.Array:
        task = prepared.problem.task
        return task.loss(params, (), batch, jax.random.key(0), hparams)[0]

    value, gradients = jax.jit(jax.value_and_grad(loss))(params, batch)
    return float(value), named(gradients)


def differences(ours: tuple[float, Named], theirs: tuple[float, Mapping]) -> Differences:
    """Between a loss with its gradients and another's."""
    (own_loss, own), (loss, other) = ours, theirs
    assert own.keys() == other.keys(), own.keys() ^ other.keys()
    least = torch.cat([gradient.flatten() for gradient in own.values()]).norm() / 1000
    most = max(
        float((own[name] - gradient).norm() / max(own[name].norm(), least))
        for name, gradient in other.items()
    )
    return Differences(abs(own_loss - loss), most)
