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
from jaxeval.contracts import Findings
from jaxeval.data import buckets, corpora, generated, splits, text, vectors, word_table, words
from jaxeval.data.text import Line
from jaxeval.errors import DataError, counted, parsing

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
    test_pairs: Annotated[fields.Count, about("one file: number of pairs drawn for test")] = 4000
    dev_fraction: Annotated[
        float, pydantic.Field(gt=0, lt=1, description="one file: share of the rest drawn for dev")
    ] = 0.1
    seed: Annotated[fields.Natural, about("seed of drawn parts, or of the generated corpus")] = 137


@reading.settings
class PairData(word_table.WordSettings):
    """The source of the pairs and how they are read."""

    source: Annotated[_PairSource, about("files or the generated corpus")] = _PairSource()
    longest: Annotated[fields.Length | None, about("maximum words of a sentence")] = None
    padded_to: word_table.PaddedTo = None


@reading.settings
class SavedVocabulary(word_table.SavedWords):
    """The meaning of a trained classifier's numbers."""

    labels: tuple[str, ...]


class LabelledPair(NamedTuple):
    """Two sentences, as text or in words, their relation, and the line (0: unknown)."""

    premise: Sequence[str]
    hypothesis: Sequence[str]
    label: str
    line: int = 0


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
    labels = corpora.classes(labelled, files, _COLUMNS)
    parts = {p: [_cut(pair, settings.longest) for pair in own] for p, own in parts.items()}
    items = {part: [pair[:3] for pair in own] for part, own in parts.items()}
    warnings = corpora.repeats(items, settings.source.path, "pairs")
    of_words = {p: [side for pair in own for side in pair[:2]] for p, own in parts.items()}
    forms, table, findings = word_table.build(settings, of_words)
    pairs = [pair for part in splits.PARTS for pair in parts[part]]
    in_words = _sides(pairs, settings.padded_to)
    bucketed = buckets.words_to_buckets(in_words, forms, batch_size, settings)
    for bucket, _, arrays in zip(*bucketed, strict=True):
        arrays["labels"] = np.array([labels.index(pairs[row].label) for row in bucket], np.int32)
    return corpora.WordCorpus.from_rows(
        settings,
        table,
        rows=parts,
        bucketed=bucketed,
        noun="pairs",
        items=items,
        labels=labels,
        saved={"labels": labels},
        facts={"labels": labels},
        findings=Findings({}, remarks, warnings).joined(findings),
        forms=_SIDES,
    )


def _cut(pair: LabelledPair, longest: int | None) -> LabelledPair:
    return pair._replace(premise=pair.premise[:longest], hypothesis=pair.hypothesis[:longest])


def _sides(pairs: Sequence[LabelledPair], width: int | None) -> dict[str, list[tuple[str, ...]]]:
    """Returns the words of each premise, and of each hypothesis."""
    return {side: [words.pad(getattr(pair, side), width) for pair in pairs] for side in _SIDES}


_Parts = Mapping[str, Sequence[LabelledPair]]


def _read(source: _PairSource) -> tuple[_Parts, Mapping[str, str | Path], list[str]]:
    """Returns the pairs of train, dev and test, the file of each, and remarks.

    Pairs of a single file are dealt as in VecEval. Raises DataError: no such file; a line that is
    no pair; too few pairs to draw from.
    """
    if source.path is None:
        drawn = generated.pairs(source.seed)
        made = {part: [LabelledPair(*pair) for pair in own] for part, own in drawn.items()}
        return made, dict.fromkeys(splits.PARTS, "generated corpus"), []
    found = text.find_parts(source, "data.source", alone=True)
    parts: dict[str, list[LabelledPair]] = {}
    remarks: list[str] = []
    for part, file in found.items():
        named = text.detect_format(file, source.format, _SUFFIXES, _READERS)
        pairs = [*_READERS[named](file)]
        decided = [pair for pair in pairs if pair.label != _UNDECIDED]
        if not decided:
            raise DataError("no pair with a label found", file)
        parts[part] = [_in_words(pair, named == "ppdb", file) for pair in decided]
        if left_out := len(pairs) - len(decided):
            without = counted(left_out, "pair")
            remarks.append(f"{file.name}: {without} without a gold label left out")
    if len(parts) == 1:
        remarks.append(
            f"drawn by data.source.seed {source.seed}: {source.test_pairs:,} pairs for test, "
            f"{100 * source.dev_fraction:.0f} % of the rest for dev"
        )
        parts = _deal(source, parts["train"])
    return parts, {part: found.get(part, found["train"]) for part in splits.PARTS}, remarks


