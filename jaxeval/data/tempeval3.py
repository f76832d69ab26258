"""TempEval-3 event files in the column form of UKPLab's taggers."""

from pathlib import Path

from jaxeval.data import conll
from jaxeval.data.sentences import Sentence


def read(path: str | Path, word_column: int = 0, tag_column: int = -1) -> list[Sentence]:
    """The sentences of a column file of TempEval-3 events (B-, I- and O tags in the last column).

    TempEval-3 itself is distributed as TimeML (XML); taggers read it converted to columns, a word
    a line with its document's fields beside it, so this is `conll.read` with the word and the
    event tag named; see there for arguments and errors. UKPLab's set-up names columns 0 and 2.
    """
    return conll.read(path, word_column, tag_column)
