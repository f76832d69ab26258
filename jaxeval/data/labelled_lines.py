"""Classified text, a line each and no targets: tab-separated, binary SST, TREC questions."""

from collections.abc import Iterator
from pathlib import Path

from jaxeval.data import folders, labelled_text, text, tsv
from jaxeval.data.labelled_text import LabelledTexts
from jaxeval.errors import DataError

_SST = {"0": "negative", "1": "positive"}


def read_tsv(path: str | Path) -> LabelledTexts:
    """Lines of a text, a tab and its label.

    Raises:
      DataError: a line without either.
    """
    rows = tsv.read(path, {"text": 1, "label": 2})
    return labelled_text.whole(
        ((values["text"], values["label"].strip()) for _, values in rows), False
    )


def read_sst(path: str | Path) -> LabelledTexts:
    """Lines of a label, 0 (negative) or 1, and a text in words (Socher et al. 2013).

    Raises:
      DataError: another label, no text.
    """
    return labelled_text.whole(_sst(path), True)


def _sst(path: str | Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text.iterate_lines(path), 1):
        label, _, content = line.partition(" ")
        if label not in _SST or not content.strip():
            message = f"expected 0 or 1, a blank and a text, found {line[:40]!r}"
            raise DataError(f"{message}; {folders.OTHER_FORMAT}", path, number)
        yield content, _SST[label]


def read_trec(path: str | Path) -> LabelledTexts:
    """Lines such as `DESC:manner How did ...` in Latin-1; the label is DESC (Li & Roth 2002).

    Raises:
      DataError: a line without label or text.
    """
    return labelled_text.whole(_trec(path), True)


def _trec(path: str | Path) -> Iterator[tuple[str, str]]:
    lines = text.read_bytes(path).decode("latin-1").removesuffix("\n").split("\n")
    for number, line in enumerate(lines, 1):
        label, _, content = line.partition(" ")
        coarse, colon, _ = label.partition(":")
        if not (coarse and colon and content.strip()):
            message = f"expected LABEL:detail, a blank and a text, found {line[:40]!r}"
            raise DataError(f"{message}; {folders.OTHER_FORMAT}", path, number)
        yield content, coarse
