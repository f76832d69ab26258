"""Tables for the terminal (rich, imported late)."""

import errno
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jaxeval.errors import printable_lines

if TYPE_CHECKING:
    from rich.console import Console

_WIDEST = 400  # columns of a table


def console(stderr: bool = False) -> "Console":
    """Where tables and lines are printed, as they are."""
    from rich.console import Console

    class Piped(Console):
        """Leaves a pipe without a reader to `cli.run`; rich would exit with 1."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError(errno.EPIPE, "the reader has gone")

        def print(self, *objects: Any, **how: Any) -> None:
            """Names may hold control characters, which a terminal would obey: they are escaped."""
            shown = (printable_lines(of) if isinstance(of, str) else of for of in objects)
            super().print(*shown, **how)

    of = Piped(markup=False, emoji=False, highlight=False, stderr=stderr)
    of.soft_wrap = not of.is_terminal  # lines are whole in a file, and end with words on a screen
    return of


def print_table(
    console: "Console",
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    words: Sequence[int] = (0,),
) -> None:
    """A plain table; columns of words to the left, numbers to the right. Markup is not read."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    head, rows = [*map(printable_lines, head)], [[*map(printable_lines, row)] for row in rows]
    for column, name in enumerate(head):
        table.add_column(Text(name), justify="left" if column in words else "right", no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    width = console.width
    console.width = max(width, _WIDEST)  # wider than the terminal rather than cut
    console.print(table)
    console.width = width


def print_wrapped(console: "Console", head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table of words, wrapped to the terminal's width; elsewhere a line a row, nothing cut."""
    if not console.is_terminal:
        print_table(console, head, rows, range(len(head)))
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None)
    rows = [[*map(printable_lines, row)] for row in rows]
    for column, name in enumerate(head):
        table.add_column(name, no_wrap=not column, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)
