"""`jaxeval tune` of configs as a verb: its results, what it refuses."""

from pathlib import Path
from typing import Any

import pytest

from jaxeval import runs, tasks
from jaxeval import space as spaces
from jaxeval.errors import ConfigError
from jaxeval.tune import target as targets
from jaxeval.tuning import Search
from jaxeval.tuning.history import Halving
from tests.studies import toy_kind
from tests.verbs import tune

RATE = {"key": "training.optimiser.hyperparameters.learning_rate", "log_uniform": [1e-3, 0.1]}
WRONG: list[tuple[dict[str, Any], list[str], str]] = [
    ({"rate": {"key": "model.rat", "uniform": [0, 1]}}, [], r"rate: model\.rat: unknown key; did"),
    ({"learning_rate": {"uniform": [0, 1]}}, [], "learning_rate: sets nothing; add key"),
    ({"rate": RATE}, ["training.evaluate_every=2"], "--min-epochs: expected a multiple of"),
    ({"rate": RATE}, ["training.epochs=1"], "--min-epochs: expected fewer than training.epochs"),
    ({"rate": RATE}, ["training.optimiser.steps=[[1,0.05]]"], "rate: sets .* which .*steps"),
]


@pytest.fixture(autouse=True)
def kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "KINDS", toy_kind.KINDS)


@pytest.mark.parametrize(("space", "changes", "message"), WRONG)
def test_what_no_search_can_be_over_is_refused(
    space: dict[str, Any], changes: list[str], message: str
) -> None:
    """Dies if every setting is a failure, or rungs read the score of an earlier epoch."""
    search = Search(spaces.from_dict(space), "sobol", halving=Halving(2))
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
