"""Jobs as files: what another process reads of them."""

import dataclasses
import math
from pathlib import Path

import pytest

from jaxeval import tasks
from jaxeval.population import engine, host, slots
from jaxeval.studies import jobs
from tests.studies import toy_kind


@pytest.fixture(autouse=True)
def _kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "KINDS", {**tasks.KINDS, **toy_kind.KINDS})


def test_a_log_survives_kills(tmp_path: Path) -> None:
    """Dies if half a line hides the next event, an event is read twice, a number changes, or
    lines grow with epochs."""
    whole = toy_kind.cohort(toy_kind.trials((1, 2)))
    who = slots.Slot(whole.members[0], 2, 0.1 + 0.2, 1)
    end = dataclasses.replace(who, status="diverged", reported=math.inf, message="why")
    report = host.Report([], [end], [who, slots.Slot()], 3, 0.5, {}, {})
    path = tmp_path / "job.json"
    log = jobs.Job(whole, whole, path)
    assert [*log.news()] == []
    (tmp_path / "events.jsonl").write_text('\n["Report", [')
    assert [*log.news()] == []
    jobs.note(path, report._replace(slots=[dataclasses.replace(who, bests=(0.3,)), slots.Slot()]))
    jobs.note(path, engine.Compiling("epoch", None, False))
    assert [*log.news()] == [report, engine.Compiling("epoch", None, False)]
    jobs.note(path, jobs.End(None))
    assert [*log.news()] == [jobs.End(None)] and [*log.news()] == []
