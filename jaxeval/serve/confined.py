"""A process for what was uploaded: no network, limited memory and time, low priority.

`python -m jaxeval.serve.confined` reads from stdin which function of `judged` to call, and answers
on stdout; both are JSON. The server waits for it, and it dies with the server. It closes the
network before it imports anything that starts threads, since a kernel allows it only then.
"""

import asyncio
import ctypes
import json
import os
import resource
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jaxeval import cli
from jaxeval.errors import JaxevalError, RunError

_NAMESPACES = 0x10000000 | 0x40000000  # CLONE_NEWUSER and CLONE_NEWNET, of unshare
_DIES_WITH_PARENT, _NO_NEW_PRIVILEGES = 1, 38  # of prctl
_NICE = 10
_MOST_WRITTEN = 4 << 30  # bytes of a file


class Limits(NamedTuple):
    """What a process may take."""

    seconds: float
    memory: int  # bytes


async def call(work: str, limits: Limits, arguments: Mapping[str, object]) -> tuple[Any, bool]:
    """Calls a function of `judged` in a process; returns its result, and whether it was offline.

    Raises:
      RunError: a line for who uploaded: what is wrong with the file, or which limit was met.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "jaxeval.serve.confined",
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=True,  # Ctrl-C is for the server
    )
    asked = {"work": work, "memory": limits.memory, "parent": os.getpid(), "with": arguments}
    try:
        async with asyncio.timeout(limits.seconds):
            out, err = await process.communicate(json.dumps(asked).encode())
    except TimeoutError:
        from jaxeval.report import text

        raise RunError(f"it took more than {text.duration(limits.seconds)}") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        cli.say(f"{work}: exit status {process.returncode}\n{err.decode(errors='replace')}")
        raise RunError("it could not be done; the server's owner can read why")
    told = json.loads(out)
    if "error" in told:
        raise RunError(told["error"])
    return told["found"], told["offline"]


def _confine(memory: int, parent: int) -> bool:
    """Limits this process for good; returns whether it has no network."""
    os.nice(_NICE)
    for limit, most in (("DATA", memory), ("FSIZE", _MOST_WRITTEN), ("CORE", 0)):
        resource.setrlimit(getattr(resource, f"RLIMIT_{limit}"), (most, most))
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None)
    user = os.getuid()
    group = os.getgid()
    offline = libc.unshare(_NAMESPACES) == 0
    if offline:
        maps = {
            "setgroups": "deny",
            "uid_map": f"{user} {user} 1",
            "gid_map": f"{group} {group} 1",
        }
        for name, line in maps.items():
            Path(f"/proc/self/{name}").write_text(line)
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    libc.prctl(_DIES_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before
        os.kill(os.getpid(), signal.SIGKILL)
    return offline


def _answer(asked: dict[str, Any]) -> dict[str, object]:
    offline = _confine(asked["memory"], asked["parent"])
    from jaxeval.serve import judged

    try:
        return {"found": getattr(judged, asked["work"])(**asked["with"]), "offline": offline}
    except JaxevalError as error:
        return {"error": str(error)}
    except MemoryError:
        return {"error": f"it needs more than {asked['memory'] >> 20} MB of memory"}


if __name__ == "__main__":
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)  # others may print
        json.dump(_answer(json.load(sys.stdin)), answers)
