"""A board: what is uploaded is queued, judged, ranked, compared and deleted."""

import asyncio
import csv
import io
import json
import re
import time
from collections.abc import Sequence
from concurrent import futures
from pathlib import Path
from typing import Any

import pytest
from scipy import stats
from starlette.testclient import TestClient

from jaxeval.errors import ConfigError, DataError, RunError
from jaxeval.report import render
from jaxeval.report.vectors import JudgedVectors
from jaxeval.serve import confined, judged
from jaxeval.serve.board import Board
from jaxeval.stats import judgement
from tests.serve import drawn_board
from tests.serve.test_serve import _Tags


def test_the_leaderboard_is_that_of_one_command(ranked: tuple[TestClient, Any]) -> None:
    """Dies if files that were judged one by one are ranked otherwise than together, a mode shows
    the scores of the other, or page, JSON and CSV differ."""
    site, made = ranked
    for mode in drawn_board.MODES:
        scores = {name: drawn_board.scores(name, mode) for name in drawn_board.QUALITY}
        expected = judgement.judge(mode, drawn_board.TASKS, range(1, 7), scores, "base")
        told = site.get("/vectors.json", params={"mode": mode}).json()
        assert told["baseline"] == "base" and told["left_out"] == []
        assert {of["words"] for of in site.get("/queue.json").json()["submissions"]} == {3}
        for row in told["rows"]:
            assert expected.study is not None and expected.study.main is not None
            (place,) = (of for of in expected.study.main.rows if of.model == row["name"])
            of = scores[row["name"]]
            assert (row["rank"], row["best_rank"], row["worst_rank"]) == place[2:5]
            assert row["mean"] == pytest.approx(of.mean())
            assert [row[task] for task in drawn_board.TASKS] == pytest.approx([*of.mean(axis=1)])
            reduced = expected.reductions.get(row["name"])  # the baseline has none
            assert row["error_reduction"] == (reduced and pytest.approx(reduced["mean"].estimate))
            assert row["low"] < row["mean"] < row["high"]
            assert row["id"] == made.get(row["name"], row)["id"]
        tied = {row["name"]: row["tied"] for row in told["rows"]}
        assert tied["good"] == tied["alike"] == "a" and len({*tied.values()}) == 3
        lines = [*csv.DictReader(io.StringIO(site.get(f"/vectors.csv?mode={mode}").text))]
        assert [row["name"] for row in lines] == [row["name"] for row in told["rows"]]
        page = site.get(f"/vectors?mode={mode}").text
        best, _ = sorted(("good", "alike"), key=lambda n: -scores[n].mean())
        assert f"{best} scores best" in page and "cannot be told apart from it" in page
        boxes = [of["value"] for _, of in _Tags(page).tags if of.get("type") == "checkbox"]
        assert boxes == [row["id"] for row in told["rows"]]


def test_what_mostly_failed_is_left_out(opened: Board) -> None:
    """Dies if one file that cannot be trained with takes the leaderboard from all others, or is
    ranked by the seed that ended, or goes unsaid; or if two files have no boxes to tick."""
    with drawn_board.client(opened) as site:
        drawn_board.upload(site, "broken")
        drawn_board.upload(site, "good")
        drawn_board.wait(site, {"base", "good"})
        while site.get("/vectors.json").json()["left_out"] != ["broken"]:
            time.sleep(0.02)
        page = site.get("/vectors").text
        assert "broken is left out: most of its trainings failed" in page
        assert page.count('type="checkbox"') == 2
        (broken,) = (of for of in opened.every("vectors") if of.name == "broken")
        assert "none is compared" in site.get(f"/vectors/{broken.id}").text


def _expected(names: list[str], modes: Sequence[str], baseline: str | None) -> JudgedVectors:
    """What `vectors judge` returns for these files together."""
    judged, coverage = [], {}
    for mode in modes:
        scores = {name: drawn_board.scores(name, mode) for name in names}
        about = mode, drawn_board.TASKS, range(1, 7)
        judged.append(judgement.judge(*about, scores, baseline))
    for name in names:
        coverage |= drawn_board.result(name).coverage
    metrics = dict.fromkeys(drawn_board.TASKS, "f1")
    return JudgedVectors({n: n for n in names}, metrics, coverage, judged, [])


