"""The pages of a board, and what changes it: uploads, received within limits, and deletions."""

import asyncio
import collections
import hashlib
import hmac
import json
import secrets
import shutil
import tempfile
import time
import urllib.parse
from pathlib import Path
from typing import Any

import anyio
from starlette import responses
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from jaxeval.errors import ConfigError, printable
from jaxeval.files import Json
from jaxeval.report import Document, Link, Table, text
from jaxeval.serve import app, board
from jaxeval.serve.app import Page
from jaxeval.serve.board import ID, SUFFIXES, Board, Submission

_API = Path(__file__).parent / "static" / "openapi.json"
_NAV = (("/vectors", "Leaderboard"), ("/queue", "Upload vectors"), ("/tables", "Compare a table"))
_RELOADED = 10  # seconds
_PUBLIC = ("id", "name", "about", "words", "dimension", "state", "message", "uploaded")
_RULES = (
    "A file is text (GloVe, word2vec) or word2vec's binary format, plain or gzip. It is deleted "
    "when its scores are known.",
    "The test labels of the tasks are public: vectors may have been made with them.",
    "Without a browser: curl --data-binary @FILE 'ADDRESS/vectors?name=NAME'",
)
_TABLES = "Is one model really better? Upload a CSV with columns model, seed and score."
_MOST_QUEUED = 100
_MOST_AN_HOUR = 100  # uploads from an address
_LONGEST = 300  # letters of a description
_PATIENCE, _WHOLE = 30.0, 3600.0  # seconds without a byte, and of an upload
_MOST_OF_A_TABLE = 5 << 20  # bytes
_KEPT_FREE = 4  # times the largest upload, on the disk


def part(board: Board) -> app.Part:
    """Returns the routes of a board, and what runs beside them."""
    pages = _Pages(board)
    title = "Compare a table of scores"
    form = Page(Document((_TABLES,), title=title), context=_context(forms=["tables"]))
    found = {
        "/vectors/compare": pages.compare,
        "/vectors": pages.leaderboard,
        "/queue": pages.queue,
        **{f"/{kind}/{{id}}": pages.submission for kind in SUFFIXES},
    }
    routes = [
        Route("/", lambda request: responses.RedirectResponse("/vectors")),
        Route("/tables", lambda request: responses.HTMLResponse(form.write("html"))),
        Route("/openapi.json", lambda request: FileResponse(_API)),
        *(Route(f"/{kind}", pages.upload, methods=["POST"]) for kind in SUFFIXES),
        *(Route(f"/{kind}/{{id}}", pages.delete, methods=["DELETE"]) for kind in SUFFIXES),
    ]
    return app.Part(found, routes, [board.judge_all])


def _context(path: str = "", query: str = "", **more: Any) -> dict[str, Any]:
    """Returns what the template of a page needs."""
    return {"nav": _NAV, "path": path, "query": query, **more}


def _file(request: Request, target: Path) -> Response:
    """Returns a page that a process has made, in the form that is asked for."""
    asked = app.form(request)
    if not target.with_suffix(f".{asked}").exists():
        raise HTTPException(404, "no such page")
    return FileResponse(target.with_suffix(f".{asked}"), media_type=app.TYPES[asked])


