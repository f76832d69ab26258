"""Do VecEval's three models of jaxeval and of PyTorch compute the same, of the same weights?"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import sentiment_agreement
import torch
import vectors_pytorch
from sentiment_agreement import Columns, Differences, Leaves, Named

from jaxeval import studies


def kind_of(config: Any) -> str:
    """Which of PyTorch's models a config's is."""
    return {"tagging": "window", "sentiment": "sentence", "pairs": "pair"}[config.task]


def named(params: Mapping[str, Any]) -> Named:
    """Weights of jaxeval, or gradients of them, under torch's names and in its layouts."""
    return {name: torch.tensor(np.asarray(leaf)) for name, leaf in _leaves(params)}


def _leaves(params: Mapping[str, Any]) -> Leaves:
    linear = {
        "hidden": params.get("window", {}).get("hidden"),
        "layer": params.get("layer"),
        "logits": params.get("logits") or params.get("emissions"),
    }
    for name, weights in linear.items():
        if weights is not None:
            yield f"{name}.weight", weights["kernel"].T
            yield f"{name}.bias", weights["bias"]
    if "encoder" in params:
        yield from sentiment_agreement.lstm("text", params["encoder"]["lstm"])
    for side in ("premise", "hypothesis"):
        if side in params:
            yield from sentiment_agreement.lstm(side, params[side]["lstm"])


def model_of(prepared: studies.Prepared) -> vectors_pytorch.Sizes:
    """Sizes of PyTorch's model."""
    config, data = prepared.config, prepared.data
    window = config.task == "tagging"
    patterns = vectors_pytorch.PATTERNS if window and config.model.casing == "capitals" else 0
    hidden = config.model.window.hidden if window else config.model.hidden
    labels = data.predicted if window else len(data.labels)
    dimension = data.table.vectors.shape[1]
    return vectors_pytorch.Sizes(dimension, patterns, hidden, labels, config.model.dropout.output)


def tables_of(prepared: studies.Prepared) -> Columns:
    """Row and capitals of each word form."""
    shared = prepared.data.corpus.shared
    return {"row": shared["row"], "capitals": shared.get("capitals", np.zeros(0, np.int32))}


def check(prepared: studies.Prepared, params: Any, columns: Columns) -> Differences:
    """Stops unless losses and gradients of a batch are equal to 1e-5, padded and packed.

    Nothing is dropped.
    """
    kind = kind_of(prepared.config)
    vectors = torch.from_numpy(prepared.data.table.vectors)
    theirs = vectors_pytorch.MODELS[kind](model_of(prepared), vectors).eval()
    lacking = theirs.load_state_dict(named(params), strict=False)
    assert not lacking.unexpected_keys, lacking
    trained = {name: p for name, p in theirs.named_parameters() if p.requires_grad}
    assert not {*trained} & {*lacking.missing_keys}, lacking
    own = sentiment_agreement.ours(prepared, params, columns, named)
    batch = vectors_pytorch.prepare(kind, columns, tables_of(prepared))
    each = []
    for way in vectors_pytorch.WAYS[kind]:
        theirs.zero_grad()
        loss = vectors_pytorch.loss(theirs, batch, way == "packed")
        loss.backward()
        gradients = {name: parameter.grad for name, parameter in trained.items()}
        each.append(sentiment_agreement.differences(own, (loss.item(), gradients)))
    return sentiment_agreement.worst_of(each)
