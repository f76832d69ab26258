"""Tokens, many clients, slow ones, and bodies that nobody asked for."""

import concurrent.futures
import contextlib
import gzip
import socket
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from jaxeval.serve import app
from tests.serve.servers import Served, served
from tests.serve.test_serve import client, write

_MOST_GROWTH = 60  # megabytes


def _get(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            answer.read()
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def _begin(server: Served, head: str) -> socket.socket:
    """A connection that has sent something and reads nothing."""
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=20)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.sendall(f"{head} HTTP/1.1\r\nHost: localhost\r\n".encode())
    return connection


def _post(server: Served, head: bytes, body: bytes, times: int) -> tuple[bytes, int]:
    """Returns the first words of the answer, and how many bodies were taken."""
    with contextlib.closing(_begin(server, "POST /")) as connection:
        connection.sendall(head + b"\r\n" * head.endswith(b"\n"))
        sent = 0
        with contextlib.suppress(ConnectionError):
            for _ in range(times):
                connection.sendall(body)
                sent += 1
        with contextlib.suppress(ConnectionError):
            return connection.recv(12), sent
        return b"", sent


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_a_siege(tmp_path: Path) -> None:
    """Dies if many or slow clients, a bomb or an endless body fill the memory, or others wait."""
    for number, name in enumerate("abc"):
        write(tmp_path, name, number)
    keys = [f"{number:016x}" for number in range(3)]
    pages = ["/", *(f"/e/{key}" for key in keys), f"/compare?e={keys[0]}&e={keys[1]}"]
    with served(str(tmp_path), port=8497) as server:
        assert _get(f"{server.address}/e/{keys[0]}") == 200
        begun = server.megabytes()
        with concurrent.futures.ThreadPoolExecutor(50) as pool:
            urls = [server.address + path for path in pages * 10]
            assert {*pool.map(_get, urls)} == {200}
        ends = ("", "\r\n")  # half of them stop in the head of their request
        slow = [_begin(server, f"GET /e/{keys[k % 3]}") for k in range(60)]
        for k, connection in enumerate(slow):
            connection.sendall(ends[k % 2].encode())
        bomb = gzip.compress(bytes(100_000_000))
        length = f"Content-Encoding: gzip\r\nContent-Length: {len(bomb)}\r\n".encode()
        assert _post(server, length, bomb, 1)[0] in (b"HTTP/1.1 405", b"")
        chunk = b"100000\r\n" + bytes(1 << 20) + b"\r\n"
        said, taken = _post(server, b"Transfer-Encoding: chunked\r\n", chunk, 200)
        assert said in (b"HTTP/1.1 405", b"") and taken < 200
        assert _post(server, b"X: ", bytes([120]) * (1 << 20), 200)[1] < 200  # an endless header
        now = time.monotonic()
        assert _get(f"{server.address}/e/{keys[1]}") == 200
        assert time.monotonic() - now < 10
        assert server.megabytes() - begun < _MOST_GROWTH
        for connection in slow:
            connection.close()
        following = _begin(server, "GET /events?kind=index")  # is there when the server ends
        following.sendall(b"\r\n")
        assert following.recv(12) == b"HTTP/1.1 200"
    following.close()


def test_who_asks_too_often_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if one address can ask without end, waits for ever, or stops another."""
    write(tmp_path, "a", 0)
    now = [100.0]
    monkeypatch.setattr(app.time, "monotonic", lambda: now[0])
    site = client(tmp_path)
    other = app.Guard(site.app, None)
    assert [other._take("a") for _ in range(302)] == [True] * 300 + [False] * 2
    assert all(other._take(str(k)) for k in range(3000)) and len(other._left) <= 1000
    monkeypatch.setattr(app, "_BURST", 3.0)
    codes = [site.get("/static/page.css").status_code for _ in range(5)]
    assert codes == [200] * 3 + [429] * 2
    assert site.get("/").headers["retry-after"] == "1"
    now[0] += 1.0
    assert site.get("/").status_code == 200


def test_a_token_is_asked_for_elsewhere(tmp_path: Path) -> None:
    """Dies if a page is given without the token, or the token stays in an address."""
    write(tmp_path, "alpha", 0)
    outside = client(tmp_path, "sesame", "http://machine:8420")
    for path in ("/", "/index.json", "/events", "/static/live.js", "/?token=", "/?token=s%C3%A9"):
        assert outside.get(path).status_code == 403
    entry = outside.get(f"/e/{0:016x}?token=sesame&a=%26b")
    assert entry.status_code == 303 and entry.headers["location"] == f"/e/{0:016x}?a=%26b"
    cookie = entry.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie
    assert outside.get(entry.headers["location"]).status_code == 200
    assert outside.get("/", headers={"origin": "http://evil.org"}).status_code == 403
    again = client(tmp_path, "sesame", "http://machine:8420")
    assert (
        again.get("http://machine:8420//evil.org/?token=sesame").headers["location"]
        == "/evil.org/"
    )
    assert app.is_local("127.0.0.2") and app.is_local("[::1]")
    assert not app.is_local("0.0.0.0") and not app.is_local("machine")
    assert app._HEADERS["cache-control"] == "no-cache"
