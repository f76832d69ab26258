"""The PyTorch side of `seq2seq_vs_pytorch`: the same two models out of PyTorch's own modules.

`nn.LSTM` over packed sources and an `nn.LSTMCell` a target symbol, with the attention's share of
the source computed once; `nn.TransformerEncoderLayer` and `nn.TransformerDecoderLayer`. Weights of
jaxeval can be loaded (`seq2seq_weights`). Needs torch; see benchmarks/README.md.

Notation: B rows, Ts and Tt positions, E embedding size, H hidden units, V target symbols.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

PAD, START, END = 0, 1, 2
_FARTHEST = 256  # positions


class Lstm(nn.Module):
    """Bidirectional LSTM encoder, LSTM decoder with additive attention."""

    def __init__(self, source: int, target: int, embedding: int, hidden: int, dropout: float):
        super().__init__()
        self.source = nn.Embedding(source, embedding)
        self.target = nn.Embedding(target, embedding)
        self.encoder = nn.LSTM(embedding, hidden, bidirectional=True, batch_first=True)
        self.keys = nn.Linear(2 * hidden, hidden)
        self.query = nn.Linear(hidden, hidden, bias=False)
        self.score = nn.Linear(hidden, 1)
        self.start_hidden = nn.Parameter(torch.rand(hidden))
        self.start_memory = nn.Parameter(torch.rand(hidden))
        self.decoder = nn.LSTMCell(embedding + 2 * hidden, hidden)
        self.output = nn.Linear(hidden, target)
        self.dropout = nn.Dropout(dropout)

    def encode(self, source: torch.Tensor, length: torch.Tensor) -> tuple:
        """Encoded sources [B, Ts, 2 H], their keys [B, Ts, H], padding [B, Ts]."""
        embedded = self.dropout(self.source(source))
        packed = nn.utils.rnn.pack_padded_sequence(
            embedded, length, batch_first=True, enforce_sorted=False
        )
        encoded, _ = nn.utils.rnn.pad_packed_sequence(self.encoder(packed)[0], batch_first=True)
        return encoded, self.keys(encoded), source == PAD

    def begin(self, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
        """The learned start [B, H]."""
        return self.start_hidden.expand(rows, -1), self.start_memory.expand(rows, -1)

    def advance(self, memory: tuple, state: tuple, embedded: torch.Tensor) -> tuple:
        """The decoder's state after one more embedded symbol [B, E]."""
        encoded, keys, padding = memory
        attended = torch.tanh(keys + self.query(state[0])[:, None])
        scores = self.score(attended)[..., 0].masked_fill(padding, -torch.inf)
        context = torch.bmm(scores.softmax(-1)[:, None], encoded)[:, 0]
        return self.decoder(torch.cat([embedded, context], -1), state)

    def forward(
        self, source: torch.Tensor, length: torch.Tensor, target: torch.Tensor
    ) -> torch.Tensor:
        """Scores [B, Tt, V] after each of the given symbols [B, Tt]."""
        memory, state = self.encode(source, length), self.begin(len(source))
        hidden = []
        for embedded in self.dropout(self.target(target)).unbind(1):
            state = self.advance(memory, state, embedded)
            hidden.append(state[0])
        return self.output(self.dropout(torch.stack(hidden, 1)))

    def writer(self, source: torch.Tensor, length: torch.Tensor, cached: bool) -> Iterator:
        """Sent symbols [B], it gives the scores [B, V] of the next; nothing could be cached."""
        del cached
        memory, state = self.encode(source, length), self.begin(len(source))
        token = yield torch.empty(0)
        while True:
            state = self.advance(memory, state, self.target(token))
            token = yield self.output(state[0])


