"""Sentiment of targets in their texts, or of whole texts: files (or generated) -> padded arrays.

Notation: N rows of a bucket, T words and K targets that they are padded to, F word forms, V rows
of the word table, Y classes, G groups of rows, P parts, B buckets. Form 0 and row 0 are padding.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pydantic

from jaxeval.config import reading
from jaxeval.config.fields import about
from jaxeval.contracts import GIVEN_SPLIT, Corpus, Split
from jaxeval.data import buckets, checks, sentiment_files, splits, word_table, words
from jaxeval.data.labelled_text import LabelledText
from jaxeval.data.sentiment_files import Sentence, SentimentSource
from jaxeval.errors import ConfigError

_Fraction = Annotated[float, pydantic.Field(gt=0, lt=1)]


@reading.settings
class SentimentData(word_table.WordSettings):
    """Where the texts come from and how they are read."""

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

    @property
    def fractions(self) -> splits.Fractions:
        """Of dev and test where they are drawn."""
        return splits.Fractions(self.dev_fraction, self.test_fraction)


class Classified(NamedTuple):
    """A corpus ready for training.

    A bucket holds forms [N, T], length [N], start and end [N, K] (words of each target, end
    exclusive, in the order of the text; 0, 0 without a target), targets [N] (how many of the K
    there are) and labels [N, K], all int32; shared are row [F], vectors [V, D], pretrained [V].

    Attributes:
      positions: bucket b: [N_b] of its rows among all, train's first, then dev's, then test's.
    """

    corpus: Corpus
    given_split: splits.Rows  # the corpus's own split
    table: word_table.WordTable
    labels: Sequence[str]  # names of the Y classes
    targeted: bool  # whether labels are of targets, not of whole texts
    tokenised: bool  # whether words are what stands between blanks in the files
    groups: splits.Groups  # rows that random splits keep together: those of one text
    sizes: np.ndarray  # [P, B] rows of each part and bucket in the arrays of all splits
    settings: SentimentData  # by which random splits are drawn
    fingerprint: str  # of the sentences
    shapes: Sequence[buckets.Shape]  # T and K of each bucket
    findings: checks.Findings
    positions: Sequence[np.ndarray]

    def vocabulary(self, number: int) -> dict[str, Any]:
        """What the numbers stand for to a member of a split, as plain JSON: `SavedVocabulary`."""
        return {
            "labels": [*self.labels],
            "targeted": self.targeted,
            "tokenised": self.tokenised,
            **self.table.saved(self.split(number).tables["known"]),
        }

    def split(self, number: int) -> Split:
        """Split `number` (0: as given) with its tables: known and once, each [V] bool.

        Words count once for each different text of train. Arrays may end in -1: no rows. Raises
        ConfigError: a random split of a corpus with the vocabulary of the given one, or one in
        which a part is empty.
        """
        rows = self.given_split
        if number != GIVEN_SPLIT:
            splits.refuse_foreign_vocabulary(number, self.settings.vocabulary == "all")
            if self.settings.split == "block":
                part = splits.block(self.groups, number, self.settings.fractions)
            else:
                part = splits.stratified(self.groups, number)
            for name, count in zip(splits.PARTS, np.bincount(part, minlength=3), strict=True):
                if not count:
                    raise ConfigError(
                        f"split {number}: no text is left for {name}, of {len(part)}"
                    )
            rows = splits.to_rows(self.groups, part)
        seen = []
        for bucket, of_row, chosen in zip(
            self.corpus.buckets, self.groups.of_row, rows["train"], strict=True
        ):
            _, first = np.unique(of_row[chosen], return_index=True)
            seen.append(bucket["forms"][chosen[first]])
        tables = self.table.of_split(seen, self.settings.min_count)
        return splits.split_of(splits.pad(rows, self.sizes), tables)


def build(settings: SentimentData, batch_size: int) -> Classified:
    """Reads the texts of `settings` and lays them out for batches of `batch_size`.

    Raises ConfigError: `padded_to` of texts with targets; DataError: what the readers raise; a
    label that is not among the classes; a train set with one class, or that test repeats; vectors
    of no word of train.
    """
    read = sentiment_files.read(settings.source, settings.fractions)
    if read.targeted and settings.padded_to is not None:
        raise ConfigError("data.padded_to: texts with targets are not cut or padded; leave it out")
    labels = _classes(settings, read)
    parts = sentiment_files.in_words(read.parts, read.tokenised)
    counts = {p: Counter(word for s in of for word in s.words) for p, of in parts.items()}
    forms, table, of_words = word_table.build(settings, counts)
    by_part = {part: _rows(settings, of) for part, of in parts.items()}
    rows = [row for part in splits.PARTS for row in by_part[part]]
    columns, positions, shapes = _lay_out(settings, rows, forms, labels, batch_size)
    given_split = splits.given_split(by_part, positions)
    groups = splits.collect(
        [row.words for row in rows],
        [[target.label for target in row.targets] for row in rows],
        [part for part in splits.PARTS for _ in by_part[part]],
        positions,
    )
    return Classified(
        corpus=Corpus(columns, table.shared()),
        given_split=given_split,
        table=table,
        labels=labels,
        targeted=read.targeted,
        tokenised=read.tokenised,
        groups=groups,
        sizes=_sizes(settings, groups, given_split),
        settings=settings,
        fingerprint=splits.fingerprint(parts),
        shapes=shapes,
        findings=read.findings.joined(_findings(settings, parts, read.targeted), of_words),
        positions=positions,
    )


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


def _findings(
    settings: SentimentData, parts: Mapping[str, Sequence[Sentence]], targeted: bool
) -> checks.Findings:
    """Sizes of the parts, and what is odd about them."""
    labels = {p: Counter(t.label for s in of for t in s.targets) for p, of in parts.items()}
    facts: dict[str, Any] = {
        "texts": {part: len(of_part) for part, of_part in parts.items()},
        "classes": {part: dict(sorted(counts.items())) for part, counts in labels.items()},
    }
    each = {p: [(s.words, t) for s in of for t in s.targets] for p, of in parts.items()}
    where = settings.source.path or "generated corpus"
    warnings = checks.repeats(each, where, "targets" if targeted else "texts")
    named = {
        p: [
            ((words, t[:2]), " ".join(words[t.start : t.end] or words), t.label) for words, t in of
        ]
        for p, of in each.items()
    }
    warnings += checks.several_labels(named)
    return checks.Findings(facts, [], warnings)


def _rows(settings: SentimentData, of: Sequence[Sentence]) -> list[Sentence]:
    """A row a target, or a sentence with all its targets; texts without targets are padded."""
    of = [s._replace(words=words.padded(s.words, settings.padded_to)) for s in of]
    if settings.rows == "sentences":
        return of
    return [s._replace(targets=(target,)) for s in of for target in s.targets]


def _lay_out(
    settings: SentimentData,
    rows: Sequence[Sentence],
    forms: Sequence[str],
    labels: Sequence[str],
    batch_size: int,
) -> tuple[tuple[dict[str, np.ndarray], ...], list[np.ndarray], list[buckets.Shape]]:
    """Of each bucket its arrays, the rows in it, its shape.

    Rows of one text lie in one bucket, since splits deal them together: each counts as having as
    many targets as the one that has most.
    """
    most_targets: dict[tuple[str, ...], int] = {}
    for row in rows:
        most_targets[row.words] = max(len(row.targets), most_targets.get(row.words, 1))
    lengths = [len(row.words) for row in rows]
    targets = [most_targets[row.words] for row in rows]
    shapes = buckets.choose_shapes(lengths, targets, batch_size, settings.max_widths)
    positions = buckets.assign_shapes(lengths, targets, shapes)
    form_numbers = {form: number for number, form in enumerate(forms)}
    label_numbers = {label: number for number, label in enumerate(labels)}
    columns = []
    for of_bucket, shape in zip(positions, shapes, strict=True):
        inside = [rows[row] for row in of_bucket]
        numbers = [[form_numbers[word] for word in row.words] for row in inside]
        each = [[(t.start, t.end, label_numbers[t.label]) for t in row.targets] for row in inside]
        start, end, classes = ([[t[k] for t in of] for of in each] for k in range(3))
        columns.append(
            {
                "forms": buckets.pad(numbers, shape.width),
                "length": buckets.lengths_of(numbers),
                "start": buckets.pad(start, shape.targets),
                "end": buckets.pad(end, shape.targets),
                "targets": buckets.lengths_of(classes),
                "labels": buckets.pad(classes, shape.targets),
            }
        )
    return tuple(columns), positions, shapes


def _sizes(settings: SentimentData, groups: splits.Groups, given_split: splits.Rows) -> np.ndarray:
    """[P, B] rows of each part and bucket that hold those of any split that may be asked for."""
    own = np.array([[len(rows) for rows in given_split[part]] for part in splits.PARTS])
    if settings.vocabulary != "all":
        return own
    if settings.split == "block":
        return np.maximum(own, splits.most_rows(groups, settings.fractions))
    # not as in the given split where a text stands in several parts of it
    return np.maximum(own, groups.row_counts(groups.part))


@reading.settings
class SavedVocabulary(word_table.SavedWords):
    """What the numbers of a trained classifier stand for."""

    labels: tuple[str, ...]
    targeted: bool
    tokenised: bool


def encode(
    settings: SentimentData, vocabulary: SavedVocabulary, texts: Sequence[LabelledText], batch: int
) -> tuple[list[Sentence], buckets.Encoded]:
    """Rows of texts, and these, for batches of so many, as a trained classifier reads them.

    A row is a target, or a sentence, in the order of the texts. Shared is row [F]; a bucket holds
    forms [N, T], length [N], start and end [N, K], targets [N].
    """
    sentences = sentiment_files.in_words({"texts": texts}, vocabulary.tokenised)["texts"]
    rows = _rows(settings, sentences)
    forms = ["", *sorted({word for sentence in sentences for word in sentence.words})]
    # a text to be classified has no label, or one that is not read
    labels = sorted({target.label for row in rows for target in row.targets})
    columns, positions, _ = _lay_out(settings, rows, forms, labels, batch)
    for arrays in columns:
        del arrays["labels"]
    row = vocabulary.lookup(forms, settings.fold)
    return rows, buckets.Encoded({"row": row}, positions, columns)
