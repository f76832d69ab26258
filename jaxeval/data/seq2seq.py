"""Pairs of sequences (inflection, grapheme-to-phoneme): columns of text -> padded arrays.

A source is START, its symbols, END, then its features, which are symbols of their own; a target is
START, its symbols, END (after Wiemerslage et al. 2024).

Notation: N pairs of a bucket, Ts and Tt its widths.
"""

import dataclasses
import functools
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import pydantic

from jaxeval.config import fields, reading
from jaxeval.config.fields import about
from jaxeval.contracts import Corpus, Findings
from jaxeval.data import buckets, corpora, splits, text
from jaxeval.data.text import Line
from jaxeval.errors import ConfigError, DataError, argument

SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")
PAD, START, END, UNKNOWN = range(len(SPECIALS))
_KEY = "data.{}_column"
_Unit = Literal["characters", "words"]


@reading.settings
class Seq2SeqData:
    """The source of the pairs and how they are read."""

    path: Annotated[str, fields.IMMATERIAL, about("folder of three tab-separated files")] = ""
    train: fields.FilePattern = "*train*"
    dev: fields.FilePattern = "*dev*"
    test: fields.FilePattern = "*test*"
    source_column: Annotated[fields.Column, about("column of sources, from 1")] = 1
    target_column: Annotated[fields.Column, about("column of targets, from 1")] = 2
    features_column: Annotated[
        int | None,
        pydantic.Field(ge=0, le=2**16, description="column of features, from 1; 0: none"),
    ] = None
    feature_separator: Annotated[
        str, pydantic.Field(min_length=1, description="separator of features")
    ] = ";"
    source_symbols: Annotated[_Unit, about("code points, or words between spaces")] = "characters"
    target_symbols: Annotated[_Unit, about("the same, for targets")] = "characters"
    tied: Annotated[bool, about("one vocabulary for sources and targets")] = True
    max_length: Annotated[
        fields.Length, about("maximum symbols of a source with features, or of a target")
    ] = 128
    train_items: Annotated[fields.Count | None, about("only the first n train pairs")] = None
    max_widths: Annotated[fields.Widths, about("maximum padded widths (compiled branches)")] = 12

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


@reading.settings
class Vocabularies:
    """The meaning of a model's numbers: the specials, then the symbols of train.

    Symbols may be spelt like specials. In a source, features have the numbers after all other
    symbols, with specials of their own: an unknown feature is not an unknown letter.
    """

    specials: tuple[str, ...] = SPECIALS
    source: tuple[str, ...]  # equal to `target` if they are tied
    target: tuple[str, ...]
    features: tuple[str, ...] | None  # None: there are none

    @functools.cached_property
    def source_names(self) -> tuple[str, ...]:
        """The name of each source number; features are in brackets."""
        features = () if self.features is None else (*SPECIALS, *self.features)
        return (*SPECIALS, *self.source, *(f"[{name}]" for name in features))

    @functools.cached_property
    def target_names(self) -> tuple[str, ...]:
        """The name of each target number."""
        return (*SPECIALS, *self.target)

    @functools.cached_property
    def _numbers(self) -> dict[str, dict[str, int]]:
        """The numbers of the symbols of each field."""
        begin = len(SPECIALS)
        begins = {"source": begin, "target": begin, "features": 2 * begin + len(self.source)}
        return {
            field: {symbol: n for n, symbol in enumerate(getattr(self, field) or (), first)}
            for field, first in begins.items()
        }

    def encode_source(self, pair: SequencePair) -> list[int]:
        """Returns the numbers of a pair's source and features."""
        source, features = self._numbers["source"], self._numbers["features"]
        symbols = (source.get(symbol, UNKNOWN) for symbol in pair.source)
        unknown = len(SPECIALS) + len(self.source) + UNKNOWN
        return [START, *symbols, END, *(features.get(name, unknown) for name in pair.features)]

    def encode_target(self, pair: SequencePair) -> list[int]:
        """Returns the numbers of a pair's target."""
        numbers = self._numbers["target"]
        return [START, *(numbers.get(symbol, UNKNOWN) for symbol in pair.target), END]

    def target_text(self, numbers: Sequence[int], unit: _Unit) -> str:
        """Returns a target or a model's output up to END, without START, as text."""
        begin = int(len(numbers) > 0 and numbers[0] == START)
        end = next((k for k, number in enumerate(numbers) if number == END), len(numbers))
        joint = "" if unit == "characters" else " "
        return joint.join(self.target_names[number] for number in numbers[begin:end])


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class SequenceCorpus(corpora.Source):
    """A corpus of pairs; all splits have the vocabularies of the given one.

    A bucket holds source [N, Ts], source_length [N], target [N, Tt] and target_length [N]; lengths
    count START, END and features; PAD follows. UNKNOWN in a target is a symbol that train lacks:
    any output for it is wrong, UNKNOWN too.
    """

    vocabularies: Vocabularies

    def vocabulary(self, number: int) -> Mapping[str, Any]:
        """Returns the vocabularies as JSON."""
        return reading.to_dict(self.vocabularies)


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
    rows, _, columns = buckets.to_buckets(numbers, batch_size, settings.max_widths, tight=True)
    unseen = {}
    remarks: list[str] = []
    warnings = corpora.repeats(parts, settings.path, "pairs")
    for side in SequencePair._fields:
        counts = {
            p: Counter(s for pair in own for s in getattr(pair, side)) for p, own in parts.items()
        }
        if side == "target" and len(counts["train"]) < 2:
            see = "see data.target_column and data.target_symbols"
            raise DataError(f"the targets of train have a single symbol; {see}", settings.path)
        unseen[side], lines = corpora.unseen(counts)
        remarks += [f"symbols of {side}: {line}" for line in lines]
        warnings += _mostly_unseen(counts, settings) if side == "target" else []
    widths = [[c[side].shape[1] for side in ("source", "target")] for c in columns]
    return SequenceCorpus(
        corpus=Corpus(tuple(columns), {}),
        given_split=splits.given(parts, rows),
        name=settings.path,
        fingerprint=splits.fingerprint(parts),
        facts={
            "pairs": {part: len(own) for part, own in parts.items()},
            "source_symbols": len(vocabularies.source_names),
            "target_symbols": len(vocabularies.target_names),
            "padded_widths": widths,
        },
        positions=rows,
        findings=Findings({"unseen_symbols": unseen}, remarks, warnings),
        vocabularies=vocabularies,
    )


