"""Pages that follow a runs database, each made once for all tabs; and their streams of events."""

import asyncio
import functools
import hashlib
import json
import math
import time
import urllib.parse
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from concurrent import futures
from typing import NamedTuple

import anyio
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from jaxeval.errors import JaxevalError
from jaxeval.files import Json
from jaxeval.report import plots, render
from jaxeval.report.document import Figure, to_csv
from jaxeval.runs.following import Followed, Following
from jaxeval.serve import app
from jaxeval.serve.pages import KINDS, Asked, Pages

_SECONDS = 0.5  # between two looks at the database
_KEEP_ALIVE = 15.0  # seconds between two comments in a stream without events
_MOST_ROWS = 200  # of a table on a page; the CSV has all
_MOST_KEPT = 32  # answers and figures
_REMADE, _REDRAWN = 5, 20  # answers, figures: made again after so many times what making took
_FIGURES = "figures"  # beside the forms of a page


class _Made(NamedTuple):
    """An answer, or its part before the figures, and what draws these."""

    body: bytes
    figures: Callable[[], Iterable[Figure]] = tuple


class _Kept:
    """What is made, or is being made, for a mark."""

    made: asyncio.Future[_Made]
    until = math.inf  # it counts until then, whatever the mark

    def __init__(self, mark: str):
        self.mark = mark

    def counts(self, mark: str) -> bool:
        return self.mark == mark or self.until > time.monotonic()


