"""Trials that have ended without what is asked for: a saved model, or the outcomes of items."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from jaxeval import runs
from jaxeval.errors import RunError, argument
from jaxeval.population import slots
from jaxeval.studies import prepared, saved
from jaxeval.studies.cohorts import Cohort, Entry

Ended = Mapping[Entry, runs.MemberResult]


def lacking(
    store: runs.Store, cohort: Cohort, ended: Ended, folder: Path, *, again: bool, outputs: bool
) -> set[Entry]:
    """The ended trials that are to be trained again.

    Args:
      again: they are; otherwise there must be none.
      outputs: outcomes are asked for.

    Raises:
      RunError: there are some, and they are not to be trained again.
    """
    with_best = [
        entry
        for entry, result in ended.items()
        if slots.has_best(result.status, result.best_epoch, result.dev)
    ]
    unsaved = _unsaved(cohort, with_best, folder)
    unkept = _without_outcomes(store, cohort, with_best) if outputs else []
    if unsaved and not again:
        raise RunError(
            f"training.save_models: {_described(unsaved, f'a saved model in {folder}')}"
        )
    if unkept and not again:
        raise RunError(f"--outputs: {_described(unkept, 'outcomes of their items')}")
    return {*unsaved, *unkept}


def listed(of: Sequence[Entry]) -> str:
    """Seeds and splits for a message."""
    return prepared.listed([(entry.trial.split, entry.trial.seed) for entry in of])


def _unsaved(cohort: Cohort, ended: Sequence[Entry], folder: Path) -> list[Entry]:
    if not cohort.config.training.save_models:
        return []
    return [entry for entry in ended if not saved.is_whole(folder, entry)]


def _without_outcomes(store: runs.Store, cohort: Cohort, ended: Sequence[Entry]) -> list[Entry]:
    kept = {record.id: store.with_outcomes(record.id) for record in cohort.records}
    return [entry for entry in ended if entry.key[1:] not in kept[entry.record.id]]


def _described(of: Sequence[Entry], what: str) -> str:
    return (
        f"{len(of)} members of experiment {' '.join(dict.fromkeys(e.record.id for e in of))} "
        f"have ended without {what} ({listed(of)}); {argument('again', True)} trains them again, "
        f"and another {argument('out')} leaves these runs as they are"
    )
