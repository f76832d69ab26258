"""What a verb returns: numbers, and a document that says them."""

from pathlib import Path
from typing import TYPE_CHECKING

from jaxeval import errors, files
from jaxeval.errors import ConfigError
from jaxeval.files import Json
from jaxeval.report import plain
from jaxeval.report.document import Document

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

ENDINGS = (".json", ".html", ".md", ".tex")


def ending(path: str | Path) -> str:
    """How a result is written there: one of `ENDINGS`, or "" for a folder of figures.

    Raises:
      ConfigError: no path, or a file of another kind.
    """
    if not str(path):
        raise ConfigError(f"{errors.argument('save')}: expected a path, got an empty text")
    suffix = Path(path).suffix
    if suffix in ENDINGS or not suffix or Path(path).is_dir():
        return suffix if suffix in ENDINGS and not Path(path).is_dir() else ""
    expected = f"{', '.join(ENDINGS)}, or a folder for figures, whose name has no ending"
    raise ConfigError(f"{errors.argument('save', str(path))}: expected {expected}")


class Result:
    """The parent of what verbs return, frozen dataclasses whose fields are the numbers."""

    exit_code = 0  # of the verb

    def document(self) -> Document:
        """What is said of the numbers."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Json]:
        """The numbers as plain data, as --json writes them."""
        return plain.record(self)

    def plot(self, name: str = "") -> "Drawing":
        """A figure by its name; without one, the first.

        Raises:
          ConfigError: there is no such figure.
        """
        drawn = {figure.name: figure.drawing for figure in self.document().figures()}
        name = name or next(iter(drawn), "")
        if name not in drawn:
            has = f"expected one of {', '.join(drawn)}" if drawn else "there are no figures"
            raise ConfigError(f"plot: {has}, got {name!r}")
        return drawn[name]

    def save(self, path: str | Path) -> list[Path]:
        """Writes the result; the ending of the path says how.

        Args:
          path: .json, .html (a page), .md or .tex (tables to paste); or a folder, which gets all
            figures as SVG, PDF and PNG.

        Returns:
          The files.

        Raises:
          ConfigError: a path of another kind; a folder, and there are no figures.
          RunError: a file cannot be written.
        """
        from jaxeval.report import figures, render

        kind, path = ending(path), Path(path)
        if kind == ".json":
            files.write_json(str(path), self.to_dict())
        elif kind:
            written = {".html": render.to_page, ".md": render.to_markdown, ".tex": render.to_latex}
            files.write_text(path, written[kind](self.document()))
        else:
            drawn = [*self.document().figures()]
            if not drawn:
                of = errors.argument("save", str(path))
                raise ConfigError(f"{of}: there are no figures; expected {', '.join(ENDINGS)}")
            return figures.save_all(drawn, path)
        return [path]

    def print(self, details: bool = False) -> None:
        """Prints the answer, tables and notes; with details all that was computed."""
        from jaxeval.report import render

        render.to_terminal(self.document(), details)

    def __repr__(self) -> str:
        with errors.called_from_python():
            return "\n".join(self.document().answer)

    def _repr_html_(self) -> str:
        from jaxeval.report import render

        with errors.called_from_python():
            return render.to_notebook(self.document())
