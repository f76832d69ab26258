"""Sentiment of targets in their texts, or of whole texts -> padded arrays.

Notation: N rows of a bucket, T words and K targets to which they are padded, F word forms, V rows
of the word table, Y classes, P parts, B buckets. Form 0 and row 0 are padding.
"""

import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
import pydantic

from jaxeval.config import fields, reading
from jaxeval.config.fields import about
from jaxeval.contracts import Findings
from jaxeval.data import (
    buckets,
    corpora,
    generated,
    labelled_text,
    splits,
    text,
    word_table,
    words,
)
from jaxeval.data.buckets import BucketedRows
from jaxeval.data.labelled_text import FORMATS, SUFFIXES, LabelledText, Sentence
from jaxeval.errors import ConfigError, DataError, counted

_Fraction = Annotated[float, pydantic.Field(gt=0, lt=1)]
_PatternIfAny = Annotated[str | None, about("file name pattern; absent: drawn from train")]


@reading.settings
class SentimentSource:
    """Files, or the generated corpus."""

    path: fields.CorpusPath = None
    format: Annotated[
        Literal["auto", "semeval", "three_line", "json", "tsv", "sst", "trec"],
        about("auto: by the ending .xml, .raw, .seg, .json, .jsonl, .tsv"),
    ] = "auto"
    train: fields.FilePattern = "*[Tt]rain*"
    dev: _PatternIfAny = "*[Dd]ev*"
    test: _PatternIfAny = "*[Tt]est*"
    seed: Annotated[fields.Natural, about("seed of the generated corpus, or of drawn parts")] = 1
    sentences: Annotated[
        fields.Count, about("generated: size of train; dev and test have half")
    ] = 400


@reading.settings
class SentimentData(word_table.WordSettings):
    """The source of the texts and how they are read."""

    source: Annotated[SentimentSource, about("files or the generated corpus")] = SentimentSource()
    rows: Annotated[
        Literal["targets", "sentences"],
        about("one row per target, or a sentence with all its targets"),
    ] = "targets"
    split: Annotated[
        Literal["stratified", "block"],
        about("random splits: stratified over texts, or in blocks of neighbours"),
    ] = "stratified"
    dev_fraction: Annotated[_Fraction, about("share drawn for dev, of all but test")] = 0.2
    test_fraction: Annotated[_Fraction, about("share drawn for test")] = 0.2
    padded_to: word_table.PaddedTo = None


@reading.settings
class SavedVocabulary(word_table.SavedWords):
    """The meaning of a trained classifier's numbers."""

    labels: tuple[str, ...]
    targeted: bool  # whether labels are of targets
    tokenised: bool  # whether words are separated by blanks


def build(settings: SentimentData, batch_size: int) -> corpora.WordCorpus:
    """Reads the texts of `settings` and lays them out for batches of `batch_size`.

    A bucket holds forms [N, T], length [N], start and end [N, K] (words of each target, end
    exclusive, in text order; 0, 0 without a target), targets [N] (number of targets) and labels
    [N, K]. Raises ConfigError: `padded_to` of texts with targets; DataError: the texts cannot be
    read; a label is not among the classes; train has one class; test repeats train.
    """
    read = _read(settings)
    if read.targeted and settings.padded_to is not None:
        raise ConfigError("data.padded_to: texts with targets are not cut or padded; leave it out")
    labels = _classes(read)
    parts = labelled_text.tokenise(read.parts, read.tokenised, read.files)
    of_words = {p: [s.words for s in own] for p, own in parts.items()}
    forms, table, findings = word_table.build(settings, of_words)
    by_part = {part: _rows(settings, own) for part, own in parts.items()}
    rows = [row for part in splits.PARTS for row in by_part[part]]
    in_words = {"forms": [row.words for row in rows]}
    targets = _most_targets(rows)
    bucketed = buckets.words_to_buckets(in_words, forms, batch_size, settings, targets)
    _add_targets(bucketed, rows, labels)
    groups = splits.collect(
        [row.words for row in rows],
        [[target.label for target in row.targets] for row in rows],
        [part for part in splits.PARTS for _ in by_part[part]],
        bucketed.rows,
        (settings.dev_fraction, settings.test_fraction) if settings.split == "block" else None,
    )
    given = splits.given(by_part, bucketed.rows).values()
    least = groups.most_rows() if settings.vocabulary == "all" else 0
    sizes = np.maximum([[len(own) for own in part] for part in given], least)
    return corpora.WordCorpus.from_rows(
        settings,
        table,
        rows=by_part,
        bucketed=bucketed,
        noun=settings.rows,
        items=parts,
        labels=labels,
        saved={"labels": labels, "targeted": read.targeted, "tokenised": read.tokenised},
        facts={"labels": labels, "padded_targets": [shape.targets for shape in bucketed.shapes]},
        findings=_findings(settings, parts, read).joined(findings),
        groups=groups,
        sizes=sizes,
    )


