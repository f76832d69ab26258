"""Results as plain JSON data."""

import dataclasses
import math
from collections.abc import Mapping

import numpy as np

from jaxeval.files import Json


def plain(value: object) -> Json:
    """Dataclasses as objects, arrays as lists, numbers that JSON cannot hold as null.

    Fields of dataclasses without `repr` are left out. Keys of several names are nested objects.

    Raises:
      TypeError: what is no data.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        shown = (field.name for field in dataclasses.fields(value) if field.repr)
        return {name: plain(getattr(value, name)) for name in shown}
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        tree: dict[str, Json] = {}
        for key, inner in value.items():
            *path, last = key if isinstance(key, tuple) else (key,)
            place: dict = tree
            for part in path:
                place = place.setdefault(str(part), {})
            place[str(last)] = plain(inner)
        return tree
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"no plain data: {value!r}")


def record(value: object) -> dict[str, Json]:
    """The same of what has named parts: a dataclass, a NamedTuple, a mapping."""
    tree = plain(value)
    assert isinstance(tree, Mapping)
    return dict(tree)
