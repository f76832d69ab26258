"""Trains the members of an experiment into a runs folder, with progress and Ctrl-C."""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from jaxeval import runs
from jaxeval.contracts import Member
from jaxeval.experiment import base
from jaxeval.population import loop
from jaxeval.population.problem import lanes_for
from jaxeval.report import progress, terminal

STOPPED = 130  # exit status


def run(
    prepared: base.Prepared, members: Sequence[Member], folder: Path, store_url: str | None = None
) -> list[runs.MemberRow] | None:
    """Trains those of the members that have not ended yet.

    Args:
      folder: of runs.
      store_url: database instead of the folder's.

    Returns:
      What is recorded of the members; None if Ctrl-C stopped them, which is then said on stderr.
    """
    config, record = prepared.config, prepared.record
    with runs.open_store(store_url or folder) as store:
        store.register(record)
        ended, keys = store.ended(record.id), {who: base.key_of(prepared, who) for who in members}
        done = {key: ended[key] for key in keys.values() if key in ended}
        waiting = [who for who in members if keys[who] not in done]
        terminal.print_start(record, len(members), len(members) - len(waiting))
        count = lanes_for(config.training, len(members))
        with base.locked(folder, prepared.place), _first_interrupt_waits() as interrupted:
            before = list(done.values())
            with progress.Progress(record, prepared.place, len(members), before) as shown:
                reports = loop.train(
                    prepared.problem,
                    waiting,
                    folder / "checkpoints" / prepared.place,
                    base.Recorder(store, prepared, count, folder),
                    count,
                    compiled=shown.compiled,
                )
                for report in reports:
                    shown.epoch(report)
                    if interrupted:
                        reports.close()
                        _say("stopped between two epochs; the same command continues from here")
                        return None
        wanted = set(keys.values())
        return [
            row
            for row in store.members()
            if row.experiment == record.id and (row.seed, row.split, row.hparams) in wanted
        ]


def _say(line: str) -> None:
    print(f"\n{line}", file=sys.stderr)


@contextmanager
def _first_interrupt_waits() -> Iterator[list[bool]]:
    """Ctrl-C once: the list is no longer empty, training stops after the epoch; twice: at once."""
    asked: list[bool] = []

    def note(number: int, frame: FrameType | None) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(True)
        os.write(2, b"\nstopping after this epoch; press Ctrl-C again to stop at once\n")

    before = signal.signal(signal.SIGINT, note)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)
