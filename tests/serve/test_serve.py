"""The pages of `jaxeval serve`: what they say, what they refuse, how they follow a writer."""

import csv
import hashlib
import io
import json
import re
import socket
import weakref
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

import jaxeval
from jaxeval import errors, runs
from jaxeval.errors import ConfigError, RunError
from jaxeval.report import render
from jaxeval.runs import following
from jaxeval.serve import __main__ as serve
from jaxeval.serve import app, live
from tests.runs import test_store

STATIC = Path(app.__file__).parent / "static"
HOSTILE = "<script>alert(1)</script> \"'&{{7*7}} ü\u202e ../../etc"
NAMES = ("alpha", "beta", HOSTILE)
LOCAL = "http://127.0.0.1"
UPLOT = {
    "uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
    "uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
    "uPlot.LICENSE": "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
}


def write(folder: Path, name: str, number: int, ended: int = 6, training: int = 0) -> None:
    """Adds an experiment of seeds 1 .. ended, and of members that train."""
    config, ends, points = json.dumps({"name": name, "training": {"epochs": 4}}), [], []
    for seed in range(1, ended + training + 1):
        score = 0.5 + 0.1 * number + 0.01 * seed
        ends.append(test_store.result(seed, epochs=4, dev=score, test=score - 0.02))
        epochs = range(1, 5 if seed <= ended else 3)
        points += [test_store.curve(seed, epoch, score * epoch / 4) for epoch in epochs]
    test_store.write(folder, f"{number:016x}", ends[:ended], points, name=name, config=config)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three experiments, the last of which still trains."""
    path = tmp_path_factory.mktemp("runs")
    for number, name in enumerate(NAMES):
        write(path, name, number, training=2 * (number == 2))
    return path


def client(folder: Path, token: str | None = None, base: str = LOCAL) -> TestClient:
    """A browser without a server: requests go to the application."""
    followed = following.Following(folder)
    made = app.make(live.Site(followed, str(folder)).part(), token)
    found = TestClient(made, base_url=base, follow_redirects=False)
    weakref.finalize(found, followed.close)
    return found


@pytest.fixture(scope="module")
def site(folder: Path) -> TestClient:
    """The pages of the folder."""
    return client(folder)


class _Tags(HTMLParser):
    """Elements of a page, and all addresses in it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def addresses(self) -> list[str]:
        """Returns what the page would fetch or lead to."""
        names = ("src", "href", "action", "xlink:href", "data-events")
        return [str(of[n]) for _, of in self.tags for n in names if n in of]


PAGES = ["/", f"/e/{2:016x}", f"/compare?e={0:016x}&e={2:016x}"]


@pytest.mark.parametrize("path", PAGES)
def test_pages_are_whole_and_safe(site: TestClient, path: str) -> None:
    """Dies if a name is markup, a page asks another host for something, or holds a script or
    style that the policy forbids; if an id occurs twice, or the page leaves out its own parts."""
    answer = site.get(path)
    page = _Tags(answer.text)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy and "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert all(of.get("src") for tag, of in page.tags if tag == "script")
    assert not [of for tag, of in page.tags if tag == "style" or "style" in of]
    assert not [name for _, of in page.tags for name in of if name.startswith("on")]
    assert page.addresses() and all(re.match("[/#][^/]|/$|data:", a) for a in page.addresses())
    ids = [of["id"] for _, of in page.tags if "id" in of]
    assert len(ids) == len({*ids})
    assert "<script>alert" not in answer.text and "\u202e" not in answer.text
    assert "{{7*7}}" in answer.text and answer.text.rstrip().endswith("</html>")


