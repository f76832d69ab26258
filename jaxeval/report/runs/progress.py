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
    from rich import progress as bars

    from jaxeval.population import host

_QUIET_SECONDS = 10.0  # at least, between two lines if the output is not a terminal
_QUIET_SHARE = 0.1  # of the time so far: a day of training prints some hundred lines


class Progress:
    """Shows a moving bar on a terminal, and a line now and then elsewhere.

    Args:
      members: number of members in all.
      before: members that had ended before this command.
    """

    def __init__(self, record: Experiment, members: int, before: Sequence[MemberResult]) -> None:
        from rich.console import Console

        self._unit, self._label = record.unit, scores.label(record.metric, record.unit)
        self._epochs = int(json.loads(record.config)["training"]["epochs"])
        self._dev = [result.dev for result in before if result.dev is not None]
        self._ended = [result.epochs for result in before if result.status != "failed"]
        self._begun = self._epoch_begun = self._printed = time.monotonic()
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

        now = self._now

        class Now(progress.ProgressColumn):
            """The current activity, which moves between two reports."""

            def render(self, task: "bars.Task") -> Text:
                return Text(now())

        return progress.Progress(
            progress.SpinnerColumn(),
            progress.BarColumn(24 if self._console.width >= 120 else 8),
            progress.MofNCompleteColumn(),
            progress.TextColumn("members ended,"),
            progress.TimeElapsedColumn(),
            progress.TextColumn("so far;"),
            Now(),
            console=self._console,
            disable=not self._console.is_terminal,
            refresh_per_second=2.0,  # leaves the cores to training
        )

    def _now(self) -> str:
        since = time.monotonic() - self._epoch_begun
        if now := [name for name, seconds in self._compiling.items() if seconds is None]:
            done = f"; done: {self._compiled()}" if len(now) < len(self._compiling) else ""
            return f"compiling {', '.join(now)}{done}"
        if self._epoch_seconds is None:
            return f"{self._line}, {since:.0f} s"
        if not self._active:
            return self._line
        last = duration(self._epoch_seconds)
        return f"{self._line}; this epoch {since:.0f} s, the last one {last}"

    def _compiled(self) -> str:
        done = sorted((name, t) for name, t in self._compiling.items() if t is not None)
        return ", ".join(f"{name} {seconds:.0f} s" for name, seconds in done)

    def compiled(self, program: str, seconds: float | None) -> None:
        """Shows that the compilation of a program begins (None) or has taken some seconds."""
        if not self._compiling and not self._console.is_terminal:
            self.say("compiling ...")
        self._compiling = {**self._compiling, program: seconds}
        if None not in self._compiling.values():
            self._epoch_begun, self._line = time.monotonic(), "first epoch"
            self.say(f"compiled: {self._compiled()}")

    def epoch(self, report: "host.Report") -> None:
        """Shows the members, dev scores and time left after an epoch of the population."""
        finished = [end.epochs for end in report.ended if end.status != "failed"]
        training = [slot.epoch for slot in report.slots if slot.active]
        self._ended += finished
        self._dev += [end.dev for end in report.ended if end.dev is not None]
        if self._epoch_seconds is not None:  # the first epoch includes some compilation
            self._spent += report.seconds
            self._trained += len(training) + len(finished)
        self._active = bool(training) or report.waiting > 0
        self._epoch_seconds, self._epoch_begun = report.seconds, time.monotonic()
        self._line = self._status(report, training) + self._left(training, report.waiting)
        # other members may have joined
        known = self._completed + len(report.ended) + len(training) + report.waiting
        self._completed += len(report.ended)
        self._bar.update(self._task, advance=len(report.ended), total=max(known, self._members))
        quiet = max(_QUIET_SECONDS, _QUIET_SHARE * (self._epoch_begun - self._begun))
        if not self._console.is_terminal and self._epoch_begun - self._printed > quiet:
            self._printed = self._epoch_begun
            self.say(self._line)

    def _left(self, training: Sequence[int], waiting: int) -> str:
        """Estimates the time left if all train as long as those that have ended, on average."""
        typical = float(np.mean(self._ended)) if self._ended else float(self._epochs)
        more = sum(max(typical, done + 1) - done for done in training) + waiting * typical
        if not more:
            return ""
        if not self._trained:
            return "; estimating the time left"
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
