"""The web application: pages, tasks beside them, static files, errors."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from jaxeval import cli, report
from jaxeval.errors import JaxevalError
from jaxeval.report import Document, render, to_csv
from jaxeval.serve import guard

TYPES = {"html": "text/html", "json": "application/json", "csv": "text/csv"}  # forms of a page
Nav = Sequence[tuple[str, str]]  # addresses and titles of what a page leads to
_MOST_COMPARED = 8  # colours
_THREADS = 8  # each keeps freed memory of its own
_STATIC = Path(__file__).parent / "static"
_FILES = {file.name: file for file in _STATIC.iterdir()}
_FILES["page.css"] = Path(report.__file__).parent / "page.css"


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

    guards = [Middleware(guard.Guard, token), Middleware(GZipMiddleware, compresslevel=5)]
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
        asked, page = form(request), await make(request)
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
