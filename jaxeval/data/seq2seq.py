"""Pairs of sequences (inflection, grapheme-to-phoneme): columns of text -> padded arrays.

A source is START, its symbols, END, then its features, which are symbols of their own; a target is
START, its symbols, END (after Wiemerslage et al. 2024).

Notation: N pairs of a bucket, Ts and Tt its widths.
"""

import dataclasses
import functools
import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
import pydantic

from jaxeval.config import fields, reading
from jaxeval.config.fields import about
from jaxeval.contracts import Corpus, Split
from jaxeval.data import checks, corpora, splits, text
from jaxeval.errors import ConfigError, DataError, argument
from jaxeval.files import Json

SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")
PAD, START, END, UNKNOWN = range(len(SPECIALS))
_Unit = Literal["characters", "words"]


@reading.settings
class Seq2SeqData:
    """The source of the pairs and how they are read."""

    path: Annotated[
        str,
        fields.IMMATERIAL,
        about("folder of three tab-separated files, one pair per line"),
    ] = ""
    train: fields.FilePattern = "*train*"
    dev: fields.FilePattern = "*dev*"
    test: fields.FilePattern = "*test*"
    source_column: Annotated[fields.Column, about("from 1")] = 1
    target_column: Annotated[fields.Column, about("from 1")] = 2
    features_column: Annotated[
        int | None, pydantic.Field(ge=0, le=2**16, description="from 1; 0 or absent: no features")
    ] = None
    feature_separator: Annotated[
        str, pydantic.Field(min_length=1, description="stands between features")
    ] = ";"
    source_symbols: Annotated[_Unit, about("code points, or words between spaces")] = "characters"
    target_symbols: Annotated[_Unit, about("likewise; words: phones between spaces")] = (
        "characters"
    )
    tied: Annotated[bool, about("one vocabulary for sources and targets")] = True
    max_length: Annotated[
        fields.Length, about("most symbols of a source with features, of a target")
    ] = 128
    train_items: Annotated[fields.Count | None, about("only the first n train pairs")] = None
    max_widths: Annotated[fields.Widths, about("padded widths (compiled branches) at most")] = 12

    @pydantic.model_validator(mode="after")
    def _distinct(self) -> "Seq2SeqData":
        columns = [c for c in (self.source_column, self.target_column, self.features_column) if c]
        if len({*columns}) < len(columns):
            given = ", ".join(map(str, columns))
            names = "source_column, target_column and features_column"
            raise ValueError(f"{names} must differ: a source must not hold its target ({given})")
        return self

    @property
    def columns(self) -> dict[str, int]:
        """Columns of the source and of its features, if any."""
        features = {"features": self.features_column} if self.features_column else {}
        return {"source": self.source_column, **features}


