"""Texts in words: sentences with their targets, and the rows that they become.

Notation: N rows of a bucket, T words and K targets that they are padded to. Form 0 is padding.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from jaxeval.data import buckets, tokens, words
from jaxeval.data.labelled_text import LabelledText, Target


class TargetedSentence(NamedTuple):
    """Words, and the targets among them, in words."""

    words: tuple[str, ...]
    targets: tuple[Target, ...]


class Row(NamedTuple):
    """A sentence and those of its targets that are asked for at once."""

    sentence: TargetedSentence
    targets: tuple[Target, ...]


def sentences(
    parts: Mapping[str, Sequence[LabelledText]], tokenised: bool
) -> dict[str, list[TargetedSentence]]:
    """Texts in words; a target's borders are borders of words.

    A text that stands several times is cut at the targets of all, so that it has the same words.

    Args:
      parts: part -> texts.
      tokenised: whether words are what stands between blanks.
    """
    borders: dict[str, set[int]] = {}
    for each in (text for texts in parts.values() for text in texts):
        ends = {end for target in each.targets for end in (target.start, target.end)}
        borders.setdefault(each.text, set()).update(ends)
    split = tokens.split_at_blanks if tokenised else tokens.split
    spans = {text: tokens.cut(split(text), at) for text, at in borders.items()}
    return {
        part: [_sentence(each, spans[each.text]) for each in texts]
        for part, texts in parts.items()
    }


def _sentence(each: LabelledText, spans: Sequence[tokens.CharacterSpan]) -> TargetedSentence:
    in_words = tuple(each.text[span.start : span.end] for span in spans)
    targets = (
        Target(*tokens.covered(spans, target.start, target.end), target.label)
        if target.end
        else target
        for target in each.targets
    )
    return TargetedSentence(in_words, tuple(targets))


def padded(of: Iterable[Row], width: int | None) -> list[Row]:
    """Rows without targets in their texts, of so many words and padding; None: as they are."""
    return [
        row._replace(sentence=row.sentence._replace(words=words.padded(row.sentence.words, width)))
        for row in of
    ]


def rows(of: Iterable[TargetedSentence], how: Literal["targets", "sentences"]) -> list[Row]:
    """A row a target, or a row a sentence with all its targets."""
    if how == "sentences":
        return [Row(sentence, sentence.targets) for sentence in of]
    return [Row(sentence, (target,)) for sentence in of for target in sentence.targets]


class Numbers(NamedTuple):
    """Numbers of word forms and of classes: their places in these."""

    forms: Sequence[str]
    labels: Sequence[str]


class LaidOut(NamedTuple):
    """Rows in buckets.

    Attributes:
      columns: of each bucket its arrays, as `columns` gives them.
      numbers: of each bucket the rows in it.
      shapes: T and K of each bucket.
    """

    columns: tuple[dict[str, np.ndarray], ...]
    numbers: Sequence[np.ndarray]
    shapes: Sequence[buckets.Shape]


def lay_out(of: Sequence[Row], numbers: Numbers, batch_size: int, max_shapes: int) -> LaidOut:
    """Rows as arrays, in buckets by targets and length for batches of `batch_size`.

    Rows of one text lie in one bucket, since splits deal them together: each counts as having as
    many targets as the one that has most.
    """
    lengths = [len(row.sentence.words) for row in of]
    most: dict[tuple[str, ...], int] = {}
    for row in of:
        most[row.sentence.words] = max(len(row.targets), most.get(row.sentence.words, 1))
    targets = [most[row.sentence.words] for row in of]
    shapes = buckets.choose_shapes(lengths, targets, batch_size, max_shapes)
    chosen = buckets.assign_shapes(lengths, targets, shapes)
    arrays = (
        columns([of[row] for row in of_bucket], numbers, shape)
        for of_bucket, shape in zip(chosen, shapes, strict=True)
    )
    return LaidOut(tuple(arrays), chosen, shapes)


def columns(of: Sequence[Row], numbers: Numbers, shape: buckets.Shape) -> dict[str, np.ndarray]:
    """Arrays of rows: forms [N, T], length [N], start, end and labels [N, K], targets [N].

    Args:
      of: the rows.
      numbers: of their words and labels.
      shape: T and K.
    """
    forms = {form: number for number, form in enumerate(numbers.forms)}
    labels = {label: number for number, label in enumerate(numbers.labels)}
    numbered = np.zeros((len(of), shape.width), np.int32)
    start, end, classes = (np.zeros((len(of), shape.targets), np.int32) for _ in range(3))
    for row, (sentence, targets) in enumerate(of):
        numbered[row, : len(sentence.words)] = [forms[word] for word in sentence.words]
        start[row, : len(targets)] = [target.start for target in targets]
        end[row, : len(targets)] = [target.end for target in targets]
        classes[row, : len(targets)] = [labels[target.label] for target in targets]
    return {
        "forms": numbered,
        "length": np.array([len(row.sentence.words) for row in of], np.int32),
        "start": start,
        "end": end,
        "targets": np.array([len(row.targets) for row in of], np.int32),
        "labels": classes,
    }
