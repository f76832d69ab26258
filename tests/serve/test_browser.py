"""What a person sees: a real browser, a real server, a process that writes."""

import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jaxeval import runs
from tests.runs import test_store
from tests.serve import chromium, folders
from tests.serve.chromium import Tab
from tests.serve.servers import Served, served
from tests.serve.test_serve import HOSTILE, write
from tests.space import fabricated

KEY, OTHER = f"{0:016x}", f"{1:016x}"
PAGES = (
    "/",
    f"/e/{KEY}",
    f"/compare?e={KEY}&e={OTHER}&e={2:016x}",
    "/sweep/sweep0",
    f"/tune/{folders.SEARCH}",
)
WRITER = f"""
    import sys, time
    from jaxeval import runs
    from tests.runs import test_store
    with runs.open_store(sys.argv[1]) as store:
        for epoch in range(3, 9):
            ends = [test_store.result(s, experiment="{KEY}", epochs=8) for s in (7, 8)]
            rows = [test_store.curve(seed, epoch, epoch / 10, "{KEY}") for seed in (7, 8)]
            store.record(ends if epoch == 8 else [], rows)
            time.sleep(0.3)
"""

pytestmark = pytest.mark.skipif(chromium.COMMAND is None, reason="there is no Chromium")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two experiments, the first of which trains; a sweep, a search."""
    path = tmp_path_factory.mktemp("runs")
    write(path, "alpha", 0, training=2)
    write(path, HOSTILE, 1)
    write(path, "begun" + "_long" * 12, 2, ended=0)
    fabricated.fill(path, ("transformer",))
    folders.write_search(path)
    return path


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Served]:
    """The pages of the folder."""
    with served(str(folder), port=8495) as running:
        yield running


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    """An empty tab."""
    with chromium.tab(seconds=60) as opened:
        yield opened


def test_a_curve_grows_while_a_process_writes(tab: Tab, server: Served, folder: Path) -> None:
    """Dies if points come late, twice, or only after a reload; if the page's text, table or state
    stay behind them; or if an update closes a table that was opened, takes its focus, or shows
    the whole curve where a part was enlarged."""
    tab.open(f"{server.address}/e/{KEY}")
    assert tab.wait("typeof chart == 'object' && chart && chart.data[0].length") == 4
    tab.run("document.querySelector('.chart ~ details').open = true")
    tab.run("document.querySelector('.chart ~ details summary').focus()")
    tab.run("chart.setScale('x', {min: 2, max: 3})")
    words = [sys.executable, "-c", textwrap.dedent(WRITER), str(folder)]
    with subprocess.Popen(words) as writer:
        seen = {tab.run("chart.data[0].length")}
        while writer.poll() is None or len(seen) < 3:
            seen.add(tab.run("chart.data[0].length"))
            time.sleep(0.05)
    assert tab.wait("chart.data[0].length == 8 && String(chart.data[0])") == "1,2,3,4,5,6,7,8"
    assert len(seen) >= 3 and writer.returncode == 0
    assert tab.wait("String([chart.scales.x.min, chart.scales.x.max])") == "2,3"
    assert tab.run("chart.data[3].at(-1)") == pytest.approx(80.0)
    tab.wait("document.querySelector('main').textContent.includes('ended: 8 members')")
    assert tab.run("document.querySelectorAll('.chart ~ details tbody tr').length") == 8
    assert tab.run("document.querySelector('.chart ~ details').open")
    assert tab.run("document.activeElement.tagName") == "SUMMARY"
    assert tab.run("document.querySelectorAll('.chart canvas').length") == 1
    assert tab.errors == []


def test_the_first_point_brings_the_chart(tab: Tab, server: Served, folder: Path) -> None:
    """Dies if an experiment that was opened before its first epoch never gets a curve."""
    tab.open(f"{server.address}/e/{2:016x}")
    assert not tab.run("!!document.getElementById('chart')")
    with runs.open_store(folder) as store:
        store.record([], [test_store.curve(1, 1, experiment=f"{2:016x}")])
    assert tab.wait("document.querySelectorAll('.chart canvas').length") == 1
    assert tab.errors == []


@pytest.mark.parametrize("path", PAGES)
def test_pages_fit_a_telephone_and_the_dark(tab: Tab, server: Served, path: str) -> None:
    """Dies if a page is wider than a telephone, light in the dark, fetches from elsewhere, breaks
    its own policy, or its text is too faint to read."""
    tab.open(server.address + path, width=375, height=800)
    assert tab.run("document.documentElement.scrollWidth") <= 375
    captions = "[...document.querySelectorAll('caption')].map((of) => of.offsetWidth)"
    assert tab.run(f"Math.max(0, ...{captions})") <= 375  # however wide the table is
    faintest = """(() => {
      const weights = [0.2126, 0.7152, 0.0722]; // WCAG 2.2, relative luminance
      const linear = (x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
      const light = (colour) => colour.match(/[\\d.]+/g).slice(0, 3)
        .reduce((sum, x, k) => sum + weights[k] * linear(x / 255), 0);
      const paper = light(getComputedStyle(document.body).backgroundColor);
      const shown = [...document.querySelectorAll("h1, h2, h3, p, td, th, a, li, summary, span")];
      const lights = shown.map((of) => light(getComputedStyle(of).color) + 0.05);
      return Math.min(...lights.map((x) => Math.max(x, paper + 0.05) / Math.min(x, paper + 0.05)));
    })()"""
    papers = set()
    for dark in (False, True):
        tab.light(dark)
        assert tab.run(faintest) > 4.5  # the least contrast that WCAG 2.2 allows for text
        papers.add(tab.run("getComputedStyle(document.body).backgroundColor"))
    assert len(papers) == 2
    urls = tab.run("performance.getEntriesByType('resource').map((of) => of.name)")
    assert urls and all(url.startswith(server.address) for url in urls)
    assert tab.run("document.querySelectorAll('script:not([src])').length") == 0
    assert tab.errors == []


def test_the_keyboard_is_enough(tab: Tab, server: Served) -> None:
    """Dies if something cannot be reached by Tab, the focus is not seen, or two that are ticked
    are not compared."""
    tab.open(server.address + "/")
    reached = list[str]()
    for _ in range(16):
        tab.press("Tab")
        at = "document.activeElement"
        reached.append(tab.run(f"{at}.tagName + ({at}.value || {at}.textContent)"))
        assert tab.run(f"getComputedStyle({at}).outlineStyle") == "solid"
        if reached[-1] in (f"INPUT{KEY}", f"INPUT{OTHER}"):
            tab.press(" ")
    assert {f"INPUT{KEY}", f"INPUT{OTHER}", "Aalpha"} <= {*reached}
    assert {f"A{HOSTILE}"[:20]} == {of[:20] for of in reached if of.startswith("A<")}
    assert tab.run("document.querySelectorAll('input:checked').length") == 2
    tab.run("document.querySelector('form button').click()")
    tab.wait("location.pathname == '/compare' && document.querySelectorAll('svg').length > 0")
    assert tab.run("document.querySelectorAll('.legend li').length") == 2
