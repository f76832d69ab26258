"""Sources without targets as arrays, by the vocabulary of a trained model.

Notation: N sources of a bucket, T its width.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxeval.config import reading
from jaxeval.data import buckets, seq2seq, symbols, text
from jaxeval.data.seq2seq import Seq2SeqData
from jaxeval.data.seq2seq_vocabularies import SequencePair, Vocabularies
from jaxeval.errors import DataError


@reading.settings
class SavedVocabulary:
    """As `Vocabularies.to_dict` gives it."""

    specials: tuple[str, ...]
    source: tuple[str, ...]
    target: tuple[str, ...]
    features: tuple[str, ...] | None

    @property
    def vocabularies(self) -> Vocabularies:
        """Numbers of symbols."""
        source, target = symbols.Vocabulary(self.source), symbols.Vocabulary(self.target)
        features = None if self.features is None else symbols.Vocabulary(self.features)
        return Vocabularies(source, target, features)


class Sources(NamedTuple):
    """The lines of a file that hold a source, and their symbols."""

    lines: Sequence[str]
    pairs: Sequence[SequencePair]


def read(settings: Seq2SeqData, path: Path) -> Sources:
    """The sources of a file: columns as in training, of which the target's is not read.

    A line without tabs is a source as a whole, unless features belong to it. Empty lines are left
    out.

    Raises:
      DataError: a line without source or features, or one that is too long.
    """
    columns = {"source": settings.source_column}
    if settings.features_column:
        columns["features"] = settings.features_column
    lines, pairs = [], []
    for number, line in enumerate(text.iterate_lines(path), 1):
        if line:
            values = _values(line, columns, path, number)
            lines.append(line)
            pairs.append(seq2seq.pair_of(settings, values, path, number))
    return Sources(lines, pairs)


def _values(line: str, columns: dict[str, int], path: Path, number: int) -> dict[str, str]:
    fields = line.split("\t")
    if len(fields) == len(columns) == 1:
        return {"source": line}
    for name, column in columns.items():
        if column > len(fields) or not fields[column - 1].strip():
            expected = f"expected a column {column} ({name}), split at tabs"
            raise DataError(f"{expected}; it is empty or not there", path, number)
    return {name: fields[column - 1] for name, column in columns.items()}


def encode(
    settings: Seq2SeqData, vocabularies: Vocabularies, pairs: Sequence[SequencePair], batch: int
) -> tuple[list[np.ndarray], list[dict[str, np.ndarray]]]:
    """Of each bucket the sources in it, and their arrays source [N, T] and source_length [N].

    Args:
      batch: rows of a batch.
    """
    numbers = [vocabularies.encode_source(pair) for pair in pairs]
    lengths = [len(each) for each in numbers]
    widths = buckets.choose_widths(lengths, batch, settings.max_widths)
    chosen = buckets.assign(lengths, widths)
    columns = [seq2seq.padded("source", [numbers[row] for row in rows]) for rows in chosen]
    return chosen, columns
