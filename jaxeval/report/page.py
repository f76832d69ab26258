"""Self-contained HTML pages, which open offline and run no script."""

import re
from typing import TYPE_CHECKING

from jaxeval.errors import printable_lines
from jaxeval.report import figures
from jaxeval.report.document import Bold, Figure

if TYPE_CHECKING:
    from markupsafe import Markup

_WIDE = 9.0  # inches; from here a figure gets the width of the page
_SMALLEST = 0.6  # of its size: a figure scrolls where it would be smaller, as its letters would be


def drawn(figure: Figure, salt: str) -> dict[str, object]:
    """A figure as the macro `drawn` takes it.

    Args:
      salt: another for each figure of a page.
    """
    width = figure.drawing.get_figwidth()
    of_page = {"wide": width > _WIDE, "least": f"{_SMALLEST * width:.2f}in"}
    return figure._asdict() | {"svg": figures.to_svg(figure, salt), **of_page}


def render(template: str, **values: object) -> str:
    """The page of a template in this package, such as runs/page.html.jinja."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("jaxeval.report", "."),
        autoescape=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["breakable"] = _breakable
    environment.tests["bold"] = lambda cell: isinstance(cell, Bold)
    return printable_lines(environment.get_template(template).render(**values))


def _breakable(name: object) -> "Markup":
    """A name that may go on in the next line after _, / and a comma."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"(?<=[_/,])(?=\w)", "<wbr>", str(escape(name))))
