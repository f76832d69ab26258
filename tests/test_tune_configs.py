"""`python -m jaxeval.tune` of configs: stop and go on, what cannot be trained, the plan."""

import contextlib
import json
from pathlib import Path
from typing import Any

import jax
import pytest

from jaxeval import runs, studies
from jaxeval.errors import JaxevalError
from jaxeval.space import space as spaces
from jaxeval.studies import memory, proposers, running
from jaxeval.studies import prepared as preparing
from jaxeval.tasks import registry
from jaxeval.tune import __main__ as tune
from jaxeval.tune import configs, targets
from jaxeval.tuning import history as histories
from jaxeval.tuning.history import History
from jaxeval.tuning.search import Search
from tests.studies import toy_kind

TOY_SPACE = spaces.from_dict(
    {
        "rate": {"key": "model.rate", "uniform": [0.0, 1.0]},
        "noise": {"key": "model.noise", "uniform": [0.0, 0.9]},
    }
)
TOY_SEARCH = Search(TOY_SPACE, "sobol", seed=2, seeds=2)


def _target(monkeypatch: pytest.MonkeyPatch, search: Search = TOY_SEARCH) -> targets.Target:
    monkeypatch.setattr(registry, "KINDS", toy_kind.KINDS)
    return targets.target({"task": "toy"}, [], None, search)


def test_a_key_that_no_config_has_is_refused_before_the_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Dies if a misspelled key makes every setting a failure, or a dry run pass."""
    for key, message in [
        ("model.rat", r"space: rate: model\.rat: unknown key; did you mean model\.rate\?"),
        ("modl.rate", r"modl: unknown key; did you mean model\?"),
        ("model.rate.x", r"model\.rate\.x: unknown key; model\.rate has no keys"),
    ]:
        space = spaces.from_dict({"rate": {"key": key, "uniform": [0.0, 1.0]}})
        with pytest.raises(JaxevalError, match=message):
            _target(monkeypatch, Search(space, "sobol"))
    rate = {"key": "training.optimiser.hyperparameters.learning_rate", "uniform": [0.0, 1.0]}
    _target(monkeypatch, Search(spaces.from_dict({"rate": rate}), "sobol"))


def test_a_rate_that_steps_replace_is_refused() -> None:
    """Dies if a sweep or a search draws a learning rate that trainings take from the steps."""
    key = "training.optimiser.hyperparameters.learning_rate"
    of = spaces.from_dict({"rate": {"key": key, "uniform": [0.0, 1.0]}})
    steps = studies.read(None, ["training.optimiser.steps=[[1,0.05]]"])
    later = studies.read(
        None, ["training.optimiser.steps=[[2,0.05]]"]
    )  # epoch 1 has the drawn one
    for free in (studies.read(None), later):
        proposers.refuse_leaks(free, of, "space")
    with pytest.raises(JaxevalError, match=f"^space: rate: sets {key}, which .*steps") as refused:
        proposers.refuse_leaks(steps, of, "space")
    assert "\n" not in str(refused.value)


def test_a_hyperparameter_that_sets_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a forgotten key makes all trainings one config, or a condition's is refused."""
    of = {"learning_rate": {"uniform": [0.1, 1.0]}, "width": {"integer": [1, 2]}}
    rate = {"key": "model.rate", "uniform": [0.0, 1.0], "when": {"width": [1]}}
    key = r"training\.optimiser\.hyperparameters\.learning_rate"
    for tables, message in [
        (of, rf"space: learning_rate: sets nothing; add key = \.\.\.; did you mean {key}\?"),
        ({"width": of["width"]}, r"space: width: sets nothing; .* did you mean model\.width\?"),
        ({"with": of["width"]}, r"space: with: sets nothing; add key = \.\.\.$"),
    ]:
        with pytest.raises(JaxevalError, match=message):
            _target(monkeypatch, Search(spaces.from_dict(tables), "sobol"))
    _target(monkeypatch, Search(spaces.from_dict({"width": of["width"], "rate": rate}), "sobol"))


def _go_on(
    of: targets.Target,
    folder: Path,
    history: History,
    stop: int | None = None,
    trials: int = 6,
) -> list[History]:
    """Every history that is saved, until so many evaluations have ended."""
    saved, ended = [], 0
    with runs.open_store(folder) as store:
        happening = configs.tune(of, TOY_SEARCH, history, store, folder, configs.Bounds(trials, 3))
        with contextlib.closing(happening):
            for event in happening:
                if isinstance(event, configs.Asked | configs.Told):
                    saved.append(event.history)
                ended += isinstance(event, configs.Scored)
                if ended == stop:
                    break
    return saved


