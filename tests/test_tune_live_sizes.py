"""`jaxeval tune --halving` over sizes: members of several sizes share a program, and refill it."""

from pathlib import Path
from typing import Any

import pytest

from jaxeval import runs, studies
from jaxeval.population import host
from jaxeval.space import space as spaces
from jaxeval.studies import events, padding
from jaxeval.studies.buckets import ShapeBucket
from jaxeval.tasks import registry
from jaxeval.tune import configs, live, targets, trainings
from jaxeval.tune.configs import Bounds
from jaxeval.tuning import history as histories
from jaxeval.tuning.halving import Halving
from jaxeval.tuning.history import History
from jaxeval.tuning.search import Search
from tests.studies import toy_sizes

RATE = {
    "key": "training.optimiser.hyperparameters.learning_rate",
    "log_uniform": [1e-3, 0.1],
}
EVEN = {"key": "model.width", "choices": [2, 6, 12]}
SIZES = {
    "rate": RATE,
    "width": EVEN,
    "rows": {"key": "training.batch_size", "integer": [4, 16], "step": 4},
    "scheduler": {"choices": ["none", "plateau"]},
    "factor": {
        "key": "training.plateau.factor",
        "uniform": [0.1, 0.9],
        "when": {"scheduler": ["plateau"]},
    },
}
BOUNDS = Bounds(10, 3)


class _Crash(Exception):
    """As kill -9: nothing more is saved."""


class _Search:
    """A search over the toy's sizes, and its history as it was saved."""

    def __init__(self, space: dict[str, Any], saved: History | None = None) -> None:
        self.search = Search(spaces.from_dict(space), "sobol", seed=3, halving=Halving(2))
        self.target = targets.target({"task": "sizes"}, [], None, self.search)
        self.saved = [History() if saved is None else saved]

    def go_on(self, folder: Path, crash: int = 10**6, bounds: Bounds = BOUNDS) -> History:
        """The last history that is saved; a crash ends it after so many."""

        def save(history: History) -> None:
            self.saved.append(histories.from_dict(histories.to_dict(history)))
            if len(self.saved) - 1 == crash:
                raise _Crash

        with runs.open_store(folder) as store:
            arguments = self.target, self.search, self.saved[-1], store, folder, bounds, save
            self.epochs = [e for e in live.tune(*arguments) if isinstance(e, events.Epoch)]
        return self.saved[-1]

    @property
    def compiled(self) -> int:
        """Programs that the search has compiled."""
        return sum(map(len, self.target.session.programs.values()))


