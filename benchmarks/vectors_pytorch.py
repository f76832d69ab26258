"""VecEval's three small models in PyTorch over fixed word vectors, one seed a process.

The models of `configs/nayak2016` for `vectors_vs_sequential`, as fast as PyTorch on a CPU allows
without leaving its modules; imports no jax. The perceptron reads the windows of a batch's words,
side by side and without padding (as VecEval's own batches were); the LSTMs read sequences padded
or packed. Needs torch.

Notation: B rows, N words, T positions, D size of a word vector, P patterns of capitals, H units,
Y classes. Sequences are time-major.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

REACH = 2  # words on either side
PATTERNS = 5  # of capitals
WAYS = {"window": ("padded",), "sentence": ("padded", "packed"), "pair": ("padded", "packed")}
Tensor = torch.Tensor
Batch = Mapping[str, Tensor]
Columns = Mapping[str, np.ndarray]


class Sizes(NamedTuple):
    """What sets shapes, and the rate of dropout."""

    dimension: int
    patterns: int  # P; 0: capitals are not read
    hidden: int
    labels: int
    dropout: float


class Window(nn.Module):
    """A tanh layer over five words: logits [N, Y]."""

    def __init__(self, sizes: Sizes, vectors: Tensor):
        super().__init__()
        self.patterns = sizes.patterns
        self.words = nn.Embedding.from_pretrained(vectors)
        features = (2 * REACH + 1) * (sizes.dimension + sizes.patterns)
        self.hidden = nn.Linear(features, sizes.hidden)
        self.logits = nn.Linear(sizes.hidden, sizes.labels)
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, batch: Batch, packed: bool) -> Tensor:
        """Logits of words [N, 5] with their neighbours."""
        del packed
        features = self.words(batch["words"])
        if self.patterns:
            kinds = nn.functional.one_hot(batch["capitals"], self.patterns + 1)[..., :-1]
            features = torch.cat([features, kinds.to(features.dtype)], dim=-1)
        logits: Tensor = self.logits(self.dropout(torch.tanh(self.hidden(features.flatten(1)))))
        return logits


class Sentence(nn.Module):
    """The last state of an LSTM: logits [B, Y]."""

    def __init__(self, sizes: Sizes, vectors: Tensor):
        super().__init__()
        self.words = nn.Embedding.from_pretrained(vectors)
        self.text = _lstm(sizes)
        self.logits = nn.Linear(sizes.hidden, sizes.labels)
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, batch: Batch, packed: bool) -> Tensor:
        """Logits of texts [T, B]."""
        state = last_state(self.text, self.words(batch["words"]), batch["length"], packed)
        logits: Tensor = self.logits(self.dropout(state))
        return logits


class Pair(nn.Module):
    """A tanh layer over the last states of two LSTMs: logits [B, Y]."""

    def __init__(self, sizes: Sizes, vectors: Tensor):
        super().__init__()
        self.words = nn.Embedding.from_pretrained(vectors)
        self.premise, self.hypothesis = _lstm(sizes), _lstm(sizes)
        self.layer = nn.Linear(2 * sizes.hidden, sizes.hidden)
        self.logits = nn.Linear(sizes.hidden, sizes.labels)
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, batch: Batch, packed: bool) -> Tensor:
        """Logits of pairs of texts [T, B]."""
        states = []
        for side, lstm in (("premise", self.premise), ("hypothesis", self.hypothesis)):
            words, length = self.words(batch[side]), batch[f"{side}_length"]
            states.append(self.dropout(last_state(lstm, words, length, packed)))
        logits: Tensor = self.logits(torch.tanh(self.layer(torch.cat(states, dim=-1))))
        return logits


MODELS: Mapping[str, Callable[[Sizes, Tensor], nn.Module]] = {
    "window": Window,
    "sentence": Sentence,
    "pair": Pair,
}


def _lstm(sizes: Sizes) -> nn.LSTM:
    """With one bias that is trained, as Keras has it."""
    lstm = nn.LSTM(sizes.dimension, sizes.hidden)
    nn.init.zeros_(lstm.bias_hh_l0).requires_grad_(False)
    return lstm


def last_state(lstm: nn.LSTM, x: Tensor, length: Tensor, packed: bool) -> Tensor:
    """[B, H] after the last word of each of x [T, B, D]."""
    if packed:
        x = nn.utils.rnn.pack_padded_sequence(x, length, enforce_sorted=False)
        last: Tensor = lstm(x)[1][0][0]
        return last
    states: Tensor = lstm(x)[0]
    return states[length - 1, torch.arange(len(length))]


def prepare(kind: str, rows: Columns, tables: Columns) -> dict[str, Tensor]:
    """A batch of rows, cut to its longest.

    Args:
      tables: row [F] of each word form, capitals [F].
    """
    columns = {"window": _windows, "sentence": _texts, "pair": _pairs}[kind](rows, tables)
    return {name: torch.from_numpy(column.astype(np.int64)) for name, column in columns.items()}


def _windows(rows: Columns, tables: Columns) -> dict[str, np.ndarray]:
    forms, length = rows["forms"], rows["length"]
    padded = np.pad(forms, ((0, 0), (REACH, REACH)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * REACH + 1, axis=1)
    real = np.arange(forms.shape[1]) < length[:, None]
    chosen, kinds = windows[real], tables["capitals"]
    kinds = np.where(kinds < 0, PATTERNS, kinds)  # padding has none: a column that is cut off
    return {
        "words": tables["row"][chosen],
        "capitals": kinds[chosen],
        "labels": rows["labels"][real],
    }


def _texts(rows: Columns, tables: Columns) -> dict[str, np.ndarray]:
    length = rows["length"]
    words = tables["row"][rows["forms"][:, : length.max()].T]
    return {"words": words, "length": length, "labels": rows["labels"][:, 0]}


def _pairs(rows: Columns, tables: Columns) -> dict[str, np.ndarray]:
    columns = {"labels": rows["labels"]}
    for side in ("premise", "hypothesis"):
        length = rows[f"{side}_length"]
        columns |= {side: tables["row"][rows[side][:, : length.max()].T], f"{side}_length": length}
    return columns


def loss(model: nn.Module, batch: Batch, packed: bool) -> Tensor:
    """[] mean cross-entropy of a batch."""
    return nn.functional.cross_entropy(model(batch, packed), batch["labels"])


class Member:
    """A seed in a process of its own (`processes`), with its own order of the rows.

    The payload: `kind` of MODELS, its `sizes` and `vectors`; a list for each process of `weights`
    and of `batches`; the learning `rate`, and the `decay` of the weights named in `decayed`.
    """

    def __init__(self, payload: Path, number: int):
        content = torch.load(payload, weights_only=True)
        torch.manual_seed(number + 1)
        sizes = Sizes(*content["sizes"])
        self.model = MODELS[content["kind"]](sizes, content["vectors"])
        self.model.load_state_dict(content["weights"][number], strict=False)
        self.batches: Sequence[Batch] = content["batches"][number]
        self.optimiser = _optimiser(self.model, content)

    def turn(self, way: str, threads: int) -> Callable[[], float]:
        """The steps of an epoch; the loss of the last."""
        torch.set_num_threads(threads)
        return lambda: self._train(way == "packed")

    def _train(self, packed: bool) -> float:
        last = torch.zeros(())
        for batch in self.batches:
            self.optimiser.zero_grad(set_to_none=True)
            last = loss(self.model, batch, packed)
            last.backward()
            self.optimiser.step()
        return last.item()


def _optimiser(model: nn.Module, content: Mapping[str, Any]) -> torch.optim.Optimizer:
    named = {name: p for name, p in model.named_parameters() if p.requires_grad}
    groups = [
        {"params": [p for name, p in named.items() if (name in content["decayed"]) is decayed]}
        | {"weight_decay": content["decay"] if decayed else 0.0}
        for decayed in (False, True)
    ]
    return torch.optim.RMSprop(groups, lr=content["rate"], alpha=0.9)
