"""Sentences that a config names, with their tags; and those of any file, without tags."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import pydantic

from jaxeval.config import fields, reading
from jaxeval.config.fields import about
from jaxeval.data import conll, generated, schemes, splits, text, tfds
from jaxeval.data.schemes import Sentence
from jaxeval.errors import DataError

Parts = Mapping[str, Sequence[Sentence]]
_Column = Annotated[int, pydantic.Field(ge=-(2**16), le=2**16)]
_ADVICE = (
    "; a tagger reads one word a line, alone or in columns (by tabs) as in training, and a "
    "blank line after each sentence: cut running text into words first"
)


@reading.settings
class SentenceSource:
    """Files, a `tfds:` name, or the generated corpus."""

    path: Annotated[
        str | None,
        fields.IMMATERIAL,
        pydantic.Field(
            min_length=1, description="folder of the files or tfds:NAME; absent: generated"
        ),
    ] = None
    format: Annotated[
        Literal["auto", "conll", "conllu", "tempeval3"],
        about("auto: conllu for *.conllu files, else conll"),
    ] = "auto"
    train: fields.FilePattern = "*train*"
    dev: fields.FilePattern = "*dev*"
    test: fields.FilePattern = "*test*"
    word_column: Annotated[_Column, about("from 0; conll, tempeval3")] = 0
    tag_column: Annotated[_Column, about("from 0, -1: last")] = -1
    tag: Annotated[conll.Tag, about("conllu: what is predicted")] = "upos"
    tag_feature: Annotated[str | None, about("tfds: feature that holds the tags")] = None
    scheme: Annotated[
        Literal["auto", "none", "iob1", "bio", "iobes"],
        about("scheme of the tags as read; none: not entities"),
    ] = "auto"
    seed: Annotated[fields.Natural, about("generated: of the corpus")] = 1

    def is_conllu(self, file: Path) -> bool:
        """Whether a file is CoNLL-U."""
        return self.format == "conllu" or (self.format == "auto" and ".conllu" in file.name)


def read(source: SentenceSource, scheme: schemes.Scheme) -> tuple[Parts, schemes.Scheme]:
    """The sentences of train, dev and test, entity tags converted to `scheme`; that of the files.

    The latter is none where tags are no entities. Raises DataError: what the readers raise; a tag
    that is not of the scheme.
    """
    files: Mapping[str, str | Path] = {p: f"{source.path} ({p})" for p in splits.PARTS}
    if source.path is None:
        parts: Parts = generated.parts(source.seed)
    elif source.path.startswith(tfds.PREFIX):
        parts = tfds.sentences(source.path, source.tag_feature)
    else:
        patterns = {part: getattr(source, part) for part in splits.PARTS}
        files = text.parts(source.path, patterns, "data.source")
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
    """A file's lines, and its sentences without tags."""

    lines: Sequence[str]
    sentences: Sequence[Sentence]


def read_untagged(source: SentenceSource, path: Path, tags: Collection[str]) -> Untagged:
    """The sentences of a file in a format that a tagger was trained on.

    A `*.conllu` file is CoNLL-U, all others are columns: the words stand in `source.word_column`,
    or in the only column; columns of tags need not be there, and are not read. Raises DataError:
    no words, a line that the format does not allow, or running text: lines that differ in columns,
    or a line of several columns as every sentence.

    Args:
      tags: of the files that the tagger was trained on; lines that all end in one are columns.
    """
    lines = list(text.iterate_lines(path))
    if source.is_conllu(path):
        return Untagged(lines, conll.read_conllu(path, None))
    sentences = conll.read_columns(path, source.word_column, None, _ADVICE)
    first = sentences[0].lines[0]
    columns = conll.split(lines[first - 1])
    by_blanks = len(columns) > 1 and "\t" not in lines[first - 1]
    last = {conll.split(lines[s.lines[0] - 1])[-1] for s in sentences}
    if by_blanks and max(len(s.words) for s in sentences) == 1 and not last <= {*tags}:
        found = f"every sentence is a line of {len(columns)} columns"
        raise DataError(f"{found}{_ADVICE}", path, first)
    return Untagged(lines, sentences)


def with_columns(untagged: Untagged, tags: Sequence[Sequence[Sequence[str]]]) -> list[str]:
    """The lines of the file, tags after the columns of each word.

    Args:
      tags: [models][sentences][words].
    """
    lines = [*untagged.lines]
    for number, sentence in enumerate(untagged.sentences):
        for position, at in enumerate(sentence.lines):
            line = lines[at - 1]
            blank = " " if " " in line.strip(" ") and "\t" not in line else "\t"
            lines[at - 1] = blank.join([line, *(each[number][position] for each in tags)])
    return lines
