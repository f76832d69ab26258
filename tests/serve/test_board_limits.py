"""What a board refuses: names, sizes, numbers, other sites."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.testclient import TestClient

from jaxeval.serve import app, boards
from jaxeval.serve.board import Board
from tests.serve import drawn_board
from tests.serve.test_serve import HOSTILE, LOCAL

TABLE = b"model,score\na,1\na,2\nb,3\nb,5\n"


@pytest.mark.parametrize(
    ("sent", "status", "said"),
    [
        ({"name": "good", "content": "x" * 1001}, 413, "at most 0 MB"),
        ({"name": "base"}, 409, "this name is taken: base"),
        ({"name": "BASE"}, 409, "this name is taken"),
        ({"name": "x", "content": "base"}, 409, "this file is here: base"),
        ({"name": ""}, 400, "name: expected"),
        ({"name": "../x"}, 400, "name: expected"),
        ({"name": HOSTILE}, 400, "name: expected"),
    ],
)
def test_what_is_refused(opened: Board, sent: dict[str, str], status: int, said: str) -> None:
    """Dies if a file that is too large, has a name that is no name, or is a form, is kept."""
    form = drawn_board.client(opened).post("/tables?name=x", files={"file": TABLE})
    assert form.status_code == 400 and "the file itself, as curl --data-binary" in form.text
    answer = drawn_board.upload(drawn_board.client(opened), **sent)
    assert answer.status_code == status and said in answer.text and answer.text.count("\n") == 1
    assert answer.headers["content-type"].startswith("text/plain")
    assert len(opened.every("vectors")) == 1
    assert [*(opened.folder / "incoming").iterdir()] == []


def test_a_folder_that_is_gone(opened: Board, capsys: pytest.CaptureFixture) -> None:
    """Dies if a disk that cannot be written is a traceback, or tells visitors its paths."""
    shutil.rmtree(opened.folder)
    answer = drawn_board.upload(drawn_board.client(opened), "x")
    assert answer.status_code == 500 and str(opened.folder) not in answer.text
    assert "No such file" in capsys.readouterr().err


@settings(max_examples=60, deadline=None)
@given(
    name=st.text(max_size=70) | st.from_regex(r"[\w./ +-]{1,8}", fullmatch=True),
    about=st.text(max_size=40),
)
def test_any_name_is_safe(ranked: tuple[TestClient, Any], name: str, about: str) -> None:
    """Dies if a name makes an error of the server, or leads out of its folder."""
    site, _ = ranked
    boards._MOST_AN_HOUR = 10**6
    assert drawn_board.upload(site, name, "base", about=about).status_code in (400, 409)
    assert site.get("/vectors/compare", params={"v": [name, about]}).status_code in (400, 404)
    assert site.get("/vectors.json", params={"mode": name}).status_code in (200, 404)


def test_uploads_are_limited(opened: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if an address may upload for ever, or the queue has no end."""
    site = drawn_board.client(opened)
    monkeypatch.setattr(boards, "_MOST_QUEUED", 3)
    assert [drawn_board.upload(site, f"v{k}").status_code for k in range(3)] == [201, 201, 503]
    monkeypatch.setattr(boards, "_MOST_AN_HOUR", 4)
    assert [drawn_board.upload(site, "v").status_code for _ in range(2)] == [503, 429]
    assert drawn_board.upload(site, "v").headers["retry-after"] == "600"


