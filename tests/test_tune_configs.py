"""`python -m jaxeval.tune` of configs: stop and go on, what cannot be trained, the plan."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import pytest

from jaxeval import runs, studies
from jaxeval.errors import JaxevalError
from jaxeval.population import engine, loop
from jaxeval.space import space as spaces
from jaxeval.studies import memory
from jaxeval.studies import prepared as preparing
from jaxeval.tasks import registry
from jaxeval.tune import __main__ as tune
from jaxeval.tune import configs, targets
from jaxeval.tuning import history as histories
from jaxeval.tuning import search as searches
from jaxeval.tuning.halving import Halving
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
    asked = configs.batch(target, [evaluation])
    assert not asked.cohorts and "training.batch_size" in asked.failed[0].failure
    with runs.open_store(tmp_path) as store:
        bounds = configs.Bounds(1, 1)
        happening = configs.tune(target, search, history, store, tmp_path, bounds)
        *_, told = happening
    assert isinstance(told, configs.Told) and not histories.pending(told.history)


def test_what_the_memory_has_no_room_for_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a population that does not fit ends the search, is not tried lane by lane, or
    another error of the device counts as this one."""
    target, real = _target(monkeypatch), studies.run_cohorts
    widths: list[int | None] = []
    told = "RESOURCE_EXHAUSTED: Out of memory allocating 1 bytes."

    def run_cohorts(planned: Any, *arguments: Any, lanes: int | None, **more: Any) -> Any:
        widths.append(lanes)
        if lanes != 1 or len(widths) > 2:
            raise jax.errors.JaxRuntimeError(told)
        yield from real(planned, *arguments, lanes=lanes, **more)

    monkeypatch.setattr(studies, "run_cohorts", run_cohorts)
    whole = _go_on(target, tmp_path / "whole", History())[-1]
    results = [e.result for e in whole.evaluations]
    assert len(histories.ended(whole)) == 6
    failures = {result.failure for result in results if result is not None}
    assert failures == {"", "out of memory"} and widths == [6, 1, 6, 1]
    told = "INTERNAL: something else"
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
    count = preparing.parameters(target.base.problem, preparing.member_of(target.base))
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
    asked = configs.batch(target, history.evaluations)
    assert [len(cohort.members) for cohort in asked.cohorts] == [6]
    assert all(isinstance(trial, studies.Trial) for trial in asked.trials)


_SIZES = {
    "rows": {"key": "training.batch_size", "integer": [4, 16], "step": 4},
    "embedding": {"key": "model.embedding", "integer": [4, 8], "step": 2},
    "hidden": {"key": "model.hidden", "choices": [4, 8]},
}
_WORDS = {
    "task": "seq2seq",
    "model": {"architecture": "attentive_lstm", "embedding": 4, "hidden": 4},
    "training": {"epochs": 1, "evaluation_batch_size": 16, "lanes": 2},
}


def _words(folder: Path) -> None:
    for part, words in (
        ("train", ["ab", "ba", "aab", "abb"] * 6),
        ("dev", ["ba"]),
        ("test", ["ab"]),
    ):
        lines = [f"{word}\t{word[::-1]}\n" for word in words]
        (folder / f"{part}.tsv").write_text("".join(lines))


def test_what_is_compiled_in(tmp_path: Path) -> None:
    """Dies if traced values count as compiled in, sizes do where they are padded, or do not where
    they are not: successive halving pads none."""
    _words(tmp_path)
    rate = "training.optimiser.hyperparameters.learning_rate"
    more = {
        "rate": {"key": rate, "uniform": [0.1, 0.2]},
        "beam": {"key": "model.beam", "choices": [1, 2]},
        "kind": {"choices": ["a", "b"]},
    }
    space = spaces.from_dict({**_SIZES, **more})
    for halving, compiled in ((None, ("beam",)), (Halving(2), (*_SIZES, "beam"))):
        search = Search(space, "random", halving=halving)
        target = targets.target(_WORDS, ["data.max_widths=1"], str(tmp_path), search)
        assert target.compiled == compiled


def test_the_second_batch_compiles_nothing(tmp_path: Path) -> None:
    """Dies if a batch is padded to its own sizes, or has room for its own steps or names only.

    By all that a program is found by (`loop.Programs`): to compile one takes seconds.
    """
    _words(tmp_path)
    search = Search(spaces.from_dict(_SIZES), "random", seed=1)
    target = targets.target(_WORDS, ["data.max_widths=1"], str(tmp_path), search)
    padded_to = configs.templates_of(target, 20, 2)
    programs, sizes, history = set(), set(), History()
    for _ in range(6):
        history, asked = searches.ask(search, history, 2)
        for cohort in configs.batch(target, asked, padded_to).cohorts:
            steps = engine.most_steps(cohort.members, cohort.problem.split(0))
            names = tuple(name for name, _ in cohort.members[0].hparams)
            programs.add((cohort.program, max(steps, cohort.steps), names))
            sizes.add((tuple(max(e.values[name] for e in asked) for name in _SIZES), steps))
    assert len(sizes) > 3  # what the batches need differs
    assert len(programs) == 1


def test_a_long_search_compiles_more_to_pad_less(tmp_path: Path) -> None:
    """Dies if the length of the search is not weighed, a sample counts as a whole search, or a
    program has only the steps of the sample's batches that fell to it."""
    _words(tmp_path)
    search = Search(spaces.from_dict(_SIZES), "random", seed=1)
    target = targets.target(_WORDS, ["data.max_widths=1"], str(tmp_path), search)
    chosen = [configs.templates_of(target, trainings, 2) for trainings in (1, 10**9)]
    assert len(chosen[0]) == 1 < len(chosen[1])
    largest = {"embedding": 8, "hidden": 8}
    for templates in chosen:
        assert sum(t.extent.extent.sizes().items() >= largest.items() for t in templates) == 1
        rows = [e.prepared.config.training.batch_size for t in templates for e in t.entries]
        assert {*rows} == {4}


def test_a_population_has_room_for_further_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a population has only the steps of its own members in its arrays."""
    _words(tmp_path)
    search = Search(spaces.from_dict(_SIZES), "random", seed=1)
    target = targets.target(_WORDS, ["data.max_widths=1"], str(tmp_path), search)
    _, asked = searches.ask(search, History(), 1)
    (cohort,) = configs.batch(target, asked).cohorts
    most = 4 * engine.most_steps(cohort.members, cohort.problem.split(0))
    trained: list[loop.Population] = []

    def train(problem: Any, members: Any, *_: Any, steps: int, **more: Any) -> Iterator[Any]:
        trained.append(loop.Population(problem, members, 1, steps=steps))
        yield from ()

    monkeypatch.setattr(loop, "train", train)
    with runs.open_store(tmp_path) as store:
        list(studies.run_cohorts([cohort._replace(steps=most)], store, tmp_path))
    (population,) = trained
    assert population.lanes.inputs.steps.batch.shape == (len(population.slots), most)
