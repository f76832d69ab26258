"""Sentiment of targets in their texts, or of whole texts -> padded arrays.

Notation: N rows of a bucket, T words and K targets to which they are padded, F word forms, V rows
of the word table, Y classes, P parts, B buckets. Form 0 and row 0 are padding.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
import pydantic

from jaxeval.config import reading
from jaxeval.config.fields import about
from jaxeval.contracts import Corpus
from jaxeval.data import checks, corpora, sentiment_files, splits, word_table, words
from jaxeval.data.labelled_text import LabelledText
from jaxeval.data.sentiment_files import Sentence, SentimentSource
from jaxeval.errors import ConfigError
from jaxeval.files import Json

_Fraction = Annotated[float, pydantic.Field(gt=0, lt=1)]


@reading.settings
class SentimentData(word_table.WordSettings):
    """The source of the texts and how they are read."""

    source: Annotated[SentimentSource, about("files or the generated corpus")] = SentimentSource()
    labels: Annotated[
        Literal["auto"] | tuple[str, ...],
        about("names of the classes in their order; auto: those of train"),
    ] = "auto"
    rows: Annotated[
        Literal["targets", "sentences"],
        about("one row per target, or a sentence with all its targets"),
    ] = "targets"
    split: Annotated[
        Literal["stratified", "block"],
        about("random splits: by strata of texts, or blocks of neighbours"),
    ] = "stratified"
    dev_fraction: Annotated[
        _Fraction, about("drawn dev, dev of a block split: of all but test")
    ] = 0.2
    test_fraction: Annotated[_Fraction, about("drawn test, test of a block split: of all")] = 0.2
    padded_to: word_table.PaddedTo = None

    @pydantic.model_validator(mode="after")
    def _different(self) -> "SentimentData":
        if self.labels != "auto" and len({*self.labels}) < max(len(self.labels), 2):
            raise ValueError(f"labels: expected two or more different ones (got {self.labels})")
        return self


@reading.settings
class SavedVocabulary(word_table.SavedWords):
    """The meaning of a trained classifier's numbers."""

    labels: tuple[str, ...]
    targeted: bool
    tokenised: bool


def build(settings: SentimentData, batch_size: int) -> corpora.WordCorpus:
    """Reads the texts of `settings` and lays them out for batches of `batch_size`.

    A bucket holds forms [N, T], length [N], start and end [N, K] (words of each target, end
    exclusive, in text order; 0, 0 without a target), targets [N] (number of targets) and labels
    [N, K]. Raises ConfigError: `padded_to` of texts with targets; DataError: the texts cannot be
    read; a label is not among the classes; train has one class; test repeats train.
    """
    fractions = splits.Fractions(settings.dev_fraction, settings.test_fraction)
    read = sentiment_files.read(settings.source, fractions)
    if read.targeted and settings.padded_to is not None:
        raise ConfigError("data.padded_to: texts with targets are not cut or padded; leave it out")
    labels = _classes(settings, read)
    parts = sentiment_files.in_words(read.parts, read.tokenised)
    of_words = {p: [s.words for s in own] for p, own in parts.items()}
    forms, table, findings = word_table.build(settings, of_words)
    by_part = {part: _rows(settings, own) for part, own in parts.items()}
    rows = [row for part in splits.PARTS for row in by_part[part]]
    columns, positions, shapes = _lay_out(settings, rows, forms, labels, batch_size)
    given = splits.given(by_part, positions)
    groups = splits.collect(
        [row.words for row in rows],
        [[target.label for target in row.targets] for row in rows],
        [part for part in splits.PARTS for _ in by_part[part]],
        positions,
        fractions if settings.split == "block" else None,
    )
    sizes = np.array([[len(own) for own in given[part]] for part in splits.PARTS])
    if settings.vocabulary == "all":
        sizes = np.maximum(sizes, groups.most_rows())
    return corpora.WordCorpus(
        corpus=Corpus(columns, table.shared()),
        given_split=given,
        table=table,
        labels=labels,
        saved={"labels": labels, "targeted": read.targeted, "tokenised": read.tokenised},
        settings=settings,
        fingerprint=splits.fingerprint(parts),
        facts={
            "labels": labels,
            "padded_widths": [shape.width for shape in shapes],
            "padded_targets": [shape.targets for shape in shapes],
        },
        findings=read.findings.joined(_findings(settings, parts, read.targeted), findings),
        positions=positions,
        groups=groups,
        sizes=sizes,
    )


