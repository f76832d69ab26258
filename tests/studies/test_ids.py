"""Ids of experiments: what was recorded stays what it is."""

from collections.abc import Sequence
from typing import Any

import pytest

from jaxeval import studies
from jaxeval.config import markers
from jaxeval.studies import prepared

RECORDED = {  # changes -> id, config_hash, before keys were added to these tasks
    "data.train_sentences=30": ("9cc90f1c7dbc3da0", "f33a9bc2b269a9e2"),
    "task=sentiment data.source.sentences=20 model.architecture=lstm": (
        "a97d63becbeb4b0d",
        "6ca27276ca8d5ec4",
    ),
    "data.train_sentences=30 model.dropout.input=0.5 model.dropout.state=0.2": (
        "a814fc8616bc7146",
        "47447abda83152a4",
    ),
}
# the same, of a sweep and a search of train_sentences=30: of what `SPACE` varies
SPACES = {"model.dropout.state": "38fb367c108bb14c"}
DEAD = "model.dropout.layer_input"  # dropped nothing, for a while
KIND = "model.dropout.kind"
SPANS = {KIND: {"choices": ["none", "variational"]}}  # others: rates


@pytest.mark.parametrize("changes", RECORDED)
def test_an_id_is_what_it_was(changes: str) -> None:
    """Dies if a key that was added, or a row of a word table, changes ids: all would be trained
    again, and compared with nothing."""
    record = studies.prepare(studies.read(None, changes.split())).record
    assert (record.id, record.config_hash) == RECORDED[changes]


def _of_space(*keys: str, changes: Sequence[str] = ()) -> str:
    base = studies.prepare(studies.read(None, ["data.train_sentences=30", *changes]))
    names = ["rate", "kind"][: len(keys)]
    space = {
        name: {"key": key, **SPANS.get(key, {"uniform": [0.1, 0.5]})}
        for name, key in zip(names, keys, strict=True)
    }
    design = {"space": space, "seed": 1}
    config: dict[str, Any] = {}
    return prepared.record_of(base, studies.Study("sweep", config, design)).id


def test_the_id_of_a_sweep_is_what_it_was() -> None:
    """Dies if revisions of keys that a space does not vary are part of its id."""
    assert {key: _of_space(key) for key in SPACES} == SPACES


def test_what_was_trained_without_its_dropout_counts_for_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Dies if a config with a rate that dropped nothing once has the id that it had: what was
    recorded then would be shown as trained with it. Without that rate the id stays."""
    config = studies.read(None, ["data.train_sentences=30", f"{DEAD}=0.25"])
    changed, swept = studies.prepare(config).record, _of_space(DEAD)
    with monkeypatch.context() as before:
        before.setattr(markers, "revisions", lambda settings, varied=(): {})
        assert studies.prepare(config).record.id != changed.id
        assert studies.prepare(config).record.config_hash != changed.config_hash
        assert _of_space(DEAD) != swept
    without = studies.read(None, ["data.train_sentences=30", f"{DEAD}=0.0"])
    assert studies.prepare(without).record.id == RECORDED["data.train_sentences=30"][0]
    unused = [f"{DEAD}=0.25", "model.dropout.kind=none"]
    assert not markers.revisions(studies.read(None, unused))


@pytest.mark.parametrize(
    ("rate", "keys", "mended"),
    [
        (0.0, [DEAD, KIND], True),
        (0.25, [KIND], True),
        (0.0, [KIND], False),
        (0.25, ["training.optimiser.l2"], False),
    ],
)
def test_a_space_that_varies_the_kind_of_dropout(
    rate: float, keys: Sequence[str], mended: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if the kind `none` of a sweep's config hides that its runs drop what was not dropped
    once: those recorded then would be taken for them. Other sweeps keep their ids."""
    changes = [f"{KIND}=none", f"{DEAD}={rate}"]
    swept = _of_space(*keys, changes=changes)
    monkeypatch.setattr(markers, "revisions", lambda settings, varied=(): {})
    assert (_of_space(*keys, changes=changes) != swept) == mended
