"""The web application: the parts that it joins, static files, errors."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from jaxeval import report
from jaxeval.errors import JaxevalError
from jaxeval.serve import guard, limits
from jaxeval.serve.parts import Part

_THREADS = 8  # each keeps freed memory of its own
_STATIC = Path(__file__).parent / "static"
_FILES = {file.name: file for file in _STATIC.iterdir()}
_FILES["page.css"] = Path(report.__file__).parent / "page.css"


def make(parts: Sequence[Part], token: str | None) -> Starlette:
    """Returns the application of some parts.

    Args:
      token: that every request must have; None: names of this machine alone are served.
    """

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(task()) for part in parts for task in part.tasks]
            yield
            for task in tasks:
                task.cancel()

    middleware = [
        Middleware(limits.Limits),
        Middleware(guard.Guard, token),
        Middleware(GZipMiddleware, compresslevel=5),
    ]
    errors: dict[Any, Any] = {HTTPException: _refuse, JaxevalError: _refuse}
    routes = [
        *(route for part in parts for route in part.routes),
        Route("/static/{name}", _static),
    ]
    return Starlette(
        routes=routes, middleware=middleware, exception_handlers=errors, lifespan=lifespan
    )


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
