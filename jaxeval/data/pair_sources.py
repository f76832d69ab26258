"""Finds and reads the pairs of sentences that a config names: SNLI, three columns, PPDB."""

import json
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import pydantic

from jaxeval.config import fields, reading
from jaxeval.data import folders, generated_pairs, splits, text, tokens, tsv
from jaxeval.data.labelled_pairs import LabelledPair
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
        pydantic.Field(
            description="snli: JSON lines; tsv: two sentences and a label, or SNLI's columns; "
            "ppdb: scored phrases; auto: by .jsonl, .json, .tsv, .txt"
        ),
    ] = "auto"
    train: Annotated[str, pydantic.Field(description="file name pattern")] = "*train*"
    dev: Annotated[str, pydantic.Field(description="file name pattern")] = "*dev*"
    test: Annotated[str, pydantic.Field(description="file name pattern")] = "*test*"
    test_pairs: Annotated[fields.Count, pydantic.Field(description="one file: drawn for test")] = (
        4000
    )
    dev_fraction: Annotated[
        float, pydantic.Field(gt=0, lt=1, description="one file: of the rest, drawn for dev")
    ] = 0.1
    seed: Annotated[
        fields.Natural, pydantic.Field(description="of drawn parts, of the generated corpus")
    ] = 137


class PairParts(NamedTuple):
    """Pairs by part, in words, lines on what became of the files, and warnings about them."""

    parts: Mapping[str, Sequence[LabelledPair]]
    remarks: Sequence[str] = ()
    warnings: Sequence[str] = ()


def read(source: PairSource) -> PairParts:
    """The pairs of train, dev and test; those of one file are dealt as VecEval deals PPDB's.

    Raises:
      DataError: no such file, a line that is no pair, too few pairs to draw from.
    """
    if source.path is None:
        return PairParts(generated_pairs.parts(source.seed))
    path = Path(source.path)
    if path.is_dir() and len(folders.names(path)) == 1:
        path = path / folders.names(path)[0]
    if path.is_file():
        pairs, undecided = _read_file(source, path)
        drawn = (
            f"drawn by data.source.seed {source.seed}: {source.test_pairs:,} pairs for test, "
            f"{source.dev_fraction:.0%} of the rest for dev"
        )
        warnings = _headers(source, {"train": path}, {"train": pairs})
        return PairParts(deal(source, pairs), [*_dropped(path, undecided), drawn], warnings)
    if not path.is_dir():
        raise text.no_file(path, "no such file or folder; expected one that holds pairs")
    parts, remarks, files = {}, [], {}
    for part in splits.PARTS:
        files[part] = folders.only(path, getattr(source, part), part, f"data.source.{part}")
        parts[part], undecided = _read_file(source, files[part])
        remarks += _dropped(files[part], undecided)
    return PairParts(parts, remarks, _headers(source, files, parts))


def file_of(source: PairSource, part: str) -> Path | None:
    """The file that a part was read, or drawn, from; None: it is generated."""
    path = Path(source.path or "")
    if source.path is None or path.is_file():
        return path if source.path else None
    names = folders.names(path)
    if len(names) == 1:
        return path / names[0]
    return folders.only(path, getattr(source, part), part, f"data.source.{part}")


