"""Pairs of sentences that a config names: SNLI, three columns, PPDB; and pairs of any file."""

import json
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import pydantic

from jaxeval.config import fields, reading
from jaxeval.config.fields import about
from jaxeval.data import checks, generated_texts, splits, text, words
from jaxeval.data.generated_texts import LabelledPair
from jaxeval.errors import DataError, parsing

_UNDECIDED = "-"  # SNLI's label where annotators did not agree
_SENTENCES = ("sentence1", "sentence2")
_SNLI = (*_SENTENCES, "gold_label")
_SUFFIXES = {".json": "snli", ".jsonl": "snli", ".txt": "tsv", ".tsv": "tsv"}


@reading.settings
class PairSource:
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

    def format_of(self, file: Path) -> str:
        """As named, or as the file's name tells."""
        auto = self.format == "auto"
        return text.format_of(file, _SUFFIXES, _READERS) if auto else self.format


class PairParts(NamedTuple):
    """Pairs by part, the file of each, and what became of the files."""

    parts: Mapping[str, Sequence[LabelledPair]]
    files: Mapping[str, str | Path]
    findings: checks.Findings


def read(source: PairSource) -> PairParts:
    """The pairs of train, dev and test; those of one file are dealt as VecEval deals PPDB's.

    Raises DataError: no such file, a line that is no pair, too few pairs to draw from.
    """
    if source.path is None:
        files: Mapping[str, str | Path] = dict.fromkeys(splits.PARTS, "generated corpus")
        return PairParts(generated_texts.pairs(source.seed), files, checks.Findings())
    patterns = {part: getattr(source, part) for part in splits.PARTS}
    found = text.parts(source.path, patterns, "data.source", alone=True)
    parts, remarks = dict[str, list[LabelledPair]](), list[str]()
    for part, file in found.items():
        rows = [*_READERS[source.format_of(file)](file)]
        at_blanks = source.format_of(file) == "ppdb"
        decided = [row for row in rows if row.label != _UNDECIDED or at_blanks]
        if not decided:
            raise DataError("no pair with a label found", file)
        parts[part] = [in_words(row, at_blanks, file) for row in decided]
        if left_out := len(rows) - len(decided):
            remarks.append(f"{file.name}: {left_out} pairs without a gold label left out")
    if len(parts) == 1:
        remarks.append(
            f"drawn by data.source.seed {source.seed}: {source.test_pairs:,} pairs for test, "
            f"{source.dev_fraction:.0%} of the rest for dev"
        )
        parts = deal(source, parts["train"])
    files = {part: found.get(part, found["train"]) for part in splits.PARTS}
    return PairParts(parts, files, checks.Findings({}, remarks))


def deal(source: PairSource, pairs: Sequence[LabelledPair]) -> dict[str, list[LabelledPair]]:
    """Parts of one list: shuffled as Python 2 does, the first are test, a share of the rest dev.

    VecEval calls `random.Random(137).shuffle`, which in Python 2 draws int(random() (i + 1)) for
    i = n - 1 ... 1; Python 3 has another `shuffle`. Raises DataError: a part would be empty.
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


class Row(NamedTuple):
    """A pair as it stands in a line of a file."""

    number: int
    first: str
    second: str
    label: str = ""


def in_words(row: Row, at_blanks: bool, file: Path) -> LabelledPair:
    """The words of a pair; raises DataError for a sentence without words.

    Args:
      at_blanks: whether somebody has cut it into words already.
    """
    premise, hypothesis = (
        tuple(each[start:end] for start, end in words.split(each, at_blanks))
        for each in (row.first, row.second)
    )
    if not (premise and hypothesis):
        raise DataError("expected two sentences with words in them", file, row.number)
    return LabelledPair(premise, hypothesis, row.label, row.number)


def read_unlabelled(path: Path) -> list[Row]:
    """Pairs of JSON lines as SNLI's, of two columns, or PPDB's; what stands beside is not read.

    Lines are PPDB's if the first one is: a number, a label in brackets, two phrases. Raises
    DataError: a line that is no pair, or none at all.
    """
    if _SUFFIXES.get(text.suffix_of(path)) == "snli":
        rows = [*_read_snli(path, _SENTENCES)]
    else:
        first = _first_line(path)
        ppdb = len(first) > 3 and _score(first[0]) is not None and first[1][:1] == "["
        rows = [*(_read_ppdb(path) if ppdb else _read_tsv(path, _SENTENCES))]
    if not rows:
        raise DataError("no pair found; expected two sentences a line, or JSON lines", path)
    return rows


def _first_line(file: Path) -> list[str]:
    """The columns of the first line that is not empty."""
    return next((line for line in text.iterate_lines(file) if line), "").split("\t")


def _read_snli(file: Path, keys: Sequence[str] = _SNLI) -> Iterator[Row]:
    for number, line in enumerate(text.iterate_lines(file), 1):
        if not line.strip():
            continue
        with parsing(f"expected a JSON object with the texts {', '.join(keys)}", file, number):
            tree = json.loads(line)
            texts = [tree[key] for key in keys]
            if not all(isinstance(each, str) for each in texts):
                raise TypeError("not a text")
        yield Row(number, *texts)


def _read_tsv(file: Path, keys: Sequence[str] = _SNLI) -> Iterator[Row]:
    """A column each, the first ones; or those that a header such as SNLI's names."""
    head = next(iter(text.iterate_lines(file)), "").split("\t")
    named = all(name in head for name in keys)
    columns = {name: (head.index(name) if named else n) + 1 for n, name in enumerate(keys)}
    for number, row in text.columns(file, columns):
        if number > 1 or not named:
            first, second, *label = (row[name] for name in keys)
            yield Row(number, first, second, *(each.strip() for each in label))


def _score(column: str) -> float | None:
    """A score of PPDB, which may be out of its range; None: it is no number."""
    try:
        return None if math.isnan(float(column)) else float(column)
    except ValueError:
        return None


def _read_ppdb(file: Path) -> Iterator[Row]:
    """Lines of a mean score from 0 to 5, a syntactic label and two phrases (Pavlick et al. 2015).

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
        yield Row(number, row["first"], row["second"], str(max(math.ceil(score), 1)))


_READERS: Mapping[str, Callable[[Path], Iterator[Row]]] = {
    "snli": _read_snli,
    "tsv": _read_tsv,
    "ppdb": _read_ppdb,
}