@pytest.fixture(autouse=True)
def kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "KINDS", toy_sizes.KINDS)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[History]]:
    """A search that nothing interrupts: its folder, and all that it saved."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "KINDS", toy_sizes.KINDS)
        folder = tmp_path_factory.mktemp("whole")
        search = _Search(SIZES)
        search.go_on(folder)
    assert search.compiled == 1
    return folder, search.saved


def _rows(folder: Path) -> list[tuple]:
    return sorted(
        (r.seed, r.hparams, r.status, r.epochs, r.dev, r.test) for r in runs.load(folder)
    )


def _left(folder: Path) -> list[str]:
    """Checkpoints that nobody has removed."""
    return [path.name for path in (folder / "checkpoints").glob("*") if path.is_dir()]


def test_settings_of_several_sizes_refill_one_population(
    whole: tuple[Path, list[History]],
) -> None:
    """Dies if a size, a batch size or a schedule that a setting lacks makes a program of its own,
    or a lane idles while a setting that its program holds can be proposed."""
    folder, (*_, history) = whole
    joined = [e.joined for e in history.evaluations if e.joined is not None]
    assert len(histories.ended(history)) == len(joined) == 10
    assert {population for population, _ in joined} == {0}
    assert sum(epochs > 0 for _, epochs in joined) == 7
    for name in SIZES:
        assert len({e.values.get(name) for e in history.evaluations}) > 1
    assert not _left(folder)


def _trained(search: _Search, number: int, history: History, folder: Path) -> float | None:
    """The dev score of a setting trained alone, in the shape that the search padded it to."""
    with runs.open_store(folder) as store:
        known = trainings.of_search(search.target, store, BOUNDS)
        evaluation = history.evaluations[number]
        program = known.program(evaluation)
        assert program.shape is not None
        cohort = program.cohort([known.entry(evaluation)], f"alone-{number}")
        (end,) = [
            event
            for event in studies.run_cohorts(
                [cohort], store, folder, session=search.target.session
            )
            if isinstance(event, events.Ended)
        ]
    return end.result.dev


def test_a_score_is_that_of_a_training_alone(
    whole: tuple[Path, list[History]], tmp_path: Path
) -> None:
    """Dies if a score depends on who else is trained, on when the setting joined, or on the shape
    by more than rounding: one more of the 16 rows of dev."""
    _, (*_, history) = whole
    went_on = [
        e
        for e in history.evaluations
        if e.result is not None and e.result.scores and e.result.stopped is None
    ]
    assert len({e.values["width"] for e in went_on}) > 1 and any(e.joined[1] for e in went_on)
    search = _Search(SIZES)
    for evaluation in went_on:
        assert evaluation.result is not None
        alone = _trained(search, evaluation.number, history, tmp_path / "padded")
        assert (alone,) == evaluation.result.scores
        with runs.open_store(tmp_path / "own") as store:
            trials = search.target.trials(evaluation)
            *_, end, _ = studies.run(trials, store, tmp_path / "own")
        assert end.result.dev == pytest.approx(alone, abs=1 / 16 + 1e-6)


@pytest.mark.parametrize("crash", [1, 3, 5, -2])
def test_a_killed_search_ends_the_same(
    whole: tuple[Path, list[History]], tmp_path: Path, crash: int
) -> None:
    """Dies if members of several sizes are resumed in another shape, or decided on anew."""
    folder, saved = whole
    killed = _Search(SIZES)
    with pytest.raises(_Crash):
        killed.go_on(tmp_path, crash % len(saved))
    assert _Search(SIZES, killed.saved[-1]).go_on(tmp_path) == saved[-1]
    assert _rows(tmp_path) == _rows(folder)
    assert not _left(tmp_path)


def _only(monkeypatch: pytest.MonkeyPatch, grain: int) -> None:
    """Shapes of even or odd widths only."""
    chosen = configs.shape_buckets_of

    def of_grain(*arguments: Any) -> list[ShapeBucket]:
        buckets = chosen(*arguments)
        return [b for b in buckets if b.shape.member_sizes.width % 2 == grain]

    monkeypatch.setattr(configs, "shape_buckets_of", of_grain)


def test_what_no_shape_holds_has_a_program_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if such a setting is padded, fails, or joins a population that is not its program's."""
    _only(monkeypatch, 0)
    search = _Search({"rate": RATE, "width": {"key": "model.width", "choices": [2, 5, 6]}})
    history = search.go_on(tmp_path)
    of = {}
    for evaluation in history.evaluations:
        assert evaluation.result is not None and evaluation.result.scores
        assert evaluation.joined is not None
        of.setdefault(evaluation.joined[0], set()).add(evaluation.values["width"])
    assert {5} in of.values() and {2, 6} in of.values() and len(of) == 2
    assert search.compiled == 2


