"""Comparisons of commands and of configs, with their scores in a ledger."""

import contextlib
import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from jaxeval import cli
from jaxeval.bandits import evaluate
from jaxeval.bandits.commands import Command
from jaxeval.bandits.evaluate import Evaluated
from jaxeval.bandits.rules import State
from jaxeval.bandits.settling import Settle
from jaxeval.errors import ConfigError, argument
from jaxeval.report import text
from jaxeval.report.settlements import settlement
from jaxeval.report.settlements.settlement import Settlement
from jaxeval.settle import ledger, sides
from jaxeval.settle.ledger import Comparison, Correction, Ledger
from jaxeval.settle.sides import Side
from jaxeval.stats.claims import Statistic

if TYPE_CHECKING:
    from jaxeval.studies.launching import Launcher

BASE, CANDIDATE = "base", "candidate"
_PLACES = ("seed", "split")


class Settings(NamedTuple):
    """What is asked of a comparison."""

    seeds: int  # most of each side
    margin: float
    alpha: float
    correction: Correction
    statistic: Statistic
    paired: bool  # scores of one seed are pairs, even without a split of their own
    again: bool
    note: str
    ahead: int  # seeds of each side under way


@dataclasses.dataclass(frozen=True)
class Reading:
    """How the score of a command is read."""

    json_field: str | None
    pattern: str | None
    time_limit: float | None

    @property
    def place(self) -> str:
        """Where the output has the score, as text."""
        return str([self.json_field, self.pattern])

    def command(self, template: str, folder: Path) -> Command:
        """Returns a command with this reading; ConfigError if it cannot run."""
        if "{seed}" not in template:
            raise ConfigError(f"command: expected {{seed}} somewhere in {template!r}")
        return Command(template, _PLACES, self.json_field, self.time_limit, self.pattern, folder)


class _Book(NamedTuple):
    """A comparison, and where its scores are written."""

    ledger: Ledger | None
    comparison: Comparison
    ids: Mapping[str, str]  # name of the side -> its id

    def rule(self, settings: Settings, higher_is_better: bool) -> Settle:
        """Returns the rule of the comparison."""
        paired, statistic = settings.paired, settings.statistic
        return Settle(
            higher_is_better=higher_is_better,
            most=settings.seeds,
            margin=settings.margin,
            alpha=self.comparison.level,
            statistic=statistic,
            paired=paired,
            known=0 if paired or statistic != "t" else self.comparison.known,
            ahead=settings.ahead,
        )

    def add(self, event: Evaluated) -> None:
        """Writes the score of an evaluation, or that it failed and this counts."""
        if self.ledger is None or event.number not in event.state.scores[event.model]:
            return
        of = self.ids[event.model], self.comparison.after + event.number
        if event.score is None:
            self.ledger.lose(*of, self.comparison.number)
        else:
            self.ledger.add(*of, event.score, 0.0, self.comparison.number)

    def result(self, rule: Settle, state: State, **more: Any) -> Settlement:
        """Returns the outcome, and writes it."""
        notes = []
        if self.comparison.verdict in ledger.DECIDED:
            flag = argument("again", True)
            notes.append(f"settled before; {flag} settles it anew, with fresh seeds")
        if self.comparison.level < self.comparison.settings["alpha"]:
            level = f"{self.comparison.level:.2g}"
            notes.append(f"comparison {self.comparison.number} of its ledger, at level {level}")
        more["notes"] = [*notes, *more.get("notes", ())]
        if self.ledger is not None:
            more["comparison"] = self.comparison.number
        found = settlement.settlement(rule, state, self.comparison.after + 1, more)
        if self.ledger is not None:
            self.ledger.decide(self.comparison.number, found.verdict, found.to_dict())
        return found


