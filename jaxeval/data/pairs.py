"""Pairs of sentences with a class each: SNLI, three columns, PPDB or generated -> padded arrays.

Notation: N pairs of a bucket, T its width in words, F word forms, V rows of the word table, Y
classes. Form 0 and row 0 are padding.
"""

import json
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
import pydantic

from jaxeval.config import fields, reading
from jaxeval.config.fields import about
from jaxeval.contracts import Corpus
from jaxeval.data import checks, corpora, generated, splits, text, word_table, words
from jaxeval.data.labelled_text import LabelledPair
from jaxeval.errors import DataError, parsing

_SIDES = ("premise", "hypothesis")
_UNDECIDED = "-"  # SNLI's label if annotators did not agree
_SENTENCES = ("sentence1", "sentence2")
_SNLI = (*_SENTENCES, "gold_label")
_SUFFIXES = {".json": "snli", ".jsonl": "snli", ".txt": "tsv", ".tsv": "tsv"}
_COLUMNS = "columns 1 and 2 are the sentences, column 3 the label, or a header names SNLI's"


@reading.settings
class _PairSource:
    """Files, or the generated corpus."""

    path: fields.CorpusPath = None
    format: Annotated[
        Literal["auto", "snli", "tsv", "ppdb"],
        about(
            "snli: JSON lines; tsv: two sentences and a label, or SNLI's columns; "
            "ppdb: scored phrases; auto: by .jsonl, .json, .tsv, .txt"
        ),
    ] = "auto"
    train: fields.FilePattern = "*train*"
    dev: fields.FilePattern = "*dev*"
    test: fields.FilePattern = "*test*"
    test_pairs: Annotated[fields.Count, about("one file: drawn for test")] = 4000
    dev_fraction: Annotated[
        float, pydantic.Field(gt=0, lt=1, description="one file: of the rest, drawn for dev")
    ] = 0.1
    seed: Annotated[fields.Natural, about("of drawn parts, of the generated corpus")] = 137


@reading.settings
class PairData(word_table.WordSettings):
    """The source of the pairs and how they are read."""

    source: Annotated[_PairSource, about("files or the generated corpus")] = _PairSource()
    longest: Annotated[fields.Length | None, about("words of a sentence that are _read")] = None
    padded_to: word_table.PaddedTo = None


@reading.settings
class SavedVocabulary(word_table.SavedWords):
    """The meaning of a trained classifier's numbers."""

    labels: tuple[str, ...]


def build(settings: PairData, batch_size: int) -> corpora.WordCorpus:
    """Reads the pairs of `settings` and lays them out for batches of `batch_size`.

    A bucket holds premise and hypothesis [N, T], premise_length and hypothesis_length [N] and
    labels [N]. Raises DataError: the pairs cannot be read; train has one class, or lacks one; test
    repeats train; vectors of no word of train.
    """
    parts, files, remarks = _read(settings.source)
    labelled = {
        part: [(pair.label, " ".join(pair.premise), pair.line) for pair in own]
        for part, own in parts.items()
    }
    labels = checks.classes(labelled, None, files, _COLUMNS)
    parts = {p: [_cut(pair, settings.longest) for pair in own] for p, own in parts.items()}
    items = {part: [pair[:3] for pair in own] for part, own in parts.items()}
    warnings = checks.repeats(items, settings.source.path, "pairs")
    of_words = {p: [side for pair in own for side in pair[:2]] for p, own in parts.items()}
    forms, table, findings = word_table.build(settings, of_words)
    pairs = [pair for part in splits.PARTS for pair in parts[part]]
    rows, widths, columns = _lay_out(pairs, forms, batch_size, settings)
    for bucket, arrays in zip(rows, columns, strict=True):
        arrays["labels"] = np.array([labels.index(pairs[row].label) for row in bucket], np.int32)
    return corpora.WordCorpus(
        corpus=Corpus(tuple(columns), table.shared()),
        given_split=splits.given(parts, rows),
        table=table,
        labels=labels,
        saved={"labels": labels},
        settings=settings,
        fingerprint=splits.fingerprint(items),
        facts={"labels": labels, "padded_widths": widths},
        findings=checks.Findings({}, remarks, warnings).joined(findings),
        positions=rows,
        forms=_SIDES,
    )


