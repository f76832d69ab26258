"""A PyTorch model in a process of its own, for `seq2seq_vs_pytorch`; imports no jax.

Ways of a turn: "training bucketed", batches of like lengths, those of jaxeval; "training
shuffled", batches over all lengths; "decoding", then "stepwise", "cached" or "uncached" (see
`seq2seq_pytorch`), then "bucketed" or "shuffled" likewise. Making batches is not timed.
"""

import copy
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import seq2seq_pytorch
import torch
from torch import nn


class Member:
    """A member and its data.

    The payload: `architecture`, `sizes` and `weights` of the model, `rate`, `smoothing`; for
    `train` and `dev` the `rows` ("source", "target", "limit") in the order of their buckets, the
    number of rows of each bucket (`buckets`) and the `batch` size; `steps`, the bucket and the
    number within it of each batch of a turn of training, and how many `items` these come to.
    """

    def __init__(self, payload: Path, number: int):
        self.content = torch.load(
            payload, weights_only=True, map_location=torch.get_default_device()
        )
        self.generator = np.random.default_rng(number)
        torch.manual_seed(number)
        self.model = seq2seq_pytorch.build(self.content["architecture"], self.content["sizes"])
        self.model.load_state_dict(self.content["weights"])
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=self.content["rate"])
        self.trained = copy.deepcopy(self.model).eval()  # as ours is when it decodes

    def turn(self, way: str, threads: int) -> Callable[[], float]:
        """Training returns the last loss, decoding the share of rows that are right."""
        torch.set_num_threads(threads)
        verb, *how = way.split()
        if verb == "training":
            return self._training(bucketed=how == ["bucketed"])
        mode, order = how
        return self._decoding(mode == "cached", bucketed=order == "bucketed")

    def _training(self, bucketed: bool) -> Callable[[], float]:
        part = self.content["train"]
        if bucketed:
            chosen = self._like_ours(part)
        else:
            order = self.generator.permutation(len(part["rows"]))[: self.content["items"]]
            chosen = seq2seq_pytorch.cut(order, part["batch"])
        batches = seq2seq_pytorch.prepare(part["rows"], chosen)
        smoothing = self.content["smoothing"]
        return lambda: seq2seq_pytorch.train(self.model, self.optimiser, batches, smoothing)

    def _like_ours(self, part: dict[str, Any]) -> list[np.ndarray]:
        size = part["batch"]
        orders = [self.generator.permutation(numbers) for numbers in _numbers(part["buckets"])]
        return [orders[bucket][n * size : (n + 1) * size] for bucket, n in self.content["steps"]]

    def _decoding(self, cached: bool, bucketed: bool) -> Callable[[], float]:
        part = self.content["dev"]
        rows, size = part["rows"], part["batch"]
        # the corpus is in alphabetical order: shuffled are batches of any lengths
        shuffled = [np.random.default_rng(0).permutation(len(rows))]
        orders = _numbers(part["buckets"]) if bucketed else shuffled
        chosen = [numbers for order in orders for numbers in seq2seq_pytorch.cut(order, size)]
        limits = [max(rows[number]["limit"] for number in numbers) for numbers in chosen]
        batches = seq2seq_pytorch.prepare(rows, chosen)

        def run() -> float:
            right = 0
            for batch, limit in zip(batches, limits, strict=True):
                written = seq2seq_pytorch.greedy(self.trained, batch, limit, cached)
                right += _right(written, batch["target"])
            return right / len(rows)

        return run


def _numbers(buckets: Sequence[int]) -> list[np.ndarray]:
    """The numbers of the rows of each bucket."""
    ends = list(itertools.accumulate(buckets))
    return [np.arange(end - size, end) for size, end in zip(buckets, ends, strict=True)]


def _right(written: torch.Tensor, target: torch.Tensor) -> int:
    gold = target[:, 1:].masked_fill(target[:, 1:] == seq2seq_pytorch.PAD, seq2seq_pytorch.END)
    short = gold.shape[1] - written.shape[1]
    pad = nn.functional.pad
    own = pad(written, (0, max(short, 0)), value=seq2seq_pytorch.END)
    gold = pad(gold, (0, max(-short, 0)), value=seq2seq_pytorch.END)
    return int((own == gold).all(1).sum())
