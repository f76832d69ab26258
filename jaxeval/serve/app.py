"""The web application: pages, tasks beside them, static files, errors; and who is let in.

A page of another site can make a browser ask for http://127.0.0.1, and by DNS rebinding read the
answer; then Host is that site's name. Elsewhere than on loopback a token is asked for.
"""

import asyncio
import contextlib
import hmac
import json
import re
import time
import urllib.parse
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

import anyio
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from jaxeval import cli, report
from jaxeval.errors import JaxevalError
from jaxeval.report import Document, render, to_csv

TYPES = {"html": "text/html", "json": "application/json", "csv": "text/csv"}  # forms of a page
Nav = Sequence[tuple[str, str]]  # addresses and titles of what a page leads to
_MOST_COMPARED = 8  # colours
_THREADS = 8  # each keeps freed memory of its own
_STATIC = Path(__file__).parent / "static"
_FILES = {file.name: file for file in _STATIC.iterdir()}
_FILES["page.css"] = Path(report.__file__).parent / "page.css"
_COOKIE = "jaxeval"
_BURST, _RATE = 300.0, 60.0  # requests of one address: at once, and a second
_MOST_CLIENTS = 1000
_SAFE, _OTHER = ("GET", "HEAD"), ("same-site", "cross-site")
_LOOPBACK = re.compile(r"(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d{1,5})?", re.ASCII)
_HEADERS = {
    "content-security-policy": "default-src 'self'; img-src 'self' data:; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'; object-src 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


class Page(NamedTuple):
    """A document, and the same numbers as plain data and as rows."""

    document: Document
    data: object = None  # None: there is no JSON
    rows: Sequence[Sequence[object]] = ()  # of the CSV, its head first; (): there is none
    context: Mapping[str, Any] = {}  # what the template needs beside the document
    template: str = "served.html.jinja"

    def write(self, form: str) -> bytes:
        """Returns the page in a form; HTTPException if it has none of this kind."""
        if form == "json" and self.data is not None:
            return json.dumps(self.data, ensure_ascii=False, allow_nan=False).encode()
        if form == "csv" and self.rows:
            return to_csv(self.rows).encode()
        if form != "html":
            raise HTTPException(404, "no such page")
        found = ("json", self.data is not None), ("csv", self.rows)
        context = {"also": [name for name, there in found if there], **self.context}
        return render.to_page(self.document, self.template, **context).encode()


class Part(NamedTuple):
    """Pages of one kind, and tasks that run beside them as long as the server does."""

    pages: Mapping[str, Callable[[Request], Awaitable[Page | Response]]]  # by address
    routes: Sequence[BaseRoute] = ()  # others
    tasks: Sequence[Callable[[], Coroutine[Any, Any, None]]] = ()

    def beside(self, other: "Part") -> "Part":
        """Returns the pages of both; of an address that both have, this one's."""
        pages = {**other.pages, **self.pages}
        return Part(pages, [*self.routes, *other.routes], [*self.tasks, *other.tasks])


def make(part: Part, token: str | None) -> Starlette:
    """Returns the application.

    Args:
      token: that every request must have; None: names of this machine alone are served.
    """

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(task()) for task in part.tasks]
            yield
            for task in tasks:
                task.cancel()

    guards = [Middleware(Guard, token), Middleware(GZipMiddleware, compresslevel=5)]
    errors: dict[Any, Any] = dict.fromkeys((HTTPException, JaxevalError, OSError), _refuse)
    pages = {path: _answering(page) for path, page in part.pages.items()}
    forms = (Route(path + end, of) for end in (".{form}", "") for path, of in pages.items())
    routes = [*part.routes, *forms, Route("/static/{name}", _static)]
    return Starlette(
        routes=routes, middleware=guards, exception_handlers=errors, lifespan=lifespan
    )


def form(request: Request) -> str:
    """Returns the form that an address asks for, html by default; HTTPException for no form."""
    asked = str(request.path_params.get("form", "html"))
    if asked not in TYPES:
        raise HTTPException(404, f"no such page; expected {', '.join(TYPES)}")
    return asked