def _deal(source: _PairSource, pairs: Sequence[LabelledPair]) -> dict[str, list[LabelledPair]]:
    """Shuffles pairs as Python 2 does; the first are test, a fraction of the rest dev.

    VecEval calls `random.Random(137).shuffle`, which in Python 2 draws int(random() (i + 1)) for
    i = n - 1 ... 1; Python 3 has another `shuffle`. Raises DataError if a part would be empty.
    """
    order = [*pairs]
    generator = random.Random(source.seed)
    for i in range(len(order) - 1, 0, -1):
        j = int(generator.random() * (i + 1))
        order[i], order[j] = order[j], order[i]
    test = order[: source.test_pairs]
    rest = order[source.test_pairs :]
    count = int(source.dev_fraction * len(rest))
    if not count:
        draws = f"{source.test_pairs:,} for test and a fraction of {source.dev_fraction:g} for dev"
        few = f"{len(pairs):,} pairs are too few to draw {draws}"
        raise DataError(f"{few}; lower data.source.test_pairs", source.path)
    return {"train": rest[count:], "dev": rest[:count], "test": test}


def _in_words(pair: LabelledPair, tokenised: bool, file: Path) -> LabelledPair:
    premise, hypothesis = (
        tuple(side[start:end] for start, end in words.split(side, tokenised))
        for side in map(str, pair[:2])
    )
    if not (premise and hypothesis):
        raise DataError("expected two sentences with words in them", file, pair.line)
    return pair._replace(premise=premise, hypothesis=hypothesis)


def read_unlabelled(path: Path) -> list[LabelledPair]:
    """Reads pairs of JSON lines like SNLI's, of two columns, or PPDB's; other values are ignored.

    Lines are PPDB's if the first one is: a number, a label in brackets, two phrases. Raises
    DataError: a line that is no pair, or no pair at all.
    """
    if _SUFFIXES.get(text.suffix(path)) == "snli":
        return [*_read_snli(path, _SENTENCES)]
    first = next(text.lines(path)).text.split("\t")
    if len(first) > 3 and vectors.is_number(first[0]) and first[1][:1] == "[":
        return [*_read_ppdb(path)]
    return [*_read_tsv(path, _SENTENCES)]


def _read_snli(file: Path, keys: Sequence[str] = _SNLI) -> Iterator[LabelledPair]:
    for line in text.lines(file):
        expected = f"expected a JSON object in each line with the texts {', '.join(keys)}"
        with parsing(expected, file, line.number):
            tree = json.loads(line.text)
            texts = [tree[key] for key in keys]
            if not all(isinstance(each, str) for each in texts):
                raise TypeError("not a text")
        yield _pair(line, *texts)


def _read_tsv(file: Path, keys: Sequence[str] = _SNLI) -> Iterator[LabelledPair]:
    """Reads the first columns, or those that a header such as SNLI's names."""
    columns = {name: n for n, name in enumerate(keys, 1)}
    for line in text.lines(file):
        fields = line.text.split("\t")
        if line.number == 1 and {*keys} <= {*fields}:
            columns = {name: fields.index(name) + 1 for name in keys}
        else:
            yield _pair(line, *line.columns(columns).values())


def _read_ppdb(file: Path) -> Iterator[LabelledPair]:
    """Reads lines of a mean score in [0, 5], a syntactic label and two phrases (Pavlick 2015).

    The class is the score rounded up, 1 to 5, and 0 is 1 (VecEval).
    """
    for line in text.lines(file):
        if line.number == 1 and line.text.count("\t") < 3:
            expected = "expected a score, a label in brackets and two phrases, by tabs"
            raise line.error(f"{expected} (PPDB); {text.OTHER_FORMAT}")
        row = line.columns({"score": 1, "first": 3, "second": 4})
        score = float(row["score"]) if vectors.is_number(row["score"]) else math.nan
        if not 0 <= score <= 5:
            raise line.error(f"expected a mean score from 0 to 5 first, found {row['score']!r}")
        yield _pair(line, row["first"], row["second"], str(max(math.ceil(score), 1)))


def _pair(line: Line, premise: str, hypothesis: str, label: str = "") -> LabelledPair:
    return LabelledPair(premise, hypothesis, label.strip(), line.number)


_READERS: Mapping[str, Callable[[Path], Iterator[LabelledPair]]] = {
    "snli": _read_snli,
    "tsv": _read_tsv,
    "ppdb": _read_ppdb,
}


def encode(
    settings: PairData,
    vocabulary: SavedVocabulary,
    pairs: Sequence[LabelledPair],
    file: Path,
    batch: int,
) -> buckets.Encoded:
    """Encodes pairs of a file for a trained classifier, in batches of `batch`.

    Shared is row [F]; a bucket holds premise and hypothesis [N, T] and their lengths [N]. Raises
    DataError: a sentence without words.
    """
    tokenised = settings.source.format == "ppdb"
    cut = [_cut(_in_words(pair, tokenised, file), settings.longest) for pair in pairs]
    return buckets.encode(vocabulary, _sides(cut, settings.padded_to), batch, settings)[1]
