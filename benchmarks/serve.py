"""How fast are the pages of `jaxeval serve`, and what do ten tabs cost it?

    uv run python benchmarks/serve.py [--experiments 200 --members 64 --epochs 30]

Starts the server as a process on a runs folder that is made first. Pages are asked for once before
they are timed, but for their first byte after a start. A headless Chromium, where there is one,
says when it has painted them and loaded all. Ten streams then follow one experiment into
which rows are written every second, and each fetches the page after every event, as a tab does.
"""

import argparse
import concurrent.futures
import gzip
import json
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import common
import numpy as np

from jaxeval import runs

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.serve import chromium

PORT = 8499
BASE = f"http://127.0.0.1:{PORT}"
TABS, SECONDS = 10, 20
VERSIONS = ("map", "0.9", "0.12", "0.1", "cpu")


def fill(folder: Path, experiments: int, members: int, epochs: int, first: int = 0) -> None:
    """Writes experiments whose members have ended, but for two of the last one."""
    rng = np.random.default_rng(first)
    with runs.open_store(folder) as store:
        for number in range(first, first + experiments):
            key, live = f"{number:016x}", number == first + experiments - 1
            tree = {"name": f"tagger_{number}", "training": {"epochs": epochs}}
            store.register(
                runs.Experiment(
                    *(key, f"tagger_{number}", "tagging", "f1", True, "fraction", 0.01),
                    *(json.dumps(tree), key, "conll", "d1"),
                )
            )
            ends, scores = [], []
            for seed in range(1, members + 1):
                of = key, seed, 0, 0, "{}"
                dev, test = 0.7 + 0.02 * rng.standard_normal(2)
                ended = not live or seed < members - 1
                for epoch in range(1, (epochs if ended else 2) + 1):
                    loss, score = 1 / epoch, float(dev * (1 - np.exp(-epoch / 3)))
                    scores.append(runs.EpochScore(*of, epoch, "train", "loss", loss))
                    scores.append(runs.EpochScore(*of, epoch, "dev", "f1", score))
                if ended:
                    best = epochs, epochs, float(dev), float(test), 3.0
                    ends.append(runs.MemberResult(*of, "finished", *best, *VERSIONS))
            store.record(ends, scores)


def ask(path: str) -> tuple[float, float, bytes]:
    """Returns the seconds to the first byte and to the last, and what came."""
    begun = time.perf_counter()
    with urllib.request.urlopen(BASE + path) as answer:
        first = answer.read(1)
        early = time.perf_counter() - begun
        whole = first + answer.read()
    return early, time.perf_counter() - begun, whole


def pages(paths: dict[str, str], label: str, pid: int) -> None:
    """Reports the time and weight of pages, and the memory after each."""
    for name, path in paths.items():
        busy = spent(pid)
        early, cold, _ = ask(path)
        busy = spent(pid) - busy
        firsts, totals, texts = zip(*(ask(path) for _ in range(5)), strict=True)
        common.report(
            page=label + name,
            whole_ms=round(1000 * sorted(totals)[2], 1),
            first_byte_ms=round(1000 * sorted(firsts)[2], 1),
            cold_first_byte_ms=round(1000 * early),
            cold_ms=round(1000 * cold),
            cold_cpu_ms=round(1000 * busy),
            gzipped_kb=round(len(gzip.compress(texts[0], 5)) / 1000, 1),
            server_mb=resident(pid),
        )


def rendered(paths: dict[str, str], label: str) -> None:
    """Reports when a browser has painted something of a page, and has loaded all of it."""
    marks = "performance.getEntriesByType('paint').map((of) => of.startTime)"
    ends = "performance.getEntriesByType('navigation')[0].loadEventEnd"
    with chromium.tab() as browser:
        for name, path in paths.items():
            painted, loaded = [], []
            for _ in range(6):
                browser.open("about:blank")
                browser.open(BASE + path)
                painted.append(min(browser.wait(f"({marks}).length && {marks}")))
                loaded.append(browser.wait(ends))
            middle = {"painted_ms": sorted(painted[1:])[2], "loaded_ms": sorted(loaded[1:])[2]}
            common.report(rendered=label + name, **{k: round(v) for k, v in middle.items()})


