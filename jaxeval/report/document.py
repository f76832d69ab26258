"""What a verb has to say, before it is a terminal's, a page's or a paper's."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


class Bold(str):
    """A cell in bold letters, where there are such."""


class Table(NamedTuple):
    """Cells of text; the first columns hold words, `words` of them, the others numbers."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    words: int = 1


class Heading(NamedTuple):
    """The title of the blocks that follow."""

    text: str


class Figure(NamedTuple):
    """A drawn figure, with the name of its files, and the words and numbers that say the same."""

    name: str
    title: str
    caption: str
    drawing: "Drawing"
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]


Block = Table | Heading | str  # str: a line


class Document(NamedTuple):
    """Everything that is said of a result, in its order.

    Attributes:
      answer: sentences that answer the question of the verb.
      blocks: what everybody should see next: a table of the models, a line a pair.
      notes: what to know of the input and of the method; alike ones are folded when printed. A
        note "task NAME: ..." or "NAME: ..." is of that task or that `noun`.
      details: all else that was computed.
      paper: tables for LaTeX and Markdown; none: those of `blocks`.
      figures: draws them.
      title: of the page.
      signature: what was computed, with which settings and versions, in a line.
      last: lines that end what is printed: the exit code, what to do next.
    """

    answer: Sequence[str]
    blocks: Sequence[Block] = ()
    notes: Sequence[str] = ()
    details: Sequence[Block] = ()
    paper: Sequence[Table] = ()
    figures: Callable[[], Sequence[Figure]] = tuple
    title: str = "jaxeval"
    signature: str = ""
    noun: str = "file"
    last: Sequence[str] = ()
