"""Members of another framework, each in a process of its own, trained side by side.

A process imports a file that defines

    class Member:
        def __init__(self, payload: Path, number: int): ...            # builds the model, once
        def turn(self, way: str, threads: int) -> Callable[[], float]  # prepares what it returns

and waits. A turn of several processes is prepared in each, started in all at once, and lasts until
the last has finished: wall time, of which the calling process reads the clock. What a turn returns
(a loss, an accuracy) comes back with it. Between turns the processes are idle, so that whatever is
measured in alternation has the machine to itself. On a busy machine, CLOCK=cpu in the environment
makes it CPU time, of all processes of a turn together.

    python processes.py FILE PAYLOAD NUMBER     # one process; `start` runs as many as it is asked
"""

import contextlib
import importlib
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

CLOCK = os.environ.get("CLOCK", "wall")


def clock() -> float:
    """Seconds by the clock that is asked for, of this process."""
    return time.process_time() if CLOCK == "cpu" else time.perf_counter()


class Turn(NamedTuple):
    """What a turn took and returned."""

    seconds: float  # of wall time, until the last process has finished; or of CPU time, summed
    results: list[float]  # of each process


class Group:
    """Processes that wait for turns."""

    def __init__(self, processes: list["_Process"]):
        self._processes = processes

    def turn(self, way: str, threads: int, count: int) -> Turn:
        """One turn of the first `count` processes side by side; the others stay idle."""
        chosen = self._processes[:count]
        if len(chosen) < count:
            raise ValueError(f"{count} processes are asked for, {len(chosen)} were started")
        for process in chosen:
            process.send({"way": way, "threads": threads})
        for process in chosen:
            process.receive()

        def now() -> float:
            return sum(p.cpu_seconds() for p in chosen) if CLOCK == "cpu" else clock()

        begin = now()
        for process in chosen:
            process.send("go")
        results = [process.receive() for process in chosen]
        seconds = now() - begin
        for process, result in zip(chosen, results, strict=True):
            if not math.isfinite(result):
                raise SystemExit(f"{process.name}: a turn of {way!r} returned {result}")
        return Turn(seconds, results)


@contextlib.contextmanager
def start(file: Path, payload: Path, count: int) -> Iterator[Group]:
    """Starts `count` processes and waits until all have built their models; ends them at exit.

    Raises SystemExit, here and in turns, with one line that says which process failed and why.
    """
    with contextlib.ExitStack() as stack:
        processes = []
        for number in range(count):
            # a file, since a pipe that nobody reads could fill up
            errors = stack.enter_context(tempfile.TemporaryFile("w+"))
            processes.append(_Process(file, payload, number, errors))
            stack.callback(processes[-1].close)
        for process in processes:
            process.receive()
        yield Group(processes)


class _Process:
    def __init__(self, file: Path, payload: Path, number: int, errors: IO[str]):
        self.name = f"process {number + 1} of {file.name}"
        self._errors = errors
        self._popen = subprocess.Popen(
            [sys.executable, __file__, str(file), str(payload), str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def send(self, request: Any) -> None:
        """Writes one request."""
        assert self._popen.stdin
        try:
            self._popen.stdin.write(json.dumps(request) + "\n")
            self._popen.stdin.flush()
        except BrokenPipeError:
            self._fail()

    def receive(self) -> Any:
        """Reads one reply."""
        assert self._popen.stdout
        line = self._popen.stdout.readline()
        return json.loads(line) if line else self._fail()

    def cpu_seconds(self) -> float:
        """User and system time of the process so far."""
        fields = Path(f"/proc/{self._popen.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        """Ends the process, whatever it does."""
        self._popen.kill()
        self._popen.wait()
        for pipe in (self._popen.stdin, self._popen.stdout):
            with contextlib.suppress(BrokenPipeError):  # a request that was never read
                pipe.close()  # type: ignore[union-attr]

    def _fail(self) -> None:
        code = self._popen.wait()
        self._errors.seek(0)
        lines = [line.strip() for line in self._errors if line.strip()]
        end = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        raise SystemExit(f"{self.name} {end}: {lines[-1] if lines else 'it said nothing'}")


def serve(file: Path, payload: Path, number: int) -> None:
    """Builds a member, then answers requests until there are no more."""
    replies, sys.stdout = sys.stdout, sys.stderr  # what a library prints is no reply

    def reply(content: Any) -> None:
        print(json.dumps(content), file=replies, flush=True)

    sys.path.insert(0, str(file.parent))
    member = importlib.import_module(file.stem).Member(payload, number)
    reply("built")
    while request := sys.stdin.readline():
        turn = member.turn(**json.loads(request))
        reply("prepared")
        if not sys.stdin.readline():
            break
        reply(turn())


if __name__ == "__main__":
    serve(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
