"""Tables and lines as HTML, for notebooks; all text is escaped."""

import html
from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    body = "".join(_row("td", row) for row in rows)
    return f"<table><thead>{_row('th', head)}</thead><tbody>{body}</tbody></table>"


def _row(tag: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def title(text: str) -> str:
    """A line in bold."""
    return f"<p><b>{html.escape(text)}</b></p>"


def lines(texts: Iterable[str]) -> str:
    """A paragraph each."""
    return "".join(f"<p>{html.escape(text)}</p>" for text in texts)
