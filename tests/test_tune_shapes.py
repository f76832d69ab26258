"""`python -m jaxeval.tune` of configs whose sizes are padded: shapes, programs, memory."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import pytest

from jaxeval import runs, studies
from jaxeval.population import engine, host, loop
from jaxeval.space import space as spaces
from jaxeval.studies import cohorts, events
from jaxeval.tune import configs, targets
from jaxeval.tuning import history as histories
from jaxeval.tuning import search as searches
from jaxeval.tuning.halving import Halving
from jaxeval.tuning.history import History, Result
from jaxeval.tuning.search import Search

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


def _scored(entry: cohorts.Entry) -> events.Ended:
    ended = runs.MemberResult(
        *entry.key, "finished", 1, 1, 0.5, 0.5, 0.1, "map:1", "0", "0", "0", "cpu"
    )
    return events.Ended(entry.trial, ended)


def test_a_setting_fails_for_its_own_size_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a setting that was padded to the size of one that does not fit fails with it, or
    what has failed is not tried as it is, or has another's name for its checkpoints."""
    _words(tmp_path)
    space = spaces.from_dict({"hidden": _SIZES["hidden"]})
    search = Search(space, "random")
    target = targets.target(_WORDS, ["data.max_widths=1"], str(tmp_path), search)
    history = History()
    for hidden in (4, 8):
        history = histories.propose(history, {"hidden": hidden}, [hidden])
    tried: list[tuple[int, int, int | None]] = []
    names: set[str] = set()

    def run_cohorts(planned: Any, *_: Any, lanes: int | None, **more: Any) -> Any:
        (cohort,) = planned
        hidden = cohort.config.model.hidden
        tried.append((hidden, len(cohort.entries), lanes))
        if hidden == 8:
            raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory")
        names.add(cohort.name)
        yield from map(_scored, cohort.entries)

    monkeypatch.setattr(studies, "run_cohorts", run_cohorts)
    with runs.open_store(tmp_path) as store:
        bounds = configs.Bounds(2, 2)
        *_, event = configs.tune(target, search, history, store, tmp_path, bounds)
    assert tried == [(8, 2, 2), (8, 2, 1), (4, 1, 1), (8, 1, 1)] and len(names) == 1
    assert [e.result for e in event.history.evaluations] == [
        Result((0.5,)),
        Result(failure="out of memory"),
    ]


def test_what_is_compiled_in(tmp_path: Path) -> None:
    """Dies if traced values or sizes that are padded count as compiled in, with halving too."""
    _words(tmp_path)
    rate = "training.optimiser.hyperparameters.learning_rate"
    more = {
        "rate": {"key": rate, "uniform": [0.1, 0.2], "when": {"kind": ["a"]}},
        "beam": {"key": "model.beam", "choices": [1, 2]},
        "kind": {"choices": ["a", "b"]},
    }
    space = spaces.from_dict({**_SIZES, **more})
    for halving in (None, Halving(2)):
        search = Search(space, "random", halving=halving)
        target = targets.target(_WORDS, ["data.max_widths=1"], str(tmp_path), search)
        assert target.compiled == ("beam",)


def test_the_second_batch_compiles_nothing(tmp_path: Path) -> None:
    """Dies if a batch is padded to its own sizes, or has room for its own steps or names only.

    By all that a program is found by (`loop.Programs`): to compile one takes seconds.
    """
    _words(tmp_path)
    search = Search(spaces.from_dict(_SIZES), "random", seed=1)
    target = targets.target(_WORDS, ["data.max_widths=1"], str(tmp_path), search)
    padded_to = configs.shape_buckets_of(target, 20, 2)
    programs, sizes, history = set(), set(), History()
    for _ in range(6):
        history, proposed = searches.ask(search, history, 2)
        for cohort in configs.batch(target, proposed, padded_to).cohorts:
            steps = engine.most_steps(cohort.members, cohort.problem.split(0))
            names = tuple(name for name, _ in cohort.members[0].hparams)
            programs.add((cohort.program, max(steps, cohort.steps), names))
            sizes.add((tuple(max(e.values[name] for e in proposed) for name in _SIZES), steps))
    assert len(sizes) > 3  # what the batches need differs
    assert len(programs) == 1


def test_a_long_search_compiles_more_to_pad_less(tmp_path: Path) -> None:
    """Dies if the length of the search is not weighed, a sample counts as a whole search, or a
    program has only the steps of the sample's batches that fell to it."""
    _words(tmp_path)
    search = Search(spaces.from_dict(_SIZES), "random", seed=1)
    target = targets.target(_WORDS, ["data.max_widths=1"], str(tmp_path), search)
    chosen = [configs.shape_buckets_of(target, trainings, 2) for trainings in (1, 10**9)]
    assert len(chosen[0]) == 1 < len(chosen[1])
    largest = {"embedding": 8, "hidden": 8}
    for buckets in chosen:
        assert sum(b.shape.member_sizes.sizes().items() >= largest.items() for b in buckets) == 1
        rows = [e.prepared.config.training.batch_size for b in buckets for e in b.entries]
        assert {*rows} == {4}


def test_a_population_has_room_for_further_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a population has only the steps of its own members in its arrays."""
    _words(tmp_path)
    search = Search(spaces.from_dict(_SIZES), "random", seed=1)
    target = targets.target(_WORDS, ["data.max_widths=1"], str(tmp_path), search)
    _, proposed = searches.ask(search, History(), 1)
    (cohort,) = configs.batch(target, proposed).cohorts
    most = 4 * engine.most_steps(cohort.members, cohort.problem.split(0))
    trained: list[host.Population] = []

    def train(problem: Any, members: Any, *_: Any, steps: int, **more: Any) -> Iterator[Any]:
        trained.append(host.Population(problem, members, 1, steps=steps))
        yield from ()

    monkeypatch.setattr(loop, "train", train)
    with runs.open_store(tmp_path) as store:
        list(studies.run_cohorts([cohort._replace(steps=most)], store, tmp_path))
    (population,) = trained
    assert population.lanes.inputs.steps.batch.shape == (len(population.slots), most)
