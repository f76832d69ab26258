"""The table of word vectors: rows of the vocabulary, then of other words with a vector.

Notation: F word forms, V rows of the word table, of which the first R are the vocabulary's, D size
of a vector. Form 0 and row 0 are padding.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Set
from typing import Annotated, Literal, NamedTuple

import numpy as np
import pydantic

from jaxeval.config import fields, reading
from jaxeval.config.fields import about
from jaxeval.contracts import Findings
from jaxeval.data import splits, vectors, words
from jaxeval.errors import DataError

_SPREAD = 0.25  # random vectors are U(-.25, .25) (UKPLab, after Kim 2014)
FIRST = words.UNKNOWN + 1  # row of a word
_FEW = 0.5  # fraction of train's tokens with a vector below which there is a warning
VOCABULARY_PARTS = {"train": ("train",), "all": splits.PARTS}
PaddedTo = Annotated[
    fields.Length | None,
    about(
        "words of every text: longer ones are cut, and the padding of "
        "shorter ones is read (VecEval); absent: padding is masked"
    ),
]
_Row = Annotated[int, pydantic.Field(gt=words.UNKNOWN)]


@reading.settings
class WordSettings:
    """Settings of data whose words have vectors."""

    vectors: Annotated[str | None, fields.IMMATERIAL, about("file of GloVe or word2vec")] = None
    without_vector: Annotated[
        Literal["own", "zeros", "mean"],
        about(
            "words without a vector in the file: own trained ones by min_count, or a shared "
            "one: zeros, or the mean of the file's vectors of other words (VecEval)"
        ),
    ] = "own"
    dimension: Annotated[fields.Size, about("size of word vectors, if none are read")] = 100
    min_count: Annotated[
        fields.Count, about("count in train from which other words get their own row")
    ] = 1
    lower_case: Annotated[bool, about("words without a pretrained vector are lower-cased")] = True
    vocabulary: Annotated[
        Literal["train", "all"], about("parts whose words (characters, tags) have parameters")
    ] = "train"
    max_widths: Annotated[fields.Widths, about("maximum padded shapes (compiled branches)")] = 12

    def fold(self, word: str) -> str:
        """Returns the form under which words without a vector share a row."""
        return word.lower() if self.lower_case else word


@reading.settings
class SavedWords:
    """The rows of a trained model's words: by name in the vector file, and by folded word."""

    vectors: dict[str, _Row]
    words: dict[str, _Row]

    @property
    def rows(self) -> int:
        """Least number of rows of the word table."""
        return max([words.UNKNOWN, *self.vectors.values(), *self.words.values()]) + 1

    def lookup(self, forms: Sequence[str], fold: Callable[[str], str]) -> np.ndarray:
        """Returns the rows [F] of any forms, padding first."""
        return _rows(forms, words.rows(forms, self.vectors), self.words, fold)


def _rows(
    forms: Sequence[str],
    by_name: np.ndarray,
    folded: Mapping[str, int],
    fold: Callable[[str], str],
) -> np.ndarray:
    """Returns the row [F] of each form: by name where it is >= 0, else of the folded form."""
    others = [folded.get(fold(form), words.UNKNOWN) for form in forms]
    row = np.where(by_name >= 0, by_name, np.array(others, np.int32))
    row[0] = words.PADDING
    return row


class WordTable(NamedTuple):
    """Vectors of the words.

    Rows: padding, unknown, vectors of the file for the vocabulary, the vocabulary's words without
    one (a model may train these R rows), then vectors of words outside the vocabulary. A word
    outside both has the unknown word's row.
    """

    row: np.ndarray  # [F] int32, form -> row
    vectors: np.ndarray  # [V, D] float32
    pretrained: np.ndarray  # [V] bool
    vocabulary: int  # R
    named: Mapping[str, int]  # name in the vector file -> row
    folded: Mapping[str, int]  # folded word of the vocabulary without a vector -> row
    number: int | None = None  # index among joined tables
    unknown_read: bool = False  # whether the unknown word's vector is the file's

    @property
    def fingerprint(self) -> str:
        """Hash of the names and vectors read, in any order; "" if there are none."""
        if not self.named:
            return ""
        hashed = hashlib.sha256()
        if self.unknown_read:
            hashed.update(self.vectors[words.UNKNOWN].tobytes())
        for name, row in sorted(self.named.items()):
            hashed.update(name.encode() + b"\0" + self.vectors[row].tobytes())
        return hashed.hexdigest()[:16]

    def shared(self) -> dict[str, np.ndarray]:
        """Returns the arrays that all members read."""
        return {"row": self.row, "vectors": self.vectors, "pretrained": self.pretrained}


