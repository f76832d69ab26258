"""The web application: routes, tasks beside them, static files, errors."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
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

from jaxeval import report
from jaxeval.errors import JaxevalError
from jaxeval.report.document import to_csv
from jaxeval.serve import guard

TYPES = {"html": "text/html", "json": "application/json", "csv": "text/csv"}  # forms of a page
_MOST_COMPARED = 8  # colours
_THREADS = 8  # each keeps freed memory of its own
_STATIC = Path(__file__).parent / "static"
_FILES = {file.name: file for file in _STATIC.iterdir()}
_FILES["page.css"] = Path(report.__file__).parent / "page.css"


class Part(NamedTuple):
    """Pages of one kind, and tasks that run beside them as long as the server does."""

    pages: Mapping[str, Callable[[Request], Any]]  # address, to which a form may be added
    routes: Sequence[BaseRoute] = ()  # others
    tasks: Sequence[Callable[[], Coroutine[Any, Any, None]]] = ()


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
    errors: dict[Any, Any] = {HTTPException: _refuse, JaxevalError: _refuse}
    forms = [(path + end, page) for end in (".{form}", "") for path, page in part.pages.items()]
    routes = [*part.routes, *(Route(*of) for of in forms), Route("/static/{name}", _static)]
    return Starlette(
        routes=routes, middleware=guards, exception_handlers=errors, lifespan=lifespan
    )


def form(request: Request, *forms: str) -> str:
    """Returns the form that an address asks for, html by default; 404 for others than `forms`."""
    asked = str(request.path_params.get("form", "html"))
    if asked not in (forms or TYPES):
        raise HTTPException(404, f"no such page; expected {', '.join(forms or TYPES)}")
    return asked


def plain(form: str, data: object, rows: Iterable[Sequence[object]]) -> bytes:
    """Returns a page's data as JSON, or its rows as CSV."""
    if form == "csv":
        return to_csv(rows).encode()
    return json.dumps(data, ensure_ascii=False, allow_nan=False).encode()


def check_ticked(ticked: Sequence[str]) -> None:
    """Refuses to compare fewer than two, or more than there are colours."""
    if not 2 <= len(ticked) <= _MOST_COMPARED:
        raise HTTPException(400, f"tick 2 to {_MOST_COMPARED}; found {len(ticked)}")


def _refuse(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        error = HTTPException(400, str(error))
    headers = {**(error.headers or {})}
    if request.method not in ("GET", "HEAD"):
        headers["connection"] = "close"  # a body that is refused is not received
    return PlainTextResponse(f"{error.detail}\n", error.status_code, headers)


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _FILES:
        raise HTTPException(404, "no such file")
    return FileResponse(_FILES[name])
