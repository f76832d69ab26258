"""Do a model of jaxeval and one of PyTorch compute the same, of the same weights?"""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import seq2seq_pytorch
import seq2seq_weights
import torch

from jaxeval import studies
from jaxeval.contracts import Batch


def rows_of(prepared: studies.Prepared, part: str) -> list[dict[str, np.ndarray]]:
    """The pairs of a part, unpadded, bucket by bucket; `limit` of what is written."""
    pairs = []
    chosen = getattr(prepared.data.split(0), part)
    for bucket, numbers in zip(prepared.data.corpus.buckets, chosen, strict=True):
        limit = 3 * bucket["target"].shape[1] // 2
        for number in numbers:
            row = {
                name: bucket[name][number][: bucket[f"{name}_length"][number]]
                for name in ("source", "target")
            }
            pairs.append({**row, "bucket": len(bucket["target"][0]), "limit": limit})
    return pairs


def check(
    prepared: studies.Prepared, params: Any, theirs: torch.nn.Module, smoothing: float
) -> dict[str, float]:
    """Stops unless losses, gradients and outputs are equal; returns by how much they differ."""
    rows, task = rows_of(prepared, "dev"), prepared.problem.task
    theirs.eval()
    hparams = {"label_smoothing": jnp.float32(smoothing)}

    def own_loss(params: Any, batch: Batch) -> jax.Array:
        return task.loss(params, (), batch, jax.random.key(0), hparams)[0]

    ours = jax.jit(jax.value_and_grad(own_loss))
    # a ReLU whose input is rounded to either side of 0 alters a gradient by a thousandth: of some
    # batches the nearest gradient counts
    batches = [rows[first :: len(rows) // 8][:8] for first in range(4)]  # each of all lengths
    each = [
        _gradients(theirs, chosen, ours(params, _padded(chosen)), smoothing) for chosen in batches
    ]
    loss, gradient = max(loss for loss, _ in each), min(gradient for _, gradient in each)
    assert loss < 1e-4, f"losses differ by {loss}"
    assert gradient < 1e-4, f"gradients differ by {gradient}"
    predict = jax.jit(lambda p, b: task.predict(p, (), b, jax.random.key(0), {})[0])
    written = np.asarray(predict(params, _padded(rows)))
    same = min(_same(theirs, rows, written, cached) for cached in (False, True))
    assert same >= 0.999, f"{same} of the outputs are the same"
    return {"loss": round(loss, 8), "gradient": round(gradient, 8), "outputs": same}


def _same(
    theirs: torch.nn.Module, rows: Sequence[Mapping[str, Any]], ours: np.ndarray, cached: bool
) -> float:
    """The share of rows for which PyTorch writes the same."""
    equal = 0
    chosen = seq2seq_pytorch.cut(np.arange(len(rows)), 64)
    for numbers, batch in zip(chosen, seq2seq_pytorch.prepare(rows, chosen), strict=True):
        limit = max(rows[number]["limit"] for number in numbers)
        written = seq2seq_pytorch.greedy(theirs, batch, limit, cached).numpy()
        behind = ((0, 0), (0, limit - written.shape[1]))
        written = np.pad(written, behind, constant_values=seq2seq_pytorch.END)
        equal += int((ours[numbers, :limit] == written).all(axis=1).sum())
    return equal / len(rows)


def _gradients(
    theirs: torch.nn.Module, rows: Sequence[Mapping[str, Any]], ours: tuple, smoothing: float
) -> tuple[float, float]:
    """Differences of the losses and of the gradients.

    That of gradients is the most that one of a weight differs by, in shares of its norm, or of a
    thousandth of the norm of all where it is smaller: some are nothing.
    """
    (batch,) = seq2seq_pytorch.prepare(rows, [np.arange(len(rows))])
    theirs.zero_grad()
    loss = seq2seq_pytorch.loss(theirs, batch, smoothing)
    loss.backward()
    gradients = seq2seq_weights.named(jax.tree.map(np.asarray, ours[1]))
    their_gradients: dict[str, Any] = {name: p.grad for name, p in theirs.named_parameters()}
    assert their_gradients.keys() == gradients.keys(), their_gradients.keys() ^ gradients.keys()
    least = torch.cat([g.flatten() for g in gradients.values()]).norm() / 1000
    most = max(
        float((gradients[name] - g).norm() / max(gradients[name].norm(), least))
        for name, g in their_gradients.items()
    )
    return abs(loss.item() - float(ours[0])), most


def _padded(rows: Sequence[Mapping[str, Any]]) -> Batch:
    """Rows as one batch of jaxeval, as wide as the widest bucket of them."""
    columns: dict[str, Any] = {}
    for name in ("source", "target"):
        width = max(max(len(row[name]), row["bucket"]) for row in rows)
        columns[name] = np.zeros((len(rows), width), np.int32)
        for position, row in enumerate(rows):
            columns[name][position, : len(row[name])] = row[name]
        columns[f"{name}_length"] = np.array([len(row[name]) for row in rows], np.int32)
    return Batch(jax.tree.map(jnp.asarray, columns), jnp.ones(len(rows)), {}, {})
