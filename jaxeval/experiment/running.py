"""Trains the members of an experiment into a runs folder, with progress, Ctrl-C and SIGTERM."""

import dataclasses
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from jaxeval import runs
from jaxeval.contracts import Member
from jaxeval.errors import ConfigError, RunError
from jaxeval.experiment import base, memory, recording, saved
from jaxeval.population import loop, seats
from jaxeval.population.problem import lanes_for
from jaxeval.report import progress, terminal

Part = tuple[base.Prepared, Sequence[Member]]  # a population

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
    """Trains those of the members that have not ended yet; arguments and errors as of `run_all`.

    Returns:
      What is recorded of the members.
    """
    (rows,) = run_all([(prepared, members)], folder, store_url, again=again)
    return rows


def run_all(
    parts: Sequence[Part],
    folder: Path,
    store_url: str | None = None,
    *,
    again: bool = False,
    announce: Callable[[int], None] = lambda number: None,
) -> list[list[runs.MemberRow]]:
    """Trains several populations one after the other, all of them checked before the first.

    Args:
      parts: each prepared, with its members; those that have not ended yet are trained.
      folder: of runs.
      store_url: database instead of the folder's.
      again: also those that have ended without the saved model that is asked for.
      announce: is told which part comes next.

    Returns:
      What is recorded of the members of each part.

    Raises:
      ConfigError: a population does not fit into memory, or `again` where no models are kept.
      RunError: models are asked for of members that have ended without, or a checkpoint is ahead
        of the database.
      SystemExit: Ctrl-C (130) or SIGTERM (143) stopped them, which is then said on stderr.
    """
    for prepared, members in parts:
        _refuse_useless_again(prepared, again)
        memory.refuse_too_large(prepared, len(members))
    with runs.open_store(store_url or folder) as store:
        for prepared, members in parts:
            _done(store, prepared, members, folder, again=again)
        _print_findings(parts)
        rows = []
        for number, (prepared, members) in enumerate(parts):
            announce(number)
            rows.append(_run(store, prepared, members, folder, again=again))
        return rows


def _refuse_useless_again(prepared: base.Prepared, again: bool) -> None:
    if again and not prepared.config.training.keep_models:
        raise ConfigError(
            "--again goes with training.keep_models=true: it trains again what ended without a "
            "saved model"
        )


def _print_findings(parts: Sequence[Part]) -> None:
    """What is odd about the data, each line once: parts mostly share a corpus."""
    findings = [prepared.read.findings for prepared, _ in parts]
    remarks = dict.fromkeys(line for one in findings for line in one.remarks)
    warnings = dict.fromkeys(line for one in findings for line in one.warnings)
    terminal.print_findings([*remarks], [*warnings])


def _done(
    store: runs.Store,
    prepared: base.Prepared,
    members: Sequence[Member],
    folder: Path,
    *,
    again: bool,
) -> dict[Member, runs.MemberResult]:
    """The members that are not to be trained, with what is recorded of them.

    Raises:
      RunError: as `_unsaved`.
    """
    ended = store.ended(prepared.record.id)
    keys = {who: base.key_of(prepared, who) for who in members}
    done = {who: ended[key] for who, key in keys.items() if key in ended}
    for who in _unsaved(prepared, done, folder, again=again):
        del done[who]
    return done


def _run(
    store: runs.Store,
    prepared: base.Prepared,
    members: Sequence[Member],
    folder: Path,
    *,
    again: bool,
) -> list[runs.MemberRow]:
    record = prepared.record
    store.register(record)
    done = _done(store, prepared, members, folder, again=again)
    waiting = [who for who in members if who not in done]
    terminal.print_start(record, len(members), len(done))
    with (
        base.locked(folder, prepared.place),
        _signals() as signals,
        progress.Progress(record, prepared.place, len(members), [*done.values()]) as shown,
    ):
        _train(store, prepared, waiting, len(members), folder, shown, signals)
    keys = {base.key_of(prepared, who) for who in members}
    return [
        row
        for row in store.members()
        if row.experiment == record.id and (row.seed, row.split, row.hparams) in keys
    ]


def _train(
    store: runs.Store,
    prepared: base.Prepared,
    waiting: Sequence[Member],
    members: int,
    folder: Path,
    shown: progress.Progress,
    signals: "_Signals",
) -> None:
    """Trains those that wait, of so many members, until they have ended or a signal arrives."""
    checkpoints = folder / "checkpoints" / prepared.place
    compiling: set[str] = set()

    def compiled(program: str, seconds: float | None) -> None:
        shown.compiled(program, seconds)
        (compiling.add if seconds is None else compiling.discard)(program)
        signals.wait = not compiling  # for the end of an epoch: now there is something to lose

    reports = loop.train(
        prepared.problem,
        waiting,
        checkpoints,
        recording.Recorder(store, prepared, folder),
        lanes_for(prepared.config.training, members),
        resumed=lambda taken: _refuse_lost_epochs(store, prepared, taken, checkpoints),
        compiled=compiled,
    )
    for report in reports:
        shown.epoch(report)
        if signals.caught is not None:
            reports.close()
            _say("stopped between two epochs; the same command continues from here")
            raise SystemExit(_STOPPED + signals.caught)


def _unsaved(
    prepared: base.Prepared,
    done: Mapping[Member, runs.MemberResult],
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
    unsaved = [
        who
        for who, result in done.items()
        if seats.has_best(result.status, result.best_epoch, result.dev)
        and not saved.is_whole(folder, prepared, who)
    ]
    if unsaved and not again:
        raise RunError(
            f"training.keep_models: {len(unsaved)} members of experiment {prepared.record.id} "
            f"have ended without a saved model in {folder} ({base.listed(unsaved)}); --again "
            "trains them again, and another --out leaves these runs as they are"
        )
    return unsaved


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
            f"{checkpoints} continues members of which the runs database lacks epochs "
            f"({base.listed(behind)}): bring back the database, or remove that folder to train "
            "them from their first epoch"
        )


def _say(line: str) -> None:
    print(f"\n{line}", file=sys.stderr)


@dataclasses.dataclass
class _Signals:
    """What has arrived while a population is trained.

    Attributes:
      caught: number of the first signal that waits for the end of an epoch.
      wait: whether signals do; before the first epoch they stop at once.
    """

    caught: int | None = None
    wait: bool = False

    def note(self, number: int, frame: FrameType | None) -> None:
        """Handles a signal."""
        if self.caught is None and self.wait:
            self.caught = number
            os.write(2, _SIGNALS[signal.Signals(number)])
            return
        if self.caught is None:
            os.write(2, b"\nstopped before the first epoch; the same command starts over here\n")
        raise SystemExit(_STOPPED + number)


@contextmanager
def _signals() -> Iterator[_Signals]:
    """The first signal stops training after the epoch, a second one at once."""
    signals = _Signals()
    before = {number: signal.signal(number, signals.note) for number in _SIGNALS}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