def test_pages_say_what_the_verb_prints(ranked: tuple[TestClient, Any]) -> None:
    """Dies if a report lacks a sentence or table of `vectors judge`, compares other files than
    those that were ticked, or holds what its owner wrote as markup."""
    site, made = ranked
    one = site.get(made["good"]["page"])
    ticked = {"v": [made["good"]["id"], made["poor"]["id"], made["good"]["id"]], "mode": "tuned"}
    two = site.get("/vectors/compare", params=ticked)
    for answer, names, modes in (
        (one, ("good", "base"), drawn_board.MODES),
        (two, ("good", "poor"), drawn_board.MODES[1:]),
    ):
        data = site.get(f"{answer.url.path}.json", params=answer.url.query).json()
        data = data.get("result", data)
        assert {*data["files"]} == {*names}
        expected = _expected([*data["files"]], modes, "base" if "base" in names else None)
        parts = r"<table>.*?</table>|<figcaption>.*?</figcaption>|<h2.*?</h2>|<strong>.*?</strong>"
        said = re.findall(parts, render.to_page(expected.document()), re.DOTALL)
        assert len(said) > 10
        assert [part for part in said if part not in answer.text] == []
        assert data["modes"] == json.loads(json.dumps(expected.to_dict()["modes"]))
    scores = [*csv.DictReader(io.StringIO(site.get("/vectors/compare.csv", params=ticked).text))]
    assert {row["vectors"] for row in scores} == {"good", "poor"}
    (mode,) = data["modes"]
    for name, by_task in mode["scores"].items():
        assert [float(of["score"]) for of in scores if of["vectors"] == name] == [
            score for of in by_task for score in of
        ]
    assert "\ngood,fixed," in site.get(f"{made['good']['page']}.csv").text
    queue = csv.DictReader(io.StringIO(site.get("/queue.csv").text))
    assert {row["name"] for row in queue} >= {"good", "poor"}
    answer = site.get("/tables.csv", params=ticked)
    assert answer.status_code == 404 and answer.text.count("\n") == 1
    pages = [
        one.text,
        two.text,
        *(site.get(p).text for p in ("/", "/vectors", "/queue", "/tables")),
    ]
    assert "&lt;script&gt;alert" in pages[0] and "\\u202e" in pages[0]
    for page in pages:
        assert "<script>alert" not in page and "\u202e" not in page
        tags = _Tags(page)
        assert not [of for tag, of in tags.tags if tag == "style" or "style" in of]
        assert all(re.match("[/#][^/]|/$|data:", a) for a in tags.addresses())


@pytest.mark.usefixtures("no_processes")
def test_the_queue_survives_its_server(tmp_path: Path) -> None:
    """Dies if what was being judged is lost or loses its place, an upload that was not answered
    stays, or a second server, or one with other settings, works on the same folder."""
    of = drawn_board.opened(tmp_path / "board")
    with pytest.raises(RunError, match="another server serves this board"):
        drawn_board.opened(tmp_path / "board")
    site = drawn_board.client(of)  # nothing is judged yet
    for name in ("good", "poor"):
        assert drawn_board.upload(site, name).status_code == 201
    (base,) = (each for each in of.every("vectors") if each.name == "base")
    of.change(base._replace(state="judging", begun=time.time()))
    (tmp_path / "board" / "incoming" / "left").mkdir()
    (tmp_path / "board" / "vectors" / "left").mkdir()
    of.close()
    again = drawn_board.opened(tmp_path / "board")
    assert not [*(tmp_path / "board").glob("*/left")]
    told = drawn_board.client(again).get("/queue.json").json()["submissions"]
    assert [(row["name"], row["place"]) for row in told] == [("poor", 3), ("good", 2), ("base", 1)]
    assert {row["seconds"] for row in told} == {None}
    with drawn_board.client(again) as site:
        drawn_board.wait(site, {"base", "good", "poor"})
        assert drawn_board.upload(site, "alike").status_code == 201
    again.close()
    with pytest.raises(ConfigError, match="a board with other settings"):
        drawn_board.opened(tmp_path / "board", judge={**drawn_board.JUDGE, "seeds": 7})


def test_estimates_are_of_what_others_took(opened: Board) -> None:
    """Dies if the time left is not that of all before it, or what is being judged counts whole."""
    of, now = opened, time.time()
    for name in ("good", "poor", "alike"):
        drawn_board.upload(drawn_board.client(opened), name)
    first, second, *_ = of.every("vectors")
    of.change(first._replace(state="judged", begun=now - 100, ended=now))
    of.change(second._replace(state="judging", begun=now - 30))
    found = [of.wait(each) for each in of.every("vectors", "judging", "queued")]
    assert [place for place, _ in found] == [0, 1, 2]
    assert [seconds for _, seconds in found] == pytest.approx([70, 170, 270], abs=2)
    of.change(late := second._replace(state="judging", begun=now - 200))
    assert of.wait(late) == (0, None)


