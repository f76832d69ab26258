"""What the modules of pages give to the application."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, NamedTuple

from starlette.routing import BaseRoute

Links = Sequence[tuple[str, str]]  # addresses of pages and their names, at the top of each page


class Part(NamedTuple):
    """Pages of one kind, and tasks that run beside them as long as the server does."""

    routes: Sequence[BaseRoute]
    tasks: Sequence[Callable[[], Coroutine[Any, Any, None]]] = ()
