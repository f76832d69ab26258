"""Configs that `select` and `settle` train in process."""

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

import jaxeval
from jaxeval import launchers, runs, tasks
from jaxeval.bandits import NonAdaptive, Rule, SequentialHalving, State, TopTwoThompson
from jaxeval.bandits.running import Evaluated
from jaxeval.errors import ConfigError
from jaxeval.population import host
from jaxeval.select import training
from jaxeval.studies import cohorts, launching, running
from tests.studies import here, toy_kind
from tests.verbs import select, settle


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The toy is a task like any other."""
    monkeypatch.setattr(tasks, "KINDS", toy_kind.KINDS)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.toml").write_text('task = "toy"\nname = "a"\n')
    (tmp_path / "b.toml").write_text('task = "toy"\nname = "b"\n[training]\nepochs = 1\n')


def _settle(*sides: str, **more: Any) -> jaxeval.Settlement:
    return jaxeval.settle(*sides, quiet=True, **more)


def test_sides_share_splits_and_seeds() -> None:
    """Dies if evaluation k of a side has another split or seed, or is trained again."""
    found = _settle("a.toml", "b.toml", seeds=4)
    rows = runs.load("runs")
    assert found.paired and {(row.seed, row.split) for row in rows} == {
        (k, k) for k in range(1, 5)
    }
    by_name = {name: {r.seed: r.test for r in rows if r.name == name} for name in "ab"}
    assert {side: len(scores) for side, scores in found.scores.items()} == {"a": 4, "b": 4}
    assert [*found.scores["a"]] == [by_name["a"][k] for k in range(1, 5)]
    more = _settle("a.toml", "b.toml", seeds=6)
    assert more.looks >= found.looks and len(runs.load("runs")) <= 12
    own = _settle("a.toml", "b.toml", seeds=3, own_splits=True)
    assert not own.paired


def test_changes_make_the_candidate(capsys: pytest.CaptureFixture[str]) -> None:
    """Dies if a change is of both sides, or a shell cannot give it."""
    status = settle(["a.toml", "training.epochs=1", "--seeds", "3"])
    assert "training.epochs=1" in capsys.readouterr().out and status in (0, 1, 3)
    changed = _settle("a.toml", changes={"training.epochs": 1}, seeds=3)
    assert (changed.base, changed.candidate) == ("a", "training.epochs=1")
    with pytest.raises(ConfigError, match="the same"):  # both have the change
        _settle("a.toml", changes={"training.epochs": 1}, candidate="b.toml")
    with pytest.raises(ConfigError, match="second config, or changes"):
        _settle("a.toml")


@pytest.mark.parametrize(
    "words",
    [["--correction", "e-lond"], ["--correction", "spending"], ["--again"], ["--note", "x"]],
)
def test_what_a_ledger_keeps_needs_one(words: list[str]) -> None:
    """Dies if an option of ledgers is without effect, and nobody is told."""
    with pytest.raises(ConfigError) as found:
        settle(["a.toml", "b.toml", *words])
    said = ": needs a ledger, which keeps it; add --ledger settle.db"
    assert str(found.value) == f"{' '.join(words)}{said}"


def test_a_ledger_of_configs() -> None:
    """Dies if a settled comparison has no row, or a new one reuses its seeds."""
    first = _settle("a.toml", "b.toml", seeds=4, ledger="night.db")
    again = _settle("a.toml", "b.toml", seeds=4, ledger="night.db")
    assert first.comparison == again.comparison == 1 and again.scores == first.scores
    assert min(first.seconds.values()) > 0 and {*again.seconds.values()} == {0.0}
    assert jaxeval.settle_report("night.db").seconds == sum(first.seconds.values())


def test_jobs_change_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if sides that a launcher trains have other seeds, splits or scores."""
    alone = _settle("a.toml", "b.toml", seeds=4)
    engine = here.Here(2)
    monkeypatch.setattr(launchers, "prepare", lambda text: engine)
    with here.prompt():
        found = _settle("a.toml", "b.toml", seeds=4, launch="local:2", out="launched")
    assert engine.started and found.scores == alone.scores
    assert (found.verdict, found.interval) == (alone.verdict, alone.interval)


ARMS = {"good": 'name = "good"', "bad": 'name = "bad"\n[training]\nepochs = 1'}
RULE = TopTwoThompson(budget=10, batch_size=4)


