"""Trains the members of an experiment into a runs folder, with progress, Ctrl-C and SIGTERM."""

import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from jaxeval import runs
from jaxeval.contracts import Member
from jaxeval.errors import RunError
from jaxeval.experiment import base, recording, saved
from jaxeval.population import loop, seats
from jaxeval.population.problem import lanes_for
from jaxeval.report import progress, terminal

_STOPPED = 128  # exit status, plus the number of the signal
_SIGNALS = {
    signal.SIGINT: b"\nstopping after this epoch; press Ctrl-C again to stop at once\n",
    signal.SIGTERM: b"\nstopping after this epoch, as SIGTERM asks\n",
}


def run(
    prepared: base.Prepared,
    members: Sequence[Member],
    folder: Path,
    store_url: str | None = None,
    *,
    again: bool = False,
) -> list[runs.MemberRow]:
    """Trains those of the members that have not ended yet.

    Args:
      folder: of runs.
      store_url: database instead of the folder's.
      again: also those that have ended without the saved model that is asked for.

    Returns:
      What is recorded of the members.

    Raises:
      RunError: models are asked for of members that have ended without, or a checkpoint is ahead
        of the database.
      SystemExit: Ctrl-C (130) or SIGTERM (143) stopped them, which is then said on stderr.
    """
    config, record = prepared.config, prepared.record
    with runs.open_store(store_url or folder) as store:
        store.register(record)
        ended, keys = store.ended(record.id), {who: base.key_of(prepared, who) for who in members}
        done = {key: ended[key] for key in keys.values() if key in ended}
        for who in _unsaved(prepared, members, done, folder, again=again):
            del done[keys[who]]
        waiting = [who for who in members if keys[who] not in done]
        terminal.print_findings(prepared.read.findings.remarks, prepared.read.findings.warnings)
        terminal.print_start(record, len(members), len(members) - len(waiting))
        with base.locked(folder, prepared.place), _signals_wait() as caught:
            checkpoints, before = folder / "checkpoints" / prepared.place, list(done.values())
            with progress.Progress(record, prepared.place, len(members), before) as shown:
                reports = loop.train(
                    prepared.problem,
                    waiting,
                    checkpoints,
                    recording.Recorder(store, prepared, folder),
                    lanes_for(config.training, len(members)),
                    resumed=lambda taken: _refuse_lost_epochs(store, prepared, taken, checkpoints),
                    compiled=shown.compiled,
                )
                for report in reports:
                    shown.epoch(report)
                    if caught:
                        reports.close()
                        _say("stopped between two epochs; the same command continues from here")
                        raise SystemExit(_STOPPED + caught[0])
        wanted = set(keys.values())
        return [
            row
            for row in store.members()
            if row.experiment == record.id and (row.seed, row.split, row.hparams) in wanted
        ]


def _unsaved(
    prepared: base.Prepared,
    members: Sequence[Member],
    done: Mapping[tuple[int, int, str], runs.MemberResult],
    folder: Path,
    *,
    again: bool,
) -> list[Member]:
    """Members that have ended without the saved model that the config asks for.

    Raises:
      RunError: there are some, and they are not to be trained again.
    """
    if not prepared.config.training.keep_models:
        return []
    keys = {who: base.key_of(prepared, who) for who in members}
    unsaved = [
        who
        for who in members
        if keys[who] in done
        and _has_best(done[keys[who]])
        and not saved.path_of(folder, prepared, who).is_file()
    ]
    if unsaved and not again:
        raise RunError(
            f"training.keep_models: {len(unsaved)} members of experiment {prepared.record.id} "
            f"have ended without a saved model in {folder} (seed {_listed(unsaved)}); --again "
            "trains them again, and another --out leaves these runs as they are"
        )
    return unsaved


def _has_best(result: runs.MemberResult) -> bool:
    return seats.has_best(result.status, result.best_epoch, result.dev)


def _refuse_lost_epochs(
    store: runs.Store, prepared: base.Prepared, taken: Sequence[seats.Seat], checkpoints: Path
) -> None:
    """Raises RunError where the database lacks epochs that a checkpoint has behind it.

    Records are written before checkpoints are: the database has been emptied or is another one.
    """
    recorded = store.epochs(prepared.record.id)
    behind = [
        seat.member
        for seat in taken
        if seat.member is not None
        and recorded.get(base.key_of(prepared, seat.member), 0) < seat.epoch
    ]
    if behind:
        raise RunError(
            f"{checkpoints} continues members of which the runs database lacks epochs (seed "
            f"{_listed(behind)}): bring back the database, or remove that folder to train them "
            "from their first epoch"
        )


def _listed(members: Sequence[Member], most: int = 8) -> str:
    """Their seeds, the first of them where there are many."""
    seeds = [str(seed) for seed in dict.fromkeys(who.seed for who in members)]
    return ", ".join(seeds[:most]) + (" ..." if len(seeds) > most else "")


def _say(line: str) -> None:
    print(f"\n{line}", file=sys.stderr)


@contextmanager
def _signals_wait() -> Iterator[list[int]]:
    """The first signal is noted in the list, so that training stops after the epoch; a second one
    stops it at once."""
    caught: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if caught:
            raise SystemExit(_STOPPED + number)
        caught.append(number)
        os.write(2, _SIGNALS[signal.Signals(number)])

    before = {number: signal.signal(number, note) for number in _SIGNALS}
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
