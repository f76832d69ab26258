"""A config as what is tuned with successive halving: lanes that become free get new settings."""

import dataclasses
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path

import jax

from jaxeval import runs
from jaxeval.config import reading
from jaxeval.errors import RunError
from jaxeval.studies import events, memory, running
from jaxeval.studies.cohorts import Cohort, Entry
from jaxeval.studies.padding import OpenProgram
from jaxeval.studies.running import Progress
from jaxeval.tune import configs, trainings
from jaxeval.tune.configs import Bounds, Scored, Told
from jaxeval.tune.targets import Target
from jaxeval.tune.trainings import NO_ROOM, Trainings
from jaxeval.tuning import halving as halvings
from jaxeval.tuning import history as histories
from jaxeval.tuning import search as searches
from jaxeval.tuning.history import Evaluation, History, Result, Stopped
from jaxeval.tuning.search import Search


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

    A population takes new settings that its program has room for as long as there are any. Others
    wait until it has ended. One that does not fit into memory goes on lane by lane; settings that
    were padded go on at their own size after that, and settings that do not fit so have failed.

    Args:
      save: makes a history safe. It is called before what it proposes is trained, and before what
        it tells of trainings is recorded elsewhere: a killed search repeats epochs, meets all when
        it did before, and decides nothing anew, unless it trained lane by lane.

    Raises:
      RunError: as `studies.run_cohorts`; or lane by lane too there is no memory to record what
        was decided.
    """
    known = trainings.of_search(of, store, bounds)
    running_search = _Live(of, search, history, known, bounds, save)
    narrow = ""  # name of a population that does not fit into memory in all its lanes
    while (cohort := running_search.begin()) is not None:
        lanes = 1 if cohort.name == narrow else bounds.parallel
        fits = yield from _train(running_search, cohort, lanes, folder)
        narrow = "" if fits else cohort.name
        running_search.end(lost=not fits and lanes == 1)
        if fits or lanes == 1:
            for left in ("", "-*"):  # with other shapes it had another name
                configs.forget(f"{running_search.name}{left}", folder)
        yield from running_search.news()


def _train(
    running_search: "_Live", cohort: Cohort, lanes: int, folder: Path
) -> Generator[events.Event | Scored | Told, None, bool]:
    """Trains a population in so many lanes; whether it fitted into memory."""
    program, arrivals = running_search.program, running_search.arrivals()
    feed = running.Feed(arrivals, running_search.after_epoch, program.member)
    session, store = running_search.of.session, running_search.trainings.store
    happening = running.run_cohorts(
        [cohort], store, folder, session=session, lanes=lanes, feed=feed
    )
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
      population: number of the one that is trained, from 0.
      running_program: of that population; None: it has not begun.
    """

    of: Target
    search: Search
    history: History
    trainings: Trainings
    bounds: Bounds
    save: Callable[[History], None]
    told: list[int] = dataclasses.field(default_factory=list)
    population: int = 0
    running_program: OpenProgram | None = None

    @property
    def program(self) -> OpenProgram:
        """Of the population that has begun."""
        assert self.running_program is not None
        return self.running_program

    @property
    def name(self) -> str:
        """Of the population's checkpoints, with more for a padded one."""
        return f"{self.of.record.id}-{self.population}"

    def begin(self) -> Cohort | None:
        """The first population that was stopped, or else the next one; None where all has ended.

        One whose members are padded has its program in its name: with other shapes it begins anew.
        """
        entries = self._resumed() or self._next()
        if not entries:
            return None
        program = f"-{reading.digest(self.program.text)}" if self.program.shape is not None else ""
        return self.program.cohort(entries, f"{self.name}{program}")

    def _resumed(self) -> list[Entry]:
        """Who has not ended of the first population that has not; [] where all have.

        Populations are trained in the order of their numbers. The program is that of its first
        evaluation, whoever has ended since; evaluations that it does not take, since other shapes
        were chosen, get populations of their own.
        """
        number, left = histories.populations(self.history), {}
        while number and (known := self._unended(number - 1)):
            number, left = number - 1, known
        if not left:
            return []
        self.population = number
        self.running_program = self.trainings.program(histories.joined(self.history, number)[0])
        taken = {n: entry for n, entry in left.items() if self.program.takes(entry)}
        if len(taken) < len(left):
            self._move([n for n in left if n not in taken])
            self.save(self.history)
        return [*taken.values()] or self._resumed()

    def _move(self, numbers: Sequence[int], own_size: bool = False) -> None:
        """Gives evaluations populations of their own, which are trained after all others."""
        for population, number in enumerate(numbers, histories.populations(self.history)):
            of_own = {"joined": (population, 0), "own_size": own_size}
            self.history = histories.change(self.history, number, **of_own)

    def _next(self) -> list[Entry]:
        """Who begins a population: all that wait and fit into the program of the first of them."""
        self.population, self.running_program = histories.populations(self.history), None
        self._propose(0)
        waiting = [e for e in histories.pending(self.history) if e.joined is None]
        entries = {e.number: entry for e in waiting if (entry := self._begun(e)) is not None}
        if entries:
            first = self.history.evaluations[next(iter(entries))]
            self.running_program = self.trainings.program(first)
            entries = {n: entry for n, entry in entries.items() if self.program.takes(entry)}
        for evaluation in entries:
            joined = (self.population, 0)
            self.history = histories.change(self.history, evaluation, joined=joined)
        self.save(self.history)
        return [*entries.values()]

    def arrivals(self) -> Mapping[int, int]:
        """Seed -> epochs of the population after which its evaluation joined."""
        joined = histories.joined(self.history, self.population)
        return {e.seeds[0]: e.joined[1] for e in joined if e.joined is not None}

    def after_epoch(
        self, epochs: int, brought: Sequence[Progress]
    ) -> tuple[set[int], list[Entry]]:
        """As of `running.Feed`; what is known from before a stop is not decided again."""
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
        joining = self._propose(epochs)
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

    def _propose(self, epochs: int) -> list[Entry]:
        """Asks for settings for all lanes that are free; those that join the population now."""
        joining = []
        while (free := self._free()) > 0 and not self.bounds.stop(self.history):
            self.history, proposed = searches.ask(
                self.search, self.history, free, self.of.compiled
            )
            if not proposed:
                break
            for evaluation in proposed:
                entry, program = self._begun(evaluation), self.running_program
                if entry is not None and program is not None and program.takes(entry):
                    joined = (self.population, epochs)
                    self.history = histories.change(self.history, evaluation.number, joined=joined)
                    joining.append(entry)
        return joining

    def _free(self) -> int:
        """Settings that can be proposed now."""
        lanes = self.bounds.parallel - len(histories.pending(self.history))
        return min(lanes, self.bounds.trials - len(self.history.evaluations))

    def _begun(self, evaluation: Evaluation) -> Entry | None:
        """What is trained for an evaluation; None where it has its result without that."""
        begun = self.trainings.begun(evaluation)
        if isinstance(begun, Result):
            self._tell(evaluation.number, begun)
            return None
        return begun

    def _unended(self, population: int) -> dict[int, Entry]:
        """What is trained for those of a population whose end is not recorded, by number."""
        each = {
            e.number: self.trainings.unrecorded(e)
            for e in histories.joined(self.history, population)
        }
        return {number: entry for number, entry in each.items() if entry is not None}

    def _tell(self, number: int, result: Result) -> None:
        self.history = histories.tell(self.history, number, result)
        self.told.append(number)

    def end(self, lost: bool) -> None:
        """Tells of those that ended without an epoch, or that the memory had no room for.

        Args:
          lost: whether those that have not ended never will, in this population.

        Raises:
          RunError: among the lost is one that was told of: what it reached can neither be
            recorded nor become a failure.
        """
        of_number = histories.joined(self.history, self.population)
        for evaluation in of_number:
            known = self.trainings.recorded(evaluation) if evaluation.result is None else None
            if known is not None:
                self._tell(evaluation.number, configs.result([known]))
        if lost:
            left = self._unended(self.population)
            if self.program.shape is not None:
                self._move([*left], own_size=True)
            else:
                self._lose([*left])
        self.save(self.history)

    def _lose(self, numbers: Sequence[int]) -> None:
        """Tells that the memory had no room."""
        told = [n for n in numbers if self.history.evaluations[n].result is not None]
        if told:
            raise RunError(
                f"setting {told[0]}: its training has ended, and to record it there is no "
                "memory, with one setting at once either; expected a smaller model or dev and "
                "test, or a device with more memory, on which the same command goes on"
            )
        for number in numbers:
            self._tell(number, NO_ROOM)

    def news(self) -> list[Scored | Told]:
        """What was told since the last time."""
        told, self.told = [self.history.evaluations[number] for number in self.told], []
        news: list[Scored | Told] = [Scored(e, e.result) for e in told if e.result]
        return [*news, Told(self.history)] if news else []


def _ended(progress: Progress) -> Result:
    """Of a training that ended by itself."""
    if progress.best is None:
        return Result(failure=str(progress.status))
    return Result((progress.best,))