def _files(folder: Path, texts: dict[str, str] = ARMS) -> list[str]:
    paths = []
    for name, text in texts.items():
        paths.append(folder / f"{name}.toml")
        paths[-1].write_text(f'task = "toy"\n{text}\n')
    return list(map(str, paths))


def _go_on(models: training.Models, folder: Path, stop: int | None = None, **more: Any) -> Any:
    """The state after all is trained, or after so many scores."""
    models.begin(RULE, lambda of: "scored")
    with runs.open_store(folder) as store:
        happening = launching.train(models, store, folder, **more)
        with contextlib.closing(happening):
            for event in happening:
                if event == "scored" and models.state.evaluations == stop:
                    break
    return models.state


def test_a_stopped_selection_ends_as_one_that_was_not(tmp_path: Path) -> None:
    """Dies if an evaluation is trained twice, or another batch is asked for instead."""
    arms = training.Models(_files(tmp_path))
    whole = _go_on(arms, tmp_path / "whole")
    assert RULE.answer(whole) is not None and whole.evaluations == 10
    assert not any(whole.pending.values())
    for stop in (3, 7):
        fresh = training.Models(_files(tmp_path))  # as another process has it
        assert _go_on(fresh, tmp_path / "parts", stop=stop).evaluations == stop
    assert _go_on(training.Models(_files(tmp_path)), tmp_path / "parts") == whole
    assert len(runs.load(tmp_path / "parts")) == 10


def test_jobs_give_what_this_process_gives(tmp_path: Path) -> None:
    """Dies if a rule with a fixed order gets other scores from jobs, an evaluation is trained
    twice, or a rule of batches waits for a whole batch."""
    arms = training.Models(_files(tmp_path), ["training.checkpoint_every=9"])
    halving, engine = SequentialHalving(budget=6), here.Here(2)
    rule = TopTwoThompson(budget=7, batch_size=2)
    with here.prompt(arms.session), runs.open_store(tmp_path / "more") as store:
        found = [
            (arms.begin(halving, repr), training.train(arms, tmp_path / name, **more))[1]
            for name, more in {"one": {}, "jobs": {"launcher": engine}}.items()
        ]
        assert found[0] == found[1] and len(engine.started) == len({*engine.started})
        states, folder = list[State](), tmp_path / "more"
        arms.begin(rule, lambda of: str(states.append(of.state)))
        assert [*launching.train(arms, store, folder, here.Here(2))]
    assert rule.answer(states[-1]) is not None and states[-1].evaluations == 7
    assert any(sum(map(len, state.pending.values())) for state in states[4:])


def test_evaluation_k_has_split_k_and_seed_k(tmp_path: Path) -> None:
    """Dies if models are evaluated on other splits, or a given split counts its test score."""
    arms = training.Models(_files(tmp_path))
    assert arms.random_splits and arms.part == "test"
    scores = _go_on(arms, tmp_path / "r").scores["good"]
    rows = runs.load(tmp_path / "r")
    assert all(row.seed == row.split for row in rows)
    assert scores == {row.seed: row.test for row in rows if row.name == "good"}
    own = training.Models(_files(tmp_path), [], None, own_splits=True)
    assert own.part == "dev" and own.trial("good", 3).split == 0 and own.trial("bad", 3).seed == 3


