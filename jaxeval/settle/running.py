"""Comparisons of commands and of configs, and of a command with itself; scores in a ledger."""

import contextlib
import dataclasses
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from jaxeval import cli
from jaxeval.bandits import Settle, running
from jaxeval.bandits.commands import Command, EvaluationFailed
from jaxeval.bandits.rules import State
from jaxeval.bandits.running import Evaluated, Job
from jaxeval.errors import ConfigError, DataError, RunError, argument, printable
from jaxeval.report import text
from jaxeval.report.settlements import settlement
from jaxeval.report.settlements.settlement import Settlement
from jaxeval.runs.normal import LARGEST
from jaxeval.settle import ledger, reporting, sides
from jaxeval.settle.ledger import Comparison, Correction, Ledger
from jaxeval.settle.sides import Side
from jaxeval.stats.sequential import FIRST_LOOK

if TYPE_CHECKING:
    from jaxeval.studies.launching import Launcher

_NAMES = ("base", "candidate")
FIRST, AGAIN = "first run", "second run"


class Request(NamedTuple):
    """What is asked of a comparison."""

    rule: Settle  # its direction, level and known scores are still to come
    correction: Correction
    again: bool
    note: str
    ledger: Path | None


class _OpenComparison(NamedTuple):
    """A comparison that has begun in its ledger."""

    ledger: Ledger
    comparison: Comparison
    ids: Mapping[str, str]  # side -> its id
    rule: Settle
    unit: str
    spent: dict[str, float]  # side -> seconds of training that the ledger did not know

    def add(self, event: Evaluated) -> str:
        """Writes what an evaluation has brought, if it counts; returns a line about it."""
        seed = self.comparison.after + event.number
        lost = event.state.lost.get(event.model, ())
        if event.score is not None or (self.rule.statistic == "wins" and event.number in lost):
            side = self.ids[event.model]
            number = self.comparison.number
            if seed not in self.ledger.scores(side):
                self.spent[event.model] += event.seconds
            self.ledger.add(side, seed, event.score, event.seconds, number)
        return reporting.progress(self.rule, event, self.comparison.after, self.unit)

    def result(self, state: State, notes: Sequence[str] = (), **more: Any) -> Settlement:
        """Returns the outcome, and writes it; `more` are fields of it."""
        of, before = self.comparison, []
        if of.verdict in ledger.DECIDED:
            flag = argument("again", True)
            before.append(f"settled before; {flag} settles it again, with fresh seeds")
        if of.level < of.settings["alpha"]:
            before.append(f"comparison {of.number} of its ledger, at level {of.level:.2g}")
        about = {"notes": [*before, *notes], "unit": self.unit, "seconds": self.spent}
        found = settlement.settlement(self.rule, state, of.after + 1, about | more)
        self.ledger.decide(of.number, found.verdict, found.to_dict())
        return found


@contextlib.contextmanager
def _open_comparison(
    request: Request,
    found: Mapping[str, Side],
    paired: bool,
    higher_is_better: bool,
    unit: str = "",
) -> Iterator[_OpenComparison]:
    """Opens the ledger, and finds or begins the comparison of two sides."""
    rule = dataclasses.replace(request.rule, paired=paired, higher_is_better=higher_is_better)
    names = ("margin", "alpha", "statistic", "paired", "higher_is_better")
    settings: dict[str, Any] = {name: getattr(rule, name) for name in names}
    settings["correction"] = request.correction
    with ledger.opened(request.ledger) as book:
        base, candidate = found.values()
        begun = book.begin(base, candidate, printable(request.note), settings, request.again)
        known = 0 if paired or rule.statistic != "t" else begun.known
        most = max(rule.most, begun.last - begun.after if begun.verdict in ledger.DECIDED else 0)
        rule = dataclasses.replace(rule, alpha=begun.level, known=known, most=most)
        with book.alone(begun.number):
            ids = {name: side.id for name, side in found.items()}
            yield _OpenComparison(book, begun, ids, rule, unit, dict.fromkeys(ids, 0.0))


@dataclasses.dataclass
class Runs:
    """Evaluates sides by their commands; what the ledger has is not evaluated again."""

    commands: Mapping[str, Command]
    ids: Mapping[str, str]  # side -> its id in the ledger
    book: Ledger
    after: int = 0  # the k-th evaluation has seed and split after + k
    comparison: int | None = None  # for which the seeds are evaluated
    # side -> seeds that failed, and are not tried again by the same command later
    lost: Mapping[str, set[int]] = dataclasses.field(default_factory=dict)
    seconds: dict[Job, float] = dataclasses.field(default_factory=dict)  # of new evaluations

    def __call__(self, side: str, number: int) -> float:
        seed = self.after + number
        if seed in self.lost.get(side, ()):
            raise EvaluationFailed("it failed before")
        known = self.book.scores(self.ids[side]).get(seed)
        if known is not None:
            return known
        begun = time.monotonic()
        score = self.commands[side].score({"seed": str(seed), "split": str(seed)})
        if score != 0 and not 1 / LARGEST <= abs(score) <= LARGEST:  # it has no variance
            sizes = f"0, or a size from {1 / LARGEST:g} to {LARGEST:g}"
            expected = sizes if math.isfinite(score) else "a finite number"
            raise EvaluationFailed(f"the score is {score:g}; expected {expected}")
        took = self.seconds[side, number] = time.monotonic() - begun
        first = self.book.add(self.ids[side], seed, score, took, self.comparison)
        return score if first is None else first

    def spent(self) -> dict[str, float]:
        each = [(side, took) for (side, _), took in self.seconds.items()]
        return {side: sum(took for s, took in each if s == side) for side in self.ids}

    def stop(self) -> None:
        for command in self.commands.values():
            command.stop()


