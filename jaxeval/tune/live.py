"""A config as what is tuned with successive halving: lanes that become free get new settings."""

import dataclasses
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path

import jax

from jaxeval import runs
from jaxeval.errors import ConfigError, RunError
from jaxeval.studies import cohorts, events, live, memory, programs, running
from jaxeval.studies.cohorts import Cohort, Entry
from jaxeval.studies.live import Progress
from jaxeval.tune import configs
from jaxeval.tune.configs import Bounds, Scored, Told
from jaxeval.tune.targets import Target
from jaxeval.tuning import halving as halvings
from jaxeval.tuning import history as histories
from jaxeval.tuning import search as searches
from jaxeval.tuning.history import Evaluation, History, Result, Stopped
from jaxeval.tuning.search import Search

_NO_ROOM = Result(failure="out of memory")


def tune(
    of: Target,
    search: Search,
    history: History,
    store: runs.Store,
    folder: Path,
    bounds: Bounds,
    save: Callable[[History], None],
) -> Generator[events.Event | Scored | Told, None, None]:
    """Goes on with a search, population by population; arguments as of `configs.tune`.

    A population takes new settings of its program as long as there are any. Settings of another
    program wait until it has ended. One that does not fit into memory goes on lane by lane;
    settings that do not fit so have failed.

    Args:
      save: makes a history safe. It is called before what it proposes is trained, and before what
        it tells of trainings is recorded elsewhere: a search that was killed repeats epochs, meets
        everybody when it did before, and decides nothing anew.

    Raises:
      RunError: as `studies.run_cohorts`; or lane by lane too there is no memory to record what
        was decided.
    """
    running_search = _Live(of, search, history, store, bounds, save)
    narrow = ""  # name of a population that does not fit into memory in all its lanes
    while (cohort := running_search.begin()) is not None:
        lanes = 1 if cohort.name == narrow else bounds.parallel
        fits = yield from _train(running_search, cohort, lanes, folder)
        narrow = "" if fits else cohort.name
        running_search.end(lost=not fits and lanes == 1)
        yield from running_search.news()


def _train(
    running_search: "_Live", cohort: Cohort, lanes: int, folder: Path
) -> Generator[events.Event | Scored | Told, None, bool]:
    """Trains a population in so many lanes; whether it fitted into memory."""
    feed = live.Feed(running_search.arrivals(), running_search.after_epoch)
    session, store = running_search.of.session, running_search.store
    happening = running.run_open(cohort, feed, store, folder, session=session, lanes=lanes)
    try:
        for event in happening:
            yield event
            if isinstance(event, events.Epoch):
                yield from running_search.news()
    except (jax.errors.JaxRuntimeError, MemoryError, memory.TooLarge) as error:
        if not memory.exhausted(error):
            raise
        return False
    return True


