"""Pairs of sentences as arrays by the vocabulary of a trained classifier.

Notation: N pairs of a bucket, T its width in words, F word forms. Form 0 and row 0 of the word
table are padding.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxeval.config import reading
from jaxeval.data import buckets, pair_sources, pairs, word_settings, word_table
from jaxeval.data.labelled_pairs import LabelledPair
from jaxeval.data.pair_sources import Row
from jaxeval.data.pairs import PairData


@reading.settings
class SavedVocabulary(word_settings.SavedWords):
    """As `pairs.Paired.vocabulary` gives it."""

    labels: tuple[str, ...]


class EncodedPairs(NamedTuple):
    """Pairs as arrays.

    Attributes:
      shared: row [F].
      numbers: of each bucket the pairs in it.
      columns: of each bucket premise and hypothesis [N, T], and their lengths [N].
    """

    shared: dict[str, np.ndarray]
    numbers: Sequence[np.ndarray]
    columns: Sequence[dict[str, np.ndarray]]


def in_words(settings: PairData, rows: Sequence[Row], path: Path) -> list[LabelledPair]:
    """Pairs cut into words as those that were trained on.

    Raises:
      DataError: a sentence without words.
    """
    at_blanks = settings.source.format == "ppdb"
    each = (pair_sources.in_words(row, at_blanks, path) for row in rows)
    return [pairs.cut(pair, settings.longest) for pair in each]


def encode(
    settings: PairData, vocabulary: SavedVocabulary, of: Sequence[LabelledPair], batch: int
) -> EncodedPairs:
    """Pairs as a classifier of this vocabulary reads them; for batches of so many."""
    forms = ["", *sorted({word for pair in of for word in pair.words})]
    of = [pairs.padded(pair, settings) for pair in of]
    lengths = [pair.longest for pair in of]
    widths = buckets.choose_widths(lengths, batch, settings.max_widths)
    numbers = buckets.assign(lengths, widths)
    columns = [
        pairs.columns([of[row] for row in rows], forms, width)
        for rows, width in zip(numbers, widths, strict=True)
    ]
    fold = str.lower if settings.lower_case else str
    row = word_table.lookup(forms, vocabulary.vectors, vocabulary.words, fold)
    return EncodedPairs({"row": row}, numbers, columns)
