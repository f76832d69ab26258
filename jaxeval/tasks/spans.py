"""Counts of entity spans on the device, and their F1.

A span is right if its first word, last word and type are those of a gold span. The rule defines
the spans of an *invalid* label sequence:

conlleval  a word that does not continue an entity of its type begins a new span (the CoNLL
           script); for IOBES seqeval's default mode, since conlleval.pl does not know S-.
strict     only spans that the scheme allows count: B I* (BIO), S or B I* E (IOBES).
ukp        as in UKPLab/emnlp2017-bilstm-cnn-crf: IOBES is read as BIO (S as B, E as I), then the
           better F1 of two repairs: invalid I- to B-, or to O.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxeval.contracts import Array

Rule = Literal["conlleval", "strict", "ukp"]
_OUTSIDE, _BEGIN, _INSIDE, _END, _SINGLE = range(5)
_PREFIXES = {"O": _OUTSIDE, "B": _BEGIN, "I": _INSIDE, "E": _END, "S": _SINGLE}
_AS_BIO = np.array([_OUTSIDE, _BEGIN, _INSIDE, _INSIDE, _BEGIN], np.int32)


def _spans(prefixes: np.ndarray, kinds: np.ndarray, labels: Array, valid: Array) -> tuple:
    """Finds the spans of label sequences [B, T] as conlleval does; padding counts as O.

    Returns, by the position of the first word, each [B, T]: whether a span starts; whether the
    scheme allows it; the position of its last word; its type.
    """
    prefix = jnp.where(valid, jnp.asarray(prefixes)[labels], _OUTSIDE)
    kind = jnp.where(valid, jnp.asarray(kinds)[labels], -1)
    outside = jnp.full_like(prefix[:, :1], _OUTSIDE)
    before = jnp.concatenate([outside, prefix[:, :-1]], axis=1)
    kind_before = jnp.concatenate([outside - 1, kind[:, :-1]], axis=1)
    after = jnp.concatenate([prefix[:, 1:], outside], axis=1)
    kind_after = jnp.concatenate([kind[:, 1:], outside - 1], axis=1)

    def separates(left: Array, right: Array) -> Array:
        """True if no span can reach from one prefix to the next."""
        closed = (left == _OUTSIDE) | (left == _END) | (left == _SINGLE)
        return closed | (right == _OUTSIDE) | (right == _BEGIN) | (right == _SINGLE)

    starts = (prefix != _OUTSIDE) & (separates(before, prefix) | (kind_before != kind))
    ends = (prefix != _OUTSIDE) & (separates(prefix, after) | (kind_after != kind))
    position = jnp.arange(labels.shape[1], dtype=jnp.int32)[None]
    last = lax.cummin(jnp.where(ends, position, labels.shape[1]), axis=1, reverse=True)
    whole = prefix == _BEGIN
    if np.isin(prefixes, (_END, _SINGLE)).any():
        closing = jnp.take_along_axis(prefix, jnp.minimum(last, labels.shape[1] - 1), axis=1)
        whole = (prefix == _SINGLE) | ((prefix == _BEGIN) & (closing == _END))
    return starts, starts & whole, last, kind


def count(
    gold: Array, predicted: Array, valid: Array, weight: Array, names: Sequence[str], rule: Rule
) -> dict[str, Array]:
    """Returns additive counts of a batch: gold_spans, predicted_spans and right_spans.

    For `ukp` the last two also as `..._dropped`, with invalid I- repaired to O instead of B-.

    Args:
      gold, predicted: [B, T] int32 labels with these names (O, B-PER ...).
      valid, weight: [B, T] false and [B] 0 at padding.
    """
    types = sorted({name[2:] for name in names if name != "O"})
    prefixes = np.array([_PREFIXES[name[0]] for name in names], np.int32)
    prefixes = _AS_BIO[prefixes] if rule == "ukp" else prefixes
    kinds = np.array([-1 if n == "O" else types.index(n[2:]) for n in names], np.int32)
    truth, guess = (_spans(prefixes, kinds, labels, valid) for labels in (gold, predicted))

    def total(flags: Array) -> Array:
        return jnp.sum(jnp.sum(flags, axis=1) * weight)

    same, strict = (truth[2] == guess[2]) & (truth[3] == guess[3]), int(rule == "strict")
    counts = {"gold_spans": total(truth[strict])}
    for name, which in (("", strict), ("_dropped", 1))[: 2 if rule == "ukp" else 1]:
        counts[f"predicted_spans{name}"] = total(guess[which])
        counts[f"right_spans{name}"] = total(truth[strict] & guess[which] & same)
    return counts


def f1(counts: Mapping[str, float]) -> dict[str, float]:
    """Returns precision, recall and F1 in [0, 1]; undefined ones are 0 (conlleval)."""
    gold, found = counts["gold_spans"], []
    for name in ("", "_dropped"):
        if f"right_spans{name}" in counts:
            predicted, right = counts[f"predicted_spans{name}"], counts[f"right_spans{name}"]
            values = (right, predicted), (right, gold), (2 * right, gold + predicted)
            each = [part / whole if whole else 0.0 for part, whole in values]
            found.append(dict(zip(("precision", "recall", "f1"), each, strict=True)))
    return max(found, key=lambda scores: scores["f1"])