class Transformer(nn.Module):
    """Pre-norm encoder and decoder with a last norm each."""

    def __init__(
        self,
        source: int,
        target: int,
        embedding: int,
        hidden: int,
        layers: tuple[int, int],
        heads: int,
        dropout: float,
    ):
        super().__init__()
        self.source, self.target = nn.Embedding(source, embedding), nn.Embedding(target, embedding)
        sizes = (embedding, heads, hidden, dropout)
        options: Any = {"batch_first": True, "norm_first": True}
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(*sizes, **options),
            layers[0],
            nn.LayerNorm(embedding),
            enable_nested_tensor=False,
        )
        self.decoder = nn.TransformerDecoder(
            nn.TransformerDecoderLayer(*sizes, **options), layers[1], nn.LayerNorm(embedding)
        )
        self.output = nn.Linear(embedding, target)
        self.dropout = nn.Dropout(dropout)
        self.heads, self.scale = heads, math.sqrt(embedding)
        angles = torch.arange(_FARTHEST)[:, None] * torch.exp(
            torch.arange(0, embedding, 2) * (-math.log(1e4) / embedding)
        )
        waves = torch.stack([angles.sin(), angles.cos()], -1).flatten(1)
        self.register_buffer("waves", waves, persistent=False)

    def _embedded(self, table: nn.Embedding, tokens: torch.Tensor, first: int = 0) -> torch.Tensor:
        waves = self.waves[first : first + tokens.shape[1]]
        return self.dropout(table(tokens) * self.scale + waves)

    def encode(self, source: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Encoded sources [B, Ts, E], padding [B, Ts]."""
        padding = source == PAD
        embedded = self._embedded(self.source, source)
        return self.encoder(embedded, src_key_padding_mask=padding), padding

    def decode(self, memory: tuple, target: torch.Tensor) -> torch.Tensor:
        """[B, Tt, E] after each of the given symbols [B, Tt]."""
        encoded, padding = memory
        future = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        return self.decoder(
            self._embedded(self.target, target),
            encoded,
            tgt_mask=future,
            tgt_is_causal=True,
            memory_key_padding_mask=torch.zeros_like(padding, dtype=torch.float32).masked_fill(
                padding, -torch.inf
            ),
        )

    def forward(
        self, source: torch.Tensor, length: torch.Tensor, target: torch.Tensor
    ) -> torch.Tensor:
        """Scores [B, Tt, V] after each of the given symbols [B, Tt]."""
        del length
        return self.output(self.decode(self.encode(source), target))

    def writer(self, source: torch.Tensor, length: torch.Tensor, cached: bool) -> Iterator:
        """Sent symbols [B], it gives the scores [B, V] of the next.

        Uncached, the decoder runs over all that was written at every step, as nn.Transformer has
        it.
        """
        del length
        memory = self.encode(source)
        if cached:
            yield from self._cached(memory)
        token = yield torch.empty(0)
        written = token[:, None]
        while True:
            token = yield self.output(self.decode(memory, written)[:, -1])
            written = torch.cat([written, token[:, None]], 1)

    def _cached(self, memory: tuple) -> Iterator:
        encoded, padding = memory
        visible = ~padding[:, None, None]
        layers: Any = list(self.decoder.layers)
        across = [self._projected(layer.multihead_attn, encoded, 1, 3) for layer in layers]
        own: list[Any] = [None for _ in layers]
        token, position = (yield torch.empty(0)), 0
        attend = nn.functional.scaled_dot_product_attention
        while True:
            x = self._embedded(self.target, token[:, None], position)
            for number, layer in enumerate(layers):
                query, *new = self._projected(layer.self_attn, layer.norm1(x), 0, 3)
                if own[number] is not None:
                    new = [torch.cat(pair, 2) for pair in zip(own[number], new, strict=True)]
                own[number] = new
                x = x + self._back(layer.self_attn, attend(query, *new))
                (query,) = self._projected(layer.multihead_attn, layer.norm2(x), 0, 1)
                context = attend(query, *across[number], attn_mask=visible)
                x = x + self._back(layer.multihead_attn, context)
                x = x + layer.linear2(torch.relu(layer.linear1(layer.norm3(x))))
            token = yield self.output(self.decoder.norm(x))[:, 0]
            position += 1

    def _projected(
        self, attention: nn.MultiheadAttention, x: torch.Tensor, first: int, last: int
    ) -> list[torch.Tensor]:
        """Some of queries, keys and values (0, 1, 2): [B, heads, T, E / heads] each."""
        size = x.shape[-1]
        rows = slice(first * size, last * size)
        joined = nn.functional.linear(
            x, attention.in_proj_weight[rows], attention.in_proj_bias[rows]
        )
        parts = joined.unflatten(-1, (last - first, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return list(parts)

    @staticmethod
    def _back(attention: nn.MultiheadAttention, seen: torch.Tensor) -> torch.Tensor:
        return attention.out_proj(seen.transpose(1, 2).flatten(2))


def build(architecture: str, sizes: Mapping[str, Any]) -> nn.Module:
    """An untrained model."""
    if architecture == "attentive_lstm":
        return Lstm(**sizes)
    named = dict(sizes)
    layers = (named.pop("encoder_layers"), named.pop("decoder_layers"))
    return Transformer(**named, layers=layers)


def cut(order: np.ndarray, size: int) -> list[np.ndarray]:
    """Numbers in batches of so many."""
    return [order[first : first + size] for first in range(0, len(order), size)]


def prepare(
    rows: Sequence[Mapping[str, Any]], chosen: Sequence[np.ndarray]
) -> list[dict[str, torch.Tensor]]:
    """Batches of the chosen rows, each cut to its own longest source and target."""

    def column(numbers: np.ndarray, name: str) -> torch.Tensor:
        values = [rows[number][name] for number in numbers]
        return nn.utils.rnn.pad_sequence(
            [torch.tensor(value).long() for value in values], batch_first=True
        )

    return [
        {
            "source": column(numbers, "source"),
            "target": column(numbers, "target"),
            # packing takes it from the host
            "length": torch.tensor(
                [len(rows[number]["source"]) for number in numbers], device="cpu"
            ),
        }
        for numbers in chosen
    ]


def loss(model: nn.Module, batch: Mapping[str, torch.Tensor], smoothing: float) -> torch.Tensor:
    """Mean over the target symbols of a batch."""
    target = batch["target"]
    scores = model(batch["source"], batch["length"], target[:, :-1])
    return nn.functional.cross_entropy(
        scores.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD, label_smoothing=smoothing
    )


def train(
    model: nn.Module, optimiser: Any, batches: Sequence[Mapping[str, Any]], smoothing: float
) -> float:
    """A pass over the batches; the loss of the last."""
    model.train()
    value = torch.zeros(())
    for batch in batches:
        optimiser.zero_grad(set_to_none=True)
        value = loss(model, batch, smoothing)
        value.backward()
        optimiser.step()
    return value.item()


@torch.inference_mode()
def greedy(
    model: nn.Module, batch: Mapping[str, torch.Tensor], limit: int, cached: bool
) -> torch.Tensor:
    """What a model writes, [B, up to `limit`]; END follows END."""
    start: Callable[..., Any] = model.writer
    writer = start(batch["source"], batch["length"], cached)
    next(writer)
    token = torch.full((len(batch["source"]),), START)
    ended = torch.zeros(len(token), dtype=torch.bool)
    written = []
    for _ in range(limit):
        token = writer.send(token).argmax(-1).masked_fill(ended, END)
        written.append(token)
        ended |= token == END
        if ended.all():
            break
    return torch.stack(written, 1)
