"""Models that are configs: a batch of the rule is one population, or jobs of a launcher."""

import contextlib
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import jax

from jaxeval import observe, runs, studies
from jaxeval.bandits import Rule, State
from jaxeval.bandits.evaluate import Evaluated
from jaxeval.config import reading
from jaxeval.errors import ConfigError
from jaxeval.files import Json
from jaxeval.population import lanes
from jaxeval.studies import cohorts, launching, prepared, running
from jaxeval.tasks import registry

_Part = Literal["dev", "test"]


class Arms(NamedTuple):
    """Models to choose from, each a config.

    Attributes:
      configs: model -> its config as plain data.
      random_splits: evaluation k has random split k; else all have the data's own split.
      part: the part of the data whose score is an evaluation's.
      records: model -> the experiment it is recorded under.
      session: the data, which has been read, and compiled programs.
      after: evaluation k has seed, and random split, after + k.
    """

    configs: Mapping[str, Mapping[str, Json]]
    random_splits: bool
    part: _Part
    records: Mapping[str, runs.Experiment]
    session: studies.Session
    after: int = 0

    def trial(self, model: str, number: int) -> studies.Trial:
        """Returns evaluation k of a model: seed k and split k (Moss et al. 2019, section 4)."""
        seed = self.after + number
        return studies.Trial(self.configs[model], seed, seed if self.random_splits else 0)

    @property
    def record(self) -> runs.Experiment:
        """The first model's experiment; all have its metric."""
        return next(iter(self.records.values()))


def arms(
    sources: Sequence[reading.Source],
    changes: Sequence[str] = (),
    data: str | Path | None = None,
    own_splits: bool = False,
    part: _Part | None = None,
) -> Arms:
    """Reads configs and their data; nothing is trained.

    Args:
      changes: `key=value` each, of all configs.
      own_splits: the data's own split, also where the task has random ones.
      part: None: test on random splits, which no choice has seen; dev on the data's own, where
        choosing by test would leave nothing to report.

    Raises:
      ConfigError: two configs are the same, or their metrics differ.
    """
    if len(sources) < 2:
        raise ConfigError(f"expected two or more models to choose from, got {len(sources)}")
    configs = [studies.read(source, changes, data) for source in sources]
    random_splits = not own_splits and all(map(_has_random_splits, configs))
    names = [config.name for config in configs]
    if len({*names}) < len(names):  # then their paths, or else their places, name them
        numbered = enumerate(zip(names, sources, strict=True), 1)
        names = [str(s) if isinstance(s, str | Path) else f"{n} ({k})" for k, (n, s) in numbered]
    trees = {name: reading.to_dict(config) for name, config in zip(names, configs, strict=True)}
    part = part or ("test" if random_splits else "dev")
    found = Arms(trees, random_splits, part, {}, studies.Session())
    entries = cohorts.entries([found.trial(name, 1) for name in trees], found.session.loader)
    records = {name: entry.record for name, entry in zip(trees, entries, strict=True)}
    _refuse_mixed(records)
    return found._replace(records=records)


def _has_random_splits(config: Any) -> bool:
    try:
        registry.kind(config.task).random_splits(config)
    except ConfigError:
        return False
    return True


def _refuse_mixed(records: Mapping[str, runs.Experiment]) -> None:
    first: dict[str, str] = {}
    for name, record in records.items():
        if first.setdefault(record.id, name) != name:
            raise ConfigError(f"{name} and {first[record.id]} are the same: nothing to choose")
    for key, what in (("metric", "one metric"), ("data_hash", "one data set")):
        values = {getattr(record, key): name for name, record in records.items()}
        if len(values) > 1:
            shown = ", ".join(f"{name} has {value}" for value, name in values.items())
            raise ConfigError(f"models to choose from need {what}: {shown}")


