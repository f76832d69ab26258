"""The outcome of a search, written: JSON, page, figures, the terminal."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from jaxeval import files
from jaxeval.errors import RunError

if TYPE_CHECKING:
    from jaxeval.report.tuning.as_json import Result


def write(tree: "Result", args: argparse.Namespace) -> int:
    """Writes the outcome as JSON, page and figures, prints it, or all of these.

    Raises:
      RunError: no setting has a score.
    """
    from jaxeval.report.plain import plain
    from jaxeval.report.tuning import terminal

    retry = "--retry-failed tries them again" if args.command and tree["failures"] else ""
    if args.json:
        files.write_json(args.json, plain(tree))
    if tree["best"] is None:
        causes = terminal.causes(tree["failures"])
        said = "; ".join(f"{count} x {cause}" for count, cause in causes)
        raise RunError(f"no setting has a score: {said or tree['reason']}{retry and f'; {retry}'}")
    if args.figures or args.html:
        _draw(tree, args.figures, args.html)
    if args.json != "-":
        terminal.print_result(tree, args.details)
        if retry:
            print(f"failed settings: {retry}")
    return 0


def _draw(tree: "Result", folder: str | None, page_path: str | None) -> None:
    """Writes figures into a folder, or a page, or both."""
    from jaxeval.report import figures
    from jaxeval.report.tuning import figures as drawing
    from jaxeval.report.tuning import page

    drawn = drawing.draw(tree)
    if folder is not None:
        for path in figures.save_all(drawn, Path(folder)):
            print(f"figure: {path}", file=sys.stderr)
    if page_path is not None:
        files.write_text(Path(page_path), page.render(tree, drawn))
        print(f"page: {page_path}", file=sys.stderr)
