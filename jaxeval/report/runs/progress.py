"""What a population is at, on stderr: compiling, then training, with the time that is left."""

import json
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jaxeval.report import scores
from jaxeval.report.text import counted, duration
from jaxeval.runs.records import Experiment, MemberResult
from jaxeval.stats import describe

if TYPE_CHECKING:
    from rich import progress as bars

    from jaxeval.population import host

_QUIET_SECONDS = 10.0  # at least, between two lines where the output is no terminal
_QUIET_SHARE = 0.1  # of the time so far: a day of training is some hundred lines
_REFRESHED = 2.0  # times a second; the cores are the trainer's
_WIDE = 120  # columns of a terminal that has room for a long bar


class Left(NamedTuple):
    """How much is still to be trained, in epochs of one member."""

    epochs: float
    bound: bool  # nobody has ended yet: no member trains longer


def left(epochs: int, ended: Sequence[int], training: Sequence[int], waiting: int) -> Left:
    """What is left if all train as long as those that have ended, on average.

    Args:
      epochs: of the config, at most.
      ended: epochs of the members that have ended.
      training: epochs done of those that train.
      waiting: members that have not begun.
    """
    typical = float(np.mean(ended)) if ended else float(epochs)
    more = sum(max(typical, done + 1) - done for done in training)
    return Left(more + waiting * typical, not ended)


class Progress:
    """Shows a population; a bar that moves on a terminal, now and then a line elsewhere.

    Args:
      before: members that had ended before this command.
    """

    def __init__(self, record: Experiment, members: int, before: Sequence[MemberResult]) -> None:
        from rich.console import Console

        self._unit, self._label = record.unit, scores.label(record.metric, record.unit)
        self._epochs = int(json.loads(record.config)["training"]["epochs"])
        self._best = [result.dev for result in before if result.dev is not None]
        self._ended = [result.epochs for result in before if result.status != "failed"]
        self._begun = self._epoch_begun = self._spoken = time.monotonic()
        self._compiling: dict[str, float | None] = {}
        self._spent, self._trained = 0.0, 0
        self._epoch_seconds: float | None = None  # of the last one
        self._line, self._active = "preparing", True
        self._console = Console(stderr=True)
        self._bar = self._make_bar()
        self._members, self._completed = members, len(before)
        self._task = self._bar.add_task("", total=members, completed=len(before))

    def __enter__(self) -> "Progress":
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def _make_bar(self) -> "bars.Progress":
        from rich import progress
        from rich.text import Text

        status = self._now

        class Now(progress.ProgressColumn):
            """The line that moves while nothing is reported."""

            def render(self, task: "bars.Task") -> Text:
                return Text(status())

        return progress.Progress(
            progress.SpinnerColumn(),
            progress.BarColumn(24 if self._console.width >= _WIDE else 8),
            progress.MofNCompleteColumn(),
            progress.TextColumn("members ended,"),
            progress.TimeElapsedColumn(),
            progress.TextColumn("so far;"),
            Now(),
            console=self._console,
            disable=not self._console.is_terminal,
            refresh_per_second=_REFRESHED,
        )

    def _now(self) -> str:
        """What is being done, and since when."""
        since = time.monotonic() - self._epoch_begun
        if None in self._compiling.values():
            return compiling(self._compiling)
        if self._epoch_seconds is None:
            return f"{self._line}, {since:.0f} s"
        if not self._active:
            return self._line
        last = duration(self._epoch_seconds)
        return f"{self._line}; this epoch {since:.0f} s, the last one {last}"

    def compiled(self, program: str, seconds: float | None) -> None:
        """Is told when a program's compilation begins (None) and ends."""
        if not self._compiling and not self._console.is_terminal:
            self.say("compiling ...")
        self._compiling = {**self._compiling, program: seconds}
        if None not in self._compiling.values():
            self._epoch_begun, self._line = time.monotonic(), "first epoch"
            self.say(f"compiled: {_seconds(self._compiling)}")

    def epoch(self, report: "host.Report") -> None:
        """Is told what an epoch of the population brought."""
        self._ended += [end.epochs for end in report.ended if end.status != "failed"]
        self._best += [end.dev for end in report.ended if end.dev is not None]
        training = [slot.epoch for slot in report.slots if slot.active]
        if self._epoch_seconds is not None:  # the first one took what compilation left to do
            self._spent += report.seconds
            self._trained += len(training)
            self._trained += sum(end.status != "failed" for end in report.ended)
        self._active = bool(training) or report.waiting > 0
        self._epoch_seconds, self._epoch_begun = report.seconds, time.monotonic()
        more = left(self._epochs, self._ended, training, report.waiting)
        self._line = status(report, self._best, self._label, self._unit) + self._time_of(more)
        # others may have joined
        known = self._completed + len(report.ended) + len(training) + report.waiting
        self._completed += len(report.ended)
        self._bar.update(self._task, advance=len(report.ended), total=max(known, self._members))
        quiet = max(_QUIET_SECONDS, _QUIET_SHARE * (self._epoch_begun - self._begun))
        if not self._console.is_terminal and self._epoch_begun - self._spoken > quiet:
            self._spoken = self._epoch_begun
            self.say(self._line)

    def _time_of(self, more: Left) -> str:
        """The time that is left, in words; that all epochs would take until a member has ended."""
        if not more.epochs:
            return ""
        if not self._trained:
            return "; estimating the time left"
        seconds = duration(more.epochs * self._spent / self._trained)
        if more.bound:
            return f"; all {self._epochs} epochs would take {seconds} more"
        return f"; about {seconds} left"

    def say(self, line: str) -> None:
        """Prints a line beside the bar."""
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)


def compiling(programs: Mapping[str, float | None]) -> str:
    """What is compiled now, and what is done."""
    now = [name for name, seconds in programs.items() if seconds is None]
    done = {name: seconds for name, seconds in programs.items() if seconds is not None}
    return f"compiling {', '.join(now)}" + (f"; done: {_seconds(done)}" if done else "")


def _seconds(times: Mapping[str, float | None]) -> str:
    return ", ".join(f"{name} {seconds:.0f} s" for name, seconds in sorted(times.items()))


def status(report: "host.Report", ended: Sequence[float], label: str, unit: str) -> str:
    """Members and dev scores after an epoch of the population: lowest, median, highest.

    Args:
      label: the metric with its unit.
    """
    live = [s.reported for s in report.slots if s.active and s.reported is not None]
    epochs = [slot.epoch for slot in report.slots if slot.active]
    dev = [*ended, *live]
    span = "-".join(map(str, sorted({min(epochs), max(epochs)}))) if epochs else ""
    head = (f"epoch {span}, " if epochs else "") + f"{counted(len(epochs), 'member')} training"
    head += f", {report.waiting} waiting" if report.waiting else ""
    if not dev:
        return f"{head}; no dev scores yet"
    low, median, high = (scores.shown(v, unit) for v in describe.five_numbers(dev)[::2])
    return f"{head}; dev {label}: lowest {low}, median {median}, highest {high}"
