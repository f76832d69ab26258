"""Columns of tab-separated text, and what is odd about a corpus."""

from pathlib import Path

import pytest

from jaxeval.data import pairs, sentiment, text
from jaxeval.data.pairs import _PairSource
from jaxeval.data.sentiment import SentimentSource
from jaxeval.errors import DataError


def test_values_are_exactly_those_of_their_columns(tmp_path: Path) -> None:
    """Dies if columns count from 0, blanks are stripped, quotes are read or lines miscounted."""
    path = tmp_path / "f"
    path.write_text('a "b\t x \tN\n\nc\td\tV\tmore\n')
    names = {"features": 3, "source": 1, "target": 2}
    assert [(line.number, line.columns(names)) for line in text.lines(path)] == [
        (1, {"source": 'a "b', "target": " x ", "features": "N"}),
        (3, {"source": "c", "target": "d", "features": "V"}),
    ]


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