def _answering(
    make: Callable[[Request], Awaitable[Page | Response]],
) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        asked = form(request)
        page = await make(request)
        if isinstance(page, Response):
            return page
        body = await anyio.to_thread.run_sync(page.write, asked)
        return Response(body, media_type=TYPES[asked])

    return answer


def check_ticked(ticked: Sequence[str]) -> None:
    """Refuses to compare fewer than two, or more than there are colours."""
    if not 2 <= len(ticked) <= _MOST_COMPARED:
        raise HTTPException(400, f"tick 2 to {_MOST_COMPARED}; found {len(ticked)}")


def _refuse(request: Request, error: Exception) -> Response:
    if isinstance(error, OSError):
        cli.say(str(error))
        error = HTTPException(500, "the server's files cannot be read or written")
    if not isinstance(error, HTTPException):
        error = HTTPException(400, str(error))
    headers = {**(error.headers or {})}
    if "text/html" in request.headers.get("accept", ""):  # a browser that follows a link
        document = Document((str(error.detail),), title=HTTPStatus(error.status_code).phrase)
        page = Page(document, context={"nav": [("/", "Back to the first page")]})
        return Response(page.write("html"), error.status_code, headers, TYPES["html"])
    if request.method not in ("GET", "HEAD"):
        headers["connection"] = "close"  # a body that is refused is not received
    return PlainTextResponse(f"{error.detail}\n", error.status_code, headers)


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _FILES:
        raise HTTPException(404, "no such file")
    return FileResponse(_FILES[name])


def is_local(host: str) -> bool:
    """Returns whether a name, perhaps with a port, is one of this machine for itself."""
    return _LOOPBACK.fullmatch(host) is not None


class Guard:
    """Refuses requests that are not from this server's own pages, or too many of an address.

    Args:
      token: of the address that was printed; None: only loopback names are served.
    """

    def __init__(self, app: ASGIApp, token: str | None):
        self._app, self._token = app, token
        self._left: dict[str, tuple[float, float]] = {}  # address -> requests, at which time

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, or refuses it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refused = self._refusal(Request(scope))
        await (refused or self._app)(scope, receive, with_headers)

    def _refusal(self, request: Request) -> Response | None:
        if not self._take(request.client.host if request.client else ""):
            return PlainTextResponse("too many requests\n", 429, {"retry-after": "1"})
        host = request.headers.get("host", "")
        origin = request.headers.get("origin")
        if self._token is None and not is_local(host):
            return PlainTextResponse("Host: expected a name of this machine\n", 403)
        if origin is not None and origin.partition("://")[2] != host:
            return PlainTextResponse("Origin: expected this server's own pages\n", 403)
        if request.method not in _SAFE and request.headers.get("sec-fetch-site", "none") in _OTHER:
            return PlainTextResponse("Sec-Fetch-Site: expected this server's own pages\n", 403)
        if self._token is None or self._same(request.cookies.get(_COOKIE, "")):
            return None
        if self._same(request.headers.get("authorization", "").removeprefix("Bearer ")):
            return None  # a program
        if not self._same(request.query_params.get("token", "")):
            return PlainTextResponse("token: expected the address that was printed\n", 403)
        kept = [pair for pair in request.query_params.multi_items() if pair[0] != "token"]
        query = f"?{urllib.parse.urlencode(kept)}" if kept else ""
        path = "/" + request.url.path.lstrip("/")  # //HOST would lead elsewhere
        answer = RedirectResponse(urllib.parse.quote(path) + query, 303)
        answer.set_cookie(_COOKIE, self._token, httponly=True, samesite="strict")
        return answer

    def _same(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), (self._token or "").encode())

    def _take(self, client: str) -> bool:
        """Counts a request of an address; returns whether it may ask."""
        now = time.monotonic()
        left, then = self._left.pop(client, (_BURST, now))
        left = min(_BURST, left + _RATE * (now - then))
        self._left[client] = max(0.0, left - 1.0), now
        while len(self._left) > _MOST_CLIENTS:
            del self._left[next(iter(self._left))]  # that was quiet the longest
        return left >= 1.0