def tab(path: str, stop: float, seen: list[tuple[float, int]]) -> None:
    """Follows an experiment as the script of its page does."""
    events = f"{BASE}/events?kind=e&e={path.rpartition('/')[2]}&after=0"
    with urllib.request.urlopen(events) as stream:
        for line in stream:
            if line.startswith(b"data:"):
                ask(path)
                seen.append((time.time(), json.loads(line[5:])["row"]))
            if time.time() > stop:
                return


def follow(folder: Path, key: str, members: int, pid: int) -> None:
    """Reports the processor time of ten tabs, and how late they show a commit."""
    seen: list[tuple[float, int]] = []
    stop, commits = time.time() + SECONDS, list[float]()
    tabs = [threading.Thread(target=tab, args=(f"/e/{key}", stop, seen)) for _ in range(TABS)]
    for each in tabs:
        each.start()
    time.sleep(3)
    busy, begun = spent(pid), time.time()
    with runs.open_store(folder) as store:
        epoch = 3
        while time.time() < stop:
            of = [(key, seed, 0, 0, "{}") for seed in (members - 1, members)]
            rows = [runs.EpochScore(*each, epoch, "dev", "f1", 0.5) for each in of]
            store.record([], rows)
            commits.append(time.time())
            epoch += 1
            time.sleep(1)
        took = time.time() - begun
        share = (spent(pid) - busy) / took
        store.record([], [runs.EpochScore(*of[0], epoch, "dev", "f1", 0.5)])  # wakes the tabs
    for each in tabs:
        each.join()
    late = [min((t for t, _ in seen if t > when), default=np.nan) - when for when in commits[:-1]]
    common.report(tabs=TABS, percent_of_a_core=round(100 * share, 1), commits=len(commits))
    common.report(latest_commit_on_the_page_s=round(float(np.nanmax(late)), 2))


def siege(paths: list[str], pid: int) -> None:
    """Reports the time and memory that 50 requests at once take."""
    begun, busy = time.perf_counter(), spent(pid)
    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        took = [total for _, total, _ in pool.map(ask, paths)]
    common.report(
        requests_at_once=len(paths),
        all_s=round(time.perf_counter() - begun, 2),
        median_s=round(sorted(took)[len(took) // 2], 2),
        cpu_s=round(spent(pid) - busy, 2),
        server_mb=resident(pid),
    )


def resident(pid: int) -> int:
    """Returns the memory of a process in megabytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) // 1000


def spent(pid: int) -> float:
    """Returns the processor seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def served(folder: Path, then: Callable[[int], None]) -> None:
    """Calls a function with the id of a server of the folder."""
    command = [sys.executable, "-m", "jaxeval", "serve", str(folder), "--port", str(PORT)]
    begun = time.perf_counter()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            server.stderr.readline()
            ask("/static/page.css")
            common.report(start_s=round(time.perf_counter() - begun, 2))
            time.sleep(3)  # it prepares figures meanwhile
            then(server.pid)
        finally:
            server.kill()


def keys(experiments: int) -> Iterator[str]:
    """Yields the ids of experiments, the last first."""
    return (f"{number:016x}" for number in reversed(range(experiments)))


def main() -> None:
    """Makes the folders and measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiments", type=int, default=200)
    parser.add_argument("--members", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--most", type=int, default=10_000, help="members of one experiment")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        many, one = Path(place) / "many", Path(place) / "one"
        fill(many, args.experiments, args.members, args.epochs)
        last, other, *_ = keys(args.experiments)
        paths = {"/": "/", "/e/ID": f"/e/{last}", "/compare": f"/compare?e={other}&e={last}"}

        def first(pid: int) -> None:
            pages(paths, "", pid)
            if chromium.COMMAND:
                rendered(paths, "")
            siege([f"/e/{key}" for key in list(keys(args.experiments))[:50]], pid)
            follow(many, last, args.members, pid)

        served(many, first)
        fill(one, 1, args.most, args.epochs)
        paths = {"/": "/", "/e/ID": f"/e/{0:016x}"}

        def second(pid: int) -> None:
            pages(paths, f"{args.most} members ", pid)
            if chromium.COMMAND:
                rendered(paths, f"{args.most} members ")

        served(one, second)


if __name__ == "__main__":
    main()
