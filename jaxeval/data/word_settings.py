"""How words become rows of a table: keys of data whose words have vectors, and saved rows."""

import dataclasses
from collections.abc import Callable, Container, Sequence
from typing import Annotated, Literal

import numpy as np
import pydantic

from jaxeval.config import fields, markers, reading
from jaxeval.data import splits, vectors, words

PARTS_OF = {"train": ("train",), "train+dev": ("train", "dev"), "all": splits.PARTS}
PaddedTo = Annotated[
    fields.Length | None,
    pydantic.Field(
        description="all texts have so many words: longer ones are cut, and the padding of "
        "shorter ones is read (VecEval); absent: padding is masked"
    ),
]
_Row = Annotated[int, pydantic.Field(gt=words.UNKNOWN)]


@reading.settings
class WordSettings:
    """Keys of data whose words have vectors."""

    vectors: Annotated[
        str | None,
        markers.IMMATERIAL,
        pydantic.Field(description="file of pretrained vectors: GloVe, word2vec"),
    ] = None
    vectors_unknown: Annotated[
        str | None, pydantic.Field(description="name of the file's vector for unknown words")
    ] = None
    without_vector: Annotated[
        Literal["own", "zeros", "mean"],
        pydantic.Field(
            description="words that the file lacks: rows of their own by min_count, or one vector "
            "for all: zeros, or the mean of the file's vectors of no word here (VecEval)"
        ),
    ] = "own"
    dimension: Annotated[
        fields.Size, pydantic.Field(description="size of word vectors where none are read")
    ] = 100
    min_count: Annotated[
        fields.Count,
        pydantic.Field(description="train count that gives other words their own row"),
    ] = 1
    lower_case: Annotated[
        bool, pydantic.Field(description="words without a pretrained vector: Word = word")
    ] = True
    vocabulary: Annotated[
        Literal["train", "train+dev", "all"],
        pydantic.Field(description="parts whose words (characters, tags) a model has rows for"),
    ] = "train"
    max_widths: Annotated[
        fields.Widths, pydantic.Field(description="padded shapes (compiled branches) at most")
    ] = 12

    def fold(self, word: str) -> str:
        """Words without a vector that it makes equal share a row."""
        return word.lower() if self.lower_case else word


@reading.settings
class SavedWords:
    """Rows of words to a trained model, as `WordTable.saved` gives them."""

    vectors: dict[str, _Row]
    words: dict[str, _Row]

    @property
    def rows(self) -> int:
        """Of the word table, at least."""
        return max([words.UNKNOWN, *self.vectors.values(), *self.words.values()]) + 1

    def lookup(self, forms: Sequence[str], fold: Callable[[str], str]) -> np.ndarray:
        """Rows [F] of any words, padding first."""
        by_name = words.rows(forms, self.vectors)
        others = [self.words.get(fold(form), words.UNKNOWN) for form in forms]
        row = np.where(by_name >= 0, by_name, np.array(others, np.int32))
        row[0] = words.PADDING
        return row


def read_vectors(settings: WordSettings, path: str, names: Container[str]) -> vectors.Vectors:
    """The vectors of a file that have these names, and the one for unknown words.

    Raises:
      DataError: as `vectors.read`.
    """
    if settings.vectors_unknown is not None or settings.without_vector == "own":
        return vectors.read(path, names, settings.vectors_unknown)
    if settings.without_vector == "zeros":
        read = vectors.read(path, names)
        return dataclasses.replace(read, unknown=np.zeros(read.table.shape[1], np.float32))
    # VecEval (2016): the mean of all other vectors of the file, zeros where there is none
    read = vectors.read(path)
    inside = [row for word, row in read.index.items() if word in names]
    outside = np.ones(len(read.table), bool)
    outside[inside] = False
    total = np.sum(read.table, axis=0, dtype=np.float64, where=outside[:, None])
    mean = np.asarray(total / max(int(outside.sum()), 1), np.float32)
    index = {w: k for k, w in enumerate(word for word in read.index if word in names)}
    return vectors.Vectors(index, read.table[inside], mean)
