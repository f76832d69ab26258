"""Sentiment of targets in their texts, or of whole texts: files (or generated) -> padded arrays.

Notation: N rows of a bucket, T words and K targets that they are padded to, F word forms, V rows
of the word table, Y classes. Form 0 and row 0 are padding.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pydantic

from jaxeval.config import reading
from jaxeval.contracts import GIVEN_SPLIT, Corpus, Split
from jaxeval.data import (
    buckets,
    checks,
    group_splits,
    sentiment_checks,
    sentiment_sources,
    splits,
    targeted,
    word_settings,
    word_table,
)
from jaxeval.data.sentiment_checks import Parts
from jaxeval.data.targeted import Row
from jaxeval.errors import ConfigError

_Fraction = Annotated[float, pydantic.Field(gt=0, lt=1)]


@reading.settings
class SentimentData:
    """Where the texts come from and how they are read."""

    source: Annotated[
        sentiment_sources.SentimentSource,
        pydantic.Field(description="files or the generated corpus"),
    ] = sentiment_sources.SentimentSource()
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
    vectors: word_settings.VectorFile = None
    vectors_unknown: word_settings.UnknownVector = None
    without_vector: word_settings.WithoutVector = "own"
    dimension: word_settings.Dimension = 100
    min_count: word_settings.MinCount = 1
    lower_case: word_settings.LowerCase = True
    vocabulary: Annotated[
        word_settings.Scope,
        pydantic.Field(description="texts whose words a model has rows for"),
    ] = "train"
    max_widths: word_settings.MaxWidths = 12
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
    def where(self) -> str:
        """Where the texts come from, for people."""
        return self.source.path or "generated corpus"

    @property
    def fractions(self) -> group_splits.Fractions:
        """Of dev and test where they are drawn."""
        return group_splits.Fractions(self.dev_fraction, self.test_fraction)


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
    groups: group_splits.Groups
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
        """What the numbers stand for to a member of a split, as plain JSON.

        Any word is looked up as `word_table.WordTable` says; see its `saved`.
        """
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
        rows = self._rows(number)
        seen = []
        for b, chosen in enumerate(rows["train"]):
            real = chosen[chosen >= 0]
            _, first = np.unique(self.groups.of_row[b][real], return_index=True)
            seen.append(self.corpus.buckets[b]["forms"][real[first]])
        tables = self.table.of_split(seen, self.settings.min_count)
        return splits.split_of(rows, tables)

    def _rows(self, number: int) -> splits.Rows:
        if number == GIVEN_SPLIT:
            return group_splits.pad(self.given_split, self.sizes)
        splits.refuse_foreign_vocabulary(number, self.pooled)
        part = _deal(self.settings, self.groups, number)
        return group_splits.pad(group_splits.to_rows(self.groups, part), self.sizes)


def build(settings: SentimentData, batch_size: int) -> Classified:
    """Reads the texts of `settings` and lays them out for batches of `batch_size`.

    Raises:
      ConfigError: `padded_to` of texts with targets.
      DataError: what the readers raise; a label that is not among the classes; a train set with
        one class, or that test repeats; vectors of no word of train.
    """
    read = sentiment_sources.read(settings.source, settings.fractions)
    parts = targeted.sentences(read.parts, read.tokenised)
    if read.targeted and settings.padded_to is not None:
        raise ConfigError("data.padded_to: texts with targets are not cut or padded; leave it out")
    labels = sentiment_checks.classes(
        parts,
        settings.classes,
        settings.where,
        lambda part: sentiment_sources.file_of(settings.source, part),
    )
    forms, table, findings = _words(settings, read, parts)
    rows = [row for part in splits.PARTS for row in targeted.rows(parts[part], settings.rows)]
    names = [p for p in splits.PARTS for _ in targeted.rows(parts[p], settings.rows)]
    padded = targeted.padded(rows, settings.padded_to)
    numbers = targeted.Numbers(forms, labels)
    laid_out = targeted.lay_out(padded, numbers, batch_size, settings.max_widths)
    given_split = splits.given_split(names, laid_out.numbers)
    groups = _groups(rows, names, laid_out.numbers)
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
        findings=findings,
        positions=laid_out.numbers,
    )


def _words(
    settings: SentimentData, read: sentiment_sources.TextParts, parts: Parts
) -> tuple[list[str], word_table.WordTable, checks.Findings]:
    """All word forms, padding first; their rows; what is told of the texts."""
    of_part = {part: {w for s in parts[part] for w in s.words} for part in splits.PARTS}
    forms = ["", *sorted(set().union(*of_part.values()))]
    scope = word_settings.PARTS_OF[settings.vocabulary]
    vocabulary = set().union(*(of_part[part] for part in scope))
    table, pretrained = word_settings.build_table(settings, forms, vocabulary)
    findings = sentiment_checks.findings(
        parts, read.targeted, settings.where, pretrained, settings.vectors
    )
    files = sentiment_checks.of_files(settings.source, read, settings.fractions)
    return forms, table, files.joined(findings)


def _groups(
    rows: Sequence[Row], parts: Sequence[str], chosen: Sequence[np.ndarray]
) -> group_splits.Groups:
    """Rows of one text, told by its words."""
    keys = [row.sentence.words for row in rows]
    labels = [[target.label for target in row.targets] for row in rows]
    return group_splits.collect(keys, labels, parts, chosen)


def _sizes(
    settings: SentimentData, groups: group_splits.Groups, given_split: splits.Rows
) -> np.ndarray:
    """[P, B] rows of each part and bucket that hold those of any split that may be asked for."""
    own = np.array([[len(rows) for rows in given_split[part]] for part in splits.PARTS])
    if settings.vocabulary != "all":
        return own
    if settings.split == "block":
        return np.maximum(own, group_splits.most_rows(groups, settings.fractions))
    # not as in the given split where a text stands in several parts of it
    return np.maximum(own, groups.row_counts(groups.part))


def _deal(settings: SentimentData, groups: group_splits.Groups, number: int) -> np.ndarray:
    """Part [G] of each group in a random split.

    Raises:
      ConfigError: one that is empty.
    """
    if settings.split == "block":
        part = group_splits.block(groups, number, settings.fractions)
    else:
        part = group_splits.stratified(groups, number)
    for name, count in zip(splits.PARTS, np.bincount(part, minlength=3), strict=True):
        if not count:
            raise ConfigError(f"split {number}: no text is left for {name}, of {len(part)}")
    return part
