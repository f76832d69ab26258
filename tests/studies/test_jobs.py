"""Jobs as files: what another process reads of them."""

import dataclasses
import json
import math
from pathlib import Path
from types import SimpleNamespace

import pytest

from jaxeval import backend, studies, tasks
from jaxeval.errors import RunError
from jaxeval.launchers import worker
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


def test_a_machine_with_other_settings_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a job is tried again where JAX cannot be used, or the reason is in a log only."""

    def refuse() -> None:
        raise RunError("JAX_ENABLE_X64: expected false")

    monkeypatch.setattr(backend, "prepare", refuse)
    monkeypatch.setenv("JAX_NUM_CPU_DEVICES", "4")
    path, whole = tmp_path / "job.json", toy_kind.cohort(toy_kind.trials((1, 2)))
    path.touch()
    worker.work(str(path), 4)
    told = [*jobs.Job(whole, whole, path).news()]
    assert told == [jobs.End("JAX_ENABLE_X64: expected false")]


def test_members_of_another_program_are_refused(tmp_path: Path) -> None:
    """Dies if a trial that makes a program of its own is left out, or trained in another's."""
    whole, storage = toy_kind.cohort(toy_kind.trials((1, 2))), SimpleNamespace(folder=tmp_path)
    (job,), storage.outputs = jobs.cut([whole], 2), False
    job.write(whole.entries, storage)
    tree = json.loads(job.path.read_text())
    assert len(jobs._rebuilt(tree, studies.Session()).entries) == 2
    (other,) = toy_kind.trials((2,), batch_size=4)
    tree["trials"][1] = dataclasses.asdict(other)
    with pytest.raises(RunError, match="another program than was planned"):
        jobs._rebuilt(tree, studies.Session())
