"""Pairs of sentences: their formats, and how one file is dealt."""

import json
import os
from pathlib import Path

import pytest

from jaxeval.data import pairs
from jaxeval.data.pairs import LabelledPair, _PairSource
from jaxeval.errors import DataError


def _snli(first: str, second: str, label: str) -> str:
    return json.dumps({"sentence1": first, "sentence2": second, "gold_label": label, "more": 1})


def _folder(folder: Path, suffix: str, lines: list[str]) -> _PairSource:
    for part in ("train", "dev", "test"):
        (folder / f"snli_1.0_{part}{suffix}").write_text("\n".join(lines) + "\n")
    return _PairSource(path=str(folder))


def test_snli_in_json_lines_and_in_columns(tmp_path: Path) -> None:
    """Dies if a sentence is the other, a pair without a gold label is kept, the head of SNLI's
    columns is read as a pair, or words are not cut."""
    rows = [
        ("A man, asleep.", "He's up.", "contradiction"),
        ("a b", "c", "-"),
        ("a", "b", "neutral"),
    ]
    lines = [_snli(*row) for row in rows]
    (tmp_path / "json").mkdir()
    (tmp_path / "tsv").mkdir()
    read = pairs._read(_folder(tmp_path / "json", ".jsonl", lines))
    first = LabelledPair(
        ("A", "man", ",", "asleep", "."), ("He", "'s", "up", "."), "contradiction", 1
    )
    assert read[0]["train"] == [first, LabelledPair(("a",), ("b",), "neutral", 3)]
    assert read[2][0] == "snli_1.0_train.jsonl: 1 pair without a gold label left out"
    head = "gold_label\tparse\tsentence1\tsentence2"
    columns = [head, *(f"{label}\t(x)\t{first}\t{second}" for first, second, label in rows)]
    others = pairs._read(_folder(tmp_path / "tsv", ".txt", columns))[0]
    assert [p[:3] for p in others["test"]] == [p[:3] for p in read[0]["test"]]


def test_scores_of_ppdb_become_classes(tmp_path: Path) -> None:
    """Dies if a score is rounded to the nearest, 0 is a class, or the type is a phrase."""
    file = tmp_path / "ppdb.tsv"
    scores = ["0", "0.0", "1.0", "1.2", "4.0", "4.01", "5.0"]
    rows = "".join(f"{s}\t[NP]\tthis , {k}\tthat\t{s},{s}\n" for k, s in enumerate(scores))
    file.write_text(rows)
    source = _PairSource(path=str(tmp_path), format="ppdb", test_pairs=2, dev_fraction=0.3)
    parts = pairs._read(source)[0]
    assert {part: len(of) for part, of in parts.items()} == {"train": 4, "dev": 1, "test": 2}
    by_place = {pair.premise[2]: pair for of in parts.values() for pair in of}
    assert [by_place[str(k)].label for k in range(7)] == ["1", "1", "1", "2", "4", "5", "5"]
    assert by_place["0"].premise == ("this", ",", "0") and by_place["0"].hypothesis == ("that",)
    file.write_text(rows + "six\t[NP]\ta\tb\n")
    with pytest.raises(DataError, match=r"ppdb.tsv:8: expected a mean score from 0 to 5"):
        pairs._read(source)
    file.write_text(rows)
    (tmp_path / "other.tsv").write_text("a\tb\tneutral\n")
    with pytest.raises(DataError, match=r"a score, .* .PPDB.; .*TASK:data\.source\.format=auto"):
        pairs._read(_PairSource(path=str(tmp_path / "other.tsv"), format="ppdb"))
    with pytest.raises(DataError, match="7 pairs are too few to draw 4,000 for test"):
        pairs._read(_PairSource(path=str(file), format="ppdb"))


def test_ppdbs_lines_without_use_of_their_scores(tmp_path: Path) -> None:
    """Dies if the score and the syntactic label are read as the two sentences, or two sentences
    with columns beside them as a score and phrases."""
    file = tmp_path / "pairs.txt"
    file.write_text("4.0\t[NP]\tthis video\tthe movie\t3.0,5.0\n0\t[NN]\teditor\thead\n")
    rows = pairs.read_unlabelled(file)
    assert [(row.premise, row.hypothesis) for row in rows] == [
        ("this video", "the movie"),
        ("editor", "head"),
    ]
    for line in ("4.0\tis four\t[NP]\tx\ty", "4.0\t[NP]\tx", "nine\t[NP]\tx\ty"):
        file.write_text(f"{line}\n")
        (row,) = pairs.read_unlabelled(file)
        assert (row.premise, row.hypothesis) == tuple(line.split("\t")[:2])
    file.write_text("4.0\t[NP]\tthis video\tthe movie\nhis sister\ther brother\n")
    with pytest.raises(DataError, match=r"pairs.txt:2: expected a column 3"):
        pairs.read_unlabelled(file)
    file.write_text("5.4\t[NP]\tthis video\tthe movie\n")  # not a pair of "5.4" and "[NP]"
    with pytest.raises(DataError, match=r"pairs.txt:1: expected a mean score from 0 to 5"):
        pairs.read_unlabelled(file)


def test_pairs_are_dealt_as_python_2_shuffles() -> None:
    """Dies if Python 3's shuffle deals them, whose draws are others, or the parts change places.

    random.Random(137).random() gives .3385, .4571, .0546, ... in both; so of five pairs 0 to 4:
    i = 4 swaps with int(.3385 5) = 1, i = 3 with int(.4571 4) = 1, i = 2 with int(.0546 3) = 0 ...
    """
    import random

    generator = random.Random(137)
    drawn = [generator.random() for _ in range(4)]
    order = ["0", "1", "2", "3", "4"]
    for i, value in zip((4, 3, 2, 1), drawn, strict=True):
        j = int(value * (i + 1))
        order[i], order[j] = order[j], order[i]
    numbered = [LabelledPair((str(k),), ("x",), "1") for k in range(5)]
    parts = pairs._deal(_PairSource(test_pairs=2, dev_fraction=0.4), numbered)
    names = {part: [pair.premise[0] for pair in of] for part, of in parts.items()}
    assert names == {"test": order[:2], "dev": order[2:3], "train": order[3:]}


def test_all_of_ppdb() -> None:
    """Dies if the counts of the paper's split, or of its classes, are others.

    4,000 test, int(.1 22,456) dev; classes 1,700 / 8,439 / 6,982 / 6,085 / 3,250.
    """
    folder = Path(os.environ.get("JAXEVAL_DATA", "/nowhere")) / "ppdb_nli"
    if not folder.is_dir():
        pytest.skip("JAXEVAL_DATA names no folder with ppdb_nli")
    paired = pairs.build(
        pairs.PairData(source=_PairSource(path=str(folder), format="ppdb"), longest=10), 128
    )
    sizes = {part: sum(map(len, rows)) for part, rows in paired.given_split.items()}
    assert sizes == {"train": 20211, "dev": 2245, "test": 4000}
    labels = [k for bucket in paired.corpus.buckets for k in bucket["labels"]]
    assert [labels.count(k) for k in range(5)] == [1700, 8439, 6982, 6085, 3250]
    assert max(paired.facts["padded_widths"]) == 6  # of at most 10 that are read
