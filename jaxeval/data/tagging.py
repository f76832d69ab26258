"""Sequence tagging: sentences on disk (or generated) -> a corpus of padded arrays.

Notation: N sentences of a bucket, T its width, F word forms, V rows of the word table, Y labels
that can be predicted. Form 0 and row 0 are padding.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pydantic

from jaxeval.config import fields, reading
from jaxeval.contracts import Corpus, Split
from jaxeval.data import (
    buckets,
    checks,
    schemes,
    sources,
    splits,
    tagging_checks,
    word_settings,
    word_table,
    words,
)
from jaxeval.data.sentences import Sentence


@reading.settings
class TaggingData:
    """Where the sentences come from and how they are read."""

    source: Annotated[
        sources.SentenceSource,
        pydantic.Field(description="files, a tfds name or the generated corpus"),
    ] = sources.SentenceSource()
    scheme: Annotated[
        Literal["bio", "iobes"], pydantic.Field(description="tag scheme inside, of entity tags")
    ] = "iobes"
    train_sentences: Annotated[
        fields.Count | None, pydantic.Field(description="only the first n train sentences")
    ] = None
    vectors: word_settings.VectorFile = None
    vectors_unknown: word_settings.UnknownVector = None
    without_vector: word_settings.WithoutVector = "own"
    dimension: word_settings.Dimension = 100
    min_count: word_settings.MinCount = 1
    lower_case: word_settings.LowerCase = True
    vocabulary: Annotated[
        word_settings.Scope,
        pydantic.Field(description="sentences whose words, characters, tags a model has rows for"),
    ] = "train"
    zero_digits: Annotated[bool, pydantic.Field(description="read every digit as 0")] = False
    max_characters: Annotated[
        fields.Length, pydantic.Field(description="longer words are cut for the character encoder")
    ] = 25
    max_widths: word_settings.MaxWidths = 12


class Tagged(NamedTuple):
    """A corpus ready for training; a bucket holds forms [N, T], labels [N, T] and length [N].

    Attributes:
      labels: those that can be predicted, then those that only other sentences have.
      predicted: Y, how many can be predicted.
      scheme: of the tags in the files; none: they are no entities.
      alphabet: number of characters, padding and unknown among them.
      pooled: whether the vocabulary is that of all sentences, as random splits need it.
      fingerprint: of the sentences.
      characters: those with a number of their own, in its order.
      positions: bucket b: [N_b] of its sentences among all, those of train, dev, test in turn.
    """

    corpus: Corpus
    given_split: splits.Rows
    table: word_table.WordTable
    min_count: int
    labels: Sequence[str]
    predicted: int
    scheme: schemes.Scheme
    legality: schemes.Legality
    alphabet: int
    pooled: bool
    fingerprint: str
    widths: Sequence[int]
    characters: Sequence[str]
    findings: checks.Findings
    positions: Sequence[np.ndarray]

    @property
    def entities(self) -> bool:
        """Whether the tags are of entities."""
        return self.scheme != "none"

    def vocabulary(self, number: int) -> dict[str, Any]:
        """What the numbers stand for to a member of a split, as plain JSON.

        Any word, of this corpus or not, is looked up as `word_table.WordTable` says: vectors are
        its named rows, words its folded ones. A word that the split does not know is in neither.
        Longer words than `longest` are cut.
        """
        known = self.split(number).tables["known"]
        return {
            "labels": [*self.labels[: self.predicted]],
            **self.table.saved(known),
            "characters": [*self.characters],
            "longest": self.corpus.shared["characters"].shape[1],
            "scheme": self.scheme,
        }

    def split(self, number: int) -> Split:
        """Split `number` (0: as given) with its tables: known and once, each [V] bool.

        A word is known if it has a pretrained vector or stands `min_count` times in train.

        Raises:
          ConfigError: a random split of a corpus with the vocabulary of the given one.
        """
        splits.refuse_foreign_vocabulary(number, self.pooled)
        rows = splits.numbered(self.given_split, number)
        chosen = zip(self.corpus.buckets, rows["train"], strict=True)
        forms = (bucket["forms"][of_bucket] for bucket, of_bucket in chosen)
        tables = self.table.of_split(forms, self.min_count)
        return splits.split_of(rows, tables)


def build(settings: TaggingData, batch_size: int) -> Tagged:
    """Reads the sentences of `settings` and lays them out for batches of `batch_size`.

    Raises:
      DataError: what the readers raise; a train set with one tag, or that test repeats; vectors of
        no word of train.
    """
    parts, of_files = read(settings)
    entities = of_files != "none"
    inside = [s for part in word_settings.PARTS_OF[settings.vocabulary] for s in parts[part]]
    sentences = [sentence for part in splits.PARTS for sentence in parts[part]]
    vocabulary = tagging_checks.vocabulary(inside)
    forms = ["", *sorted(tagging_checks.vocabulary(sentences))]
    labels, predicted = _labels(inside, sentences, entities)
    table, pretrained = word_settings.build_table(settings, forms, vocabulary)
    numbers = words.alphabet(vocabulary)
    lengths = [len(sentence.words) for sentence in sentences]
    widths = buckets.choose_widths(lengths, batch_size, settings.max_widths)
    rows = buckets.assign(lengths, widths)
    columns = [
        _columns([sentences[r] for r in chosen], forms, labels, width)
        for chosen, width in zip(rows, widths, strict=True)
    ]
    scheme = settings.scheme if entities else "none"
    pooled, where = settings.vocabulary == "all", settings.source.path or "generated corpus"
    return Tagged(
        corpus=Corpus(tuple(columns), _shared(settings, forms, numbers, table)),
        given_split=splits.given_split([part for part in splits.PARTS for _ in parts[part]], rows),
        table=table,
        min_count=settings.min_count,
        labels=labels,
        predicted=predicted,
        scheme=of_files,
        legality=schemes.allowed_transitions(labels[:predicted], scheme),
        alphabet=len(numbers) + words.UNKNOWN + 1,
        pooled=pooled,
        fingerprint=splits.fingerprint(tagging_checks.items(parts)),
        widths=widths,
        characters=list(numbers),
        findings=tagging_checks.findings(parts, where, pooled, pretrained, settings.vectors),
        positions=rows,
    )


def read(settings: TaggingData) -> sources.LabelledSentences:
    """The sentences of each part, tags in the scheme used inside."""
    parts, scheme = sources.read(settings.source, settings.scheme)
    if settings.train_sentences is not None:
        parts = {**parts, "train": parts["train"][: settings.train_sentences]}
    if settings.zero_digits:
        parts = {
            part: [s._replace(words=tuple(map(words.zero_digits, s.words))) for s in sentences]
            for part, sentences in parts.items()
        }
    return sources.LabelledSentences(parts, scheme)


def _labels(
    inside: Sequence[Sentence], sentences: Sequence[Sentence], entities: bool
) -> tuple[list[str], int]:
    """The labels of the vocabulary's sentences, then other ones; how many the first are."""
    labels = sorted({tag for sentence in inside for tag in sentence.tags})
    if entities:
        labels = ["O", *(label for label in labels if label != "O")]
    others = {tag for sentence in sentences for tag in sentence.tags} - {*labels}
    return [*labels, *sorted(others)], len(labels)


def _shared(
    settings: TaggingData,
    forms: Sequence[str],
    alphabet: Mapping[str, int],
    table: word_table.WordTable,
) -> dict[str, np.ndarray]:
    """What all members see of the forms."""
    return {
        **table.shared(),
        "characters": words.characters(forms, alphabet, settings.max_characters),
        **words.shapes(forms),
    }


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
