"""Texts as arrays by the vocabulary of a trained classifier, which need not know their words.

Notation: N rows of a bucket, T words and K targets that they are padded to, F word forms. Form 0
and row 0 of the word table are padding.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxeval.config import reading
from jaxeval.data import json_lines, labelled_text, targeted, text, word_settings, word_table
from jaxeval.data.labelled_text import LabelledText
from jaxeval.data.sentiment import SentimentData
from jaxeval.data.targeted import Row
from jaxeval.errors import DataError

_JSON = (".json", ".jsonl")


@reading.settings
class SavedVocabulary(word_settings.SavedWords):
    """As `sentiment.Classified.vocabulary` gives it."""

    labels: tuple[str, ...]
    targeted: bool
    tokenised: bool


class EncodedTexts(NamedTuple):
    """Rows as arrays.

    Attributes:
      rows: a target each, or a sentence, in the order of the texts.
      shared: row [F].
      numbers: of each bucket the rows in it.
      columns: of each bucket forms [N, T], length [N], start and end [N, K], targets [N].
    """

    rows: Sequence[Row]
    shared: dict[str, np.ndarray]
    numbers: Sequence[np.ndarray]
    columns: Sequence[dict[str, np.ndarray]]


def read(vocabulary: SavedVocabulary, path: Path) -> list[LabelledText]:
    """The texts of a file: JSON lines as in training, labels not needed; else one text per line.

    Raises:
      DataError: a line without a text, or without a target where the classifier needs one.
    """
    if Path(path.name.removesuffix(".gz")).suffix in _JSON:
        read_texts = json_lines.read(path, labelled=False)
        if read_texts.targeted == vocabulary.targeted:
            return [*read_texts.texts]
        needs = "a target in every line" if vocabulary.targeted else "texts without targets"
        raise DataError(f"expected {needs}, as the classifier was trained on", path)
    if vocabulary.targeted:
        message = f"expected a file of JSON lines ({', '.join(_JSON)}) with text and target"
        raise DataError(message, path)
    lines = (line for line in text.iterate_lines(path) if line.strip())
    return [*labelled_text.whole(((line, "") for line in lines), vocabulary.tokenised).texts]


def encode(
    settings: SentimentData, vocabulary: SavedVocabulary, texts: Sequence[LabelledText], batch: int
) -> EncodedTexts:
    """Texts as a classifier of this vocabulary reads them; for batches of so many rows."""
    (sentences,) = targeted.sentences({"texts": texts}, vocabulary.tokenised).values()
    rows = targeted.padded(targeted.rows(sentences, settings.rows), settings.padded_to)
    forms = ["", *sorted({word for sentence in sentences for word in sentence.words})]
    # a text to be classified has no label, or one that is not read
    labels = sorted({target.label for row in rows for target in row.targets})
    numbers = targeted.Numbers(forms, labels)
    laid_out = targeted.lay_out(rows, numbers, batch, settings.max_widths)
    for arrays in laid_out.columns:
        del arrays["labels"]
    fold = str.lower if settings.lower_case else str
    row = word_table.lookup(forms, vocabulary.vectors, vocabulary.words, fold)
    return EncodedTexts(rows, {"row": row}, laid_out.numbers, laid_out.columns)
