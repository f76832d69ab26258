"""Pairs of sentences with a class each: files (or generated) -> padded arrays.

Notation: N pairs of a bucket, T its width in words, F word forms, V rows of the word table, Y
classes. Form 0 and row 0 are padding.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from jaxeval.config import fields, reading
from jaxeval.config.fields import about
from jaxeval.contracts import Corpus, Split
from jaxeval.data import buckets, checks, pair_files, splits, word_table, words
from jaxeval.data.generated_texts import LabelledPair
from jaxeval.data.pair_files import PairSource, Row

_SIDES = ("premise", "hypothesis")


@reading.settings
class PairData(word_table.WordSettings):
    """Where the pairs come from and how they are read."""

    source: Annotated[PairSource, about("files or the generated corpus")] = PairSource()
    longest: Annotated[fields.Length | None, about("words of a sentence that are read")] = None
    padded_to: word_table.PaddedTo = None


class Paired(NamedTuple):
    """A corpus ready for training.

    A bucket holds premise and hypothesis [N, T], premise_length and hypothesis_length [N] and
    labels [N], all int32; shared are row [F], vectors [V, D], pretrained [V].

    Attributes:
      positions: bucket b: [N_b] of its pairs among all, train's first, then dev's, then test's.
    """

    corpus: Corpus
    given_split: splits.Rows
    table: word_table.WordTable
    labels: Sequence[str]  # names of the Y classes
    settings: PairData
    fingerprint: str
    widths: Sequence[int]
    findings: checks.Findings
    positions: Sequence[np.ndarray]

    def vocabulary(self, number: int) -> dict[str, Any]:
        """What the numbers stand for to a member of a split, as plain JSON: `SavedVocabulary`."""
        known = self.split(number).tables["known"]
        return {"labels": [*self.labels], **self.table.saved(known)}

    def split(self, number: int) -> Split:
        """Split `number` (0: as given) with its tables, as of `WordTable.of_split`.

        Raises ConfigError: a random split of a corpus with the vocabulary of the given one.
        """
        rows = splits.numbered(self.given_split, number, self.settings.vocabulary == "all")
        chosen = zip(self.corpus.buckets, rows["train"], strict=True)
        forms = [bucket[side][of_bucket] for bucket, of_bucket in chosen for side in _SIDES]
        return splits.split_of(rows, self.table.of_split(forms, self.settings.min_count))


def build(settings: PairData, batch_size: int) -> Paired:
    """Reads the pairs of `settings` and lays them out for batches of `batch_size`.

    Raises DataError: what the readers raise; a train set with one class, or that test repeats; a
    class that train lacks; vectors of no word of train.
    """
    read = pair_files.read(settings.source)
    columns = "columns 1 and 2 are the sentences, column 3 the label, or a header names SNLI's"
    labelled = {
        part: [(pair.label, " ".join(pair.premise), pair.line) for pair in of]
        for part, of in read.parts.items()
    }
    labels = checks.classes(labelled, None, read.files, columns)
    parts = {p: [_cut(pair, settings.longest) for pair in of] for p, of in read.parts.items()}
    items = {part: [pair[:3] for pair in of] for part, of in parts.items()}
    warnings = checks.repeats(items, settings.source.path or "generated corpus", "pairs")
    counts = {p: Counter(word for pair in of for word in pair.words) for p, of in parts.items()}
    forms, table, of_words = word_table.build(settings, counts)
    pairs = [pair for part in splits.PARTS for pair in parts[part]]
    rows, widths, arrays = _lay_out(pairs, forms, batch_size, settings)
    for of_bucket, of_arrays in zip(rows, arrays, strict=True):
        classes = [labels.index(pairs[row].label) for row in of_bucket]
        of_arrays["labels"] = np.array(classes, np.int32)
    return Paired(
        corpus=Corpus(tuple(arrays), table.shared()),
        given_split=splits.given_split(parts, rows),
        table=table,
        labels=labels,
        settings=settings,
        fingerprint=splits.fingerprint(items),
        widths=widths,
        findings=read.findings.joined(checks.Findings(warnings=warnings), of_words),
        positions=rows,
    )


def _cut(pair: LabelledPair, longest: int | None) -> LabelledPair:
    """The first words of both sentences."""
    return pair._replace(premise=pair.premise[:longest], hypothesis=pair.hypothesis[:longest])


def _lay_out(
    pairs: Sequence[LabelledPair], forms: Sequence[str], batch: int, settings: PairData
) -> buckets.LaidOut:
    number = {form: n for n, form in enumerate(forms)}
    numbers = {
        side: [
            [number[word] for word in words.padded(getattr(pair, side), settings.padded_to)]
            for pair in pairs
        ]
        for side in _SIDES
    }
    return buckets.lay_out(numbers, batch, settings.max_widths)


@reading.settings
class SavedVocabulary(word_table.SavedWords):
    """What the numbers of a trained classifier stand for."""

    labels: tuple[str, ...]


def encode(
    settings: PairData, vocabulary: SavedVocabulary, of: Sequence[Row], file: Path, batch: int
) -> buckets.Encoded:
    """Pairs of a file, for batches of so many, as a trained classifier reads them.

    Shared is row [F]; a bucket holds premise and hypothesis [N, T] and their lengths [N]. Raises
    DataError: a sentence without words.
    """
    at_blanks = settings.source.format == "ppdb"
    pairs = [_cut(pair_files.in_words(row, at_blanks, file), settings.longest) for row in of]
    forms = ["", *sorted({word for pair in pairs for word in pair.words})]
    rows, _, columns = _lay_out(pairs, forms, batch, settings)
    return buckets.Encoded({"row": vocabulary.lookup(forms, settings.fold)}, rows, columns)
