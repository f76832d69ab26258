"""Finds and reads the train, dev and test sentences that a config names."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import pydantic

from jaxeval.config import fields, markers, reading
from jaxeval.data import (
    conll,
    conllu,
    folders,
    generated,
    schemes,
    tempeval3,
    tfds_sets,
    tfds_source,
)
from jaxeval.data.sentences import Sentence

Parts = Mapping[str, Sequence[Sentence]]


@reading.settings
class SentenceSource:
    """Files, a `tfds:` name, or the generated corpus."""

    path: Annotated[
        str | None,
        markers.IMMATERIAL,
        pydantic.Field(
            min_length=1, description="folder of the files or tfds:NAME; absent: generated"
        ),
    ] = None
    format: Annotated[
        Literal["auto", "conll", "conllu", "tempeval3"],
        pydantic.Field(description="auto: conllu for *.conllu files, else conll"),
    ] = "auto"
    train: fields.FilePattern = "*train*"
    dev: fields.FilePattern = "*dev*"
    test: fields.FilePattern = "*test*"
    word_column: Annotated[
        int, pydantic.Field(ge=-(2**16), le=2**16, description="from 0; conll, tempeval3")
    ] = 0
    tag_column: Annotated[
        int, pydantic.Field(ge=-(2**16), le=2**16, description="from 0, -1: last")
    ] = -1
    tag: Annotated[
        Literal["upos", "universal", "xpos", "entity"],
        pydantic.Field(description="conllu: what is predicted"),
    ] = "upos"
    tag_feature: Annotated[
        str | None, pydantic.Field(description="tfds: feature that holds the tags")
    ] = None
    scheme: Annotated[
        Literal["auto", "none", "iob1", "bio", "iobes"],
        pydantic.Field(description="scheme of the tags as read; none: not entities"),
    ] = "auto"
    seed: Annotated[fields.Natural, pydantic.Field(description="generated: of the corpus")] = 1


class LabelledSentences(NamedTuple):
    """Sentences by part, and the scheme of their tags in the files; none: they are classes."""

    parts: Parts
    scheme: schemes.Scheme

    @property
    def entities(self) -> bool:
        """Whether tags are of entities (scored as spans)."""
        return self.scheme != "none"


def read(source: SentenceSource, scheme: schemes.Scheme) -> LabelledSentences:
    """The sentences of train, dev and test; entity tags converted to `scheme`.

    Raises:
      DataError: what the readers raise; a tag that is not of the scheme.
    """
    parts = _read_raw(source)
    of_files = source.scheme
    if of_files == "auto":
        tags = Counter(tag for sentences in parts.values() for s in sentences for tag in s.tags)
        of_files = schemes.detect(tags)
    if of_files == "none":
        return LabelledSentences(parts, of_files)
    converted = {
        part: schemes.convert_sentences(sentences, of_files, scheme, origin(source, part))
        for part, sentences in parts.items()
    }
    return LabelledSentences(converted, of_files)


def origin(source: SentenceSource, part: str) -> str:
    """Where a part comes from, for people."""
    if source.path is None or source.path.startswith(tfds_sets.PREFIX):
        return f"{source.path or 'generated corpus'} ({part})"
    return str(_file(source, part))


def _read_raw(source: SentenceSource) -> Parts:
    if source.path is None:
        return generated.parts(source.seed)
    if source.path.startswith(tfds_sets.PREFIX):
        return tfds_source.read(source.path, source.tag_feature)
    return {part: _read_file(source, _file(source, part)) for part in ("train", "dev", "test")}


def _file(source: SentenceSource, part: str) -> Path:
    """The one file of the folder whose name fits the part's pattern."""
    assert source.path is not None
    folder, pattern = folders.existing(source.path), getattr(source, part)
    return folders.only(folder, pattern, part, f"data.source.{part}")


def _read_file(source: SentenceSource, file: Path) -> list[Sentence]:
    kind = source.format
    if kind == "auto":
        kind = "conllu" if ".conllu" in file.name else "conll"
    if kind == "conllu":
        return conllu.read(file, source.tag)
    reader = tempeval3.read if kind == "tempeval3" else conll.read
    return reader(file, source.word_column, source.tag_column)
