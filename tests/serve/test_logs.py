"""The pages of logs: which items they show, with whose words."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from jaxeval.errors import ConfigError, DataError, RunError
from jaxeval.serve import __main__ as serve
from jaxeval.serve import app, logs
from tests.runs.logs import writing
from tests.serve.test_serve import HOSTILE, LOCAL, write


def _write(path: Path, right: dict[str, float | None], **more: object) -> Path:
    lines = [
        {"item": item, "score": score, "question": f"what is {item}?", **more}
        for item, score in right.items()
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def _site(*paths: str) -> TestClient:
    part = logs.part(paths, [("/logs", "Logs")], at_once=True)
    return TestClient(app.make(part, None), base_url=LOCAL, follow_redirects=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two models: A alone is right on i0 to i29, B alone on none, both on z, none on HOSTILE."""
    shared = {f"i{k}": 1.0 for k in range(30)} | {"z": 1.0, HOSTILE: 0.0}
    _write(tmp_path / "a.jsonl", {**shared, "of a": 1.0})
    _write(tmp_path / "b.jsonl", {item: float(item == "z") for item in shared} | {"i3": None})
    return tmp_path


def test_items_are_where_they_belong(folder: Path) -> None:
    """Dies if an item is under another choice, is lost between pages, or an answer without a
    score counts as right."""
    site = _site(str(folder))
    first, second = (site.get(f"/logs?a=a&b=b&page={n}").text for n in (1, 2))
    titles = [re.findall(r'<h2 id="i\d+">(.*?)</h2>', page) for page in (first, second)]
    assert [*titles[0], *titles[1]] == [f"i{k}" for k in range(30)] and len(titles[0]) == 20
    assert "a right, b wrong: 30; b right, a wrong: 0; both wrong: 1; both right: 1" in first
    assert "1 item of one of them alone left out" in first and "what is i7?" in first
    assert "b: no score" in first
    swapped = site.get("/logs.json?a=b&b=a").json()
    assert [row[3] for row in swapped["items"]].count("b") == 30
    rows = [*csv.reader(io.StringIO(site.get("/logs.csv?a=a&b=b").text))]
    assert rows[0] == ["item", "a", "b", "choice"] and ["i3", "1.0", "", "a"] in rows


def test_hostile_texts_stay_texts(folder: Path) -> None:
    """Dies if a log's words are markup, or a query's words are in a message."""
    site = _site(str(folder))
    page = site.get("/logs?show=neither").text
    assert "{{7*7}}" in page and "<script" not in page and "\u202e" not in page
    for query in ("a=%3Cscript%3E", "task=x", "metric=x&task=x"):
        answer = site.get(f"/logs?{query}")
        assert answer.status_code == 404 and answer.text.count("\n") == 1
        assert "<" not in answer.text
    for query in ("show=%3C", "page=-1", "page=x", "page=999999", "metric=%00"):
        assert site.get(f"/logs?{query}").status_code in (200, 404)
    assert site.get("/").headers["location"] == "/logs"
    assert site.get("/logs.exe").status_code == 404


def test_a_spreadsheet_reads_no_formula(tmp_path: Path) -> None:
    """Dies if an item or a model of the logs is a formula in a cell, or a number is a text."""
    items = {"=1+1": -0.5, "@sum(A1)": -2.0, "-1": -1.0}
    for name in "ab":
        _write(tmp_path / f"{name}.jsonl", items)
    sources = [f"{name}={tmp_path / file}.jsonl" for name, file in (("-A1", "a"), ("b", "b"))]
    rows = [*csv.reader(io.StringIO(_site(*sources).get("/logs.csv").text))]
    assert rows[0] == ["item", "'-A1", "b", "choice"]
    cells = [("'=1+1", "-0.5"), ("'@sum(A1)", "-2.0"), ("-1", "-1.0")]
    assert [tuple(row[:2]) for row in rows[1:]] == cells


def test_other_documents_are_left_out(tmp_path: Path) -> None:
    """Dies if equal numbers of other documents count as one item, or show each other's words."""
    writing.lm_eval(tmp_path, "a", {"none": [1.0, 0.0, 1.0]})
    writing.lm_eval(tmp_path, "b", {"none": [1.0, 0.0, 0.0]}, order=[2, 1, 0])
    page = _site(str(tmp_path)).get("/logs?show=neither").text
    assert "a right, b wrong: 0; b right, a wrong: 0; both wrong: 1; both right: 0" in page
    assert page.count("question 1") == 1 and "question 2" not in page


def test_losses_begin_with_the_largest_difference(tmp_path: Path) -> None:
    """Dies if of a loss the higher one is better, or the least telling item is the first."""
    for model, values in {"a": (1.0, 9.0, 2.0), "b": (3.0, 1.0, 8.0)}.items():
        scores = dict(zip("xyz", values, strict=True))
        _write(tmp_path / f"{model}.jsonl", scores, metric="nll")
    page = _site(str(tmp_path)).get("/logs?a=a&b=b").text
    assert "a better: 2; b better: 1; equal: 0" in page and "metric: nll" not in page
    assert re.findall(r'<h2 id="i\d+">(.*?)</h2>', page) == ["z", "x"]


def test_a_mean_of_answers_is_called_one(tmp_path: Path) -> None:
    """Dies if the words of one answer seem to have the mean score of all, a log without words
    seems to have some, or what counts as right is not said where scores lie between 0 and 1."""
    for model, scores in (("a", [1, 0]), ("b", [0, 0])):
        words = {"predicted": "yes"} if model == "a" else {}
        _write(tmp_path / f"{model}.jsonl", {"x": None}, **words, score=scores)
    page = _site(str(tmp_path)).get("/logs?a=a&b=b").text
    assert "a: score 0.5, mean of 2 answers; the first one:</p><pre>yes</pre>" in page
    assert "b: score 0, mean of 2 answers</p><p>(no text in this log)</p>" in page
    assert "<li>right: a mean score of at least 0.5</li>" in page


def test_no_log_is_one_line(tmp_path: Path) -> None:
    """Dies if a folder without runs and logs, or none, is served."""
    with pytest.raises(RunError, match="no runs and no logs"):
        serve.serve(str(tmp_path))
    with pytest.raises(DataError, match="no such file"):
        serve.serve(f"a={tmp_path}/a.jsonl")
    with pytest.raises(ConfigError, match="expected a runs folder"):
        serve.serve()


def test_runs_and_logs_have_one_site(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if logs in a runs folder have no page, the experiments lead to none or are hidden by
    them; or a log that is still written stops the site, or is not read again."""
    write(folder, "alpha", 0)
    (folder / "c.jsonl").write_text('{"item": "x", "score": 1}\n{"item')

    def visit(part: app.Part, *_: object) -> None:
        site = TestClient(app.make(part, None), base_url=LOCAL)
        for path in ("/", f"/e/{0:016x}"):
            assert '<a href="/logs">Logs</a>' in site.get(path).text
        broken = site.get("/logs")
        assert broken.status_code == 400 and "c.jsonl" in broken.text
        (folder / "c.jsonl").unlink()
        page = site.get("/logs").text
        assert '<a href="/">Experiments</a>' in page and "a right, b wrong: 30" in page

    monkeypatch.setattr(serve, "_listen", visit)
    with pytest.raises(DataError, match="not valid JSON"):
        serve.serve(folder / "c.jsonl")
    serve.serve(folder)
    assert not (folder / "c.jsonl").exists()
