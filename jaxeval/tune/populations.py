"""Which settings of a search are one population, and which join it while it is trained."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from jaxeval import runs
from jaxeval.config import reading
from jaxeval.errors import ConfigError
from jaxeval.studies.cohorts import Cohort, Entry
from jaxeval.studies.padding import OpenProgram
from jaxeval.studies.running import Progress
from jaxeval.tune.target import Target
from jaxeval.tuning import Search
from jaxeval.tuning.history import Evaluation, History, Result, Stopped
from jaxeval.tuning.running import State


class Scored(NamedTuple):
    """Evaluations have results, which the history of the state has too."""

    evaluations: Sequence[Evaluation]


@dataclasses.dataclass
class Populations:
    """A search that feeds populations.

    The history of its state says of each evaluation when it joined which population: the order in
    which results were told and settings proposed.

    Attributes:
      parallel: settings at once.
      number, program: of the population that is trained, from 0; None: it has not begun.
    """

    target: Target
    search: Search
    state: State
    store: runs.Store
    parallel: int
    number: int = 0
    program: OpenProgram | None = None
    _scores: dict[int, dict[int, float | str]] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        trainings = self.state.trials * self.search.seeds
        self.padded = self.target.padded(trainings, self.parallel * self.search.seeds)
        self._known = {e.number for e in self.history.ended}

    @property
    def history(self) -> History:
        """What is known, not yet saved; every change makes a new one."""
        return self.state.history

    @history.setter
    def history(self, history: History) -> None:
        self.state.history = history

    @property
    def name(self) -> str:
        """Of the population's checkpoints, with more for a padded one."""
        return f"{self.target.record.id}-{self.number}"

    def lanes(self, cohort: Cohort) -> int | None:
        """Of a population: as many as the search may fill, so that later ones find its program.

        Under `vmap` idle lanes cost as much as others: a part of a batch has none.
        """
        waits = self.search.halving is None and any(not e.joined for e in self.history.pending)
        part = waits and cohort.problem.mode == "vmap"
        return None if part else self.parallel * self.search.seeds

    def begin(self) -> Cohort | None:
        """The first population that was stopped, or else the next one; None where all has ended.

        One whose members are padded has its program in its name: with other shapes it begins anew.
        """
        entries = self._resumed() or self._next()
        if not entries or self.program is None:
            return None
        padded = f"-{reading.digest(self.program.text)}" if self.program.shape is not None else ""
        return self.program.cohort(entries, f"{self.name}{padded}")

    def _resumed(self) -> list[Entry]:
        """Who has not ended of the first population that has not; [] where all have.

        Populations are trained in the order of their numbers. Evaluations that the program does
        not take, since other shapes were chosen, join later ones.
        """
        number, left = self._count(), dict[int, list[Entry]]()
        while number and (known := self._unended(number - 1)):
            number, left = number - 1, known
        if not left:
            return []
        self.number = number
        first = [self.target.entries(evaluation)[0] for evaluation in self._joined(number)]
        self.program = self.target.program(first, self.padded)
        taken = {n: each for n, each in left.items() if self.program.takes(each[0])}
        self._leave([n for n in left if n not in taken])
        return [entry for each in taken.values() for entry in each] or self._resumed()

    def _leave(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self.history = self.history.change(number, joined=None)
        self.state.save(self.history)

    def _next(self) -> list[Entry]:
        """Who begins a population: of all that wait those that belong with the first of them."""
        self.number, self.program = self._count(), None
        self._propose(0)
        waiting = [e for e in self.history.pending if e.joined is None]
        each = {e.number: entries for e in waiting if (entries := self._begun(e))}
        if each:
            first = {number: entries[0] for number, entries in each.items()}
            if self.search.halving is None:
                first = self.target.together(first, self.padded)
                self.program = self.target.program([*first.values()], self.padded)
            else:
                self.program = self.target.program([*first.values()][:1], self.padded)
            each = {n: each[n] for n, entry in first.items() if self.program.takes(entry)}
        for number in each:
            self.history = self.history.change(number, joined=(self.number, 0))
        self.state.save(self.history)
        return [entry for entries in each.values() for entry in entries]

    def _count(self) -> int:
        """How many populations evaluations have joined."""
        return 1 + max((e.joined[0] for e in self.history.evaluations if e.joined), default=-1)

    def _joined(self, population: int) -> list[Evaluation]:
        """Evaluations of a population, those that began it first."""
        return [e for e in self.history.evaluations if e.joined and e.joined[0] == population]

    def _propose(self, epochs: int) -> list[Entry]:
        """Asks for as many settings as can be trained; those that join the population now."""
        joining = []
        while (free := self._free()) > 0:
            self.history, proposed = self.search.ask(self.history, free)
            if not proposed:
                break
            for evaluation in proposed:
                entries = self._begun(evaluation)
                if entries and self.program is not None and self.program.takes(entries[0]):
                    joined = (self.number, epochs)
                    self.history = self.history.change(evaluation.number, joined=joined)
                    joining += entries
        return joining

    def _free(self) -> int:
        """Settings that can be proposed now."""
        running = len(self.history.pending)
        lanes = self.parallel - running if self.search.halving or not running else 0
        return min(lanes, self.state.left)

    def _begun(self, evaluation: Evaluation) -> list[Entry]:
        """What is trained for a new evaluation; [] where it has its result without."""
        try:
            self.target.refuse_too_large(self.target.entries(evaluation)[0])
        except ConfigError as error:
            self._tell(evaluation.number, Result(failure=str(error)))
            return []
        return self._unrecorded(evaluation)  # by a search whose state was lost

    def _unended(self, population: int) -> dict[int, list[Entry]]:
        """What is trained for those of a population whose end is not recorded, by number."""
        each = self._joined(population)
        return {e.number: entries for e in each if (entries := self._unrecorded(e))}

    def _unrecorded(self, evaluation: Evaluation) -> list[Entry]:
        """What is trained for an evaluation, whose recorded scores are told."""
        ended, left = self.store.ended(self.target.record.id), []
        for entry in self.target.entries(evaluation):
            known = ended.get(entry.key[1:])
            if known is None:
                left.append(entry)
            else:
                score = known.status if known.dev is None else known.dev
                self._score(evaluation.number, entry.trial.seed, score)
        return left

    def _score(self, number: int, seed: int, score: float | str) -> None:
        """Tells of an evaluation as soon as all of its seeds have ended."""
        evaluation = self.history.evaluations[number]
        known = self._scores.setdefault(number, {})
        known[seed] = score
        if evaluation.result is not None or len(known) < len(evaluation.seeds):
            return
        each = [known[seed] for seed in evaluation.seeds]
        lost = next((seed for seed in evaluation.seeds if isinstance(known[seed], str)), None)
        if lost is None:
            self._tell(number, Result(tuple(map(float, each))))
        else:
            which = f" (seed {lost})" if len(each) > 1 else ""
            self._tell(number, Result(failure=f"{known[lost]}{which}"))

    def _tell(self, number: int, result: Result) -> None:
        self.history = self.history.tell(number, result)

    def arrivals(self) -> Mapping[int, int]:
        """Seed -> epochs of the population after which its evaluation joined."""
        return {s: e.joined[1] for e in self._joined(self.number) if e.joined for s in e.seeds}

    def after_epoch(
        self, epochs: int, brought: Sequence[Progress]
    ) -> tuple[set[int], list[Entry]]:
        """As of `running.Feed`; what is known from before a stop is not decided again."""
        before = self.history
        number_of = {seed: e.number for e in before.evaluations for seed in e.seeds}
        each = [(number_of[progress.entry.trial.seed], progress) for progress in brought]
        open_ones = [(n, p) for n, p in each if before.evaluations[n].result is None]
        self._judge(open_ones)
        for number, progress in open_ones:
            if progress.status is not None and self.history.evaluations[number].result is None:
                score = str(progress.status) if progress.best is None else progress.best
                self._score(number, progress.entry.trial.seed, score)
        joining = self._propose(epochs) if self.search.halving else []
        if self.history != before:
            self.state.save(self.history)
        over = {p.entry.trial.seed for n, p in each if self._is_over(n, p.epoch)}
        return over, joining

    def _judge(self, each: Sequence[tuple[int, Progress]]) -> None:
        """Stops evaluations that have reached a rung and are not promoted."""
        if self.search.halving is None:
            return
        reached: dict[int, tuple[float, Stopped]] = {}
        for number, progress in each:
            most = progress.entry.prepared.config.training.epochs
            passed = len(self.history.evaluations[number].rungs)
            rungs = self.search.halving.rungs(most)[passed : passed + 1]
            if progress.best is not None and progress.epoch in rungs:
                reached[number] = progress.best, Stopped(progress.epoch, most)
        ended = [number for number, progress in each if progress.status is not None]
        self.history = self.search.halving.judge(self.history, reached, ended)

    def _is_over(self, number: int, epoch: int) -> bool:
        """Whether a trial was stopped at its epoch: a resumed population repeats those before."""
        result = self.history.evaluations[number].result
        return result is not None and result.stopped is not None and epoch >= result.stopped.epochs

    def end(self) -> None:
        """Tells of those that the memory had no room for; all others have ended."""
        left = self._unended(self.number)
        for number in left:
            if self.history.evaluations[number].result is None:
                self._tell(number, Result(failure="out of memory"))
        self._leave(left)

    def news(self) -> list[Scored]:
        """What has ended since the last time."""
        ended = [e for e in self.history.ended if e.number not in self._known]
        self._known |= {e.number for e in ended}
        return [Scored(ended)] if ended else []
