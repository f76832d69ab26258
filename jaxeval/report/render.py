"""Documents as terminal text, HTML page, notebook cell, Markdown and LaTeX."""

import base64
import errno
import functools
import hashlib
import io
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jaxeval.errors import argument, printable, printable_lines
from jaxeval.report import Badge, Block, Bold, Document, Figure, Heading, Link, Table, plots, text

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup
    from rich.console import Console

_WIDEST = 400  # columns: a table that is wider than the terminal is not cut
_WIDE = 9.0  # inches from which a figure gets the full width of the page
_SMALLEST = 0.6  # of its size: below this a figure scrolls, to keep its letters readable
_PIXELS = 96  # of a page, an inch
_PAGE_COLOURS = {  # colours that page.css redefines for light and dark pages
    "#000000": "currentColor",
    "#0072b2": "var(--blue)",
    "#555555": "var(--soft)",
    "#ffffff": "var(--card)",
    "#dddddd": "var(--line)",
}
_SVG_STYLE = "stroke-linejoin: round; stroke-linecap: butt"  # matplotlib's for all elements
_TINTS = 64  # of an image on a page
_LATEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {c: f"${c}$" for c in "<>|"}  # other characters in OT1, LaTeX's first encoding
    | {"±": r"$\pm$"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"\\": r"\textbackslash{}"}
)
_MINUS = re.compile(r"(?<![\w.-])-(?=\.?\d)|(?<=\de)-(?=\d)")  # in numbers, not in names
# of lines: behind _, / and a comma, but not in numbers, and before an interval or deviation
_BREAK = re.compile(r"(?<=[_/])(?=\w)|(?<=,)(?=[^\W\d])|(?<= )(?=[(\[±])")
# brackets, as of intervals, are escaped only where they would make a link or a checkbox
_LIST = r"^[-+](?=\s)|(?<=^\d)[.)](?=\s)|(?<=^\d\d)[.)](?=\s)"
_MARKDOWN = re.compile(rf"[\\|*_`<$~&]|(?<=\])[(\[:]|^[#>]|^\[(?=[ xX]\])|{_LIST}")
_CONTEXT: dict[str, object] = {  # of templates: what a page may lack
    "most_rows": None,  # of a table; None: all
    **{"path": "", "query": "", "also": ("json", "csv")},  # of its JSON and CSV
    **{"nav": (), "events": "", "chart": None, "compare": ""},  # of pages that are served
    **{"refresh": 0, "forms": (), "about": "", "modes": (), "mode": ""},  # of boards
}


