"""`jaxeval tune --halving` of configs: lanes are refilled, and kill -9 changes nothing."""

from pathlib import Path
from typing import Any

import pytest

from jaxeval import runs
from jaxeval.errors import ConfigError, RunError
from jaxeval.population import host
from jaxeval.space import space as spaces
from jaxeval.studies import events, memory
from jaxeval.studies import prepared as preparing
from jaxeval.tasks import registry
from jaxeval.tune import live, targets
from jaxeval.tune.configs import Bounds
from jaxeval.tuning import history as histories
from jaxeval.tuning.halving import Halving
from jaxeval.tuning.history import History
from jaxeval.tuning.search import Search
from tests.studies import toy_kind

SPACE = spaces.from_dict(
    {
        "learning": {
            "key": "training.optimiser.hyperparameters.learning_rate",
            "log_uniform": [1e-4, 0.1],
        },
        "rows": {"key": "training.batch_size", "choices": [8, 16]},
    }
)
SEARCH = Search(SPACE, "sobol", seed=3, halving=Halving(2))
BOUNDS = Bounds(10, 3)
WIDE = Bounds(10, 5)  # lanes are rounded up to a multiple of four devices
CHANGES = ["training.checkpoint_every=3", "training.epochs=5", "training.patience=0"]


class _Crash(Exception):
    """As kill -9: nothing more is saved."""


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> targets.Target:
    monkeypatch.setattr(registry, "KINDS", toy_kind.KINDS)
    return targets.target({"task": "toy"}, CHANGES, None, SEARCH)


class _Journal:
    """Histories as they were saved; crashes after the one of this number."""

    def __init__(self, history: History, crash: int = 10**6) -> None:
        self.saved, self.crash = [history], crash

    def save(self, history: History) -> None:
        self.saved.append(histories.from_dict(histories.to_dict(history)))
        if len(self.saved) - 1 == self.crash:
            raise _Crash


def _go_on(
    target: targets.Target, folder: Path, journal: _Journal, bounds: Bounds = BOUNDS
) -> list[events.Epoch]:
    """The epochs of all populations."""
    with runs.open_store(folder) as store:
        happening = live.tune(
            target, SEARCH, journal.saved[-1], store, folder, bounds, journal.save
        )
        return [event for event in happening if isinstance(event, events.Epoch)]


def _rows(folder: Path) -> list[tuple]:
    return sorted(
        (r.seed, r.hparams, r.status, r.epochs, r.dev, r.test) for r in runs.load(folder)
    )


def test_lanes_are_refilled_and_a_killed_search_ends_the_same(
    target: targets.Target, tmp_path: Path
) -> None:
    """Dies if lanes idle while settings of their program can be proposed, a training goes on
    that is not among the best half, or a search that was killed decides anything anew."""
    journal = _Journal(History())
    epochs = _go_on(target, tmp_path / "whole", journal)
    whole = journal.saved[-1]
    assert len(histories.ended(whole)) == 10 and len({e.joined[0] for e in whole.evaluations}) > 1
    later = [e for e in whole.evaluations if e.joined is not None and e.joined[1] > 0]
    stopped = [e for e in whole.evaluations if e.result is not None and e.result.stopped]
    assert later and 3 < len(stopped) < 10
    rungs = SEARCH.halving.rungs(5) if SEARCH.halving else []
    for evaluation in stopped:
        assert evaluation.result is not None and evaluation.result.stopped is not None
        assert evaluation.result.stopped == (rungs[len(evaluation.rungs) - 1], 5)
        assert evaluation.result.scores == evaluation.rungs[-1:]
    recorded = {row.seed: row for row in runs.load(tmp_path / "whole")}
    for e in whole.evaluations:
        row, result = recorded[e.seeds[0]], e.result
        assert result is not None and row.dev == result.scores[0] and row.test is not None
        assert row.epochs == (result.stopped.epochs if result.stopped else 5)
    # a lane is idle only where no setting is left, or one of another program waits
    for event in epochs[:2]:
        assert sum(slot.active for slot in event.report.slots) + event.report.waiting >= 1
    for crash in (1, 4, len(journal.saved) - 2):
        folder, history = tmp_path / str(crash), History()
        killed = _Journal(history, crash)
        with pytest.raises(_Crash):
            _go_on(target, folder, killed)
        resumed = _Journal(killed.saved[-1])
        _go_on(target, folder, resumed)
        assert resumed.saved[-1] == whole
        assert _rows(folder) == _rows(tmp_path / "whole")


