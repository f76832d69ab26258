"""What golden_commands.py keeps of a command: trees, tables and figures, without what changes from
day to day."""

import contextlib
import csv
import gzip
import html
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_CLOCK = (  # keys of JSON and columns of CSV that change from day to day, or with the machine
    r"(.*_)?(seconds|wall|elapsed|duration|created|started|date|host|hostname|pid|git|commit)"
    r"|.*seconds.*|version|versions|jaxeval|jax|jaxlib|flax|device|python|memory|bytes"
)
_UNSAID = (  # in any text: times, versions, commits
    (r"\d{4}-\d\d-\d\d[T ]\d\d[:-]\d\d([:-]\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?", "TIME"),
    (r"\b\d[\d.,]* ?(ms|s|min|h|seconds?|minutes?|hours?)\b", "DURATION"),
    (r"\b(jaxeval|jax|jaxlib|flax|numpy|scipy|matplotlib|optuna|[Pp]ython) v?\d+(\.\w+)+", r"\1"),
    (r"\b[0-9a-f]{40}\b", "COMMIT"),
)


def clean(text: str, places: dict[str, str]) -> str:
    """A text without what changes from day to day."""
    for place, name in places.items():
        text = text.replace(place, name)
    for pattern, instead in _UNSAID:
        text = re.sub(pattern, instead, text)
    return text


def tidy(tree: Any, places: dict[str, str]) -> Any:
    """A tree of JSON likewise."""
    if isinstance(tree, dict):
        return {
            clean(str(key), places): "CLOCK" if re.fullmatch(_CLOCK, key) else tidy(of, places)
            for key, of in tree.items()
        }
    if isinstance(tree, list):
        return [tidy(of, places) for of in tree]
    return clean(tree, places) if isinstance(tree, str) else tree


def written(path: Path, places: dict[str, str]) -> Any:
    """What a command has written: JSON and CSV as trees, a page without its tags, else text."""
    if path.suffix == ".gz":
        text = gzip.decompress(path.read_bytes()).decode()
    else:
        text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        return tidy(json.loads(text), places)
    if path.suffix == ".jsonl":
        return [tidy(json.loads(line), places) for line in text.splitlines() if line.strip()]
    if path.suffix == ".csv":  # by column, since columns may be renamed
        header, *rows = csv.reader(io.StringIO(text))
        columns = {name: [row[k] for row in rows] for k, name in enumerate(header)}
        trees = {
            name: [json.loads(of) if of.startswith("{") else of for of in cells]
            for name, cells in columns.items()
        }
        return tidy(trees, places)
    if path.suffix == ".html":
        text = re.sub(r"(?s)<(svg|style|script)\b.*?</\1>|<[^>]*>", "\n", text)
        text = re.sub(r"\s*\n\s*", "\n", html.unescape(text))
    return clean(text, places)


def drawn(drawing: Any) -> dict[str, Any]:
    """The data of a figure."""
    from matplotlib.colors import to_hex
    from matplotlib.path import Path as Outline

    def outline(path: Outline) -> Any:
        return path.vertices.tolist()

    def texts(of: Any) -> list:
        return [[t.get_text(), *map(float, t.get_position())] for t in of if t.get_text()]

    def colours(of: Any) -> list[str]:
        return [to_hex(c, keep_alpha=True) for c in of.get_facecolor()[:50]]

    def panel(axes: Any) -> dict[str, Any]:
        of: dict[str, Any] = {"title": axes.get_title(), "left_title": axes.get_title("left")}
        for side, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
            of[side] = {
                "label": axis.get_label_text(),
                "scale": axis.get_scale(),
                "limits": list(map(float, axis.get_view_interval())),
                "ticks": [label.get_text() for label in axis.get_ticklabels()],
            }
        of["lines"] = [
            {"xy": line.get_xydata().tolist(), "colour": str(line.get_color())}
            for line in axes.lines
        ]
        of["collections"] = [
            {
                "offsets": c.get_offsets().tolist(),
                "paths": [outline(path) for path in c.get_paths()],
                "colours": colours(c),
            }
            for c in axes.collections
        ]
        of["patches"] = [
            outline(p.get_patch_transform().transform_path(p.get_path())) for p in axes.patches
        ]
        of["images"] = [image.get_array().tolist() for image in axes.images]
        of["texts"] = texts(axes.texts)
        legend = axes.get_legend()
        of["legend"] = [t.get_text() for t in legend.get_texts()] if legend else []
        return of

    return {
        "axes": [panel(axes) for axes in drawing.axes],
        "texts": [t.get_text() for t in drawing.texts if t.get_text()],
        "legends": [[t.get_text() for t in legend.get_texts()] for legend in drawing.legends],
    }


@contextlib.contextmanager
def figures_kept(into: dict[str, Any]) -> Iterator[None]:
    """Keeps what is drawn, by the folder and name of its files, of pages by number; of several
    files of one figure only the first is written."""
    from matplotlib.figure import Figure

    savefig = Figure.savefig
    seen: list[tuple[Figure, str]] = []

    def keeping(self: Figure, target: Any, **options: Any) -> None:
        streamed = hasattr(target, "write")
        pages = [of for of in into if of.startswith("page")]
        folder_and_stem = [] if streamed else Path(target).with_suffix("").parts[-2:]
        name = "/".join(folder_and_stem) or f"page{len(pages)}"
        before = next((of for known, of in seen if known is self), None)
        if streamed or before != name:
            savefig(self, target, **options)
        else:
            Path(target).touch()
        if before is None:
            into[name] = drawn(self)
        elif not streamed and before != name:  # of a page, and now a file too
            into[name] = into.pop(before)
        if before is None or not streamed:
            seen[:] = [*(of for of in seen if of[0] is not self), (self, name)]

    Figure.savefig = keeping
    try:
        yield
    finally:
        Figure.savefig = savefig
