"""The PyTorch side of `tagger_vs_pytorch`: the same tagger, one seed a process.

As fast as PyTorch on a CPU allows without leaving its modules: `torch.nn.LSTM` over the whole
batch (packed where that is faster), a convolution over all words at once, a CRF vectorised over
the batch, `foreach` optimiser steps. Needs torch; see benchmarks/README.md.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

WAYS = ("padded", "packed")  # sequences of the LSTM


class Tagger(nn.Module):
    """2 x 100 BiLSTM, character CNN, CRF, frozen word vectors: jaxeval's clean default."""

    def __init__(self, vectors: torch.Tensor, alphabet: int, labels: int, packed: bool):
        super().__init__()
        self.words = nn.Embedding.from_pretrained(vectors, freeze=True)
        self.characters = nn.Embedding(alphabet, 30)
        self.convolution = nn.Conv1d(30, 30, 3, padding=1)
        self.lstm = nn.LSTM(vectors.shape[1] + 30, 100, 2, bidirectional=True)
        self.emissions = nn.Linear(200, labels)
        self.transitions = nn.Parameter(torch.randn(labels, labels) * 0.1)
        self.start = nn.Parameter(torch.zeros(labels))
        self.end = nn.Parameter(torch.zeros(labels))
        self.packed = packed

    def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Mean negative log-likelihood of a batch: words [T, B], characters [T, B, W] ..."""
        words, spelling, lengths = batch["words"], batch["characters"], batch["lengths"]
        steps, size, width = spelling.shape
        embedded = self.characters(spelling.reshape(-1, width)).transpose(1, 2)
        convolved = self.convolution(embedded)
        inside = (spelling.reshape(-1, 1, width) > 0) | batch["empty"].reshape(-1, 1, 1)
        best = convolved.masked_fill(~inside, -torch.inf).amax(2).tanh()
        x = torch.cat([self.words(words), best.reshape(steps, size, -1)], dim=-1)
        if self.packed:
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
            hidden, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], total_length=steps)
        else:
            hidden, _ = self.lstm(x)
        return self.crf_loss(self.emissions(hidden), batch["labels"], batch["valid"], lengths)

    def crf_loss(
        self, scores: torch.Tensor, gold: torch.Tensor, valid: torch.Tensor, lengths: torch.Tensor
    ) -> torch.Tensor:
        """Mean over the batch; scores [T, B, Y], gold [T, B]."""
        alpha = self.start + scores[0]
        for t in range(1, len(scores)):
            new = torch.logsumexp(alpha[:, :, None] + self.transitions, dim=1) + scores[t]
            alpha = torch.where(valid[t, :, None], new, alpha)
        total = torch.logsumexp(alpha + self.end, dim=1)
        emitted = (scores.gather(2, gold[..., None])[..., 0] * valid).sum(0)
        moved = (self.transitions[gold[:-1], gold[1:]] * valid[1:]).sum(0)
        last = gold.gather(0, lengths[None] - 1)[0]
        return (total - emitted - moved - self.start[gold[0]] - self.end[last]).mean()


def prepare(batches: Sequence[dict[str, np.ndarray]], shared: dict[str, Any]) -> list[dict]:
    """Batches as jaxeval forms them, each cut to its own longest sentence and word."""
    prepared = []
    for batch in batches:
        steps = int(batch["length"].max())
        forms = batch["forms"][:, :steps].T
        spelling = shared["characters"][forms].astype(np.int64)
        spelling = spelling[..., : max(1, int((spelling > 0).sum(-1).max()))]
        valid = np.arange(steps)[:, None] < batch["length"]
        prepared.append(
            {
                "words": torch.from_numpy(shared["row"][forms].astype(np.int64)),
                "characters": torch.from_numpy(spelling),
                "empty": torch.from_numpy(~(spelling > 0).any(-1)),
                "labels": torch.from_numpy(batch["labels"][:, :steps].T.astype(np.int64)),
                "lengths": torch.from_numpy(batch["length"].astype(np.int64)),
                "valid": torch.from_numpy(valid),
            }
        )
    return prepared


class Trainer:
    """One seed; `epoch` is what is timed."""

    def __init__(self, model: Tagger):
        self.model = model
        self.live = [p for p in model.parameters() if p.requires_grad]
        self.optimiser = torch.optim.NAdam(self.live, lr=0.002, foreach=True)

    def epoch(self, batches: Sequence[dict]) -> float:
        """One pass over the batches; the loss of the last."""
        loss = torch.zeros(())
        for batch in batches:
            self.optimiser.zero_grad(set_to_none=True)
            loss = self.model(batch)
            loss.backward()
            nn.utils.clip_grad_norm_(self.live, 1.0, foreach=True)
            self.optimiser.step()
        return loss.item()


class Member:
    """A seed in a process of its own (`processes`), with its own order of the sentences.

    The payload: `batches`, a list for each process; `vectors`, `alphabet` and `labels` of the
    model.
    """

    def __init__(self, payload: Path, number: int):
        content = torch.load(payload, weights_only=True, map_location=torch.get_default_device())
        self.batches = content["batches"][number]
        sizes = (content["vectors"], content["alphabet"], content["labels"])
        torch.manual_seed(number + 1)
        self.trainers = {way: Trainer(Tagger(*sizes, way == "packed")) for way in WAYS}

    def turn(self, way: str, threads: int) -> Callable[[], float]:
        """An epoch."""
        torch.set_num_threads(threads)
        return lambda: self.trainers[way].epoch(self.batches)
