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
from jaxeval.contracts import GIVEN_SPLIT, Corpus, Split
from jaxeval.data import (
    buckets,
    checks,
    sentiment_files,
    splits,
    targeted,
    word_settings,
    word_table,
)
from jaxeval.data.labelled_text import LabelledText
from jaxeval.data.sentiment_files import SentimentSource
from jaxeval.data.targeted import Row, TargetedSentence
from jaxeval.errors import ConfigError

_Fraction = Annotated[float, pydantic.Field(gt=0, lt=1)]


@reading.settings
class SentimentData(word_settings.WordSettings):
    """Where the texts come from and how they are read."""

    source: Annotated[
        SentimentSource, pydantic.Field(description="files or the generated corpus")
    ] = SentimentSource()
    labels: Annotated[
        Literal["auto"] | tuple[str, ...],
        pydantic.Field(description="names of the classes in their order; auto: those of train"),
    ] = "auto"
    rows: Annotated[
        Literal["targets", "sentences"],
        pydantic.Field(description="one row per target, or a sentence with all its targets"),
    ] = "targets"
    split: Annotated[
        Literal["stratified", "block"],
        pydantic.Field(description="random splits: by strata of texts, or blocks of neighbours"),
    ] = "stratified"
    dev_fraction: Annotated[
        _Fraction, pydantic.Field(description="drawn dev, dev of a block split: of all but test")
    ] = 0.2
    test_fraction: Annotated[
        _Fraction, pydantic.Field(description="drawn test, test of a block split: of all")
    ] = 0.2
    padded_to: word_settings.PaddedTo = None

    @pydantic.model_validator(mode="after")
    def _different(self) -> "SentimentData":
        if self.classes is not None and len({*self.classes}) < max(len(self.classes), 2):
            raise ValueError(f"labels: expected two or more different ones (got {self.labels})")
        return self

    @property
    def classes(self) -> tuple[str, ...] | None:
        """The labels that are named; None: they are as read."""
        return None if self.labels == "auto" else self.labels

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
      given_split: the corpus's own split.
      labels: names of the Y classes.
      targeted: whether labels are of targets, not of whole texts.
      tokenised: whether words are what stands between blanks in the files.
      groups: rows that random splits keep together: those of one text.
      sizes: [P, B] rows of each part and bucket in the arrays of all splits.
      settings: by which random splits are drawn.
      fingerprint: of the sentences.
      shapes: T and K of each bucket.
      positions: bucket b: [N_b] of its rows among all, train's first, then dev's, then test's.
    """

    corpus: Corpus
    given_split: splits.Rows
    table: word_table.WordTable
    labels: Sequence[str]
    targeted: bool
    tokenised: bool
    groups: splits.Groups
    sizes: np.ndarray
    settings: SentimentData
    fingerprint: str
    shapes: Sequence[buckets.Shape]
    findings: checks.Findings
    positions: Sequence[np.ndarray]

    @property
    def pooled(self) -> bool:
        """Whether the vocabulary is that of all texts, as random splits need it."""
        return self.settings.vocabulary == "all"

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

        Words count once for each different text of train. Arrays may end in -1: no rows.

        Raises:
          ConfigError: a random split of a corpus with the vocabulary of the given one, or one in
            which a part is empty.
        """
        if number == GIVEN_SPLIT:
            rows = splits.pad(self.given_split, self.sizes)
        else:
            splits.refuse_foreign_vocabulary(number, self.pooled)
            part = _deal(self.settings, self.groups, number)
            rows = splits.pad(splits.to_rows(self.groups, part), self.sizes)
        seen = []
        for b, chosen in enumerate(rows["train"]):
            real = chosen[chosen >= 0]
            _, first = np.unique(self.groups.of_row[b][real], return_index=True)
            seen.append(self.corpus.buckets[b]["forms"][real[first]])
        return splits.split_of(rows, self.table.of_split(seen, self.settings.min_count))


def build(settings: SentimentData, batch_size: int) -> Classified:
    """Reads the texts of `settings` and lays them out for batches of `batch_size`.

    Raises:
      ConfigError: `padded_to` of texts with targets.
      DataError: what the readers raise; a label that is not among the classes; a train set with
        one class, or that test repeats; vectors of no word of train.
    """
    read = sentiment_files.read(settings.source, settings.fractions)
    if read.targeted and settings.padded_to is not None:
        raise ConfigError("data.padded_to: texts with targets are not cut or padded; leave it out")
    columns = "column 1 is the text, column 2 the label"
    items = {part: _labelled(texts) for part, texts in read.parts.items()}
    labels = checks.classes(items, settings.classes, read.files, columns)
    parts = targeted.sentences(read.parts, read.tokenised)
    findings = _findings(settings, parts, "targets" if read.targeted else "texts")
    counts = {p: Counter(word for s in of for word in s.words) for p, of in parts.items()}
    forms, table, of_words = word_table.build(settings, counts)
    by_part = {part: targeted.rows(of, settings.rows) for part, of in parts.items()}
    rows = [row for part in splits.PARTS for row in by_part[part]]
    padded = targeted.padded(rows, settings.padded_to)
    laid_out = targeted.lay_out(padded, forms, labels, batch_size, settings.max_widths)
    given_split = splits.given_split(by_part, laid_out.numbers)
    groups = _groups(by_part, laid_out.numbers)
    return Classified(
        corpus=Corpus(laid_out.columns, table.shared()),
        given_split=given_split,
        table=table,
        labels=labels,
        targeted=read.targeted,
        tokenised=read.tokenised,
        groups=groups,
        sizes=_sizes(settings, groups, given_split),
        settings=settings,
        fingerprint=splits.fingerprint(parts),
        shapes=laid_out.shapes,
        findings=read.findings.joined(findings, of_words),
        positions=laid_out.numbers,
    )


