"""A selection on disk: written whole after every result, locked while a process works on it.

With another budget, delta or epsilon the selection begins anew, and what has a score is not
evaluated again: a score depends on model and number alone. So with one worker it ends as one that
was begun with these values; with several the order in which results come may differ, and with it
the rest.
"""

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from jaxeval import state_file
from jaxeval.bandits import state as states
from jaxeval.bandits.rules import Rule
from jaxeval.bandits.state import Numbered, State
from jaxeval.files import Json

_FREE = {"batch_size"}  # may differ when a selection goes on
_END = {
    "budget",
    "delta",
    "epsilon",
    "logit_guard",  # 1e-3 in states of earlier versions
}  # a selection that ends otherwise begins anew, with the same scores


@dataclasses.dataclass
class Saved:
    """An open selection.

    Attributes:
      recorded: model -> scores of selections that were to end otherwise.
    """

    file: state_file.StateFile
    state: State
    recorded: Mapping[str, Numbered] = dataclasses.field(default_factory=dict)

    @property
    def path(self) -> Path:
        """Of its file."""
        return self.file.path

    @property
    def known(self) -> int:
        """Evaluations that have a score."""
        return sum(map(len, _merged(self.recorded, self.state.by_model).values()))

    def save(self, state: State) -> None:
        """Replaces the file by one with this state."""
        recorded = states.numbered_to_dict(self.recorded)
        self.file.write({**states.to_dict(state), "recorded": recorded})
        self.state = state

    def score(self, model: str, number: int) -> float | None:
        """What a selection that was to end otherwise got for this evaluation."""
        return self.recorded.get(model, {}).get(number)


@contextlib.contextmanager
def opened(
    path: Path, rule: Rule, models: Sequence[str], evaluator: Mapping[str, Json]
) -> Iterator[Saved]:
    """The selection in a file, or a new one.

    Args:
      evaluator: what the scores come from, as plain data; another one cannot go on with them.

    Raises:
      ConfigError: the file holds a selection by another rule, or among other models.
      RunError: another process works on it.
    """
    head = {
        "rule": {"name": type(rule).__name__, **dataclasses.asdict(rule)},
        "evaluator": dict(evaluator),
    }
    fresh = rule.begin(models)  # what cannot begin leaves no file
    with state_file.opened(path, "selection", head) as file:
        yield _read(file, fresh) or Saved(file, fresh)


def _read(file: state_file.StateFile, fresh: State) -> Saved | None:
    tree = file.read(_FREE | _END)
    if tree is None:
        return None
    with file.parsing():
        state = states.from_dict(tree)
        recorded = states.numbered_from_dict(tree.get("recorded", {}))
    file.refuse_other("models", sorted(fresh.models), sorted(state.models))
    if file.changed("rule") & _END:
        return Saved(file, fresh, _merged(recorded, state.by_model))
    return Saved(file, state, recorded)


def _merged(a: Mapping[str, Numbered], b: Mapping[str, Numbered]) -> dict[str, Numbered]:
    return {name: {**a.get(name, {}), **scores} for name, scores in b.items()}