def train(
    rule: Rule,
    models: Arms,
    folder: Path,
    show: Callable[[Evaluated], str],
    *,
    seconds: float | None = None,
    launcher: launching.Launcher | None = None,
    quiet: bool = False,
) -> State:
    """Trains what the rule asks for, with progress; returns the last state.

    What is recorded in the runs folder is not trained again: a selection that was stopped begins
    anew, and goes on where it was.

    Args:
      show: is called with every evaluation that ends; returns a line about it.
      seconds, launcher: as of `steps`.
    """
    state = rule.begin([*models.configs])
    with runs.open_store(folder) as store:

        def follow(event: object, say: observe.Say) -> None:
            nonlocal state
            if isinstance(event, Evaluated):
                state = event.state
                say(show(event))
            elif isinstance(event, Counter):
                say("next: " + ", ".join(f"{model} {count}" for model, count in event.items()))

        events = steps(rule, models, store, folder, seconds=seconds, launcher=launcher)
        observe.watch(events, other=follow, quiet=quiet)
    return state


def steps(
    rule: Rule,
    models: Arms,
    store: runs.Store,
    folder: Path,
    *,
    seconds: float | None = None,
    launcher: launching.Launcher | None = None,
) -> Generator[Counter[str] | running.Event | Evaluated, None, None]:
    """Trains one batch after the other, all with as many lanes: later ones find the programs.

    With a launcher the rule is asked again whenever a job has ended, and knows of those that run.

    Args:
      seconds: of training, summed over all evaluations, after which nothing more is asked for.

    Yields:
      The evaluations of each model that the rule asks for, the events of `studies.run`, and an
      Evaluated after every score.

    Raises:
      RunError: every model was dropped.
    """
    state, spent, session = rule.begin([*models.configs]), 0.0, models.session
    trials: dict[studies.Trial, tuple[str, int]] = {}
    asked: tuple[str, ...] = ()

    def more() -> list[cohorts.Cohort]:
        nonlocal state, asked
        ended = rule.answer(state) is not None or (seconds is not None and spent >= seconds)
        asked, new = () if ended else rule.ask(state), list[studies.Trial]()
        for model in asked:
            state, number = state.start(model)
            new.append(models.trial(model, number))
            trials[new[-1]] = model, number
        return cohorts.by_program(cohorts.entries(new, session.loader))

    how: Any = {"lanes": _lanes(rule, models, launcher), "launcher": launcher, "more": more}
    with contextlib.closing(studies.run(more(), store, folder, session=session, **how)) as events:
        for event in events:
            if asked:
                yield Counter(asked)
                asked = ()
            yield event
            if isinstance(event, running.Ended):
                spent += event.result.wall_seconds
                scored = _evaluated(rule, state, models.part, *trials[event.trial], event.result)
                if scored is not None:
                    state = scored.state
                    yield scored
                    if launcher is not None and rule.answer(state) is not None:
                        return  # what still runs is not needed


def _lanes(rule: Rule, models: Arms, launcher: launching.Launcher | None) -> int:
    """The lanes of every model's populations, the same in all batches, to share programs.

    With a launcher a job has a worker's share of a batch. Else under `map` it is one a device:
    selections by other rules, batches and budgets find the programs too. Under `vmap` an idle lane
    costs as much as a busy one: evaluations beyond the lanes wait for one.
    """
    most = rule.at_once(len(models.configs))
    if launcher is not None:
        return -(-most // launcher.workers)
    modes = {prepared.at(config, "training.lane_mode") for config in models.configs.values()}
    return len(jax.devices()) if {*map(lanes.resolve, modes)} == {"map"} else most


def _evaluated(
    rule: Rule, state: State, part: _Part, model: str, number: int, result: runs.MemberResult
) -> Evaluated | None:
    """A result with the state it leads to; None if its model has been dropped.

    A model without a score fails for good, since its next try would end alike.
    """
    if model in state.excluded:
        return None
    score = getattr(result, part)
    if score is not None:
        told = state.tell(model, score, number)
        return Evaluated(told, model, number, score, "", result.wall_seconds)
    reason = f"evaluation {number} (seed {result.seed}) {result.status}"
    reason += f": {result.message}" if result.message else ""
    after = rule.failed(state, model, number, reason)
    note = f"{result.status}; {model} is dropped" if model in after.excluded else result.status
    return Evaluated(after, model, number, None, note, result.wall_seconds)
