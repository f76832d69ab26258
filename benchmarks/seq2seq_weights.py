"""Weights of jaxeval's sequence-to-sequence models for those of `seq2seq_pytorch`."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

_GATES = (0, 3, 2, 1)  # where jaxeval keeps torch's input, forget, candidate and output gates


def named(params: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Weights of jaxeval, or gradients of them, under torch's names and in its layouts."""
    leaves = _transformer(params) if "encoder" in params else _lstm(params)
    return {name: torch.tensor(np.asarray(leaf)) for name, leaf in leaves}


Leaves = Iterator[tuple[str, np.ndarray]]


def _transformer(params: Mapping[str, Any]) -> Leaves:
    yield from _ends(params)
    for stack, across in (("encoder", False), ("decoder", True)):
        layers = params[stack]["layers"]
        yield from _norm(f"{stack}.norm", params[stack]["norm"])
        for number in range(len(layers["self_attention"]["in_projection"]["bias"])):
            name = f"{stack}.layers.{number}"
            yield from _attention(
                f"{name}.self_attn", f"{name}.norm1", layers["self_attention"], number
            )
            fed = layers["feed_forward"]
            if across:
                own = (f"{name}.multihead_attn", f"{name}.norm2")
                yield from _attention(*own, layers["cross_attention"], number)
            yield from _linear(f"{name}.linear1", fed["inner"], number)
            yield from _linear(f"{name}.linear2", fed["outer"], number)
            yield from _norm(f"{name}.norm{2 + across}", fed["norm"], number)


def _ends(params: Mapping[str, Any]) -> Leaves:
    yield "source.weight", params["source"]
    yield "target.weight", params["target"]
    yield from _linear("output", params["output"])


def _linear(name: str, weights: Mapping[str, Any], number: Any = ...) -> Leaves:
    yield f"{name}.weight", weights["kernel"][number].T
    yield f"{name}.bias", weights["bias"][number]


def _norm(name: str, weights: Mapping[str, Any], number: Any = ...) -> Leaves:
    yield f"{name}.weight", weights["scale"][number]
    yield f"{name}.bias", weights["bias"][number]


def _attention(name: str, norm: str, weights: Mapping[str, Any], number: int) -> Leaves:
    yield f"{name}.in_proj_weight", weights["in_projection"]["kernel"][number].T
    yield f"{name}.in_proj_bias", weights["in_projection"]["bias"][number]
    yield from _linear(f"{name}.out_proj", weights["out_projection"], number)
    yield from _norm(norm, weights["norm"], number)


def _lstm(params: Mapping[str, Any]) -> Leaves:
    yield from _ends(params)
    attention, decoder = params["attention"], params["decoder"]
    yield from _linear("keys", attention["keys"])
    yield "query.weight", attention["query"].T
    yield "score.weight", attention["score"][None]
    yield "score.bias", attention["score_bias"]
    yield "start_hidden", params["start"]["hidden"]
    yield "start_memory", params["start"]["memory"]
    inputs = np.concatenate([decoder["kernel"], decoder["context"]])
    yield from _gates("decoder.{}", {**decoder, "kernel": inputs})
    for way, end in (("forward", ""), ("backward", "_reverse")):
        yield from _gates(f"encoder.{{}}_l0{end}", params["encoder_0"][way])


def _gates(name: str, weights: Mapping[str, Any]) -> Leaves:
    pairs = {
        "weight_ih": "kernel",
        "weight_hh": "recurrent",
        "bias_ih": "bias_input",
        "bias_hh": "bias_recurrent",
    }
    for theirs, ours in pairs.items():
        blocks = np.split(np.asarray(weights[ours]), len(_GATES), axis=-1)
        yield name.format(theirs), np.concatenate([blocks[n] for n in _GATES], axis=-1).T
