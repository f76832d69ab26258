"""Reads the state file of a search, which another process may go on with."""

import json
from pathlib import Path
from typing import Any

from jaxeval.errors import ConfigError, JaxevalError, parsing
from jaxeval.space import space as spaces
from jaxeval.tuning import Search
from jaxeval.tuning.history import Halving, History
from jaxeval.tuning.running import State


def read(path: Path) -> tuple[Search, State]:
    """Returns a search and its state so far; raises ConfigError if the file holds none."""
    passing = (JaxevalError, MemoryError)
    with parsing("not the state of a search", path, error=ConfigError, passing=passing):
        tree: Any = json.loads(path.read_text(encoding="utf-8"))
        plain, state = tree["search"], tree["state"]
        stops = Halving(**plain["halving"]) if "halving" in plain else None
        space, enqueued = spaces.from_dict(plain["space"], str(path)), plain.get("enqueued", [])
        fixed = plain["method"], plain["seed"], plain["seeds"]
        search = Search(space, *fixed, halving=stops, enqueued=tuple(enqueued))
        history = History.from_dict({name: state[name] for name in History.__dataclass_fields__})
        return search, State(history, len(history.evaluations), before=float(state["seconds"]))
