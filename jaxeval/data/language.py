"""Text as one stream of tokens, and the windows in which it is read.

Notation: N tokens of a part, T tokens a window, B read heads.

A part is its lines, each closed by an end-of-line token (words), or its bytes. Every token
is predicted once: the first from an end of line, the last window in part.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
import pydantic

from jaxeval.config import reading
from jaxeval.contracts import Corpus, Split
from jaxeval.data import text
from jaxeval.errors import ConfigError, DataError

Unit = Literal["word", "byte"]
END, UNKNOWN = "<eos>", "<unk>"
PARTS = ("train", "dev", "test")
_BYTE_SHARES = (0.90, 0.05)  # enwik8: 90, 5 and 5 million bytes


@reading.settings
class Data:
    """A text, and how it is cut into windows."""

    path: Annotated[str, pydantic.Field(description="folder of three files, or one file")] = ""
    unit: Annotated[Unit, pydantic.Field(description="word (split at spaces) or byte")] = "word"
    train: Annotated[str, pydantic.Field(description="file name pattern")] = "*train*"
    dev: Annotated[str, pydantic.Field(description="file name pattern")] = "*valid*"
    test: Annotated[str, pydantic.Field(description="file name pattern")] = "*test*"
    window: Annotated[int, pydantic.Field(ge=1, description="tokens of a window")] = 35
    turn: Annotated[
        int, pydantic.Field(ge=1, description="steps of training between evaluations")
    ] = 200


class Text(NamedTuple):
    """A corpus ready for training.

    Attributes:
      corpus: one bucket of windows; `shared["tokens"]` holds all parts end to end, each after an
        end of line.
      vocabulary: V.
      tokens: predicted tokens of each part.
    """

    corpus: Corpus
    rows: Mapping[str, np.ndarray]
    vocabulary: int
    tokens: Mapping[str, int]
    fingerprint: str

    def split(self, number: int) -> Split:
        """The given split; a text has no other.

        Raises:
          ConfigError: another number.
        """
        if number:
            raise ConfigError("a text has the split that its files give; no --splits")
        train, dev, test = ((self.rows[part],) for part in PARTS)
        return Split(train, dev, test, ())


class Windows(NamedTuple):
    """Evaluation windows, head by head within each step."""

    start: np.ndarray  # [steps * B] place of the first input in the part's stream
    length: np.ndarray  # [steps * B] tokens predicted, 0 where a head has ended


def windows(tokens: int, window: int, heads: int) -> Windows:
    """Cuts a part into equal stretches for `heads` readers, and these into windows.

    Step k holds the k-th window of every head, so that states can be carried from step to step.
    Every token is predicted exactly once.
    """
    ends = np.arange(heads + 1) * tokens // heads
    steps = -(-int(np.diff(ends).max()) // window)
    begin = ends[:-1][None] + window * np.arange(steps)[:, None]
    length = np.clip(ends[1:][None] - begin, 0, window)
    return Windows(np.where(length > 0, begin, 0).ravel(), length.ravel())


def build(settings: Data, batch: int, evaluation_batch: int) -> Text:
    """Reads a text and lays out its windows.

    Args:
      settings: which text.
      batch: heads that read train at once.
      evaluation_batch: heads that read dev and test.
    """
    if not settings.path:
        raise ConfigError("data: a language model needs a text; --data FOLDER, or data.path")
    streams, vocabulary = _bytes(settings) if settings.unit == "byte" else _words(settings)
    for part in PARTS:
        if len(streams[part]) <= max(batch if part == "train" else 1, 1):
            raise DataError(f"{part}: {len(streams[part])} tokens are too few", settings.path)
    offset = {"train": 0}
    offset["dev"] = len(streams["train"]) + 1
    offset["test"] = offset["dev"] + len(streams["dev"]) + 1
    end = np.int32(0)
    tokens = np.concatenate([np.concatenate([[end], streams[part]]) for part in PARTS])
    columns, rows = _rows(settings, streams, offset, batch, evaluation_batch)
    digest = hashlib.sha256(tokens.astype(np.int32).tobytes()).hexdigest()[:16]
    shared = {"tokens": tokens.astype(np.int32)}
    sizes = {part: len(stream) for part, stream in streams.items()}
    return Text(Corpus((columns,), shared), rows, vocabulary, sizes, digest)


def _rows(
    settings: Data,
    streams: Mapping[str, np.ndarray],
    offset: Mapping[str, int],
    batch: int,
    evaluation_batch: int,
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Columns of all windows, and which rows are whose. Train rows are mere steps of a turn."""
    dev, test = (
        windows(len(streams[part]), settings.window, evaluation_batch) for part in PARTS[1:]
    )
    steps = settings.turn * batch
    start = np.concatenate(
        [np.zeros(steps, int), dev.start + offset["dev"], test.start + offset["test"]]
    )
    length = np.concatenate([np.full(steps, settings.window), dev.length, test.length])
    ends = np.cumsum([0, steps, len(dev.start), len(test.start)])
    rows = {part: np.arange(ends[k], ends[k + 1], dtype=np.int32) for k, part in enumerate(PARTS)}
    columns = {"start": start.astype(np.int32), "length": length.astype(np.int32)}
    return columns, rows


def _words(settings: Data) -> tuple[dict[str, np.ndarray], int]:
    """Words by number: 0 ends a line, then <unk>, then train's words as they appear."""
    numbers = {END: 0, UNKNOWN: 1}
    streams = {}
    for part in PARTS:
        found: list[int] = []
        for line in text.iterate_lines(_file(settings, part)):
            for word in line.split():
                known = numbers.setdefault(word, len(numbers)) if part == "train" else None
                found.append(numbers.get(word, 1) if known is None else known)
            found.append(0)
        streams[part] = np.array(found, np.int32)
    return streams, len(numbers)


def _bytes(settings: Data) -> tuple[dict[str, np.ndarray], int]:
    """Bytes by number: those of train in order of value; 0 is unseen, and starts a part."""
    if Path(settings.path).is_dir():
        raw = {part: Path(_file(settings, part)).read_bytes() for part in PARTS}
    else:
        raw = _cut(_read(settings.path))
    seen = sorted(set(raw["train"]))
    table = np.zeros(256, np.int32)
    table[seen] = np.arange(1, len(seen) + 1)
    return {p: table[np.frombuffer(raw[p], np.uint8)] for p in PARTS}, len(seen) + 1


def _cut(raw: bytes) -> dict[str, bytes]:
    first = int(len(raw) * _BYTE_SHARES[0])
    second = first + int(len(raw) * _BYTE_SHARES[1])
    return {"train": raw[:first], "dev": raw[first:second], "test": raw[second:]}


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error})", path) from None


def _file(settings: Data, part: str) -> str:
    """The one file of a part."""
    pattern = getattr(settings, part)
    folder = Path(settings.path)
    if not folder.is_dir():
        raise DataError("no such folder; expected one with train, dev and test files", folder)
    found: Sequence[Path] = sorted(path for path in folder.glob(pattern) if path.is_file())
    if len(found) != 1:
        names = ", ".join(sorted(path.name for path in folder.iterdir()))
        raise DataError(f"{len(found)} files match {pattern!r} for {part}; it has {names}", folder)
    return str(found[0])
