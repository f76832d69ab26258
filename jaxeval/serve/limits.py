"""How often one client may ask."""

import time

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

_BURST, _RATE = 300.0, 60.0  # requests at once, and a second
_MOST_CLIENTS = 1000


class Limits:
    """Refuses requests of an address that asks too often."""

    def __init__(self, app: ASGIApp):
        self._app, self._left = app, dict[str, tuple[float, float]]()  # requests, at which time

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, or refuses it."""
        if scope["type"] == "http" and not self._take((scope.get("client") or ("",))[0]):
            headers = {"retry-after": "1"}
            refused = PlainTextResponse("too many requests; wait a second\n", 429, headers)
            await refused(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _take(self, client: str) -> bool:
        now = time.monotonic()
        left, then = self._left.pop(client, (_BURST, now))
        left = min(_BURST, left + _RATE * (now - then))
        self._left[client] = max(0.0, left - 1.0), now
        while len(self._left) > _MOST_CLIENTS:
            del self._left[next(iter(self._left))]  # that was quiet the longest
        return left >= 1.0