def test_a_page_says_what_the_report_says(
    site: TestClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if the live page and `jaxeval report` differ in a sentence, table or figure."""
    live = site.get(f"/e/{0:016x}").text
    monkeypatch.setattr(render, "to_svg", str)  # no more figures are drawn
    static = render.to_page(jaxeval.load(folder, experiment="alpha").document())
    parts = r"<table>.*?</table>|<figcaption>.*?</figcaption>|<h2.*?</h2>|<strong>.*?</strong>"
    said = {*re.findall(parts, live, re.DOTALL)}
    missing = [text for text in re.findall(parts, static, re.DOTALL) if text not in said]
    # the curves are a chart here, whose caption and table of numbers have another title
    assert all("q1" in text or "members that have stopped early" in text for text in missing)
    assert len(missing) <= 2 and len(said) > 8
    drawn = [re.sub("<[^>]*>", "", svg) for svg in re.findall("<svg.*?</svg>", live, re.DOTALL)]
    assert len(drawn) == 2


def test_all_forms_have_the_same_numbers(site: TestClient) -> None:
    """Dies if JSON or CSV lacks a member, a score or an experiment."""
    listed = site.get("/index.json").json()["experiments"]
    assert [row["experiment"] for row in listed] == [*reversed(NAMES)]
    assert (listed[0]["ended"], listed[0]["training"]) == (6, 2)
    assert listed[0]["median"] == pytest.approx(0.715)
    lines = [*csv.DictReader(io.StringIO(site.get("/index.csv").text))]
    assert [float(row["median"]) for row in lines] == [row["median"] for row in listed]
    for key, ended in ((0, 6), (2, 6)):
        data = site.get(f"/e/{key:016x}.json").json()
        rows = [*csv.DictReader(io.StringIO(site.get(f"/e/{key:016x}.csv").text))]
        assert len(data["members"]) == len(rows) == ended
        tests = [member["test"] for member in data["members"]]
        assert tests == pytest.approx([0.48 + 0.1 * key + 0.01 * s for s in range(1, 7)])
        assert [float(row["test"]) for row in rows] == pytest.approx(tests)
        assert data["curves"][f"{key:016x}"][0]["n"] == (6 if key == 0 else 8)


def test_a_live_verdict_is_that_of_settle(site: TestClient, folder: Path) -> None:
    """Dies if the page's claim is not the anytime-valid one, swaps base and candidate, or counts
    members that ended before an earlier seed has."""
    a, b = f"{0:016x}", f"{1:016x}"
    there, back = (
        site.get(f"/compare.json?e={x}&e={y}").json()["settled"][0] for x, y in ((a, b), (b, a))
    )
    expected = jaxeval.settle_table(folder, a, b, quiet=True)
    assert there == json.loads(json.dumps(expected.to_dict()))
    assert {there["verdict"], back["verdict"]} == {"better", "worse"}
    assert there["difference"] == pytest.approx(-back["difference"])
    page = site.get(f"/compare?e={a}&e={b}").text
    assert expected.document().answer[0] in page and "p-value" not in page


def test_a_seed_that_trains_stops_the_count(tmp_path: Path) -> None:
    """Dies if members count that ended before one of an earlier seed: they may differ in score."""
    write(tmp_path, "a", 0)
    write(tmp_path, "b", 1)
    with runs.open_store(tmp_path) as store:
        late = test_store.curve(4, 1, experiment=f"{2:016x}")
        write(tmp_path, "c", 2, ended=3)
        ends = [test_store.result(seed, experiment=f"{2:016x}") for seed in (5, 6)]
        store.record(ends, [late])
    settled = client(tmp_path).get(f"/compare.json?e={0:016x}&e={2:016x}").json()["settled"][0]
    assert settled["looks"] == 3
    write(tmp_path, "none", 4, ended=0, training=1)
    told = client(tmp_path).get(f"/compare.json?e={0:016x}&e={4:016x}").json()
    lacking = {"none against a": "one of them has no seed that counts yet"}
    assert told["not_compared"] == lacking and told["settled"] == []
    levels = client(tmp_path).get(f"/compare.json?e={0:016x}&e={1:016x}&e={2:016x}").json()
    assert [found["level"] for found in levels["settled"]] == [0.025, 0.025]
    write(tmp_path, "new", 3, ended=0, training=1)
    page = client(tmp_path).get("/compare?e=a&e=b&e=c&e=new").text
    assert "c: seed 4 has not ended" in page and "c against a is undecided" in page
    assert "new against a: one of them has no seed that counts yet" in page
    pair = client(tmp_path).get("/compare?e=a&e=b").text
    assert "each claim has level 0.0167" in page and "each claim" not in pair
    assert "<caption>c against a</caption>" in page


def test_a_damaged_experiment_hides_no_other(tmp_path: Path) -> None:
    """Dies if the first page fails, or says nothing, because one experiment cannot be read."""
    write(tmp_path, "a", 0)
    config = '{"name": "b"'
    test_store.write(tmp_path, f"{1:016x}", [test_store.result(1)], name="b", config=config)
    listed = client(tmp_path).get("/index.json").json()["experiments"]
    assert [(of["experiment"], of["state"]) for of in listed] == [
        ("b", "unreadable"),
        ("a", "ended"),
    ]


def test_a_hostile_name_is_compared(site: TestClient) -> None:
    """Dies if a name with a control character is no model of a comparison."""
    settled = site.get("/compare.json", params={"e": [f"{0:016x}", f"{2:016x}"]}).json()["settled"]
    assert [each["candidate"] for each in settled] == [errors.printable(HOSTILE)]


def test_a_comparison_shows_what_it_is_about(tmp_path: Path) -> None:
    """Dies if a page names flags without their command, plans seeds for what is settled, has a
    figure whose colours are not those of the curves, or an empty chart before there is a point."""
    for number, ended in enumerate((6, 8, 0)):
        write(tmp_path, "abc"[number], number, ended)
    page = client(tmp_path).get("/compare?e=a&e=b").text
    assert "do not count (jaxeval settle table --seeds 1,2,3,4,5,6 lists" in page
    assert page.count("--seeds") == page.count("jaxeval settle table --")
    assert "they settle" not in page and page.index("mean <wbr>(%)") < page.index('id="curves"')
    assert page.count("<svg") == 1 and "test f1 (%)" in page
    assert 'id="chart"' in page and 'id="chart"' not in client(tmp_path).get("/e/c").text


def test_experiments_of_one_name_are_told_apart(tmp_path: Path) -> None:
    """Dies if the title, the curves or their numbers call both the same."""
    for number in (0, 1):
        write(tmp_path, "a", number)
    page = client(tmp_path).get(f"/compare?e={0:016x}&e={1:016x}").text
    assert "<h1>Comparison: a (00000000), a (00000000)</h1>" in page.replace("<wbr>", "")
    assert page.count(">a (00000000)</li>") == page.count("of a (00000000)</summary>") == 2


@pytest.mark.parametrize(
    ("path", "status"),
    [
        *(
            (path, 404)
            for path in ("/e/nope", "/x", "/static/../app.py", "/static/%2e%2e%2fapp.py")
        ),
        *(
            (path, 404)
            for path in ("/e/nope.json", "/index.exe", "/events?e=%3Cscript%3E", "/e//x/")
        ),
        *((path, 400) for path in ("/compare", "/compare?e=alpha", "/compare?e=alpha&e=alpha")),
    ],
)
def test_what_is_not_there_is_one_line(site: TestClient, path: str, status: int) -> None:
    """Dies if an unknown name gives a page, a traceback, or markup of the visitor's."""
    answer = site.get(path)
    assert answer.status_code == status and answer.text.count("\n") <= 1
    assert "<" not in answer.text and answer.headers["content-type"].startswith("text/plain")
    assert site.post("/").status_code == 405


@settings(max_examples=30, deadline=None)
@given(name=st.text(max_size=30))
def test_any_name_is_a_name(site: TestClient, name: str) -> None:
    """Dies if what a visitor asks for makes an error of the server."""
    assert site.get("/compare", params={"e": [name, "alpha"]}).status_code in (400, 404, 200)


@pytest.mark.parametrize("host", ["evil.org", "127.0.0.1.evil.org", "localhost@evil.org", ""])
def test_other_sites_get_nothing(site: TestClient, host: str) -> None:
    """Dies if DNS rebinding, or a page of another site, can read the runs."""
    assert site.get("/index.json", headers={"host": host}).status_code == 403
    assert site.get("/", headers={"origin": f"http://{host or 'x'}"}).status_code == 403
    for good in ("localhost:8420", "127.0.0.1:1", "[::1]:8420"):
        answer = site.get("/", headers={"host": good, "origin": f"http://{good}"})
        assert answer.status_code == 200


def test_what_is_vendored_is_what_was_published() -> None:
    """Dies if uPlot 1.6.32 was changed, its licence is missing, or our own script grows."""
    for name, digest in UPLOT.items():
        assert hashlib.sha256((STATIC / name).read_bytes()).hexdigest() == digest
    own = [file.read_text() for file in STATIC.glob("*.js") if file.name not in UPLOT]
    assert sum(len(script.splitlines()) for script in own) <= 150
    assert not any(re.search("innerHTML|eval|document.write|https?://", of) for of in own)


def test_arguments_are_refused_in_one_line(folder: Path, tmp_path: Path) -> None:
    """Dies if a folder without runs, or a port that is none, is served, or a taken port is not
    one line."""
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(RunError, match="in use"):
        serve.serve(folder, port=taken.getsockname()[1])
    with pytest.raises(RunError, match="no runs and no logs"):
        serve.serve(tmp_path)
    with pytest.raises(ConfigError, match="port"):
        serve.serve(tmp_path, port=0)


def test_metrics_are_not_mixed(tmp_path: Path) -> None:
    """Dies if curves of different metrics share an axis, which names one of them."""
    write(tmp_path, "a", 0)
    test_store.write(tmp_path, f"{1:016x}", name="b", metric="accuracy")
    site, said = client(tmp_path), "expected one metric, found accuracy, f1"
    answer = site.get("/compare?e=a&e=b")
    assert (answer.status_code, answer.text) == (400, f"{said}\n")
    shown = site.get("/compare?e=a&e=b", headers={"accept": "text/html"})
    assert shown.status_code == 400 and f"<strong>{said}</strong>" in shown.text
    assert '<a href="/">' in shown.text  # dies if a browser is left on a bare line