@contextlib.contextmanager
def _opened(
    path: Path | None, found: Mapping[str, Side], settings: Settings, higher_is_better: bool
) -> Iterator[_Book]:
    """Opens a ledger, if there is one, and finds or begins the comparison of two sides."""
    base, candidate = found.values()
    ids = {name: side.id for name, side in found.items()}
    shared = ("margin", "alpha", "statistic", "paired", "correction")
    asked: dict[str, Any] = {name: getattr(settings, name) for name in shared}
    asked["higher_is_better"] = higher_is_better
    if path is None:
        alone = Comparison(
            1, base.id, candidate.id, settings.note, asked, settings.alpha, 0, 0, 0.0, None, None
        )
        yield _Book(None, alone, ids)
        return
    with ledger.opened(path) as book:
        begun = book.begin(base, candidate, settings.note, asked, settings.again)
        with book.alone(begun.number):
            yield _Book(book, begun, ids)


def settle_commands(
    templates: Sequence[str],
    folders: Sequence[Path],
    reading: Reading,
    settings: Settings,
    lower_is_better: bool | None,
    path: Path,
    *,
    workers: int,
    retries: int,
    quiet: bool,
) -> Settlement:
    """Runs the commands of a base and a candidate until the comparison is settled.

    Raises:
      ConfigError: a command cannot run, or both are the same code.
    """
    metric, higher, direction = text.direction_of_field(reading.json_field, lower_is_better)
    pairs = [*zip((BASE, CANDIDATE), templates, folders, strict=True)]
    commands = {name: reading.command(line, folder) for name, line, folder in pairs}
    versions = functools.partial(_versions, pairs, reading.place)
    found = versions()
    if found[BASE].id == found[CANDIDATE].id:
        raise ConfigError(
            "base and candidate are the same command and the same code: nothing to settle"
        )
    by_split = all("{split}" in template for template in templates)
    settings = settings._replace(paired=settings.paired or by_split)
    with _opened(path, found, settings, higher is not False) as book:
        rule, of = book.rule(settings, higher is not False), book.comparison
        assert book.ledger is not None
        once = rule.statistic == "wins"
        runner = sides.Runner(commands, book.ids, book.ledger, of.after, of.number, once)
        cli.say(direction, quiet)
        state = _evaluated(book, rule, runner, workers, retries, quiet)
        changed = [
            f"{name}: its code changed while it ran; its scores may be of two versions"
            for name, side in versions().items()
            if runner.spent()[name] and side.id != found[name].id
        ]
        return book.result(
            rule,
            state,
            metric=metric,
            direction_assumed=higher is None,
            seconds=runner.spent(),
            versions={name: side.described for name, side in found.items()},
            notes=[*(note for side in found.values() for note in side.notes), *changed],
        )


def _evaluated(
    book: _Book, rule: Settle, runner: sides.Runner, workers: int, retries: int, quiet: bool
) -> State:
    """Evaluates what the rule asks for, with progress; returns the last state."""
    state, after = rule.begin([*book.ids]), book.comparison.after
    how: dict[str, Any] = {"workers": workers, "retries": retries}
    how["name"] = lambda number: f"seed {after + number}"
    steps = evaluate.run(rule, state.models, runner, **how)
    with contextlib.closing(steps):
        for event in steps:
            state = event.state
            book.add(event)
            failed = event.score is None and after + event.number not in runner.lost[event.model]
            if failed or (event.model, event.number) in runner.seconds:
                cli.say(settlement.progress(rule, event, after), quiet)
    return state


def _versions(pairs: Sequence[tuple[str, str, Path]], place: str) -> dict[str, Side]:
    return {name: sides.describe(command, folder, place) for name, command, folder in pairs}


def settle_configs(
    configs: Sequence[Any],
    settings: Settings,
    path: Path | None,
    folder: Path,
    store_url: str | None,
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

    arms = training.arms(configs, own_splits=own_splits, part=part)
    record, higher = arms.record, arms.record.higher_is_better
    settings = settings._replace(paired=arms.random_splits)
    found = {name: Side(of.id, name, "") for name, of in arms.records.items()}
    with _opened(path, found, settings, higher) as book:
        rule, after = book.rule(settings, higher), book.comparison.after

        def show(event: Evaluated) -> str:
            book.add(event)
            return settlement.progress(rule, event, after, record.unit)

        arms = arms._replace(after=after)
        state = training.train(rule, arms, folder, store_url, show, launcher=launcher, quiet=quiet)
        return book.result(rule, state, metric=record.metric, unit=record.unit)
