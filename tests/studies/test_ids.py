"""Ids of experiments: what was recorded stays what it is."""

import pytest

from jaxeval import studies

RECORDED = {  # changes -> id, config_hash, before keys were added to these tasks
    "data.train_sentences=30": ("9cc90f1c7dbc3da0", "f33a9bc2b269a9e2"),
    "task=sentiment data.source.sentences=20 model.architecture=lstm": (
        "a97d63becbeb4b0d",
        "6ca27276ca8d5ec4",
    ),
}


@pytest.mark.parametrize("changes", RECORDED)
def test_an_id_is_what_it_was(changes: str) -> None:
    """Dies if a key that was added, or a row of a word table, changes ids: all would be trained
    again, and compared with nothing."""
    record = studies.prepare(studies.read(None, changes.split())).record
    assert (record.id, record.config_hash) == RECORDED[changes]