def test_other_shapes_take_up_what_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a setting that the new shapes do not hold is lost, a checkpoint of another shape is
    taken up or left behind, or a decision is taken back."""
    space = {"rate": RATE, "width": {"key": "model.width", "choices": [2, 6]}}
    killed = _Search(space)
    with pytest.raises(_Crash):
        killed.go_on(tmp_path, 5)
    before = killed.saved[-1]
    assert _left(tmp_path)
    _only(monkeypatch, 1)
    history = _Search(space, before).go_on(tmp_path)
    assert len(histories.ended(history)) == len(_rows(tmp_path)) == 10
    assert not _left(tmp_path)
    for known, evaluation in zip(before.evaluations, history.evaluations, strict=False):
        assert evaluation.values == known.values
        assert evaluation.rungs[: len(known.rungs)] == known.rungs
        assert known.result in (None, evaluation.result)
    ended = {e.number for e in histories.ended(before)}
    widths: dict[int, set[int]] = {}
    for evaluation in history.evaluations:
        if evaluation.number not in ended:
            assert evaluation.joined is not None
            width = evaluation.values["width"]
            widths.setdefault(evaluation.joined[0], set()).add(width)  # type: ignore[arg-type]
    assert all(len(of) == 1 for of in widths.values()) and len(widths) > 1


def _no_room_for_wide(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Memory runs out in the widest shape after two epochs; lanes of each that did so."""
    epoch, lanes = host.Population.epoch, []

    def short(population: host.Population) -> host.Report:
        table = population.state.params["table"]
        if table.shape[-1] == 12 and population.epochs == 2:
            lanes.append(len(population.slots))
            raise MemoryError("toy")
        return epoch(population)

    monkeypatch.setattr(host.Population, "epoch", short)
    return lanes


WIDE = Bounds(8, 5)  # lanes are rounded up to a multiple of four devices
WIDTHS = {"rate": RATE, "width": {"key": "model.width", "choices": [2, 6, 12]}}


def test_a_setting_fails_for_its_own_size_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if settings fail with the shape that they are padded to, or one that does not fit at
    its own size ends the search, or a search that was killed meanwhile ends otherwise."""
    lanes = _no_room_for_wide(monkeypatch)
    search = _Search(WIDTHS)
    history = search.go_on(tmp_path / "whole", bounds=WIDE)
    assert lanes[:2] == [8, 4]
    for evaluation in history.evaluations:
        assert evaluation.result is not None
        wide = evaluation.values["width"] == 12
        assert bool(evaluation.result.failure) <= wide
        if evaluation.result.failure:
            assert evaluation.own_size and evaluation.result == trainings.NO_ROOM
    assert any(e.own_size and e.result and e.result.scores for e in history.evaluations)
    assert any(e.result and e.result.failure for e in history.evaluations)
    assert not _left(tmp_path / "whole")
    for crash in range(1, len(search.saved) - 1, 5):
        killed, folder = _Search(WIDTHS), tmp_path / str(crash)
        with pytest.raises(_Crash):
            killed.go_on(folder, crash, WIDE)
        assert _Search(WIDTHS, killed.saved[-1]).go_on(folder, bounds=WIDE) == history
        assert _rows(folder) == _rows(tmp_path / "whole")


def test_a_program_takes_what_it_has_room_for(tmp_path: Path) -> None:
    """Dies if a program is given more steps than it has room for, or a traced value that its
    members do not have; or if the smallest batches of the space are not those of its room."""
    search = _Search(SIZES)
    with runs.open_store(tmp_path) as store:
        known = trainings.of_search(search.target, store, BOUNDS)
    (program,) = known.padded
    assert program.rows == 4 and program.sizes == ["width"]
    history = histories.propose(History(), {"rate": 0.01, "width": 6, "rows": 4}, [1])
    entry = known.entry(history.evaluations[0])
    assert program.takes(entry)
    assert not program.takes(padding.in_batches(entry, 3))
    loader, rows = search.target.session.loader, program.config.training.micro_batch
    assert program.shape is not None
    without = padding.open_padded(program.shape, rows, [entry], loader, {}, ["width"], 4)
    planned = histories.propose(
        History(), {"rate": 0.01, "width": 6, "rows": 4, "factor": 0.5}, [1]
    )
    decays = known.entry(planned.evaluations[0])
    assert program.takes(decays)
    assert without.takes(decays) != without.takes(entry)
