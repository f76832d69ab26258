"""The pages of a sweep and of a search say what the verbs say."""

import contextlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import jaxeval
from jaxeval import files, runs
from jaxeval.report import render
from jaxeval.runs import following
from jaxeval.sensitivity import analysis
from jaxeval.serve import __main__ as serve
from jaxeval.serve import app, pages
from tests.runs import test_store
from tests.serve import folders
from tests.serve.test_serve import LOCAL, client
from tests.space import fabricated


@pytest.fixture(scope="module", autouse=True)
def _fewer_resamples() -> Iterator[None]:
    """Intervals of the page and of the verb come from a tenth of the resamples."""
    real = analysis.analyze
    count = inspect.signature(real).parameters["resamples"].default

    def analyze(*given: Any, resamples: int = count, **more: Any) -> Any:
        return real(*given, resamples=resamples // 10, **more)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(analysis, "analyze", analyze)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep and a search."""
    path = fabricated.fill(tmp_path_factory.mktemp("runs"), ("transformer",))
    folders.write_search(path)
    return path


@pytest.fixture(scope="module")
def site(folder: Path) -> TestClient:
    """Their pages."""
    return client(folder)


def _said(page: str) -> set[str]:
    """Returns sentences, tables and captions of a page."""
    parts = r"<table>.*?</table>|<figcaption>.*?</figcaption>|<strong>.*?</strong>"
    return {*re.findall(parts, page, re.DOTALL)}


def test_a_sweep_is_that_of_sensitivity(
    site: TestClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if the page and `jaxeval sensitivity` differ in a sentence, a table or a caption."""
    page = site.get("/sweep/sweep0").text
    monkeypatch.setattr(render, "to_svg", str)  # no more figures are drawn
    found = jaxeval.sensitivity(str(folder), missing="drop")
    said = _said(render.to_page(found.document()))
    assert said <= _said(page) and len(said) > 8
    assert page.count("<svg") == 3 and 'href="/e/sweep0"' in page
    assert 'href="/sweep/sweep0"' in site.get("/e/sweep0").text
    data = site.get("/sweep/sweep0.json").json()
    assert data["sweeps"][0]["metrics"]["max"] == found.to_dict()["sweeps"][0]["metrics"]["max"]


def test_a_search_goes_on(site: TestClient) -> None:
    """Dies if the page forgets what runs, takes seeds of other settings for fresh ones, or needs
    the file that the search holds; if a search has "ended" while settings have not; or if its
    settings are compared, or missing, where it has a name."""
    page, data = (site.get(f"/tune/{folders.SEARCH}{form}") for form in ("", ".json"))
    assert page.text.count("<svg") == 3 and "1 setting not ended" in page.text
    assert "<h1>Search: base, tuning</h1>" in page.text
    assert "2 fresh seeds give dev 71.00" in page.text
    best = data.json()["best"]
    assert best["values"]["layers"] == 4 and len(data.json()["evaluations"]) == 13
    assert "stalled: 12 members ended" in site.get(f"/e/{folders.SEARCH}").text
    compared = site.get(f"/compare?e={folders.TUNED}&e={folders.SEARCH}").text
    assert "&#39;base, tuning&#39; has settings of a search: jaxeval tune<" in compared


@pytest.mark.parametrize("path", ["/tune/sweep0", "/sweep/" + folders.SEARCH, "/tune/x", "/tune/"])
def test_other_experiments_have_no_such_page(site: TestClient, path: str) -> None:
    """Dies if an experiment that is none gives a traceback or an empty page."""
    answer = site.get(path)
    assert answer.status_code == 404 and answer.text.count("\n") == 1


def test_the_page_of_a_search_follows_its_best_setting(tmp_path: Path) -> None:
    """Dies if the page stays as it was when a fresh seed of the best setting ends."""
    folders.write_search(tmp_path)
    with contextlib.closing(following.Following(tmp_path)) as followed:
        found, asked = pages.Pages(followed, ""), pages.PageRequest("tune", (folders.SEARCH,))
        before = found.stamp(asked)
        with runs.open_store(tmp_path) as store:
            store.record([test_store.result(7, experiment=folders.TUNED)], [])
        assert followed.poll() and found.stamp(asked) != before


def test_a_database_is_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a search is not found beside the database that was named in place of its folder."""
    folders.write_search(tmp_path)

    def visit(part: app.Part, *_: object) -> None:
        site = TestClient(app.make(part, None), base_url=LOCAL)
        assert site.get(f"/tune/{folders.SEARCH}").status_code == 200

    monkeypatch.setattr(serve, "_listen", visit)
    serve.serve(tmp_path / "runs.sqlite")


def test_a_sweep_that_has_begun_has_a_page(tmp_path: Path) -> None:
    """Dies if a page that will follow a sweep is refused until its first run has ended."""
    fabricated.fill(tmp_path, ("transformer",), count=0)
    answer = client(tmp_path).get("/sweep/sweep0")
    assert answer.status_code == 200 and "no run has ended" in answer.text


def test_a_sweep_ends_with_its_last_run(tmp_path: Path) -> None:
    """Dies if a sweep has "ended" while the program of its next cohort compiles, or compiles once
    its process was killed."""
    fabricated.fill(tmp_path, ("transformer",), count=6)
    (tmp_path / "sweeps").mkdir()
    (plan := tmp_path / "sweeps" / "sweep0.json").write_text('{"runs": [0, 0, 0, 0, 0, 0, 0]}')
    with files.locked(tmp_path / "checkpoints" / "sweep0.lock", ""):
        site = client(tmp_path)
        assert site.get("/index.json").json()["experiments"][0]["state"] == "begun"
        assert "begun: 6 members ended" in site.get("/e/sweep0").text
    assert client(tmp_path).get("/e/sweep0.json").json()["state"] == "stalled"
    plan.write_text('{"runs": [0, 0, 0, 0, 0, 0]}')
    assert client(tmp_path).get("/e/sweep0.json").json()["state"] == "ended"


def test_a_damaged_search_is_one_line(tmp_path: Path) -> None:
    """Dies if a file that was cut is a traceback."""
    folders.write_search(tmp_path)
    file = tmp_path / "tunings" / f"{folders.SEARCH}.json"
    for text in ("", "{}", file.read_text()[:200], '{"search": 3, "state": []}'):
        file.write_text(text)
        answer = client(tmp_path).get(f"/tune/{folders.SEARCH}")
        assert answer.status_code == 404 and "not the state of a search" in answer.text
