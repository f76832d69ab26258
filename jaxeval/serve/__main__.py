"""`jaxeval serve`: the report of a runs folder as pages that follow training."""

import ipaddress
import secrets
from pathlib import Path
from typing import Annotated

from jaxeval import cli, parameters, parsers
from jaxeval.errors import ConfigError, RunError, argument
from jaxeval.parameters import Number


@parameters.verb
def serve(
    runs: str | Path,
    *,
    host: str = "127.0.0.1",
    port: Annotated[int, Number(1, 65535)] = 8420,
) -> None:
    """Shows a runs folder in a browser, while processes train into it.

    Lists experiments with what their members do, shows the curves, scores, figures and config of
    each one, and compares those that are ticked; pages change when rows are written. Every page
    has its numbers as .json and .csv. The folder is only read. Ctrl-C ends it.

    Args:
      runs: runs folder or SQLite URL.
      host: address to listen on. Any but this machine's own asks for a token, which is printed.
      port: TCP port.

    Examples:
      jaxeval serve runs
      jaxeval serve runs --host 0.0.0.0 --port 9000
    """
    try:
        import uvicorn

        from jaxeval.serve import app, live
    except ModuleNotFoundError as error:
        raise ConfigError(f"serve: install jaxeval[web] ({error})") from None
    from jaxeval.runs import following

    token = None if _is_loopback(host) else secrets.token_urlsafe(24)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{port}/" + (f"?token={token}" if token else "")
    followed = following.Following(runs)
    try:
        pages = app.make([live.part(followed, str(runs))], token)
        settings = uvicorn.Config(pages, host, port, log_level="error", server_header=False)
        settings.timeout_graceful_shutdown = 1  # streams of events never end
        listening = settings.bind_socket()
        listening.listen()  # before the address is printed: who comes at once waits
        cli.say(f"{address} (Ctrl-C ends it)")
        uvicorn.Server(settings).run([listening])
    except SystemExit:
        where = f"{argument('host', host)}, {argument('port', port)}"
        raise RunError(f"{where}: cannot listen there; expected a free port") from None
    finally:
        followed.close()


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


COMMANDS: parsers.Commands = {"": serve}
