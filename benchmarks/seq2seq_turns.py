"""Our turns of training and decoding that `seq2seq_vs_pytorch` times, and PyTorch's payload."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import common
import jax
import jax.numpy as jnp
import processes
import seq2seq_agreement
import torch

from jaxeval import studies
from jaxeval.population import host


class Training:
    """Turns of training: the steps of an epoch of the population."""

    def __init__(
        self,
        prepared: studies.Prepared,
        population: host.Population,
        args: argparse.Namespace,
    ):
        self.population, self.members = population, args.members
        self.buckets = [len(rows) for rows in prepared.data.split(0).train]
        steps, batch = jax.device_get(population.engine.shared.steps), args.batch
        self.steps = list(zip(steps.bucket.tolist(), steps.batch.tolist(), strict=True))
        self.items = sum(min(batch, self.buckets[b] - batch * s) for b, s in self.steps)

    def ours(self) -> float:
        """Seconds for a member."""
        return common.epoch_seconds(self.population) / self.members


class Decoding:
    """Turns of decoding all dev rows, with the parameters as they are now."""

    def __init__(
        self,
        prepared: studies.Prepared,
        population: host.Population,
        args: argparse.Namespace,
    ):
        self.population, self.members = population, args.members
        self.params = jax.tree.map(jnp.copy, population.state.params)
        self.rows = seq2seq_agreement.rows_of(prepared, "dev")
        self.buckets = [len(numbers) for numbers in prepared.data.split(0).dev]
        self.accuracy = 0.0

    def ours(self) -> float:
        """Seconds for a member."""
        population = self.population
        flags = population.flags([True] * len(population.slots))
        begin = processes.clock()
        counts = jax.device_get(
            population.engine.evaluate(
                population.engine.shared,
                self.params,
                population.lanes,
                population.lanes.dev,
                flags,
            )
        )
        seconds = processes.clock() - begin
        assert counts["items"][0] == len(self.rows)
        self.accuracy = float(counts["right"][0]) / len(self.rows)
        return seconds / self.members


def write(
    prepared: studies.Prepared,
    training: Training,
    decoding: Decoding,
    args: argparse.Namespace,
    model: Mapping[str, Any],
    path: Path,
) -> Path:
    """What the processes of PyTorch read; `model` is the part that is not data."""
    content = {
        **model,
        "train": {
            "rows": _lists(seq2seq_agreement.rows_of(prepared, "train")),
            "buckets": training.buckets,
            "batch": args.batch,
        },
        "dev": {
            "rows": _lists(decoding.rows),
            "buckets": decoding.buckets,
            "batch": args.evaluation_batch,
        },
        "steps": training.steps,
        "items": training.items,
    }
    torch.save(content, path)
    return path


def _lists(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "source": row["source"].tolist(),
            "target": row["target"].tolist(),
            "limit": int(row["limit"]),
        }
        for row in rows
    ]
