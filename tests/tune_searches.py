"""Searches of small configs for tests of `tune`: they save, crash and go on."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from jaxeval import runs, tuning
from jaxeval import space as spaces
from jaxeval.population import host
from jaxeval.studies import launching
from jaxeval.tune import target as targets
from jaxeval.tune.populations import Populations
from jaxeval.tuning import State
from jaxeval.tuning.history import Halving, History

RATE = {"key": "training.optimiser.hyperparameters.learning_rate", "log_uniform": [1e-3, 0.1]}
TOY = {
    "learning": {**RATE, "log_uniform": [1e-4, 0.1]},
    "rows": {"key": "training.batch_size", "choices": [8, 16]},
}
SIZES = {
    "rate": RATE,
    "width": {"key": "model.width", "choices": [2, 6, 12]},
    "rows": {"key": "training.batch_size", "integer": [4, 16], "step": 4},
    "scheduler": {"choices": ["none", "plateau"]},
    "factor": {
        "key": "training.plateau.factor",
        "uniform": [0.1, 0.9],
        "when": {"scheduler": ["plateau"]},
    },
}
CHANGES = ["training.checkpoint_every=3", "training.epochs=5", "training.patience=0"]


class Crash(Exception):
    """As kill -9: nothing more is saved."""


class Search(State):
    """A search, and its history as it was saved; crashes after so many."""

    def __init__(
        self,
        space: Mapping[str, Any],
        task: str = "sizes",
        halving: int | None = 2,
        seeds: int = 1,
        saved: History | None = None,
    ) -> None:
        stops = None if halving is None else Halving(halving)
        search = tuning.Search(spaces.from_dict(dict(space)), "sobol", 3, seeds, halving=stops)
        super().__init__(search, History() if saved is None else saved)
        changes = CHANGES if task == "toy" else []
        self.target = targets.target({"task": task}, changes, None, self.search)
        self.saved, self.crash = [self.history], 10**6

    def save(self) -> None:
        super().save()
        self.saved.append(History.from_dict(self.history.to_dict()))
        if len(self.saved) - 1 == self.crash:
            raise Crash

    def go_on(
        self,
        folder: Path,
        crash: int = 10**6,
        trials: int = 6,
        parallel: int = 3,
        launcher: launching.Launcher | None = None,
    ) -> History:
        """The last history that is saved."""
        self.crash, self.trials = crash, trials
        with runs.open_store(folder) as store:
            how = folder, parallel, launcher is not None
            fed = Populations(self.target, self, store, *how)
            trained = launching.train(fed, store, folder, launcher)
            self.epochs = [e for e in trained if isinstance(e, host.Report)]
        return self.saved[-1]

    def killed(self, folder: Path, crash: int, **how: Any) -> History:
        """The last history that is saved before a crash."""
        with pytest.raises(Crash):
            self.go_on(folder, crash, **how)
        return self.saved[-1]

    @property
    def compiled(self) -> int:
        """Programs that the search has compiled."""
        return sum(map(len, self.target.session.programs.values()))


def rows(folder: Path) -> list[tuple]:
    return sorted(
        (r.seed, r.hparams, r.status, r.epochs, r.dev, r.test) for r in runs.load(folder)
    )


def left(folder: Path) -> list[str]:
    """Checkpoints that nobody has removed."""
    return [path.name for path in (folder / "checkpoints").glob("*") if path.is_dir()]