def test_the_leader_when_the_time_is_spent(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if the verb crashes, names another than the best so far, or says another reason."""
    texts = {f"m{n}": f'name = "m{n}"\n[training]\nepochs = {n}' for n in (1, 2, 3, 4)}
    words = [*_files(tmp_path, texts), "--out", str(tmp_path / "runs"), "--json", "-"]
    rule = ["--rule", "sequential-halving", "--budget", "16"]
    assert select([*words, "--seconds", "1e-6", *rule]) == 0
    tree = json.loads(capsys.readouterr().out)
    means = {model: sum(of) / len(of) for model, of in tree["scores"].items()}
    assert (tree["best"], tree["reason"]) == (max(means, key=means.get), "the time is spent")  # type: ignore[arg-type]


def test_a_model_too_large_for_a_worker_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if the memory of the process that waits for jobs counts, or ends the selection."""
    models, counts = training.Models(_files(tmp_path)), iter([10**15])  # of parameters
    models.begin(SequentialHalving(budget=2), repr)
    monkeypatch.setattr(cohorts, "parameters", lambda *_: next(counts, 1))
    with here.prompt(models.session):
        state = training.train(models, tmp_path, here.Here(1), quiet=True)
    assert [*state.excluded.values()] == ["evaluation 1 (seed 1) failed: out of memory"]


def test_a_model_without_a_score_is_dropped(tmp_path: Path) -> None:
    """Dies if a diverged model ends the selection, is evaluated again and again, or has the score
    of an epoch before."""
    texts = {**ARMS, "wild": 'name = "wild"\n[training]\nepochs = 2'}
    said = list[Evaluated]()
    models = training.Models(_files(tmp_path, texts))
    models.begin(RULE, lambda of: str(said.append(of)))
    models.more()
    record = runs.MemberResult(
        "e", 1, 1, 0, "{}", "diverged", 2, 1, 0.9, 0.9, 0.1, "map", "", "", "", "", "NaN"
    )
    for number in (1, 2):
        models.ended(running.Ended(models.trial("wild", number), record))
    why = "evaluation 1 (seed 1) failed: diverged: NaN"
    assert models.state.excluded == {"wild": why}
    assert [of.score for of in said] == [None]


@pytest.mark.parametrize("engine", [None, here.Here(1)])
def test_a_model_that_the_memory_has_no_room_for_is_dropped(
    engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if it ends the selection, or takes another model with it."""
    epoch = host.Population.epoch

    def narrow(population: host.Population) -> host.Report:
        if population.problem.training.epochs == 9:
            raise MemoryError("toy")
        return epoch(population)

    monkeypatch.setattr(host.Population, "epoch", narrow)
    texts = {"huge": 'name = "huge"\n[training]\nepochs = 9', **ARMS}
    with here.prompt():
        state = _go_on(training.Models(_files(tmp_path, texts)), tmp_path / "r", launcher=engine)
    why = "evaluation 1 (seed 1) failed: out of memory"
    assert state.excluded == {"huge": why} and state.evaluations == 10


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"a": 'name = "a"', "b": 'name = "b"'}, "a are the same: nothing to choose"),
        ({"a": 'name = "a"'}, "expected two or more models to choose from, got 1"),
        ({"a": 'name = "a"', "b": 'name = "b"\n[data]\nkept_out = 1'}, "need one data set"),
    ],
)
def test_what_cannot_be_chosen_from_is_refused(
    texts: dict[str, str], message: str, tmp_path: Path
) -> None:
    """Dies if a model is compared with itself, or models on two data sets with one another."""
    with pytest.raises(ConfigError, match=message):
        training.Models(_files(tmp_path, texts))


def test_the_verb(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if the verb trains again what it knows, or names another model than the rule."""
    words = [*_files(tmp_path), "training.patience=0", "--out", str(tmp_path / "runs")]
    words += ["--budget", "8", "--batch", "4", "--json", "-"]
    trees = []
    for _ in range(2):
        assert select(words) == 0
        shown = capsys.readouterr()
        trees.append(json.loads(shown.out))
    assert trees[0] == trees[1] and trees[0]["best"] == "good"
    assert (trees[0]["metric"], trees[0]["part"], trees[0]["evaluations"]) == (
        "accuracy",
        "test",
        8,
    )
    assert shown.err.splitlines()[2:] == ["continues from the recorded evaluations"]
    assert len(runs.load(tmp_path / "runs")) == 8
    assert select(words[:-2]) == 0 and "\ntest accuracy: higher is" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("rule", "lanes"),
    [
        pytest.param(SequentialHalving(budget=16), 2, id="a round of four models has 8"),
        pytest.param(NonAdaptive(delta=None, budget=16), 1, id="a round has one of each"),
        pytest.param(TopTwoThompson(batch_size=3), 3, id="a batch may be all of one model"),
    ],
)
def test_lanes_in_lock_step(
    rule: Rule, lanes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a model's population has a lane for every evaluation of the other models too."""
    widths = []
    monkeypatch.setattr(
        running, "run", lambda *_, lanes, **__: (widths.append(k) for k in [lanes])
    )
    of_each = {name: ARMS["good"].replace("good", name) for name in "abcd"}
    different = {
        n: f"{t}\n[training]\nepochs = {k}" for k, (n, t) in enumerate(of_each.items(), 1)
    }
    arms = training.Models(_files(tmp_path, different), ["training.lane_mode=vmap"])
    with runs.open_store(tmp_path) as store:
        arms.begin(rule, repr)
        events = launching.train(arms, store, tmp_path)
        next(events)
        events.close()
    assert {*widths} == {lanes}
