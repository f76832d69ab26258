"""Corpora: those that are embedded, and labels that are refused."""

import hashlib
from pathlib import Path

import pytest

from jaxeval.data import generated, pairs, sentiment
from jaxeval.data.pairs import _PairSource
from jaxeval.data.sentiment import SentimentSource
from jaxeval.errors import DataError

SENTENCES = "dca6b66709d1855ead90bab50c15e19888b2219823b6193a96ffb8d745164531"
TEXTS = "a5b1e67e77e27e0b6b2d220bc778d5cf0845a2148926d0a7b8b0ffeb6bf565bb"
PAIRS = "d3420df6de67868ae6e8d96823bab12531c4c54c9c0a8f0247ee55c42d2715ad"


def test_corpora_never_change() -> None:
    """Dies if any draw changes: scores in the docs would no longer be of this corpus."""
    sentences, texts, pairs = (generated.sentences(1), generated.texts(), generated.pairs(137))
    plain = {p: [(t.text, [(*x,) for x in t.targets]) for t in own] for p, own in texts.items()}
    assert hashlib.sha256(repr(sentences).encode()).hexdigest() == SENTENCES
    assert hashlib.sha256(repr(plain).encode()).hexdigest() == TEXTS
    assert hashlib.sha256(repr(pairs).encode()).hexdigest() == PAIRS


def test_a_header_of_the_only_file_is_refused(tmp_path: Path) -> None:
    """Dies if a class `label` of one text is learned, or asked for in train."""
    lines = "".join(f"t{k}\t{'xy'[k % 2]}\n" for k in range(40))
    for header in ("Text\tLabel\n", "text\tsentiment\n"):
        (tmp_path / "a.tsv").write_text(header + lines)
        source = SentimentSource(path=str(tmp_path / "a.tsv"))
        with pytest.raises(DataError, match=r"a\.tsv:1: line 1 looks like a header"):
            sentiment.build(sentiment.SentimentData(source=source), 4)


@pytest.mark.parametrize("task", ["sentiment", "pairs"])
def test_a_label_that_is_a_text_is_refused_shortly(task: str, tmp_path: Path) -> None:
    """Dies if texts are taken for labels, or all of them are printed."""
    for part, size in (("train", 300), ("dev", 100), ("test", 100)):
        lines = [f"{'ab'[k % 2]}\t{part} {k} x\t{part} {k} {'y' * 300}\n" for k in range(size)]
        (tmp_path / f"{part}.tsv").write_text("".join(lines))
    expected = r"dev: label .* expected those of train: .* and 288 more .of tab-separated"
    with pytest.raises(DataError, match=expected) as error:
        if task == "sentiment":
            source = SentimentSource(path=str(tmp_path))
            sentiment.build(sentiment.SentimentData(source=source), 4)
        else:
            pairs.build(pairs.PairData(source=_PairSource(path=str(tmp_path))), 4)
    assert len(str(error.value)) < len(str(tmp_path)) + 1200
