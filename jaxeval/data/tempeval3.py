"""TempEval-3 events in columns: one word per line, its event's class (or BIO tag) in a column.

TempEval-3 (UzZaman et al. 2013) is distributed as TimeML, which is XML and is not read here;
taggers read it as columns, with O and the seven classes of TimeML events, or with BIO tags.
"""

from pathlib import Path

from jaxeval.data import conll, text
from jaxeval.data.sentences import Sentence
from jaxeval.errors import DataError

# TimeML 1.2.1, attribute `class` of EVENT; EVENT where a file tells no classes
CLASSES = (
    "ASPECTUAL",
    "EVENT",
    "I_ACTION",
    "I_STATE",
    "OCCURRENCE",
    "PERCEPTION",
    "REPORTING",
    "STATE",
)


def read(path: str | Path, word_column: int = 0, tag_column: int = -1) -> list[Sentence]:
    """The sentences of a column file, events as BIO tags; columns as in `conll.read`.

    A class makes each word an event of its own, B-CLASS: TimeML annotates single words nearly
    always, and a column of classes cannot tell an event of two words from two events. Tags that
    are BIO already (B-EVENT, I-STATE ...) stay as they are.

    Raises:
      DataError: what `conll.read` raises; TimeML; a tag that is neither O, a class nor BIO.
    """
    _refuse_timeml(path)
    return [
        Sentence(words, tuple(_bio(t, path, n) for t, n in zip(tags, lines, strict=True)), lines)
        for words, tags, lines in conll.read(path, word_column, tag_column)
    ]


def _refuse_timeml(path: str | Path) -> None:
    start = next((line for line in text.iterate_lines(path) if line.strip()), "").lstrip()
    if start.startswith(("<?xml", "<TimeML", "<!DOCTYPE")):
        raise DataError(
            "TimeML (XML) is not read; expected columns, one word per line with its event's class",
            path,
            1,
        )


def _bio(tag: str, path: str | Path, line: int) -> str:
    if tag == "O" or (tag[:2] in ("B-", "I-") and tag[2:] in CLASSES):
        return tag
    if tag in CLASSES:
        return f"B-{tag}"
    raise DataError(
        f"{tag!r} is no event tag; expected O, one of {', '.join(CLASSES)}, or B- and I- with one "
        "of them; see data.source.tag_column",
        path,
        line,
    )