def _console(stderr: bool) -> "Console":
    from rich.console import Console

    class Safe(Console):
        """Leaves a broken pipe to the caller and escapes control characters."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError(errno.EPIPE, "the reader has gone")

        def print(self, *objects: Any, **how: Any) -> None:
            shown = (printable_lines(x) if isinstance(x, str) else x for x in objects)
            super().print(*shown, **how)

    console = Safe(markup=False, emoji=False, highlight=False, stderr=stderr)
    console.soft_wrap = not console.is_terminal  # files get unwrapped lines
    return console


def _print_table(console: "Console", table: Table) -> None:
    from rich.table import Table as Grid
    from rich.text import Text

    if caption := table.caption("*"):
        console.print(caption)
    grid = Grid(box=None, pad_edge=False)
    for k, name in enumerate(table.columns):
        justify: Any = "left" if k < table.words else "right"
        grid.add_column(Text(printable_lines(name)), justify=justify, no_wrap=True)
    for row in table.rows:
        cells = (f"*{cell}" if table.bold and isinstance(cell, Bold) else cell for cell in row)
        grid.add_row(*map(Text, map(printable_lines, cells)))
    width = console.width
    console.width = max(width, _WIDEST)
    console.print(grid)
    console.width = width


def to_terminal(document: Document, details: bool = False, stderr: bool = False) -> None:
    """Prints the answer, the blocks and the folded notes; with details, everything."""
    console = _console(stderr)
    for line in document.answer:
        console.print(line, style="bold")
    every = [*document.blocks, *(document.details() if details and document.details else ())]
    for before, block in itertools.pairwise([*document.answer[-1:], *every]):
        if not (isinstance(before, str | Heading) and isinstance(block, str)):
            console.print()
        if isinstance(block, Table):
            _print_table(console, block)
        elif isinstance(block, Heading):
            console.print(block.text, style="bold")
        else:
            console.print(block)
    notes = text.fold(document.notes, document.noun, details)
    for line in [*([""] if notes else []), *notes]:
        console.print(line, style="yellow")
    more = f"{argument('details', True)} prints all results"
    behind = [more] if document.details and not details else []
    for line in [document.signature] if details and document.signature else behind:
        console.print(line, style="dim")
    for line in document.last:
        console.print(line)


def to_page(document: Document, template: str = "page.html.jinja", **more: object) -> str:
    """Returns one HTML file with all blocks, details and figures; it needs no network."""
    return page_top(document, template, **more) + page_figures(document.figures())


def page_top(document: Document, template: str, **more: object) -> str:
    """Returns a page without its figures and its end.

    Args:
      template: one of this folder.
      more: what it needs beside the document, and has no default in `_CONTEXT`.
    """
    further = [*document.details()] if document.details else []
    more |= {"sections": [*_sections(document.blocks)], "details": [*_sections(further)]}
    return printable_lines(_environment().get_template(template).render(document=document, **more))


def page_figures(figures: Iterable[Figure], most_rows: int | None = None) -> str:
    """Returns the figures and the end of a page.

    Args:
      most_rows: of a table under a figure; None: all.
    """
    drawn = []
    for figure in figures:
        width = figure.drawing.get_figwidth()
        size = {"wide": width > _WIDE, "least": round(_SMALLEST * width * _PIXELS)}
        drawn.append(figure._asdict() | {"svg": to_svg(figure)} | size)
    template = _environment().get_template("figures.html.jinja")
    return printable_lines(template.render(figures=drawn, most_rows=most_rows))


def to_svg(figure: Figure) -> str:
    """Returns the figure as an <svg> element of a page; equal figures give equal bytes.

    Text, background and grid lines take the colours of a light or dark page. Styles become
    attributes, which a page may hold that allows no inline style. The names of figures keep the
    ids of several ones on a page apart.
    """
    stream = io.StringIO()
    mark = hashlib.sha256(figure.name.encode()).hexdigest()
    with plots.prepared(figure.drawing, {"svg.fonttype": "path", "svg.hashsalt": mark}):
        metadata = {"Date": None, "Creator": None}
        figure.drawing.savefig(stream, format="svg", transparent=True, metadata=metadata)
    text = stream.getvalue()
    text = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r"(?<=data:image/png;base64,)[^\"]*", lambda png: _smaller(png[0]), text)
    text = re.sub(r'style="([^"]*)"', lambda style: _attributes(style[1]), text)
    text = text.replace("<svg ", f"<svg {_attributes(_SVG_STYLE)} ", 1)
    for drawn, of_page in _PAGE_COLOURS.items():
        text = text.replace(drawn, of_page)
    # glyphs have the same names in all figures: ids and references get a prefix
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{mark[:8]}-", text)
    return text[text.index("<svg") :]


def _smaller(png: str) -> str:
    """Returns an image in base64 with few colours: a fifth of the bytes."""
    from PIL import Image

    stream = io.BytesIO()
    with Image.open(io.BytesIO(base64.b64decode(png))) as image:
        image.quantize(_TINTS, Image.Quantize.FASTOCTREE).save(stream, "png", optimize=True)
    return base64.b64encode(stream.getvalue()).decode()


def _attributes(style: str) -> str:
    """Returns the attributes of an element of SVG for a style."""
    pairs = (part.partition(":") for part in style.split(";") if part.strip())
    return " ".join(f'{name.strip()}="{value.strip()}"' for name, _, value in pairs)


@functools.cache
def _environment() -> "jinja2.Environment":
    """Returns the templates of static and live pages."""
    import jinja2

    loader = jinja2.PackageLoader("jaxeval.report", ".")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["breakable"] = _breakable
    for name, kind in {"bold": Bold, "badge": Badge, "link": Link}.items():
        environment.tests[name] = lambda cell, kind=kind: isinstance(cell, kind)
    environment.globals |= _CONTEXT
    return environment


def _breakable(name: object) -> "Markup":
    """Allows line breaks where `_BREAK` says."""
    from markupsafe import Markup, escape

    return Markup(_BREAK.sub("<wbr>", str(escape(name))))


def _sections(blocks: Sequence[Block]) -> Iterator[dict[str, object]]:
    """Groups blocks by heading; consecutive lines become one list."""
    title = ""
    parts: list[dict[str, object]] = []
    for kind, group in itertools.groupby(blocks, type):
        if kind is Heading:
            if title or parts:
                yield {"title": title, "parts": parts}
            title = [*group][-1].text  # type: ignore[union-attr]
            parts = []
        elif kind is Table:
            parts += [{"table": table} for table in group]
        else:
            parts.append({"lines": [*group]})
    if title or parts:
        yield {"title": title, "parts": parts}


def to_notebook(document: Document) -> str:
    """Returns the answer, the tables and the notes as HTML; all text is escaped."""
    notes = text.fold(document.notes, document.noun)
    return page_top(document._replace(notes=notes), "notebook.html.jinja")


def to_markdown(document: Document) -> str:
    """Returns the answer, the tables and the notes in Markdown."""
    parts = [_markdown(line) for line in document.answer]
    for table in _paper(document):
        every = [table.columns, *table.rows]
        head, *rows = (f"| {' | '.join(map(_markdown, row))} |" for row in every)
        parts.append("\n".join([head, "| --- " * len(table.columns) + "|", *rows]))
        parts += [_markdown(caption)] if (caption := table.caption()) else []
    notes = text.fold(document.notes, document.noun)
    parts += ["\n".join(f"* {_markdown(line)}" for line in notes)] if notes else []
    parts += [f"`{document.signature}`"] if document.signature else []
    return "\n\n".join(parts) + "\n"


def _markdown(cell: str) -> str:
    escaped = _MARKDOWN.sub(r"\\\g<0>", printable_lines(cell))
    return f"**{escaped}**" if isinstance(cell, Bold) else escaped


def to_latex(document: Document) -> str:
    """Returns tables in LaTeX (booktabs); sentences and the signature become comments."""
    parts = ["\n".join(f"% {printable(line)}" for line in document.answer)]
    for table in _paper(document):
        # LaTeX would read a leading bracket or star as an argument of the command before
        every = [table.columns, *table.rows]
        rows = (" & ".join(map(_latex, row)) + r" \\" for row in every)
        head, *body = ("{}" + row if row.startswith(("[", "*")) else row for row in rows)
        columns = "l" * table.words + "r" * (len(table.columns) - table.words)
        lines = [f"\\begin{{tabular}}{{{columns}}}", "\\toprule", head, "\\midrule", *body]
        lines += ["\\bottomrule", "\\end{tabular}"]
        if caption := table.caption():
            begin = ["\\begin{table}", "\\centering", f"\\caption{{{_latex(caption)}}}"]
            lines = [*begin, *lines, "\\end{table}"]
        parts.append("\n".join(lines))
    notes = [*text.fold(document.notes, document.noun), document.signature]
    parts.append("\n".join(f"% {printable(line)}" for line in notes if line))
    return "\n\n".join(filter(None, parts)) + "\n"


def _latex(cell: str) -> str:
    escaped = _MINUS.sub("$-$", printable(cell).translate(_LATEX))
    return f"\\textbf{{{escaped}}}" if isinstance(cell, Bold) else escaped


def _paper(document: Document) -> Sequence[Table]:
    if document.paper:
        return document.paper()
    return [block for block in document.blocks if isinstance(block, Table)]
