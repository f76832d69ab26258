"""The pages of a board: leaderboards, the queue, submissions, comparisons; and its routes."""

import json
import urllib.parse
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Route

from jaxeval.files import Json
from jaxeval.report import text
from jaxeval.report.document import Document, Table
from jaxeval.serve import board_pages, uploads
from jaxeval.serve.board import Board
from jaxeval.serve.parts import Part
from jaxeval.serve.submissions import SUFFIXES, Submission

_API = Path(__file__).parent / "static" / "openapi.json"
_MOST_COMPARED = 8  # colours
_RELOADED = 10  # seconds
_TYPES = {"html": "text/html", "json": "application/json", "csv": "text/csv"}
_TOLD = ("id", "name", "about", "words", "dimension", "state", "message", "uploaded")
_RULES = (
    "A file is text (GloVe, word2vec) or word2vec's binary format, plain or gzip. It is deleted "
    "when its scores are known.",
    "The test labels of the tasks are public: vectors may have been made with them.",
    "Without a browser: curl --data-binary @FILE 'ADDRESS/vectors?name=NAME'",
)


def part(board: Board) -> Part:
    """Returns the pages of a board, and what runs beside them."""
    pages, changes = _Pages(board), uploads.Uploads(board)
    found = {
        "/vectors/compare": pages.compare,
        "/vectors": pages.leaderboard,
        "/queue": pages.queue,
        **{f"/{kind}/{{id}}": pages.submission for kind in SUFFIXES},
    }
    routes = [
        Route("/", lambda request: RedirectResponse("/vectors")),
        Route("/openapi.json", lambda request: FileResponse(_API)),
        Route("/tables", _tables),
        *(Route(f"/{kind}", changes.upload, methods=["POST"]) for kind in SUFFIXES),
        *(Route(f"{path}.{{form}}", answer) for path, answer in found.items()),
        *(Route(path, answer) for path, answer in found.items()),
        *(Route(f"/{kind}/{{id}}", changes.delete, methods=["DELETE"]) for kind in SUFFIXES),
    ]
    return Part(routes, (board.judge_all, board.rank_all))


def _form(request: Request, *forms: str) -> str:
    form = str(request.path_params.get("form", "html"))
    if form not in forms:
        raise HTTPException(404, f"no such page; expected {', '.join(forms)}")
    return form


def _page(document: Document, **context: Any) -> Response:
    return HTMLResponse(board_pages.page(document, **context))


def _file(target: Path, form: str) -> Response:
    return FileResponse(target.with_suffix(f".{form}"), media_type=_TYPES[form])


async def _tables(request: Request) -> Response:
    said = "Is one model really better? Upload a CSV with columns model, seed and score."
    return _page(Document((said,), title="Compare a table of scores"), forms=["tables"])


class _Pages:
    """Answers requests that change nothing."""

    def __init__(self, board: Board):
        self._board, judge = board, board.settings.judge
        self._modes = ("fixed", "tuned") if judge["modes"] == "both" else (judge["modes"],)
        tasks = f"tasks {', '.join(judge['data'])} | seeds {judge['seeds']}"
        self._signature = f"{tasks} | {text.versions()}"

    async def leaderboard(self, request: Request) -> Response:
        """Answers with the leaderboard of a mode, or says that it is being made."""
        form, mode = _form(request, *_TYPES), self._mode(request)
        judged = {of.id for of in self._board.submissions.every("vectors", "judged")}
        target = self._board.folder / "leaderboards" / mode
        known = self._board.ranked
        if known and known <= judged and target.with_suffix(".json").exists():
            return _file(target, form)
        if form != "html":
            raise HTTPException(404, "there is no leaderboard yet")
        said = "The leaderboard is being made." if judged else "No vectors were judged yet."
        document = Document((said,), title="Leaderboard", signature=self._signature)
        return _page(document, refresh=_RELOADED)

    def _mode(self, request: Request) -> str:
        mode = request.query_params.get("mode") or self._modes[0]
        if mode not in self._modes:
            raise HTTPException(404, f"mode: expected {' or '.join(self._modes)}")
        return mode

    async def queue(self, request: Request) -> Response:
        """Answers with all submissions of vectors, the last one first."""
        every = self._board.submissions.every("vectors")[::-1]
        if _form(request, "html", "json") == "json":
            return JSONResponse({"submissions": [self._told(of) for of in every]})
        waiting = text.counted(sum(of.pending for of in every), "file waits", "files wait")
        rows = [
            (of.name, self._state(of), of.about, str(of.words or "-"), str(of.dimension or "-"))
            for of in every
        ]
        head = ("vectors", "state", "where they come from", "words", "dimensions")
        document = Document(
            (f"{waiting} to be judged.",),
            [*_RULES, Table(head, rows, words=3)],
            title="Upload word vectors",
            signature=self._signature,
        )
        links = {of.name: of.id for of in reversed(every)}  # the last one of a name
        return _page(document, path="/queue", forms=["vectors"], links=links)

    def _told(self, of: Submission) -> dict[str, Json]:
        """Returns what anybody may know of a submission."""
        place, seconds = self._board.submissions.wait(of) if of.pending else (None, None)
        known = {name: getattr(of, name) for name in _TOLD}
        return {**known, "place": place, "seconds": seconds, "page": f"/{of.kind}/{of.id}"}

    def _state(self, of: Submission) -> str:
        """Returns the state of a submission in words."""
        if not of.pending:
            return f"{of.state}: {of.message}".removesuffix(": ")
        place, seconds = self._board.submissions.wait(of)
        left = "" if seconds is None else f", judged in about {text.duration(seconds)}"
        return f"{f'place {place} in the queue' if place else 'is being judged'}{left}"

    async def submission(self, request: Request) -> Response:
        """Answers with the page of a submission: its result, or its place in the queue."""
        of, form = uploads.find(self._board, request), _form(request, "html", "json")
        size = f"{of.words} words of {of.dimension} dimensions. " if of.words else ""
        page = {"path": f"/{of.kind}/{of.id}", "forms": ["delete"] if of.key else []}
        page["about"] = size + of.about
        told = self._told(of)
        if of.state == "judged":
            target = self._board.folder / of.kind / of.id / "page"
            if of.kind == "vectors":
                target = await self._board.shown([of], "", **page)
            if form == "html":
                return _file(target, form)
            told["result"] = json.loads(target.with_suffix(".json").read_text("utf-8"))
        if form == "json":
            return JSONResponse(told)
        document = Document((f"{of.name}: {self._state(of)}.",), title=of.name)
        return _page(document, **page, refresh=_RELOADED if of.pending else 0)

    async def compare(self, request: Request) -> Response:
        """Answers with the comparison of those that were ticked."""
        form, mode = _form(request, "html", "json"), self._mode(request)
        chosen = sorted({*request.query_params.getlist("v")})
        judged = {of.id: of for of in self._board.submissions.every("vectors", "judged")}
        if not {*chosen} <= {*judged}:
            raise HTTPException(404, "no such vectors were judged; they may have been deleted")
        if not 2 <= len(chosen) <= _MOST_COMPARED:
            raise HTTPException(400, f"tick 2 to {_MOST_COMPARED}; found {len(chosen)}")
        query = urllib.parse.urlencode([("mode", mode), *(("v", key) for key in chosen)])
        page = {"path": "/vectors/compare", "query": f"?{query}"}
        return _file(await self._board.shown([judged[key] for key in chosen], mode, **page), form)