def _cut(pair: LabelledPair, longest: int | None) -> LabelledPair:
    return pair._replace(premise=pair.premise[:longest], hypothesis=pair.hypothesis[:longest])


def _lay_out(
    pairs: Sequence[LabelledPair], forms: Sequence[str], batch: int, settings: PairData
) -> tuple[list[np.ndarray], list[int], list[dict[str, np.ndarray]]]:
    number = {form: n for n, form in enumerate(forms)}
    numbers = {
        side: [
            [number[word] for word in words.pad(getattr(pair, side), settings.padded_to)]
            for pair in pairs
        ]
        for side in _SIDES
    }
    return corpora.lay_out(numbers, batch, settings.max_widths)


_Parts = Mapping[str, Sequence[LabelledPair]]


def _read(source: _PairSource) -> tuple[_Parts, Mapping[str, str | Path], list[str]]:
    """Returns the pairs of train, dev and test, the file of each, and remarks.

    Pairs of a single file are dealt as in VecEval. Raises DataError: no such file; a line that is
    no pair; too few pairs to draw from.
    """
    if source.path is None:
        return generated.pairs(source.seed), dict.fromkeys(splits.PARTS, "generated corpus"), []
    found = text.find_parts(source, "data.source", alone=True)
    parts, remarks = dict[str, list[LabelledPair]](), list[str]()
    for part, file in found.items():
        named = text.detect_format(file, source.format, _SUFFIXES, _READERS)
        rows, ppdb = [*_READERS[named](file)], named == "ppdb"
        decided = [row for row in rows if row.label != _UNDECIDED or ppdb]
        if not decided:
            raise DataError("no pair with a label found", file)
        parts[part] = [_in_words(row, ppdb, file) for row in decided]
        if left_out := len(rows) - len(decided):
            remarks.append(f"{file.name}: {left_out} pairs without a gold label left out")
    if len(parts) == 1:
        remarks.append(
            f"drawn by data.source.seed {source.seed}: {source.test_pairs:,} pairs for test, "
            f"{source.dev_fraction:.0%} of the rest for dev"
        )
        parts = _deal(source, parts["train"])
    return parts, {part: found.get(part, found["train"]) for part in splits.PARTS}, remarks


def _deal(source: _PairSource, pairs: Sequence[LabelledPair]) -> dict[str, list[LabelledPair]]:
    """Shuffles pairs as Python 2 does; the first are test, a fraction of the rest dev.

    VecEval calls `random.Random(137).shuffle`, which in Python 2 draws int(random() (i + 1)) for
    i = n - 1 ... 1; Python 3 has another `shuffle`. Raises DataError if a part would be empty.
    """
    order, generator = [*pairs], random.Random(source.seed)
    for i in range(len(order) - 1, 0, -1):
        j = int(generator.random() * (i + 1))
        order[i], order[j] = order[j], order[i]
    test, rest = order[: source.test_pairs], order[source.test_pairs :]
    count = int(source.dev_fraction * len(rest))
    if not count:
        raise DataError(
            f"{len(pairs):,} pairs are too few to draw {source.test_pairs:,} for test and a "
            f"fraction of {source.dev_fraction:g} for dev; lower data.source.test_pairs",
            source.path,
        )
    return {"train": rest[count:], "dev": rest[:count], "test": test}


class _Row(NamedTuple):
    """The pair in a line of a file."""

    number: int
    first: str
    second: str
    label: str = ""


def _in_words(row: _Row, tokenised: bool, file: Path) -> LabelledPair:
    premise, hypothesis = (
        tuple(each[start:end] for start, end in words.split(each, tokenised))
        for each in (row.first, row.second)
    )
    if not (premise and hypothesis):
        raise DataError("expected two sentences with words in them", file, row.number)
    return LabelledPair(premise, hypothesis, row.label, row.number)


