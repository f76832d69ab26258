"""Texts as arrays by the vocabulary of a trained classifier, which need not know their words.

Notation: N rows of a bucket, T words and K targets that they are padded to, F word forms. Form 0
and row 0 of the word table are padding.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxeval.config import reading
from jaxeval.data import (
    json_lines,
    labelled_text,
    targeted,
    text,
    tsv,
    word_settings,
    word_table,
)
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


def read(settings: SentimentData, vocabulary: SavedVocabulary, path: Path) -> list[LabelledText]:
    """The texts of a file: JSON lines or tab-separated lines as in training; else one text a line.

    Labels need not be there, and are not read. A file is tab-separated if it is named `*.tsv`, or
    if the classifier's files are by `source.format`; a line without a tab is a text as a whole.

    Raises:
      DataError: a line without a text, or without a target where the classifier needs one; lines
        of texts that all end in a tab and a label.
    """
    suffix = Path(path.name.removesuffix(".gz")).suffix
    if suffix in _JSON:
        read_texts = json_lines.read(path, labelled=False)
        if read_texts.targeted == vocabulary.targeted:
            return [*read_texts.texts]
        needs = "a target in every line" if vocabulary.targeted else "texts without targets"
        raise DataError(f"expected {needs}, as the classifier was trained on", path)
    if vocabulary.targeted:
        message = f"expected a file of JSON lines ({', '.join(_JSON)}) with text and target"
        raise DataError(message, path)
    if suffix == ".tsv" or settings.source.format == "tsv":
        lines = [row["text"] for _, row in tsv.read(path, {"text": 1})]
    else:
        lines = [line for line in text.iterate_lines(path) if line.strip()]
        _refuse_labels(lines, vocabulary, path)
    return [*labelled_text.whole(((line, "") for line in lines), vocabulary.tokenised).texts]


def _refuse_labels(lines: Sequence[str], vocabulary: SavedVocabulary, path: Path) -> None:
    """Raises DataError if texts would be read with their labels."""
    columns = [line.split("\t") for line in lines]
    columns = columns[1:] or columns  # the first may be a header
    if all(len(each) > 1 and each[-1].strip() in vocabulary.labels for each in columns):
        raise DataError(
            "every line ends in a tab and a label, which would be part of its text; expected a "
            "file named *.tsv, or texts alone",
            path,
        )


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
