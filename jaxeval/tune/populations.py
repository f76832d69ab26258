"""Groups settings of a search into populations; settings may join one while it trains."""

import dataclasses
import functools
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from jaxeval import runs
from jaxeval.config import reading
from jaxeval.contracts import Member
from jaxeval.errors import ConfigError
from jaxeval.population import host, slots
from jaxeval.studies import Trial, prepared, running
from jaxeval.studies.cohorts import Cohort, Entry
from jaxeval.studies.padding import OpenProgram
from jaxeval.tune.target import Target
from jaxeval.tuning import Search
from jaxeval.tuning.history import Evaluation, History, Stopped
from jaxeval.tuning.running import State


class Scored(NamedTuple):
    """Evaluations that have results."""

    evaluations: Sequence[Evaluation]


class _Progress(NamedTuple):
    """A trial after one of its epochs."""

    trial: Trial
    epoch: int  # from 1
    best: float | None  # dev score so far, or its last one (`Training.scored_epoch`)
    status: str | None  # how it ended; None: it goes on


@dataclasses.dataclass
class Populations:
    """A search that feeds populations.

    The history of its state says of each evaluation when it joined which population: the order in
    which results were told and settings proposed.
    """

    target: Target
    search: Search
    state: State
    store: runs.Store
    parallel: int  # settings at once
    asynchronous: bool = False  # a new setting is proposed for each that has ended
    number: int = 0  # of the population that is trained
    program: OpenProgram | None = None  # its program; None: it has not begun
    _scores: dict[int, dict[int, float | str]] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        trainings = self.state.trials * self.search.seeds
        self._padded = self.target.padded(trainings, self.parallel * self.search.seeds)
        self._known = {e.number for e in self._history.ended}

    @property
    def _history(self) -> History:  # which may not be saved yet
        return self.state.history

    @property
    def name(self) -> str:
        """The name of the population's checkpoints, to which a padded one adds its program."""
        return f"{self.target.record.id}-{self.number}"

    def begin(self) -> Cohort | None:
        """Returns the first population that was stopped, or the next one; None if all has ended.

        A padded one has its program in its name: with other shapes it begins anew.
        """
        entries = self._resumed() or self._next()
        if not entries or self.program is None:
            return None
        padded = f"-{reading.digest(self.program.text)}" if self.program.shape is not None else ""
        return self.program.cohort(entries, f"{self.name}{padded}")

    def lanes(self, cohort: Cohort) -> int | None:
        """Returns as many lanes as the search may fill, so that later ones find the program.

        Under `vmap` idle lanes cost as much as others: a part of a batch has none (None).
        """
        waits = self.search.halving is None and any(not e.joined for e in self._history.pending)
        part = waits and cohort.problem.mode == "vmap"
        return None if part else self.parallel * self.search.seeds

    def feed(self, entries: dict[Member, Entry]) -> host.Feed:
        """Returns what stops and joins members of the population that begins."""
        each = self._joined(self.number)
        joined = {seed: e.joined[1] for e in each if e.joined for seed in e.seeds}
        arrivals = {who: joined[who.seed] for who in entries if who.seed in joined}
        return host.Feed(arrivals, functools.partial(self._after_epoch, entries))

    def end(self) -> None:
        """Tells of trials that did not fit into memory; all others have ended."""
        left = self._unended(self.number)
        for number in left:
            if not self._history.evaluations[number].ended:
                self.state.history = self._history.tell(number, "out of memory")
        self._leave(left)

    def restart(self) -> None:
        """Lets settings wait that an earlier process has given to jobs."""
        self._leave([evaluation.number for evaluation in self._history.pending])
        self._stop_paused()

    def waiting(self) -> list[Cohort]:
        """Returns populations of all settings that wait, after proposals for those that ended."""
        each = []
        while entries := self._next():
            assert self.program is not None
            cohort = self.program.cohort(entries, self.target.record.id)  # one lock for all
            each.append(cohort._replace(pause=self._rung(entries[0].trial)))
        return each

    def ended(self, event: running.Ended) -> None:
        """Tells of a job's trial that has ended or paused; one that goes on waits for a job."""
        result, trial = event.result, event.trial
        paused = result.status == "paused" and result.epochs == self._rung(trial)
        status = None if paused else result.status
        self._told([_Progress(trial, result.epochs, result.dev, status)])
        self._leave([self._number(trial.seed)] if paused else [])
        self._stop_paused()

    def _stop_paused(self) -> None:
        """Ends trials that have paused, and do not go on; after this is saved."""
        over = {seed for evaluation in self._history.ended for seed in evaluation.seeds}
        for result in self.store.ended(self.target.record.id, pause=1).values():
            if result.status == "paused" and result.seed in over:
                self.store.stop(result)

    def _number(self, seed: int) -> int:
        return next(e.number for e in self._history.evaluations if seed in e.seeds)

    def _rung(self, trial: Trial) -> int:
        """The epochs of a trial's next rung; 0: there is none."""
        halving, passed = self.search.halving, self._history.evaluations[self._number(trial.seed)]
        rungs = [] if halving is None else halving.rungs(_epochs(trial))
        return next(iter(rungs[len(passed.rungs) :]), 0)

    def news(self) -> list[Scored]:
        """Returns the evaluations that have ended since the last call."""
        ended = [e for e in self._history.ended if e.number not in self._known]
        self._known |= {e.number for e in ended}
        return [Scored(ended)] if ended else []

    def _resumed(self) -> list[Entry]:
        """The trials that have not ended of the first population that has not.

        Populations are trained in the order of their numbers. Evaluations that the program does
        not take, since other shapes were chosen, join later ones.
        """
        number, left = self._count(), dict[int, list[Entry]]()
        while number and (known := self._unended(number - 1)):
            number, left = number - 1, known
        if not left:
            return []
        first = [self.target.entries(evaluation)[0] for evaluation in self._joined(number)]
        self.number, self.program = number, self.target.program(first, self._padded)
        taken = {n: each for n, each in left.items() if self.program.takes(each[0])}
        self._leave(left.keys() - taken.keys())
        return [entry for each in taken.values() for entry in each] or self._resumed()

    def _next(self) -> list[Entry]:
        """The trials that begin a population: those that belong with the first one that waits."""
        self.number, self.program = self._count(), None
        self._propose(0)
        waiting = [e for e in self._history.pending if e.joined is None]
        each = {e.number: entries for e in waiting if (entries := self._begun(e))}
        if self.asynchronous and self.search.halving is not None:  # its program is its own
            each = dict([*each.items()][:1])
        if each:
            first = {number: entries[0] for number, entries in each.items()}
            if self.search.halving is None and self._padded:  # the cheapest population
                numbers = [*first]
                jobs = self.target.estimates([*first.values()], self._padded)[0].jobs
                first = {numbers[job]: first[numbers[job]] for job in jobs}
            begin = [*first.values()][: None if self.search.halving is None else 1]
            self.program = self.target.program(begin, self._padded)
            each = {n: each[n] for n, entry in first.items() if self.program.takes(entry)}
        for number in each:
            self._change(number, joined=(self.number, 0))
        self.state.save(self._history)
        return [entry for entries in each.values() for entry in entries]

    def _count(self) -> int:
        return 1 + max((e.joined[0] for e in self._history.evaluations if e.joined), default=-1)

    def _joined(self, population: int) -> list[Evaluation]:
        return [e for e in self._history.evaluations if e.joined and e.joined[0] == population]

    def _change(self, number: int, **new: Any) -> None:
        self.state.history = self._history.change(number, **new)

    def _leave(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._change(number, joined=None)
        self.state.save(self._history)

    def _propose(self, epochs: int) -> list[Entry]:
        """Asks for as many settings as there is room for; returns those that join now."""
        joining, joins = list[Entry](), self.search.halving or self.asynchronous
        while True:
            pending = len(self._history.pending)
            lanes = self.parallel - pending if joins or not pending else 0
            if (free := min(lanes, self.state.left)) <= 0:
                return joining
            self.state.history, proposed = self.search.ask(self._history, free)
            if not proposed:
                return joining
            for evaluation in proposed:
                entries = self._begun(evaluation)
                if entries and self.program is not None and self.program.takes(entries[0]):
                    self._change(evaluation.number, joined=(self.number, epochs))
                    joining += entries

    def _begun(self, evaluation: Evaluation) -> list[Entry]:
        """The trials of a new evaluation; [] if it has failed or is recorded."""
        try:
            self.target.refuse_too_large(self.target.entries(evaluation)[0])
        except ConfigError as error:
            self.state.history = self._history.tell(evaluation.number, str(error))
            return []
        return self._unrecorded(evaluation)  # by a search whose state was lost

    def _unended(self, population: int) -> dict[int, list[Entry]]:
        each = self._joined(population)
        return {e.number: entries for e in each if (entries := self._unrecorded(e))}

    def _unrecorded(self, evaluation: Evaluation) -> list[Entry]:
        """Returns the trials of an evaluation that have not ended; tells the scores of others."""
        ended, left = self.store.ended(self.target.record.id), []
        for entry in self.target.entries(evaluation):
            if (known := ended.get(entry.key[1:])) is None:
                left.append(entry)
            else:
                self._score(evaluation.number, entry.trial.seed, known.dev, known.status)
        return left

    def _score(self, number: int, seed: int, score: float | None, status: str) -> None:
        """Notes a score, or why there is none; tells of an evaluation whose seeds have ended."""
        evaluation = self._history.evaluations[number]
        known = self._scores.setdefault(number, {})
        known[seed] = status if score is None else score
        if evaluation.ended or len(known) < len(evaluation.seeds):
            return
        scores = [s for s in map(known.__getitem__, evaluation.seeds) if not isinstance(s, str)]
        lost = next((seed for seed in evaluation.seeds if isinstance(known[seed], str)), None)
        which = f" (seed {lost})" if len(known) > 1 else ""
        outcome = scores if lost is None else f"{known[lost]}{which}"
        self.state.history = self._history.tell(number, outcome)

    def _after_epoch(
        self,
        entries: dict[Member, Entry],
        epochs: int,
        each: Sequence[slots.Slot],
    ) -> tuple[list[slots.Status | None], list[Member]]:
        """Stops and joins members, as of `host.Feed`; repeated epochs decide nothing again."""
        assert self.program is not None
        before = self._history
        met = [(entries[of.member].trial, of) for of in each if of.member]
        self._told([_Progress(trial, of.epoch, of.reported, of.status) for trial, of in met])
        joining = self._propose(epochs) if self.search.halving else []
        if self._history != before:
            self.state.save(self._history)
        members = {self.program.member(entry): entry for entry in joining}
        entries.update(members)
        # a resumed population repeats epochs before a stop
        stops = {
            s: e.stopped.epochs for e in self._history.evaluations for s in e.seeds if e.stopped
        }
        over = [of.member and of.epoch >= stops.get(of.member.seed, math.inf) for of in each]
        return ["early_stopped" if stop else None for stop in over], [*members]

    def _told(self, each: Sequence[_Progress]) -> None:
        """Judges evaluations at rungs, and tells of those that have ended."""
        number_of = {seed: e.number for e in self._history.pending for seed in e.seeds}
        alive = [(number_of[of.trial.seed], of) for of in each if of.trial.seed in number_of]
        if self.search.halving is not None:
            reached = {
                number: (of.best, Stopped(of.epoch, _epochs(of.trial)))
                for number, of in alive
                if of.best is not None and of.epoch == self._rung(of.trial)
            }
            ended = [number for number, of in alive if of.status is not None]
            self.state.history = self.search.halving.judge(self._history, reached, ended)
        for number, of in alive:
            if of.status is not None and not self._history.evaluations[number].ended:
                self._score(number, of.trial.seed, of.best, of.status)


def _epochs(trial: Trial) -> int:
    return int(prepared.at(trial.config, "training.epochs"))
