"""Counts on the device: exact entity spans by a named rule, and edit distances.

Notation: B sentences, T positions, Y labels. A span is right if its first word, last word and type
are those of a gold span. What is a span in an *invalid* label sequence is the rule's matter:

conlleval  the CoNLL shared tasks' script: a word inside an entity that does not continue one of
           the same type begins a new span (so do seqeval's default mode and Reimers & Gurevych's
           repair to `B-`). On IOBES it is seqeval's default mode: conlleval.pl knows no S-, and
           joins neighbours of one type (S-X S-X, E-X B-X).
strict     only spans that the scheme allows count: B I* (BIO), S or B I* E (IOBES).
ukp        as UKPLab/emnlp2017-bilstm-cnn-crf scores: IOBES is read as BIO (S as B, E as I), then
           the better F1 of two repairs, invalid I- to B- or to O.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxeval.contracts import Array

Rule = Literal["conlleval", "strict", "ukp"]
OUTSIDE, BEGIN, INSIDE, END, SINGLE = range(5)
_PREFIXES = {"O": OUTSIDE, "B": BEGIN, "I": INSIDE, "E": END, "S": SINGLE}


class LabelTable(NamedTuple):
    """Prefix (OUTSIDE ... SINGLE) and type number of each label, both [Y] int32; O has type -1."""

    prefix: np.ndarray
    kind: np.ndarray


class Spans(NamedTuple):
    """Spans by the position of their first word, each [B, T]."""

    starts: Array  # bool
    last: Array  # int32, position of the last word; meaningful where `starts`
    kind: Array  # int32


def label_table(labels: Sequence[str]) -> LabelTable:
    """Reads labels such as O, B-PER, I-PER, E-PER, S-PER."""
    kinds = sorted({label[2:] for label in labels if label != "O"})
    prefix = [_PREFIXES[label[0]] for label in labels]
    kind = [-1 if label == "O" else kinds.index(label[2:]) for label in labels]
    return LabelTable(np.array(prefix, np.int32), np.array(kind, np.int32))


def as_bio(table: LabelTable) -> LabelTable:
    """IOBES read as BIO without looking at the neighbours: S as B, E as I."""
    swap = np.array([OUTSIDE, BEGIN, INSIDE, INSIDE, BEGIN], np.int32)
    return LabelTable(swap[table.prefix], table.kind)


def conlleval(labels: Array, valid: Array, table: LabelTable) -> Spans:
    """The spans of label sequences [B, T] as conlleval reads them; not `valid` counts as O."""
    prefix = jnp.where(valid, jnp.asarray(table.prefix)[labels], OUTSIDE)
    kind = jnp.where(valid, jnp.asarray(table.kind)[labels], -1)
    outside = jnp.full_like(prefix[:, :1], OUTSIDE)
    before = jnp.concatenate([outside, prefix[:, :-1]], axis=1)
    kind_before = jnp.concatenate([outside - 1, kind[:, :-1]], axis=1)
    after = jnp.concatenate([prefix[:, 1:], outside], axis=1)
    kind_after = jnp.concatenate([kind[:, 1:], outside - 1], axis=1)
    starts = (prefix != OUTSIDE) & (_separates(before, prefix) | (kind_before != kind))
    ends = (prefix != OUTSIDE) & (_separates(prefix, after) | (kind_after != kind))
    position = jnp.arange(labels.shape[1], dtype=jnp.int32)[None]
    last = lax.cummin(jnp.where(ends, position, labels.shape[1]), axis=1, reverse=True)
    return Spans(starts, last, kind)


def _separates(left: Array, right: Array) -> Array:
    """Whether a span cannot reach from prefix `left` to `right`, types apart."""
    closed = (left == OUTSIDE) | (left == END) | (left == SINGLE)
    opened = (right == OUTSIDE) | (right == BEGIN) | (right == SINGLE)
    return closed | opened


def strict(labels: Array, valid: Array, table: LabelTable, iobes: bool) -> Spans:
    """Those of `conlleval`'s spans that the scheme allows."""
    spans = conlleval(labels, valid, table)
    prefix = jnp.asarray(table.prefix)[labels]
    if not iobes:
        return spans._replace(starts=spans.starts & (prefix == BEGIN))
    final = jnp.minimum(spans.last, labels.shape[1] - 1)
    closing = jnp.take_along_axis(prefix, final, axis=1)
    whole = (prefix == SINGLE) | ((prefix == BEGIN) & (closing == END))
    return spans._replace(starts=spans.starts & whole)


