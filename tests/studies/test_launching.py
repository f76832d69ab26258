"""Studies that are cut into jobs: deaths of jobs and of the study's own process change nothing."""

import dataclasses
import json
import shutil
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from jaxeval import observe, runs, studies, tasks
from jaxeval.errors import RunError
from jaxeval.population import engine, host
from jaxeval.runs import store as stores
from jaxeval.studies import cohorts, costs, jobs, launching, padding, prepared, running
from jaxeval.studies.cohorts import Cohort
from tests.population import toy
from tests.studies import here, toy_kind, toy_sizes

SEEDS = (1, 2, 3, 4, 5)
TRIALS = toy_kind.trials(SEEDS)


@pytest.fixture(autouse=True, scope="module")
def _prompt() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch, here.prompt():
        patch.setattr(tasks, "KINDS", {**toy_kind.KINDS, **toy_sizes.KINDS})
        yield


def _run(folder: Path, planned: Sequence[Cohort], launcher: Any = None, **more: bool) -> list:
    with runs.open_store(folder) as store:
        return [*studies.run(planned, store, folder, launcher=launcher, **more)]


def _rows(folder: Path) -> tuple:
    """All that is recorded but the clock."""
    rows = [row._replace(wall_seconds=0.0) for row in runs.load(folder)]
    with stores.open_existing(folder) as store:
        keys = sorted({row.experiment for row in rows})
        each = [of for key in keys for of in store.outcomes(key, "test")]
        outcomes = [(of.experiment, of.seed, of.counts.tolist()) for of in each]
    return rows, runs.load_curves(folder), outcomes


def _sizes() -> list[Cohort]:
    """Runs of a sweep, with sizes and batch sizes of their own, in two programs."""
    study = studies.Study("sweep", {"task": "sizes"}, {"seed": 1})
    trials = []
    for seed, (width, batch) in enumerate([(4, 8), (8, 16), (5, 8), (6, 16), (7, 16)], 1):
        tree = {
            "task": "sizes",
            "model": {"width": width},
            "training": {"batch_size": batch, "epochs": 3, "patience": 0},
        }
        values = {"width": width, "batch": batch}
        trials.append(studies.Trial(tree, seed, values=values, study=study))
    loader = prepared.Loader()
    entries = cohorts.entries(trials, loader)
    rows = [len(rows) for rows in entries[0].prepared.data.split(0).train]
    estimates = costs.plan(padding.jobs(entries), costs.Machine(1, 1e9, 1e3, rows))
    return padding.by_estimates(entries, estimates, loader)


STUDIES = {
    "seeds": lambda: toy_kind.planned(TRIALS),
    # cohorts of one name
    "repeats": lambda: toy_kind.planned(
        prepared.seeds_by_splits(toy_kind.config(), (1, 2, 3), repeats=2)
    ),
    "sizes": _sizes,
}


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> tuple:
    """What one process records of the trials, with outcomes."""
    folder = tmp_path_factory.mktemp("truth")
    _run(folder, toy_kind.planned(TRIALS), outputs=True)
    return _rows(folder)


@pytest.mark.parametrize("name", STUDIES)
def test_jobs_give_what_one_process_gives(name: str, tmp_path: Path) -> None:
    """Dies if a job trains another program than was planned, other members, or some twice; or a
    study leaves something behind."""
    planned = STUDIES[name]()
    _run(tmp_path / "one", planned)
    launcher = here.Here(2)
    happened = _run(tmp_path / "jobs", planned, launcher)
    assert _rows(tmp_path / "jobs") == _rows(tmp_path / "one")
    assert len(set(launcher.started)) == len(launcher.started) > 1
    assert [*(tmp_path / "jobs" / "jobs").iterdir()] == []
    assert {path.suffix for path in (tmp_path / "jobs" / "checkpoints").iterdir()} == {".lock"}
    kinds = [type(event).__name__ for event in happened]
    assert kinds[0] == "Checked" and kinds[1 : 1 + len(planned)] == ["Started"] * len(planned)
    assert kinds.count("Finished") == len(planned) and kinds[-1] == "Finished"
    ended = [event.trial for event in happened if isinstance(event, running.Ended)]
    trials = [entry.trial for cohort in planned for entry in cohort.entries]
    assert len(ended) == len(trials) and {*ended} == {*trials}
    _run(tmp_path / "jobs", planned, launcher)
    assert len(launcher.started) == len(set(launcher.started))  # none for what has ended


