"""Routes of the pages that follow a runs database, and their stream of events."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence

import anyio
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from jaxeval.errors import JaxevalError
from jaxeval.report import plots, render
from jaxeval.report.document import Figure
from jaxeval.runs.following import Following
from jaxeval.serve.pages import KINDS, Asked
from jaxeval.serve.parts import Links, Part
from jaxeval.serve.site import Site

_SECONDS = 0.5  # between two looks at the database
_KEEP_ALIVE = 15.0  # seconds between two comments in a stream without events
_MOST_COMPARED = 8  # colours


def part(followed: Following, location: str, links: Links = (("/", "Experiments"),)) -> Part:
    """Returns the pages of a runs database that is followed."""
    site = Site(followed, location, links)
    site.made(Asked("index"))  # imports what the first visitor would wait for

    async def look() -> None:
        while True:
            await asyncio.sleep(_SECONDS)
            await anyio.to_thread.run_sync(site.look)

    answer = _handler(site)
    paths = ("/", "/index.{form}", "/compare", "/compare.{form}")
    kinds = [f"/{kind}/{{id}}" for kind in ("e", "sweep", "tune")]
    routes = [Route(path, answer) for path in paths]
    routes += [Route(path, answer) for kind in kinds for path in (f"{kind}.{{form}}", kind)]
    return Part([*routes, Route("/events", _events(site))], [look, _warm])


async def _warm() -> None:
    """Imports and prepares what figures need, which takes a second."""

    def draw() -> None:
        drawing, _ = plots.canvas(2.0, 2.0)
        render.page_figures([Figure("warm", "", "", drawing, (), ())])

    await anyio.to_thread.run_sync(draw)


def _asked(site: Site, kind: str, names: Sequence[str]) -> Asked:
    """Returns the page that is asked for; HTTPException if there is none."""
    found = dict[str, None]()
    for name in names:
        key = site.followed.find(name)
        if key is None:
            raise HTTPException(404, "no such experiment; expected an id or a name")
        found[key] = None
    if kind == "compare" and not 2 <= len(found) <= _MOST_COMPARED:
        raise HTTPException(400, f"tick 2 to {_MOST_COMPARED} experiments; found {len(found)}")
    if kind not in KINDS or (kind != "compare" and len(found) != (kind != "index")):
        raise HTTPException(404, "no such page")
    return Asked(kind, tuple(found))


def _handler(site: Site) -> Callable[[Request], Response]:
    """Returns the function that answers for a page, its JSON and its CSV."""

    def answer(request: Request) -> Response:
        form = request.path_params.get("form", "html")
        if form not in ("html", "json", "csv"):
            raise HTTPException(404, "no such page; expected .json or .csv")
        kind = request.url.path.split("/")[1].partition(".")[0] or "index"
        names = request.query_params.getlist("e") if kind == "compare" else []
        names = [request.path_params["id"]] if "id" in request.path_params else names
        asked = _asked(site, kind, names)
        headers = {"etag": f'W/"{form}-{site.tag(asked)}"'}
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        try:
            page, top = site.made(asked)
        except JaxevalError as error:
            raise HTTPException(404, str(error)) from None
        if form == "json":
            text = json.dumps(page.data, ensure_ascii=False, allow_nan=False)
            return Response(text, 200, headers, "application/json")
        if form == "csv":
            return Response(page.csv(), 200, headers, "text/csv")

        def parts() -> Iterator[bytes]:
            yield top  # at once: drawing takes its time
            yield site.figures(asked, page)

        return StreamingResponse(parts(), 200, headers, "text/html")

    return answer


def _events(site: Site) -> Callable[[Request], Response]:
    """Returns the function that answers with a stream of events."""

    def answer(request: Request) -> Response:
        query = request.query_params
        asked = _asked(site, query.get("kind", "index"), query.getlist("e"))
        after = request.headers.get("last-event-id") or query.get("after", "")
        begun = int(after) if after.isdecimal() and len(after) < 19 else 0
        return StreamingResponse(_stream(site, asked, begun), media_type="text/event-stream")

    return answer


async def _stream(site: Site, asked: Asked, after: int) -> AsyncIterator[str]:
    """Yields the points after a row at once, and then what changes."""
    yield "retry: 2000\n\n"
    sent, quiet = "", 0.0
    while True:
        mark = site.mark(asked)
        if mark != sent:
            news = await anyio.to_thread.run_sync(site.news, asked, after)
            sent, quiet, after = mark, 0.0, int(str(news["row"]))
            yield f"id: {after}\ndata: {json.dumps(news)}\n\n"
        elif quiet > _KEEP_ALIVE:
            quiet = 0.0
            yield ": \n\n"
        await asyncio.sleep(_SECONDS / 2)
        quiet += _SECONDS / 2
