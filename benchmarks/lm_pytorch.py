"""The same language models in PyTorch: its LSTM module, and loops for the cells it lacks."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn


class Loop(nn.Module):
    """A recurrent highway or NAS cell, step by step."""

    def __init__(self, kind: str, inputs: int, hidden: int, depth: int):
        super().__init__()
        self.kind, self.depth = kind, depth
        blocks = 8 if kind == "nas" else 2
        self.given = nn.Linear(inputs, blocks * hidden, bias=kind == "rhn")
        levels = depth if kind == "rhn" else 1
        self.recurrent = nn.ModuleList(
            nn.Linear(hidden, blocks * hidden, bias=kind == "rhn") for _ in range(levels)
        )

    def forward(self, x: torch.Tensor, state: Any) -> tuple[torch.Tensor, Any]:
        """[T, B, D] -> [T, B, H]."""
        outputs = []
        for inputs in self.given(x):
            state = self._rhn(inputs, state) if self.kind == "rhn" else self._nas(inputs, state)
            outputs.append(state if self.kind == "rhn" else state[0])
        return torch.stack(outputs), state

    def _rhn(self, inputs: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        for level, recurrent in enumerate(self.recurrent):
            gates = recurrent(state) + (inputs if level == 0 else 0)
            candidate, carry = gates.chunk(2, dim=-1)
            carried = torch.sigmoid(carry)
            state = carried * state + (1 - carried) * torch.tanh(candidate)
        return state

    def _nas(self, inputs: torch.Tensor, state: Any) -> Any:
        hidden, memory = state
        a, b = inputs.chunk(8, dim=-1), self.recurrent[0](hidden).chunk(8, dim=-1)
        sigmoid, relu, tanh = torch.sigmoid, torch.relu, torch.tanh
        first = tanh(sigmoid(a[0] + b[0]) * relu(a[1] + b[1]))
        second = tanh(sigmoid(a[2] + b[2]) + relu(a[3] * b[3]))
        third = tanh(tanh(a[4] + b[4]) * sigmoid(a[5] + b[5]))
        fourth = sigmoid(tanh(a[6] + b[6]) + sigmoid(a[7] + b[7]))
        memory = tanh(first + memory) * second
        return tanh(memory * tanh(third + fourth)), memory


class Model(nn.Module):
    """Tied embeddings, a stack of layers, the sum of all layers, softmax with bias."""

    def __init__(self, kind: str, vocabulary: int, hidden: int, layers: int, depth: int):
        super().__init__()
        self.kind, self.hidden = kind, hidden
        self.embedding = nn.Embedding(vocabulary, hidden)
        stack = (
            nn.LSTM(hidden, hidden) if kind == "lstm" else Loop(kind, hidden, hidden, depth)
            for _ in range(layers)
        )
        self.layers = nn.ModuleList(stack)
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def start(self, rows: int) -> list[Any]:
        """Zero states of all layers."""
        zero = torch.zeros(rows, self.hidden)
        state = {"lstm": (zero[None], zero[None]), "rhn": zero, "nas": (zero, zero)}[self.kind]
        return [state] * len(self.layers)

    def forward(self, tokens: torch.Tensor, states: list[Any]) -> tuple[torch.Tensor, list[Any]]:
        """[T, B] -> log-odds [T B, V]."""
        x, total, ends = self.embedding(tokens), 0, []
        for layer, state in zip(self.layers, states, strict=True):
            x, state = layer(x, state)
            total = total + x
            ends.append(_detached(state))
        rows = total.reshape(-1, self.hidden)
        return torch.addmm(self.bias, rows, self.embedding.weight.T), ends


def _detached(state: Any) -> Any:
    return tuple(map(_detached, state)) if isinstance(state, tuple) else state.detach()


def steps(model: Model, optimiser: Any, tokens: torch.Tensor, window: int, count: int) -> float:
    """Trains on `count` windows of tokens [N, B]; the loss of the last."""
    states, loss = model.start(tokens.shape[1]), torch.zeros(())
    for number in range(count):
        begin = number * window
        inputs = tokens[begin : begin + window]
        targets = tokens[begin + 1 : begin + window + 1].reshape(-1)
        scores, states = model(inputs, states)
        loss = nn.functional.cross_entropy(scores, targets) * window
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimiser.step()
    return loss.item()


class Member:
    """A seed in a process of its own (`processes`).

    The payload: `model`, arguments of Model; `tokens` [N, B], `window` and `steps` of a turn.
    """

    def __init__(self, payload: Path, number: int):
        content = torch.load(payload, weights_only=True, map_location=torch.get_default_device())
        torch.manual_seed(number)
        self.model = Model(**content["model"])
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=0.003, betas=(0.0, 0.999))
        self.sizes = (content["tokens"], content["window"], content["steps"])

    def turn(self, way: str, threads: int) -> Callable[[], float]:
        """A turn of training; there is only one way."""
        del way
        torch.set_num_threads(threads)
        return lambda: steps(self.model, self.optimiser, *self.sizes)
