"""Sequence tagging: sentences of files, of tfds or generated -> a corpus of padded arrays.

Notation: N sentences of a bucket, T its width, F word forms, W characters of the longest word,
V rows of the word table, Y labels that can be predicted. Form 0 and row 0 are padding.
"""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pydantic

from jaxeval.config import fields, reading
from jaxeval.config.fields import about
from jaxeval.contracts import Findings
from jaxeval.data import buckets, conll, corpora, generated, splits, text, tfds, word_table, words
from jaxeval.data.conll import Sentence
from jaxeval.errors import DataError

_Column = Annotated[int, pydantic.Field(ge=-(2**16), le=2**16)]
_LONGEST = 500  # words of a sentence that is the only one of a file
_ADVICE = (
    "; a tagger reads one word per line, alone or in columns (by tabs) as in training, and a "
    "blank line after each sentence: cut running text into words first"
)


@reading.settings
class SentenceSource:
    """Files, a `tfds:` name, or the generated corpus."""

    path: Annotated[
        fields.CorpusPath, about("folder of the files or tfds:NAME; absent: generated")
    ] = None
    format: Annotated[
        Literal["auto", "conll", "conllu", "tempeval3"],
        about("auto: conllu for *.conllu files, else conll"),
    ] = "auto"
    train: fields.FilePattern = "*train*"
    dev: fields.FilePattern = "*dev*"
    test: fields.FilePattern = "*test*"
    word_column: Annotated[_Column, about("conll, tempeval3: column of words, from 0")] = 0
    tag_column: Annotated[_Column, about("column of tags, from 0; -1: the last")] = -1
    tag: Annotated[conll.Tag, about("conllu: the tag that is predicted")] = "upos"
    tag_feature: Annotated[str | None, about("tfds: feature that holds the tags")] = None
    scheme: Annotated[
        Literal["auto", "none", "iob1", "bio", "iobes"],
        about("scheme of the tags in the files; none: not entities"),
    ] = "auto"
    seed: Annotated[fields.Natural, about("generated: seed of the corpus")] = 1


@reading.settings
class TaggingData(word_table.WordSettings):
    """The source of the sentences and how they are read."""

    source: Annotated[SentenceSource, about("files, a tfds name or the generated corpus")] = (
        SentenceSource()
    )
    scheme: Annotated[Literal["bio", "iobes"], about("scheme to convert entity tags to")] = "iobes"
    train_sentences: Annotated[fields.Count | None, about("only the first n train sentences")] = (
        None
    )
    zero_digits: Annotated[bool, about("read every digit as 0")] = False
    max_characters: Annotated[
        fields.Length, about("longer words are cut for the character encoder")
    ] = 25


@reading.settings
class SavedVocabulary(word_table.SavedWords):
    """The meaning of a trained tagger's numbers."""

    labels: tuple[str, ...]
    characters: tuple[str, ...]  # in the order of their numbers
    longest: Annotated[int, pydantic.Field(ge=1, le=2**16)]  # W
    scheme: conll.Scheme  # of the tags in the files; none: they are not entities


def build(settings: TaggingData, batch_size: int) -> corpora.WordCorpus:
    """Reads the sentences of `settings` and lays them out for batches of `batch_size`.

    A bucket holds forms [N, T], labels [N, T] and length [N]. Raises DataError: the sentences
    cannot be read; train has one tag; test repeats train; vectors of no word of train.
    """
    parts, scheme = read(settings)
    items = {p: [(s.words, s.tags) for s in sentences] for p, sentences in parts.items()}
    tags = {p: Counter(tag for s in own for tag in s.tags) for p, own in parts.items()}
    found = _check_tags(tags, scheme, settings.source.path)
    repeated = corpora.repeats(items, settings.source.path, "sentences")
    of_words = {p: [s.words for s in own] for p, own in parts.items()}
    forms, table, findings = word_table.build(settings, of_words)
    inside = word_table.VOCABULARY_PARTS[settings.vocabulary]
    names = {tag for part in inside for tag in tags[part]}
    predicted = sorted(names) if scheme == "none" else ["O", *sorted(names - {"O"})]
    labels = predicted + sorted(set().union(*tags.values()) - {*predicted})
    sentences = [sentence for part in splits.PARTS for sentence in parts[part]]
    in_words = {"forms": [sentence.words for sentence in sentences]}
    # with the vocabulary of all parts, random splits mix them
    trained = len(parts["train"]) if settings.vocabulary == "train" else None
    bucketed = buckets.words_to_buckets(in_words, forms, batch_size, settings, trained=trained)
    number = {label: k for k, label in enumerate(labels)}
    for bucket, shape, arrays in zip(*bucketed, strict=True):
        numbered = [[number[tag] for tag in sentences[row].tags] for row in bucket]
        arrays["labels"] = buckets.pad(numbered, shape.width)
    letters = sorted(set().union(*{word for p in inside for s in of_words[p] for word in s}))
    characters = words.characters(forms, letters, settings.max_characters)
    shared = {"characters": characters, **words.shapes(forms)}
    return corpora.WordCorpus.from_rows(
        settings,
        table,
        rows=parts,
        bucketed=bucketed,
        shared=shared,
        noun="sentences",
        items=items,
        labels=labels,
        saved={
            "labels": predicted,
            "characters": letters,
            "longest": characters.shape[1],
            "scheme": scheme,
        },
        facts={"labels": len(predicted)},
        findings=Findings({}, [], repeated).joined(found).joined(findings),
    )


