"""Pages that follow a runs database, each made once for all tabs; and their streams of events."""

import asyncio
import json
import time
import urllib.parse
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Sequence
from concurrent import futures
from typing import Any

import anyio
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from jaxeval import cli
from jaxeval.errors import JaxevalError, RunError
from jaxeval.files import Json
from jaxeval.report import Figure, plots, render
from jaxeval.runs.following import Following
from jaxeval.serve import app
from jaxeval.serve.pages import KINDS, PageRequest, Pages

_SECONDS = 0.5  # between two looks at the database
_KEEP_ALIVE = 15.0  # seconds between two comments in a stream without events
_MOST_ROWS = 200  # of a table on a page; the CSV has all
_MOST_KEPT = 32  # answers, figures
_REMADE, _REDRAWN = 5, 20  # answers, figures: made again after so many times what making took
_Top = tuple[bytes, Callable[[], Iterable[Figure]]]  # an answer, and what draws its figures


class Cache:
    """Makes each thing once for all who ask, and again when its mark has changed.

    Args:
      threads: in which things are made; few, as each keeps freed memory of its own.
      patience: a thing counts for so many times what making it took.
    """

    def __init__(self, threads: int, patience: int):
        self._pool = futures.ThreadPoolExecutor(threads)
        self._patience = patience
        self._kept: dict[Hashable, tuple[str, asyncio.Future[tuple[Any, float]]]] = {}

    async def get(self, key: Hashable, mark: str, make: Callable[[], Any]) -> Any:
        """Returns what was made for a mark; what `make` raises is not kept."""
        known, made = self._kept.pop(key, ("", None))
        if made and known != mark and made.done():
            made = made if not made.exception() and made.result()[1] > time.monotonic() else None
        if made is None:
            loop = asyncio.get_running_loop()
            known = mark
            made = loop.run_in_executor(self._pool, self._make, make)
        self._kept[key] = known, made
        for oldest in [*self._kept][:-_MOST_KEPT]:
            del self._kept[oldest]
        try:
            return (await asyncio.shield(made))[0]  # others wait too
        except Exception:
            self._kept.pop(key, None)
            raise

    def _make(self, make: Callable[[], Any]) -> tuple[Any, float]:
        """Returns what is made, and until when it counts, whatever the mark."""
        begun = time.monotonic()
        made = make()
        now = time.monotonic()
        return made, now + self._patience * (now - begun)


