"""Pages of a runs database, each made once for all tabs, and made again when rows were written."""

import hashlib
import threading
import time
import urllib.parse
from collections.abc import Callable
from concurrent import futures
from typing import Generic, NamedTuple, TypeVar

from jaxeval.files import Json
from jaxeval.report import render
from jaxeval.runs.following import Followed, Following
from jaxeval.serve.pages import Asked, Page, Pages
from jaxeval.serve.parts import Links

MOST_ROWS = 200  # of a table on a page; the CSV has all
_MOST_KEPT = 32  # pages
_REMADE, _REDRAWN = 5, 20  # texts, figures: made again after so many times what making took

_T = TypeVar("_T")


class _Entry(NamedTuple, Generic[_T]):
    mark: str
    value: _T
    until: float  # it counts until then, whatever the mark


class _Kept(Generic[_T]):
    """Values by page, each made once for all threads, and again if its mark has changed.

    Args:
      patience: a value counts for so many times what making it took.
      makers: values that may be made at once.
    """

    def __init__(self, patience: float, makers: int):
        self._patience, self._entries = patience, dict[Asked, _Entry[_T]]()
        self._locks = [threading.Lock() for _ in range(makers)]

    def known(self, asked: Asked, mark: str) -> _Entry[_T] | None:
        """Returns the entry that counts for a mark; None if it must be made."""
        entry = self._entries.get(asked)
        counts = entry and (entry.mark == mark or entry.until > time.monotonic())
        return entry if counts else None

    def get(self, asked: Asked, mark: str, make: Callable[[], _T]) -> _T:
        """Returns the value that counts for a mark."""
        with self._locks[hash(asked) % len(self._locks)]:
            entry, begun = self.known(asked, mark), time.monotonic()
            if entry is None:
                value, now = make(), time.monotonic()
                entry = _Entry(mark, value, now + self._patience * (now - begun))
            self._entries.pop(asked, None)
            self._entries[asked] = entry
            for oldest in [*self._entries][:-_MOST_KEPT]:
                self._entries.pop(oldest, None)
            return entry.value


class Made(NamedTuple):
    """A page and its HTML without the figures, in UTF-8."""

    page: Page
    top: bytes


class Site:
    """The pages of a runs database."""

    def __init__(self, followed: Following, location: str, links: Links):
        self._links = [*links]
        self.followed, self._pages = followed, Pages(followed, location)
        self._texts = _Kept[Made](_REMADE, makers=8)
        self._figures = _Kept[bytes](_REDRAWN, makers=8)
        # matplotlib has one state for all threads, and each thread keeps freed memory of its own
        self._drawing = futures.ThreadPoolExecutor(1)
        self._begun, self._marks = time.time_ns(), dict[Asked, str]()

    def look(self) -> None:
        """Reads what was written since the last look."""
        self.followed.poll()
        self._marks.clear()  # of states too, which change with time

    def made(self, asked: Asked) -> Made:
        """Returns a page and its HTML without the figures."""
        mark = self.mark(asked)
        return self._texts.get(asked, mark, lambda: self._make(asked, mark))

    def _make(self, asked: Asked, mark: str) -> Made:
        page = self._pages.page(asked)
        pairs = [("kind", asked.kind), *(("e", e) for e in asked.experiments), ("after", "")]
        top = render.page_top(
            page.document,
            "live.html.jinja",
            **{"path": asked.path, "query": asked.query, "revision": mark},
            **{"most_rows": MOST_ROWS, "events": f"/events?{urllib.parse.urlencode(pairs)}"},
            **{"links": self._links, **page.context},
        )
        return Made(page, top.encode())

    def figures(self, asked: Asked, page: Page) -> bytes:
        """Returns the figures and the end of a page."""

        def draw() -> bytes:
            return render.page_figures(page.document.figures(), MOST_ROWS).encode()

        mark = self._mark_of_figures(asked)
        return self._figures.get(asked, mark, lambda: self._drawing.submit(draw).result())

    def tag(self, asked: Asked) -> str:
        """Returns a text that differs if two answers for a page do."""
        text, drawn = self.mark(asked), self._mark_of_figures(asked)
        known = self._texts.known(asked, text), self._figures.known(asked, drawn)
        return f"{known[0].mark if known[0] else text}{known[1].mark if known[1] else drawn}"

    def mark(self, asked: Asked) -> str:
        """Returns a text that changes when a page does, over restarts too."""
        if asked not in self._marks:
            known = self._known(asked)
            states = [(of.row, of.name, self._pages.state(of)) for of in known]
            self._marks[asked] = self._digest(states, self._mark_of_figures(asked))
        return self._marks[asked]

    def _mark_of_figures(self, asked: Asked) -> str:
        versions = [of.version for of in self._known(asked)]
        return self._digest(versions, self._pages.stamp(asked))

    def _known(self, asked: Asked) -> list[Followed]:
        known = self.followed.experiments
        return [known[e] for e in asked.experiments or [*known]]

    def _digest(self, *values: object) -> str:
        text = repr((self._begun, values)).encode()
        return hashlib.blake2b(text, digest_size=8).hexdigest()

    def news(self, asked: Asked, after: int) -> dict[str, Json]:
        """Returns what a stream sends: the points of curves that changed after a row."""
        curves: dict[str, Json] = {
            e: [[*point] for point in self.followed.curve(e, after)]
            for e in asked.experiments
            if asked.kind in ("e", "compare")
        }
        return {"row": self.followed.row, "revision": self.mark(asked), "curves": curves}
