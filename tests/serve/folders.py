"""A runs folder with a search, whose rows are written without any training."""

import json
import math
from pathlib import Path

from jaxeval import space, tuning
from jaxeval.config import reading
from tests.runs import test_store

SPACE = {
    "learning_rate": {"key": "training.learning_rate", "log_uniform": [1e-4, 1e-1]},
    "layers": {"key": "model.layers", "integer": [1, 4]},
    "cell": {"key": "model.cell", "choices": ["gru", "lstm"]},
}
SEARCH, TUNED = "6" * 16, "7" * 16


def _score(learning_rate: float, layers: int, cell: str) -> float:
    gap = math.log10(learning_rate) + 2.5
    return 0.8 - 0.05 * gap**2 + 0.02 * layers + 0.01 * (cell == "gru")


def write_search(folder: Path, count: int = 12) -> None:
    """Adds a search: some settings with scores, one that runs, two fresh seeds of the best."""
    search = tuning.Search(space.from_dict(SPACE), "sobol")
    history, trials = search.ask(tuning.History(), count)
    for trial in trials:
        history = history.tell(trial.number, _score(**trial.values))  # type: ignore[arg-type]
    chosen = search.best(history)
    assert chosen is not None
    path = folder / "tunings" / f"{SEARCH}.json"
    with tuning.opened(path, search, True, {"experiment": SEARCH}, count) as state:
        state.history = search.ask(history, 1)[0]
        state.save()
    best = dict(chosen.values)
    training = {"learning_rate": best.pop("learning_rate"), "epochs": 4}
    configs = {
        SEARCH: {"name": "base", "tuning": search.to_dict()},
        TUNED: {"name": "base_tuned", "training": training, "model": best},
    }
    ends = [
        test_store.result(*e.seeds, hparams=reading.canonical(dict(e.values)), dev=e.mean)
        for e in history.evaluations
    ]
    fresh = [test_store.result(s, dev=0.7 + 0.02 * (s % 2)) for s in tuning.fresh_seeds(2)]
    for key, each, name in ((SEARCH, ends, "base, tuning"), (TUNED, fresh, "base_tuned")):
        config = json.dumps({"training": {"epochs": 4}, **configs[key]})
        test_store.write(folder, key, each, name=name, config=config)