class Site:
    """The pages of a runs database. All but what makes pages runs in the event loop."""

    def __init__(self, followed: Following, location: str):
        self._followed, self._pages = followed, Pages(followed, location)
        self._kept = dict[tuple[Asked, str], _Kept]()
        # few threads, as each keeps freed memory of its own; matplotlib has one state for all
        self._making = futures.ThreadPoolExecutor(2)
        self._drawing = futures.ThreadPoolExecutor(1)
        self._begun, self._marks = time.time_ns(), dict[Asked, str]()
        self._make(Asked("index"), "html", "")  # imports what the first visitor would wait for

    async def look(self) -> None:
        """Reads for ever what was written since the last look."""
        while True:
            await asyncio.sleep(_SECONDS)
            await anyio.to_thread.run_sync(self._followed.poll)
            self._marks.clear()  # of states too, which change with time

    async def warm(self) -> None:
        """Makes the first page, and prepares what figures need, which takes a second."""
        await self._made(Asked("index"), "html")

        def draw() -> None:
            drawing, _ = plots.canvas(2.0, 2.0)
            render.page_figures([Figure("warm", "", "", drawing, (), ())])

        await asyncio.get_running_loop().run_in_executor(self._drawing, draw)

    async def _made(self, asked: Asked, form: str) -> _Made:
        """Returns an answer; of a page the part before the figures."""
        mark = self._mark(asked)
        make = functools.partial(self._make, asked, form, mark)
        return await self._get((asked, form), mark, make, self._making, _REMADE)

    def _make(self, asked: Asked, form: str, mark: str) -> _Made:
        page = self._pages.page(asked)
        if form == "json":
            return _Made(json.dumps(page.data, ensure_ascii=False, allow_nan=False).encode())
        if form == "csv":
            return _Made(to_csv(page.rows).encode())
        pairs = [("kind", asked.kind), *(("e", e) for e in asked.experiments), ("after", "")]
        top = render.page_top(
            page.document,
            "live.html.jinja",
            **{"path": asked.path, "query": asked.query, "revision": mark},
            **{"most_rows": _MOST_ROWS, "events": f"/events?{urllib.parse.urlencode(pairs)}"},
            **page.context,
        )
        return _Made(top.encode(), page.document.figures)

    async def _drawn(self, asked: Asked, figures: Callable[[], Iterable[Figure]]) -> bytes:
        """Returns the figures and the end of a page."""

        def draw() -> _Made:
            return _Made(render.page_figures(figures(), _MOST_ROWS).encode())

        key, mark = (asked, _FIGURES), self._mark_of_figures(asked)
        return (await self._get(key, mark, draw, self._drawing, _REDRAWN)).body

    async def _get(
        self,
        key: tuple[Asked, str],
        mark: str,
        make: Callable[[], _Made],
        pool: futures.Executor,
        patience: int,
    ) -> _Made:
        """Returns what counts for a mark; made once for all who ask.

        Args:
          patience: it counts for so many times what making it took.
        """

        def timed(kept: _Kept) -> _Made:
            begun = time.monotonic()
            made = make()
            now = time.monotonic()
            kept.until = now + patience * (now - begun)
            return made

        kept = self._kept.pop(key, None)
        if kept is None or not kept.counts(mark):
            kept = _Kept(mark)
            kept.made = asyncio.get_running_loop().run_in_executor(pool, timed, kept)
        self._kept[key] = kept
        for oldest in [*self._kept][:-_MOST_KEPT]:
            del self._kept[oldest]
        try:
            return await asyncio.shield(kept.made)  # others wait too
        except Exception:
            self._kept.pop(key, None)
            raise

    def _tag(self, asked: Asked, form: str) -> str:
        """Returns a text that differs if two answers do."""
        marks = {form: self._mark(asked)}
        marks |= {_FIGURES: self._mark_of_figures(asked)} if form == "html" else {}
        known = [(self._kept.get((asked, part)), mark) for part, mark in marks.items()]
        return "".join(kept.mark if kept and kept.counts(m) else m for kept, m in known)

    def _mark(self, asked: Asked) -> str:
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
        known = self._followed.experiments
        return [known[e] for e in asked.experiments or [*known]]

    def _digest(self, *values: object) -> str:
        text = repr((self._begun, values)).encode()
        return hashlib.blake2b(text, digest_size=8).hexdigest()

    def part(self) -> app.Part:
        """Returns the routes, and what runs beside them."""
        paths = ["/index", "/compare", *(f"/{kind}/{{id}}" for kind in ("e", "sweep", "tune"))]
        routes = [Route(path, self.answer) for of in paths for path in (f"{of}.{{form}}", of)]
        more = Route("/", self.answer), Route("/events", self.events)
        return app.Part([*more, *routes], [self.look, self.warm])

    def _asked(self, kind: str, names: Sequence[str]) -> Asked:
        """Returns the page that is asked for; HTTPException if there is none."""
        found = dict[str, None]()
        for name in names:
            key = self._followed.find(name)
            if key is None:
                raise HTTPException(404, "no such experiment; expected an id or a name")
            found[key] = None
        if kind == "compare":
            app.check_ticked([*found])
        elif kind not in KINDS or len(found) != (kind != "index"):
            raise HTTPException(404, "no such page")
        if len(metrics := {self._followed.experiments[key].metric for key in found}) > 1:
            raise HTTPException(400, f"expected one metric, found {', '.join(sorted(metrics))}")
        return Asked(kind, tuple(found))

    async def answer(self, request: Request) -> Response:
        """Answers with a page, its JSON or its CSV."""
        form = app.form(request)
        kind = request.url.path.split("/")[1].partition(".")[0] or "index"
        names = request.query_params.getlist("e") if kind == "compare" else []
        names = [request.path_params["id"]] if "id" in request.path_params else names
        asked = self._asked(kind, names)
        headers = {"etag": f'W/"{form}-{self._tag(asked, form)}"'}
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        try:
            made = await self._made(asked, form)
        except JaxevalError as error:
            raise HTTPException(404, str(error)) from None
        if form != "html":
            return Response(made.body, 200, headers, app.TYPES[form])

        async def parts() -> AsyncIterator[bytes]:
            yield made.body  # at once: drawing takes its time
            yield await self._drawn(asked, made.figures)

        return StreamingResponse(parts(), 200, headers, app.TYPES[form])

    async def events(self, request: Request) -> Response:
        """Answers with a stream of events."""
        query = request.query_params
        asked = self._asked(query.get("kind", "index"), query.getlist("e"))
        after = request.headers.get("last-event-id") or query.get("after", "")
        begun = int(after) if after.isdecimal() and len(after) < 19 else 0
        return StreamingResponse(self._stream(asked, begun), media_type="text/event-stream")

    async def _stream(self, asked: Asked, after: int) -> AsyncIterator[str]:
        """Yields the points after a row at once, and then what changes."""
        yield "retry: 2000\n\n"
        sent, quiet = "", 0.0
        while True:
            mark = self._mark(asked)
            if mark != sent:
                news = await anyio.to_thread.run_sync(self._news, asked, after)
                sent, quiet, after = mark, 0.0, int(str(news["row"]))
                yield f"id: {after}\ndata: {json.dumps(news)}\n\n"
            elif quiet > _KEEP_ALIVE:
                quiet = 0.0
                yield ": \n\n"
            await asyncio.sleep(_SECONDS / 2)
            quiet += _SECONDS / 2

    def _news(self, asked: Asked, after: int) -> dict[str, Json]:
        """Returns the points of curves that changed after a row."""
        curves: dict[str, Json] = {
            e: [[*point] for point in self._followed.curve(e, after)]
            for e in asked.experiments
            if asked.kind in ("e", "compare")
        }
        return {"row": self._followed.row, "revision": self._mark(asked), "curves": curves}
