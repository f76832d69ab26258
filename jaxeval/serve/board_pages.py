"""Pages of a board: a document, with what one may do there."""

from collections.abc import Iterable
from typing import Any

from jaxeval.report import render
from jaxeval.report.document import Document, Figure

_DEFAULTS = {"path": "", "query": "", "csv": False, "refresh": 0, "forms": (), "about": ""}
_BOARD = {"mode": "", "modes": (), "links": {}}


def page(document: Document, figures: Iterable[Figure] = (), **context: Any) -> str:
    """Returns a page.

    Args:
      context: path of its JSON without the ending, and query; csv: whether there is one too;
        refresh: seconds after which it is loaded again, 0 for never; forms: of compare, vectors,
        tables, delete; about: a line; links: name -> id of submissions; mode of modes.
    """
    known = {**_DEFAULTS, **_BOARD, **context}
    return render.page_top(document, "board.html.jinja", **known) + render.page_figures(figures)
