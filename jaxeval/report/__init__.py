"""Results of verbs: numbers, and a document that presents them. Imports no renderer and no jax.

All documents share `scores` (units), `text`, `plots` and `render`.
"""

import csv
import dataclasses
import functools
import io
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxeval import errors, files
from jaxeval.errors import ConfigError
from jaxeval.files import Json

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


_SUFFIXES = (".json", ".html", ".md", ".tex")
# where formulas begin (OWASP), also behind the separator of cells where a comma is in numbers
_FORMULA = re.compile(r"^(?=[\t\r\n])|(?:^|(?<=;))(?=\s*[=+@\uff1d\uff0b\uff0d\uff20-])")
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|-", re.ASCII | re.IGNORECASE)


class Bold(str):
    """A table cell in bold type."""


class Badge(str):
    """A table cell with a frame, such as the state of an experiment."""


class Link(str):
    """A table cell that links to another page.

    Args:
      box: name of a checkbox, whose value is the last part of the address; "": no checkbox.
    """

    href: str
    box: str

    def __new__(cls, text: str, href: str, box: str = "") -> "Link":
        """Returns a cell."""
        made = super().__new__(cls, text)
        made.href, made.box = href, box
        return made


class Table(NamedTuple):
    """Text cells; the first `words` columns hold words, the others numbers."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    words: int = 1
    bold: str = ""  # what bold cells mean

    def caption(self, mark: str = "Bold") -> str:
        """Returns the title, and what the cells mean that have the mark."""
        return f"{self.title} {mark}: {self.bold}".lstrip() if self.bold else self.title


class Heading(NamedTuple):
    """The title of the blocks that follow."""

    text: str


class Figure(NamedTuple):
    """A drawing with its file name, a caption, and the data it shows as a table."""

    name: str
    title: str
    caption: str
    drawing: "Drawing"
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]


Block = Table | Heading | str  # str: a line


class Document(NamedTuple):
    """The presentation of a result, in reading order."""

    answer: Sequence[str]  # sentences that answer the question of the verb
    blocks: Sequence[Block] = ()  # shown by default
    notes: Sequence[str] = ()  # warnings and remarks, folded by kind when printed
    details: Callable[[], Iterable[Block]] | None = None  # what --details adds
    # makes the tables for LaTeX and Markdown; None: those of `blocks`
    paper: Callable[[], Sequence[Table]] | None = None
    figures: Callable[[], Sequence[Figure]] = tuple  # draws the figures
    title: str = "jaxeval"
    signature: str = ""  # method, settings and versions in one line
    noun: str = "file"  # what a note "NAME: ..." is about
    last: Sequence[str] = ()  # printed at the end: the exit code, what to do next


def save_suffix(path: str | Path) -> str:
    """Returns the suffix that decides the format of a saved result, or "" for a figure folder.

    Raises:
      ConfigError: the path is empty or has an unknown suffix.
    """
    if not str(path):
        raise ConfigError(f"{errors.argument('save')}: expected a path, got an empty text")
    suffix = Path(path).suffix
    if not suffix or Path(path).is_dir():
        return ""
    if suffix in _SUFFIXES:
        return suffix
    expected = f"{', '.join(_SUFFIXES)}, or a folder for figures, whose name has no ending"
    raise ConfigError(f"{errors.argument('save', str(path))}: expected {expected}")


class Result:
    """Base class of the results of verbs: frozen dataclasses whose fields are the numbers."""

    exit_code = 0  # of the verb on the command line

    def document(self) -> Document:
        """Returns the sentences, tables and figures that present the numbers."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Json]:
        """Returns the numbers as plain data, as --json writes them."""
        tree: dict[str, Json] = to_json(self)
        return tree

    def plot(self, name: str = "") -> "Drawing":
        """Returns the figure with this name (the first one); ConfigError if there is none."""
        drawn = {figure.name: figure.drawing for figure in self.document().figures()}
        name = name or next(iter(drawn), "")
        if name not in drawn:
            has = f"expected one of {', '.join(drawn)}" if drawn else "there are no figures"
            raise ConfigError(f"plot: {has}, got {name!r}")
        return drawn[name]

    def save(self, path: str | Path) -> list[Path]:
        """Writes the result and returns the paths of the written files.

        Args:
          path: a .json, .html (page), .md or .tex (tables) file; or a folder, which gets all
            figures as SVG, PDF and PNG.

        Raises:
          ConfigError: the suffix is unknown, or a folder is given and there are no figures.
          RunError: a file cannot be written.
        """
        from jaxeval.report import plots, render

        suffix, path = save_suffix(path), Path(path)
        if suffix == ".json":
            files.write_json(str(path), self.to_dict())
        elif suffix:
            written = {".html": render.to_page, ".md": render.to_markdown, ".tex": render.to_latex}
            files.write_text(path, written[suffix](self.document()))
        else:
            drawn = [*self.document().figures()]
            if not drawn:
                where = errors.argument("save", str(path))
                raise ConfigError(
                    f"{where}: there are no figures; expected {', '.join(_SUFFIXES)}"
                )
            return plots.save_all(drawn, path)
        return [path]

    def print(self, details: bool = False) -> None:
        """Prints the answer, tables and notes; with details, everything that was computed."""
        from jaxeval.report import render

        with errors.called_from(errors.parameter):
            render.to_terminal(self.document(), details)

    def __repr__(self) -> str:
        with errors.called_from(errors.parameter):
            return "\n".join(self.document().answer)

    def _repr_html_(self) -> str:
        from jaxeval.report import render

        with errors.called_from(errors.parameter):
            return render.to_notebook(self.document())


def to_json(value: object) -> Any:
    """Converts dataclasses, NamedTuples, mappings and arrays to JSON data.

    Dataclasses have their fields, without those with `repr=False`, and cached properties. Tuple
    keys become nested objects. Numbers that are not finite become null.

    Raises:
      TypeError: the value has no JSON form.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        shown = [field.name for field in dataclasses.fields(value) if field.repr]
        cached = functools.cached_property
        shown += [name for name, of in vars(type(value)).items() if isinstance(of, cached)]
        return {name: to_json(getattr(value, name)) for name in shown}
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        tree: dict[str, Json] = {}
        for key, inner in value.items():
            *path, last = key if isinstance(key, tuple) else (key,)
            place: dict = tree
            for part in path:
                place = place.setdefault(str(part), {})
            place[str(last)] = to_json(inner)
        return tree
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [to_json(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"no plain data: {value!r}")


def to_csv(rows: Iterable[Sequence[object]]) -> str:
    """Returns rows as CSV in which a spreadsheet finds no formulas.

    Where a text begins like a formula it gets an apostrophe, as OWASP advises against "CSV
    injection". Numbers stay as they are.
    """
    stream = io.StringIO()
    csv.writer(stream).writerows([_harmless(cell) for cell in row] for row in rows)
    return stream.getvalue()


def _harmless(cell: object) -> object:
    text = isinstance(cell, str) and not _PLAIN.fullmatch(cell)
    return _FORMULA.sub("'", str(cell)) if text else cell