class SequencePair(NamedTuple):
    """A source, its target and its features, in symbols."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    features: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class _Vocabulary:
    """Numbers of symbols: the specials, then `symbols`, which may be spelt like specials."""

    symbols: tuple[str, ...]

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """The name of each number."""
        return (*SPECIALS, *self.symbols)

    @functools.cached_property
    def _numbers(self) -> Mapping[str, int]:
        return {symbol: number for number, symbol in enumerate(self.symbols, len(SPECIALS))}

    def __len__(self) -> int:
        return len(self.names)

    def encode(self, symbols: Iterable[str]) -> list[int]:
        """Returns the numbers of symbols; UNKNOWN for symbols that it lacks."""
        return [self._numbers.get(symbol, UNKNOWN) for symbol in symbols]


class Vocabularies(NamedTuple):
    """Vocabularies of train; in a source, features have the numbers after all other symbols.

    Attributes:
      features: None if there are none; it has its own specials, so that an unknown feature is not
        an unknown letter.
    """

    source: _Vocabulary  # equal to `target` if they are tied
    target: _Vocabulary
    features: _Vocabulary | None

    def to_dict(self) -> dict[str, Json]:
        """Returns the keys of `SavedVocabulary`, symbols in the order of their numbers."""
        return {
            "specials": [*SPECIALS],
            "source": [*self.source.symbols],
            "target": [*self.target.symbols],
            "features": None if self.features is None else [*self.features.symbols],
        }

    @property
    def source_names(self) -> tuple[str, ...]:
        """The name of each source number; features are in brackets."""
        features = () if self.features is None else self.features.names
        return (*self.source.names, *(f"[{name}]" for name in features))

    def encode_source(self, pair: SequencePair) -> list[int]:
        """Returns the numbers of a pair's source and features."""
        features = [] if self.features is None else self.features.encode(pair.features)
        shifted = (len(self.source) + number for number in features)
        return [START, *self.source.encode(pair.source), END, *shifted]

    def encode_target(self, pair: SequencePair) -> list[int]:
        """Returns the numbers of a pair's target."""
        return [START, *self.target.encode(pair.target), END]

    def target_text(self, numbers: Sequence[int], unit: _Unit) -> str:
        """Returns a target or a model's output up to END, without START, as text."""
        begin = int(len(numbers) > 0 and numbers[0] == START)
        end = next((k for k, number in enumerate(numbers) if number == END), len(numbers))
        joint = "" if unit == "characters" else " "
        return joint.join(self.target.names[number] for number in numbers[begin:end])


@reading.settings
class SavedVocabulary:
    """The meaning of a trained model's numbers."""

    specials: tuple[str, ...]
    source: tuple[str, ...]
    target: tuple[str, ...]
    features: tuple[str, ...] | None

    @property
    def vocabularies(self) -> Vocabularies:
        """The vocabularies."""
        features = None if self.features is None else _Vocabulary(self.features)
        return Vocabularies(_Vocabulary(self.source), _Vocabulary(self.target), features)


class SequenceCorpus(NamedTuple):
    """A corpus ready for training.

    A bucket holds source [N, Ts], source_length [N], target [N, Tt] and target_length [N]; lengths
    count START, END and features; PAD follows. UNKNOWN in a target is a symbol that train lacks:
    any output for it is wrong, UNKNOWN too.
    """

    corpus: Corpus
    given_split: splits.Rows
    vocabularies: Vocabularies
    fingerprint: str
    findings: checks.Findings
    positions: Sequence[np.ndarray]  # bucket b: [N_b] numbers of its pairs: train, dev, test

    def split(self, number: int) -> Split:
        """Returns split `number` (0: the given one); vocabularies are those of the given one."""
        return splits.to_split(splits.deal(self.given_split, number), ())


def build(settings: Seq2SeqData, batch_size: int) -> SequenceCorpus:
    """Reads the pairs of `settings` and lays them out for batches of `batch_size`.

    Raises ConfigError: no folder named; DataError: as `_read`; train's targets have a single
    symbol; test repeats train.
    """
    parts = _read(settings)
    pairs = [pair for part in splits.PARTS for pair in parts[part]]
    vocabularies = _collect(parts["train"], settings.tied)
    numbers = {
        "source": [vocabularies.encode_source(pair) for pair in pairs],
        "target": [vocabularies.encode_target(pair) for pair in pairs],
    }
    rows, _, columns = corpora.lay_out(numbers, batch_size, settings.max_widths, tight=True)
    unseen, remarks = {}, list[str]()
    warnings = checks.repeats(parts, settings.path, "pairs")
    for side in SequencePair._fields:
        counts = {
            p: Counter(s for pair in own for s in getattr(pair, side)) for p, own in parts.items()
        }
        if side == "target" and len(counts["train"]) < 2:
            see = "see data.target_column and data.target_symbols"
            raise DataError(f"the targets of train have a single symbol; {see}", settings.path)
        unseen[side], lines = checks.unseen(counts)
        remarks += [f"symbols of {side}: {line}" for line in lines]
        texts = {p: {"".join(getattr(pair, side)) for pair in own} for p, own in parts.items()}
        warnings += [f"{side}: {line}" for line in checks.unicode_forms(texts)]
    return SequenceCorpus(
        Corpus(tuple(columns), {}),
        splits.given(parts, rows),
        vocabularies,
        splits.fingerprint(parts),
        checks.Findings({"unseen_symbols": unseen}, remarks, warnings),
        rows,
    )


