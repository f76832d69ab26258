"""Self-contained HTML pages, which open offline and run no script."""

from jaxeval.report import figures

_WIDE = 9.0  # inches; from here a figure gets the width of the page


def drawn(figure: figures.Figure, salt: str) -> dict[str, object]:
    """A figure as the macro `drawn` takes it.

    Args:
      salt: another for each figure of a page.
    """
    wide = figure.drawing.get_figwidth() > _WIDE
    return figure._asdict() | {"svg": figures.to_svg(figure, salt), "wide": wide}


def render(template: str, **values: object) -> str:
    """The page of a template in this package, such as runs/page.html.jinja."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("jaxeval.report", "."),
        autoescape=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template(template).render(**values)
