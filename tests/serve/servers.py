"""A server as a process of its own, or as a thread."""

import contextlib
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import uvicorn

from jaxeval.serve import app


class Served(NamedTuple):
    """A server that answers."""

    port: int
    pid: int

    @property
    def address(self) -> str:
        """The address of its first page, without a slash."""
        return f"http://127.0.0.1:{self.port}"

    def megabytes(self) -> int:
        """Returns the memory that it holds."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) // 1000


@contextlib.contextmanager
def threaded(part: app.Part) -> Iterator[str]:
    """Serves pages in a thread; yields the address."""
    settings = uvicorn.Config(app.make(part, None), port=0, log_level="error")
    settings.loop = "asyncio"  # uvicorn .35 would leave uvloop, which forks, to later tests
    settings.timeout_graceful_shutdown = 1
    listening = settings.bind_socket()
    server = uvicorn.Server(settings)
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    while not server.started:  # what it imports by then may not come in the middle of a fork
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@contextlib.contextmanager
def served(*arguments: str, port: int) -> Iterator[Served]:
    """Runs `jaxeval serve`, and ends it by Ctrl-C, which may print nothing."""
    command = [sys.executable, "-m", "jaxeval", "serve", *arguments, "--port", str(port)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            line = process.stderr.readline()
            assert "Ctrl-C" in line, line
            yield Served(port, process.pid)
            process.send_signal(signal.SIGINT)
            assert process.stderr.read() == ""
        finally:
            process.terminate()