def _labelled(texts: Sequence[LabelledText]) -> list[checks.Labelled]:
    return [
        checks.Labelled(target.label, text.text, line)
        for text in texts
        for target, line in zip(text.targets, text.lines or [0] * len(text.targets), strict=True)
    ]


def _findings(
    settings: SentimentData, parts: Mapping[str, Sequence[TargetedSentence]], items: str
) -> checks.Findings:
    """Sizes of the parts, and what is odd about them."""
    where = settings.source.path or "generated corpus"
    labels = {p: Counter(t.label for s in of for t in s.targets) for p, of in parts.items()}
    facts: dict[str, Any] = {
        "texts": {part: len(of_part) for part, of_part in parts.items()},
        "classes": {part: dict(sorted(counts.items())) for part, counts in labels.items()},
    }
    each = {p: [(s.words, t) for s in of for t in s.targets] for p, of in parts.items()}
    warnings = checks.repeats(each, where, items)
    for part, of_part in each.items():
        of_target: dict[tuple[Any, ...], set[str]] = {}
        for words, (start, end, label) in of_part:
            of_target.setdefault((words, start, end), set()).add(label)
        apart = {key: found for key, found in of_target.items() if len(found) > 1}
        for words, start, end in [*apart][:1]:
            example = f"{' '.join(words[start:end] or words)[:60]!r}"
            several = ", ".join(sorted(apart[words, start, end]))
            warnings.append(
                f"{part}: {len(apart)} {items} have several labels, such as {example} ({several})"
            )
    return checks.Findings(facts, [], warnings)


def _groups(by_part: Mapping[str, Sequence[Row]], chosen: Sequence[np.ndarray]) -> splits.Groups:
    """Rows of one text, known by its words."""
    rows = [row for part in splits.PARTS for row in by_part[part]]
    keys = [row.sentence.words for row in rows]
    labels = [[target.label for target in row.targets] for row in rows]
    parts = [part for part in splits.PARTS for _ in by_part[part]]
    return splits.collect(keys, labels, parts, chosen)


def _sizes(settings: SentimentData, groups: splits.Groups, given_split: splits.Rows) -> np.ndarray:
    """[P, B] rows of each part and bucket that hold those of any split that may be asked for."""
    own = np.array([[len(rows) for rows in given_split[part]] for part in splits.PARTS])
    if settings.vocabulary != "all":
        return own
    if settings.split == "block":
        return np.maximum(own, splits.most_rows(groups, settings.fractions))
    # not as in the given split where a text stands in several parts of it
    return np.maximum(own, groups.row_counts(groups.part))


def _deal(settings: SentimentData, groups: splits.Groups, number: int) -> np.ndarray:
    """Part [G] of each group in a random split."""
    if settings.split == "block":
        part = splits.block(groups, number, settings.fractions)
    else:
        part = splits.stratified(groups, number)
    for name, count in zip(splits.PARTS, np.bincount(part, minlength=3), strict=True):
        if not count:
            raise ConfigError(f"split {number}: no text is left for {name}, of {len(part)}")
    return part


@reading.settings
class SavedVocabulary(word_settings.SavedWords):
    """What the numbers of a trained classifier stand for."""

    labels: tuple[str, ...]
    targeted: bool
    tokenised: bool


def encode(
    settings: SentimentData, vocabulary: SavedVocabulary, texts: Sequence[LabelledText], batch: int
) -> tuple[list[Row], buckets.Encoded]:
    """Rows of texts, and these, for batches of so many, as a trained classifier reads them.

    A row is a target, or a sentence, in the order of the texts. Shared is row [F]; a bucket holds
    forms [N, T], length [N], start and end [N, K], targets [N].
    """
    (sentences,) = targeted.sentences({"texts": texts}, vocabulary.tokenised).values()
    rows = targeted.padded(targeted.rows(sentences, settings.rows), settings.padded_to)
    forms = ["", *sorted({word for sentence in sentences for word in sentence.words})]
    # a text to be classified has no label, or one that is not read
    labels = sorted({target.label for row in rows for target in row.targets})
    laid_out = targeted.lay_out(rows, forms, labels, batch, settings.max_widths)
    columns = [{k: v for k, v in arrays.items() if k != "labels"} for arrays in laid_out.columns]
    row = vocabulary.lookup(forms, settings.fold)
    return rows, buckets.Encoded({"row": row}, laid_out.numbers, columns)