def read_unlabelled(path: Path) -> list[_Row]:
    """Reads pairs of JSON lines like SNLI's, of two columns, or PPDB's; other values are ignored.

    Lines are PPDB's if the first one is: a number, a label in brackets, two phrases. Raises
    DataError: a line that is no pair, or no pair at all.
    """
    if _SUFFIXES.get(text.suffix(path)) == "snli":
        rows = [*_read_snli(path, _SENTENCES)]
    else:
        first = _first_line(path)
        ppdb = len(first) > 3 and _score(first[0]) is not None and first[1][:1] == "["
        rows = [*(_read_ppdb(path) if ppdb else _read_tsv(path, _SENTENCES))]
    if not rows:
        raise DataError("no pair found; expected two sentences a line, or JSON lines", path)
    return rows


def _first_line(file: Path) -> list[str]:
    """Returns the columns of the first line that is not empty."""
    return next((line for line in text.iterate_lines(file) if line), "").split("\t")


def _read_snli(file: Path, keys: Sequence[str] = _SNLI) -> Iterator[_Row]:
    for number, line in enumerate(text.iterate_lines(file), 1):
        if not line.strip():
            continue
        with parsing(f"expected a JSON object with the texts {', '.join(keys)}", file, number):
            tree = json.loads(line)
            texts = [tree[key] for key in keys]
            if not all(isinstance(each, str) for each in texts):
                raise TypeError("not a text")
        yield _Row(number, *texts)


def _read_tsv(file: Path, keys: Sequence[str] = _SNLI) -> Iterator[_Row]:
    """Reads the first columns, or those that a header such as SNLI's names."""
    head = next(iter(text.iterate_lines(file)), "").split("\t")
    named = all(name in head for name in keys)
    columns = {name: (head.index(name) if named else n) + 1 for n, name in enumerate(keys)}
    for number, row in text.columns(file, columns):
        if number > 1 or not named:
            first, second, *label = (row[name] for name in keys)
            yield _Row(number, first, second, *(each.strip() for each in label))


def _score(column: str) -> float | None:
    """Returns a score of PPDB, in or out of its range, or None for what is not a number."""
    try:
        return None if math.isnan(float(column)) else float(column)
    except ValueError:
        return None


def _read_ppdb(file: Path) -> Iterator[_Row]:
    """Reads lines of a mean score in [0, 5], a syntactic label and two phrases (Pavlick 2015).

    The class is the score rounded up, 1 to 5, and 0 is 1 (VecEval).
    """
    if len(_first_line(file)) < 4:
        expected = "expected lines of PPDB: a score, a label in brackets and two phrases, by tabs"
        raise DataError(f"{expected}; {text.OTHER_FORMAT}", file)
    for number, row in text.columns(file, {"score": 1, "first": 3, "second": 4}):
        score = _score(row["score"])
        if score is None or not 0 <= score <= 5:
            found = f"expected a mean score from 0 to 5 first, found {row['score']!r}"
            raise DataError(found, file, number)
        yield _Row(number, row["first"], row["second"], str(max(math.ceil(score), 1)))


_READERS: Mapping[str, Callable[[Path], Iterator[_Row]]] = {
    "snli": _read_snli,
    "tsv": _read_tsv,
    "ppdb": _read_ppdb,
}


def encode(
    settings: PairData, vocabulary: SavedVocabulary, rows: Sequence[_Row], file: Path, batch: int
) -> corpora.Encoded:
    """Encodes pairs of a file for a trained classifier, in batches of `batch`.

    Shared is row [F]; a bucket holds premise and hypothesis [N, T] and their lengths [N]. Raises
    DataError: a sentence without words.
    """
    tokenised = settings.source.format == "ppdb"
    pairs = [_cut(_in_words(row, tokenised, file), settings.longest) for row in rows]
    forms = ["", *sorted({word for pair in pairs for side in pair[:2] for word in side})]
    numbers, _, columns = _lay_out(pairs, forms, batch, settings)
    return corpora.Encoded({"row": vocabulary.lookup(forms, settings.fold)}, numbers, columns)
