"""Turns of training and decoding, ours and PyTorch's, that `seq2seq_vs_pytorch` times."""

import argparse
import copy
import itertools
import time
from collections.abc import Sequence
from typing import Any

import common
import jax
import jax.numpy as jnp
import numpy as np
import seq2seq_agreement
import seq2seq_pytorch
import torch

from jaxeval import experiment
from jaxeval.population import lanes, loop


class Training:
    """Turns of training."""

    def __init__(
        self,
        prepared: experiment.Prepared,
        made: loop.Population,
        model: torch.nn.Module,
        given: argparse.Namespace,
        rate: float,
        smoothing: float,
    ):
        self.smoothing = smoothing
        self.made, self.model, self.given = made, model, given
        self.rows = seq2seq_agreement.rows_of(prepared, "train")
        self.sizes = [len(rows) for rows in prepared.data.split(0).train]
        self.optimiser = torch.optim.Adam(model.parameters(), lr=rate)
        self.generator = np.random.default_rng(0)
        steps, batch = jax.device_get(made.engine.shared.steps), given.batch
        self.steps = list(zip(steps.bucket.tolist(), steps.slot.tolist(), strict=True))
        self.items = sum(min(batch, self.sizes[b] - batch * s) for b, s in self.steps)

    def ours(self) -> float:
        """Pairs a second of all members."""
        return self.given.members * self.items / common.epoch_seconds(self.made)

    def theirs(self) -> float:
        """Pairs a second of one model; making the batches is not timed."""
        if self.given.batches == "shuffled":
            order = self.generator.permutation(len(self.rows))[: self.items]
            chosen = seq2seq_agreement.cut(order, self.given.batch)
        else:
            chosen = self._bucketed()
        batches = seq2seq_pytorch.prepare(self.rows, chosen)
        seconds = seq2seq_pytorch.train(self.model, self.optimiser, batches, self.smoothing)
        return sum(map(len, chosen)) / seconds

    def _bucketed(self) -> list[np.ndarray]:
        firsts = [0, *itertools.accumulate(self.sizes)]
        orders = [
            first + self.generator.permutation(size)
            for first, size in zip(firsts, self.sizes, strict=False)
        ]
        size = self.given.batch
        return [orders[b][s * size : (s + 1) * size] for b, s in self.steps]


class Decoding:
    """Turns of decoding dev, with the parameters as they are now."""

    def __init__(
        self,
        prepared: experiment.Prepared,
        made: loop.Population,
        model: torch.nn.Module,
        given: argparse.Namespace,
    ):
        self.made, self.given = made, given
        self.params = jax.tree.map(jnp.copy, made.state.params)
        self.model = copy.deepcopy(model)
        self.model.eval()
        rows = seq2seq_agreement.rows_of(prepared, "dev")
        every = max(1, len(rows) // given.decoded)
        rows = [row for bucket in _by_bucket(rows) for row in bucket[::every]]
        self.items = len(rows)
        self.parts = [self._thinned(part, every) for part in made.lanes.dev]
        # the corpus is in alphabetical order: batches of any lengths, as the files have them
        order = np.random.default_rng(0).permutation(len(rows))
        chosen = seq2seq_agreement.cut(order, given.evaluation_batch)
        self.limits = [max(rows[number]["limit"] for number in numbers) for numbers in chosen]
        self.batches = seq2seq_pytorch.prepare(rows, chosen)
        self.accuracy: dict[str, float] = {}

    def _thinned(self, part: jax.Array, every: int) -> jax.Array:
        """[S, n] row numbers of a bucket, one in so many of them, -1 behind."""
        host = np.asarray(part)
        chosen = [numbers[numbers >= 0][::every] for numbers in host]
        size = host.shape[1]
        padded = [np.pad(one, (0, size - len(one)), constant_values=-1) for one in chosen]
        return lanes.shard(np.stack(padded), self.made.engine.mesh)

    def ours(self) -> float:
        """Pairs a second of all members."""
        made = self.made
        flags = made.flags([True] * len(made.seats))
        begin = time.perf_counter()
        counts = jax.device_get(
            made.engine.evaluate(
                made.engine.shared, self.params, made.lanes.load, self.parts, flags
            )
        )
        seconds = time.perf_counter() - begin
        assert counts["items"][0] == self.items
        self.accuracy["ours"] = float(counts["right"][0]) / self.items
        return self.given.members * self.items / seconds

    def theirs(self, cached: bool) -> float:
        """Pairs a second of one model."""
        begin = time.perf_counter()
        written = [
            seq2seq_pytorch.greedy(self.model, batch, limit, cached)
            for batch, limit in zip(self.batches, self.limits, strict=True)
        ]
        seconds = time.perf_counter() - begin
        right = sum(
            self._right(own, batch["target"])
            for own, batch in zip(written, self.batches, strict=True)
        )
        self.accuracy["pytorch"] = right / self.items
        return self.items / seconds

    @staticmethod
    def _right(written: torch.Tensor, target: torch.Tensor) -> int:
        gold = target[:, 1:].masked_fill(target[:, 1:] == seq2seq_pytorch.PAD, seq2seq_pytorch.END)
        short = gold.shape[1] - written.shape[1]
        pad = torch.nn.functional.pad(written, (0, max(short, 0)), value=seq2seq_pytorch.END)
        gold = torch.nn.functional.pad(gold, (0, max(-short, 0)), value=seq2seq_pytorch.END)
        return int((pad == gold).all(1).sum())


def _by_bucket(rows: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    return [list(group) for _, group in itertools.groupby(rows, lambda row: row["bucket"])]