def test_fifty_at_once(opened: Board) -> None:
    """Dies if parallel uploads hinder one another, or one of equal names or files comes twice."""
    made = app.make(boards.part(opened), None)

    async def post(name: str, content: str) -> int:
        sent: list[Any] = []
        parts = [{"type": "http.request", "body": b"x", "more_body": True}] * 5
        parts.append({"type": "http.request", "body": content.encode(), "more_body": False})
        scope = {
            **{"type": "http", "method": "POST", "path": "/vectors", "client": ("h", 1)},
            **{"headers": [(b"host", b"localhost")], "query_string": f"name={name}".encode()},
            **{"scheme": "http", "http_version": "1.1", "root_path": "", "server": None},
        }

        async def receive() -> Any:
            await asyncio.sleep(0)
            return parts.pop(0) if parts else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await made({**scope, "raw_path": b"/vectors"}, receive, send)
        return int(sent[0]["status"])

    async def all_of_them() -> list[int]:
        names = [(f"v{k % 25}" if k < 40 else f"w{k}", f"{k if k < 45 else 1}") for k in range(50)]
        return await asyncio.gather(*(post(*each) for each in names))

    statuses = asyncio.run(all_of_them())
    kept = opened.every("vectors")[1:]
    assert {*statuses} == {201, 409} and statuses.count(201) == len(kept)
    assert len(kept) in (30, 31)  # v1 comes with either of two files, one of which others have
    assert len({of.name for of in kept}) == len({of.id for of in kept}) == len(kept)
    assert all(opened.file(of).exists() for of in kept)


def test_who_sends_nothing_is_left(opened: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a client that stalls, trickles or breaks off is waited for."""
    monkeypatch.setattr(boards, "_PATIENCE", 0.05)
    of, file = boards._Pages(opened), opened.folder / "f.txt"

    def request(*messages: Any) -> Request:
        left = [*messages]

        async def receive() -> Any:
            if not left:
                await asyncio.sleep(9)
            await asyncio.sleep(0.01)
            return left.pop(0)

        scope = {"type": "http", "method": "POST", "headers": [], "query_string": b"", "path": "/"}
        return Request(scope, receive)

    part = {"type": "http.request", "body": b"x", "more_body": True}
    for messages, status in (([part], 408), ([part, {"type": "http.disconnect"}], 400)):
        with pytest.raises(HTTPException) as refused:
            asyncio.run(of._receive(request(*messages), file, {}))
        assert refused.value.status_code == status
    monkeypatch.setattr(boards, "_WHOLE", 0.1)
    with pytest.raises(HTTPException, match="too slow"):  # a byte now and then
        asyncio.run(of._receive(request(*[part] * 100), file, {}))


def test_a_disk_that_fills_meanwhile(opened: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if the disk's room is looked at only before the uploads that fill it come."""
    left = [10**9, 10**9, 0]

    def usage(_: Path) -> Any:
        return shutil._ntuple_diskusage(0, 0, left.pop(0))  # type: ignore[attr-defined]

    monkeypatch.setattr(boards.shutil, "disk_usage", usage)
    assert drawn_board.upload(drawn_board.client(opened), "x").status_code == 507


@pytest.mark.parametrize(
    ("sent", "content", "status"),
    [
        ({"name": "t", "lower_is_better": "1"}, TABLE, 400),
        ({"name": "t", "lower_is_better": "true"}, TABLE, 201),
        ({"name": "run.tfevents.1"}, TABLE, 201),
    ],
)
def test_a_table_is_a_text(
    opened: Board, sent: dict[str, str], content: bytes, status: int
) -> None:
    """Dies if a direction is guessed, or the name says how a file is read."""
    answer = drawn_board.client(opened).post("/tables", params=sent, content=content)
    assert answer.status_code == status and answer.text.count("\n") == (status != 201)


def test_other_sites_change_nothing(opened: Board) -> None:
    """Dies if a page of another site can upload or delete; if a program with the token cannot."""
    site = drawn_board.client(opened)
    for headers in (
        {"origin": "http://evil.org"},
        {"origin": "null"},
        {"origin": "http://["},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"host": "evil.org"},
    ):
        assert site.post("/vectors?name=x", headers=headers, content="x").status_code == 403
        assert site.delete("/vectors/x", headers=headers).status_code == 403
    own = {"origin": LOCAL, "sec-fetch-site": "same-origin"}
    assert site.post("/vectors?name=x", headers=own, content="x").status_code == 201
    assert site.get("/vectors", headers={"sec-fetch-site": "cross-site"}).status_code == 200
    outside = drawn_board.client(opened, "sesame", "http://machine:8420")
    for token, status in (("", 403), ("Bearer no", 403), ("Bearer sesame", 201)):
        headers = {"authorization": token}
        answer = outside.post("/vectors?name=y", headers=headers, content="y")
        assert answer.status_code == status
