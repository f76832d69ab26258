"""A line of predictions: what its keys mean."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from jaxeval.errors import DataError
from jaxeval.files import Json
from jaxeval.runs.logs import records
from jaxeval.runs.logs.records import Source

ROLES = (
    *("item", "score", "correct", "gold", "predicted", "model", "task", "run", "sample"),
    *("cluster", "metric", "prompt"),
)
ANSWERS = ("score", "correct", "predicted")


class Line(NamedTuple):
    """A line of predictions, and how its keys are named."""

    source: Source
    columns: Mapping[str, str]
    number: int
    tree: Mapping[str, Json]

    def get(self, role: str) -> Json:
        """What it holds for a role; None for nothing."""
        value: Json = self.tree.get(self.columns.get(role, role))
        return value

    def text(self, role: str, otherwise: str) -> str:
        """The same as text."""
        value = self.get(role)
        if value is None:
            return otherwise
        return records.label(value, self.columns.get(role, role), self.source, self.number)

    def error(self, message: str) -> DataError:
        """What is wrong in it."""
        return DataError(message, self.source.path, self.number)

    def answers(self) -> Iterator[tuple[str, str, Json]]:
        """Model ("" where the key does not say), role and value of what it answers."""
        for role in ANSWERS:
            key = self.columns.get(role, role)
            if key.endswith("*"):
                for name, value in self.tree.items():
                    if name.startswith(key[:-1]) and name != key[:-1]:
                        yield name.removeprefix(key[:-1]), role, value
            elif key in self.tree:
                yield "", role, self.get(role)
                return