class _Texts(NamedTuple):
    """Texts by part, and the file that each part was read or drawn from."""

    parts: Mapping[str, Sequence[LabelledText]]
    files: Mapping[str, str | Path]
    targeted: bool
    tokenised: bool
    remarks: Sequence[str] = ()  # about drawn parts


def _read(settings: SentimentData) -> _Texts:
    """Returns the texts of train, dev and test.

    If the files have no test, it is a fraction of train's texts; dev is then drawn from the rest.
    Raises DataError: a file that cannot be read; files with and without targets; too few texts to
    draw from; a folder without train, or with a file that no pattern fits.
    """
    source, remarks = settings.source, list[str]()
    if source.path is None:
        drawn = generated.texts(source.seed, source.sentences)
        return _Texts(drawn, dict.fromkeys(splits.PARTS, "generated corpus"), True, True)
    files = text.find_parts(source, "data.source", ("train",), alone=True)
    formats = {
        p: text.detect_format(f, source.format, SUFFIXES, FORMATS) for p, f in files.items()
    }
    parts = {part: FORMATS[formats[part]](file) for part, file in files.items()}
    targeted = {part: texts[0].targeted for part, texts in parts.items()}
    for part in parts:
        if targeted[part] != targeted["train"]:
            raise DataError(f"train and {part} differ: one has targets, one has none", source.path)
    for part, fraction in (("test", settings.test_fraction), ("dev", settings.dev_fraction)):
        if part not in files:
            parts["train"], parts[part] = _draw(source, parts["train"], part, fraction)
            share = f"{100 * fraction:.0f} % of train's texts, drawn by data.source.seed"
            remarks.insert(0, f"{part}: the files have none; it is {share} {source.seed}")
    return _Texts(
        {part: parts[part] for part in splits.PARTS},
        {part: files.get(part, files["train"]) for part in splits.PARTS},
        targeted["train"],
        formats["train"] in labelled_text.TOKENISED,
        remarks,
    )


def _draw(
    source: SentimentSource, texts: Sequence[LabelledText], part: str, fraction: float
) -> tuple[list[LabelledText], list[LabelledText]]:
    """Draws a fraction of the different texts for a part; returns the other texts and these."""
    different = [*dict.fromkeys(each.text for each in texts)]
    size = int(fraction * len(different))
    if not size or size == len(different):
        few = f"{counted(len(different), 'text')}: too few to draw {100 * fraction:g} % for {part}"
        raise DataError(f"{few}; add texts, or change data.{part}_fraction", source.path)
    generator = np.random.default_rng([source.seed, splits.PARTS.index(part)])
    drawn = {different[k] for k in generator.permutation(len(different))[:size]}
    return [t for t in texts if t.text not in drawn], [t for t in texts if t.text in drawn]


def _classes(read: _Texts) -> list[str]:
    items = {
        part: [
            (target.label, each.text, line)
            for each in texts
            for target, line in zip(each.targets, each.lines, strict=True)
        ]
        for part, texts in read.parts.items()
    }
    return corpora.classes(items, read.files, "column 1 is the text, column 2 the label")


def _findings(
    settings: SentimentData, parts: Mapping[str, Sequence[Sentence]], read: _Texts
) -> Findings:
    """Returns sizes of the parts, and warnings about repeated items."""
    targets = {p: [(s.words, t) for s in own for t in s.targets] for p, own in parts.items()}
    counts = {p: Counter(target.label for _, target in own) for p, own in targets.items()}
    classes = {part: dict(sorted(own.items())) for part, own in counts.items()}
    texts = {part: len(own) for part, own in parts.items()}
    noun = "targets" if read.targeted else "texts"
    warnings = corpora.repeats(targets, settings.source.path, noun)
    return Findings({"texts": texts, "classes": classes}, read.remarks, warnings)


