"""Pairs of sentences with a class each: files (or generated) -> padded arrays.

Notation: N pairs of a bucket, T its width in words, F word forms, V rows of the word table, Y
classes. Form 0 and row 0 are padding.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
import pydantic

from jaxeval.config import fields, reading
from jaxeval.contracts import Corpus, Split
from jaxeval.data import (
    buckets,
    checks,
    pair_sources,
    splits,
    text,
    vectors,
    word_settings,
    word_table,
    words,
)
from jaxeval.data.labelled_pairs import LabelledPair
from jaxeval.errors import DataError

_SIDES = ("premise", "hypothesis")
Parts = Mapping[str, Sequence[LabelledPair]]


@reading.settings
class PairData:
    """Where the pairs come from and how they are read."""

    source: Annotated[
        pair_sources.PairSource, pydantic.Field(description="files or the generated corpus")
    ] = pair_sources.PairSource()
    longest: Annotated[
        fields.Length | None, pydantic.Field(description="words of a sentence that are read")
    ] = None
    vectors: word_settings.VectorFile = None
    vectors_unknown: word_settings.UnknownVector = None
    without_vector: word_settings.WithoutVector = "own"
    dimension: word_settings.Dimension = 100
    min_count: word_settings.MinCount = 1
    lower_case: word_settings.LowerCase = True
    vocabulary: Annotated[
        word_settings.Scope, pydantic.Field(description="pairs whose words a model has rows for")
    ] = "train"
    max_widths: word_settings.MaxWidths = 12
    padded_to: word_settings.PaddedTo = None

    @property
    def where(self) -> str:
        """Where the pairs come from, for people."""
        return self.source.path or "generated corpus"


class Paired(NamedTuple):
    """A corpus ready for training.

    A bucket holds premise and hypothesis [N, T], premise_length and hypothesis_length [N] and
    labels [N], all int32; shared are row [F], vectors [V, D], pretrained [V].

    Attributes:
      labels: names of the Y classes.
      positions: bucket b: [N_b] of its pairs among all, train's first, then dev's, then test's.
    """

    corpus: Corpus
    given_split: splits.Rows
    table: word_table.WordTable
    labels: Sequence[str]
    settings: PairData
    fingerprint: str
    widths: Sequence[int]
    findings: checks.Findings
    positions: Sequence[np.ndarray]

    def vocabulary(self, number: int) -> dict[str, Any]:
        """What the numbers stand for to a member of a split, as plain JSON."""
        known = self.split(number).tables["known"]
        return {"labels": [*self.labels], **self.table.saved(known)}

    def split(self, number: int) -> Split:
        """Split `number` (0: as given) with its tables, as `word_table.WordTable.of_split`.

        Raises:
          ConfigError: a random split of a corpus with the vocabulary of the given one.
        """
        splits.refuse_foreign_vocabulary(number, self.settings.vocabulary == "all")
        rows = splits.numbered(self.given_split, number)
        chosen = zip(self.corpus.buckets, rows["train"], strict=True)
        forms = [bucket[side][of_bucket] for bucket, of_bucket in chosen for side in _SIDES]
        tables = self.table.of_split(forms, self.settings.min_count)
        return splits.split_of(rows, tables)


def build(settings: PairData, batch_size: int) -> Paired:
    """Reads the pairs of `settings` and lays them out for batches of `batch_size`.

    Raises:
      DataError: what the readers raise; a train set with one class, or that test repeats; a class
        that train lacks; vectors of no word of train.
    """
    read = pair_sources.read(settings.source)
    parts = {p: [cut(pair, settings.longest) for pair in of] for p, of in read.parts.items()}
    labels = _labels(read.parts, settings)
    of_part = {p: {word for pair in of for word in pair.words} for p, of in parts.items()}
    forms = ["", *sorted(set().union(*of_part.values()))]
    scope = word_settings.PARTS_OF[settings.vocabulary]
    vocabulary = set().union(*(of_part[part] for part in scope))
    table, pretrained = word_settings.build_table(settings, forms, vocabulary)
    pairs = [padded(pair, settings) for part in splits.PARTS for pair in parts[part]]
    lengths = [pair.longest for pair in pairs]
    widths = buckets.choose_widths(lengths, batch_size, settings.max_widths)
    rows = buckets.assign(lengths, widths)
    arrays = tuple(
        columns([pairs[row] for row in of_bucket], forms, width)
        | {"labels": np.array([labels.index(pairs[row].label) for row in of_bucket], np.int32)}
        for of_bucket, width in zip(rows, widths, strict=True)
    )
    findings = checks.Findings({}, read.remarks, read.warnings).joined(
        _findings(settings, parts, pretrained)
    )
    return Paired(
        corpus=Corpus(arrays, table.shared()),
        given_split=splits.given_split([part for part in splits.PARTS for _ in parts[part]], rows),
        table=table,
        labels=labels,
        settings=settings,
        fingerprint=splits.fingerprint(parts),
        widths=widths,
        findings=findings,
        positions=rows,
    )


def cut(pair: LabelledPair, longest: int | None) -> LabelledPair:
    """The first words of both sentences."""
    return pair._replace(premise=pair.premise[:longest], hypothesis=pair.hypothesis[:longest])


def padded(pair: LabelledPair, settings: PairData) -> LabelledPair:
    """As many words and padding as are read of both sentences."""
    premise, hypothesis = (
        words.padded(side, settings.padded_to) for side in (pair.premise, pair.hypothesis)
    )
    return pair._replace(premise=premise, hypothesis=hypothesis)


def _labels(parts: Parts, settings: PairData) -> list[str]:
    """The classes of train, sorted.

    Raises:
      DataError: there is one, or nearly as many as pairs, or another part has others.
    """
    where = settings.where
    of_rows = [pair.label for pair in parts["train"]]
    columns = "columns 1 and 2 are the sentences, column 3 the label, or a header names SNLI's"
    checks.refuse_own_labels(of_rows, columns, where)
    labels = sorted({*of_rows})
    if len(labels) < 2:
        raise DataError(f"the only label of train is {labels[0]!r}: nothing to learn", where)
    for part, pairs in parts.items():
        for pair in (pair for pair in pairs if pair.label not in labels):
            file = pair_sources.file_of(settings.source, part)
            expected = f"expected those of train: {checks.listed(labels)}"
            values = [pair.label, "".join(pair.premise), "".join(pair.hypothesis)]
            raise DataError(
                f"{part}: label {pair.label[:60]!r}; {expected}",
                file or where,
                None if file is None else text.line_with(file, values),
            )
    return labels


def _findings(settings: PairData, parts: Parts, read: vectors.Vectors | None) -> checks.Findings:
    """What is odd about the pairs, and how many of their words have a vector.

    Raises:
      DataError: test is train, or no word of train has a vector.
    """
    warnings = checks.repeats({p: [*of] for p, of in parts.items()}, settings.where, "pairs")
    facts, remarks, few = word_table.covered(parts, read, settings.vectors)
    of_part = {part: {word for pair in of for word in pair.words} for part, of in parts.items()}
    warnings += [*few, *checks.normalisation(of_part)]
    return checks.Findings(facts, remarks, warnings)


def columns(
    pairs: Sequence[LabelledPair], forms: Sequence[str], width: int
) -> dict[str, np.ndarray]:
    """One bucket's arrays, without labels."""
    number = {form: n for n, form in enumerate(forms)}
    arrays: dict[str, np.ndarray] = {}
    for side in _SIDES:
        sentences = [getattr(pair, side) for pair in pairs]
        numbered = np.zeros((len(pairs), width), np.int32)
        for row, sentence in enumerate(sentences):
            numbered[row, : len(sentence)] = [number[word] for word in sentence]
        arrays[side] = numbered
        arrays[f"{side}_length"] = np.array([len(s) for s in sentences], np.int32)
    return arrays
