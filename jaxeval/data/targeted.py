"""Texts in words: sentences with their targets, and the rows that they become.

Notation: N rows of a bucket, T words and K targets that they are padded to. Form 0 is padding.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from jaxeval.data import buckets, words
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
    split = words.split_at_blanks if tokenised else words.split
    spans = {text: words.cut(split(text), at) for text, at in borders.items()}
    return {
        part: [_sentence(each, spans[each.text]) for each in texts]
        for part, texts in parts.items()
    }


def _sentence(each: LabelledText, spans: Sequence[words.CharacterSpan]) -> TargetedSentence:
    in_words = tuple(each.text[span.start : span.end] for span in spans)
    targets = (
        Target(*words.covered(spans, target.start, target.end), target.label)
        if target.end
        else target
        for target in each.targets
    )
    return TargetedSentence(in_words, tuple(targets))


def rows(of: Iterable[TargetedSentence], how: Literal["targets", "sentences"]) -> list[Row]:
    """A row a target, or a row a sentence with all its targets."""
    if how == "sentences":
        return [Row(sentence, sentence.targets) for sentence in of]
    return [Row(sentence, (target,)) for sentence in of for target in sentence.targets]


def padded(of: Iterable[Row], width: int | None) -> list[Row]:
    """Rows without targets in their texts, of so many words and padding; None: as they are."""
    return [
        row._replace(sentence=row.sentence._replace(words=words.padded(row.sentence.words, width)))
        for row in of
    ]


class LaidOut(NamedTuple):
    """Rows in buckets.

    Attributes:
      columns: of each bucket forms [N, T], length [N], start, end and labels [N, K], targets [N].
      numbers: of each bucket the rows in it.
      shapes: T and K of each bucket.
    """

    columns: tuple[dict[str, np.ndarray], ...]
    numbers: Sequence[np.ndarray]
    shapes: Sequence[buckets.Shape]


def lay_out(
    of: Sequence[Row], forms: Sequence[str], labels: Sequence[str], batch_size: int, most: int
) -> LaidOut:
    """Rows as arrays, in `most` buckets by targets and length for batches of `batch_size`.

    Rows of one text lie in one bucket, since splits deal them together: each counts as having as
    many targets as the one that has most.

    Args:
      forms, labels: words and labels by number.
    """
    lengths = [len(row.sentence.words) for row in of]
    most_targets: dict[tuple[str, ...], int] = {}
    for row in of:
        of_text = most_targets.get(row.sentence.words, 1)
        most_targets[row.sentence.words] = max(len(row.targets), of_text)
    targets = [most_targets[row.sentence.words] for row in of]
    shapes = buckets.choose_shapes(lengths, targets, batch_size, most)
    chosen = buckets.assign_shapes(lengths, targets, shapes)
    form_numbers = {form: number for number, form in enumerate(forms)}
    label_numbers = {label: number for number, label in enumerate(labels)}
    columns = []
    for of_bucket, shape in zip(chosen, shapes, strict=True):
        inside = [of[row] for row in of_bucket]
        numbers = [[form_numbers[word] for word in row.sentence.words] for row in inside]
        classes = [[label_numbers[t.label] for t in row.targets] for row in inside]
        starts = [[target.start for target in row.targets] for row in inside]
        ends = [[target.end for target in row.targets] for row in inside]
        columns.append(
            {
                "forms": buckets.pad(numbers, shape.width),
                "length": buckets.lengths_of(numbers),
                "start": buckets.pad(starts, shape.targets),
                "end": buckets.pad(ends, shape.targets),
                "targets": buckets.lengths_of(classes),
                "labels": buckets.pad(classes, shape.targets),
            }
        )
    return LaidOut(tuple(columns), chosen, shapes)
