"""Sequence tagging: sentences on disk (or generated) -> a corpus of padded arrays.

Notation: N sentences of a bucket, T its width, F word forms, V rows of the word table, D vector
size, W characters of the longest form, Y labels. Form 0 and row 0 are padding.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pydantic

from jaxeval.config import reading
from jaxeval.contracts import GIVEN_SPLIT, Corpus, Split
from jaxeval.data import buckets, schemes, sources, splits, vectors, words
from jaxeval.data.sentences import Sentence

Parts = Mapping[str, Sequence[Sentence]]
_SPREAD = 0.25  # random vectors are U(-.25, .25) (UKPLab, after Kim 2014)


@reading.settings
class Data:
    """Where the sentences come from and how they are read."""

    source: Annotated[
        sources.Source, pydantic.Field(description="files, a tfds name or the generated corpus")
    ] = sources.Source()
    scheme: Annotated[
        Literal["bio", "iobes"], pydantic.Field(description="tag scheme inside, of entity tags")
    ] = "iobes"
    train_sentences: Annotated[
        int | None, pydantic.Field(ge=1, description="only the first n train sentences")
    ] = None
    vectors: Annotated[
        str | None, pydantic.Field(description="file of pretrained vectors: GloVe, word2vec text")
    ] = None
    vectors_unknown: Annotated[
        str | None, pydantic.Field(description="name of the file's vector for unknown words")
    ] = None
    dimension: Annotated[
        int, pydantic.Field(ge=1, description="size of word vectors where none are read")
    ] = 100
    min_count: Annotated[
        int, pydantic.Field(ge=1, description="train count that gives other words their own row")
    ] = 1
    lower_case: Annotated[
        bool, pydantic.Field(description="words without a pretrained vector: Word = word")
    ] = True
    zero_digits: Annotated[bool, pydantic.Field(description="read every digit as 0")] = False
    max_characters: Annotated[
        int, pydantic.Field(ge=1, description="longer words are cut for the character encoder")
    ] = 25
    most_widths: Annotated[
        int, pydantic.Field(ge=1, description="padded widths (compiled branches) at most")
    ] = 12


class Legality(NamedTuple):
    """Which moves the tag scheme allows."""

    moves: np.ndarray  # [Y, Y] bool, from, to
    start: np.ndarray  # [Y] bool
    end: np.ndarray  # [Y] bool


class WordTable(NamedTuple):
    """Vectors of the words."""

    row: np.ndarray  # [F] int32, form -> row
    vectors: np.ndarray  # [V, D] float32
    pretrained: np.ndarray  # [V] bool


class Tagged(NamedTuple):
    """A corpus ready for training; a bucket holds forms [N, T], labels [N, T] and length [N]."""

    corpus: Corpus
    given: splits.Rows
    table: WordTable
    min_count: int
    labels: Sequence[str]
    entities: bool
    legality: Legality
    alphabet: int  # number of characters, padding and unknown among them
    fingerprint: str  # of everything that was read
    widths: Sequence[int]
    forms: Sequence[str]  # F, padding first
    characters: Sequence[str]  # those with a number of their own, in its order

    def vocabulary(self, number: int) -> dict[str, Any]:
        """What the numbers stand for to a member of a split, as plain JSON.

        A word that the split does not know has no row: it is read as unknown.
        """
        known = self.split(number).tables["known"]
        rows = {f: int(r) for f, r in zip(self.forms, self.table.row, strict=True) if known[r]}
        return {"labels": [*self.labels], "rows": rows, "characters": [*self.characters]}

    def split(self, number: int) -> Split:
        """Split `number` (0: as given) with its tables: known and once, each [V] bool.

        A word is known if it has a pretrained vector or stands `min_count` times in train.
        """
        rows = self.given if number == GIVEN_SPLIT else splits.random(self.given, number)
        seen = np.zeros(len(self.table.vectors), np.int64)
        for bucket, chosen in zip(self.corpus.buckets, rows["train"], strict=True):
            forms = bucket["forms"][chosen]
            seen += np.bincount(self.table.row[forms].ravel(), minlength=len(seen))
        known = self.table.pretrained | (seen >= self.min_count)
        known[: words.UNKNOWN + 1] = True
        tables = {"known": known, "once": seen == 1}
        train, dev, test = (tuple(rows[part]) for part in splits.PARTS)
        return Split(train, dev, test, tables)


def build(settings: Data, batch_size: int) -> Tagged:
    """Reads the sentences of `settings` and lays them out for batches of `batch_size`."""
    parts = read(settings)
    entities = sources.has_entities(parts, settings.source)
    sentences = [sentence for part in splits.PARTS for sentence in parts[part]]
    labels = sorted({tag for sentence in sentences for tag in sentence.tags})
    if entities:
        labels = ["O", *(label for label in labels if label != "O")]
    forms = ["", *sorted({word for sentence in sentences for word in sentence.words})]
    table = word_table(settings, forms, sentences)
    numbers = words.alphabet(forms)
    lengths = [len(sentence.words) for sentence in sentences]
    widths = buckets.choose_widths(lengths, batch_size, settings.most_widths)
    rows = buckets.assign(lengths, widths)
    names = [part for part in splits.PARTS for _ in parts[part]]
    shared = {
        "row": table.row,
        "vectors": table.vectors,
        "pretrained": table.pretrained,
        "characters": words.characters(forms, numbers, settings.max_characters),
        "casing": np.array([words.casing(form) if form else 0 for form in forms], np.int32),
    }
    columns = [
        _columns([sentences[r] for r in chosen], forms, labels, width)
        for chosen, width in zip(rows, widths, strict=True)
    ]
    return Tagged(
        Corpus(tuple(columns), shared),
        splits.given(names, rows),
        table,
        settings.min_count,
        labels,
        entities,
        Legality(*schemes.allowed_transitions(labels, settings.scheme if entities else "none")),
        len(numbers) + words.UNKNOWN + 1,
        fingerprint(parts, table),
        widths,
        forms,
        list(numbers),
    )


def read(settings: Data) -> Parts:
    """The sentences of each part, tags in the scheme used inside."""
    parts = sources.read(settings.source, settings.scheme)
    if settings.train_sentences is not None:
        parts = {**parts, "train": parts["train"][: settings.train_sentences]}
    if not settings.zero_digits:
        return parts
    return {
        part: [s._replace(words=tuple(map(words.zero_digits, s.words))) for s in sentences]
        for part, sentences in parts.items()
    }


def word_table(settings: Data, forms: Sequence[str], sentences: Sequence[Sentence]) -> WordTable:
    """Rows: padding, unknown, the words of the vector file, then all other words of the corpus.

    Words without a pretrained vector get a fixed random one; a model that trains its vectors
    draws them anew by seed.
    """
    named = sorted({name for form in forms for name in words.spellings(form)})
    read_vectors = None
    if settings.vectors is not None:
        read_vectors = vectors.read(settings.vectors, set(named), settings.vectors_unknown)
    index: Mapping[str, int] = {} if read_vectors is None else read_vectors.index
    found = words.rows(forms, index)
    counts = Counter(word for sentence in sentences for word in sentence.words)
    fold = str.lower if settings.lower_case else str
    others: dict[str, int] = {}
    first = words.UNKNOWN + 1
    row = np.zeros(len(forms), np.int32)
    for form, name in enumerate(forms[1:], 1):
        if found[form] >= 0:
            row[form] = first + found[form]
        elif counts[name]:
            row[form] = first + len(index) + others.setdefault(fold(name), len(others))
    return _fill_table(settings, row, read_vectors, len(others))


def _fill_table(
    settings: Data, row: np.ndarray, found: vectors.Vectors | None, others: int
) -> WordTable:
    size = settings.dimension if found is None else found.table.shape[1]
    read_rows = 0 if found is None else len(found.table)
    first = words.UNKNOWN + 1
    generator = np.random.default_rng([size, others])
    table = generator.uniform(-_SPREAD, _SPREAD, (first + read_rows + others, size))
    pretrained = np.zeros(len(table), bool)
    table[words.PADDING] = 0.0
    if found is not None:
        table[first : first + read_rows] = found.table
        pretrained[: first + read_rows] = True
        if found.unknown is not None:
            table[words.UNKNOWN] = found.unknown
    return WordTable(row, table.astype(np.float32), pretrained)


def _columns(
    sentences: Sequence[Sentence], forms: Sequence[str], labels: Sequence[str], width: int
) -> dict[str, np.ndarray]:
    """One bucket's arrays."""
    form_number = {form: number for number, form in enumerate(forms)}
    label_number = {label: number for number, label in enumerate(labels)}
    arrays = {
        "forms": np.zeros((len(sentences), width), np.int32),
        "labels": np.zeros((len(sentences), width), np.int32),
        "length": np.array([len(s.words) for s in sentences], np.int32),
    }
    for row, sentence in enumerate(sentences):
        length = len(sentence.words)
        arrays["forms"][row, :length] = [form_number[word] for word in sentence.words]
        arrays["labels"][row, :length] = [label_number[tag] for tag in sentence.tags]
    return arrays


def fingerprint(parts: Parts, table: WordTable) -> str:
    """Hash of all sentences, their parts and the word vectors: 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for part in splits.PARTS:
        for sentence in parts[part]:
            digest.update(repr((part, sentence.words, sentence.tags)).encode())
    digest.update(table.vectors[table.pretrained].tobytes())
    return digest.hexdigest()[:16]
