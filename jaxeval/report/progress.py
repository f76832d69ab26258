"""Progress of a training population on stderr: compilation, epochs, and the time left."""

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jaxeval.report import scores
from jaxeval.report.text import counted, duration
from jaxeval.runs.records import Experiment, MemberResult
from jaxeval.stats import describe

if TYPE_CHECKING:
    from jaxeval.contracts import Member
    from jaxeval.population import host
    from jaxeval.population.slots import Slot

_QUIET_SECONDS = 10.0  # at least, between two lines if the output is not a terminal
_QUIET_SHARE = 0.1  # of the time so far: a day of training prints some hundred lines


class Progress:
    """Shows a moving bar on a terminal, and a line now and then elsewhere.

    Args:
      members: number of members in all.
      before: members that had ended before this command.
    """

    def __init__(self, record: Experiment, members: int, before: Sequence[MemberResult]) -> None:
        from rich import console, progress

        self._unit = record.unit
        self._label = scores.label(record.metric, record.unit)
        training = json.loads(record.config)["training"]
        self._epochs = int(training["epochs"])
        self._patience = int(training.get("patience") or 0)
        self._dev: list[float] = []  # scores
        self._ended: list[int] = []  # epochs of ended members
        self._paused: dict[Member, Slot] = {}  # counted as ended, unless they go on
        self._begun = self._printed = time.monotonic()
        self._compiling: dict[str, float | None] = {}
        self._spent: float | None = None  # seconds, after the first epoch
        self._trained = 0  # epochs of members in that time
        self._console = console.Console(stderr=True)
        self._bar = progress.Progress(
            progress.SpinnerColumn(),
            progress.BarColumn(24 if self._console.width >= 120 else 8),
            progress.MofNCompleteColumn(),
            progress.TextColumn("members ended,"),
            progress.TimeElapsedColumn(),
            progress.TextColumn("so far; {task.description}", markup=False),
            console=self._console,
            disable=not self._console.is_terminal,
            refresh_per_second=2.0,  # leaves the cores to training
        )
        self._bar.add_task("preparing", total=0)
        self.join(members, before)

    def __enter__(self) -> "Progress":
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    @property
    def line(self) -> str:
        """The text beside the bar."""
        return self._bar.tasks[0].description

    def join(self, members: int, before: Sequence[MemberResult]) -> None:
        """Counts members in, some of which had ended before this command."""
        known = (result.dev for result in before if result.status != "diverged")
        self._dev += [dev for dev in known if dev is not None]
        self._ended += [result.epochs for result in before if result.status != "failed"]
        total = int(self._bar.tasks[0].total or 0) + members
        self._bar.update(self._bar.tasks[0].id, total=total, advance=len(before))

    def compiled(self, program: str, seconds: float | None) -> None:
        """Shows that the compilation of a program begins (None) or has taken some seconds."""
        if not self._compiling and not self._console.is_terminal:
            self.say("compiling ...")
        self._compiling = {**self._compiling, program: seconds}
        now = [name for name, taken in self._compiling.items() if taken is None]
        if not now:
            done = (f"{name} {taken:.0f} s" for name, taken in sorted(self._compiling.items()))
            self.say(f"compiled: {', '.join(done)}")
        line = f"compiling {', '.join(now)}" if now else "first epoch"
        self._bar.update(self._bar.tasks[0].id, description=line)

    def epoch(self, report: "host.Report") -> None:
        """Shows the members, dev scores and time left after an epoch of the population."""
        each = [slot.member for slot in (*report.slots, *report.ended)]
        going_on = [self._paused.pop(who) for who in each if who in self._paused]
        for slot in going_on:  # they train again
            self._ended.remove(slot.epoch)
            if slot.reported is not None:
                self._dev.remove(slot.reported)
        paused = [slot for slot in report.ended if slot.status == "paused"]
        self._paused |= {slot.member: slot for slot in paused if slot.member is not None}
        finished = [slot.epoch for slot in report.ended if slot.status != "failed"]
        training = [slot for slot in report.slots if slot.active]
        self._ended += finished
        known = (slot.reported for slot in report.ended if slot.status != "diverged")
        self._dev += [dev for dev in known if dev is not None]
        if self._spent is not None:
            self._spent += report.seconds
            self._trained += len(training) + len(finished)
        else:  # the first epoch includes some compilation
            self._spent = 0.0
        task = self._bar.tasks[0]
        left = len(training) + report.waiting
        ended = int(task.completed) + len(report.ended) - len(going_on)
        total = max(int(task.total or 0) - len(going_on), ended + left)  # others may have joined
        line = self._status(report, [slot.epoch for slot in training])
        line += self._left(training, report.waiting)
        self._bar.update(task.id, description=line, completed=ended, total=total)
        now = time.monotonic()
        quiet = max(_QUIET_SECONDS, _QUIET_SHARE * (now - self._begun))
        if not self._console.is_terminal and now - self._printed > quiet:
            self._printed = now
            self.say(line)

    def _left(self, training: "Sequence[Slot]", waiting: int) -> str:
        """Estimates the time left if all train as long as those that have ended, on average.

        A member goes on for the epochs of its patience at least.
        """
        typical = float(np.mean(self._ended)) if self._ended else float(self._epochs)
        more = waiting * typical
        for slot in training:
            patient = min(self._epochs, (slot.best_epoch or 0) + self._patience)
            more += max(typical, patient, slot.epoch + 1) - slot.epoch
        if not more or not self._trained or not self._spent:
            return "; estimating the time left" if more else ""
        seconds = duration(more * self._spent / self._trained)
        if not self._ended:
            return f"; all {self._epochs} epochs would take {seconds} more"
        return f"; about {seconds} left"

    def _status(self, report: "host.Report", training: Sequence[int]) -> str:
        ends = "-".join(map(str, sorted({min(training), max(training)}))) if training else ""
        line = (f"epoch {ends}, " if ends else "") + counted(len(training), "member") + " training"
        line += f", {report.waiting} waiting" if report.waiting else ""
        live = [s.reported for s in report.slots if s.active and s.reported is not None]
        if not (dev := [*self._dev, *live]):
            return f"{line}; no dev scores yet"
        low, median, high = (scores.shown(v, self._unit) for v in describe.five_numbers(dev)[::2])
        return f"{line}; dev {self._label}: lowest {low}, median {median}, highest {high}"

    def say(self, line: str) -> None:
        """Prints a line beside the bar."""
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)