def settle_commands(
    programs: Sequence[Command],
    request: Request,
    lower_is_better: bool | None,
    *,
    workers: int,
    retries: int,
    quiet: bool,
) -> Settlement:
    """Runs the commands of a base and a candidate until the comparison is settled.

    Raises:
      ConfigError: both are the same code.
    """
    metric, higher, direction = text.direction_of_field(programs[0].field, lower_is_better)
    for program in programs:
        program.assumed = direction if higher is None else ""
    commands = dict(zip(_NAMES, programs, strict=True))
    found = {name: sides.side(program) for name, program in commands.items()}
    if len({side.id for side in found.values()}) == 1:
        raise ConfigError("base and candidate are the same command and the same code")
    paired = request.rule.paired or all("{split}" in program.template for program in programs)
    with _open_comparison(request, found, paired, higher is not False) as opened:
        rule, of = opened.rule, opened.comparison
        lost = {side: opened.ledger.lost(id) for side, id in opened.ids.items()}
        lost = lost if rule.statistic == "wins" else {}
        runs = Runs(commands, opened.ids, opened.ledger, of.after, of.number, lost)
        cli.say(direction, quiet)
        side_by_side = running.Selecting(
            rule, rule.begin(_NAMES), retries + 1, lambda number: f"seed {of.after + number}"
        )
        steps = running.run(side_by_side, runs, workers=workers, retries=retries, stop=runs.stop)
        with contextlib.closing(steps):
            for event in steps:
                line = opened.add(event)
                known_to_fail = of.after + event.number in runs.lost.get(event.model, ())
                failed = event.score is None and not known_to_fail
                if failed or (event.model, event.number) in runs.seconds:
                    cli.say(line, quiet)
        changed = [
            f"{name}: its code changed while it ran ({named}); its scores may be of two versions"
            for name, program in commands.items()
            if runs.spent()[name] and (named := sides.changed(found[name], sides.side(program)))
        ]
        return opened.result(
            side_by_side.state,
            [*(note for side in found.values() for note in side.notes), *changed],
            metric=metric,
            direction_assumed=higher is None,
            seconds=runs.spent(),
            versions={name: side.described for name, side in found.items()},
            comparison=of.number,
        )


def settle_configs(
    configs: Sequence[Any],
    request: Request,
    folder: Path,
    own_splits: bool,
    part: Literal["dev", "test"] | None,
    launcher: "Launcher | None",
    quiet: bool,
) -> Settlement:
    """Trains a base and a candidate until the comparison is settled.

    Raises:
      ConfigError: both are the same, or have other data or another metric.
    """
    from jaxeval.select import training

    models = training.Models(configs, own_splits=own_splits, part=part)
    record = models.record
    found = {name: Side(of.id, name, "") for name, of in models.records.items()}
    paired, higher = models.random_splits, record.higher_is_better
    with _open_comparison(request, found, paired, higher, record.unit) as opened:
        models.begin(opened.rule, opened.add, opened.comparison.after)
        state = training.train(models, folder, launcher, quiet)
        number = opened.comparison.number if request.ledger else None
        return opened.result(state, metric=record.metric, comparison=number)


class Repeating(running.Proposer[str]):
    """Seeds 1 to 3 of a command twice, then the others, and these again if a score differs."""

    def __init__(self, command: str, runs: Runs, seeds: int, workers: int):
        self._command, self._runs, self._seeds, self._workers = command, runs, seeds, workers
        few = [(run, seed) for seed in range(1, FIRST_LOOK + 1) for run in (FIRST, AGAIN)]
        rest = range(FIRST_LOOK + 1, seeds + 1)
        self._stages = iter((few, [(FIRST, k) for k in rest], [(AGAIN, k) for k in rest]))
        self.found: dict[str, dict[int, float]] = {FIRST: {}, AGAIN: {}}

    def ask(self, free: int) -> Sequence[Job]:
        """Begins the next stage when all of the last one have ended."""
        if free < self._workers:
            return ()
        first, again = self.found.values()
        if len(every := {score for of in (first, again) for score in of.values()}) == 1:
            raise DataError(
                f"seeds 1 to {max(first)} have the same score, {every.pop():g}: the seed does not "
                "reach the program, or has no effect; expected a program that uses {seed}",
                self._command,
            )
        same = all(first[k] == score for k, score in again.items())
        return () if len(first) >= self._seeds and same else next(self._stages, ())

    def tell(self, job: Job, result: float | str, again: bool) -> str | None:
        run, seed = job
        if isinstance(result, float):
            self.found[run][seed] = result
            return f"{run}, seed {seed}: {result:g}" if job in self._runs.seconds else None
        if again:
            return f"{run}, seed {seed}: {result}; tried again"
        raise RunError(f"seed {seed} has no score: {result}")
