"""What comes to a board: files, received within limits, checked and queued; and deletions."""

import asyncio
import collections
import hashlib
import hmac
import json
import secrets
import shutil
import tempfile
import time
from pathlib import Path

import anyio
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from jaxeval.errors import printable
from jaxeval.files import Json
from jaxeval.serve import submissions
from jaxeval.serve.board import ID, Board
from jaxeval.serve.submissions import SUFFIXES, Submission

_MOST_QUEUED = 100
_MOST_AN_HOUR = 100  # uploads from an address
_LONGEST = 300  # letters of a description
_PATIENCE, _WHOLE = 30.0, 3600.0  # seconds without a byte, and of an upload
_MOST_OF_A_TABLE = 5 << 20  # bytes
_KEPT_FREE = 4  # times the largest upload, on the disk


def find(board: Board, request: Request) -> Submission:
    """Returns the submission that an address names."""
    kind, key = request.url.path.split("/")[1], str(request.path_params["id"])
    if (found := board.submissions.find(kind, key)) is None:
        raise HTTPException(404, "no such submission; it may have been deleted")
    return found


class Uploads:
    """Answers requests that change a board."""

    def __init__(self, board: Board):
        self._board = board
        self._hour, self._counts = 0, collections.Counter[str]()  # uploads by address

    async def upload(self, request: Request) -> Response:
        """Checks a file of vectors and queues it; compares a table at once."""
        kind, query = request.url.path.removeprefix("/"), request.query_params
        self._count(request, kind)
        incoming = self._board.folder / "incoming"
        with tempfile.TemporaryDirectory(dir=incoming) as place:  # which is moved if all is well
            folder = Path(place)
            name = submissions.checked_name(query.get("name", ""))
            about = printable(query.get("about", "").strip())[:_LONGEST]
            options: dict[str, Json] = {o: query[o] for o in ("score", "metric") if query.get(o)}
            if query.get("lower_is_better"):
                options["lower_is_better"] = query["lower_is_better"] == "true"
            file = folder / f"{name}{SUFFIXES[kind]}"
            of = Submission(await self._receive(request, file, options), kind, name, about)
            self._refuse_known(of)
            if kind == "vectors":
                of = of._replace(**await self._board.ask("check", {"file": str(file)}))
            else:
                path, of = f"/tables/{of.id}", of._replace(state="judged")
                asked = {"file": str(file), "path": path, "options": options}
                await self._board.ask("table", asked)
            self._refuse_known(of)  # again: another one may have been as quick
            key = secrets.token_urlsafe(16)
            self._board.submissions.add(of._replace(key=_hash(key)), folder)
        page = f"/{kind}/{of.id}"
        made = {"id": of.id, "page": page, "key": key}
        return JSONResponse(made, 201, {"location": page})

    async def delete(self, request: Request) -> Response:
        """Deletes a submission for who has its key."""
        of = find(self._board, request)
        if not hmac.compare_digest(of.key, _hash(request.headers.get("x-key", ""))):
            raise HTTPException(403, "x-key: expected the key that came with the upload")
        self._board.remove(of)
        return Response(status_code=204)

    def _count(self, request: Request, kind: str) -> None:
        """Refuses more than so many uploads from an address, in the queue, or on the disk."""
        address, hour = request.client.host if request.client else "", int(time.time() // 3600)
        if hour != self._hour:
            self._hour, self._counts = hour, collections.Counter()
        self._counts[address] += 1
        if self._counts[address] > _MOST_AN_HOUR:
            raise HTTPException(429, "too many uploads within an hour", {"retry-after": "600"})
        if len(self._board.submissions.every(kind, "queued")) >= _MOST_QUEUED:
            raise HTTPException(503, "the queue is full; try again later")
        free = shutil.disk_usage(self._board.folder).free
        if free < _KEPT_FREE * self._board.settings.most_bytes:
            raise HTTPException(507, "the server's disk is full")

    async def _receive(self, request: Request, file: Path, options: dict[str, Json]) -> str:
        """Writes the body of a request to a file; returns the id of file and options."""
        most = self._board.settings.most_bytes
        most = most if file.suffix == SUFFIXES["vectors"] else _MOST_OF_A_TABLE
        digest, size = hashlib.sha256(json.dumps(options).encode() if options else b""), 0
        chunks = request.stream()
        try:
            async with asyncio.timeout(_WHOLE), await anyio.open_file(file, "wb") as stream:
                while True:
                    async with asyncio.timeout(_PATIENCE):
                        chunk = await anext(chunks, None)
                    if chunk is None:
                        return digest.hexdigest()[:ID]
                    size += len(chunk)
                    if size > most or int(request.headers.get("content-length", 0)) > most:
                        raise HTTPException(413, f"expected at most {most >> 20} MB")
                    digest.update(chunk)
                    await stream.write(chunk)
        except TimeoutError:
            expected = f"a byte every {_PATIENCE:.0f} s, and all within an hour"
            raise HTTPException(408, f"too slow: expected {expected}") from None
        except ClientDisconnect:
            raise HTTPException(400, "the upload was broken off") from None

    def _refuse_known(self, of: Submission) -> None:
        """Refuses what is there, and another file of vectors with the same name."""
        for other in self._board.submissions.every(of.kind):
            same = other.name.casefold() == of.name.casefold() and of.kind == "vectors"
            if other.state != "failed" and (same or other.id == of.id):
                what = "this name is taken" if same else "this file is here"
                raise HTTPException(409, f"{what}: {other.name}, /{of.kind}/{other.id}")


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
