"""Names of an earlier version: refused with today's name, read where they are recorded."""

from pathlib import Path
from typing import Any

import pytest

from jaxeval.config import listing, markers, reading, renamed
from jaxeval.errors import ConfigError
from jaxeval.tasks import registry

TASKS = ("language", "sentiment", "seq2seq", "tagging")


def _keys(task: str) -> set[str]:
    return {key.name for key in listing.keys(registry.kind(task).Config)}


@pytest.mark.parametrize("task", TASKS)
def test_an_old_key_is_refused_with_the_new_one(task: str) -> None:
    """Dies if a new name is of no key, an old one is taken silently, or nobody says its new name;
    or if another task's is suggested."""
    config, keys = registry.kind(task).Config, _keys(task)
    for old, new in renamed._KEYS[task].items():
        assert new in keys and old not in keys
        with pytest.raises(ConfigError, match=rf"^{old}: is called {new} now$"):
            reading.read(config, {"task": task}, [f"{old}=3"])
    others = {key for of in renamed._KEYS.values() for key in of} - renamed._KEYS[task].keys()
    for foreign in others - keys:
        with pytest.raises(ConfigError) as refused:
            reading.read(config, {"task": task}, [f"{foreign}=3"])
        assert "is called" not in str(refused.value)


@pytest.mark.parametrize("task", TASKS)
def test_recorded_configs_are_read_under_todays_names(task: str) -> None:
    """Dies if a key or value is lost on the way there or back, that of a table that is absent
    or one that a space sets too."""
    config: Any = registry.kind(task).Config()
    tree = reading.to_dict(config)
    tree["training"]["stopping"] = {"patience": 7, "rampup_epochs": 3}
    space = {"after": {"key": "training.plateau.patience", "integer": [1, 9]}, "free": {}}
    tree["sweep"] = {"seed": 1, "space": space}
    old = renamed.first(tree)
    assert old["training"]["stopping"] == {"turns": 7, "ramp": 3}  # type: ignore[index,call-overload]
    assert old["sweep"]["space"]["after"]["key"] == "training.plateau.after"  # type: ignore[index,call-overload]
    assert renamed.today(old) == tree and renamed.today(tree) == tree
    assert not {key for key in renamed._KEYS[task] if key in _leaves(tree)}
    absent = reading.to_dict(config)
    assert renamed.today(renamed.first(absent)) == absent


def _leaves(tree: dict[str, Any], prefix: str = "") -> set[str]:
    return {
        key
        for name, value in tree.items()
        for key in (
            _leaves(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name}
        )
    }


def test_hyperparameters_have_todays_names() -> None:
    """Dies if an old name stays, a value goes to another name, or the order is another: a member
    in a checkpoint would not be the one that waits."""
    old = {"state": 0.2, "learning_rate": 1.0, "plateau_after": 3.0}
    new = {"dropout_state": 0.2, "learning_rate": 1.0, "plateau_patience": 3.0}
    assert [*renamed.hyperparameters(old).items()] == [*new.items()]
    assert renamed.hyperparameters(new) == new
    assert renamed.first_hyperparameter("dropout_state", "language") == "state"
    assert renamed.first_hyperparameter("dropout_state", "tagging") == "dropout_recurrent"
    assert renamed.first_hyperparameter("dropout_input", "tagging") == "dropout_input"


@pytest.mark.parametrize("task", TASKS)
def test_a_dropout_rate_is_named_after_its_site(task: str) -> None:
    """Dies if one model's rates are named otherwise than another's: `model.dropout.SITE` of a
    config is `dropout_SITE` wherever hyperparameters are listed, and `model.dropout` is `dropout`.
    """
    names = {
        key: marker.name
        for key, marker in _marked(registry.kind(task).Config, "")
        if key.startswith("model.dropout")
    }
    assert names
    for key, name in names.items():
        assert name == key.removeprefix("model.").replace(".", "_")


def _marked(cls: type, prefix: str) -> list[tuple[str, markers.Traced]]:
    pairs = []
    for name, field in reading.fields_of(cls).items():
        inner = reading.nested(field.annotation)
        if inner is not None:
            pairs += _marked(inner, f"{prefix}{name}.")
        pairs += [(prefix + name, m) for m in field.metadata if isinstance(m, markers.Traced)]
    return pairs


def test_renamed_keys_are_documented() -> None:
    """Dies if docs/config.md lacks a key that was renamed, or has another new name for it."""
    page = (Path(__file__).parents[2] / "docs" / "config.md").read_text()
    rows = [line.replace("`", "").split("|")[1:-1] for line in page.splitlines()]
    documented = {
        (task.strip(), _whole(old, k), _whole(new, k))
        for task, old, new in (row for row in rows if len(row) == 3)
        for k in range(old.count(",") + 1)
        if "." in old
    }
    for task, keys in renamed._KEYS.items():
        for old, new in keys.items():
            tasks = {said for said, *pair in documented if pair == [old, new]}
            assert any(said == "all" or task in said for said in tasks), old


def _whole(cell: str, number: int) -> str:
    """The k-th key of a cell such as "a.b, .c"."""
    first, *others = (key.strip() for key in cell.split(","))
    return first if not number else first.rpartition(".")[0] + others[number - 1]