def _findings(
    settings: SentimentData, parts: Mapping[str, Sequence[Sentence]], targeted: bool
) -> checks.Findings:
    """Returns sizes of the parts, and warnings about repeated and contradictory items."""
    targets = {p: [(s.words, t) for s in own for t in s.targets] for p, own in parts.items()}
    counts = {p: Counter(target.label for _, target in own) for p, own in targets.items()}
    facts: dict[str, Json] = {
        "texts": {part: len(own) for part, own in parts.items()},
        "classes": {part: dict(sorted(own.items())) for part, own in counts.items()},
    }
    named = {
        part: [((w, t[:2]), " ".join(w[t.start : t.end] or w), t.label) for w, t in own]
        for part, own in targets.items()
    }
    items = "targets" if targeted else "texts"
    warnings = checks.repeats(targets, settings.source.path, items)
    return checks.Findings(facts, [], [*warnings, *checks.several_labels(named)])


def _classes(settings: SentimentData, read: sentiment_files.TextParts) -> list[str]:
    items = {
        part: [
            (target.label, each.text, line)
            for each in texts
            for target, line in zip(
                each.targets, each.lines or [0] * len(each.targets), strict=True
            )
        ]
        for part, texts in read.parts.items()
    }
    named = None if settings.labels == "auto" else settings.labels
    columns = "column 1 is the text, column 2 the label"
    return checks.classes(items, named, read.files, columns)


def _rows(settings: SentimentData, sentences: Sequence[Sentence]) -> list[Sentence]:
    """Returns a row for each target, or for each sentence; texts without targets are padded."""
    padded = [s._replace(words=words.pad(s.words, settings.padded_to)) for s in sentences]
    if settings.rows == "sentences":
        return padded
    return [s._replace(targets=(target,)) for s in padded for target in s.targets]


def _lay_out(
    settings: SentimentData,
    rows: Sequence[Sentence],
    forms: Sequence[str],
    labels: Sequence[str],
    batch_size: int,
) -> tuple[tuple[dict[str, np.ndarray], ...], list[np.ndarray], list[corpora.Shape]]:
    """Returns the arrays, rows and shape of each bucket.

    Rows of one text lie in one bucket, since splits keep them together: each counts as having as
    many targets as the one that has most.
    """
    most: dict[tuple[str, ...], int] = {}
    for row in rows:
        most[row.words] = max(len(row.targets), most.get(row.words, 1))
    lengths, targets = [len(row.words) for row in rows], [most[row.words] for row in rows]
    shapes = corpora.choose_shapes(lengths, targets, batch_size, settings.max_widths)
    positions = corpora.assign(lengths, targets, shapes)
    form_numbers = {form: number for number, form in enumerate(forms)}
    label_numbers = {label: number for number, label in enumerate(labels)}
    columns = []
    for bucket, shape in zip(positions, shapes, strict=True):
        inside = [rows[row] for row in bucket]
        numbers = [[form_numbers[word] for word in row.words] for row in inside]
        each = [[(t.start, t.end, label_numbers[t.label]) for t in row.targets] for row in inside]
        start, end, classes = ([[t[k] for t in own] for own in each] for k in range(3))
        columns.append(
            {
                "forms": corpora.pad(numbers, shape.width),
                "length": corpora.count(numbers),
                "start": corpora.pad(start, shape.targets),
                "end": corpora.pad(end, shape.targets),
                "targets": corpora.count(classes),
                "labels": corpora.pad(classes, shape.targets),
            }
        )
    return tuple(columns), positions, shapes


def encode(
    settings: SentimentData, vocabulary: SavedVocabulary, texts: Sequence[LabelledText], batch: int
) -> tuple[list[Sentence], corpora.Encoded]:
    """Encodes texts for a trained classifier, in batches of `batch`; returns the rows, too.

    A row is a target, or a sentence, in the order of the texts. Shared is row [F]; a bucket holds
    forms [N, T], length [N], start and end [N, K], targets [N].
    """
    sentences = sentiment_files.in_words({"texts": texts}, vocabulary.tokenised)["texts"]
    rows = _rows(settings, sentences)
    forms = ["", *sorted({word for sentence in sentences for word in sentence.words})]
    labels = sorted({target.label for row in rows for target in row.targets})  # ignored
    columns, positions, _ = _lay_out(settings, rows, forms, labels, batch)
    for arrays in columns:
        del arrays["labels"]
    row = vocabulary.lookup(forms, settings.fold)
    return rows, corpora.Encoded({"row": row}, positions, columns)
