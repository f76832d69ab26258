"""Text as one stream of tokens, and the windows in which it is read.

A part is its lines, each closed by an end-of-line token (words), or its bytes. Every token is
predicted once: the first from an end of line, the last window in part. A split of a tfds set reads
as one file, with a newline after each example that does not end in one.

Notation: N tokens of a part, T tokens per window, B streams, which are read side by side.
"""

import array
import dataclasses
import hashlib
import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from jaxeval.config import fields, reading
from jaxeval.config.fields import about
from jaxeval.contracts import Corpus, Findings
from jaxeval.data import corpora, splits, text, tfds
from jaxeval.errors import ConfigError, DataError, argument, counted

_Unit = Literal["word", "byte"]
END, UNKNOWN = "<eos>", "<unk>"
_SPECIALS = {"word": 2, "byte": 1}  # numbers that are not tokens of a text


@reading.settings
class LanguageData:
    """A text, and how it is cut into windows."""

    path: Annotated[str, fields.IMMATERIAL, about("folder, file or tfds:NAME")] = ""
    unit: Annotated[_Unit, about("word (split at spaces) or byte")] = "word"
    train: fields.FilePattern = "*train*"
    dev: fields.FilePattern = "*valid*"
    test: fields.FilePattern = "*test*"
    text_feature: Annotated[str | None, about("tfds: feature that holds the text")] = None
    window: Annotated[fields.Length, about("tokens per window")] = 35
    steps_per_epoch: Annotated[
        fields.Rows, about("updates per epoch; dev is scored after each epoch")
    ] = 200


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Text(corpora.Source):
    """A text: a bucket of windows; `shared["tokens"]` has all parts, each after an end of line."""

    tokens: Mapping[str, int]  # number of predicted tokens of each part
    # the word of each of the V numbers, or the value of its byte (-1: no byte)
    symbols: Sequence[str | int]

    def vocabulary(self, number: int) -> Mapping[str, Any]:
        """Returns the symbols."""
        return {"tokens": [*self.symbols]}