def test_the_last_score_ranks_where_the_last_epoch_is_scored(
    target: targets.Target, tmp_path: Path
) -> None:
    """Dies if a setting is told a best score that the weights which are kept do not have."""
    changes = [*CHANGES, "training.scored_epoch=last"]
    target = targets.target({"task": "toy"}, changes, None, SEARCH)
    journal = _Journal(History())
    _go_on(target, tmp_path, journal)
    recorded = {row.seed: row for row in runs.load(tmp_path)}
    whole, differs = journal.saved[-1], False
    for evaluation in whole.evaluations:
        row, result = recorded[evaluation.seeds[0]], evaluation.result
        assert result is not None and result.scores == (row.dev,) and row.best_epoch == row.epochs
        curves = runs.load_curves(tmp_path)
        differs |= max(c.value for c in curves if c.seed == row.seed and c.part == "dev") > row.dev
    assert differs


def test_a_lost_state_finds_what_is_recorded(target: targets.Target, tmp_path: Path) -> None:
    """Dies if settings whose results are recorded are trained again, or never told."""
    first, second = _Journal(History()), _Journal(History())
    _go_on(target, tmp_path, first)
    epochs = _go_on(target, tmp_path, second)
    assert not epochs
    assert [e.values for e in second.saved[-1].evaluations] == [
        e.values for e in first.saved[-1].evaluations
    ]


def test_rungs_are_where_dev_is_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a rung reads the score of an earlier epoch."""
    monkeypatch.setattr(registry, "KINDS", toy_kind.KINDS)
    refused = pytest.raises(ConfigError, match=r"--min-epochs: expected a multiple of .* 2, got 1")
    with refused:
        targets.target({"task": "toy"}, ["training.evaluate_every=2"], None, SEARCH)


def test_a_population_too_wide_for_memory_is_trained_lane_by_lane(
    target: targets.Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if settings fail that fit into memory one at a time, or a decision is lost on the way:
    memory runs out in all lanes, at first and after decisions."""
    epoch = host.Population.epoch

    def narrow(population: host.Population) -> host.Report:
        if len(population.slots) > 4 and population.epochs in (0, 3):
            raise MemoryError("toy")
        return epoch(population)

    monkeypatch.setattr(host.Population, "epoch", narrow)
    journal = _Journal(History())
    _go_on(target, tmp_path, journal, WIDE)
    ended = histories.ended(journal.saved[-1])
    assert len(ended) == 10 and all(e.result is not None and e.result.scores for e in ended)
    assert len(_rows(tmp_path)) == 10


def test_lanes_that_the_memory_has_no_room_for_are_not_tried(
    target: targets.Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a population that is refused ends the search, or lane by lane all count at once."""
    count = memory.parameters(target.base.problem, preparing.member_of(target.base))
    monkeypatch.setattr(memory, "_bytes", lambda: 4.0 * count * (2 * 2 + 1))  # of two lanes
    journal = _Journal(History())
    _go_on(target, tmp_path, journal)
    ended = histories.ended(journal.saved[-1])
    assert len(ended) == 10 and all(e.result is not None and e.result.scores for e in ended)


def test_a_decision_that_cannot_be_recorded_ends_the_search(
    target: targets.Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if the same population is trained for ever, or what was told is taken back."""
    score, widths = host.Population._score, []

    def no_test(population: host.Population, part: str, params: Any, chosen: Any) -> Any:
        if part == "test" and any(chosen):
            widths.append(len(population.slots))
            assert len(widths) <= 2
            raise MemoryError("toy")
        return score(population, part, params, chosen)

    monkeypatch.setattr(host.Population, "_score", no_test)
    journal = _Journal(History())
    with pytest.raises(RunError, match="to record it there is no memory"):
        _go_on(target, tmp_path, journal, WIDE)
    assert widths == [8, 4]
    assert not any(e.result and e.result.failure for e in journal.saved[-1].evaluations)


def test_what_hides_rungs_is_no_part_of_the_space(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if settings that score dev between the rungs only are never stopped, without a word."""
    monkeypatch.setattr(registry, "KINDS", toy_kind.KINDS)
    space = spaces.from_dict({"often": {"key": "training.evaluate_every", "choices": [1, 2]}})
    with pytest.raises(ConfigError, match="space: often: expected no training"):
        targets.target({"task": "toy"}, [], None, Search(space, "sobol", halving=Halving(2)))
    targets.target({"task": "toy"}, [], None, Search(space, "sobol"))
