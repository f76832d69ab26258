"""`jaxeval serve`: the report of a runs folder as pages that follow training."""

import asyncio
import contextlib
import logging
import secrets
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from jaxeval import cli, parameters, sources
from jaxeval.errors import ConfigError, RunError, argument
from jaxeval.parameters import Changes, Count, Number, Positive, Seeds

if TYPE_CHECKING:
    from jaxeval.serve.app import Part

_MOST_CONNECTIONS = 500  # more are told to come later
_Port = Annotated[int, Number(1, 65535)]


@parameters.verb
def serve(*paths: str | Path, host: str = "127.0.0.1", port: _Port = 8420) -> None:
    """Shows runs in a browser, also during training, and evaluation logs item by item.

    Runs: lists experiments and the state of their members, shows curves, scores, figures and
    configs, and compares experiments that you tick. Pages update when rows are written. Logs:
    lists the items that one model gets right and the other wrong, with question, expected answer
    and both answers. Logs are read once. Every page also exists as .json and .csv. The server only
    reads; Ctrl-C stops it.

    Args:
      paths: a runs folder, log files, folders of logs, or a folder with both. NAME=PATH gives all
        logs in PATH the model name NAME.

    Examples:
      jaxeval serve runs
      jaxeval serve new=new.eval old=old.eval
      jaxeval serve runs lm_eval_output --host 0.0.0.0 --port 9000
    """
    with _installed():
        from jaxeval.serve import app, live, logs
    from jaxeval.runs import following
    from jaxeval.runs import logs as evaluations

    runs = [path for path in paths if sources.is_recorded(path)]
    if not paths or len(runs) > 1:
        raise ConfigError("expected a runs folder, or files and folders of logs")
    has = {path: evaluations.are_in(path) for path in paths}
    for path in paths:
        if Path(path).is_dir() and path not in runs and not has[path]:
            raise RunError(f"{path}: no runs and no logs here")
    logged = [path for path in paths if has[path] or path not in runs]
    named = bool({*logged} - {*runs})  # those in a runs folder may still be written
    nav = [("/", "Experiments")] * bool(runs) + [("/logs", "Logs")] * bool(logged)
    part = logs.part(logged, nav, at_once=named) if logged else app.Part({})
    with contextlib.ExitStack() as held:
        for path in runs:
            followed = held.enter_context(contextlib.closing(following.Following(path)))
            part = live.Site(followed, str(followed.folder), nav).part().beside(part)
        _listen(part, host, port)


@parameters.verb
def serve_board(
    folder: str | Path,
    changes: Changes = (),
    *,
    data: Mapping[str, str | Path],
    baseline: str | Path,
    modes: Literal["both", "fixed", "tuned"] = "both",
    seeds: Seeds = 8,
    host: str = "127.0.0.1",
    port: _Port = 8420,
    upload_mb: Count = 512,
    judge_hours: Positive = 12.0,
    judge_gb: Positive = 16.0,
) -> None:
    """Serves a board that judges uploaded word vectors in order of arrival.

    Judges one file after another as `jaxeval vectors judge` does, in a process with limits and
    without network. Shows leaderboards, a report of each file and the queue. Compares files that
    you tick, and uploaded tables of scores as `jaxeval compare` does. A restarted board continues
    with its queue.

    Args:
      folder: folder of the board; created if it does not exist.
      data: corpus of a task, as TASK=PATH; repeatable.
      baseline: file of vectors for the relative error reduction; judged first.
      upload_mb: maximum megabytes of an upload.
      judge_hours: maximum hours to judge a file.
      judge_gb: maximum gigabytes of memory to judge a file.

    Examples:
      jaxeval serve board BOARD --data pos=EWT --data sentiment=SST --baseline svd.txt
    """
    with _installed():
        from jaxeval.serve import board, boards, confined

    known = {task: str(Path(path).resolve()) for task, path in data.items()}
    judge = {"data": known, "changes": [*changes], "modes": modes, "seeds": seeds}
    file = Path(baseline)
    limits = confined.Limits(judge_hours * 3600, int(judge_gb * 1e9))
    with cli.waiting("reading the corpora"):
        asked = {"baseline": str(file.resolve()), "settings": judge}
        _, offline = asyncio.run(confined.call("plan", limits, asked))
    if not offline:
        cli.say("this kernel gives no process a network of its own: uploads are judged with one")
    settings = board.Settings(judge, file, limits, upload_mb << 20)
    with contextlib.closing(board.Board(Path(folder), settings)) as opened:
        _listen(boards.part(opened), host, port)


@contextlib.contextmanager
def _installed() -> Iterator[None]:
    """Says what to install where a package is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ConfigError(f"serve: install jaxeval[web] ({error})") from None


def _listen(part: "Part", host: str, port: int) -> None:
    """Serves pages until Ctrl-C."""
    with _installed():
        import uvicorn

        from jaxeval.serve import app

    shown = f"[{host}]" if ":" in host else host
    token = None if app.is_local(shown) else secrets.token_urlsafe(24)
    address = f"http://{shown}:{port}/" + (f"?token={token}" if token else "")
    settings = uvicorn.Config(
        app.make(part, token), host, port, log_level="error", server_header=False
    )
    logging.getLogger("uvicorn.error").addFilter(_is_error)
    settings.http = "h11"  # httptools, if it is there, reads a header without end
    settings.timeout_graceful_shutdown = 1  # streams of events never end
    settings.limit_concurrency = _MOST_CONNECTIONS
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:  # before the address is printed: who comes at once waits
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        where = f"{argument('host', host)}, {argument('port', port)}"
        raise RunError(f"{where}: cannot listen there: {error.strerror}") from None
    cli.say(f"{address} (Ctrl-C ends it)")
    uvicorn.Server(settings).run([listening])


def _is_error(record: logging.LogRecord) -> bool:
    """Returns whether a line is no trace of a stream that was open when the server ended."""
    ended = record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError)
    return not ended and "timeout graceful shutdown" not in str(record.msg)