def _mostly_unseen(counts: Mapping[str, Counter[str]], settings: Seq2SeqData) -> list[str]:
    """Warns of parts (-> symbols in targets) for which hardly any output can be right."""
    said = f"are not in train: are they {settings.target_symbols} (data.target_symbols)?"
    lacking = {p: sum(own[s] for s in {*own} - {*counts["train"]}) for p, own in counts.items()}
    most = [p for p, count in lacking.items() if 2 * count > counts[p].total()]
    return [f"most symbols in targets of {part} {said}" for part in most]


def _collect(pairs: Sequence[SequencePair], tied: bool) -> Vocabularies:
    """Returns the vocabularies of pairs, symbols in code-point order."""
    source, target, features = (
        {symbol for pair in pairs for symbol in getattr(pair, field)}
        for field in SequencePair._fields
    )
    if tied:
        source = target = source | target
    each = (tuple(sorted(own)) for own in (source, target, features))
    return Vocabularies(source=next(each), target=next(each), features=next(each) or None)


def _read(settings: Seq2SeqData) -> dict[str, list[SequencePair]]:
    """Returns the pairs of each part.

    Raises ConfigError: no folder named; DataError: no such folder or file; a line without source,
    target or features, or one that is too long.
    """
    if not settings.path:
        named = argument("data", "PATH")
        raise ConfigError(f"data: sequence to sequence needs pairs; {named}, or data.path")
    columns = {**settings.columns, "target": settings.target_column}
    parts = {}
    for part, file in text.find_parts(settings, "data").items():
        first = settings.train_items if part == "train" else None
        lines = itertools.islice(text.lines(file), first)
        parts[part] = [_pair(settings, line.columns(columns, _KEY), line) for line in lines]
    return parts


def _pair(settings: Seq2SeqData, values: Mapping[str, str], line: Line) -> SequencePair:
    """Returns the symbols of a line's source, and of its target and features, if any."""
    features: tuple[str, ...] = ()
    if "features" in values:
        features = tuple(values["features"].split(settings.feature_separator))
    if not all(feature.strip() for feature in features):
        raise line.error(f"an empty feature in {values['features']!r}")
    source = _split(values["source"], settings.source_symbols)
    target = _split(values.get("target", ""), settings.target_symbols)
    for name, length in (("source", len(source) + len(features)), ("target", len(target))):
        if length > settings.max_length:
            allowed = f"data.max_length allows {settings.max_length}"
            raise line.error(f"a {name} of {length} symbols; {allowed}")
    return SequencePair(source, target, features)


def _split(content: str, unit: _Unit) -> tuple[str, ...]:
    """Splits into code points, spaces included, or at ASCII spaces."""
    return tuple(content) if unit == "characters" else tuple(w for w in content.split(" ") if w)


def read_sources(
    settings: Seq2SeqData, path: Path, longest: int = 0
) -> tuple[list[str], list[SequencePair]]:
    """Returns the lines of a file that are not blank, and their sources; targets are ignored.

    A line without tabs is a source as a whole, unless features belong to it. Raises DataError: a
    line without source or features, or one longer than both the settings allow and `longest`.
    """
    settings = dataclasses.replace(settings, max_length=max(settings.max_length, longest))
    columns, lines, pairs = settings.columns, [], []
    for line in text.lines(path):
        alone = "\t" not in line.text and len(columns) == 1
        values = {"source": line.text} if alone else line.columns(columns, _KEY)
        lines.append(line.text)
        pairs.append(_pair(settings, values, line))
    return lines, pairs


def encode(
    settings: Seq2SeqData, vocabularies: Vocabularies, pairs: Sequence[SequencePair], batch: int
) -> buckets.BucketedRows:
    """Returns the sources in buckets: arrays source [N, Ts], source_length [N]."""
    numbers = {"source": [vocabularies.encode_source(pair) for pair in pairs]}
    return buckets.to_buckets(numbers, batch, settings.max_widths, tight=True)
