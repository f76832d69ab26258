"""The table of word vectors: the vocabulary's rows, then those of other words with a vector.

Notation: F word forms, V rows of the table, R of them the vocabulary's, D vector size, J tables.
Form 0 and row 0 are padding.
"""

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pydantic

from jaxeval.config import fields, reading
from jaxeval.config.fields import about
from jaxeval.contracts import Corpus
from jaxeval.data import checks, splits, vectors, words
from jaxeval.errors import DataError

_SPREAD = 0.25  # random vectors are U(-.25, .25) (UKPLab, after Kim 2014)
_FIRST = words.UNKNOWN + 1
_FEW = 0.5  # of train's tokens have a pretrained vector: a warning below
PARTS_OF = {"train": ("train",), "train+dev": ("train", "dev"), "all": splits.PARTS}
PaddedTo = Annotated[
    fields.Length | None,
    about(
        "all texts have so many words: longer ones are cut, and the padding of "
        "shorter ones is read (VecEval); absent: padding is masked"
    ),
]
_Row = Annotated[int, pydantic.Field(gt=words.UNKNOWN)]


@reading.settings
class WordSettings:
    """Keys of data whose words have vectors."""

    vectors: Annotated[
        str | None,
        fields.IMMATERIAL,
        about("file of pretrained vectors: GloVe, word2vec"),
    ] = None
    vectors_unknown: Annotated[
        str | None, about("name of the file's vector for unknown words")
    ] = None
    without_vector: Annotated[
        Literal["own", "zeros", "mean"],
        about(
            "words that the file lacks: rows of their own by min_count, or one vector "
            "for all: zeros, or the mean of the file's vectors of no word here (VecEval)"
        ),
    ] = "own"
    dimension: Annotated[fields.Size, about("size of word vectors where none are read")] = 100
    min_count: Annotated[
        fields.Count, about("train count that gives other words their own row")
    ] = 1
    lower_case: Annotated[bool, about("words without a pretrained vector: Word = word")] = True
    vocabulary: Annotated[
        Literal["train", "train+dev", "all"],
        about("parts whose words (characters, tags) a model has rows for"),
    ] = "train"
    max_widths: Annotated[fields.Widths, about("padded shapes (compiled branches) at most")] = 12

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
        return _rows(forms, words.rows(forms, self.vectors), self.words, fold)


def _rows(
    forms: Sequence[str],
    by_name: np.ndarray,
    folded: Mapping[str, int],
    fold: Callable[[str], str],
) -> np.ndarray:
    """[F] int32: the row that a form has by name (-1: none), else that of its folded form."""
    others = [folded.get(fold(form), words.UNKNOWN) for form in forms]
    row = np.where(by_name >= 0, by_name, np.array(others, np.int32))
    row[0] = words.PADDING
    return row


