"""Pairs of sequences (inflection, grapheme-to-phoneme): columns of text -> padded arrays.

Notation: N pairs of a bucket, Ts and Tt its widths.

A source is START, its symbols, END, then its features, which are symbols of their own; a target is
START, its symbols, END (after Wiemerslage et al. 2024).
"""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import pydantic

from jaxeval.config import fields, reading
from jaxeval.config.fields import about
from jaxeval.contracts import Corpus, Split
from jaxeval.data import buckets, checks, splits, symbols, text
from jaxeval.data.symbols import SequencePair, Vocabularies
from jaxeval.errors import ConfigError, DataError, argument


@reading.settings
class Seq2SeqData:
    """Where the pairs come from and how they are read."""

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
    source_symbols: Annotated[symbols.Unit, about("code points, or words between spaces")] = (
        "characters"
    )
    target_symbols: Annotated[symbols.Unit, about("likewise; words: phones between spaces")] = (
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
            raise ValueError(
                "source_column, target_column and features_column must differ: a model would be "
                f"told what it is to generate (got {', '.join(map(str, columns))})"
            )
        return self


Parts = Mapping[str, Sequence[SequencePair]]


class Pairs(NamedTuple):
    """A corpus ready for training.

    A bucket holds source [N, Ts], source_length [N], target [N, Tt] and target_length [N], all
    int32; lengths count START, END and features; PAD follows. UNKNOWN in a target stands for a
    symbol that train lacks: whatever a model generates for it is wrong, UNKNOWN too.

    Attributes:
      findings: symbols of dev and test that train lacks; parts that repeat one another.
      positions: bucket b: [N_b] of its pairs among all, train's first, then dev's, then test's.
    """

    corpus: Corpus
    given_split: splits.Rows
    vocabularies: Vocabularies
    widths: Sequence[tuple[int, int]]  # Ts and Tt of each bucket
    fingerprint: str  # of everything that was read
    findings: checks.Findings
    positions: Sequence[np.ndarray]

    def split(self, number: int) -> Split:
        """Split `number` (0: as given), without tables; all have the given one's vocabularies."""
        return splits.split_of(splits.numbered(self.given_split, number), ())


def build(settings: Seq2SeqData, batch_size: int) -> Pairs:
    """Reads the pairs of `settings` and lays them out for batches of `batch_size`.

    Raises ConfigError: no folder named; DataError: what `read` raises; a train set whose targets
    have one symbol, or that test repeats.
    """
    parts = read(settings)
    pairs = [pair for part in splits.PARTS for pair in parts[part]]
    vocabularies = symbols.collect(parts["train"], settings.tied)
    numbers = {
        "source": [vocabularies.encode_source(pair) for pair in pairs],
        "target": [vocabularies.encode_target(pair) for pair in pairs],
    }
    rows, _, columns = buckets.lay_out(numbers, batch_size, settings.max_widths, tight=True)
    return Pairs(
        Corpus(tuple(columns), {}),
        splits.given_split(parts, rows),
        vocabularies,
        [(bucket["source"].shape[1], bucket["target"].shape[1]) for bucket in columns],
        splits.fingerprint(parts),
        _findings(settings, parts),
        rows,
    )


def _findings(settings: Seq2SeqData, parts: Parts) -> checks.Findings:
    """What is odd about the parts."""
    facts, remarks = {}, list[str]()
    warnings = checks.repeats(parts, settings.path, "pairs")
    for side in SequencePair._fields:
        counts = {
            p: Counter(s for pair in of for s in getattr(pair, side)) for p, of in parts.items()
        }
        if side == "target" and len(counts["train"]) < 2:
            raise DataError(
                "the targets of train have a single symbol: there is nothing to learn; see "
                "data.target_column and data.target_symbols",
                settings.path,
            )
        facts[side], lines = checks.unseen(counts)
        remarks += [f"symbols of {side}: {line}" for line in lines]
        texts = {p: {"".join(getattr(pair, side)) for pair in of} for p, of in parts.items()}
        warnings += [f"{side}: {line}" for line in checks.normalisation(texts)]
    return checks.Findings({"unseen_symbols": facts}, remarks, warnings)


def read(settings: Seq2SeqData) -> Parts:
    """The pairs of each part.

    Raises ConfigError: no folder named; DataError: no such folder or file, a line without source,
    target or features, one that is too long, fewer train pairs than asked for.
    """
    if not settings.path:
        named = argument("data", "PATH")
        raise ConfigError(f"data: sequence to sequence needs pairs; {named}, or data.path")
    patterns = {part: getattr(settings, part) for part in splits.PARTS}
    columns, parts = {**_columns(settings), "target": settings.target_column}, {}
    for part, file in text.parts(settings.path, patterns, "data").items():
        first = settings.train_items if part == "train" else None
        rows = itertools.islice(text.columns(file, columns), first)
        parts[part] = [_pair(settings, values, file, line) for line, values in rows]
        if first is not None and len(parts[part]) < first:
            found = f"data.train_items asks for {first} pairs, found {len(parts[part])}"
            raise DataError(found, file)
    return parts


def _pair(settings: Seq2SeqData, values: Mapping[str, str], file: Path, line: int) -> SequencePair:
    """The symbols of a line's values: source, and target and features where it has them."""
    features: tuple[str, ...] = ()
    if "features" in values:
        features = tuple(values["features"].split(settings.feature_separator))
    if not all(feature.strip() for feature in features):
        raise DataError(f"an empty feature in {values['features']!r}", file, line)
    source = symbols.split(values["source"], settings.source_symbols)
    target = symbols.split(values.get("target", ""), settings.target_symbols)
    for name, length in (("source", len(source) + len(features)), ("target", len(target))):
        if length > settings.max_length:
            message = f"a {name} of {length} symbols; data.max_length allows {settings.max_length}"
            raise DataError(message, file, line)
    return SequencePair(source, target, features)


def _columns(settings: Seq2SeqData) -> dict[str, int]:
    """Columns of a source and of its features, if it has any."""
    features = {"features": settings.features_column} if settings.features_column else {}
    return {"source": settings.source_column, **features}


class Sources(NamedTuple):
    """The lines of a file that hold a source, and their symbols."""

    lines: Sequence[str]
    pairs: Sequence[SequencePair]


def read_sources(settings: Seq2SeqData, path: Path) -> Sources:
    """The sources of a file: columns as in training, of which the target's is not read.

    A line without tabs is a source as a whole, unless features belong to it. Empty lines are left
    out. Raises DataError: a line without source or features, or one that is too long.
    """
    columns = _columns(settings)
    lines, pairs = [], []
    for number, line in enumerate(text.iterate_lines(path), 1):
        if line:
            alone = "\t" not in line and len(columns) == 1
            values = {"source": line} if alone else text.values(line, columns, path, number)
            lines.append(line)
            pairs.append(_pair(settings, values, path, number))
    return Sources(lines, pairs)


def encode(
    settings: Seq2SeqData, vocabularies: Vocabularies, pairs: Sequence[SequencePair], batch: int
) -> tuple[list[np.ndarray], list[dict[str, np.ndarray]]]:
    """Of each bucket the sources in it, and their arrays source [N, Ts] and source_length [N]."""
    numbers = {"source": [vocabularies.encode_source(pair) for pair in pairs]}
    rows, _, columns = buckets.lay_out(numbers, batch, settings.max_widths, tight=True)
    return rows, columns