def _check_tags(
    tags: Mapping[str, Counter[str]], scheme: conll.Scheme, path: str | None
) -> Findings:
    """Returns what is wrong with the tags of each part; DataError if train has one tag."""
    if len(tags["train"]) < 2:
        message = f"the only tag of train is {', '.join(tags['train'])!r}: there is nothing"
        raise DataError(f"{message} to learn", path or "generated corpus")
    unseen, lines = corpora.unseen(tags)
    warnings = [f"tags: {line}; no model can learn them from train" for line in lines]
    warnings += [
        f"{part} holds no entity: its f1 is 0 for any model; are its tags hidden?"
        for part in splits.PARTS[1:]
        if scheme != "none" and {*tags[part]} == {"O"}
    ]
    return Findings({"unseen_tags": unseen}, [], warnings)


def read(settings: TaggingData) -> tuple[Mapping[str, Sequence[Sentence]], conll.Scheme]:
    """Returns the sentences of each part, tags in `settings.scheme`, and the files' scheme.

    The latter is none for tags that are not entities. Raises DataError: a file that cannot be
    read, a tag that is not of the scheme.
    """
    source = settings.source
    files = {p: f"{source.path} ({p})" for p in splits.PARTS}
    if source.path is None:
        parts = generated.sentences(source.seed)
    elif source.path.startswith(tfds.PREFIX):
        parts = tfds.sentences(source.path, source.tag_feature)
    else:
        found = text.find_parts(source, "data.source")
        files = {part: str(file) for part, file in found.items()}
        columns = conll.read_tempeval3 if source.format == "tempeval3" else conll.read_columns
        parts = {
            part: conll.read_conllu(file, source.tag)
            if _is_conllu(source, file)
            else columns(file, source.word_column, source.tag_column)
            for part, file in found.items()
        }
        if not _is_conllu(source, found["train"]):
            _refuse_text(parts["train"], found["train"])
    scheme = source.scheme
    if scheme == "auto":
        every = itertools.chain.from_iterable(parts.values())
        scheme = conll.detect(Counter(tag for sentence in every for tag in sentence.tags))
    if scheme != "none":
        for part, own in parts.items():
            parts[part] = conll.convert(own, scheme, settings.scheme, files[part])
    parts["train"] = parts["train"][: settings.train_sentences]
    if settings.zero_digits:
        for part, own in parts.items():
            parts[part] = [s._replace(words=tuple(map(words.zero_digits, s.words))) for s in own]
    return parts, scheme


def _refuse_text(sentences: Sequence[Sentence], path: Path) -> None:
    """Raises DataError for a file without blank lines, a sentence as long as a text."""
    if len(sentences) == 1 and len(sentences[0].words) > _LONGEST:
        found = f"the file is one sentence of {len(sentences[0].words):,} words"
        raise DataError(f"{found}; expected a blank line after each sentence", path, 1)


def _is_conllu(source: SentenceSource, file: Path) -> bool:
    named = ".conllu" in file.name.lower()
    return source.format == "conllu" or (source.format == "auto" and named)


def read_untagged(source: SentenceSource, path: Path) -> tuple[list[str], list[Sentence]]:
    """Returns the lines of a file in a format that a tagger was trained on, and its sentences.

    A `*.conllu` file is CoNLL-U. In all others the words are in `source.word_column`, or in the
    only column; columns of tags are optional and ignored. Raises DataError: no words; running
    text: lines that differ in columns, or every sentence is a line of several words.
    """
    lines = [*text.iterate_lines(path)]
    if _is_conllu(source, path):
        return lines, conll.read_conllu(path, None)
    sentences = conll.read_columns(path, source.word_column, None, _ADVICE)
    first = sentences[0].lines[0]
    columns = len(text.columns(lines[first - 1]))
    if columns > 1 and "\t" not in lines[first - 1] and all(len(s.words) == 1 for s in sentences):
        raise DataError(f"every sentence is a line of {columns} columns{_ADVICE}", path, first)
    return lines, sentences


def with_columns(
    lines: Sequence[str], sentences: Sequence[Sentence], tags: Sequence[Sequence[Sequence[str]]]
) -> list[str]:
    """Returns the lines, each word followed by its tags [models][sentences][words]."""
    more = [*lines]
    for number, sentence in enumerate(sentences):
        for position, at in enumerate(sentence.lines):
            line = more[at - 1]
            blank = " " if " " in line.strip(" ") and "\t" not in line else "\t"
            more[at - 1] = blank.join([line, *(each[number][position] for each in tags)])
    return more


def encode(
    settings: TaggingData,
    vocabulary: SavedVocabulary,
    sentences: Sequence[Sequence[str]],
    batch: int,
) -> buckets.Encoded:
    """Encodes sentences for a trained tagger, in batches of `batch`.

    Shared are row [F], characters [F, W], casing and capitals [F]; a bucket holds forms [N, T] and
    length [N].
    """
    if settings.zero_digits:
        sentences = [[words.zero_digits(word) for word in sentence] for sentence in sentences]
    forms, (shared, bucketed) = buckets.encode(vocabulary, {"forms": sentences}, batch, settings)
    characters = words.characters(forms, vocabulary.characters, vocabulary.longest)
    padding = vocabulary.longest - characters.shape[1]  # some encoders read it
    padded = np.pad(characters, ((0, 0), (0, padding)))
    return {**shared, "characters": padded, **words.shapes(forms)}, bucketed
