"""Sentences as arrays by the vocabulary of a trained tagger, which need not know their words.

Notation: N sentences of a bucket, T its width, F word forms, W characters of the longest word.
Form 0 and row 0 of the word table are padding.
"""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np
import pydantic

from jaxeval.config import reading
from jaxeval.data import buckets, schemes, word_settings, word_table, words
from jaxeval.data.tagging import TaggingData


@reading.settings
class SavedVocabulary(word_settings.SavedWords):
    """As `tagging.Tagged.vocabulary` gives it.

    Attributes:
      longest: W.
      scheme: of the tags in the files that were trained on.
    """

    labels: tuple[str, ...]
    characters: tuple[str, ...]
    longest: Annotated[int, pydantic.Field(ge=1, le=2**16)]
    scheme: schemes.Scheme


class EncodedSentences(NamedTuple):
    """Sentences as arrays.

    Attributes:
      shared: row [F], characters [F, W], casing and capitals [F].
      numbers: of each bucket the sentences in it.
      columns: of each bucket forms [N, T] and length [N].
    """

    shared: dict[str, np.ndarray]
    numbers: Sequence[np.ndarray]
    columns: Sequence[dict[str, np.ndarray]]


def encode(
    settings: TaggingData,
    vocabulary: SavedVocabulary,
    sentences: Sequence[Sequence[str]],
    batch: int,
) -> EncodedSentences:
    """Sentences as a tagger of this vocabulary reads them; for batches of so many."""
    if settings.zero_digits:
        sentences = [[words.zero_digits(word) for word in sentence] for sentence in sentences]
    forms = ["", *sorted({word for sentence in sentences for word in sentence})]
    number = {form: k for k, form in enumerate(forms)}
    lengths = [len(sentence) for sentence in sentences]
    widths = buckets.choose_widths(lengths, batch, settings.max_widths)
    chosen = buckets.assign(lengths, widths)
    columns = []
    for rows, width in zip(chosen, widths, strict=True):
        numbers = np.zeros((len(rows), width), np.int32)
        for row, sentence in enumerate(rows):
            numbers[row, : lengths[sentence]] = [number[word] for word in sentences[sentence]]
        lengths_of = np.array([lengths[sentence] for sentence in rows], np.int32)
        columns.append({"forms": numbers, "length": lengths_of})
    return EncodedSentences(_shared(settings, vocabulary, forms), chosen, columns)


def _shared(
    settings: TaggingData, vocabulary: SavedVocabulary, forms: Sequence[str]
) -> dict[str, np.ndarray]:
    fold = str.lower if settings.lower_case else str
    row = word_table.lookup(forms, vocabulary.vectors, vocabulary.words, fold)
    numbers = {c: n for n, c in enumerate(vocabulary.characters, words.UNKNOWN + 1)}
    characters = words.characters(forms, numbers, vocabulary.longest)
    padding = vocabulary.longest - characters.shape[1]  # some encoders read it
    return {
        "row": row,
        "characters": np.pad(characters, ((0, 0), (0, padding))),
        **words.shapes(forms),
    }
