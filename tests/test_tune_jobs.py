"""`jaxeval tune --halving` by jobs, which pause at rungs."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from jaxeval import runs, tasks
from jaxeval.runs import store as stores
from jaxeval.tune.populations import Populations
from jaxeval.tuning.history import History
from tests.studies import here, toy_kind, toy_sizes
from tests.tune_searches import TOY, Crash, Search, left, rows


@pytest.fixture(autouse=True)
def kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "KINDS", {**toy_kind.KINDS, **toy_sizes.KINDS})


def test_halving_pauses_jobs_at_rungs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a job goes on beyond a rung, what is promoted begins anew, a checkpoint outlives its
    training, a rung counts twice after a kill, or a score is another than in one process."""
    one = Search(TOY, "toy")
    history = one.go_on(tmp_path / "one", parallel=1)
    epochs = len(one.epochs)
    with here.prompt(one.target.session):
        search, engine, kept = Search(TOY, "toy"), here.Here(1), list[int]()
        submit = engine.submit
        jobs = tmp_path / "jobs" / "jobs"
        engine.submit = lambda of: submit(of) or kept.append(len([*jobs.glob("*/job.json")]))  # type: ignore[method-assign,func-returns-value]
        launched = search.go_on(tmp_path / "jobs", parallel=1, launcher=engine)
        assert {*kept} == {1}  # what is stopped leaves nothing behind
        # one after the other: each is judged against the same ones
        assert _decided(launched) == _decided(history) and len(search.epochs) == epochs
        rungs = sum(len(e.rungs) + (e.stopped is None) for e in history.evaluations)
        assert len(engine.started) == rungs > 6 == len({*engine.started})
        for crash, engine in (2, here.Here(1, [0, 1])), (7, None):
            folder, how = tmp_path / str(crash), {"parallel": 1, "launcher": here.Here(1)}
            saved = Search(TOY, "toy").killed(folder, crash, **how)
            again = Search(TOY, "toy", saved=saved).go_on(folder, parallel=1, launcher=engine)
            assert _decided(again) == _decided(history) and rows(folder) == rows(tmp_path / "one")
        at_once = Search(TOY, "toy").go_on(tmp_path / "three", launcher=here.Here(3))
        lost = Search(TOY, "toy").go_on(tmp_path / "three", launcher=here.Here(3))
        assert [e.values for e in lost.evaluations] == [e.values for e in history.evaluations]
    curves = [[*map(_score, runs.load_curves(tmp_path / name))] for name in ("one", "jobs")]
    assert curves[0] == curves[1] and rows(tmp_path / "jobs") == rows(tmp_path / "one")
    for name in ("jobs", "2", "7", "three"):
        assert not left(tmp_path / name)
        assert not [*(tmp_path / name / "jobs").glob("*/job.json")]
    # otherwise who goes on depends on who arrives first, and no score does
    for e, other in zip(at_once.evaluations, history.evaluations, strict=True):
        both = min(len(e.rungs), len(other.rungs))
        assert e.values == other.values and e.rungs[:both] == other.rungs[:both] != ()


@pytest.mark.parametrize("halving", [None, 2])
def test_jobs_train_what_was_not_recorded(
    halving: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a setting has no row whose score was saved by a process that was killed before it
    recorded the row, and the search goes on as jobs; or if its end is decided anew."""
    record, killed = stores.Store.record, Search(TOY, "toy", halving)

    def lost(store: runs.Store, members: Sequence, scores: Sequence) -> None:
        if members:
            raise Crash
        record(store, members, scores)

    with monkeypatch.context() as patch, pytest.raises(Crash):
        patch.setattr(stores.Store, "record", lost)
        killed.go_on(tmp_path)
    before, again = killed.saved[-1], Search(TOY, "toy", halving, saved=killed.saved[-1])
    assert before.ended
    with here.prompt():
        after = again.go_on(tmp_path, launcher=here.Here(1))
    for e in before.ended:
        assert _decided(after)[e.number] == _decided(before)[e.number]
    recorded = {row.seed: (row.dev, row.status) for row in runs.load(tmp_path)}
    ends = {e.seeds[0]: "early_stopped" if e.stopped else "finished" for e in after.evaluations}
    assert recorded == {e.seeds[0]: (*e.scores, ends[e.seeds[0]]) for e in after.evaluations}


def test_jobs_leave_no_population_behind(tmp_path: Path) -> None:
    """Dies if checkpoints of a search in one process, which jobs do not use, stay for ever."""
    search = Search(TOY, "toy")
    for name in ("-0", "-1-abc", "1-0"):  # the last one is another search's
        (tmp_path / "checkpoints" / f"{search.target.record.id}{name}").mkdir(parents=True)
    with runs.open_store(tmp_path) as store:
        Populations(search.target, search, store, tmp_path, 3, jobs=True)
    assert left(tmp_path) == [f"{search.target.record.id}1-0"]


def _decided(history: History) -> list[tuple]:
    return [(e.values, e.scores, e.stopped, e.rungs, e.failure) for e in history.evaluations]


def _score(row: runs.CurveRow) -> tuple:
    return row.seed, row.hparams, row.epoch, row.part, row.metric, row.value
