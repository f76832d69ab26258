"""Does a board serve others while many upload at once, and what does it hold in memory?

    uv run python benchmarks/board.py [--uploads 50 --megabytes 8 --slow 40]

Starts `jaxeval serve board` as a process. One after another: parallel uploads; gzip bombs; clients
that send a byte a second. Meanwhile another client asks for the queue ten times a second. Uploads
are checked, and then wait behind the baseline, which trains all the while. A board takes 100
uploads of an address an hour: all cases together have to be fewer.
"""

import argparse
import gzip
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import common
import numpy as np

PORT = 8498
BASE = f"http://127.0.0.1:{PORT}"
RATE = 0.1  # seconds between two requests of the other client


def corpus(folder: Path) -> None:
    """Writes a corpus of sentences with names, in two columns."""
    draw = np.random.default_rng(1)
    folder.mkdir()
    for part, count in (("train", 2000), ("dev", 200), ("test", 200)):
        lines = []
        for _ in range(count):
            words = [f"w{k}" for k in draw.integers(0, 500, 12)]
            lines += [f"{w} {'B-PER' if w.endswith('7') else 'O'}" for w in words] + [""]
        (folder / part).write_text("\n".join(lines) + "\n")


def vectors(seed: int, megabytes: float) -> bytes:
    """Returns a file of vectors of 100 numbers."""
    draw, lines = np.random.default_rng(seed), []
    for k in range(int(megabytes * 1e6 / 810)):
        lines.append(f"w{k} " + " ".join(f"{x:.5f}" for x in draw.normal(size=100)))
    return "\n".join(lines).encode()


def upload(name: str, content: bytes) -> int:
    """Returns the status of an upload."""
    request = urllib.request.Request(f"{BASE}/vectors?name={name}", content, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=600) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


class Other:
    """A client that asks for the queue again and again, and notes how long it waited."""

    def __init__(self, pid: int):
        self.stopped, self._status = threading.Event(), Path(f"/proc/{pid}/status")
        self._waits: list[float] = []
        self._peak = 0
        threading.Thread(target=self._ask, daemon=True).start()

    def _ask(self) -> None:
        while not self.stopped.wait(RATE):
            begun = time.perf_counter()
            with urllib.request.urlopen(f"{BASE}/queue") as answer:
                answer.read()
            self._waits.append(time.perf_counter() - begun)
            self._peak = max(self._peak, self.memory())

    def memory(self) -> int:
        """Returns the kilobytes that the server holds."""
        return int(re.findall(r"VmRSS:\s+(\d+)", self._status.read_text())[0])

    def tell(self, what: str, **more: object) -> None:
        """Reports what was seen since the last time."""
        waits, self._waits = self._waits, []
        peak, self._peak = self._peak, 0
        common.report(
            case=what,
            **more,
            queue_ms_median=round(1000 * float(np.median(waits)), 1),
            queue_ms_most=round(1000 * max(waits), 1),
            server_mb=round(peak / 1000, 1),
        )


def slow(seconds: float) -> None:
    """Sends the head of an upload and then a byte a second."""
    with socket.create_connection(("127.0.0.1", PORT)) as connection:
        head = (
            "POST /vectors?name=slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999\r\n\r\n"
        )
        connection.sendall(head.encode())
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            connection.sendall(b"a")
            time.sleep(1)


def measure(pid: int, args: argparse.Namespace) -> None:
    """Reports all cases."""
    other = Other(pid)
    time.sleep(3)
    other.tell("nothing is uploaded")
    files = [vectors(seed, args.megabytes) for seed in range(args.uploads)]
    begun = time.perf_counter()
    with ThreadPoolExecutor(args.uploads) as pool:
        names = [f"v{k}" for k in range(args.uploads)]
        statuses = [*pool.map(upload, names, files)]
    took = round(time.perf_counter() - begun, 1)
    other.tell(f"{args.uploads} upload at once", seconds=took, accepted=statuses.count(201))
    del files
    for what, content in (
        ("10 GB of zeros", gzip.compress(bytes(10 << 20)) * 1024),
        ("1.6 GB of vectors", gzip.compress((b"a" + b" 1" * 400 + b"\n") * 20_000) * 100),
    ):
        begun = time.perf_counter()
        status = upload("bomb", content)
        took = round(time.perf_counter() - begun, 1)
        size = round(len(content) / 1e6, 1)
        other.tell(f"a bomb is uploaded: {what}", bytes_mb=size, seconds=took, status=status)
    with ThreadPoolExecutor(args.slow) as pool:
        for _ in range(args.slow):
            pool.submit(slow, 10.0)
        time.sleep(3)
        status = upload("between", vectors(999, 1))
    other.tell(f"{args.slow} send a byte a second", status=status)
    other.stopped.set()


def main() -> None:
    """Starts a board and measures it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--uploads", type=int, default=50)
    parser.add_argument("--megabytes", type=float, default=8)
    parser.add_argument("--slow", type=int, default=40)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        corpus(folder / "ner")
        (folder / "base.txt").write_bytes(vectors(-1 % 2**32, 1))
        command = [sys.executable, "-m", "jaxeval", "serve", "board", str(folder / "board")]
        command += ["--data", f"ner={folder / 'ner'}", "--baseline", str(folder / "base.txt")]
        command += ["--modes", "fixed", "--port", str(PORT), "training.epochs=100000"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
            assert server.stderr is not None
            try:
                while not (line := server.stderr.readline()).startswith("http"):
                    assert line, "the server has ended"
                measure(server.pid, args)
            finally:
                server.kill()


if __name__ == "__main__":
    main()