class Site:
    """The pages of a runs database. All but what makes pages runs in the event loop."""

    def __init__(self, followed: Following, location: str, nav: app.Nav = ()):
        self._followed = followed
        self._pages = Pages(followed, location, nav)
        # matplotlib has one state for all threads
        self._answers, self._figures = Cache(2, _REMADE), Cache(1, _REDRAWN)
        self._marks: dict[PageRequest, tuple[str, str]] = {}
        self._make(
            PageRequest("index"), "html", ""
        )  # imports what the first visitor would wait for

    def part(self) -> app.Part:
        """Returns the routes, and what runs beside them."""
        paths = ("/index", "/compare", *(f"/{kind}/{{id}}" for kind in ("e", "sweep", "tune")))
        routes = Route("/", self.answer), Route("/events", self.events)
        return app.Part(dict.fromkeys(paths, self.answer), routes, [self.look, self.warm])

    async def look(self) -> None:
        """Reads for ever what was written since the last look."""
        said = ""
        while True:
            await asyncio.sleep(_SECONDS)
            try:
                await anyio.to_thread.run_sync(self._followed.poll)
            except RunError as error:  # the next look may find it whole
                if str(error) != said:
                    cli.say(said := str(error))
            self._marks.clear()  # of states too, which change with time

    async def warm(self) -> None:
        """Makes the first page, and prepares what figures need, which takes a second."""

        def draw() -> None:
            drawing, _ = plots.canvas(2.0, 2.0)
            render.page_figures([Figure("warm", "", "", drawing, (), ())])

        await self._top(PageRequest("index"), "html")
        await self._figures.get("warm", "", draw)

    def _mark(self, asked: PageRequest) -> tuple[str, str]:
        """Returns texts that change when a page does, and when its figures do."""
        if asked not in self._marks:
            every = self._followed.experiments
            known = [every[e] for e in asked.experiments or [*every]]
            drawn = *self._pages.stamp(asked), *(of.version for of in known)
            states = ((of.row, of.name, self._pages.state(of)) for of in known)
            self._marks[asked] = f"{hash((*drawn, *states)):x}", f"{hash(drawn):x}"
        return self._marks[asked]

    async def _top(self, asked: PageRequest, form: str) -> _Top:
        """Returns an answer, of a page the part before the figures; and what draws these."""
        mark, _ = self._mark(asked)
        made: _Top = await self._answers.get(
            (asked, form), mark, lambda: self._make(asked, form, mark)
        )
        return made

    def _make(self, asked: PageRequest, form: str, mark: str) -> _Top:
        page = self._pages.page(asked)
        if form != "html":
            return page.write(form), tuple
        pairs = [("kind", asked.kind), *(("e", e) for e in asked.experiments), ("after", "")]
        events = f"/events?{urllib.parse.urlencode(pairs)}"
        context: dict[str, object] = {"path": asked.path, "query": asked.query, "events": events}
        context |= {"revision": mark, "most_rows": _MOST_ROWS, **page.context}
        top = render.page_top(page.document, "served.html.jinja", **context)
        return top.encode(), page.document.figures

    def _asked(self, kind: str, names: Sequence[str]) -> PageRequest:
        """Returns the page that is asked for; HTTPException if there is none."""
        found: dict[str, None] = {}
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
        return PageRequest(kind, tuple(found))

    async def answer(self, request: Request) -> Response:
        """Answers with a page, its JSON or its CSV."""
        form = app.form(request)
        kind = request.url.path.split("/")[1].partition(".")[0] or "index"
        names = request.query_params.getlist("e") if kind == "compare" else []
        names = [request.path_params["id"]] if "id" in request.path_params else names
        asked = self._asked(kind, names)
        try:
            top, figures = await self._top(asked, form)
        except JaxevalError as error:
            raise HTTPException(404, str(error)) from None
        if form != "html":
            return Response(top, media_type=app.TYPES[form])

        def draw() -> bytes:
            return render.page_figures(figures(), _MOST_ROWS).encode()

        async def parts() -> AsyncIterator[bytes]:
            yield top  # at once: drawing takes its time
            yield await self._figures.get(asked, self._mark(asked)[1], draw)

        return StreamingResponse(parts(), media_type=app.TYPES[form])

    async def events(self, request: Request) -> Response:
        """Answers with a stream of events."""
        query = request.query_params
        asked = self._asked(query.get("kind", "index"), query.getlist("e"))
        after = request.headers.get("last-event-id") or query.get("after", "")
        begun = int(after) if after.isdecimal() and len(after) < 19 else 0
        return StreamingResponse(self._stream(asked, begun), media_type="text/event-stream")

    async def _stream(self, asked: PageRequest, after: int) -> AsyncIterator[str]:
        """Yields the points after a row at once, and then what changes."""
        yield "retry: 2000\n\n"
        sent, quiet = "", 0.0
        while self._followed.experiments.keys() >= {*asked.experiments}:
            mark, _ = self._mark(asked)
            if mark != sent:
                after = after if after <= self._followed.row else 0  # of another database
                news = await anyio.to_thread.run_sync(self._news, asked, after)
                sent = mark
                quiet = 0.0
                after = int(str(news["row"]))
                yield f"id: {after}\ndata: {json.dumps(news)}\n\n"
            elif quiet > _KEEP_ALIVE:
                quiet = 0.0
                yield ": \n\n"
            await asyncio.sleep(_SECONDS / 2)
            quiet += _SECONDS / 2

    def _news(self, asked: PageRequest, after: int) -> dict[str, Json]:
        """Returns the points of curves that changed after a row."""
        curves: dict[str, Json] = {
            e: [[*point] for point in self._followed.curve(e, after)]
            for e in asked.experiments
            if asked.kind in ("e", "compare")
        }
        return {"row": self._followed.row, "revision": self._mark(asked)[0], "curves": curves}
