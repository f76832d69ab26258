"""Results as plain JSON data."""

import dataclasses
import math
from collections.abc import Mapping

import numpy as np

from jaxeval.files import Json


def plain(value: object) -> Json:
    """Dataclasses as objects, arrays as lists, numbers that JSON cannot hold as null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if isinstance(value, np.generic):
        return plain(value.item())
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
