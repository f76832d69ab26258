"""Classified text, a line each: tab-separated, binary SST, TREC."""

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from jaxeval.data import labelled_lines
from jaxeval.data.labelled_text import LabelledTexts
from jaxeval.errors import DataError

Reader = Callable[[Path], LabelledTexts]


def _pairs(read: LabelledTexts) -> list[tuple[str, str]]:
    assert not read.targeted
    assert all(target[:2] == (0, 0) for text in read.texts for target in text.targets)
    return [(text.text, target.label) for text in read.texts for target in text.targets]


def _written(folder: Path, content: str, encoding: str = "utf-8") -> Path:
    file = folder / "train"
    file.write_bytes(content.encode(encoding))
    return file


def test_lines(tmp_path: Path) -> None:
    """Dies if columns change places, digits stay labels, a coarse label keeps its detail, TREC is
    read as UTF-8 or cut at other characters than \\n, or tokenised text is taken for running."""
    tsv = labelled_lines.read_tsv(_written(tmp_path, "so, so\tmeh\nZoë\tok\n"))
    assert _pairs(tsv) == [("so, so", "meh"), ("Zoë", "ok")] and not tsv.tokenised
    sst = labelled_lines.read_sst(_written(tmp_path, "1 good : 0\n0 bad\n"))
    assert _pairs(sst) == [("good : 0", "positive"), ("bad", "negative")] and sst.tokenised
    content = "LOC:city Wo liegt K\xf6ln\x85 ?\nDESC:def What : is\n"
    trec = labelled_lines.read_trec(_written(tmp_path, content, "latin-1"))
    assert _pairs(trec) == [("Wo liegt K\xf6ln\x85 ?", "LOC"), ("What : is", "DESC")]
    assert trec.tokenised


@pytest.mark.parametrize(
    ("reader", "content", "message"),
    [
        (labelled_lines.read_tsv, "a\tb\nc\n", r":2: expected a column 2 \(label\)"),
        (labelled_lines.read_tsv, "a\tb\n \tc\n", r":2: column 1 \(text\) is empty"),
        (
            labelled_lines.read_sst,
            "1 a\n2 b\n",
            ":2: expected 0 or 1, a blank and a text, found '2 b'; data.source.format=auto goes",
        ),
        (labelled_lines.read_sst, "1 a\n0  \n", ":2: expected 0 or 1"),
        (
            labelled_lines.read_trec,
            "LOC:x a\nno label\n",
            ":2: expected LABEL:detail, .*format=auto",
        ),
        (labelled_lines.read_trec, "LOC:x a\nLOC:x\n", ":2: expected LABEL:detail"),
        (labelled_lines.read_trec, "LOC:x a\n\nLOC:x b\n", ":2: expected LABEL:detail"),
    ],
)
def test_what_is_refused(reader: Reader, content: str, message: str, tmp_path: Path) -> None:
    """Dies if a line that is none of the format is taken for text, or is left out."""
    with pytest.raises(DataError, match=message):
        reader(_written(tmp_path, content))


_COARSE = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
COUNTS = {  # Socher et al. 2013; Li & Roth 2002
    "sst/stsa.binary.train": {"negative": 3310, "positive": 3610},
    "sst/stsa.binary.dev": {"negative": 428, "positive": 444},
    "sst/stsa.binary.test": {"negative": 912, "positive": 909},
    "trec/TREC.train": dict(zip(_COARSE, (86, 1162, 1250, 1223, 835, 896), strict=True)),
    "trec/TREC.test": dict(zip(_COARSE, (9, 138, 94, 65, 81, 113), strict=True)),
}


@pytest.mark.skipif("JAXEVAL_DATA" not in os.environ, reason="JAXEVAL_DATA names no data folder")
@pytest.mark.parametrize("name", COUNTS)
def test_published_counts(name: str) -> None:
    """Dies if a line is lost or a label misread."""
    reader = labelled_lines.read_sst if name.startswith("sst") else labelled_lines.read_trec
    read = reader(Path(os.environ["JAXEVAL_DATA"]) / name)
    assert Counter(label for _, label in _pairs(read)) == COUNTS[name]