def _rows(settings: SentimentData, sentences: Sequence[Sentence]) -> list[Sentence]:
    """Returns a row for each target, or for each sentence; texts without targets are padded."""
    padded = [s._replace(words=words.pad(s.words, settings.padded_to)) for s in sentences]
    if settings.rows == "sentences":
        return padded
    return [s._replace(targets=(target,)) for s in padded for target in s.targets]


def _most_targets(rows: Sequence[Sentence]) -> list[int]:
    """Returns for each row the most targets of a row with its text.

    Rows of one text lie in one bucket, since splits keep them together.
    """
    most: dict[tuple[str, ...], int] = {}
    for row in rows:
        most[row.words] = max(len(row.targets), most.get(row.words, 1))
    return [most[row.words] for row in rows]


def _add_targets(bucketed: BucketedRows, rows: Sequence[Sentence], labels: Sequence[str]) -> None:
    """Adds the arrays start, end, targets and labels to buckets of rows."""
    ids = {label: number for number, label in enumerate(labels)}  # others are unlabelled
    for bucket, shape, arrays in zip(*bucketed, strict=True):
        each = [[(t.start, t.end, ids.get(t.label, 0)) for t in rows[k].targets] for k in bucket]
        columns = [[[target[k] for target in own] for own in each] for k in range(3)]
        start, end, classes = (buckets.pad(column, shape.targets) for column in columns)
        arrays |= {"start": start, "end": end, "targets": buckets.count(each), "labels": classes}


def read_unlabelled(
    source: SentimentSource, path: Path, targeted: bool, labels: Sequence[str]
) -> list[LabelledText]:
    """Reads the texts of a file in a format of training, else one text a line.

    Labels are ignored; JSON and tab-separated lines may lack them. A file is tab-separated if it
    is named `*.tsv`, or if `source.format` says so. Lines are SST's or TREC's if that is the
    format and all begin with one of `labels`. Raises DataError: a line without a text; with a
    target, or without one, other than the classifier was trained on (`targeted`); tabs in other
    files; `labels` in place of texts.
    """
    suffix = text.suffix(path)
    read: list[LabelledText] = []
    named = SUFFIXES.get(suffix)
    if targeted or named not in (None, "tsv"):
        if named in ("semeval", "three_line"):
            read = FORMATS[named](path)
        else:
            read = labelled_text.read_json(path, labelled=False)
        if read[0].targeted != targeted:
            needs = "a target in every line" if targeted else "texts without targets"
            raise DataError(f"expected {needs}, as the classifier was trained on", path)
        return read
    if source.format in ("sst", "trec"):
        with contextlib.suppress(DataError):
            labelled = FORMATS[source.format](path)
            if {each.targets[0].label for each in labelled} <= {*labels}:
                return labelled
    for line in text.lines(path):
        content = line.text
        if suffix == ".tsv" or source.format == "tsv":
            content = line.columns({"text": 1})["text"]
        elif "\t" in content:
            expected = "expected a text, found columns; a file of columns is named *.tsv"
            raise line.error(f"{expected}, with the text in column 1 and its label in column 2")
        read.append(labelled_text.without_target(content, line.number))
    if 2 * sum(each.text.strip() in labels for each in read) > len(read):
        raise DataError("most texts are labels; expected the text in column 1", path)
    return read


def encode(
    settings: SentimentData,
    vocabulary: SavedVocabulary,
    texts: Sequence[LabelledText],
    file: Path,
    batch: int,
) -> tuple[list[Sentence], buckets.Encoded]:
    """Encodes texts of a file for a trained classifier, in batches; returns the rows, too.

    A row is a target, or a sentence, in the order of the texts. Shared is row [F]; a bucket holds
    the arrays of `build`, with meaningless labels. Raises DataError as `labelled_text.tokenise`.
    """
    split = labelled_text.tokenise({"": texts}, vocabulary.tokenised, {"": file})
    rows = _rows(settings, split[""])
    in_words = {"forms": [row.words for row in rows]}
    targets = _most_targets(rows)
    _, encoded = buckets.encode(vocabulary, in_words, batch, settings, targets)
    _add_targets(encoded[1], rows, vocabulary.labels)
    return rows, encoded
