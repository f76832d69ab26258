"""Models that are configs: a batch of the rule is one population, or jobs of a launcher."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import jax

from jaxeval import observe, runs, studies, tasks
from jaxeval.bandits import Rule, State
from jaxeval.bandits.running import Evaluated, Selecting
from jaxeval.config import reading
from jaxeval.errors import ConfigError
from jaxeval.population import lanes
from jaxeval.studies import cohorts, launching, prepared, running


class Models(Selecting, launching.Scheduler):
    """Configs to choose from, and a rule under way: a batch of the rule is trained together.

    What is recorded in the runs folder is not trained again: a selection that was stopped begins
    anew, and goes on where it was. With a launcher the rule is asked again whenever a job has
    ended, and knows of those that run. Nothing is trained before `begin`.

    Attributes:
      records: model -> the experiment it is recorded under; all have one metric.
      random_splits: evaluation k has random split k; else all have the data's own split.
      part: the part of the data whose score is an evaluation's.

    Args:
      changes: `key=value` each, of all configs.
      own_splits: the data's own split, also where the task has random ones.
      part: None: test on random splits, which no choice has seen; dev on the data's own, where
        choosing by test would leave nothing to report.

    Raises:
      ConfigError: two configs are the same, or their metrics differ.
    """

    def __init__(
        self,
        sources: Sequence[reading.Source],
        changes: Sequence[str] = (),
        data: str | Path | None = None,
        own_splits: bool = False,
        part: Literal["dev", "test"] | None = None,
    ):
        if len(sources) < 2:
            raise ConfigError(f"expected two or more models to choose from, got {len(sources)}")
        configs = [studies.read(source, changes, data) for source in sources]
        self.random_splits = not own_splits and all(map(_has_random_splits, configs))
        self.part = part or ("test" if self.random_splits else "dev")
        names = [config.name for config in configs]
        if len({*names}) < len(names):  # then their paths, or else their places, name them
            each = enumerate(zip(names, sources, strict=True), 1)
            names = [str(s) if isinstance(s, str | Path) else f"{n} ({k})" for k, (n, s) in each]
        self._configs = dict(zip(names, map(reading.to_dict, configs), strict=True))
        self.session = studies.Session()
        self._after = 0
        first = [self.trial(name, 1) for name in names]
        entries = cohorts.entries(first, self.session.loader)
        self.records = {n: entry.record for n, entry in zip(names, entries, strict=True)}
        first_of: dict[str, str] = {}
        for name, record in self.records.items():
            if (other := first_of.setdefault(record.id, name)) != name:
                raise ConfigError(f"{name} and {other} are the same: nothing to choose")
        for key, what in (("metric", "one metric"), ("data_hash", "one data set")):
            values = {getattr(record, key): name for name, record in self.records.items()}
            if len(values) > 1:
                shown = ", ".join(f"{name} has {value}" for value, name in values.items())
                raise ConfigError(f"models to choose from need {what}: {shown}")

    def begin(
        self,
        rule: Rule,
        show: Callable[[Evaluated], str],
        after: int = 0,
        seconds: float | None = None,
    ) -> None:
        """Begins a selection.

        Args:
          show: is called with every evaluation that ends; returns a line about it.
          after: evaluation k has seed, and random split, after + k.
          seconds: of training, summed over all evaluations, after which nothing more is asked for.
        """
        super().__init__(
            rule,
            rule.begin([*self.records]),
            name=lambda number: f"evaluation {number} (seed {after + number})",
        )
        self._show, self._after, self._seconds = show, after, seconds
        self._jobs: dict[studies.Trial, tuple[str, int]] = {}
        self._spent = 0.0
        self._news: list[str] = []
        # lines to say once, when they are true of a cohort that begins
        self._next, self._goes_on = "", "continues from the recorded evaluations"

    def trial(self, model: str, number: int) -> studies.Trial:
        """Returns evaluation k of a model: seed k and split k (Moss et al. 2019, section 4)."""
        seed = self._after + number
        return studies.Trial(self._configs[model], seed, seed if self.random_splits else 0)

    @property
    def record(self) -> runs.Experiment:
        """The first model's experiment; all have its metric."""
        return next(iter(self.records.values()))

    def more(self) -> list[cohorts.Cohort]:
        """Returns the populations of all models that the rule asks for now."""
        over = self._seconds is not None and self._spent >= self._seconds
        jobs = [] if over else self.ask(0) or []
        asked = {self.trial(*job): job for job in jobs}
        self._jobs |= asked
        if asked:
            counts = Counter(model for model, _ in jobs)
            listed = ", ".join(f"{model} {count}" for model, count in counts.items())
            self._next = f"next: {listed}"
        return cohorts.by_program(cohorts.entries(asked, self.session.loader))

    def lanes(self, planned: Sequence[cohorts.Cohort], workers: int | None) -> int:
        """Returns the lanes of every model's populations, the same in all batches.

        With a launcher a job has a worker's share of a batch. Else under `map` it is one a device:
        selections by other rules, batches and budgets find the programs too. Under `vmap` an idle
        lane costs as much as a busy one: evaluations beyond the lanes wait for one.
        """
        configs = self._configs.values()
        most = self.rule.at_once(len(configs))
        if workers is not None:
            return -(-most // workers)
        modes = {lanes.resolve(prepared.at(config, "training.lane_mode")) for config in configs}
        return len(jax.devices()) if modes == {"map"} else most

    def started(self, event: running.Started) -> None:
        """Says that evaluations are known, and what comes next where some are not."""
        if event.ended and self._goes_on:
            self._news.append(self._goes_on)
            self._goes_on = ""
        if self._next and len(event.ended) < len(event.cohort.entries):
            self._news.append(self._next)
            self._next = ""

    def ended(self, event: running.Ended) -> None:
        """Tells the score; a model without one, or that diverged after it, fails for good."""
        result = event.result
        score = None if result.status == "diverged" else getattr(result, self.part)
        why = f"{result.status}: {result.message}".removesuffix(": ")
        self._spent += result.wall_seconds
        told = why if score is None else score
        self._tell(event.trial, told, result.wall_seconds, event.before)

    def too_large(self, entries: Sequence[cohorts.Entry]) -> bool:
        """A model that does not fit into memory has failed; `settle` cannot do without it."""
        for entry in entries if self.rule.drops else ():
            self._tell(entry.trial, "out of memory", 0.0, before=False)
        return self.rule.drops

    def _tell(
        self, trial: studies.Trial, result: float | str, seconds: float, before: bool
    ) -> None:
        told = self.tell(self._jobs[trial], result)
        if told is not None:
            line = self._show(told._replace(seconds=seconds))
            self._news += [] if before else [line]

    def news(self) -> list[str]:
        """Returns what was asked for, and evaluations that ended."""
        lines, self._news = self._news, []
        return lines

    @property
    def answered(self) -> bool:
        """True if the rule has its answer."""
        return self.rule.answer(self.state) is not None


def train(
    models: Models, folder: Path, launcher: launching.Launcher | None = None, quiet: bool = False
) -> State:
    """Trains what the rule asks for, with progress; returns the last state."""
    with runs.open_store(folder) as store:
        events = launching.train(models, store, folder, launcher)
        observe.watch(events, other=lambda line, say: say(str(line)), quiet=quiet)
    return models.state


def _has_random_splits(config: Any) -> bool:
    try:
        tasks.kind_of(config.task).random_splits(config)
    except ConfigError:
        return False
    return True
