"""Selections among models of sentiment as in Moss et al. (2019): evaluation k has split k, seed k.

Two bags of words see a corpus of 30 sentences for two epochs: what they learn does not matter.
"""

import signal
import time
from pathlib import Path
from typing import Any

import pytest

from jaxeval import runs, studies
from jaxeval.bandits import SequentialHalving, TopTwoThompson
from jaxeval.config import shipped
from jaxeval.population import engine
from jaxeval.select import training
from tests import processes

TINY = [
    *("data.source.sentences=30", "data.dimension=8", "data.max_widths=1"),
    *("training.batch_size=8", "training.evaluation_batch_size=32", "training.epochs=2"),
]
RULE = TopTwoThompson(delta=1e-9, budget=14, batch_size=4)
OPTIONS = ["--delta", "1e-9", "--budget", "14", "--batch", "4"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two configs that differ in what is compiled."""
    clipped = tmp_path_factory.mktemp("configs") / "clipped.toml"
    text = shipped.read_text("baselines/bag").replace('"none"', '"global_norm"')
    clipped.write_text(text.replace('name = "bag"', 'name = "clipped"', 1))
    return ["baselines/bag", str(clipped)]


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Grows by one with every compilation of a population's programs."""
    calls: list[Any] = []
    original = engine.compile_all

    def counted(*arguments: Any) -> Any:
        calls.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(engine, "compile_all", counted)
    return calls


def test_a_batch_is_a_cohort_a_model(
    models: list[str], tmp_path: Path, compiled: list[Any]
) -> None:
    """Dies if evaluations of a model in one batch are trained one after the other, later batches
    compile, evaluation k is of another split or seed, or another part's score is told."""
    arms = training.arms(models, TINY)
    batches, cohorts, state = [], [], RULE.begin([*arms.configs])
    with runs.open_store(tmp_path) as store:
        for event in training.steps(RULE, arms, store, tmp_path):
            if isinstance(event, training.BatchStarted):
                batches.append([*event.evaluations.values()])
            elif isinstance(event, studies.events.Started):
                cohorts.append(len(event.cohort.members))
            state = getattr(event, "state", state)
    assert len(batches) > 2 and cohorts == [size for batch in batches for size in batch]
    assert len(compiled) == len(arms.configs)
    rows = runs.load(tmp_path)
    assert all(row.seed == row.split for row in rows)
    for model, scores in state.scores.items():
        assert scores == {row.split: row.test for row in rows if row.name == model}


def test_another_rule_finds_the_programs(
    models: list[str], tmp_path: Path, compiled: list[Any]
) -> None:
    """Dies if a batch of another size has as many lanes, and so compiles programs of its own,
    where lanes change no score, or a score depends on them."""
    arms = training.arms(models, TINY)
    rules = TopTwoThompson(delta=1e-9, budget=6), SequentialHalving(budget=8)
    first, second = (
        training.select(rule, arms, tmp_path / str(number), quiet=True)
        for number, rule in enumerate(rules)
    )
    assert len(compiled) == len(arms.configs)
    for model, scores in first.scores.items():
        assert scores[:3] == second.scores[model][:3]


def test_a_killed_selection_ends_as_one_that_was_not(
    models: list[str], tmp_path: Path, compiled: list[Any]
) -> None:
    """Dies if kill -9 loses what was pending, the same command chooses anything else, or a block
    is as large as its split lets it be: another shape, another program."""
    arms = training.arms(models, [*TINY, "data.split=block"])
    whole = training.select(RULE, arms, tmp_path / "whole", quiet=True)
    words = [*models, *TINY, "data.split=block", *OPTIONS, "--out", str(tmp_path / "killed")]
    process = processes.start("jaxeval.select.__main__", *words)
    while ", evaluation " not in process.errors():  # a score was told: the state is on disk
        assert not process.ended(), process.errors()
        time.sleep(0.02)
    process.send(signal.SIGKILL)
    process.wait()
    known = len(runs.load(tmp_path / "killed"))
    assert 0 < known < 14
    again = training.select(RULE, arms, tmp_path / "killed", quiet=True)
    assert again == whole and again.evaluations == 14
    assert len(runs.load(tmp_path / "killed")) == 14
    assert len(compiled) == len(models)
