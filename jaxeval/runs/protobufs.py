"""Protocol buffers in the files of TensorBoard and of Weights & Biases, read without classes.

Both append records, so that the last one may be cut short; it is left out.
"""

import struct
from collections.abc import Iterator
from typing import Any

# of an event file: length and its checksum; that of the record follows the record
# (tensorflow/core/lib/io/record_writer.h)
_TFRECORD = struct.Struct("<QI")
# of a part of a .wandb file, which is a log of LevelDB in blocks (its log_format.md): checksum,
# length, kind; kinds 1 and 4 end a record
_LEVELDB, _BLOCK, _ENDS = struct.Struct("<IHB"), 1 << 15, (1, 4)
_WANDB = b":W&B"
_BYTES = {1: 8, 5: 4}  # of a field, by its wire type


def tensorboard(raw: bytes) -> Iterator[bytes]:
    """Yields the records of an event file."""
    at = 0
    while at + _TFRECORD.size <= len(raw):
        begin = at + _TFRECORD.size
        end = begin + _TFRECORD.unpack_from(raw, at)[0]
        at = end + 4
        if at <= len(raw):
            yield raw[begin:end]


def wandb(raw: bytes) -> Iterator[bytes]:
    """Yields the records of a .wandb file; raises ValueError if it is none."""
    if not raw.startswith(_WANDB[: len(raw)]):
        raise ValueError(f"expected {_WANDB!r} at its beginning")
    at, record = len(_WANDB) + 3, b""
    while at + _LEVELDB.size <= len(raw):
        left = _BLOCK - at % _BLOCK
        if left < _LEVELDB.size:
            at += left
            continue
        _, size, kind = _LEVELDB.unpack_from(raw, at)
        at += _LEVELDB.size + size
        record += raw[at - size : at]
        if kind in _ENDS and at <= len(raw):
            yield record
            record = b""


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yields the number and value of each field: an int, or bytes.

    Raises ValueError, IndexError: the message is none, or cut short.
    """
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = _varint(message, at)
            yield number, value
            continue
        size, at = _varint(message, at) if kind == 2 else (_BYTES.get(kind), at)
        if size is None or at + size > len(message):
            raise ValueError(f"a field of wire type {kind}" if size is None else "cut short")
        yield number, message[at : at + size]
        at += size


def message_of(message: bytes) -> dict[int, Any]:
    """Returns number -> value of the fields; of repeated ones the last."""
    return dict(fields(message))


def _varint(message: bytes, at: int) -> tuple[int, int]:
    if message[at] < 128:  # nearly all
        return message[at], at + 1
    value = shift = 0
    while (byte := message[at]) > 127:
        value |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
    return value | byte << shift, at + 1
