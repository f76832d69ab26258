"""`jaxeval tune` of configs: the verb, populations, kill and resume, halving, memory, sizes."""

from pathlib import Path
from typing import Any

import jax
import pytest

from jaxeval import runs, studies, tasks, tuning
from jaxeval import space as spaces
from jaxeval.errors import ConfigError
from jaxeval.population import host, slots
from jaxeval.studies import running
from jaxeval.tune import target as targets
from jaxeval.tuning.history import Halving, History
from tests.studies import here, toy_kind, toy_sizes
from tests.tune_searches import RATE, SIZES, TOY, Search, left, rows
from tests.verbs import tune


@pytest.fixture(autouse=True)
def kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "KINDS", {**toy_kind.KINDS, **toy_sizes.KINDS})


def test_a_batch_that_was_stopped_ends_the_same(tmp_path: Path) -> None:
    """Dies if a batch that was stopped is proposed or trained again, seeds are shared, or a score
    is not that of its member; or if settings of one program are not one population."""
    of: dict[str, Any] = {"task": "toy", "halving": None, "seeds": 2}
    whole = Search(TOY, **of)
    history = whole.go_on(tmp_path / "whole")
    scores = {(row.hparams, row.seed): row.dev for row in runs.load(tmp_path / "whole")}
    assert sorted(seed for _, seed in scores) == list(range(1, 13))
    for e in history.evaluations:
        entries = whole.target.entries(e)
        expected = tuple(scores[entry.trial.hparams, entry.trial.seed] for entry in entries)
        assert e.scores == expected
    by_rows = {(e.joined, e.values["rows"]) for e in history.evaluations}
    assert len(by_rows) == len({e.joined for e in history.evaluations}) and whole.compiled == 2
    assert {len(of.evaluations) for of in whole.saved} <= {0, 3, 6}  # batches as they are whole
    folder = tmp_path / "killed"
    saved = Search(TOY, **of).killed(folder, len(whole.saved) - 2)
    assert Search(TOY, **of, saved=saved).go_on(folder) == history
    assert rows(folder) == rows(tmp_path / "whole")


def test_lanes_are_refilled_and_a_killed_search_ends_the_same(tmp_path: Path) -> None:
    """Dies if a training goes on that is not among the best half, a score is another one than is
    recorded, lanes idle, or a search that was killed decides anything anew."""
    search = Search(TOY, "toy")
    whole = search.go_on(tmp_path / "whole")
    assert len(whole.ended) == 6 and len({e.joined[0] for e in whole.evaluations if e.joined}) > 1
    assert any(e.joined and e.joined[1] > 0 for e in whole.evaluations)
    assert 1 < sum(e.stopped is not None for e in whole.evaluations) < 6
    recorded = {row.seed: row for row in runs.load(tmp_path / "whole")}
    for e in whole.evaluations:
        row = recorded[e.seeds[0]]
        assert row.dev == e.scores[0] and row.test is not None
        assert row.epochs == (e.stopped.epochs if e.stopped else 5)
        if e.stopped:
            assert e.stopped == (Halving(2).rungs(5)[len(e.rungs) - 1], 5)
            assert e.scores == e.rungs[-1:]
    folder = tmp_path / "killed"
    saved = Search(TOY, "toy").killed(folder, 4)
    assert Search(TOY, "toy", saved=saved).go_on(folder) == whole
    assert rows(folder) == rows(tmp_path / "whole")
    lost = Search(TOY, "toy")  # a lost state finds what is recorded
    values = [e.values for e in lost.go_on(tmp_path / "whole").evaluations]
    assert not lost.epochs and values == [e.values for e in whole.evaluations]


