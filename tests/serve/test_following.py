"""Rows that are written while a page is open."""

import asyncio
import json
import os
import shutil
import sqlite3
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from jaxeval import files, runs
from jaxeval.errors import RunError
from jaxeval.runs import following
from jaxeval.serve import live, pages
from tests.runs import test_store
from tests.serve import servers
from tests.serve.test_serve import client, write


def test_a_stream_follows_a_writer(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Dies if a point is lost, sent twice, late, or history is sent again."""
    write(tmp_path, "alpha", 0, ended=2, training=2)
    key, done = f"{0:016x}", threading.Event()
    followed = following.Following(tmp_path)
    request.addfinalizer(followed.close)

    def train() -> None:
        with runs.open_store(tmp_path) as store:
            for epoch in range(3, 7):
                store.record([], [test_store.curve(s, epoch, epoch / 10, key) for s in (3, 4)])
                written[epoch] = time.monotonic()
                done.wait(0.15)

    written: dict[int, float] = {}
    seen: dict[int, float] = {}
    assert [p.n for p in followed.curve(key)] == [4, 4, 2, 2]
    last, writer = followed.row, threading.Thread(target=train)
    writer.start()
    while (len(seen) < 4 and writer.is_alive()) or followed.poll():
        followed.poll()
        points = followed.curve(key, last)
        assert all(point.epoch > 2 for point in points)
        last = followed.row
        seen |= {point.epoch: time.monotonic() for point in points}
        time.sleep(0.02)
    writer.join()
    assert sorted(seen) == [3, 4, 5, 6] and followed.curve(key, last) == []
    assert all(seen[epoch] - written[epoch] < 1.0 for epoch in seen)
    known = followed.experiments[key]
    assert known.points()[-1].n == 2 and known.epochs[(3, 0, 0, "{}")] == 6
    assert known.state(time.time(), 0, trained=True) == "training"
    assert known.state(time.time() + 60, 0, trained=True) == "stalled"
    assert known.state(time.time(), 0, trained=False) == "stalled"
    assert known.seconds_left() is not None
    followed.close()


def test_a_client_reads_the_stream_while_a_thread_writes(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Dies if a browser waits for a commit, or gets again what it has."""
    write(tmp_path, "alpha", 0, ended=2, training=1)
    key, followed = f"{0:016x}", following.Following(tmp_path)
    request.addfinalizer(followed.close)
    received = []
    with servers.threaded(live.Site(followed, "runs").part()) as address:
        events = f"{address}/events?kind=e&e={key}&after=0"
        with urllib.request.urlopen(events, timeout=20) as stream:
            for line in stream:
                if not line.startswith(b"data: "):
                    continue
                received.append(json.loads(line[6:]))
                epoch = 2 + len(received)
                if epoch > 5:
                    break
                row = test_store.curve(3, epoch, experiment=key)
                with runs.open_store(tmp_path) as store:
                    store.record([], [row])
    followed.close()
    epochs = [[point[0] for point in news["curves"][key]] for news in received]
    assert epochs == [[1, 2, 3, 4], [3], [4], [5]]
    assert [news["row"] for news in received] == [10, 11, 12, 13]


def test_states(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Dies if an experiment that nobody trains looks alive, or one that has ended does not."""
    write(tmp_path, "a", 0)
    write(tmp_path, "b", 1, ended=0, training=1)
    write(tmp_path, "c", 2, ended=2, training=1)
    followed = following.Following(tmp_path)
    request.addfinalizer(followed.close)
    a, b, c = followed.experiments.values()
    seconds, epochs = zip(
        *((m.wall_seconds, m.epochs) for m in followed.members(c.id)), strict=True
    )
    assert c.seconds_left() == pytest.approx(2 * sum(seconds) / sum(epochs))  # epochs 3 and 4
    assert a.state(0.0, 0.0, trained=False) == "ended" and a.training == []
    assert b.state(100.0, 0.0, trained=True) == "training"
    assert b.state(200.0, 0.0, trained=True) == b.state(1.0, 0.0, trained=False) == "stalled"
    with files.locked(tmp_path / "checkpoints" / "b.lock", ""):
        assert not followed.poll() and followed.trained
    assert not followed.poll() and not followed.trained
    assert followed.members(b.id) == []
    test_store.write(tmp_path, "new")  # its programs compile
    iterated = iter(followed.experiments.values())  # by another thread
    assert next(iterated) is a
    followed.poll()
    assert [*iterated] == [b, c]
    assert followed.experiments["new"].state(0.0, 0.0, trained=True) == "begun"
    page = client(tmp_path).get(f"/e/{1:016x}").text
    assert "no member has ended" in page and page.rstrip().endswith("</html>")
    with pytest.raises(Exception, match="readonly"):
        followed._sql.execute("DELETE FROM scores")


def test_a_folder_that_is_made_anew(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Dies if runs that were deleted are shown in place of those that are trained anew, or a
    database that cannot be read yet is a traceback, or the last look at it; or a page keeps points
    that are gone, or follows for ever an experiment that is."""
    folder = tmp_path / "runs"
    write(folder, "a", 0)
    followed = following.Following(folder)
    request.addfinalizer(followed.close)
    version = followed.experiments[f"{0:016x}"].version
    shutil.rmtree(folder)
    assert not followed.poll() and followed.members(f"{0:016x}")
    folder.mkdir()
    (folder / "runs.sqlite").touch()
    with pytest.raises(RunError, match="not a runs database"):
        followed.poll()
    assert followed.members(f"{0:016x}")
    write(folder, "a", 0)
    write(folder, "b", 1)
    assert followed.poll() and [of.name for of in followed.experiments.values()] == ["a", "b"]
    assert followed.experiments[f"{0:016x}"].version > version  # which pages are kept for

    async def first(key: str) -> list[str]:
        stream = live.Site(followed, "")._stream(pages.PageRequest("e", (key,)), 10**6)
        return [await anext(stream, "") for _ in range(2)]

    news = json.loads(asyncio.run(first(f"{1:016x}"))[1].partition("data: ")[2])
    assert len(news["curves"][f"{1:016x}"]) == 4
    assert asyncio.run(first(f"{2:016x}"))[1] == ""
    with sqlite3.connect(folder / "runs.sqlite") as database:
        database.execute("UPDATE scores SET epoch = 'two' WHERE epoch = 2")
    database.close()
    followed.close()
    opened = os.listdir("/proc/self/fd")
    with pytest.raises(RunError, match="sqlite: cannot be read") as failed:
        following.Following(folder)
    assert failed.tb and len(os.listdir("/proc/self/fd")) == len(opened)
    with pytest.raises(RunError, match="sqlite: cannot be read"):
        followed.scores(f"{0:016x}", (1, 0, 0, "{}"), 0)


def test_many_visitors_and_those_who_leave() -> None:
    """Dies if a page is made for each visitor, one that nobody waited for stays for ever, a page
    that took long is made at once again, or a failure is kept."""
    made, broken = [0], [True]

    def make() -> int:
        made[0] += 1
        time.sleep(0.05)
        if broken[0]:
            raise OSError("the disk is gone")
        return made[0]

    async def visit(cache: live.Cache, mark: str, visitors: int = 1) -> set[int]:
        leaves = asyncio.create_task(cache.get("page", mark, make))
        await asyncio.sleep(0.01)
        leaves.cancel()
        return {*await asyncio.gather(*(cache.get("page", mark, make) for _ in range(visitors)))}

    async def visits() -> None:
        cache = live.Cache(threads=1, patience=0)
        with pytest.raises(OSError, match="the disk"):
            await cache.get("page", "a", make)
        broken[0] = False
        assert await visit(cache, "a", 20) == await visit(cache, "a") == {2}
        assert await visit(cache, "b") == {3}
        patient = live.Cache(threads=1, patience=100)
        assert await visit(patient, "a") == await visit(patient, "b") == {4}

    asyncio.run(visits())