def deal(source: PairSource, pairs: Sequence[LabelledPair]) -> dict[str, list[LabelledPair]]:
    """Parts of one list: shuffled as Python 2 does, the first are test, a share of the rest dev.

    VecEval (make_datasets.py) calls `random.Random(137).shuffle`, which in Python 2 draws
    int(random() (i + 1)) for i = n - 1 ... 1; Python 3 has the same `random`, another `shuffle`.

    Raises:
      DataError: a part would be empty.
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


def _dropped(file: Path, undecided: int) -> list[str]:
    return [f"{file.name}: {undecided} pairs without a gold label left out"] if undecided else []


def _read_file(source: PairSource, file: Path) -> tuple[list[LabelledPair], int]:
    """The pairs of a file, and how many were left out as undecided.

    Raises:
      DataError: no pair is left, or a format that its name does not tell.
    """
    name = _format(source, file)
    rows = [*_READERS[name](file)]
    pairs = [
        in_words(row, name == "ppdb", file)
        for row in rows
        if row.label != _UNDECIDED or name == "ppdb"
    ]
    if not pairs:
        raise DataError("no pair with a label found", file)
    return pairs, len(rows) - len(pairs)


def _format(source: PairSource, file: Path) -> str:
    if source.format != "auto":
        return source.format
    return folders.format_of(file, _SUFFIXES, _READERS)


def _headers(
    source: PairSource, files: Mapping[str, Path], parts: Mapping[str, Sequence[LabelledPair]]
) -> list[str]:
    """Warnings about files of columns; a header that names SNLI's columns is no pair."""
    columns = [part for part, file in files.items() if _format(source, file) == "tsv"]
    first = {}
    for part in columns:
        pair = parts[part][0]
        first[part] = (" ".join(pair.premise), " ".join(pair.hypothesis), pair.label)
    return tsv.headers(first, {part: [pair.label for pair in parts[part]] for part in columns})


class Row(NamedTuple):
    """A pair as it stands in a file."""

    number: int  # of the line
    first: str
    second: str
    label: str = ""


def in_words(row: Row, at_blanks: bool, file: Path) -> LabelledPair:
    """The words of a pair.

    Args:
      at_blanks: whether somebody has cut it into words already.

    Raises:
      DataError: a sentence without words.
    """
    split = tokens.split_at_blanks if at_blanks else tokens.split
    sentences = [
        tuple(s[span.start : span.end] for span in split(s)) for s in (row.first, row.second)
    ]
    if not all(sentences):
        raise DataError("expected two sentences with words in them", file, row.number)
    return LabelledPair(sentences[0], sentences[1], row.label)


def read_unlabelled(path: Path) -> list[Row]:
    """Pairs of JSON lines as SNLI's, of two columns, or PPDB's; what stands beside is not read.

    Lines are PPDB's if the first one is: a number, a label in brackets, two phrases.

    Raises:
      DataError: a line that is no pair, or none at all.
    """
    if Path(path.name.removesuffix(".gz")).suffix in (".json", ".jsonl"):
        rows = [*_read_snli(path, _SENTENCES)]
    else:
        rows = [*(_read_ppdb(path) if _is_ppdb(path) else _read_tsv(path, _SENTENCES))]
    if not rows:
        raise DataError("no pair found; expected two sentences a line, or JSON lines", path)
    return rows


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
    for number, row in tsv.read(file, columns):
        if number > 1 or not named:
            first, second, *label = (row[name] for name in keys)
            yield Row(number, first, second, *(each.strip() for each in label))


def _is_ppdb(file: Path) -> bool:
    """Whether the first line is one of PPDB's scored pairs; the score may be out of its range."""
    columns = next((line for line in text.iterate_lines(file) if line), "").split("\t")
    if len(columns) < 4:
        return False
    score, label = columns[:2]
    return not math.isnan(_score(score)) and label.startswith("[") and label.endswith("]")


def _score(column: str) -> float:
    """NaN: it is no number."""
    try:
        return float(column)
    except ValueError:
        return math.nan


def _read_ppdb(file: Path) -> Iterator[Row]:
    """Lines of a mean score from 0 to 5, a syntactic label and two phrases (Pavlick et al. 2015).

    The class is the score rounded up, 1 to 5, and 0 is 1 (VecEval).
    """
    if next((line for line in text.iterate_lines(file) if line), "").count("\t") < 3:
        expected = "expected lines of PPDB: a score, a label in brackets and two phrases, by tabs"
        raise DataError(f"{expected}; {folders.OTHER_FORMAT}", file)
    for number, row in tsv.read(file, {"score": 1, "first": 3, "second": 4}):
        score = _score(row["score"])
        if not 0 <= score <= 5:
            raise DataError(
                f"expected a mean score from 0 to 5 first, found {row['score']!r}", file, number
            )
        yield Row(number, row["first"], row["second"], str(max(math.ceil(score), 1)))


_READERS: Mapping[str, Callable[[Path], Iterator[Row]]] = {
    "snli": _read_snli,
    "tsv": _read_tsv,
    "ppdb": _read_ppdb,
}
