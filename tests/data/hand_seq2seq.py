"""A hand-made corpus of pairs of sequences."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from jaxeval.data import seq2seq
from jaxeval.errors import DataError

HAND = {"train": "ab\tb a\tV;PST\nca\tcaa\tN\n", "dev": "bz\tba\tN;X\n", "test": "a\tzab\tV\n"}
PHONES = {"train": "ab\ta: t͡s\nb\t t͡s  b\n", "dev": "a\tts\n", "test": "ab\ta:\n"}


def settings(folder: Path, parts: Mapping[str, str] = HAND, **changes: Any) -> seq2seq.Seq2SeqData:
    folder.mkdir(exist_ok=True)
    for part, content in parts.items():
        (folder / part).write_text(content)
    return seq2seq.Seq2SeqData(path=str(folder), **changes)


def inflection(
    folder: Path, parts: Mapping[str, str] = HAND, **changes: Any
) -> seq2seq.SequenceCorpus:
    return seq2seq.build(settings(folder, parts, features_column=3, **changes), 2)


def refused(folder: Path, name: str, lines: str, **changes: Any) -> str:
    """The message about lines of one file, without its folder (it holds the test's name)."""
    wrong = settings(folder, {**HAND, name: lines}, features_column=3, **changes)
    with pytest.raises(DataError) as caught:
        seq2seq._read(wrong)
    return str(caught.value).removeprefix(f"{folder}/")