def build(
    settings: WordSettings, sentences: Mapping[str, Iterable[Iterable[str]]]
) -> tuple[list[str], WordTable, Findings]:
    """Returns the word forms of a corpus, padding first, their table, and how many have a vector.

    Words without a pretrained vector get a fixed random one; a model that trains its vectors draws
    them anew by seed. Raises DataError: the vectors cannot be read, or no word of train has one.

    Args:
      sentences: words of each part.
    """
    counts = {part: Counter(word for s in own for word in s) for part, own in sentences.items()}
    forms = ["", *sorted(set().union(*counts.values()))]
    vocabulary = set().union(*(counts[part] for part in VOCABULARY_PARTS[settings.vocabulary]))
    read = vectors.Vectors({}, np.zeros((0, settings.dimension), np.float32))
    unknown = None
    findings = Findings()
    if settings.vectors is not None:
        names = {name for form in forms for name in words.spellings(form)}
        read, unknown = _read(settings, settings.vectors, names)
        findings = _coverage(counts, read.index, settings.vectors)
        if read.repeated:
            again = f"repeated words in {settings.vectors}: {read.repeated:,}; the first counts"
            findings = findings.joined(Findings(warnings=[again]))
    return forms, _table(settings, forms, vocabulary, read, unknown), findings


def _read(
    settings: WordSettings, path: str, names: Set[str]
) -> tuple[vectors.Vectors, np.ndarray | None]:
    """Returns the vectors with these names, and the one that other words share, if any."""
    if settings.without_vector != "mean":
        read = vectors.read(path, names)
        zeros = np.zeros(read.table.shape[1], np.float32)
        return read, zeros if settings.without_vector == "zeros" else None
    # VecEval (2016): the mean of all other vectors of the file, zeros if there are none
    read = vectors.read(path)
    outside = np.array([name not in names for name in read.index], bool)
    total = np.sum(read.table, axis=0, dtype=np.float64, where=outside[:, None])
    mean = np.asarray(total / max(int(outside.sum()), 1), np.float32)
    return read.select([name for name in read.index if name in names]), mean


def _table(
    settings: WordSettings,
    forms: Sequence[str],
    vocabulary: Container[str],
    read: vectors.Vectors,
    unknown: np.ndarray | None,
) -> WordTable:
    spelled = {s for form in forms[1:] if form in vocabulary for s in words.spellings(form)}
    names = sorted(read.index, key=lambda name: name not in spelled)  # the vocabulary's first
    read = read.select(names)
    inside = sum(name in spelled for name in names)
    in_file = words.rows(forms, read.index)
    own = vocabulary if not names or settings.without_vector == "own" else ()
    others = [form for form, row in zip(forms, in_file, strict=True) if row < 0 and form in own]
    end = FIRST + inside
    folded = {w: r for r, w in enumerate(dict.fromkeys(map(settings.fold, others)), end)}
    size = end + len(folded)
    width = read.table.shape[1]
    rows = [*range(FIRST, end), *range(size, size + len(names) - inside)]
    drawn = np.random.default_rng([width, len(folded)]).uniform(-_SPREAD, _SPREAD, (size, width))
    drawn[words.PADDING] = 0.0
    if unknown is not None:
        drawn[words.UNKNOWN] = unknown
    drawn[FIRST:end] = read.table[:inside]
    table = np.concatenate([drawn.astype(np.float32), read.table[inside:]])
    pretrained = np.zeros(len(table), bool)
    pretrained[rows] = True
    pretrained[:FIRST] = bool(names)
    row = _rows(forms, np.array([*rows, -1], np.int32)[in_file], folded, settings.fold)
    named = dict(zip(names, rows, strict=True))
    return WordTable(row, table, pretrained, size, named, folded, None, unknown is not None)


def _coverage(counts: Mapping[str, Counter[str]], index: Mapping[str, int], path: str) -> Findings:
    """Returns the fractions of tokens and types of each part that have a vector."""
    fractions = {}
    for part, own in counts.items():
        has_vector = words.rows([*own], index) >= 0
        tokens = np.fromiter(own.values(), float)
        fractions[part] = {
            "tokens": round(float(has_vector @ tokens / tokens.sum()), 4),
            "types": round(float(has_vector.mean()), 4),
        }
    train = fractions["train"]["tokens"]
    if not train:
        message = "it has no vector of any word of train; expected vectors of the same language"
        raise DataError(message, path)
    shown = (
        f"{part} {100 * f['tokens']:.1f} % ({100 * f['types']:.1f} %)"
        for part, f in fractions.items()
    )
    remark = f"tokens (types) with a vector in {path}: {', '.join(shown)}"
    few = f"only {100 * train:.1f} % of train's tokens have a vector in {path}"
    return Findings({"vectors": fractions}, [remark], [few] if train < _FEW else [])