def test_the_longest_jobs_begin_first(tmp_path: Path) -> None:
    """Dies if the last job is a long one, which a worker trains while the others are idle."""
    of = _sizes()
    planned = [
        c._replace(estimate=c.estimate._replace(seconds=float(k))) for k, c in enumerate(of)
    ]
    launcher = here.Here(2)
    _run(tmp_path, planned, launcher)
    seconds = {job.part.name: job.seconds for job in jobs.cut(planned, 3)}
    begun = [seconds[path.parent.name] for path in launcher.started]
    assert begun == sorted(begun, reverse=True) != [*seconds.values()]


def test_cutting() -> None:
    """Dies if a job is larger than asked for, a member is lost, or the program of a part
    has room for fewer steps than the whole's."""
    planned = [*toy_kind.planned(TRIALS), *_sizes()]
    members = [entry.key for cohort in planned for entry in cohort.entries]
    for most in (1, 2, 3, 7, 100):
        cut = jobs.cut(planned, most)
        assert [entry.key for job in cut for entry in job.part.entries] == members
        sizes = [len(job.part.members) for job in cut]
        assert max(sizes) <= most and min(sizes) >= 1
        assert len({job.part.name for job in cut}) == len(cut)
    for job in jobs.cut(_sizes(), 1):
        split = job.whole.problem.split(0)
        assert job.part.steps >= engine.most_steps(job.whole.members, split)
    assert [len(job.part.members) for job in jobs.cut(planned[:1], 5)] == [5]


def test_jobs_die_anywhere(truth: tuple, tmp_path: Path) -> None:
    """Dies if a job that died is not run again, or another score comes out."""
    deaths = [0, 1, 1, 0]
    launcher = here.Here(2, deaths)
    happened = _run(tmp_path, toy_kind.planned(TRIALS), launcher, outputs=True)
    assert _rows(tmp_path) == truth
    assert len(launcher.started) > len(deaths)
    assert sum(isinstance(event, running.Ended) for event in happened) == len(TRIALS)


@pytest.mark.parametrize("epochs", [1, 6])
def test_the_driver_ends_anywhere(epochs: int, truth: tuple, tmp_path: Path) -> None:
    """Dies if what a job has recorded is lost with the process that waits for it, is not in the
    database when that process is closed, or is trained again."""
    planned, folder, launcher = toy_kind.planned(TRIALS), tmp_path, here.Here(2, [2])
    with runs.open_store(folder) as store:
        happening = studies.run(planned, store, folder, launcher=launcher)
        for event in happening:
            epochs -= isinstance(event, host.Report)
            if not epochs:
                happening.close()
    assert {row.epoch for row in runs.load_curves(folder)} >= {1, 2}
    _run(folder, planned, here.Here(2))
    assert _rows(folder)[:2] == truth[:2]
    _run(folder, toy_kind.planned(toy_kind.trials((1, 2, 6))), here.Here(3))  # other jobs
    assert [row.seed for row in runs.load(folder)] == [*SEEDS, 6]


def test_other_jobs_end_before_an_error_is_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a job is trained on other data than was planned, tried again although it would end
    alike, or takes the results of others with it."""
    planned, digests = toy_kind.planned(TRIALS), iter(["other"])
    train = jobs.train

    def elsewhere(path: Path, session: Any) -> Generator[running.Event, None, None]:
        tree = json.loads(path.read_text())
        path.write_text(json.dumps({**tree, "program": next(digests, tree["program"])}))
        return train(path, session)

    launcher = here.Here(2)
    with monkeypatch.context() as patch:
        patch.setattr(jobs, "train", elsewhere)
        with pytest.raises(RunError, match="expected the same data, memory and version"):
            _run(tmp_path, planned, launcher)
    assert len(launcher.started) == 2
    assert [row.seed for row in runs.load(tmp_path)] == [3, 4, 5]
    _run(tmp_path, planned, here.Here(2))
    assert len(runs.load(tmp_path)) == 5


def test_a_job_that_always_dies_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a job that reaches no epoch is tried for ever, or ends the others."""
    train, launcher = jobs.train, here.Here(2)

    def deadly(path: Path, session: Any) -> Generator[running.Event, None, None]:
        if path == launcher.started[0]:
            raise here.Death
        return train(path, session)

    with monkeypatch.context() as patch:
        patch.setattr(jobs, "train", deadly)
        with pytest.raises(RunError, match=r"job\.json: its process ended 5 times without an ep"):
            _run(tmp_path, toy_kind.planned(TRIALS), launcher)
    assert launcher.started.count(launcher.started[0]) == 5
    assert [row.seed for row in runs.load(tmp_path)] == [3, 4, 5]


