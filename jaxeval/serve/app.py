"""The web application: the parts that it joins, static files, errors."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from jaxeval import report
from jaxeval.serve import guard
from jaxeval.serve.parts import Part

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
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(task()) for part in parts for task in part.tasks]
            yield
            for task in tasks:
                task.cancel()

    middleware = [Middleware(guard.Guard, token), Middleware(GZipMiddleware, compresslevel=5)]
    errors: dict[Any, Any] = {HTTPException: _refuse}
    routes = [
        *(route for part in parts for route in part.routes),
        Route("/static/{name}", _static),
    ]
    return Starlette(
        routes=routes, middleware=middleware, exception_handlers=errors, lifespan=lifespan
    )


def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return PlainTextResponse(f"{error.detail}\n", error.status_code)


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _FILES:
        raise HTTPException(404, "no such file")
    return FileResponse(_FILES[name])
