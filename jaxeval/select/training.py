"""Models that are configs, trained in this process: a batch of the rule is one population."""

from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import jax

from jaxeval import observe, runs, studies
from jaxeval.bandits.evaluate import Evaluated
from jaxeval.bandits.rules import OUT_OF_TIME, Rule
from jaxeval.bandits.state import State
from jaxeval.config import reading
from jaxeval.errors import ConfigError
from jaxeval.files import Json
from jaxeval.population import lanes
from jaxeval.report import selection
from jaxeval.studies import cohorts, prepared, running
from jaxeval.tasks import registry

if TYPE_CHECKING:
    from jaxeval.report.selection import Selection

Part = Literal["dev", "test"]


class Arms(NamedTuple):
    """Models to choose from.

    Attributes:
      configs: model -> its config as plain data.
      random_splits: whether evaluation k has random split k; else all have the data's own split.
      part: of the data, whose score is an evaluation's.
      records: model -> under what it is recorded.
      session: the data, which has been read, and compiled programs.
    """

    configs: Mapping[str, Mapping[str, Json]]
    random_splits: bool
    part: Part
    records: Mapping[str, runs.Experiment]
    session: studies.Session

    def trial(self, model: str, number: int) -> studies.Trial:
        """A model's evaluation with this number, from 1."""
        return _trial(self.configs[model], number, self.random_splits)

    @property
    def record(self) -> runs.Experiment:
        """Of one of them: all have its metric."""
        return next(iter(self.records.values()))


def _trial(config: Mapping[str, Json], number: int, random_splits: bool) -> studies.Trial:
    """Seed k and, where it is asked for, split k (Moss et al. 2019, section 4)."""
    return studies.Trial(config, number, number if random_splits else 0)


def arms(
    sources: Sequence[reading.Source],
    changes: Sequence[str] = (),
    data: str | Path | None = None,
    own_splits: bool = False,
    part: Part | None = None,
) -> Arms:
    """Reads configs and their data; nothing is trained.

    Args:
      sources: paths of configs, their names, plain data or settings.
      changes: `key=value` each, of all configs.
      own_splits: the data's own split, also where the task has random ones.
      part: None: test on random splits, which no choice has seen; dev on the data's own, where
        choosing by test would leave nothing to report.

    Raises:
      ConfigError: two configs are the same, or their metrics differ.
    """
    if len(sources) < 2:
        raise ConfigError(f"expected two or more models to choose from, got {len(sources)}")
    corpus = None if data is None else str(data)
    configs = [studies.read(source, changes, corpus) for source in sources]
    random_splits = not own_splits and all(map(_has_random_splits, configs))
    names = _names([config.name for config in configs], sources)
    trees = {name: reading.to_dict(config) for name, config in zip(names, configs, strict=True)}
    session = studies.Session()
    first = [_trial(tree, 1, random_splits) for tree in trees.values()]
    entries = cohorts.entries(first, session.loader)
    records = {name: entry.record for name, entry in zip(trees, entries, strict=True)}
    _refuse_mixed(records)
    return Arms(
        trees, random_splits, part or ("test" if random_splits else "dev"), records, session
    )


def _has_random_splits(config: Any) -> bool:
    try:
        registry.kind(config.task).random_splits(config)
    except ConfigError:
        return False
    return True


def _names(names: Sequence[str], sources: Sequence[reading.Source]) -> list[str]:
    """The configs' own names; their paths, or else their places, where two share one."""
    if len(set(names)) == len(names):
        return list(names)
    return [
        str(source) if isinstance(source, str | Path) else f"{name} ({number})"
        for number, (name, source) in enumerate(zip(names, sources, strict=True), 1)
    ]


def _refuse_mixed(records: Mapping[str, runs.Experiment]) -> None:
    """Raises ConfigError where models are the same, or cannot be compared."""
    first: dict[str, str] = {}
    for name, record in records.items():
        if first.setdefault(record.id, name) != name:
            raise ConfigError(f"{name} and {first[record.id]} are the same: nothing to choose")
    for key, what in (("metric", "one metric"), ("data_hash", "one data set")):
        values = {getattr(record, key): name for name, record in records.items()}
        if len(values) > 1:
            shown = ", ".join(f"{name} has {value}" for value, name in values.items())
            raise ConfigError(f"models to choose from need {what}: {shown}")


