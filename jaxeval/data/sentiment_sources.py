"""Finds and reads the classified texts that a config names; draws the parts that they lack."""

import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
import pydantic

from jaxeval.config import fields, reading
from jaxeval.data import (
    folders,
    generated_sentiment,
    json_lines,
    labelled_lines,
    semeval,
    splits,
    text,
    three_line,
    tsv,
)
from jaxeval.data.group_splits import Fractions
from jaxeval.data.labelled_text import LabelledText, LabelledTexts
from jaxeval.errors import DataError

_READERS: Mapping[str, Callable[[Path], LabelledTexts]] = types.MappingProxyType(
    {
        "semeval": semeval.read,
        "three_line": three_line.read,
        "json": json_lines.read,
        "tsv": labelled_lines.read_tsv,
        "sst": labelled_lines.read_sst,
        "trec": labelled_lines.read_trec,
    }
)
_SUFFIXES = {  # what a file's name tells
    ".xml": "semeval",
    ".raw": "three_line",
    ".seg": "three_line",
    ".json": "json",
    ".jsonl": "json",
    ".tsv": "tsv",
}
_PatternIfAny = Annotated[
    str | None, pydantic.Field(description="file name pattern; absent: drawn from train")
]


@reading.settings
class SentimentSource:
    """Files, or the generated corpus."""

    path: fields.CorpusPath = None
    format: Annotated[
        Literal["auto", "semeval", "three_line", "json", "tsv", "sst", "trec"],
        pydantic.Field(description="auto: by .xml, .raw, .seg, .json, .jsonl, .tsv"),
    ] = "auto"
    train: fields.FilePattern = "*[Tt]rain*"
    dev: _PatternIfAny = "*[Dd]ev*"
    test: _PatternIfAny = "*[Tt]est*"
    seed: Annotated[
        fields.Natural, pydantic.Field(description="of the generated corpus, of drawn parts")
    ] = 1
    sentences: Annotated[
        fields.Count, pydantic.Field(description="generated: of train; dev and test have half")
    ] = 400


class TextParts(NamedTuple):
    """Texts by part.

    Attributes:
      targeted: whether labels are of targets.
      tokenised: whether words are what stands between blanks.
      dropped: part of the files -> why targets were left out, and how many.
      drawn: parts that the files lack.
      warnings: of files that may begin with a header.
    """

    parts: Mapping[str, Sequence[LabelledText]]
    targeted: bool
    tokenised: bool
    dropped: Mapping[str, Mapping[str, int]]
    drawn: Sequence[str] = ()
    warnings: Sequence[str] = ()


def read(source: SentimentSource, fractions: Fractions) -> TextParts:
    """The texts of train, dev and test.

    A test that the files lack is a fraction of train's texts, and then a dev is one of the rest.

    Raises:
      DataError: what the readers raise; files with and without targets; too few texts to draw
        from; a folder without train, or with a file beside that no pattern fits.
    """
    if source.path is None:
        parts = generated_sentiment.parts(source.seed, source.sentences)
        return TextParts(parts, targeted=True, tokenised=True, dropped={})
    files = dict(_files(source))
    _refuse_unread(source, files)
    formats = {part: _format(source, file) for part, file in files.items()}
    read_files = {part: _READERS[formats[part]](file) for part, file in files.items()}
    train = read_files["train"]
    for part, texts in read_files.items():
        if texts.targeted != train.targeted:
            raise DataError(f"train and {part} differ: one has targets, one has none", source.path)
    parts = {part: [*texts.texts] for part, texts in read_files.items()}
    drawn = [part for part in splits.PARTS if part not in parts]
    for part in reversed(drawn):  # test before dev
        fraction = getattr(fractions, part)
        parts["train"], parts[part] = _draw(source, parts["train"], part, fraction)
    dropped = {part: texts.dropped for part, texts in read_files.items() if texts.dropped}
    parts = {part: parts[part] for part in splits.PARTS}
    headers = _headers({part: of for part, of in read_files.items() if formats[part] == "tsv"})
    return TextParts(parts, train.targeted, train.tokenised, dropped, drawn, headers)


def file_of(source: SentimentSource, part: str) -> Path | None:
    """The file that a part was read, or drawn, from; None: it is generated."""
    if source.path is None:
        return None
    files = dict(_files(source))
    return files.get(part, files["train"])


def _files(source: SentimentSource) -> Iterator[tuple[str, Path]]:
    """Part by part its file."""
    path = Path(source.path or "")
    if path.is_file():
        yield "train", path
        return
    if not path.is_dir():
        raise text.no_file(path, "no such file or folder; expected one that holds the corpus")
    yield "train", folders.only(path, source.train, "train", "data.source.train")
    for part, pattern in (("dev", source.dev), ("test", source.test)):
        file = pattern and folders.at_most_one(path, pattern, part, f"data.source.{part}")
        if file:
            yield part, file


def _refuse_unread(source: SentimentSource, files: Mapping[str, Path]) -> None:
    """Raises DataError if a part is to be drawn though a file like train's lies there unread."""
    lacking = [part for part in splits.PARTS if part not in files and getattr(source, part)]
    folder, suffix = files["train"].parent, files["train"].suffix
    read_names = {file.name for file in files.values()}
    others = [n for n in folders.names(folder) if n.endswith(suffix) and n not in read_names]
    if lacking and others and Path(source.path or "").is_dir():
        part = lacking[0]
        raise DataError(
            f"no file fits the {part} pattern {getattr(source, part)!r}, but there are "
            f"{', '.join(others[:8])}; set data.source.{part}=NAME (null: drawn from train)",
            folder,
        )


def _format(source: SentimentSource, file: Path) -> str:
    if source.format != "auto":
        return source.format
    return folders.format_of(file, _SUFFIXES, _READERS)


def _headers(files: Mapping[str, LabelledTexts]) -> list[str]:
    """Warnings about tab-separated files, by part; each text has one label."""
    labels = {part: [each.targets[0].label for each in of.texts] for part, of in files.items()}
    first = {part: (of.texts[0].text, labels[part][0]) for part, of in files.items()}
    return tsv.headers(first, labels)


def _draw(
    source: SentimentSource, texts: Sequence[LabelledText], part: str, fraction: float
) -> tuple[list[LabelledText], list[LabelledText]]:
    """Texts that stay and texts that become a part: a fraction of the different ones, by seed."""
    different = [*dict.fromkeys(each.text for each in texts)]
    size = int(fraction * len(different))
    if not size or size == len(different):
        message = f"{len(different)} texts are too few to draw {part} from"
        raise DataError(message, source.path)
    generator = np.random.default_rng([source.seed, splits.PARTS.index(part)])
    drawn = {different[k] for k in generator.permutation(len(different))[:size]}
    return [t for t in texts if t.text not in drawn], [t for t in texts if t.text in drawn]
