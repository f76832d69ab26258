"""A search on disk: proposals are written before they run, and results when they are told."""

import contextlib
import dataclasses
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jaxeval import state_file
from jaxeval.errors import DataError
from jaxeval.files import Json
from jaxeval.tuning import history as histories
from jaxeval.tuning import search as searches
from jaxeval.tuning.history import History
from jaxeval.tuning.search import Search


@dataclasses.dataclass
class Saved:
    """An open search.

    Attributes:
      fresh: setting (`history.identity`) -> fresh seed -> its score, or why it failed.
      before: seconds that earlier processes worked on it.
      workers: of the process that had the most.
      begun: when this one began, by `time.monotonic`.
    """

    file: state_file.StateFile
    history: History
    fresh: dict[str, dict[int, float | str]]
    before: float
    workers: int = 1
    begun: float = dataclasses.field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Of wall time, of all processes."""
        return self.before + time.monotonic() - self.begun

    def save(self, history: History) -> None:
        """Replaces the file by one with this history."""
        self.history = history
        self._write()

    def save_fresh(self, setting: str, seed: int, result: float | str) -> None:
        """The same with a further result of a fresh seed."""
        self.fresh.setdefault(setting, {})[seed] = result
        self._write()

    def _write(self) -> None:
        self.file.write(
            {
                "seconds": round(self.seconds, 3),
                "workers": self.workers,
                "fresh": {
                    s: {str(k): v for k, v in results.items()} for s, results in self.fresh.items()
                },
                **histories.to_dict(self.history),
            }
        )


@contextlib.contextmanager
def opened(
    path: Path, search: Search, higher_is_better: bool, evaluator: Mapping[str, Json]
) -> Iterator[Saved]:
    """The search in a file, or a new one.

    Args:
      evaluator: what the scores come from, as plain data; another one cannot go on with them.

    Raises:
      ConfigError: the file holds another search.
      RunError: another process works on it.
    """
    directed = {**search.to_dict(), "higher_is_better": higher_is_better}
    head = {"search": directed, "evaluator": dict(evaluator)}
    with state_file.opened(path, "search", head) as file:
        tree = file.read()
        yield (
            Saved(file, History((), higher_is_better), {}, 0.0)
            if tree is None
            else _read(file, tree, search, higher_is_better)
        )


def _read(file: state_file.StateFile, tree: Any, search: Search, higher_is_better: bool) -> Saved:
    with file.parsing():
        history = histories.from_dict(tree)
        searches.refuse_others(search.space, history)
        if history.higher_is_better != higher_is_better:
            raise DataError("the direction of its history is not that of its search")
        fresh = {
            str(setting): {int(seed): result for seed, result in results.items()}
            for setting, results in tree["fresh"].items()
        }
        return Saved(file, history, fresh, float(tree["seconds"]), int(tree.get("workers", 1)))