def test_who_has_the_key_deletes(opened: Board) -> None:
    """Dies if another key deletes, scores stay on a page, or a failed file cannot come again."""
    with drawn_board.client(opened) as site:
        made = {name: drawn_board.upload(site, name).json() for name in ("good", "poor")}
        drawn_board.wait(site, {"base", "good", "poor"})
        bad = drawn_board.upload(site, "alike", "bad").json()
        both = {"v": [made["good"]["id"], made["poor"]["id"]]}
        assert site.get("/vectors/compare", params=both).status_code == 200
        page, key = made["good"]["page"], made["good"]["key"]
        for wrong in ("", made["poor"]["key"], "ü"):
            answer = site.delete(page, headers={"x-key": wrong.encode()})
            assert answer.status_code == 403
        base = next(of for of in opened.every("vectors") if of.name == "base")
        assert site.delete(f"/vectors/{base.id}", headers={"x-key": ""}).status_code == 403
        assert site.delete(page, headers={"x-key": key}).status_code == 204
        shown = site.get("/vectors")
        assert shown.status_code == 200 and ">good<" not in shown.text
        assert site.get(page).status_code == 404
        assert site.get("/vectors/compare", params=both).status_code == 404
        assert not (opened.folder / page[1:]).exists()
        while (told := site.get(f"{bad['page']}.json").json())["state"] != "failed":
            time.sleep(0.02)
        assert told["message"] == "no vector of any word"
        assert "failed: no vector" in site.get(bad["page"]).text
        assert drawn_board.upload(site, "alike", "bad").status_code == 201  # once more
        drawn_board.wait(site, {"base", "poor"})


@pytest.mark.usefixtures("no_processes")
def test_a_folder_that_is_no_board_is_left_alone(tmp_path: Path) -> None:
    """Dies if a board removes what others keep in its folder."""
    mine = tmp_path / "project" / "vectors" / "glove" / "glove.txt"
    mine.parent.mkdir(parents=True)
    mine.touch()
    with pytest.raises(ConfigError, match="not a board"):
        drawn_board.opened(tmp_path / "project")
    assert [*(tmp_path / "project").rglob("*")] == [mine.parent.parent, mine.parent, mine]


def test_what_is_deleted_leaves_no_page(
    opened: Board, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Dies if a page that is made while its submission is deleted is shown or kept, or if a
    leaderboard has nobody on it."""

    async def deleted_meanwhile(work: str, limits: Any, arguments: Any) -> Any:
        answer = await drawn_board.call(work, limits, arguments)
        if work == "show" and "good" in arguments["names"].values():
            (of,) = (of for of in opened.every("vectors") if of.name == "good")
            opened.remove(of)
            for end in (".html", ".json"):  # which are written last
                Path(arguments["target"]).with_suffix(end).touch()
        return answer

    monkeypatch.setattr(confined, "call", deleted_meanwhile)
    with drawn_board.client(opened) as site:
        page = drawn_board.upload(site, "good").json()["page"]
        drawn_board.wait(site, {"base", "good"})
        assert site.get(page).status_code == 404
        assert [*(opened.folder / "shown").iterdir()] == []
    (tmp_path / "id").mkdir()
    whole = json.dumps(drawn_board.result("broken").to_dict())
    (tmp_path / "id" / "result.json").write_text(whole)
    with pytest.raises(DataError, match="most trainings of broken failed"):
        judged.leaderboard(str(tmp_path), {"id": "broken"}, "", str(tmp_path / "page"), "fixed")


def test_the_mean_of_the_only_file_has_its_interval(tmp_path: Path) -> None:
    """Dies if a mean stands without its spread where nothing is compared."""
    (tmp_path / "id").mkdir()
    (tmp_path / "id" / "result.json").write_text(json.dumps(drawn_board.result("good").to_dict()))
    page, context = tmp_path / "page", {"nav": [], "path": "", "query": ""}
    judged.leaderboard(str(tmp_path), {"id": "good"}, "", str(page), "fixed", **context)
    (row,) = json.loads(page.with_suffix(".json").read_text())["rows"]
    means = drawn_board.scores("good", "fixed").mean(axis=0)
    low, high = stats.t.interval(0.95, len(means) - 1, means.mean(), stats.sem(means))
    assert (row["low"], row["high"]) == pytest.approx((low, high))


def test_a_page_is_made_once_for_all_who_ask(
    opened: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if each of many visitors begins a process for the same leaderboard, or if every page
    that was asked for leaves a lock behind."""
    begun = list[str]()

    async def counted(work: str, *given: Any) -> Any:
        begun.append(work)
        await asyncio.sleep(0.05)
        return await drawn_board.call(work, *given)

    monkeypatch.setattr(confined, "call", counted)
    with drawn_board.client(opened) as site, futures.ThreadPoolExecutor(8) as pool:
        while not opened.every("vectors", "judged"):
            time.sleep(0.02)
        answers = [*pool.map(lambda _: site.get("/vectors").text, range(8))]
    assert len({*answers}) == 1 and begun.count("leaderboard") == 1
    assert not opened._making


def test_a_name_leads_to_its_file(opened: Board) -> None:
    """Dies if the queue links a file to the page of another one that has its name."""
    site = drawn_board.client(opened)
    old = drawn_board.upload(site, "good", "bad").json()
    failed = opened.find("vectors", old["id"])
    assert failed
    opened.change(failed._replace(state="failed"))
    new = drawn_board.upload(site, "good").json()
    links = re.findall('href="(.*?)">good<', site.get("/queue").text)
    assert links == [new["page"], old["page"]]
