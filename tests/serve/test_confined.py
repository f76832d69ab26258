"""Processes for uploads: what they cannot do, and a board from upload to leaderboard."""

import asyncio
import gzip
import io
import json
import os
import pickle
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxeval.errors import DataError, RunError
from jaxeval.serve import confined, judged
from jaxeval.serve.confined import Limits
from tests import test_judge, tiny_corpora
from tests.data.test_word_tables import vectors
from tests.test_docs import ROOT

pytestmark = pytest.mark.slow
LIMITS = Limits(60.0, 1 << 30)
_TRIES = """
import os, socket, sys
from jaxeval.serve import confined
offline = confined._confine(1 << 29, os.getppid())
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), 1)
    print("connected", offline)
except OSError:
    print("refused", offline)
try:
    bytearray(1 << 30)
except MemoryError:
    print("no memory")
print(os.nice(0), os.getuid())
"""


class _Evil:
    def __reduce__(self) -> Any:
        return os.mkdir, ("/tmp/jaxeval_was_unpickled",)


def _array(value: object) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.array([value], object), allow_pickle=True)
    return stream.getvalue()


def test_what_a_process_cannot_do() -> None:
    """Dies if an upload's process reaches a port of this machine, or takes all memory; where the
    kernel lets nobody close the network, it must say so."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        command = [sys.executable, "-c", _TRIES, port]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    first, *others = done.stdout.splitlines()
    assert first in ("refused True", "connected False"), done.stderr
    assert others == ["no memory", f"{min(19, os.nice(0) + 10)} {os.getuid()}"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a 1 2\nb 3\n", "file.txt:2: expected a word and 2 numbers, found 1"),
        (pickle.dumps(_Evil()), "file.txt"),
        (_array(_Evil()), "file.txt"),
        (b"a nan 1\n", "file.txt"),
    ],
    ids=["short", "pickle", "npy", "nan"],
)
def test_files_are_checked(
    content: bytes, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a file that is wrong gets anything but a line of refusal, or a pickle runs."""
    monkeypatch.chdir(tmp_path)  # the function goes there
    Path("file.txt").write_bytes(content)
    with pytest.raises(DataError, match=said) as refused:
        judged.check(str(tmp_path / "file.txt"))
    assert "\n" not in str(refused.value) and str(tmp_path) not in str(refused.value)
    assert not Path("/tmp/jaxeval_was_unpickled").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (lambda: b"a 1 2\nb 3 4\n", ""),
        (lambda: gzip.compress(bytes(1 << 28), 1), "file.txt.*too large"),
        (lambda: gzip.compress((b"a" + b" 1" * 400 + b"\n") * 90_000), "file.txt: too large"),
        (lambda: b"4000000000 4096\na " + b"\x01" * 30, "file.txt"),
    ],
    ids=["good", "bomb", "bomb of vectors", "header"],
)
def test_files_are_checked_within_limits(
    content: Callable[[], bytes], said: str, tmp_path: Path
) -> None:
    """Dies if a bomb, or a header that lies, takes more memory than a process may have."""
    file = tmp_path / "file.txt"
    file.write_bytes(content())
    call = confined.call("check", LIMITS, {"file": str(file)})
    if not said:
        assert asyncio.run(call)[0] == {"words": 2, "dimension": 2}
        return
    with pytest.raises(RunError, match=said):
        asyncio.run(call)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            "model,f1,acc\na,.3,.4\nb,.2,.1\n",
            r"t.csv: f1, acc could each be the score; .*: column of scores \"f1\"$",
        ),
        ("model,seed,f1\na,1,.3\na,1,.4\n", r"1; keep one, .* jaxeval compare --column split="),
        ("model,seed,f1\na,1,.3\na,2,\n", r"missing; .*; jaxeval compare --missing drop leaves"),
        (
            "\n".join(["model,seed,f1", *(f"m{k},{s},.{k}{s}" for k in range(65) for s in "12")]),
            r"t.csv: 2,080 pairs of models on data sets; expected at most 2,000; ",
        ),
        (
            "a_ppl,b_ppl\n3,4\n",
            'expected "lower is better", or jaxeval compare --no-lower-is-better if models',
        ),
        ("a,b\n", r"t.csv: a header without rows; expected at least one row of scores$"),
    ],
)
def test_a_page_names_fields_and_flags_of_a_command(
    content: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if who uploads a table is told to use a flag, but not of what, or not which field."""
    monkeypatch.chdir(tmp_path)  # the function goes there
    Path("t.csv").write_text(content)
    with pytest.raises(DataError, match=said) as refused:
        judged.table(str(tmp_path / "t.csv"), {})
    message = str(refused.value)
    assert message.count("--") == message.count("jaxeval compare --")
    Path("t.csv").write_text((ROOT / "docs" / "scores.csv").read_text().replace("f1", "thing"))
    judged.table(str(tmp_path / "t.csv"), {})
    page = Path("page.html").read_text()
    assert "the score; jaxeval compare --column ROLE=NAME changes that</li>" in page
    assert "(assumed; &#34;lower is better&#34; otherwise) |" in page


def test_limits_and_failures_are_one_line(capfd: pytest.CaptureFixture) -> None:
    """Dies if a process outlives its time, or its traceback reaches who uploaded."""
    with pytest.raises(RunError, match="it took more than 0 s"):
        asyncio.run(confined.call("check", Limits(0.001, 1 << 30), {"file": "x"}))
    with pytest.raises(RunError, match="it could not be done; the server's owner"):
        asyncio.run(confined.call("check", LIMITS, {"nothing": ""}))
    assert "TypeError" in capfd.readouterr().err


def _serve(folder: Path) -> tuple[subprocess.Popen, str]:
    """Starts a board with the smallest models; returns the process and its address."""
    command = [sys.executable, "-m", "jaxeval", "serve", "board", str(folder / "board")]
    command += [*test_judge.QUICK, "--data", f"ner={folder / 'ner'}", "--modes", "fixed"]
    command += ["--baseline", str(folder / "base.txt"), "--seeds", "2", "--port"]
    for port in range(8600, 8700):
        told = folder / f"told{port}"
        with told.open("w") as stream:
            served = subprocess.Popen([*command, str(port)], stderr=stream)
        while served.poll() is None:
            for line in told.read_text().splitlines(keepends=True):
                if line.startswith("http") and line.endswith("\n"):
                    return served, line.split()[0].rstrip("/")
            time.sleep(0.05)
        assert "cannot listen" in told.read_text(), told.read_text()
    raise AssertionError("no free port")


def _children(pid: int) -> list[int]:
    return [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.skipif(sys.platform != "linux", reason="processes die with their parent on Linux")
def test_from_upload_to_leaderboard(tmp_path: Path) -> None:
    """Dies if the client of the docs does not work, the trainings go on without the server, or
    what was uploaded before `kill -9` is not judged after it."""
    tiny_corpora.tags(tmp_path / "ner")
    for seed, name in enumerate(("base", "mine")):
        vectors(tmp_path / f"{name}.txt", test_judge.WORDS, seed, 4)
    client = (ROOT / "docs/boards.md").read_text().split("```py\n")[1].partition("```")[0]
    script = tmp_path / "client.py"
    script.write_text(client.replace("time.sleep(5)", "time.sleep(0.5)"))
    served, address = _serve(tmp_path)
    call = [sys.executable, str(script), address, str(tmp_path / "mine.txt"), "mine"]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as asks:
        assert asks.stdout is not None
        assert asks.stdout.readline().startswith(f"{address}/vectors/")
        assert asks.stdout.readline() == "place 1, seconds left: None\n"
        (judging,) = _children(served.pid)
        served.send_signal(signal.SIGKILL)
        served.wait()
        asks.kill()
    end = time.monotonic() + 10
    while not _ended(judging):
        assert time.monotonic() < end
        time.sleep(0.05)
    served, address = _serve(tmp_path)
    end = time.monotonic() + 200
    rows: list[dict[str, Any]] = []
    while len(rows) < 2 and time.monotonic() < end:
        time.sleep(0.5)
        try:
            with urllib.request.urlopen(f"{address}/vectors.json") as answer:
                rows = json.load(answer)["rows"]
        except urllib.error.HTTPError as error:
            assert error.code == 404
    served.send_signal(signal.SIGINT)
    assert served.wait(30) in (0, 130)
    assert {row["name"] for row in rows} == {"base", "mine"}
    assert all(0 < row["ner"] <= 1 and row["mean"] == row["ner"] for row in rows)
