"""A command as what is tuned: any program of any framework."""

import difflib
import json
import re
from collections.abc import Mapping

from jaxeval.bandits import workers as side_by_side
from jaxeval.bandits.workers import Report
from jaxeval.errors import ConfigError
from jaxeval.space.distributions import Value
from jaxeval.space.space import Space

_PLACE = re.compile(r"\{([A-Za-z0-9_-]+)\}")
_BESIDE = ("seed", "values")


class Command:
    """Evaluates by a command.

    The template is split into words as a shell would, but no shell runs it. Then the value of
    each hyperparameter goes where {its_name} stands, {seed} is the seed and {values} all values
    as JSON. A word that names a hyperparameter which is inactive is left out.

    Args:
      template: such as "./train.sh --rate={rate} --seed={seed}".
      field, limit: as of `workers.Processes`.

    Attributes:
      seeded: whether it is told its seed; if not, all seeds of a setting are the same run.

    Raises:
      ConfigError: it names what is not in the space, or nothing of it.
    """

    def __init__(
        self, template: str, space: Space, field: str | None = None, limit: float | None = None
    ):
        words = side_by_side.words(template)
        names = [parameter.name for parameter in space.parameters]
        taken = [name for name in _BESIDE if name in names]
        if taken:
            raise ConfigError(f"--command: {{{taken[0]}}} is taken; name that hyperparameter else")
        placeholders = _PLACE.findall(template)
        for name in placeholders:
            if name not in (*names, *_BESIDE):
                near = difflib.get_close_matches(name, names, 1)
                hint = f"did you mean {{{near[0]}}}?" if near else f"there are {', '.join(names)}"
                raise ConfigError(f"--command: {{{name}}}: no such hyperparameter; {hint}")
        missing = [] if "values" in placeholders else [n for n in names if n not in placeholders]
        if missing:
            raise ConfigError(
                f"--command: expected {{values}}, or each hyperparameter by its name: "
                f"{{{missing[0]}}} is missing in {template!r}"
            )
        self.seeded = "seed" in placeholders
        self._words = words
        self._names = set(names)
        self._processes = side_by_side.Processes(field, limit)

    def __call__(
        self, values: Mapping[str, Value], seed: int, report: Report | None = None
    ) -> float:
        """The score; `report` hears of the lines {"step": 3, "score": 0.7} before it."""
        return self._processes.score(self.words(values, seed), report)

    def words(self, values: Mapping[str, Value], seed: int) -> list[str]:
        """What is run."""
        plain = json.dumps(dict(values), ensure_ascii=False)
        shown = {name: _shown(value) for name, value in values.items()}
        filled = {**shown, "seed": str(seed), "values": plain}
        inactive = self._names - set(values)
        return [
            _PLACE.sub(lambda place: filled.get(place[1], place[0]), word)
            for word in self._words
            if not inactive & set(_PLACE.findall(word))
        ]

    def stop(self) -> None:
        """Ends all commands that are running."""
        self._processes.stop()


def _shown(value: Value) -> str:
    """As a command line has it: true and false as in TOML and JSON; floats keep all digits."""
    return value if isinstance(value, str) else json.dumps(value)
