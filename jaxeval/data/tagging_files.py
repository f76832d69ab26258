"""Sentences that a config names, with their tags; and those of any file, without tags."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import pydantic

from jaxeval.config import fields, markers, reading
from jaxeval.data import conll, folders, generated, schemes, splits, text, tfds
from jaxeval.data.schemes import Sentence
from jaxeval.errors import DataError

Parts = Mapping[str, Sequence[Sentence]]
_Column = Annotated[int, pydantic.Field(ge=-(2**16), le=2**16)]


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
    word_column: Annotated[_Column, pydantic.Field(description="from 0; conll, tempeval3")] = 0
    tag_column: Annotated[_Column, pydantic.Field(description="from 0, -1: last")] = -1
    tag: Annotated[conll.Tag, pydantic.Field(description="conllu: what is predicted")] = "upos"
    tag_feature: Annotated[
        str | None, pydantic.Field(description="tfds: feature that holds the tags")
    ] = None
    scheme: Annotated[
        Literal["auto", "none", "iob1", "bio", "iobes"],
        pydantic.Field(description="scheme of the tags as read; none: not entities"),
    ] = "auto"
    seed: Annotated[fields.Natural, pydantic.Field(description="generated: of the corpus")] = 1

    def is_conllu(self, file: Path) -> bool:
        """Whether a file is CoNLL-U."""
        return self.format == "conllu" or (self.format == "auto" and ".conllu" in file.name)


def read(source: SentenceSource, scheme: schemes.Scheme) -> tuple[Parts, schemes.Scheme]:
    """The sentences of train, dev and test, entity tags converted to `scheme`; that of the files.

    The latter is none where tags are no entities.

    Raises:
      DataError: what the readers raise; a tag that is not of the scheme.
    """
    files: Mapping[str, str | Path] = {p: f"{source.path} ({p})" for p in splits.PARTS}
    if source.path is None:
        parts: Parts = generated.parts(source.seed)
    elif source.path.startswith(tfds.PREFIX):
        parts = tfds.sentences(source.path, source.tag_feature)
    else:
        patterns = {part: getattr(source, part) for part in splits.PARTS}
        files = folders.parts(source.path, patterns, "data.source")
        parts = {part: _read_file(source, Path(file)) for part, file in files.items()}
    of_files = source.scheme
    if of_files == "auto":
        tags = Counter(tag for sentences in parts.values() for s in sentences for tag in s.tags)
        of_files = schemes.detect(tags)
    if of_files == "none":
        return parts, of_files
    converted = {
        part: schemes.convert_sentences(sentences, of_files, scheme, str(files[part]))
        for part, sentences in parts.items()
    }
    return converted, of_files


def _read_file(source: SentenceSource, file: Path) -> list[Sentence]:
    if source.is_conllu(file):
        return conll.read_conllu(file, source.tag)
    read = conll.read_tempeval3 if source.format == "tempeval3" else conll.read_columns
    return read(file, source.word_column, source.tag_column)


class Untagged(NamedTuple):
    """A file's lines, and of each sentence the words and the lines (from 0) they stand in."""

    lines: Sequence[str]
    sentences: Sequence[Sequence[str]]
    line_numbers: Sequence[Sequence[int]]


def read_untagged(source: SentenceSource, path: Path, tags: Collection[str]) -> Untagged:
    """The sentences of a file in a format that a tagger was trained on.

    A `*.conllu` file is CoNLL-U, all others are columns: the words stand in `source.word_column`,
    or in the only column; columns of tags need not be there, and are not read.

    Args:
      tags: of the files that the tagger was trained on; lines that all end in one are columns.

    Raises:
      DataError: no words, a line that the format does not allow, or running text: lines that
        differ in columns, or a line of several columns as every sentence.
    """
    lines = list(text.iterate_lines(path))
    sentences: list[dict[int, str]] = [{}]
    conllu, width = source.is_conllu(path), 0
    for number, line in enumerate(lines):
        columns = conll.split(line)
        if not line.strip():
            sentences.append({})
        elif conllu:
            if word := conll.conllu_word(line, path, number + 1):
                sentences[-1][number] = word
        elif columns[0] != conll.DOCUMENT:
            width = width or len(columns)
            if len(columns) != width:
                found = f"expected {width} columns as in the lines before, found {len(columns)}"
                raise _running_text(found, path, number)
            column = source.word_column if width > 1 else 0
            sentences[-1][number] = conll.value(columns, column, path, number + 1)
    whole = [sentence for sentence in sentences if sentence]
    if not whole:
        raise DataError("no sentence found; expected lines of words", path)
    first = min(whole[0])
    tagged = all(conll.split(lines[number])[-1] in tags for of in whole for number in of)
    if width > 1 and not tagged and "\t" not in lines[first] and max(map(len, whole)) == 1:
        raise _running_text(f"every sentence is a line of {width} columns", path, first)
    return Untagged(lines, [[*s.values()] for s in whole], [[*s] for s in whole])


def _running_text(found: str, path: Path, number: int) -> DataError:
    expected = (
        "a tagger reads one word a line, alone or in columns (by tabs) as in training, and a "
        "blank line after each sentence: cut running text into words first"
    )
    return DataError(f"{found}; {expected}", path, number + 1)


def with_columns(untagged: Untagged, tags: Sequence[Sequence[Sequence[str]]]) -> list[str]:
    """The lines of the file, tags after the columns of each word.

    Args:
      tags: [models][sentences][words].
    """
    lines = [*untagged.lines]
    for number, of_words in enumerate(untagged.line_numbers):
        for position, line_number in enumerate(of_words):
            line = lines[line_number]
            blank = " " if " " in line.strip(" ") and "\t" not in line else "\t"
            lines[line_number] = blank.join([line, *(each[number][position] for each in tags)])
    return lines