class WordTable(NamedTuple):
    """Vectors of the words.

    Rows: padding, unknown, vectors of the file under a spelling of the vocabulary's words, the
    vocabulary's words without one (these R rows are what a model may train), then vectors of
    words outside the vocabulary. A word outside both has the unknown word's row.
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
        """Hash of the names and vectors read, in any order: 16 hexadecimal digits; "" of none."""
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

    def untrained(self, trained: bool) -> dict[str, np.ndarray]:
        """What a model reads beside its parameters: vectors that it does not train."""
        outside = len(self.vectors) > self.vocabulary
        return {"vectors": self.vectors} if outside or not trained else {}

    def of_split(self, forms: Iterable[np.ndarray], min_count: int) -> dict[str, np.ndarray]:
        """Tables of a split: known and once, each [V] bool, and where members differ in table [].

        A word is known if it has a pretrained vector or stands `min_count` times in train (`forms`
        are arrays of any shape), and once if it stands there once.
        """
        tables = {} if self.number is None else {"table": np.int32(self.number)}
        seen = np.zeros(len(self.vectors), np.int64)
        for numbers in forms:
            seen += np.bincount(self.row[numbers].ravel(), minlength=len(seen))
        known = self.pretrained | (seen >= min_count)
        known[:_FIRST] = True
        return {"known": known, "once": seen == 1, **tables}

    def saved(self, known: np.ndarray) -> dict[str, dict[str, int]]:
        """`SavedWords` as plain JSON; a word that is not known [V] is in neither table."""
        words_of = {word: row for word, row in self.folded.items() if known[row]}
        return {"vectors": dict(self.named), "words": words_of}


def build(
    settings: WordSettings, counts: Mapping[str, Counter[str]]
) -> tuple[list[str], WordTable, checks.Findings]:
    """Word forms of a corpus, padding first, their table, and how many have a vector.

    Words without a pretrained vector get a fixed random one; a model that trains its vectors draws
    them anew by seed. Raises DataError: the vectors cannot be read, or no word of train has one.

    Args:
      counts: part -> how often each word stands in it.
    """
    forms = ["", *sorted(set().union(*counts.values()))]
    vocabulary = set().union(*(counts[part] for part in PARTS_OF[settings.vocabulary]))
    read, findings = vectors.Vectors({}, np.zeros((0, settings.dimension), np.float32), None), None
    if settings.vectors is not None:
        names = {name for form in forms for name in words.spellings(form)}
        read = _read(settings, settings.vectors, names)
        findings = _covered(counts, read.index, settings.vectors)
    table = _table(settings, forms, vocabulary, read)
    odd = checks.Findings(warnings=checks.normalisation(counts))
    return forms, table, findings.joined(odd) if findings else odd


def _read(settings: WordSettings, path: str, names: Container[str]) -> vectors.Vectors:
    """The vectors of a file that have these names, and the one for unknown words."""
    if settings.vectors_unknown is not None or settings.without_vector == "own":
        return vectors.read(path, names, settings.vectors_unknown)
    if settings.without_vector == "zeros":
        read = vectors.read(path, names)
        return dataclasses.replace(read, unknown=np.zeros(read.table.shape[1], np.float32))
    # VecEval (2016): the mean of all other vectors of the file, zeros where there is none
    read = vectors.read(path)
    inside = {word: row for word, row in read.index.items() if word in names}
    rows = [*inside.values()]
    outside = np.ones(len(read.table), bool)
    outside[rows] = False
    total = np.sum(read.table, axis=0, dtype=np.float64, where=outside[:, None])
    mean = np.asarray(total / max(int(outside.sum()), 1), np.float32)
    return vectors.Vectors({w: k for k, w in enumerate(inside)}, read.table[rows], mean)


def _table(
    settings: WordSettings, forms: Sequence[str], vocabulary: Container[str], read: vectors.Vectors
) -> WordTable:
    spelled = {s for form in forms[1:] if form in vocabulary for s in words.spellings(form)}
    names = sorted(read.index, key=lambda name: name not in spelled)  # the vocabulary's first
    inside = sum(name in spelled for name in names)
    in_file = words.rows(forms, read.index)
    own = vocabulary if not names or settings.without_vector == "own" else ()
    others = [form for form, row in zip(forms, in_file, strict=True) if row < 0 and form in own]
    end = _FIRST + inside
    folded = {w: r for r, w in enumerate(dict.fromkeys(map(settings.fold, others)), end)}
    size, width = end + len(folded), read.table.shape[1]
    rows = [*range(_FIRST, end), *range(size, size + len(names) - inside)]
    drawn = np.random.default_rng([width, len(folded)]).uniform(-_SPREAD, _SPREAD, (size, width))
    drawn[words.PADDING] = 0.0
    if read.unknown is not None:
        drawn[words.UNKNOWN] = read.unknown
    order = [read.index[name] for name in names]
    drawn[_FIRST:end] = read.table[order[:inside]]
    table = np.concatenate([drawn.astype(np.float32), read.table[order[inside:]]])
    pretrained = np.zeros(len(table), bool)
    pretrained[rows] = True
    if names:
        pretrained[:_FIRST] = True
    moved = np.full(len(names) + 1, -1, np.int32)  # row of the file, -1 -> row of the table, -1
    moved[order] = rows
    row = _rows(forms, moved[in_file], folded, settings.fold)
    named, unknown_read = dict(zip(names, rows, strict=True)), read.unknown is not None
    return WordTable(row, table, pretrained, size, named, folded, None, unknown_read)


def _covered(
    counts: Mapping[str, Counter[str]], index: Mapping[str, int], path: str
) -> checks.Findings:
    """Of each part the fraction of its tokens, and of its types, that have a vector of a file."""
    fractions = {}
    for part, of_part in counts.items():
        has_vector = words.rows([*of_part], index) >= 0
        tokens = np.fromiter(of_part.values(), float)
        fractions[part] = {
            "tokens": round(float(has_vector @ tokens / tokens.sum()), 4),
            "types": round(float(has_vector.mean()), 4),
        }
    of_train = fractions["train"]["tokens"]
    if not of_train:
        message = "it has no vector of any word of train; expected vectors of the same language"
        raise DataError(message, path)
    shown = (f"{part} {f['tokens']:.1%} ({f['types']:.1%})" for part, f in fractions.items())
    remark = f"tokens (types) with a pretrained vector: {', '.join(shown)}"
    few = f"only {of_train:.1%} of train's tokens have a vector in {path}"
    return checks.Findings({"vectors": fractions}, [remark], [few] if of_train < _FEW else [])


def joined(of: Sequence[Any]) -> list[Any]:
    """Corpora that differ in their word tables alone, each with its own among those of all.

    All tables get as many rows as the largest has, and stand one after the other in `shared`: row
    [J, F], vectors [J, V, D], pretrained [J, V]. A member's split says which is its own.
    """
    first = max(data.table.vocabulary for data in of)
    outside = max(len(data.table.vectors) - data.table.vocabulary for data in of)
    tables = [_padded(data.table, first, first + outside) for data in of]
    each = [table.shared() for table in tables]
    shared = of[0].corpus.shared | {name: np.stack([t[name] for t in each]) for name in each[0]}
    corpus = Corpus(of[0].corpus.buckets, shared)
    return [
        data._replace(corpus=corpus, table=table._replace(number=number))
        for number, (data, table) in enumerate(zip(of, tables, strict=True))
    ]


def _padded(table: WordTable, vocabulary: int, rows: int) -> WordTable:
    """A table with more rows, zeros; rows beyond the vocabulary move up."""
    old = np.arange(len(table.vectors), dtype=np.int32)
    old[table.vocabulary :] += vocabulary - table.vocabulary
    padded = np.zeros((rows, table.vectors.shape[1]), np.float32)
    pretrained = np.zeros(rows, bool)
    padded[old], pretrained[old] = table.vectors, table.pretrained
    return table._replace(
        row=old[table.row],
        vectors=padded,
        pretrained=pretrained,
        vocabulary=vocabulary,
        named={name: int(old[row]) for name, row in table.named.items()},
    )
