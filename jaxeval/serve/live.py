"""The pages that follow a runs database, each made once for all tabs, and the stream of events."""

import asyncio
import json
import threading
import time
import urllib.parse
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import NamedTuple

import anyio
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from jaxeval.files import Json
from jaxeval.report import render
from jaxeval.runs.following import Following
from jaxeval.serve.pages import Page, Pages
from jaxeval.serve.parts import Part

_SECONDS = 0.5  # between two looks at the database
_KEEP_ALIVE = 15.0  # seconds between two comments in a stream without events
_MOST_ROWS = 200  # of a table on a page; the CSV has all
_MOST_CACHED = 64  # pages
_MOST_COMPARED = 8  # colours
_REDRAWN = 20  # figures are drawn again after so many times what drawing took


class _Drawn(NamedTuple):
    versions: tuple[int, ...]
    html: str
    until: float  # not drawn again before


class _Site:
    """Pages of a runs database, each made once for all tabs after rows were written."""

    def __init__(self, followed: Following, location: str):
        self.followed, self._pages = followed, Pages(followed, location)
        self._lock = threading.Lock()
        self._made: dict[str, tuple[int, Page, str]] = {}
        self._drawn: dict[tuple[str, ...], _Drawn] = {}
        self.revision = int(time.time())  # grows over restarts too
        self._states: tuple[object, ...] = ()
        self.look()

    def look(self) -> None:
        """Reads new rows; a new revision if a page would show something else."""
        self.followed.poll()
        every = self.followed.experiments.values()
        states: tuple[object, ...] = (self.followed.revision, *map(self._pages.state, every))
        if states != self._states:
            self._states, self.revision = states, self.revision + 1

    def page(self, path: str, query: str, experiments: Sequence[str]) -> tuple[Page, str]:
        """Returns a page and its HTML without the figures."""
        with self._lock:
            revision, key = self.revision, path + query
            known = self._made.pop(key, None)
            if known is None or known[0] != revision:
                page = self._make(path, experiments)
                known = revision, page, self._render(page, path, query, experiments, revision)
            self._made[key] = known
            while len(self._made) > _MOST_CACHED:
                del self._made[next(iter(self._made))]
            return known[1:]

    def _make(self, path: str, experiments: Sequence[str]) -> Page:
        if path == "/index":
            return self._pages.experiments()
        if path == "/compare":
            return self._pages.compare(experiments)
        return self._pages.experiment(experiments[0])

    def _render(
        self, page: Page, path: str, query: str, experiments: Sequence[str], revision: int
    ) -> str:
        followed = urllib.parse.urlencode([*(("e", e) for e in experiments), ("after", "")])
        return render.page_top(
            page.document,
            "live.html.jinja",
            **{"path": path, "query": query, "revision": revision, "most_rows": _MOST_ROWS},
            **{"events": f"/events?{followed}", **page.context},
        )

    def figures(self, experiments: Sequence[str]) -> str:
        """Returns the figures and the end of a page; drawn again only if members have ended."""
        with self._lock:
            key = tuple(experiments)
            versions = tuple(self.followed.experiments[e].version for e in experiments)
            known, begun = self._drawn.get(key), time.monotonic()
            if known is None or (known.versions != versions and known.until < begun):
                html = render.page_figures(self._pages.figures(experiments), _MOST_ROWS)
                took = time.monotonic() - begun
                known = _Drawn(versions, html, begun + took * _REDRAWN)
                self._drawn.pop(key, None)
                self._drawn[key] = known
                while len(self._drawn) > _MOST_CACHED:
                    del self._drawn[next(iter(self._drawn))]
            return known.html

    def news(self, experiments: Sequence[str], after: int) -> dict[str, Json]:
        """Returns what a stream sends: the points of curves that changed after a row."""
        curves: dict[str, Json] = {
            e: [[*point] for point in self.followed.curve(e, after)] for e in experiments
        }
        return {"row": self.followed.row, "revision": self.revision, "curves": curves}

    def mark(self, experiments: Sequence[str]) -> tuple[int, ...]:
        """Returns numbers that change when a page of these experiments does."""
        if not experiments:
            return (self.revision,)
        known = [self.followed.experiments[e] for e in experiments]
        states = [hash(self._pages.state(of)) for of in known]
        return (*(of.row for of in known), *(of.version for of in known), *states)