class _Pages:
    """Answers requests."""

    def __init__(self, board: Board):
        self._board, judge = board, board.settings.judge
        self._modes = ("fixed", "tuned") if judge["modes"] == "both" else (judge["modes"],)
        tasks = f"tasks {', '.join(judge['data'])} | seeds {judge['seeds']}"
        self._signature = f"{tasks} | {text.versions()}"
        self._hour = 0
        self._counts = collections.Counter[str]()  # uploads by address

    async def leaderboard(self, request: Request) -> Page | Response:
        """Answers with the leaderboard of a mode."""
        mode = self._mode(request)
        if judged := self._board.every("vectors", "judged"):
            page = _context("/vectors", f"?mode={mode}", modes=self._modes)
            return _file(request, await self._board.shown("leaderboard", judged, mode, **page))
        said = "No vectors were judged yet."
        document = Document((said,), title="Leaderboard", signature=self._signature)
        return Page(document, context=_context(refresh=_RELOADED))

    def _mode(self, request: Request) -> str:
        mode = request.query_params.get("mode") or self._modes[0]
        if mode not in self._modes:
            raise HTTPException(404, f"mode: expected {' or '.join(self._modes)}")
        return mode

    async def queue(self, request: Request) -> Page:
        """Answers with all submissions of vectors, the last one first."""
        every = self._board.every("vectors")[::-1]
        waiting = text.counted(sum(of.pending for of in every), "file is", "files are")
        rows = [
            (
                Link(of.name, f"/vectors/{of.id}"),
                self._state(of),
                of.about,
                *(f"{count:,}" if count else "-" for count in (of.words, of.dimension)),
            )
            for of in every
        ]
        head = ("vectors", "state", "where they come from", "words", "dimensions")
        document = Document(
            (f"{waiting} to be judged.",),
            [*_RULES, Table(head, rows, words=3)],
            title="Upload word vectors",
            signature=self._signature,
        )
        told = [self._public_fields(of) for of in every]
        lines = [[*of] for of in told[:1]] + [[*of.values()] for of in told]
        context = _context("/queue", forms=["vectors"])
        return Page(document, {"submissions": told}, lines, context)

    def _public_fields(self, submission: Submission) -> dict[str, Json]:
        """Returns what anybody may know of a submission."""
        place, seconds = self._board.wait(submission) if submission.pending else (None, None)
        known = {name: getattr(submission, name) for name in _PUBLIC}
        return {
            **known,
            "place": place,
            "seconds": seconds,
            "page": f"/{submission.kind}/{submission.id}",
        }

    def _state(self, submission: Submission) -> str:
        """Returns the state of a submission in words."""
        if not submission.pending:
            return f"{submission.state}: {submission.message}".removesuffix(": ")
        place, seconds = self._board.wait(submission)
        left = "" if seconds is None else f", judged in about {text.duration(seconds)}"
        return f"{f'place {place} in the queue' if place else 'is being judged'}{left}"

    def _find(self, request: Request) -> Submission:
        """Returns the submission that an address names."""
        kind = request.url.path.split("/")[1]
        key = str(request.path_params["id"])
        if (found := self._board.find(kind, key)) is None:
            raise HTTPException(404, "no such submission; it may have been deleted")
        return found

    async def submission(self, request: Request) -> Page | Response:
        """Answers with the page of a submission: its result, or its place in the queue."""
        of = self._find(request)
        size = f"{of.words:,} words of {of.dimension} dimensions. " if of.words else ""
        more: dict[str, Any] = {"forms": ["delete"] if of.key else [], "about": size + of.about}
        page = _context(f"/{of.kind}/{of.id}", **more)
        told = self._public_fields(of)
        if of.state == "judged":
            target = self._board.folder / of.kind / of.id / "page"
            if of.kind == "vectors":
                target = await self._board.shown("show", [of], "", **page)
            if app.form(request) != "json":
                return _file(request, target)
            told["result"] = json.loads(target.with_suffix(".json").read_text("utf-8"))
        document = Document((f"{of.name}: {self._state(of)}.",), title=of.name)
        refresh = _RELOADED if of.pending else 0
        lines = [*told], [*told.values()]
        return Page(document, told, lines, {**page, "refresh": refresh})

    async def compare(self, request: Request) -> Response:
        """Answers with the comparison of those that were ticked."""
        mode = self._mode(request)
        chosen = sorted({*request.query_params.getlist("v")})
        judged = {of.id: of for of in self._board.every("vectors", "judged")}
        if not {*chosen} <= {*judged}:
            raise HTTPException(404, "no such vectors were judged; they may have been deleted")
        app.check_ticked(chosen)
        query = urllib.parse.urlencode([("mode", mode), *(("v", key) for key in chosen)])
        page = _context("/vectors/compare", f"?{query}")
        found = [judged[key] for key in chosen]
        return _file(request, await self._board.shown("show", found, mode, **page))

    async def upload(self, request: Request) -> Response:
        """Checks a file of vectors and queues it; compares a table at once."""
        kind = request.url.path.removeprefix("/")
        query = request.query_params
        address = request.client.host if request.client else ""
        hour = int(time.time() // 3600)
        if hour != self._hour:
            self._hour = hour
            self._counts = collections.Counter()
        self._counts[address] += 1
        if self._counts[address] > _MOST_AN_HOUR:
            raise HTTPException(429, "too many uploads within an hour", {"retry-after": "600"})
        if len(self._board.every(kind, "queued")) >= _MOST_QUEUED:
            raise HTTPException(503, "the queue is full; try again later")
        if request.headers.get("content-type", "").startswith("multipart/"):
            raise ConfigError("expected the file itself, as curl --data-binary @FILE sends it")
        incoming = self._board.folder / "incoming"
        with tempfile.TemporaryDirectory(dir=incoming) as place:  # which is moved if all is well
            name = board.checked_name(query.get("name", ""))
            about = printable(query.get("about", "").strip())[:_LONGEST]
            options: dict[str, Json] = {o: query[o] for o in ("score", "metric") if query.get(o)}
            if lower := query.get("lower_is_better"):
                if lower not in ("true", "false"):
                    raise ConfigError("lower_is_better: expected true or false")
                options["lower_is_better"] = lower == "true"
            file = Path(place) / f"{name}{SUFFIXES[kind]}"
            of = Submission(await self._receive(request, file, options), kind, name, about)
            self._refuse_known(of)
            page = f"/{kind}/{of.id}"
            if kind == "vectors":
                of = of._replace(**await self._board.ask("check", file=str(file)))
            else:
                context = _context(page, forms=["delete"])
                await self._board.ask("table", file=str(file), options=options, **context)
                of = of._replace(state="judged")
            self._refuse_known(of)  # again: another one may have been as quick
            key = secrets.token_urlsafe(16)
            self._board.add(of._replace(key=_hash(key)), file.parent)
        return JSONResponse({"id": of.id, "page": page, "key": key}, 201, {"location": page})

    async def delete(self, request: Request) -> Response:
        """Deletes a submission for who has its key."""
        of = self._find(request)
        if not hmac.compare_digest(of.key, _hash(request.headers.get("x-key", ""))):
            raise HTTPException(403, "x-key: expected the key that came with the upload")
        self._board.remove(of)
        return Response(status_code=204)

    async def _receive(self, request: Request, file: Path, options: dict[str, Json]) -> str:
        """Writes the body of a request to a file; returns the id of file and options."""
        most = self._board.settings.most_bytes
        free = _KEPT_FREE * most
        most = most if file.suffix == SUFFIXES["vectors"] else _MOST_OF_A_TABLE
        digest = hashlib.sha256(json.dumps(options).encode() if options else b"")
        size = 0
        chunks = request.stream()
        try:
            async with asyncio.timeout(_WHOLE), await anyio.open_file(file, "wb") as stream:
                while True:
                    if shutil.disk_usage(file.parent).free < free:  # others are received meanwhile
                        raise HTTPException(507, "the server's disk is full")
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
            raise HTTPException(400, "the upload was interrupted") from None

    def _refuse_known(self, submission: Submission) -> None:
        """Refuses what is there, and another file of vectors with the same name."""
        for other in self._board.every(submission.kind):
            same = (
                other.name.casefold() == submission.name.casefold()
                and submission.kind == "vectors"
            )
            if other.state != "failed" and (same or other.id == submission.id):
                what = "this name is taken" if same else "this file is here"
                raise HTTPException(409, f"{what}: {other.name}, /{other.kind}/{other.id}")


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