def select(
    rule: Rule,
    of: Arms,
    folder: Path,
    store_url: str | None = None,
    *,
    seconds: float | None = None,
    quiet: bool = False,
) -> "Selection":
    """Trains models until the rule has its answer or its time is spent.

    What is recorded in the runs folder is not trained again: so a selection that was stopped
    begins anew, and goes on where it was.

    Args:
      folder: the runs folder.
      seconds, quiet: as of `steps` and `observe.watch`.
    """
    state, unit = rule.begin([*of.configs]), of.record.unit
    with runs.open_store(store_url or folder) as store:

        def follow(event: object, say: observe.Say) -> None:
            nonlocal state
            if isinstance(event, Evaluated):
                state = event.state
                say(selection.progress(rule, event, unit))
            elif isinstance(event, BatchStarted):
                counts = event.evaluations.items()
                say("next: " + ", ".join(f"{model} {count}" for model, count in counts))

        happening = steps(rule, of, store, folder, seconds=seconds)
        observe.watch(happening, lambda started: None, follow, quiet=quiet)
    answer = rule.answer(state) or rule.leading(state, OUT_OF_TIME)
    more = {"part": of.part, "metric": of.record.metric, "unit": unit}
    return selection.result(rule, state, answer, more=more)


class BatchStarted(NamedTuple):
    """A batch begins, of so many evaluations of each model."""

    evaluations: Mapping[str, int]


def steps(
    rule: Rule, of: Arms, store: runs.Store, folder: Path, *, seconds: float | None = None
) -> Generator[BatchStarted | running.Event | Evaluated, None, None]:
    """Trains a batch after the other, all with as many lanes: later ones find the programs.

    Args:
      seconds: of training, summed over all evaluations, after which nothing more is asked for.

    Yields:
      BatchStarted, what `studies.run` yields, and an Evaluated after every score.

    Raises:
      RunError: every model was dropped.
    """
    state, spent = rule.begin([*of.configs]), 0.0
    while rule.answer(state) is None:
        if seconds is not None and spent >= seconds:
            return
        asked = rule.ask(state)
        yield BatchStarted(Counter(asked))
        trials = {}
        for model in asked:
            state, number = state.start(model)
            trials[of.trial(model, number)] = model, number
        planned = cohorts.by_program(cohorts.entries(trials, of.session.loader))
        width = _lanes(rule, of)
        for event in studies.run(planned, store, folder, session=of.session, lanes=width):
            yield event
            if isinstance(event, running.Ended):
                spent += event.result.wall_seconds
                for scored in _evaluated(state, of.part, trials[event.trial], event.result):
                    state = scored.state
                    yield scored


def _lanes(rule: Rule, of: Arms) -> int:
    """Of every model's populations, the same in all batches, so that they share programs.

    Under `map`, where no score depends on it and a device's lanes run one after the other, it is
    one a device: selections by other rules, batches and budgets find the programs too. Under
    `vmap` an idle lane costs as much as a busy one: evaluations beyond the lanes wait for one.
    """
    modes = {prepared.at(config, "training.lane_mode") for config in of.configs.values()}
    if {*map(lanes.resolve, modes)} == {"map"}:
        return len(jax.devices())
    return rule.at_once(len(of.configs))


def _evaluated(
    state: State, part: Part, job: tuple[str, int], result: runs.MemberResult
) -> Iterator[Evaluated]:
    """The state with a result; a model without a score is dropped: its next try would be alike."""
    model, number = job
    score = getattr(result, part)
    if model in state.excluded:
        return
    if score is not None:
        yield Evaluated(state.tell(model, score, number), model, number, score, "")
        return
    reason = f"evaluation {number} (seed {number}) {result.status}"
    reason += f": {result.message}" if result.message else ""
    dropped = state.exclude(model, reason)
    yield Evaluated(dropped, model, number, None, f"{result.status}; {model} is dropped")