def _windows(tokens: int, window: int, streams: int) -> tuple[np.ndarray, np.ndarray]:
    """Cuts a part into `streams` equal stretches, and these into windows, by step then stream.

    Step k holds the k-th window of every stream, so that states can be carried from step to step.
    Every token is predicted once. Returns [steps * B] the position of each first input in the
    part, and the number of tokens predicted (0 after the end of a stream).
    """
    ends = np.arange(streams + 1) * tokens // streams
    steps = -(-int(np.diff(ends).max()) // window)
    begin = ends[:-1][None] + window * np.arange(steps)[:, None]
    length = np.clip(ends[1:][None] - begin, 0, window)
    return np.where(length > 0, begin, 0).ravel(), length.ravel()


def build(settings: LanguageData, batch: int, evaluation_batch: int) -> Text:
    """Reads a text and lays out its windows, for `batch` streams of train.

    Raises ConfigError: no text named; DataError: an unreadable text; a part is too short; train
    repeats a token; test is train.
    """
    if not settings.path:
        named = argument("data", "PATH")
        raise ConfigError(f"data: a language model needs a text; {named}, or data.path")
    unit, where = settings.unit, settings.path
    parts, symbols, unknown = (_bytes if unit == "byte" else _words)(settings)
    sizes = {part: len(whole) for part, whole in parts.items()}
    if sizes["train"] < batch * settings.window:
        few = f"train: {sizes['train']} tokens are too few for training.batch_size {batch}"
        raise DataError(f"{few} times data.window {settings.window}", where)
    for part in splits.PARTS[1:]:
        if sizes[part] < 2:
            raise DataError(f"{part}: {counted(sizes[part], 'token')}; expected 2 or more", where)
    if len(symbols) - _SPECIALS[unit] < 2:
        raise DataError(f"train repeats a single {unit}: there is nothing to learn", where)
    digests = {part: [hashlib.sha256(whole.data).digest()] for part, whole in parts.items()}
    same = corpora.repeats(digests, where, "texts")
    end = np.zeros(1, np.int32)
    tokens = np.concatenate([piece for part in splits.PARTS for piece in (end, parts[part])])
    remarks = [
        f"{part}: {count} of {sizes[part]} tokens ({100 * count / sizes[part]:.1f} %) are {unit}s"
        " that train lacks, all read as one unknown token"
        for part, count in unknown.items()
        if count
    ]
    findings = Findings({"unseen_tokens": unknown}, remarks, same)
    digest = hashlib.sha256(tokens.data).hexdigest()[:16]
    read = Text(
        corpus=Corpus((), {"tokens": tokens}),
        given_split={},
        name=where,
        fingerprint=digest,
        facts={"tokens": sizes, "vocabulary": len(symbols)},
        positions=(),
        findings=findings,
        tokens=sizes,
        symbols=symbols,
    )
    return lay_out(read, settings, batch, evaluation_batch)


def lay_out(read: Text, settings: LanguageData, batch: int, evaluation_batch: int) -> Text:
    """Returns the text with windows for so many streams; train rows only count steps."""
    steps = settings.steps_per_epoch * batch
    start = [np.zeros(steps, np.int32)]
    length = [np.full(steps, settings.window, np.int32)]
    ends = [0, steps]
    offset = read.tokens["train"] + 1
    for part in splits.PARTS[1:]:
        first, size = _windows(read.tokens[part], settings.window, evaluation_batch)
        start.append(first + offset)
        length.append(size)
        ends.append(ends[-1] + len(first))
        offset += read.tokens[part] + 1
    rows = np.split(np.arange(ends[-1], dtype=np.int32), ends[1:3])
    columns = {"start": np.concatenate(start), "length": np.concatenate(length)}
    bucket = {name: column.astype(np.int32) for name, column in columns.items()}
    return dataclasses.replace(
        read,
        corpus=read.corpus._replace(buckets=(bucket,)),
        given_split={part: [own] for part, own in zip(splits.PARTS, rows, strict=True)},
        positions=[np.where(bucket["length"] > 0, bucket["start"], -1)],
    )


# token numbers of each part; meaning of each number; tokens of dev and test that train lacks
_Numbered = tuple[dict[str, np.ndarray], list[str | int], dict[str, int]]


def _words(settings: LanguageData) -> _Numbered:
    """Numbers words: 0 ends a line, then <unk>, then train's words as they appear."""
    numbers: dict[str, int] = defaultdict(itertools.count(2).__next__, {END: 0, UNKNOWN: 1})
    whole = {}
    for part, (name, pieces) in _pieces(settings).items():
        stream = array.array("i")
        for line in text.iterate_lines(name, pieces):
            stream.extend(map(numbers.__getitem__, line.split()))
            stream.append(0)
        whole[part] = np.array(stream, np.int32)
    parts = _cut(whole, np.flatnonzero(whole["train"] == 0) + 1, "lines", settings.path)
    vocabulary = int(parts["train"].max(initial=1)) + 1  # numbers beyond are not of train
    known = {part: np.where(tokens < vocabulary, tokens, 1) for part, tokens in parts.items()}
    unknown = {p: int(np.sum(parts[p] >= vocabulary)) for p in splits.PARTS[1:]}
    return known, [*itertools.islice(numbers, vocabulary)], unknown


def _bytes(settings: LanguageData) -> _Numbered:
    """Numbers bytes: those of train in order of value; 0 is unseen, and starts a part."""
    raw = {part: b"".join(pieces) for part, (_, pieces) in _pieces(settings).items()}
    whole = {part: np.frombuffer(read, np.uint8) for part, read in raw.items()}
    parts = _cut(whole, range(1, len(whole["train"]) + 1), "bytes", settings.path)
    seen = np.unique(parts["train"])
    table = np.zeros(256, np.int32)
    table[seen] = np.arange(1, len(seen) + 1)
    known = {part: table[tokens] for part, tokens in parts.items()}
    return known, [-1, *seen.tolist()], {p: int(np.sum(known[p] == 0)) for p in splits.PARTS[1:]}


def _pieces(settings: LanguageData) -> dict[str, tuple[str | Path, Iterator[bytes]]]:
    """Returns the name of each part that exists and its bytes, decompressed, in pieces."""
    path = settings.path
    if path.startswith(tfds.PREFIX):
        examples = tfds.texts(path, settings.text_feature)
        return {part: (f"{path} ({part})", own) for part, own in examples.items()}
    files = text.find_parts(settings, "data", alone=Path(path).is_file())
    return {part: (file, text.pieces(file)) for part, file in files.items()}


def _cut(
    whole: Mapping[str, np.ndarray], ends: Sequence[int] | np.ndarray, units: str, path: str
) -> dict[str, np.ndarray]:
    """Returns train, dev and test; each missing part is 5 % of train, dev before test at its end.

    One file becomes 90, 5 and 5 %, as is custom for enwik8. `ends`: where train may be cut.
    """
    lacking = [part for part in splits.PARTS if part not in whole]
    size = len(ends) * 5 // 100
    if lacking and not size:
        few = f"too few {units} to cut {lacking[0]} from: {len(ends)}"
        raise DataError(f"{few}; expected 20 or more, or a file for each part", path)
    cuts = [ends[len(ends) - size * k - 1] for k in range(len(lacking), 0, -1)]
    pieces = zip(("train", *lacking), np.split(whole["train"], cuts), strict=True)
    parts = {**whole, **dict(pieces)}
    return {part: parts[part] for part in splits.PARTS}
