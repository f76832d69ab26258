"""How words become rows of a table: keys that the data of taggers and of classifiers share."""

from collections.abc import Container, Sequence
from typing import Annotated, Literal, Protocol

import pydantic

from jaxeval.config import fields, markers, reading
from jaxeval.data import splits, vector_unknown, vectors, word_table, words

VectorFile = Annotated[
    str | None,
    markers.IMMATERIAL,
    pydantic.Field(description="file of pretrained vectors: GloVe, word2vec"),
]
UnknownVector = Annotated[
    str | None, pydantic.Field(description="name of the file's vector for unknown words")
]
WithoutVector = Annotated[
    Literal["own", "zeros", "mean"],
    pydantic.Field(
        description="words that the file lacks: rows of their own by min_count, or one vector for "
        "all: zeros, or the mean of the file's vectors of no word here (VecEval)"
    ),
]
Dimension = Annotated[
    fields.Size, pydantic.Field(description="size of word vectors where none are read")
]
MinCount = Annotated[
    fields.Count, pydantic.Field(description="train count that gives other words their own row")
]
LowerCase = Annotated[
    bool, pydantic.Field(description="words without a pretrained vector: Word = word")
]
MaxWidths = Annotated[
    fields.Widths, pydantic.Field(description="padded shapes (compiled branches) at most")
]
PaddedTo = Annotated[
    fields.Length | None,
    pydantic.Field(
        description="all texts have so many words: longer ones are cut, and the padding of "
        "shorter ones is read (VecEval); absent: padding is masked"
    ),
]
Row = Annotated[int, pydantic.Field(gt=words.UNKNOWN)]
Scope = Literal["train", "train+dev", "all"]
PARTS_OF = {"train": ("train",), "train+dev": ("train", "dev"), "all": splits.PARTS}


@reading.settings
class SavedWords:
    """Rows of words to a trained model, as `word_table.WordTable.saved` gives them."""

    vectors: dict[str, Row]
    words: dict[str, Row]

    @property
    def rows(self) -> int:
        """Of the word table, at least."""
        return max([words.UNKNOWN, *self.vectors.values(), *self.words.values()]) + 1


class WordTableSettings(Protocol):
    """What a table of words is made by."""

    @property
    def vectors(self) -> str | None:
        """`VectorFile`."""

    @property
    def vectors_unknown(self) -> str | None:
        """`UnknownVector`."""

    @property
    def without_vector(self) -> Literal["own", "zeros", "mean"]:
        """`WithoutVector`."""

    @property
    def dimension(self) -> int:
        """`Dimension`."""

    @property
    def lower_case(self) -> bool:
        """`LowerCase`."""


def build_table(
    settings: WordTableSettings, forms: Sequence[str], vocabulary: Container[str]
) -> tuple[word_table.WordTable, vectors.Vectors | None]:
    """The table of a corpus, and the pretrained vectors that were read for it.

    Args:
      forms: all of the corpus, padding first.
      vocabulary: forms that have rows of their own.

    Raises:
      DataError: the vectors cannot be read.
    """
    pretrained = None
    if settings.vectors is not None:
        names = {name for form in forms for name in words.spellings(form)}
        pretrained = _read(settings, settings.vectors, names)
    fold = str.lower if settings.lower_case else str
    own = vocabulary if pretrained is None or settings.without_vector == "own" else ()
    table = word_table.build(forms, vocabulary, own, pretrained, fold, settings.dimension)
    return table, pretrained


def _read(settings: WordTableSettings, path: str, names: Container[str]) -> vectors.Vectors:
    """The vectors of these names, and the one for unknown words."""
    if settings.without_vector == "mean" and settings.vectors_unknown is None:
        return vector_unknown.common(vectors.read(path), names)
    read = vectors.read(path, names, settings.vectors_unknown)
    if settings.without_vector == "zeros" and settings.vectors_unknown is None:
        return vector_unknown.with_unknown(read, "zeros")
    return read
