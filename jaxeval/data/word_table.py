"""The table of word vectors: the vocabulary's rows, then those of other words with a vector.

Notation: F word forms, V rows of the table, R of them the vocabulary's, D vector size. Form 0 and
row 0 are padding.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxeval.data import vectors, words
from jaxeval.data.sentences import Worded
from jaxeval.errors import DataError

_SPREAD = 0.25  # random vectors are U(-.25, .25) (UKPLab, after Kim 2014)
_FIRST = words.UNKNOWN + 1
_FEW = 0.5  # of train's tokens have a pretrained vector: a warning below


class WordTable(NamedTuple):
    """Vectors of the words.

    Rows: padding, unknown, vectors of the file under a spelling of the vocabulary's words, the
    vocabulary's words without one (these R rows are what a model may train), then vectors of
    words outside the vocabulary. A word outside both has the unknown word's row.

    Any word's row: that of its first spelling in `named`, else of its folded form in `folded`,
    else the unknown word's.
    """

    row: np.ndarray  # [F] int32, form -> row
    vectors: np.ndarray  # [V, D] float32
    pretrained: np.ndarray  # [V] bool
    vocabulary: int  # R
    named: Mapping[str, int]  # name in the vector file -> row
    folded: Mapping[str, int]  # folded word of the vocabulary without a vector -> row
    number: int | None = None  # among the tables of members that differ in them
    unknown_read: bool = False  # whether the unknown word's vector is the file's

    @property
    def fingerprint(self) -> str:
        """Hash of the names and vectors read, in any order: 16 hexadecimal digits; "" without any.

        Of the unknown word's vector too, where it was read.
        """
        if not self.named:
            return ""
        hashed = hashlib.sha256()
        if self.unknown_read:
            hashed.update(self.vectors[words.UNKNOWN].tobytes())
        for name, row in sorted(self.named.items()):
            hashed.update(name.encode() + b"\0" + self.vectors[row].tobytes())
        return hashed.hexdigest()[:16]

    def shared(self) -> dict[str, np.ndarray]:
        """What all members read of it: row, vectors, pretrained."""
        return {"row": self.row, "vectors": self.vectors, "pretrained": self.pretrained}

    def padded(self, vocabulary: int, rows: int) -> "WordTable":
        """The same with more rows, zeros: `vocabulary` of the vocabulary, `rows` in all.

        Rows beyond the vocabulary move up, so that those before it can be trained.
        """
        more = vocabulary - self.vocabulary

        def moved(row: np.ndarray) -> np.ndarray:
            return np.where(row >= self.vocabulary, row + more, row).astype(np.int32)

        old = moved(np.arange(len(self.vectors)))
        vectors = np.zeros((rows, self.vectors.shape[1]), np.float32)
        pretrained = np.zeros(rows, bool)
        vectors[old], pretrained[old] = self.vectors, self.pretrained
        named = {name: int(old[row]) for name, row in self.named.items()}
        row = moved(self.row)
        return self._replace(
            row=row, vectors=vectors, pretrained=pretrained, vocabulary=vocabulary, named=named
        )

    def untrained(self, trained: bool) -> dict[str, np.ndarray]:
        """What a model reads beside its parameters: vectors that it does not train.

        Args:
          trained: whether the vocabulary's vectors are parameters.
        """
        outside = len(self.vectors) > self.vocabulary
        return {"vectors": self.vectors} if outside or not trained else {}

    def of_split(self, forms: Iterable[np.ndarray], min_count: int) -> dict[str, np.ndarray]:
        """Tables of a split: known and once, each [V] bool, and where members differ in table [].

        A word is known if it has a pretrained vector or stands `min_count` times in train, and
        once if it stands there once.

        Args:
          forms: of train, arrays of any shape.
          min_count: of words without a vector.
        """
        tables = {} if self.number is None else {"table": np.int32(self.number)}
        seen = np.zeros(len(self.vectors), np.int64)
        for numbers in forms:
            seen += np.bincount(self.row[numbers].ravel(), minlength=len(seen))
        known = self.pretrained | (seen >= min_count)
        known[:_FIRST] = True
        return {"known": known, "once": seen == 1, **tables}

    def saved(self, known: np.ndarray) -> dict[str, dict[str, int]]:
        """The rows of words by which any text is looked up, as plain JSON.

        Vectors are the named rows, words the folded ones. A word that is not known [V] is in
        neither.
        """
        words_of = {word: row for word, row in self.folded.items() if known[row]}
        return {"vectors": dict(self.named), "words": words_of}


def build(
    forms: Sequence[str],
    vocabulary: Container[str],
    own: Container[str],
    read: vectors.Vectors | None,
    fold: Callable[[str], str],
    dimension: int,
) -> WordTable:
    """The table of a corpus; its first R rows depend on the vocabulary and the file alone.

    Words without a pretrained vector get a fixed random one; a model that trains its vectors
    draws them anew by seed.

    Args:
      forms: all of the corpus, padding first.
      vocabulary: forms whose vectors are among the first R rows.
      own: forms that have rows of their own, though without a vector.
      read: pretrained vectors of the forms' spellings.
      fold: words without a vector that it makes equal share a row.
      dimension: D where no vectors are read.
    """
    index: Mapping[str, int] = {} if read is None else read.index
    in_file = words.rows(forms, index)
    spelled = {s for form in forms[1:] if form in vocabulary for s in words.spellings(form)}
    inside = [row for name, row in index.items() if name in spelled]
    outside = [row for name, row in index.items() if name not in spelled]
    alone = [form for form, row in zip(forms, in_file, strict=True) if row < 0][1:]
    others = dict.fromkeys(fold(form) for form in alone if form in own)
    size = _FIRST + len(inside) + len(others)
    row_of = {name: row for row, name in enumerate(others, _FIRST + len(inside))}
    moved = np.zeros(len(index), np.int32)  # row of the file -> row of the table
    moved[inside] = np.arange(_FIRST, _FIRST + len(inside))
    moved[outside] = np.arange(size, size + len(outside))
    row = [
        moved[file_row] if file_row >= 0 else row_of.get(fold(form), words.UNKNOWN)
        for form, file_row in zip(forms[1:], in_file[1:], strict=True)
    ]
    table = _vectors(read, inside, outside, len(others), dimension)
    pretrained = np.zeros(len(table), bool)
    if read is not None:
        pretrained[: _FIRST + len(inside)] = pretrained[size:] = True
    named = {name: int(moved[file_row]) for name, file_row in index.items()}
    rows = np.array([words.PADDING, *row], np.int32)
    unknown_read = read is not None and read.unknown is not None
    return WordTable(rows, table, pretrained, size, named, row_of, unknown_read=unknown_read)


def lookup(
    forms: Sequence[str],
    named: Mapping[str, int],
    folded: Mapping[str, int],
    fold: Callable[[str], str],
) -> np.ndarray:
    """Rows [F] of any words, padding first, by what `WordTable.saved` gives."""
    by_name = words.rows(forms, named)
    others = [folded.get(fold(form), words.UNKNOWN) for form in forms]
    row = np.where(by_name >= 0, by_name, np.array(others, np.int32))
    row[0] = words.PADDING
    return row


def _vectors(
    read: vectors.Vectors | None,
    inside: Sequence[int],
    outside: Sequence[int],
    others: int,
    dimension: int,
) -> np.ndarray:
    """All rows [V, D] float32."""
    width = dimension if read is None else read.table.shape[1]
    generator = np.random.default_rng([width, others])
    drawn = generator.uniform(-_SPREAD, _SPREAD, (_FIRST + len(inside) + others, width))
    drawn[words.PADDING] = 0.0
    if read is None:
        return drawn.astype(np.float32)
    drawn[_FIRST : _FIRST + len(inside)] = read.table[inside]
    if read.unknown is not None:
        drawn[words.UNKNOWN] = read.unknown
    return np.concatenate([drawn.astype(np.float32), read.table[outside]])


def coverage(
    parts: Mapping[str, Sequence[Worded]], index: Mapping[str, int]
) -> dict[str, dict[str, float]]:
    """Of each part the fraction of its words that have a vector: of `tokens`, and of `types`."""
    fractions = {}
    for part, sentences in parts.items():
        counts = Counter(word for sentence in sentences for word in sentence.words)
        has_vector = words.rows([*counts], index) >= 0
        tokens = np.fromiter(counts.values(), float)
        fractions[part] = {
            "tokens": round(float(has_vector @ tokens / tokens.sum()), 4),
            "types": round(float(has_vector.mean()), 4),
        }
    return fractions


def covered(
    parts: Mapping[str, Sequence[Worded]], read: vectors.Vectors | None, path: str | None
) -> tuple[dict[str, Any], list[str], list[str]]:
    """Facts, remarks and warnings about the vectors read from a file.

    Raises:
      DataError: no word of train has one.
    """
    if read is None or path is None:
        return {}, [], []
    fractions = coverage(parts, read.index)
    return {"vectors": fractions}, [describe(fractions)], few(fractions, path)


def describe(fractions: Mapping[str, Mapping[str, float]]) -> str:
    """The same as a line for people."""
    parts = (f"{part} {f['tokens']:.1%} ({f['types']:.1%})" for part, f in fractions.items())
    return f"tokens (types) with a pretrained vector: {', '.join(parts)}"


def few(fractions: Mapping[str, Mapping[str, float]], path: str) -> list[str]:
    """A warning where few tokens of train have a vector of a file.

    Raises:
      DataError: none has.
    """
    fraction = fractions["train"]["tokens"]
    if not fraction:
        message = "it has no vector of any word of train; expected vectors of the same language"
        raise DataError(message, path)
    if fraction >= _FEW:
        return []
    return [f"only {fraction:.1%} of train's tokens have a vector in {path}"]
