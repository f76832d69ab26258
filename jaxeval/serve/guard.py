"""What every request must pass: rate, host, origin and token; and the headers of every answer.

A page of another site can make a browser ask for http://127.0.0.1, and by DNS rebinding read the
answer; then Host is that site's name. Elsewhere than on loopback a token is asked for.
"""

import hmac
import re
import time
import urllib.parse

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
        self._left = dict[str, tuple[float, float]]()  # address -> requests, at which time

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
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
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