def _agreement(gold: Spans, predicted: Spans, weight: Array) -> tuple[Array, Array]:
    """Numbers of predicted and of right spans, sentences weighted by `weight` [B]."""
    both = gold.starts & predicted.starts
    right = both & (gold.last == predicted.last) & (gold.kind == predicted.kind)
    return _total(predicted.starts, weight), _total(right, weight)


def _total(flags: Array, weight: Array) -> Array:
    return jnp.sum(jnp.sum(flags, axis=1) * weight)


def count_spans(
    gold: Array, predicted: Array, valid: Array, weight: Array, table: LabelTable, rule: Rule
) -> dict[str, Array]:
    """Additive counts of a batch.

    Args:
      gold: [B, T] int32 labels.
      predicted: [B, T] int32 labels.
      valid: [B, T] bool, false at padding.
      weight: [B] 1 for a real sentence, 0 for padding.
      table: of the labels.
      rule: see the module's docstring.

    Returns:
      gold_spans, predicted_spans, right_spans; for `ukp` the last two also as `..._dropped`, with
      invalid I- repaired to O instead of B-.
    """
    iobes = bool(np.isin(table.prefix, (END, SINGLE)).any())
    if rule == "strict":
        truth = strict(gold, valid, table, iobes)
        agreement = _agreement(truth, strict(predicted, valid, table, iobes), weight)
    else:
        table = as_bio(table) if rule == "ukp" else table
        truth = conlleval(gold, valid, table)
        agreement = _agreement(truth, conlleval(predicted, valid, table), weight)
    counts = {"predicted_spans": agreement[0], "right_spans": agreement[1]}
    if rule == "ukp":
        dropped = _agreement(truth, strict(predicted, valid, table, False), weight)
        counts |= {"predicted_spans_dropped": dropped[0], "right_spans_dropped": dropped[1]}
    return counts | {"gold_spans": _total(truth.starts, weight)}


def f1(counts: dict[str, float]) -> dict[str, float]:
    """Precision, recall and F1 in [0, 1]; undefined ones are 0 (conlleval), as F1 then is."""
    best = _f1(counts["gold_spans"], counts["predicted_spans"], counts["right_spans"])
    if "predicted_spans_dropped" in counts:
        other = _f1(
            counts["gold_spans"], counts["predicted_spans_dropped"], counts["right_spans_dropped"]
        )
        best = max(best, other, key=lambda scores: scores["f1"])
    return best


def _f1(gold: float, predicted: float, right: float) -> dict[str, float]:
    precision = right / predicted if predicted else 0.0
    recall = right / gold if gold else 0.0
    total = gold + predicted
    return {"precision": precision, "recall": recall, "f1": 2 * right / total if total else 0.0}


def edit_distance(output: Array, length: Array, gold: Array, gold_length: Array) -> Array:
    """Fewest insertions, deletions and substitutions that make one sequence the other.

    Args:
      output: [B, T] int32, the first `length` [B] of each row count.
      gold: [B, G] int32, likewise.

    Returns:
      [B] int32.
    """
    columns = jnp.arange(gold.shape[1] + 1)[None]
    first = jnp.broadcast_to(columns, (len(gold), columns.shape[1]))

    def next_row(above: Array, numbered: tuple[Array, Array]) -> tuple[Array, None]:
        number, symbol = numbered
        replaced = above[:, :-1] + (gold != symbol[:, None])
        row = jnp.minimum(above + 1, jnp.pad(replaced, ((0, 0), (1, 0)), constant_values=1 << 20))
        # what is still to be inserted along the row: a running minimum of row[j] - j
        row = lax.cummin(row - columns, axis=1) + columns
        return jnp.where((number < length)[:, None], row, above), None

    numbers = jnp.arange(output.shape[1])
    last, _ = lax.scan(next_row, first, (numbers, output.T))
    return jnp.take_along_axis(last, gold_length[:, None], axis=1)[:, 0]
