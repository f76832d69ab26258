"""Texts as arrays by the vocabulary of a trained classifier, which need not know their words.

Notation: N rows of a bucket, T words and K targets that they are padded to, F word forms. Form 0
and row 0 of the word table are padding.
"""

import sys
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
from jaxeval.errors import DataError, printable

_JSON = (".json", ".jsonl")
_SHOWN = 60  # characters of a line in a warning


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
    Of a first line that looks like a header, stderr is told.

    Raises:
      DataError: a line without a text, or without a target where the classifier needs one; lines
        of which most have a label in place of a text, or in a text.
    """
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    if suffix in _JSON:
        read_texts = json_lines.read(path, labelled=False)
        if read_texts.targeted == vocabulary.targeted:
            return [*read_texts.texts]
        needs = "a target in every line" if vocabulary.targeted else "texts without targets"
        raise DataError(f"expected {needs}, as the classifier was trained on", path)
    if vocabulary.targeted:
        message = f"expected a file of JSON lines ({', '.join(_JSON)}) with text and target"
        raise DataError(message, path)
    lines = list(text.iterate_lines(path))
    separated = suffix == ".tsv" or settings.source.format == "tsv"
    columns = [line.split("\t") for line in lines if line.strip()]
    _refuse_labels(columns, separated, vocabulary.labels, path)
    if separated:
        _warn_of_header(columns, vocabulary.labels, path)
        texts = [row["text"] for _, row in tsv.parse(lines, {"text": 1}, path)]
    else:
        texts = [line for line in lines if line.strip()]
    return [*labelled_text.whole(((line, "") for line in texts), vocabulary.tokenised).texts]


def _refuse_labels(
    columns: Sequence[Sequence[str]], separated: bool, labels: Sequence[str], path: Path
) -> None:
    """Raises DataError if texts would be read with their labels, or labels or names as texts."""

    def most(at: int) -> bool:
        found = sum(len(line) > 1 and line[at].strip() in labels for line in columns)
        return 2 * found > len(columns)

    if separated and most(1):
        return
    for column, name in ((-1, "the last column"), (0, "column 1")):
        if most(column):
            raise DataError(
                f"{name} holds labels in most lines; expected the text in column 1 and its label "
                "in column 2 of a file named *.tsv, or texts alone",
                path,
            )


def _warn_of_header(columns: Sequence[Sequence[str]], labels: Sequence[str], path: Path) -> None:
    """Says that the first line is read, if it alone has no label in column 2."""
    known = [len(line) > 1 and line[1].strip() in labels for line in columns]
    if len(known) > 1 and len(columns[0]) > 1 and not known[0] and all(known[1:]):
        shown = printable("\t".join(columns[0])[:_SHOWN])
        print(
            f"warning: {path}: the first line, {shown}, is read as a text but looks like a "
            "header: all others have a label in column 2; if it is one, delete it",
            file=sys.stderr,
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
