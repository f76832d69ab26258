"""The table of word vectors: the vocabulary's rows, then those of other words with a vector.

Notation: F word forms, V rows of the table, R of them the vocabulary's, D vector size, J tables.
Form 0 and row 0 are padding.
"""

import hashlib
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxeval.contracts import Corpus
from jaxeval.data import checks, vectors, word_settings, words
from jaxeval.data.word_settings import WordSettings
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
    settings: WordSettings, counts: Mapping[str, Counter[str]]
) -> tuple[list[str], WordTable, checks.Findings]:
    """Word forms of a corpus, padding first, their table, and what is known of the words.

    The first R rows depend on the vocabulary and the file alone. Words without a pretrained vector
    get a fixed random one; a model that trains its vectors draws them anew by seed.

    Args:
      counts: part -> how often each word stands in it.

    Raises:
      DataError: the vectors cannot be read, or no word of train has one.
    """
    forms = ["", *sorted(set().union(*counts.values()))]
    vocabulary = set().union(
        *(counts[part] for part in word_settings.PARTS_OF[settings.vocabulary])
    )
    read = None
    if settings.vectors is not None:
        names = {name for form in forms for name in words.spellings(form)}
        read = word_settings.read_vectors(settings, settings.vectors, names)
    table = _table(settings, forms, vocabulary, read)
    findings = checks.Findings(warnings=checks.normalisation(counts))
    if read is not None and settings.vectors is not None:
        findings = _covered(counts, read.index, settings.vectors).joined(findings)
    return forms, table, findings


def _table(
    settings: WordSettings,
    forms: Sequence[str],
    vocabulary: Container[str],
    read: vectors.Vectors | None,
) -> WordTable:
    index: Mapping[str, int] = {} if read is None else read.index
    in_file = words.rows(forms, index)
    spelled = {s for form in forms[1:] if form in vocabulary for s in words.spellings(form)}
    inside = [row for name, row in index.items() if name in spelled]
    outside = [row for name, row in index.items() if name not in spelled]
    alone = [form for form, row in zip(forms, in_file, strict=True) if row < 0][1:]
    own = vocabulary if read is None or settings.without_vector == "own" else ()
    others = dict.fromkeys(settings.fold(form) for form in alone if form in own)
    size = _FIRST + len(inside) + len(others)
    row_of = {name: row for row, name in enumerate(others, _FIRST + len(inside))}
    moved = np.zeros(len(index), np.int32)  # row of the file -> row of the table
    moved[inside] = np.arange(_FIRST, _FIRST + len(inside))
    moved[outside] = np.arange(size, size + len(outside))
    row = [
        moved[file_row] if file_row >= 0 else row_of.get(settings.fold(form), words.UNKNOWN)
        for form, file_row in zip(forms[1:], in_file[1:], strict=True)
    ]
    table = _vectors(read, inside, outside, len(others), settings.dimension)
    pretrained = np.zeros(len(table), bool)
    if read is not None:
        pretrained[: _FIRST + len(inside)] = pretrained[size:] = True
    named = {name: int(moved[file_row]) for name, file_row in index.items()}
    rows = np.array([words.PADDING, *row], np.int32)
    unknown_read = read is not None and read.unknown is not None
    return WordTable(rows, table, pretrained, size, named, row_of, unknown_read=unknown_read)


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

    All tables get as many rows as the largest has, and stand one after the other in `shared`,
    which is the same for all: row [J, F], vectors [J, V, D], pretrained [J, V]. A member's split
    says which of them is its own. Rows that a table lacks are zeros that no word has.

    Args:
      of: NamedTuples with `corpus` and `table`; equal sentences and D.
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
    """A table with more rows, zeros: `vocabulary` of the vocabulary, `rows` in all.

    Rows beyond the vocabulary move up, so that those before it can be trained.
    """
    more = vocabulary - table.vocabulary

    def moved(row: np.ndarray) -> np.ndarray:
        return np.where(row >= table.vocabulary, row + more, row).astype(np.int32)

    old = moved(np.arange(len(table.vectors)))
    padded = np.zeros((rows, table.vectors.shape[1]), np.float32)
    pretrained = np.zeros(rows, bool)
    padded[old], pretrained[old] = table.vectors, table.pretrained
    named = {name: int(old[row]) for name, row in table.named.items()}
    return table._replace(
        row=moved(table.row),
        vectors=padded,
        pretrained=pretrained,
        vocabulary=vocabulary,
        named=named,
    )
