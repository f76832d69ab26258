"""The promise of the trainer: a member's scores depend on nothing but the member.

Bit for bit: scores and losses are compared with ==.
"""

import dataclasses
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from jaxeval.contracts import Batch, Member
from jaxeval.errors import DataError
from jaxeval.population import lanes, loop
from jaxeval.population.engine import Compiling
from jaxeval.population.host import Population, Programs, Report
from tests.population import toy

Scores = dict[Member, list[tuple]]


def _run(
    folder: Path, members: list[Member], devices: int = 2, stop: int = 10**6, **changes: Any
) -> tuple[Scores, dict]:
    """All scores by member, and how members ended; closes the generator after `stop` epochs."""
    scores: Scores = {}
    ended: dict = {}

    def record(report: Report) -> None:
        for scored in report.scores:
            entry = (scored.epoch, scored.part, *scored.scores.items())
            if entry not in scores.setdefault(scored.member, []):
                scores[scored.member].append(entry)
        ended.update({end.member: dataclasses.replace(end, seconds=0.0) for end in report.ended})

    problem = toy.problem(**changes)
    count = problem.training.width(len(members))
    reports = toy.reports(problem, members, folder, record, count, jax.devices()[:devices])
    for number, _ in enumerate(reports, 1):
        if number == stop:
            reports.close()
            break
    return scores, ended


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> tuple[Scores, dict]:
    """Six members on two splits, all at once."""
    return _run(tmp_path_factory.mktemp("truth") / "c", MEMBERS)


MEMBERS = [toy.member(seed, number) for number in (0, 3) for seed in (1, 2, 3)]


def test_members_differ_and_learn(truth: tuple) -> None:
    """Dies if seeds or splits are ignored, or nothing is learned (all other tests would pass)."""
    scores, ended = truth
    assert len({str(scores[m]) for m in MEMBERS}) == len(MEMBERS)
    assert max(end.reported for end in ended.values()) > 0.5
    assert {end.status for end in ended.values()} <= {"finished", "early_stopped"}


def test_the_best_parameters_are_kept(tmp_path: Path) -> None:
    """Dies if the last epoch's parameters are saved and tested, not those of the best one."""

    def best(name: str, epochs: int) -> tuple[dict, dict]:
        problem, params, ends = toy.problem(epochs=epochs, patience=0, save_models=True), {}, {}
        how = 6, jax.devices()[:2]  # as the other tests compile
        for report in toy.reports(problem, MEMBERS[:3], tmp_path / name, lambda r: None, *how):
            params.update(report.best)
            ends.update({end.member: end for end in report.ended})
        return params, ends

    params, ends = best("a", 6)
    who = next(who for who in MEMBERS if ends[who].reported_epoch < 6)
    again, earlier = best("b", ends[who].reported_epoch)
    jax.tree.map(np.testing.assert_array_equal, params[who], again[who])
    assert ends[who].test == earlier[who].test


def test_alone_and_with_other_companions(truth: tuple, tmp_path: Path) -> None:
    """Dies if a neighbour, or the number of lanes, reaches a member."""
    strangers = [toy.member(seed, number) for number in (0, 5) for seed in (77, 78)]
    alone = _run(tmp_path / "a", [MEMBERS[1]])
    other = _run(tmp_path / "b", [*strangers[:3], MEMBERS[1], strangers[3]])
    for scores, ended in (alone, other):
        assert scores[MEMBERS[1]] == truth[0][MEMBERS[1]]
        assert ended[MEMBERS[1]] == truth[1][MEMBERS[1]]


def test_loaded_late_into_a_freed_lane(truth: tuple, tmp_path: Path) -> None:
    """Dies if a lane keeps anything of the member before (two lanes for six members)."""
    assert _run(tmp_path / "c", MEMBERS, lanes=2) == truth


def test_number_of_devices(truth: tuple, tmp_path: Path) -> None:
    """Dies if sharding changes a result."""
    assert _run(tmp_path / "c", MEMBERS, devices=1) == truth


@pytest.mark.parametrize("mode", ["map", "vmap"])
def test_a_diverging_companion(tmp_path: Path, mode: str) -> None:
    """Dies if a member's NaN spreads, or is recorded as a score."""
    bad = toy.member(9, learning_rate=1e38)
    calm = _run(tmp_path / "a", [MEMBERS[0], toy.member(8)], lane_mode=mode)
    scores, ended = _run(tmp_path / "b", [MEMBERS[0], bad], lane_mode=mode)
    assert ended[bad].status == "diverged" and ended[bad].test is None
    assert scores[MEMBERS[0]] == calm[0][MEMBERS[0]]
    assert ended[MEMBERS[0]] == calm[1][MEMBERS[0]]


def test_stopped_and_resumed(truth: tuple, tmp_path: Path) -> None:
    """Dies if a checkpoint loses optimiser state, patience, epoch or the best params."""
    first, ended = _run(tmp_path / "c", MEMBERS, stop=3)
    rest = [m for m in MEMBERS if m not in ended]
    second, later = _run(tmp_path / "c", rest)
    joined = {
        m: first.get(m, []) + [s for s in second.get(m, []) if s not in first[m]] for m in MEMBERS
    }
    assert joined == truth[0]
    assert {**ended, **later} == truth[1]
    trained = [s[0] for scores in second.values() for s in scores if s[1] == "train"]
    assert min(trained) == 4  # it did resume