def test_models_and_outcomes_of_jobs(tmp_path: Path) -> None:
    """Dies if jobs save no models, keep no outcomes, or are not trained again for them."""
    _run(tmp_path, toy_kind.planned(TRIALS), here.Here(2))
    planned = toy_kind.planned(toy_kind.trials(SEEDS, save_models=True))
    _run(tmp_path, planned, here.Here(2), outputs=True)
    assert len([*tmp_path.glob("models/*/seed*.npz")]) == 5
    assert len(_rows(tmp_path)[2]) == 5


def test_two_drivers_do_not_share_a_study(tmp_path: Path) -> None:
    """Dies if a second process submits the jobs of the first."""
    planned = toy_kind.planned(TRIALS)
    with (
        running.locked(tmp_path, planned[0].name),
        pytest.raises(RunError, match="another process is training"),
    ):
        _run(tmp_path, planned, here.Here(2))
    with runs.open_store(tmp_path) as store:
        assert store.members() == []


def test_a_shard_that_is_being_written_is_left_alone(tmp_path: Path) -> None:
    """Dies if a job that another process trains is merged, or fails, meanwhile; or if one whose
    process died before it had made its tables ends the study."""
    planned = toy_kind.planned(TRIALS)
    with runs.open_store(tmp_path) as store:
        happening = studies.run(planned, store, tmp_path, launcher=here.Here(1, [2]))
        next(event for event in happening if isinstance(event, host.Report))
        (path,) = tmp_path.glob("jobs/*/job.json")
        with jobs.lock(path, 0.0):
            happening.close()
            jobs._merge_all(tmp_path, store)
            assert store.curves() == []
        jobs._merge_all(tmp_path, store)
        assert {row.epoch for row in store.curves()} >= {1, 2} and path.exists()
        path.with_name("runs.sqlite").write_bytes(b"")
        jobs._merge_all(tmp_path, store)


def test_all_cohorts_are_shown_at_once(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a terminal shows the first of several cohorts only, or prints jobs' own progress."""
    trials = [*TRIALS, *toy_kind.trials(SEEDS, epochs=3)]
    trials[5:] = [dataclasses.replace(t, config={**t.config, "name": "short"}) for t in trials[5:]]
    rows = observe.train(trials, tmp_path, launcher=here.Here(3))
    assert len(rows) == 10
    said = capsys.readouterr().err
    assert "toy (" in said and "short (" in said
    assert toy.problem().training.epochs != 3


def test_what_is_asked_for_later_is_shown_alike(tmp_path: Path) -> None:
    """Dies if cohorts that are added while others train show as events of somebody else."""
    *first, last = [cohort for trial in TRIALS[:3] for cohort in toy_kind.planned([trial])]
    turns, strange = iter([first, [last]]), list[object]()

    class Asking(launching.Scheduler):
        def more(self) -> Sequence[Cohort]:
            return next(turns, ())

        def lanes(self, planned: Sequence[Cohort], workers: int | None) -> None:
            del planned, workers

    with runs.open_store(tmp_path) as store:
        trained = launching.train(Asking(), store, tmp_path, here.Here(1))
        observe.watch(trained, other=lambda event, say: strange.append(event))
        assert len(store.members()) == 3 and not strange


def test_another_engine_goes_on(truth: tuple, tmp_path: Path) -> None:
    """Dies if one process leaves jobs behind, or jobs leave the checkpoints of one process."""
    planned, other = toy_kind.planned(TRIALS), here.Here(2)
    for launcher in (here.Here(2, [2]), None, other):
        with runs.open_store(tmp_path) as store:
            happening = studies.run(planned, store, tmp_path, launcher=launcher)
            next(event for event in happening if isinstance(event, host.Report))
            happening.close()
    assert [*tmp_path.glob("jobs/*/job.json")] and [*tmp_path.glob("checkpoints/*/")]
    last = tmp_path / "copy"
    shutil.copytree(tmp_path, last)
    for folder, launcher in (tmp_path, None), (last, other):
        _run(folder, planned, launcher)
        assert _rows(folder)[:2] == truth[:2]
        assert [*folder.glob("jobs/*")] == []
        assert {path.suffix for path in folder.glob("checkpoints/*")} == {".lock"}


def test_another_command_has_merged_a_job(tmp_path: Path) -> None:
    """Dies if a command ends when another one in its runs folder has merged its job."""
    with runs.open_store(tmp_path) as store:
        for event in studies.run(toy_kind.planned(TRIALS), store, tmp_path, launcher=here.Here(1)):
            if isinstance(event, host.Report):
                jobs._merge_all(tmp_path, store)
        ended, left = store.members(), [*tmp_path.glob("jobs/*")]
    assert (len(ended), left) == (len(TRIALS), [])
