"""Groups settings of a search into populations; settings may join one while it trains."""

import contextlib
import math
import shutil
from collections.abc import Sequence, Set
from pathlib import Path
from typing import Any

from jaxeval import runs
from jaxeval.config import reading
from jaxeval.contracts import Member
from jaxeval.errors import ConfigError, RunError
from jaxeval.population import host, slots
from jaxeval.report import tuning as reports
from jaxeval.studies import Trial, launching, prepared, running
from jaxeval.studies.cohorts import Cohort, Entry
from jaxeval.studies.padding import OpenProgram
from jaxeval.tune.target import Target
from jaxeval.tuning import State
from jaxeval.tuning.history import Evaluation, History, Stopped

# a trial, the epoch that has ended (from 1), its dev score so far or its last one
# (`Training.scored_epoch`), how it ended (None: it goes on)
_Progress = tuple[Trial, int, float | None, str | None]


class Populations(launching.Scheduler):
    """A search whose settings are trained as populations, or as jobs of a launcher.

    A batch of settings is proposed when all before have ended; those that a program has room for
    are one population. With halving, settings are proposed for each lane that becomes free, and
    join the population if its program has room for them. As jobs, settings are proposed whenever
    one has ended.

    The history says of each evaluation when it joined which population. It is saved before
    proposals are trained, and before results are recorded elsewhere: a killed search repeats
    epochs, meets all when it did before, and decides nothing anew, unless it trained in fewer
    lanes. A setting that has ended unrecorded is trained again.

    Args:
      parallel: settings at once.
      jobs: a launcher trains them.
    """

    def __init__(
        self,
        target: Target,
        state: State,
        store: runs.Store,
        folder: Path,
        parallel: int,
        jobs: bool = False,
    ):
        self.target, self.state, self.session = target, state, target.session
        self._store, self._checkpoints, self._as_jobs = store, folder / "checkpoints", jobs
        self._halving, seeds = state.search.halving, state.search.seeds
        self._parallel, self._lanes = parallel, parallel * seeds
        self._padded = target.padded(state.trials * seeds, self._lanes)
        self._known = {e.number for e in self._history.ended}
        self._number = 0  # of the population that is trained
        self._program: OpenProgram | None = None  # its program; None: it has not begun
        self._again: set[int] = set()  # evaluations that wait although they had joined one
        self._stop_paused()
        if jobs:  # settings that an earlier process has begun wait
            recorded = {seed for seed, *_ in store.ended(target.record.id)}
            begun = [e for e in self._history.evaluations if e.joined]
            self._leave({e.number for e in begun if not (e.ended and recorded >= {*e.seeds})})
            self._remove(target.record.id)  # of populations

    @property
    def _history(self) -> History:  # which may not be saved yet
        return self.state.history

    def more(self) -> list[Cohort]:
        """Returns the first population that was stopped, or the next one; all jobs that wait."""
        record = self.target.record.id
        if self._as_jobs:
            each = []
            while entries := self._next():
                assert self._program is not None
                cohort = self._program.cohort(entries, record)  # one lock for all
                each.append(cohort._replace(pause=self._rung(entries[0].trial)))
            return each
        if self._program is not None and not self._unended(self._number):  # all of it has ended
            self._remove(f"{record}-{self._number}")
        entries = self._resumed() or self._next()
        if not entries or self._program is None:
            return []
        suffix = f"-{reading.digest(self._program.text)}" if self._program.shape else ""
        return [self._program.cohort(entries, f"{record}-{self._number}{suffix}")]

    def lanes(self, planned: Sequence[Cohort], workers: int | None) -> int | None:
        """Returns as many lanes as the search may fill, so that later ones find the program.

        Under `vmap` idle lanes cost as much as others: a part of a batch has none (None). Jobs
        that may pause are of one setting.
        """
        if workers is not None:
            return -(-self._lanes // workers) if self._halving is None else 1
        waits = self._halving is None and any(not e.joined for e in self._history.pending)
        return None if waits and planned[0].problem.mode == "vmap" else self._lanes

    def feed(self, entries: dict[Member, Entry]) -> host.Feed:
        """Returns what stops and joins members of the population that begins."""
        joined = {s: e.joined[1] for e in self._joined(self._number) for s in e.seeds if e.joined}
        arrivals = {who: joined[who.seed] for who in entries if who.seed in joined}

        def after_epoch(
            epochs: int, each: Sequence[slots.Slot]
        ) -> tuple[list[slots.Status | None], list[Member]]:
            assert self._program is not None
            before = self._history
            met = [(entries[of.member].trial, of) for of in each if of.member]
            self._told([(trial, of.epoch, of.reported, of.status) for trial, of in met])
            joining = self._propose(epochs) if self._halving else []
            if self._history != before:  # repeated epochs decide nothing again
                self.state.save()
            members = {self._program.member(entry): entry for entry in joining}
            entries.update(members)
            # a resumed population repeats epochs before a stop
            every = self._history.evaluations
            stops = {seed: e.stopped.epochs for e in every for seed in e.seeds if e.stopped}
            over = [of.member and of.epoch >= stops.get(of.member.seed, math.inf) for of in each]
            return ["early_stopped" if stop else None for stop in over], [*members]

        return host.Feed(arrivals, after_epoch)

    def too_large(self, entries: Sequence[Entry]) -> bool:
        """Settings that do not fit into memory have failed."""
        for setting in (self._of(entry.trial) for entry in entries):
            if not setting.ended:
                self._change(setting.number, joined=None)
                self.state.score(setting.number, 0, "out of memory")
        self.state.save()
        return True

    def ended(self, event: running.Ended) -> None:
        """Tells of a job's trial that has ended or paused; one that goes on waits for a job."""
        if not self._as_jobs:  # told after its epoch
            return
        result, trial = event.result, event.trial
        paused = result.status == "paused" and result.epochs == self._rung(trial)
        self._told([(trial, result.epochs, result.dev, None if paused else result.status)])
        setting = self._of(trial)
        self._leave({setting.number} if paused and not setting.ended else set())  # and saves
        self._stop_paused()

    def news(self) -> list[str]:
        """Returns lines about the evaluations that have ended since the last call."""
        ended = [e for e in self._history.ended if e.number not in self._known]
        self._known |= {e.number for e in ended}
        metric, unit = self.target.record.metric, self.target.record.unit
        lines = [reports.evaluation_line(evaluation, metric, unit) for evaluation in ended]
        return [*lines, reports.progress_line(self.state, metric, unit)] if lines else []

    def _remove(self, name: str) -> None:
        """Removes the checkpoints of a population, or of all."""
        for path in [*self._checkpoints.glob(f"{name}*")]:  # with other shapes names are longer
            if path.is_dir() and path.name.removeprefix(name)[:1] in ("", "-"):
                with contextlib.suppress(RunError), running.locked(path.parents[1], path.name):
                    shutil.rmtree(path, ignore_errors=True)

    def _stop_paused(self) -> None:
        """Ends trials that have paused, and do not go on; after this is saved."""
        over = {seed for evaluation in self._history.ended for seed in evaluation.seeds}
        for result in self._store.ended(self.target.record.id, pause=1).values():
            if result.status == "paused" and result.seed in over:
                self._store.stop(result)

    def _of(self, trial: Trial) -> Evaluation:
        return next(e for e in self._history.evaluations if trial.seed in e.seeds)

    def _rung(self, trial: Trial) -> int:
        """The epochs of a trial's next rung, or of its last one; 0: there is none."""
        setting = self._of(trial)
        passed = len(setting.rungs) - bool(setting.stopped)
        rungs = [] if self._halving is None else self._halving.rungs(_epochs(trial))
        return next(iter(rungs[passed:]), 0)

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
        self._number, self._program = number, self.target.program(first, self._padded)
        taken = {n: each for n, each in left.items() if self._program.takes(each[0])}
        self._leave(left.keys() - taken.keys())
        return [entry for each in taken.values() for entry in each] or self._resumed()

    def _next(self) -> list[Entry]:
        """The trials that begin a population: those that belong with the first one that waits."""
        self._number, self._program = self._count(), None
        self._propose(0)
        known, again = self._history.evaluations, self._again
        waiting = [e for e in known if e.number in again or not (e.ended or e.joined)]
        each = {e.number: entries for e in waiting if (entries := self._begun(e))}
        if self._as_jobs and self._halving is not None:  # its program is its own
            each = dict([*each.items()][:1])
        if each:
            first = {number: entries[0] for number, entries in each.items()}
            if self._halving is None and self._padded:  # the cheapest population
                numbers = [*first]
                jobs = self.target.estimates([*first.values()], self._padded)[0].jobs
                first = {numbers[job]: first[numbers[job]] for job in jobs}
            begin = [*first.values()][: None if self._halving is None else 1]
            self._program = self.target.program(begin, self._padded)
            each = {n: each[n] for n, entry in first.items() if self._program.takes(entry)}
        self._again -= each.keys()
        for number in each:
            self._change(number, joined=(self._number, 0))
        self.state.save()
        return [entry for entries in each.values() for entry in entries]

    def _count(self) -> int:
        return 1 + max((e.joined[0] for e in self._history.evaluations if e.joined), default=-1)

    def _joined(self, population: int) -> list[Evaluation]:
        return [e for e in self._history.evaluations if e.joined and e.joined[0] == population]

    def _change(self, number: int, **new: Any) -> None:
        self.state.history = self._history.change(number, **new)

    def _leave(self, numbers: Set[int]) -> None:
        """Lets evaluations wait for another population, or another job."""
        self._again |= numbers  # also in the next process, if they have ended and joined
        for number in numbers & {e.number for e in self._history.pending}:
            self._change(number, joined=None)
        self.state.save()

    def _propose(self, epochs: int) -> list[Entry]:
        """Asks for as many settings as there is room for; returns those that join now."""
        joining: list[Entry] = []
        joins = self._halving or self._as_jobs
        while True:
            pending = len(self._history.pending)
            proposed = self.state.propose(self._parallel - pending if joins or not pending else 0)
            if not proposed:
                return joining
            for evaluation in proposed:
                entries = self._begun(evaluation)
                if entries and self._program is not None and self._program.takes(entries[0]):
                    self._change(evaluation.number, joined=(self._number, epochs))
                    joining += entries

    def _begun(self, evaluation: Evaluation) -> list[Entry]:
        """The trials of a new evaluation; [] if it has failed or is recorded."""
        try:
            first = self.target.entries(evaluation)[0]
            if not self._as_jobs:  # whose memory is another
                self.target.refuse_too_large(first)
        except ConfigError as error:
            self.state.score(evaluation.number, 0, str(error))
            return []
        return self._unrecorded(evaluation)  # by a search whose state was lost

    def _unended(self, population: int) -> dict[int, list[Entry]]:
        each = [e for e in self._joined(population) if e.number not in self._again]
        return {e.number: entries for e in each if (entries := self._unrecorded(e))}

    def _unrecorded(self, evaluation: Evaluation) -> list[Entry]:
        """Returns the trials of an evaluation that have not ended; tells the scores of others."""
        ended, left = self._store.ended(self.target.record.id), []
        for entry in self.target.entries(evaluation):
            if (known := ended.get(entry.key[1:])) is None:
                left.append(entry)
            else:
                self._score(evaluation.number, entry.trial.seed, known.dev, known.status)
        return left

    def _score(self, number: int, seed: int, score: float | None, status: str) -> None:
        which = f" (seed {seed})" if self.state.search.seeds > 1 else ""
        counts = None if status == "diverged" else score
        self.state.score(number, seed, f"{status}{which}" if counts is None else counts)

    def _told(self, each: Sequence[_Progress]) -> None:
        """Judges evaluations at rungs, and tells of those that have ended."""
        alive = [(e.number, of) for of in each if not (e := self._of(of[0])).ended]
        if self._halving is not None:
            reached = {
                number: (best, Stopped(epoch, _epochs(trial)))
                for number, (trial, epoch, best, status) in alive
                if best is not None and status != "diverged" and epoch == self._rung(trial)
            }
            ended = [number for number, (*_, status) in alive if status is not None]
            self.state.history = self._halving.judge(self._history, reached, ended)
        for number, (trial, _, best, status) in alive:
            if status is not None:
                self._score(number, trial.seed, best, status)


def _epochs(trial: Trial) -> int:
    return int(prepared.at(trial.config, "training.epochs"))