def test_a_stopped_search_ends_as_one_that_was_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a batch that was stopped is proposed or trained again, or seeds are shared."""
    target = _target(monkeypatch)
    whole = _go_on(target, tmp_path / "whole", History())[-1]
    assert len(histories.ended(whole)) == 6
    rows = runs.load(tmp_path / "whole")
    assert sorted(row.seed for row in rows) == list(range(1, 13))
    scores = {(row.hparams, row.seed): row.dev for row in rows}
    for evaluation in whole.evaluations:
        identity = histories.identity(evaluation.values)
        expected = tuple(scores[identity, seed] for seed in evaluation.seeds)
        assert evaluation.result is not None and evaluation.result.scores == expected
    history = History()
    for stop in (2, 3, 4, 5):  # of three a batch
        history = _go_on(target, tmp_path / "parts", history, stop)[-1]
    assert history == whole
    assert len(runs.load(tmp_path / "parts")) == 12


def test_what_cannot_be_trained_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a setting that is no config, ends the search, or is trained."""
    bad = spaces.from_dict({"batch": {"key": "training.batch_size", "choices": [4, -4]}})
    search = Search(bad, "random")
    target = _target(monkeypatch, search)
    history = histories.propose(History(), {"batch": -4}, [1])
    (evaluation,) = history.evaluations
    batch = configs.batch(target, [evaluation])
    assert not batch.cohorts and "training.batch_size" in batch.failed[0].failure
    with runs.open_store(tmp_path) as store:
        bounds = configs.Bounds(1, 1)
        happening = configs.tune(target, search, history, store, tmp_path, bounds)
        *_, event = happening
    assert isinstance(event, configs.Told) and not histories.pending(event.history)


def test_what_the_memory_has_no_room_for_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a population that does not fit ends the search, is not tried lane by lane, or
    another error of the device counts as this one."""
    target, real = _target(monkeypatch), studies.run_cohorts
    widths: list[int | None] = []
    message = "RESOURCE_EXHAUSTED: Out of memory allocating 1 bytes."

    def run_cohorts(planned: Any, *arguments: Any, lanes: int | None, **more: Any) -> Any:
        widths.append(lanes)
        if lanes != 1 or len(widths) > 2:
            raise jax.errors.JaxRuntimeError(message)
        yield from real(planned, *arguments, lanes=lanes, **more)

    monkeypatch.setattr(studies, "run_cohorts", run_cohorts)
    whole = _go_on(target, tmp_path / "whole", History())[-1]
    results = [e.result for e in whole.evaluations]
    assert len(histories.ended(whole)) == 6
    failures = {result.failure for result in results if result is not None}
    assert failures == {"", "out of memory"} and widths == [6, 1, 6, 1]
    message = "INTERNAL: something else"
    with pytest.raises(jax.errors.JaxRuntimeError, match="something else"):
        _go_on(target, tmp_path / "other", History())


def test_lanes_that_the_memory_has_no_room_for_are_not_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a population that is refused ends the search, or idle lanes take no memory: the
    second batch has four members in six lanes."""
    target, real = _target(monkeypatch), studies.run_cohorts
    widths: list[int | None] = []

    def run_cohorts(*arguments: Any, lanes: int | None, **more: Any) -> Any:
        widths.append(lanes)
        yield from real(*arguments, lanes=lanes, **more)

    monkeypatch.setattr(studies, "run_cohorts", run_cohorts)
    count = memory.parameters(target.base.problem, preparing.member_of(target.base))
    monkeypatch.setattr(memory, "_bytes", lambda: 4.0 * count * (2 * 5 + 1))  # of five lanes
    whole = _go_on(target, tmp_path, History(), trials=5)[-1]
    assert widths == [6, 1, 6, 1]
    assert all(e.result is not None and e.result.scores for e in whole.evaluations)


def test_a_dry_run_shows_the_first_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Dies if a dry run writes anything, or does not say what would be trained."""
    monkeypatch.setattr(registry, "KINDS", toy_kind.KINDS)
    monkeypatch.chdir(tmp_path)
    Path("toy.toml").write_text('task = "toy"\n')
    Path("space.toml").write_text('[rate]\nkey = "model.rate"\nuniform = [0, 1]\n')
    words = ["toy.toml", "--space", "space.toml", "--trials", "20", "--parallel", "6"]
    assert tune.main([*words, "--dry-run"]) == 0
    assert "20 settings of 1 hyperparameter by gp, 6 at once in 4" in capsys.readouterr().out
    assert tune.main([*words[:3], "--trials", "3", "--dry-run"]) == 0
    assert "3 at once in 1 batch, 1 seed each" in capsys.readouterr().out
    assert tune.main([*words, "--dry-run", "--json", "-"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert tree["batches"] == 4 and tree["first"]["cohorts"][0]["runs"] == [1, 2, 3, 4, 5, 6]
    assert {path.name for path in tmp_path.iterdir()} == {"toy.toml", "space.toml"}


def test_settings_with_one_program_are_one_population(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if values that are traced cause another compilation."""
    target = _target(monkeypatch)
    history = History()
    for rate in (0.1, 0.2, 0.3):
        history = histories.propose(history, {"rate": rate, "noise": 0.2}, [1, 2])
    batch = configs.batch(target, history.evaluations)
    assert [len(cohort.members) for cohort in batch.cohorts] == [6]
    assert all(isinstance(trial, studies.Trial) for trial in batch.trials)


def test_checkpoints_of_other_shapes_are_removed_with_their_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a folder is left that a search which went on with other shapes has no use for, or
    another batch's, another search's or one that a process trains in is removed."""
    target = _target(monkeypatch)
    history = histories.propose(History(), {"rate": 0.1, "noise": 0.2}, [1])
    folder, name = tmp_path / "checkpoints", target.record.id
    kept = [f"{name}-1-0-old", f"{name}-10-0", "other-0-0", f"{name}-0-2-busy"]
    for left in (f"{name}-0-0-old", f"{name}-0-1", *kept):
        (folder / left / "3").mkdir(parents=True)
    with running.locked(tmp_path, kept[-1]):
        configs._forget(configs.batch(target, history.evaluations), name, tmp_path)
    assert {path.name for path in folder.iterdir() if path.is_dir()} == {*kept}