@pytest.mark.parametrize(("halving", "engine"), [(None, here.Here(1)), (2, None)])
def test_a_setting_that_diverged_has_failed(
    halving: int | None, engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if the score of an epoch before counts, at a rung or at the end, or after a restart."""
    status = slots._status

    def diverging(slot: slots.Slot, *rest: Any) -> slots.Status | None:
        breaks = slot.member is not None and slot.member.seed == 2 and slot.epoch == 2
        return "diverged" if breaks else status(slot, *rest)

    monkeypatch.setattr(slots, "_status", diverging)
    of: dict[str, Any] = {"trials": 4, "launcher": engine}
    for _ in range(2):  # then a search whose state was lost
        history = Search(TOY, "toy", halving).go_on(tmp_path, **of)
        assert [e.failure for e in history.evaluations] == ["", "diverged", "", ""]
        assert len(history.evaluations[1].rungs) <= 1


@pytest.mark.parametrize("halving", [None, 2])
def test_a_population_that_the_memory_has_no_room_for(
    halving: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a population or a job that does not fit ends the search, is not tried in half the
    lanes, settings that fit so fail, one that does not is tried again, or another error of the
    device counts as this one."""
    epoch, widths = host.Population.epoch, list[int]()

    def narrow(population: host.Population) -> host.Report:
        widths.append(len(population.slots))
        if len(population.slots) > 4 and population.epochs in (0, 3):
            raise MemoryError("toy")
        return epoch(population)

    def none(population: host.Population) -> host.Report:
        raise jax.errors.JaxRuntimeError(message)

    message = "RESOURCE_EXHAUSTED: Out of memory allocating 1 bytes."
    with here.prompt():
        for engine in (None, here.Here(1)):
            monkeypatch.setattr(host.Population, "epoch", narrow)
            of: dict[str, Any] = {"launcher": engine, "parallel": 5}
            wide, none_fits = Search(TOY, "toy", halving), Search(TOY, "toy", halving)
            history = wide.go_on(tmp_path / f"a{engine}", **of)
            assert all(e.scores for e in history.evaluations)
            assert {*widths} == {4 if halving and engine else 8, 4}
            widths.clear()
            monkeypatch.setattr(host.Population, "epoch", none)
            history = none_fits.go_on(tmp_path / f"c{engine}", trials=4, **of)
            assert {e.failure for e in history.evaluations} == {"out of memory"}
            assert not left(tmp_path / f"c{engine}")
        assert engine is not None and len({*engine.started[-4:]}) == 4
    message = "INTERNAL: something else"
    with pytest.raises(jax.errors.JaxRuntimeError, match="something else"):
        Search(TOY, "toy", halving).go_on(tmp_path / "d", trials=4)


@pytest.mark.parametrize("halving", [None, 2])
def test_settings_of_several_sizes_share_a_program(halving: int | None, tmp_path: Path) -> None:
    """Dies if a size, a batch size or a schedule that a setting lacks makes a program of its own,
    a score depends on who else is trained, or a search that was killed ends otherwise."""
    search = Search(SIZES, halving=halving)
    history = search.go_on(tmp_path / "whole")
    assert search.compiled == 1 and len(history.ended) == 6
    joined = [e.joined for e in history.evaluations if e.joined]
    assert len({population for population, _ in joined}) == (1 if halving else 2)
    for name in SIZES:
        assert len({e.values.get(name) for e in history.evaluations}) > 1
    assert not left(tmp_path / "whole")
    programs, alone = search.target.padded(6, 3), tmp_path / "alone"
    for e in [e for e in history.evaluations if e.scores and not e.stopped][:2]:
        (entry,) = search.target.entries(e)
        cohort = search.target.program([entry], programs).cohort([entry], f"alone-{e.number}")
        with runs.open_store(alone) as store:
            trained = studies.run([cohort], store, alone, session=search.target.session)
            (end,) = [event for event in trained if isinstance(event, running.Ended)]
        assert (end.result.dev,) == e.scores
    folder = tmp_path / "killed"
    saved = Search(SIZES, halving=halving).killed(folder, 3)
    assert Search(SIZES, halving=halving, saved=saved).go_on(folder) == history
    assert rows(folder) == rows(tmp_path / "whole") and not left(folder)
    if halving is None:
        _jobs_give(history, search.target.session, rows(tmp_path / "whole"), tmp_path)


def _jobs_give(
    history: History, session: studies.Session, recorded: list[tuple], folder: Path
) -> None:
    """Dies if jobs train other programs than one process, a setting is proposed only when a whole
    batch has ended, or a search that was killed trains anything twice or not at all."""
    expected = [(e.values, e.scores) for e in history.evaluations]
    with here.prompt(session):
        search, engine = Search(SIZES, halving=None), here.Here(3)
        launched = search.go_on(folder / "jobs", launcher=engine)
        assert [(e.values, e.scores) for e in launched.evaluations] == expected
        pending = [len(of.pending) for of in search.saved if of.ended and len(of.evaluations) < 6]
        assert max(pending) == 3 and len(engine.started) == 6 == len({*engine.started})
        killed = folder / "killed jobs"
        saved = Search(SIZES, halving=None).killed(killed, 3, launcher=here.Here(3))
        again = Search(SIZES, halving=None, saved=saved)
        launched = again.go_on(killed, launcher=here.Here(3))
        assert [(e.values, e.scores) for e in launched.evaluations] == expected
    for name in ("jobs", "killed jobs"):
        assert rows(folder / name) == recorded and not left(folder / name)


def test_what_cannot_be_trained_has_failed(tmp_path: Path) -> None:
    """Dies if a setting that is no config ends the search, or is trained."""
    search = Search({"batch": {"key": "training.batch_size", "choices": [8, -8]}}, "toy", None)
    history = search.go_on(tmp_path, trials=2)
    failed = {e.values["batch"]: e.failure for e in history.evaluations}
    assert not failed[8] and "training.batch_size" in failed[-8]


def test_other_shapes_take_up_what_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a setting that the new shapes do not hold is lost or padded, a checkpoint of another
    shape is left behind, or a decision is taken back."""
    space = {"rate": RATE, "width": {"key": "model.width", "choices": [2, 6]}}
    before = Search(space).killed(tmp_path, 5, trials=10)
    monkeypatch.setattr(targets.Target, "padded", lambda *of: [])
    history = Search(space, saved=before).go_on(tmp_path, trials=10)
    assert len(history.ended) == len(rows(tmp_path)) == 10 and not left(tmp_path)
    widths: dict[Any, set[Any]] = {}
    ended = {e.number for e in before.ended}
    for known, e in zip(before.evaluations, history.evaluations, strict=False):
        assert e.values == known.values and known.scores in ((), e.scores)
    for e in history.evaluations:
        if e.number not in ended:
            widths.setdefault(e.joined and e.joined[0], set()).add(e.values["width"])
    assert all(len(of) == 1 for of in widths.values()) and len(widths) > 1


WRONG: list[tuple[dict[str, Any], list[str], str]] = [
    ({"rate": {"key": "model.rat", "uniform": [0, 1]}}, [], r"rate: model\.rat: unknown key; did"),
    ({"learning_rate": {"uniform": [0, 1]}}, [], "learning_rate: sets nothing; add key"),
    ({"rate": RATE}, ["training.evaluate_every=2"], "--min-epochs: expected a multiple of"),
    ({"rate": RATE}, ["training.epochs=1"], "--min-epochs: expected fewer than training.epochs"),
    ({"rate": RATE}, ["training.optimiser.steps=[[1,0.05]]"], "rate: sets .* which .*steps"),
]


@pytest.mark.parametrize(("space", "changes", "message"), WRONG)
def test_what_no_search_can_be_over_is_refused(
    space: dict[str, Any], changes: list[str], message: str
) -> None:
    """Dies if every setting is a failure, or rungs read the score of an earlier epoch."""
    search = tuning.Search(spaces.from_dict(space), "sobol", halving=Halving(2))
    with pytest.raises(ConfigError, match=message):
        targets.target({"task": "toy"}, changes, None, search)


def test_the_verb_searches_and_trains_the_best_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Dies if the best setting is not trained with fresh seeds, or its config is another."""
    monkeypatch.chdir(tmp_path)
    Path("toy.toml").write_text('task = "toy"\n')
    Path("space.toml").write_text('[rate]\nkey = "model.rate"\nuniform = [0, 1]\n')
    words = ["toy.toml", "training.epochs=2", "--space", "space.toml", "--trials", "4"]
    assert tune([*words, "--retrain", "2", "--json", "out.json"]) == 0
    shown = capsys.readouterr()
    assert "2 fresh seeds give dev" in shown.out and "setting 3: " in shown.err
    (best,) = (tmp_path / "runs" / "tunings").glob("*_best.toml")
    value = next(line for line in best.read_text().splitlines() if line.startswith("rate ="))
    recorded = [row for row in runs.load(tmp_path / "runs") if row.name.endswith("_tuned")]
    assert len(recorded) == 2 and f"its config: {best.relative_to(tmp_path)}" in shown.out
    assert f'"rate": {value.split()[-1]}' in Path("out.json").read_text().replace("\n", " ")