@dataclasses.dataclass
class _Live:
    """A search that feeds populations.

    Attributes:
      history: in which each evaluation says when it joined which population: the order in which
        results were told and settings proposed.
      told: numbers of evaluations that ended since `news` was asked for.
      program: of the population that is trained.
    """

    of: Target
    search: Search
    history: History
    store: runs.Store
    bounds: Bounds
    save: Callable[[History], None]
    told: list[int] = dataclasses.field(default_factory=list)
    program: str = ""

    @property
    def population(self) -> int:
        """Number of the last one that an evaluation joined; -1 before the first."""
        return max((e.joined[0] for e in self.history.evaluations if e.joined), default=-1)

    def begin(self) -> Cohort | None:
        """The population that was stopped, or else the next one; None where all has ended."""
        number, of_number = self.population, self._joined(self.population)
        entries = [entry for e in of_number if (entry := self._unrecorded(e)) is not None]
        if not entries:
            number, entries = number + 1, self._next(number + 1)
        if not entries:
            return None
        self.program = _program(entries[0])
        return cohorts.open_cohort(entries, f"{self.of.record.id}-{number}")

    def _next(self, number: int) -> list[Entry]:
        """Who begins a population: all that wait and share the program of the first of them."""
        self.program = ""
        self._propose(number, 0)
        waiting = [e for e in histories.pending(self.history) if e.joined is None]
        entries = {e.number: entry for e in waiting if (entry := self._entry(e)) is not None}
        if entries:
            program = _program(next(iter(entries.values())))
            entries = {n: entry for n, entry in entries.items() if _program(entry) == program}
        for evaluation in entries:
            self.history = histories.change(self.history, evaluation, joined=(number, 0))
        self.save(self.history)
        return [*entries.values()]

    def arrivals(self) -> Mapping[int, int]:
        """Seed -> epochs of the population after which its evaluation joined."""
        joined = self._joined(self.population)
        return {e.seeds[0]: e.joined[1] for e in joined if e.joined is not None}

    def after_epoch(
        self, epochs: int, brought: Sequence[Progress]
    ) -> tuple[set[int], list[Entry]]:
        """As of `live.Feed`; what is known from before a stop is not decided again."""
        before, by_seed = self.history, {e.seeds[0]: e for e in self.history.evaluations}
        assert self.search.halving is not None
        reached: dict[int, tuple[float, Stopped]] = {}
        for progress in brought:
            evaluation = by_seed[progress.entry.trial.seed]
            if evaluation.result is not None:
                continue
            most = progress.entry.prepared.config.training.epochs
            rungs = self.search.halving.rungs(most)[len(evaluation.rungs) :]
            if progress.best is not None and progress.epoch in rungs[:1]:
                reached[evaluation.number] = progress.best, Stopped(progress.epoch, most)
        ended = {by_seed[p.entry.trial.seed].number: p for p in brought if p.status is not None}
        self.history = halvings.judge(self.search.halving, self.history, reached, ended)
        for number, progress in ended.items():
            if self.history.evaluations[number].result is None:
                self._tell(number, _ended(progress))
        self.told += [n for n in reached if self._stopped(n) is not None]
        joining = self._propose(self.population, epochs)
        if self.history != before:
            self.save(self.history)
        return {p.entry.trial.seed for p in brought if self._is_over(p)}, joining

    def _is_over(self, progress: Progress) -> bool:
        """Whether a trial was stopped at its epoch: a resumed population repeats those before."""
        seed = progress.entry.trial.seed
        stopped = (self._stopped(e.number) for e in self.history.evaluations if e.seeds[0] == seed)
        return any(at is not None and progress.epoch >= at.epochs for at in stopped)

    def _stopped(self, number: int) -> Stopped | None:
        result = self.history.evaluations[number].result
        return None if result is None else result.stopped

    def _propose(self, population: int, epochs: int) -> list[Entry]:
        """Asks for settings for all lanes that are free; those that join the population now."""
        joining = []
        while (free := self._free()) > 0 and not self.bounds.stop(self.history):
            self.history, proposed = searches.ask(
                self.search, self.history, free, self.of.compiled
            )
            if not proposed:
                break
            for evaluation in proposed:
                entry = self._entry(evaluation)
                if entry is not None and _program(entry) == self.program:
                    joined = (population, epochs)
                    self.history = histories.change(self.history, evaluation.number, joined=joined)
                    joining.append(entry)
        return joining

    def _free(self) -> int:
        """Settings that can be proposed now."""
        lanes = self.bounds.parallel - len(histories.pending(self.history))
        return min(lanes, self.bounds.trials - len(self.history.evaluations))

    def _entry(self, evaluation: Evaluation) -> Entry | None:
        """What is trained for an evaluation; None where it has its result without that."""
        try:
            (entry,) = cohorts.entries(self.of.trials(evaluation), self.of.session.loader)
            memory.refuse_too_large(entry.prepared.problem, [cohorts.joining(entry)])
        except ConfigError as error:
            self._tell(evaluation.number, Result(failure=str(error)))
            return None
        known = self._recorded(evaluation)
        if known is not None:  # by a search whose state was lost
            self._tell(evaluation.number, configs.result([known]))
            return None
        return entry

    def _unrecorded(self, evaluation: Evaluation) -> Entry | None:
        """What is trained for an evaluation whose end is not recorded, though it may be told."""
        if evaluation.result == _NO_ROOM:
            return None
        (entry,) = cohorts.entries(self.of.trials(evaluation), self.of.session.loader)
        return entry if self._recorded(evaluation) is None else None

    def _recorded(self, evaluation: Evaluation) -> runs.MemberResult | None:
        """What is recorded of an evaluation that has ended."""
        (trial,) = self.of.trials(evaluation)
        key = trial.seed, trial.split, trial.repeat, trial.hparams
        return self.store.ended(self.of.record.id).get(key)

    def _joined(self, population: int) -> list[Evaluation]:
        return [e for e in self.history.evaluations if e.joined and e.joined[0] == population]

    def _tell(self, number: int, result: Result) -> None:
        self.history = histories.tell(self.history, number, result)
        self.told.append(number)

    def end(self, lost: bool) -> None:
        """Tells of those that ended without an epoch, or that the memory had no room for.

        Args:
          lost: whether those that have not ended never will.

        Raises:
          RunError: among the lost is one that was told of: what it reached can neither be
            recorded nor become a failure.
        """
        of_number = self._joined(self.population)
        if lost:
            self._refuse_undone([e for e in of_number if e.result not in (None, _NO_ROOM)])
        for evaluation in of_number:
            if evaluation.result is None:
                known = self._recorded(evaluation)
                if known is not None:
                    self._tell(evaluation.number, configs.result([known]))
                elif lost:
                    self._tell(evaluation.number, _NO_ROOM)
        self.save(self.history)

    def _refuse_undone(self, ended: Sequence[Evaluation]) -> None:
        undone = [e.number for e in ended if self._unrecorded(e) is not None]
        if undone:
            raise RunError(
                f"setting {undone[0]}: its training has ended, and to record it there is no "
                "memory, with one setting at once either; expected a smaller model or dev and "
                "test, or a device with more memory, on which the same command goes on"
            )

    def news(self) -> list[Scored | Told]:
        """What was told since the last time."""
        numbers, self.told = self.told, []
        evaluations = [self.history.evaluations[number] for number in numbers]
        news: list[Scored | Told] = [Scored(e, e.result) for e in evaluations if e.result]
        return [*news, Told(self.history)] if news else []


def _program(entry: Entry) -> str:
    return programs.text(entry.prepared, filled=True)


def _ended(progress: Progress) -> Result:
    """Of a training that ended by itself."""
    if progress.best is None:
        return Result(failure=str(progress.status))
    return Result((progress.best,))
