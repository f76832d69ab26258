"""Keys of a config, and hyperparameters, that had other names in an earlier version.

Runs folders of then stay what they are: what is recorded in them is read under today's names, and
ids of experiments are hashes of a config under the names that each key had first. A config of then
is refused, with the new name.
"""

from collections.abc import Callable, Mapping
from typing import Any

from jaxeval.files import Json

_OF_ALL = {
    "training.keep_models": "training.save_models",
    "training.plateau.after": "training.plateau.patience",
    "training.stopping.ramp": "training.stopping.rampup_epochs",
    "training.stopping.turns": "training.stopping.patience",
}
_WIDTHS = {"data.most_widths": "data.max_widths"}
_KEYS: Mapping[str, Mapping[str, str]] = {  # of each task, first name -> name
    "language": {
        **_OF_ALL,
        "data.turn": "data.steps_per_epoch",
        "model.forget": "model.state_reset_probability",
    },
    "sentiment": {
        **_OF_ALL,
        **_WIDTHS,
        "model.target.most_distance": "model.target.max_distance",
        "model.words.others": "model.words.initialiser",
    },
    "seq2seq": {**_OF_ALL, **_WIDTHS, "data.longest": "data.max_length"},
    "tagging": {**_OF_ALL, **_WIDTHS, "model.dropout.recurrent": "model.dropout.state"},
}
_HYPERPARAMETERS: Mapping[str, Mapping[str, str]] = {  # likewise
    "language": {
        "plateau_after": "plateau_patience",
        **{
            site: f"dropout_{site}"
            for site in ("input", "inter_layer", "state", "update", "output", "projected")
        },
    },
    "sentiment": {"plateau_after": "plateau_patience"},
    "seq2seq": {"plateau_after": "plateau_patience"},
    "tagging": {"dropout_recurrent": "dropout_state", "plateau_after": "plateau_patience"},
}


def key(first: str, task: str) -> str | None:
    """Today's name of a key by its first one; None: it has not been renamed."""
    return _KEYS.get(task, _OF_ALL).get(first)


def today(config: Mapping[str, Json]) -> dict[str, Json]:
    """Plain data of a config, or of a study of one, with today's keys."""
    return _renamed(config, _KEYS.get(str(config.get("task")), _OF_ALL))


def first(config: Mapping[str, Json]) -> dict[str, Json]:
    """As `today`, with the keys' first names."""
    return _renamed(config, _inverse(_KEYS.get(str(config.get("task")), _OF_ALL)))


def hyperparameters(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by today's names of hyperparameters, in the order of these; of any task."""
    names = {first: name for of in _HYPERPARAMETERS.values() for first, name in of.items()}
    return dict(sorted((names.get(name, name), value) for name, value in values.items()))


def first_hyperparameter(name: str, task: str) -> str:
    """The first name of a hyperparameter."""
    return _inverse(_HYPERPARAMETERS.get(task, {})).get(name, name)


def _inverse(names: Mapping[str, str]) -> dict[str, str]:
    return {name: first for first, name in names.items()}


def _renamed(config: Mapping[str, Json], names: Mapping[str, str]) -> dict[str, Json]:
    """A tree whose keys, and those that the space of a study sets, are renamed."""

    def rename(path: str) -> str:
        return names.get(path, path).rpartition(".")[2]

    def of_space(table: Any) -> Any:
        return {**table, "key": names.get(table["key"], table["key"])} if "key" in table else table

    tree = _walk(config, "", rename)
    for study, design in tree.items():
        if isinstance(design, dict) and isinstance(design.get("space"), dict):
            space = {name: of_space(table) for name, table in design["space"].items()}
            tree[study] = {**design, "space": space}
    return tree


def _walk(tree: Mapping[str, Json], prefix: str, rename: Callable[[str], str]) -> dict[str, Any]:
    return {
        rename(prefix + name): _walk(value, f"{prefix}{name}.", rename)
        if isinstance(value, dict)
        else value
        for name, value in tree.items()
    }
