"""ATAE-LSTM and IAN in PyTorch, one seed a process, for `sentiment_vs_pytorch`; imports no jax.

The models that FIESTA ran (Moss et al. 2019; `configs/moss2019`), as fast as PyTorch on a CPU
allows without leaving its modules: `torch.nn.LSTM` over the whole batch (packed where that is
faster), one mask of variational dropout for all steps, the target's part of the attention computed
once a target, Adam in its fused kernel. As in AllenNLP the embeddings are trained with dense
gradients (`sparse=False`): Adam moves every row at every step, and ours does. Needs torch.

Notation: B rows, T words, W words of the longest target, D size of a word vector, H hidden units,
Y classes. Sequences are time-major.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

WAYS = ("padded", "packed")  # sequences of the LSTMs
Tensor = torch.Tensor


class Sizes(NamedTuple):
    """What sets shapes, and the rate of every dropout."""

    words: int
    dimension: int
    hidden: int
    labels: int
    dropout: float


class Batch(NamedTuple):
    """Rows of a batch: word numbers [T, B] and [W, B], lengths and labels [B]."""

    words: Tensor
    length: Tensor
    target: Tensor
    target_length: Tensor
    labels: Tensor


class Atae(nn.Module):
    """ATAE-LSTM: logits [B, Y] by attention over states of [word; mean of the target]."""

    def __init__(self, sizes: Sizes):
        super().__init__()
        self.words = nn.Embedding(sizes.words, sizes.dimension)
        self.target_words = nn.Embedding(sizes.words, sizes.dimension)
        self.text = nn.LSTM(2 * sizes.dimension, sizes.hidden)
        units = sizes.hidden + sizes.dimension
        # the two halves of one layer over [state; target], which is the same at all steps
        self.of_state = nn.Linear(sizes.hidden, units, bias=False)
        self.of_target = nn.Linear(sizes.dimension, units)
        self.attention_vector = nn.Parameter(torch.zeros(units))
        self.logits = nn.Linear(sizes.hidden, sizes.labels)
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, batch: Batch, packed: bool) -> Tensor:
        """Logits [B, Y]."""
        target_words = variational(self.dropout, self.target_words(batch.target))
        target = mean(target_words, batch.target_length)
        words = variational(self.dropout, self.words(batch.words))
        beside = self.dropout(target).expand(len(words), -1, -1)
        states = run(self.text, torch.cat([words, beside], dim=-1), batch.length, packed)
        keys = self.of_state(variational(self.dropout, states))
        keys = torch.tanh(keys + self.of_target(self.dropout(target)))
        scores = variational(self.dropout, keys) @ self.attention_vector
        return self.logits(self.dropout(attend(scores, states, batch.length)))


class InteractiveAttention(nn.Module):
    """IAN: logits [B, Y], in (-1, 1), of the text read for its target and of the converse."""

    def __init__(self, sizes: Sizes):
        super().__init__()
        self.words = nn.Embedding(sizes.words, sizes.dimension)
        self.target_words = nn.Embedding(sizes.words, sizes.dimension)
        self.text = nn.LSTM(sizes.dimension, sizes.hidden)
        self.target = nn.LSTM(sizes.dimension, sizes.hidden)
        self.text_query = nn.Linear(sizes.hidden, sizes.hidden, bias=False)
        self.text_bias = nn.Parameter(torch.zeros(()))
        self.target_query = nn.Linear(sizes.hidden, sizes.hidden, bias=False)
        self.target_bias = nn.Parameter(torch.zeros(()))
        self.logits = nn.Linear(2 * sizes.hidden, sizes.labels)
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, batch: Batch, packed: bool) -> Tensor:
        """Logits [B, Y]."""
        words = variational(self.dropout, self.words(batch.words))
        target_words = variational(self.dropout, self.target_words(batch.target))
        text = run(self.text, words, batch.length, packed)
        target = run(self.target, target_words, batch.target_length, packed)
        text, target = (variational(self.dropout, states) for states in (text, target))
        of_text = self.text_query(mean(target, batch.target_length))
        of_target = self.target_query(mean(text, batch.length))
        text_scores = torch.tanh((text * of_text).sum(-1) + self.text_bias)
        target_scores = torch.tanh((target * of_target).sum(-1) + self.target_bias)
        read = [
            attend(text_scores, text, batch.length),
            attend(target_scores, target, batch.target_length),
        ]
        return torch.tanh(self.logits(self.dropout(torch.cat(read, dim=-1))))


MODELS: Mapping[str, Callable[[Sizes], nn.Module]] = {"atae": Atae, "ian": InteractiveAttention}


def valid(steps: int, length: Tensor) -> Tensor:
    """[T, B] true at words."""
    return torch.arange(steps)[:, None] < length


def variational(dropout: nn.Dropout, x: Tensor) -> Tensor:
    """x [T, B, D] with one mask [B, D] for all steps."""
    return x * dropout(x.new_ones(x.shape[1:])) if dropout.training else x


def mean(x: Tensor, length: Tensor) -> Tensor:
    """[T, B, D] averaged over words: [B, D]."""
    return (x * valid(len(x), length)[..., None]).sum(0) / length[:, None]


def run(lstm: nn.LSTM, x: Tensor, length: Tensor, packed: bool) -> Tensor:
    """States [T, B, H]; after the last word of a row they mean nothing."""
    if not packed:
        states: Tensor = lstm(x)[0]
        return states
    sequences = nn.utils.rnn.pack_padded_sequence(x, length, enforce_sorted=False)
    return nn.utils.rnn.pad_packed_sequence(lstm(sequences)[0], total_length=len(x))[0]


def attend(scores: Tensor, states: Tensor, length: Tensor) -> Tensor:
    """[B, H] mean of the states [T, B, H], weighted by the softmax of scores [T, B]."""
    scores = scores.masked_fill(~valid(len(scores), length), -torch.inf)
    return (torch.softmax(scores, dim=0)[..., None] * states).sum(0)


def prepare(rows: Mapping[str, np.ndarray], row_of_form: np.ndarray) -> Batch:
    """A batch of rows with one target each, cut to its longest text and its longest target."""
    forms, length, start = rows["forms"], rows["length"], rows["start"][:, 0]
    target_length = rows["end"][:, 0] - start
    places = start + np.arange(target_length.max())[:, None]
    inside = np.arange(len(places))[:, None] < target_length
    target = forms[np.arange(len(forms)), np.minimum(places, forms.shape[1] - 1)]
    columns = (
        row_of_form[forms[:, : length.max()].T],
        length,
        np.where(inside, row_of_form[target], 0),
        target_length,
        rows["labels"][:, 0],
    )
    return Batch(*(torch.from_numpy(column.astype(np.int64)) for column in columns))


def loss(model: nn.Module, batch: Batch, packed: bool) -> Tensor:
    """[] mean cross-entropy of a batch."""
    return nn.functional.cross_entropy(model(batch, packed), batch.labels)


class Member:
    """A seed in a process of its own (`processes`), with its own order of the rows.

    The payload: `kind` of MODELS and its `sizes`; a list for each process of `weights` and of
    `batches`; the learning `rate`.
    """

    def __init__(self, payload: Path, number: int):
        content = torch.load(payload, weights_only=True)
        torch.manual_seed(number + 1)
        self.model = MODELS[content["kind"]](Sizes(*content["sizes"]))
        self.model.load_state_dict(content["weights"][number])
        self.batches = [Batch(*columns) for columns in content["batches"][number]]
        # all in one pass over memory: faster than foreach where most parameters are embeddings
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=content["rate"], fused=True)

    def turn(self, way: str, threads: int) -> Callable[[], float]:
        """The steps of an epoch; the loss of the last."""
        torch.set_num_threads(threads)
        return lambda: self._train(self.batches, way == "packed")

    def _train(self, batches: Sequence[Batch], packed: bool) -> float:
        last = torch.zeros(())
        for batch in batches:
            self.optimiser.zero_grad(set_to_none=True)
            last = loss(self.model, batch, packed)
            last.backward()
            self.optimiser.step()
        return last.item()