def part(followed: Following, location: str) -> Part:
    """Returns the pages of a runs database that is followed."""
    site = _Site(followed, location)
    site.page("/index", "", [])  # imports what the first visitor would wait for
    site.figures([])

    async def look() -> None:
        while True:
            await asyncio.sleep(_SECONDS)
            await anyio.to_thread.run_sync(site.look)

    return Part(
        [
            Route("/", _handler(site)),
            Route("/index.{form:str}", _handler(site)),
            Route("/e/{id:str}.{form:str}", _handler(site)),
            Route("/e/{id:str}", _handler(site)),
            Route("/compare.{form:str}", _handler(site)),
            Route("/compare", _handler(site)),
            Route("/events", _events(site)),
        ],
        [look],
    )


def _asked(site: _Site, names: Sequence[str]) -> list[str]:
    """Returns the ids of experiments; HTTPException for one that is unknown."""
    found = dict[str, None]()
    for name in names:
        key = site.followed.find(name)
        if key is None:
            raise HTTPException(404, "no such experiment; expected an id or a name")
        found[key] = None
    return [*found]


def _handler(site: _Site) -> Callable[[Request], Response]:
    """Returns the function that answers for a page, its JSON and its CSV."""

    def answer(request: Request) -> Response:
        path, form = request.url.path, request.path_params.get("form", "html")
        names = request.query_params.getlist("e") if path.startswith("/compare") else []
        names = [request.path_params["id"]] if "id" in request.path_params else names
        if form not in ("html", "json", "csv"):
            raise HTTPException(404, "no such page; expected .json or .csv")
        experiments = _asked(site, names)
        path = f"/e/{experiments[0]}" if path.startswith("/e/") else path.partition(".")[0]
        if path == "/compare" and not 2 <= len(experiments) <= _MOST_COMPARED:
            raise HTTPException(
                400, f"tick 2 to {_MOST_COMPARED} experiments; found {len(experiments)}"
            )
        path = "/index" if path == "/" else path
        chosen = experiments if path == "/compare" else []
        query = f"?{urllib.parse.urlencode([('e', e) for e in chosen])}" if chosen else ""
        page, top = site.page(path, query, experiments)
        if form == "json":
            text = json.dumps(page.data, ensure_ascii=False, allow_nan=False)
            return Response(text, media_type="application/json")
        if form == "csv":
            return Response(page.csv(), media_type="text/csv")

        def parts() -> Iterator[str]:
            yield top  # at once: drawing takes its time
            yield site.figures(experiments)

        return StreamingResponse(parts(), media_type="text/html")

    return answer


def _events(site: _Site) -> Callable[[Request], Response]:
    """Returns the function that answers with a stream of events."""

    def answer(request: Request) -> Response:
        experiments = _asked(site, request.query_params.getlist("e"))
        after = request.headers.get("last-event-id") or request.query_params.get("after", "")
        begun = int(after) if after.isdecimal() and len(after) < 19 else 0
        return StreamingResponse(_stream(site, experiments, begun), media_type="text/event-stream")

    return answer


async def _stream(site: _Site, experiments: Sequence[str], after: int) -> AsyncIterator[str]:
    """Yields the points after a row at once, and then what changes."""
    yield "retry: 2000\n\n"
    sent: tuple[int, ...] = ()
    quiet = 0.0
    while True:
        mark = site.mark(experiments)
        if mark != sent:
            news = await anyio.to_thread.run_sync(site.news, experiments, after)
            sent, quiet, after = mark, 0.0, int(str(news["row"]))
            yield f"id: {after}\ndata: {json.dumps(news)}\n\n"
        elif quiet > _KEEP_ALIVE:
            quiet = 0.0
            yield ": \n\n"
        await asyncio.sleep(_SECONDS / 2)
        quiet += _SECONDS / 2
