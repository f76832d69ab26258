"""A command as what is tuned: any program of any framework."""

import difflib
import json
import re
from collections.abc import Mapping

from jaxeval.bandits import commands
from jaxeval.bandits.commands import Report
from jaxeval.errors import ConfigError
from jaxeval.space.distributions import Value
from jaxeval.space.space import Space

_PLACE = re.compile(r"\{([A-Za-z0-9_-]+)\}")
_BESIDE = ("seed", "values")


class Command:
    """Evaluates by a command.

    The value of each hyperparameter goes where {its_name} stands, {seed} is the seed and {values}
    all values as JSON. A word that names a hyperparameter which is inactive is left out.

    Args:
      template, field, limit: as of `commands.Command`.

    Attributes:
      seeded: whether it is told its seed; if not, all seeds of a setting are the same run.

    Raises:
      ConfigError: it names what is not in the space, or nothing of it.
    """

    def __init__(
        self, template: str, space: Space, field: str | None = None, limit: float | None = None
    ):
        names = [parameter.name for parameter in space.parameters]
        self._command = commands.Command(template, [*names, *_BESIDE], field, limit)
        self.stop = self._command.stop
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

    def __call__(
        self, values: Mapping[str, Value], seed: int, report: Report | None = None
    ) -> float:
        """The score; `report` hears of the lines {"step": 3, "score": 0.7} before it."""
        return self._command.score(_filled(values, seed), report)

    def words(self, values: Mapping[str, Value], seed: int) -> list[str]:
        """What is run."""
        return self._command.words(_filled(values, seed))


def _filled(values: Mapping[str, Value], seed: int) -> dict[str, str]:
    """What stands for each place."""
    plain = json.dumps(dict(values), ensure_ascii=False)
    shown = {name: _shown(value) for name, value in values.items()}
    return {**shown, "seed": str(seed), "values": plain}


def _shown(value: Value) -> str:
    """As a command line has it: true and false as in TOML and JSON; floats keep all digits."""
    return value if isinstance(value, str) else json.dumps(value)