def _collect(pairs: Sequence[SequencePair], tied: bool) -> Vocabularies:
    """Returns the vocabularies of pairs, symbols in code-point order."""
    source, target, features = (
        {symbol for pair in pairs for symbol in getattr(pair, field)}
        for field in SequencePair._fields
    )
    if tied:
        source = target = source | target
    each = [_Vocabulary(tuple(sorted(own))) for own in (source, target, features)]
    return Vocabularies(each[0], each[1], each[2] if features else None)


def _read(settings: Seq2SeqData) -> dict[str, list[SequencePair]]:
    """Returns the pairs of each part.

    Raises ConfigError: no folder named; DataError: no such folder or file; a line without source,
    target or features, or one that is too long.
    """
    if not settings.path:
        named = argument("data", "PATH")
        raise ConfigError(f"data: sequence to sequence needs pairs; {named}, or data.path")
    columns, parts = {**settings.columns, "target": settings.target_column}, {}
    for part, file in text.find_parts(settings, "data").items():
        first = settings.train_items if part == "train" else None
        rows = itertools.islice(text.columns(file, columns), first)
        parts[part] = [_pair(settings, values, file, line) for line, values in rows]
    return parts


def _pair(settings: Seq2SeqData, values: Mapping[str, str], file: Path, line: int) -> SequencePair:
    """Returns the symbols of a line's source, and of its target and features, if any."""
    features: tuple[str, ...] = ()
    if "features" in values:
        features = tuple(values["features"].split(settings.feature_separator))
    if not all(feature.strip() for feature in features):
        raise DataError(f"an empty feature in {values['features']!r}", file, line)
    source = _split(values["source"], settings.source_symbols)
    target = _split(values.get("target", ""), settings.target_symbols)
    for name, length in (("source", len(source) + len(features)), ("target", len(target))):
        if length > settings.max_length:
            message = f"a {name} of {length} symbols; data.max_length allows {settings.max_length}"
            raise DataError(message, file, line)
    return SequencePair(source, target, features)


def _split(content: str, unit: _Unit) -> tuple[str, ...]:
    """Splits into code points, spaces included, or at ASCII spaces."""
    return tuple(content) if unit == "characters" else tuple(w for w in content.split(" ") if w)


def read_sources(settings: Seq2SeqData, path: Path) -> tuple[list[str], list[SequencePair]]:
    """Returns the lines of a file that are not empty, and their sources; targets are ignored.

    A line without tabs is a source as a whole, unless features belong to it. Raises DataError: a
    line without source or features, or one that is too long.
    """
    columns, lines, pairs = settings.columns, [], []
    for number, line in enumerate(text.iterate_lines(path), 1):
        if line:
            alone = "\t" not in line and len(columns) == 1
            values = {"source": line} if alone else text.values(line, columns, path, number)
            lines.append(line)
            pairs.append(_pair(settings, values, path, number))
    return lines, pairs


def encode(
    settings: Seq2SeqData, vocabularies: Vocabularies, pairs: Sequence[SequencePair], batch: int
) -> tuple[list[np.ndarray], list[dict[str, np.ndarray]]]:
    """Returns the sources in each bucket, and their arrays source [N, Ts], source_length [N]."""
    numbers = {"source": [vocabularies.encode_source(pair) for pair in pairs]}
    rows, _, columns = corpora.lay_out(numbers, batch, settings.max_widths, tight=True)
    return rows, columns
