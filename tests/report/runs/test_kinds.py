"""Experiments whose members differ in more than seeds: told by what is recorded, described so."""

import dataclasses
import json
from pathlib import Path

import pytest

from jaxeval import runs, sources
from jaxeval.errors import ConfigError
from jaxeval.report import runs as document
from jaxeval.report.runs import experiments
from jaxeval.results import Runs
from jaxeval.runs import MemberRow, records
from jaxeval.runs.layout import Layout
from tests import verbs
from tests.runs import test_store
from tests.verbs import report

RATES = [json.dumps({"learning_rate": rate}) for rate in (0.1, 0.2, 0.3)]


def of(folder: Path, name: str) -> list[MemberRow]:
    return [row for row in runs.load(folder) if row.name == name]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three seeds of each kind; seed k scores k / 10 on dev."""
    seeds = [test_store.result(k, dev=k / 10, test=k / 20) for k in (1, 2, 3)]
    changed = [
        dataclasses.replace(end, hparams=rate) for end, rate in zip(seeds, RATES, strict=True)
    ]
    again = [dataclasses.replace(end, repeat=1) for end in seeds]
    test_store.write(tmp_path, "bag", seeds)
    for word in ("noise", "tuning", "neighbourhood", "sweep"):
        test_store.write(
            tmp_path, f"bag, {word}", [dataclasses.replace(e, test=e.seed / 40) for e in seeds]
        )
    test_store.write(tmp_path, "repeated", [*seeds, *again])
    test_store.write(tmp_path, "near", changed)
    changed = [dataclasses.replace(end, test=0.77) for end in changed]
    test_store.write(tmp_path, "search", changed, config='{"tuning": {"method": "gp"}}')
    return tmp_path


def test_repeats_count_once(folder: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if three seeds twice are six scores, anywhere."""
    once, twice = (experiments.summarize(of(folder, name)) for name in ("bag", "repeated"))
    assert (twice.dev, twice.test, twice.rho) == (once.dev, once.test, once.rho)
    assert twice.statuses == {"finished": 6}
    assert Runs(tuple(of(folder, "repeated")), "R").scores().tolist() == [0.05, 0.1, 0.15]
    drawn = experiments._scatter(of(folder, "repeated"))
    assert "n = 3" in drawn.caption and len(drawn.rows) == 3
    verbs.report([str(folder), "--json", "-"])
    told = json.loads(capsys.readouterr().out)["experiments"]
    listed = {entry["name"]: entry for entry in told}
    assert listed["repeated"]["test"]["n"] == 3
    assert listed["repeated"]["statuses"] == {"finished": 6}
    different = of(folder, "repeated")
    different = [r._replace(dev=r.dev + r.repeat) for r in different if r.dev is not None]
    described = experiments.summarize(different).dev
    assert described is not None and described.mean == pytest.approx(0.2 + 0.5)


def test_settings_are_no_seeds(folder: Path) -> None:
    """Dies if settings near a config's have a violin, or their spread is taken for that of
    seeds."""
    lines = list(document._remarks(experiments.summarize(of(folder, "near"))))
    assert "spread is over settings, not over seeds" in lines[0]
    assert not any("train more seeds" in line for line in lines)
    violins = experiments.draw(records.by_experiment(runs.load(folder)), [])[0]
    shown = {row[0] for row in violins.rows}
    assert {"bag", "repeated"} < shown and not shown & {"near", "search"}


@pytest.mark.usefixtures("undrawn")
def test_a_search_shows_no_test(folder: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if test scores of settings that were chosen by dev are shown: they would choose too."""
    page = folder / "page.html"
    assert report([str(folder), "--experiment", "search", "--save", str(page)]) == 0
    printed, html = capsys.readouterr().out, page.read_text()
    assert "search (search): the settings of a search" in printed
    for text in (printed, html[html.index("<tbody>") :]):
        assert "30.00" in text and "77.00" not in text and "rho" not in text
    searched = Runs(tuple(of(folder, "search")), "R")
    with pytest.raises(ConfigError, match=r"part='dev'.*_tuned"):
        searched.scores()
    assert searched.scores("dev").tolist() == [0.1, 0.2, 0.3]
    described = experiments.summarize(of(folder, "search"))
    assert "dev f1 (%) median 20.00" in document._line(described)
    assert (described.dev, described.test) != (None, None) and described.test is None


def test_what_diverged_has_no_score(tmp_path: Path) -> None:
    """Dies if that of an epoch before counts for one verb and not for another."""
    ends = [test_store.result(k, dev=k / 10, test=k / 20) for k in (1, 2)]
    ends.append(test_store.result(3, dev=0.9, test=0.8, status="diverged"))
    test_store.write(tmp_path, "bag", ends)
    described = experiments.summarize(of(tmp_path, "bag"))
    assert described.dev is not None and described.test is not None
    assert (described.dev.n, described.test.n, described.best_seed) == (2, 2, 2)
    violins = experiments.draw([of(tmp_path, "bag")], [])[0]
    assert [row[1] for row in violins.rows] == ["dev"] * 2 + ["test"] * 2
    table = sources.read(str(tmp_path), Layout(columns={"score": "dev"}))
    assert (table.known.size, table.data_sets[0].models[table.models[0]].runs) == (2, 3)


def test_one_lookup_of_experiments() -> None:
    """Dies if a verb takes a name and no id, an id and no beginning of one, or a vague one."""
    names = {"8fb8aaaa": "of 8", "8fb8bbbb": "of 8", "77770000": "of 7"}
    assert records.find_ids(names, "of 8") == ["8fb8aaaa", "8fb8bbbb"]
    assert records.find_ids(names, "7777") == ["77770000"]
    assert records.find_ids(names, "8fb8b") == ["8fb8bbbb"]
    assert [records.find_ids(names, word) for word in ("8fb8", "777", "of", "")] == [[]] * 4
