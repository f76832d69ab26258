"""Sequence tagging: sentences on disk (or generated) -> a corpus of padded arrays.

Notation: N sentences of a bucket, T its width, F word forms, W characters of the longest word,
V rows of the word table, Y labels that can be predicted. Form 0 and row 0 are padding.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pydantic

from jaxeval.config import fields, reading
from jaxeval.config.fields import about
from jaxeval.contracts import Corpus, Split
from jaxeval.data import buckets, checks, schemes, splits, tagging_files, word_table, words
from jaxeval.data.tagging_files import Parts, SentenceSource
from jaxeval.errors import DataError

_UNSEEN = {  # what becomes of tags that train lacks, by whether a model has rows for them
    False: "they count as errors",
    True: "as the files are split, no model can learn them",
}


@reading.settings
class TaggingData(word_table.WordSettings):
    """Where the sentences come from and how they are read."""

    source: Annotated[SentenceSource, about("files, a tfds name or the generated corpus")] = (
        SentenceSource()
    )
    scheme: Annotated[Literal["bio", "iobes"], about("tag scheme inside, of entity tags")] = (
        "iobes"
    )
    train_sentences: Annotated[fields.Count | None, about("only the first n train sentences")] = (
        None
    )
    zero_digits: Annotated[bool, about("read every digit as 0")] = False
    max_characters: Annotated[
        fields.Length, about("longer words are cut for the character encoder")
    ] = 25


class Tagged(NamedTuple):
    """A corpus ready for training; a bucket holds forms [N, T], labels [N, T] and length [N].

    Attributes:
      positions: bucket b: [N_b] of its sentences among all, those of train, dev, test in turn.
    """

    corpus: Corpus
    given_split: splits.Rows
    table: word_table.WordTable
    min_count: int
    labels: Sequence[str]  # those that can be predicted, then those that only other sentences have
    predicted: int  # Y, how many can be predicted
    scheme: schemes.Scheme  # of the tags in the files; none: they are no entities
    legality: schemes.Legality
    alphabet: int  # number of characters, padding and unknown among them
    pooled: bool  # whether the vocabulary is that of all sentences, as random splits need it
    fingerprint: str  # of the sentences
    widths: Sequence[int]
    characters: Sequence[str]  # those with a number of their own, in its order
    findings: checks.Findings
    positions: Sequence[np.ndarray]

    @property
    def entities(self) -> bool:
        """Whether the tags are of entities."""
        return self.scheme != "none"

    def vocabulary(self, number: int) -> dict[str, Any]:
        """What the numbers stand for to a member of a split, as plain JSON: `SavedVocabulary`."""
        return {
            "labels": [*self.labels[: self.predicted]],
            **self.table.saved(self.split(number).tables["known"]),
            "characters": [*self.characters],
            "longest": self.corpus.shared["characters"].shape[1],
            "scheme": self.scheme,
        }

    def split(self, number: int) -> Split:
        """Split `number` (0: as given) with its tables, as of `WordTable.of_split`.

        Raises ConfigError: a random split of a corpus with the vocabulary of the given one.
        """
        rows = splits.numbered(self.given_split, number, self.pooled)
        chosen = zip(self.corpus.buckets, rows["train"], strict=True)
        forms = (bucket["forms"][of_bucket] for bucket, of_bucket in chosen)
        return splits.split_of(rows, self.table.of_split(forms, self.min_count))


def build(settings: TaggingData, batch_size: int) -> Tagged:
    """Reads the sentences of `settings` and lays them out for batches of `batch_size`.

    Raises DataError: what the readers raise; a train set with one tag, or that test repeats;
    vectors of no word of train.
    """
    parts, of_files = read(settings)
    entities = of_files != "none"
    items = {p: [(s.words, s.tags) for s in sentences] for p, sentences in parts.items()}
    tags = {p: Counter(tag for s in of for tag in s.tags) for p, of in parts.items()}
    counts = {p: Counter(word for s in of for word in s.words) for p, of in parts.items()}
    where = settings.source.path or "generated corpus"
    if len(tags["train"]) < 2:
        only = ", ".join(tags["train"])
        raise DataError(f"the only tag of train is {only!r}: there is nothing to learn", where)
    facts, lines = checks.unseen(tags)
    warnings = checks.repeats(items, where, "sentences")
    warnings += [f"tags: {line}; {_UNSEEN[settings.vocabulary == 'all']}" for line in lines]
    forms, table, of_words = word_table.build(settings, counts)
    inside = word_table.PARTS_OF[settings.vocabulary]
    names = {tag for part in inside for tag in tags[part]}
    labels = ["O", *sorted(names - {"O"})] if entities else sorted(names)
    predicted = len(labels)
    labels += sorted({tag for of in tags.values() for tag in of} - {*labels})
    sentences = [sentence for part in splits.PARTS for sentence in parts[part]]
    rows, widths, columns = _lay_out([s.words for s in sentences], forms, batch_size, settings)
    number = {label: k for k, label in enumerate(labels)}
    for of_bucket, width, arrays in zip(rows, widths, columns, strict=True):
        numbered = [[number[tag] for tag in sentences[row].tags] for row in of_bucket]
        arrays["labels"] = buckets.pad(numbered, width)
    letters = words.numbered(sorted(set().union(*(word for p in inside for word in counts[p]))))
    characters = words.characters(forms, letters, settings.max_characters)
    shared = {**table.shared(), "characters": characters, **words.shapes(forms)}
    scheme = settings.scheme if entities else "none"
    return Tagged(
        corpus=Corpus(tuple(columns), shared),
        given_split=splits.given_split(parts, rows),
        table=table,
        min_count=settings.min_count,
        labels=labels,
        predicted=predicted,
        scheme=of_files,
        legality=schemes.allowed_transitions(labels[:predicted], scheme),
        alphabet=len(letters) + words.UNKNOWN + 1,
        pooled=settings.vocabulary == "all",
        fingerprint=splits.fingerprint(items),
        widths=widths,
        characters=[*letters],
        findings=checks.Findings({"unseen_tags": facts}, [], warnings).joined(of_words),
        positions=rows,
    )


def read(settings: TaggingData) -> tuple[Parts, schemes.Scheme]:
    """The sentences of each part, tags in the scheme used inside; the scheme of the files."""
    parts, scheme = tagging_files.read(settings.source, settings.scheme)
    if settings.train_sentences is not None:
        parts = {**parts, "train": parts["train"][: settings.train_sentences]}
    if settings.zero_digits:
        parts = {
            part: [s._replace(words=tuple(map(words.zero_digits, s.words))) for s in sentences]
            for part, sentences in parts.items()
        }
    return parts, scheme


def _lay_out(
    sentences: Sequence[Sequence[str]], forms: Sequence[str], batch: int, settings: TaggingData
) -> buckets.LaidOut:
    """A bucket's arrays are forms [N, T] and length [N]."""
    number = {form: k for k, form in enumerate(forms)}
    numbers = [[number[word] for word in sentence] for sentence in sentences]
    laid_out = buckets.lay_out({"forms": numbers}, batch, settings.max_widths)
    for arrays in laid_out[2]:
        arrays["length"] = arrays.pop("forms_length")
    return laid_out