def test_evaluated_now_and_then(tmp_path: Path) -> None:
    """Dies if lanes are evaluated by the population's epochs (the second lane is refilled after
    one), if the last epoch is not, or if an evaluation changes what is learned."""
    members = [MEMBERS[0], toy.member(9, learning_rate=1e38), MEMBERS[1]]
    often = _run(tmp_path / "a", members, lanes=2, patience=0)[0]
    seldom, ended = _run(tmp_path / "b", members, lanes=2, patience=0, evaluate_every=4)
    for who in (MEMBERS[0], MEMBERS[1]):
        kept = [s for s in often[who] if s[1] == "train" or (s[1] == "dev" and s[0] in (4, 6))]
        assert [s for s in seldom[who] if s[1] != "test"] == kept
        assert ended[who].reported_epoch in (4, 6)
    assert (ended[members[1]].status, ended[members[1]].epoch) == ("diverged", 1)


def test_records_come_before_the_checkpoint(tmp_path: Path) -> None:
    """Dies if an epoch whose records failed is checkpointed as done."""

    class Full(Exception):
        pass

    def record(report: Report) -> None:
        if report.scores[0].epoch == 2:
            raise Full

    problem, devices = toy.problem(checkpoint_every=1), jax.devices()[:2]
    with pytest.raises(Full):
        list(toy.train(problem, MEMBERS, tmp_path / "c", record, 6, devices))
    resumed, _ = _run(tmp_path / "c", MEMBERS)
    assert min(s[0] for s in resumed[MEMBERS[0]] if s[1] == "train") == 2


def test_short_epochs_are_checkpointed_seldom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if trainings of short epochs spend their time on checkpoints, or what is stopped keeps
    none."""
    monkeypatch.setattr(loop, "_SECONDS", 600.0)
    problem, devices = toy.problem(checkpoint_every=1), jax.devices()[:2]
    reports = toy.reports(problem, MEMBERS, tmp_path, lambda report: None, 6, devices)
    for _ in zip(range(3), reports, strict=False):
        assert not [*tmp_path.iterdir()]
    reports.close()
    assert [path.name for path in tmp_path.iterdir()] == ["3"]


def test_the_end_needs_no_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a full disk fails a training of which every epoch is recorded."""
    monkeypatch.setattr(loop, "_SECONDS", 0.0)
    monkeypatch.setattr(loop._Checkpoints, "save", None)
    problem, devices = toy.problem(checkpoint_every=1, epochs=1), jax.devices()[:2]
    list(toy.train(problem, MEMBERS[:2], tmp_path, lambda report: None, 2, devices))


def test_a_member_that_cannot_start_fails_alone(truth: tuple, tmp_path: Path) -> None:
    """Dies if one member's bad split stops the others."""

    def split(number: int) -> Any:
        if number == 13:
            raise DataError("no such split")
        return toy.split(1, number)

    ended = {}

    def record(report: Report) -> None:
        ended.update({end.member: end for end in report.ended})

    problem = toy.problem()._replace(split=split)
    cursed = toy.member(1, 13)
    members, devices = [MEMBERS[0], cursed, MEMBERS[1]], jax.devices()[:2]
    list(toy.train(problem, members, tmp_path / "c", record, 6, devices))
    assert ended[cursed].status == "failed" and "no such split" in ended[cursed].message
    assert dataclasses.replace(ended[MEMBERS[1]], seconds=0.0) == truth[1][MEMBERS[1]]


def test_programs_are_compiled_once_and_told_first(truth: tuple, tmp_path: Path) -> None:
    """Dies if a program that fits is compiled again, one that does not is called, or a population
    trains before what it compiles is told."""
    programs: Programs = {}

    def compiled(name: str, members: list[Member], count: int) -> int:
        happening = toy.train(toy.problem(), members, tmp_path / name, ended, count, *more)
        events = [*happening]
        compilations = [event for event in events if isinstance(event, Compiling)]
        assert compilations == events[: len(compilations)] and len(events) > len(compilations)
        assert all(compilations.count((name, None, False)) == 1 for name, *_ in compilations)
        ready = [event.ready for event in compilations]
        assert ready.count(True) == bool(ready) and ready[-1:] in ([], [True])
        return len(compilations)

    def ended(report: Report) -> None:
        ends.update({end.member: dataclasses.replace(end, seconds=0.0) for end in report.ended})

    ends: dict[Member, Any] = {}
    more = (jax.devices()[:2], programs)
    assert compiled("first", MEMBERS[:2], 2) == 8  # four programs, each begun and done
    assert compiled("again", MEMBERS[2:], 2) == 0
    assert ends == truth[1]
    assert compiled("wider", MEMBERS, 6) == 8
    assert compiled("other names", [toy.member(1, more=0.0)], 2) == 8
    assert len(programs) == 3
    more = (jax.devices()[2:4], *more[1:])
    assert compiled("other devices", MEMBERS[:2], 2) == 8
    assert {key[3] for key in programs} == {*map(lanes.make_mesh, (more[0], jax.devices()[:2]))}


def test_shared_tables_are_arguments() -> None:
    """Dies if a table is closed over: the program's text would then hold its numbers."""

    def loss(params: Any, carry: Any, batch: Batch, *rest: Any) -> tuple:
        value, carry = toy.TASK.loss(params, carry, batch, *rest)
        return value + batch.shared["big"].sum(), carry

    toys = toy.problem()._replace(task=dataclasses.replace(toy.TASK, loss=loss))
    # equal numbers would be written as one
    table = np.random.default_rng(0).random(300_000, np.float32)
    corpus = toys.corpus._replace(shared={**toys.corpus.shared, "big": table})
    problem = toys._replace(corpus=corpus)
    population = Population(problem, MEMBERS, 2, jax.devices()[:1])
    flags = population.flags([True] * len(population.slots))
    lowered = population.engine.epoch.lower(
        population.engine.shared, population.state, population.lanes, flags
    )
    assert len(lowered.as_text()) < 300_000