@reading.settings
class SavedVocabulary(word_table.SavedWords):
    """What the numbers of a trained tagger stand for."""

    labels: tuple[str, ...]
    characters: tuple[str, ...]  # those with a number of their own, in its order
    longest: Annotated[int, pydantic.Field(ge=1, le=2**16)]  # W
    scheme: schemes.Scheme  # of the tags in the files that were trained on


def encode(
    settings: TaggingData,
    vocabulary: SavedVocabulary,
    sentences: Sequence[Sequence[str]],
    batch: int,
) -> buckets.Encoded:
    """Sentences, for batches of so many, as a trained tagger reads them.

    Shared are row [F], characters [F, W], casing and capitals [F]; a bucket holds forms [N, T] and
    length [N].
    """
    if settings.zero_digits:
        sentences = [[words.zero_digits(word) for word in sentence] for sentence in sentences]
    forms = ["", *sorted({word for sentence in sentences for word in sentence})]
    rows, _, columns = _lay_out(sentences, forms, batch, settings)
    letters = words.numbered(vocabulary.characters)
    characters = words.characters(forms, letters, vocabulary.longest)
    padding = vocabulary.longest - characters.shape[1]  # some encoders read it
    shared = {
        "row": vocabulary.lookup(forms, settings.fold),
        "characters": np.pad(characters, ((0, 0), (0, padding))),
        **words.shapes(forms),
    }
    return buckets.Encoded(shared, rows, columns)
