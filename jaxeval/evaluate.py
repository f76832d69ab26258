"""`jaxeval evaluate`: scores saved models again, language models in other ways."""

import dataclasses
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jaxeval import backend, parameters, parsers
from jaxeval.errors import ConfigError, argument
from jaxeval.files import Json
from jaxeval.parameters import Changes, Count, NonNegative, Quiet, Seeds
from jaxeval.report.document import Document
from jaxeval.report.result import Result

if TYPE_CHECKING:
    from jaxeval.config import reading
    from jaxeval.config.reading import Source
    from jaxeval.studies import saved
    from jaxeval.studies.saved import Condition

_SEEDS = 8  # of a config


@dataclasses.dataclass(frozen=True, repr=False)
class Evaluation(Result):
    """Scores of saved models, a row each: condition, seed, part, metric, score."""

    scores: Sequence[dict[str, Json]]

    def document(self) -> Document:
        """A line a condition, and how it differs from the first, seed by seed."""
        from jaxeval.report.runs import conditions

        return conditions.document(self.scores)

    def to_dict(self) -> Any:
        """The rows: a table of scores that `compare` reads."""
        return [*self.scores]


@parameters.verb
def evaluate(
    config: "Source" = None,
    changes: Changes = (),
    *,
    data: str | Path | None = None,
    out: str | Path = "runs",
    seeds: Seeds | None = None,
    experiment: str | None = None,
    part: Literal["test", "dev"] = "test",
    input: str | Path | None = None,
    streams: Sequence[int | str] = (),
    temperature: str | float | None = None,
    mean: Sequence[str] = (),
    samples: Count | None = None,
    dynamic: bool = False,
    dynamic_rate: NonNegative | None = None,
    quiet: Quiet = False,
) -> Evaluation:
    """Scores models that were trained with training.save_models=true.

    Language models: in one stream and in as many as in training, and, where asked for, with
    another softmax temperature, averaged over dropout masks, or by dynamic evaluation.
    Temperatures are searched on dev; try rates of dynamic evaluation with --part dev. What --json
    writes is a table of scores that `compare` reads.

    Args:
      config: TOML file or shipped name; absent: the embedded default.
      changes: change a config's key; key= unsets it.
      data: the corpus: a folder, for a text also a file, or tfds:NAME.
      out: the runs folder.
      seeds: N for seeds 1 .. N (8), or a list such as 3,5,8; of an experiment all that are saved.
      experiment: its id, the id's begin, or its name, instead of CONFIG.
      part: what is scored.
      input: a file that is scored instead, like those trained on, with labels.
      streams: language: 1 and as many as in training.
      temperature: language: a number, or search.
      mean: language: over dropout masks: arithmetic, geometric or both.
      samples: masks of a mean (20).
      dynamic: language: dynamic evaluation (Krause et al. 2018).
      dynamic_rate: its learning rate (0.001).
      quiet: without progress.

    Examples:
      jaxeval evaluate CONFIG --data DIR --part dev         # models of any task
      jaxeval evaluate CONFIG --data DIR --input FILE       # your own, with labels
      jaxeval evaluate --out RUNS --experiment 3f2a         # all seeds that are saved
      jaxeval evaluate CONFIG --data DIR --temperature search
      jaxeval evaluate CONFIG --data DIR --mean arithmetic --samples 200
      jaxeval evaluate CONFIG --data DIR --dynamic --json scores.json

    Raises:
      ConfigError, DataError, RunError: of the config, the data, the folder.
    """
    others = {"streams": streams, "temperature": temperature, "mean": mean, "dynamic": dynamic}
    others |= {"samples": samples, "dynamic_rate": dynamic_rate}
    if input is not None and part == "dev":
        raise ConfigError(f"{argument('input')}: expected no {argument('part', part)} beside it")
    if wrong := [of for of in mean if of not in ("arithmetic", "geometric")]:
        expected = "expected arithmetic or geometric"
        raise ConfigError(f"{argument('mean')}: {expected}, got {wrong[0]!r:.60}")
    rows = [_number("streams", number, parameters.MOST, whole=True) for number in streams]
    search = temperature == "search"
    heat = None if temperature is None or search else _number("temperature", temperature, 100)
    ways = list(dict.fromkeys(map(int, rows))), heat, search, list(dict.fromkeys(mean)), samples
    backend.prepare()
    from jaxeval import studies
    from jaxeval.report.runs import conditions
    from jaxeval.studies import cohorts, proposers, saved

    words = parameters.changed_keys(changes)
    source, numbers = config, _SEEDS if seeds is None else seeds
    if experiment is not None:
        source, found = _experiment(Path(out), experiment, config, words)
        numbers = found if seeds is None else seeds
    whole = studies.read(source, words, None if data is None else str(data))
    _refuse_others(others, whole)
    trials = proposers.seeds_by_splits(whole, parameters.numbers(numbers))
    (cohort,) = cohorts.by_program(cohorts.entries(trials, studies.Session().loader))
    models = saved.load(cohort, Path(out))
    models = models if input is None else saved.on_file(models, str(input))
    asked: Iterator[Condition | None] = iter([None])  # as in training
    if whole.task == "language":
        rate = 0.001 if dynamic_rate is None else dynamic_rate
        asked = _conditions(models, *ways, rate if dynamic else None)
    scored: list[dict[str, Json]] = []
    for condition in asked:
        described = "as in training" if condition is None else str(condition)
        if not quiet:
            print(f"{described} ...", file=sys.stderr, flush=True)
        scores = saved.scores(models, condition, part)
        scored += _rows(models, scores, described, str(input or part))
        if not quiet:
            print(conditions.line(scored, described), file=sys.stderr, flush=True)
    return Evaluation(scored)


def _experiment(
    folder: Path, experiment: str, config: "Source", changes: Sequence[str]
) -> "tuple[reading.Source, list[int]]":
    """The config of an experiment, and the seeds of its saved models.

    Raises ConfigError or RunError: a config too, members whose configs differ, no such models.
    """
    named = argument("experiment", experiment)
    if config or changes:
        beside = config or changes[0]
        raise ConfigError(f"{argument('experiment')}: expected no CONFIG beside it, got {beside}")
    from jaxeval.studies import saved

    models = saved.choose(folder, "all", experiment).used
    found = [model.about for model in models if not model.about.split]
    first = next(iter(found), None)
    if first is None or any((m.config, m.hparams) != (first.config, first.hparams) for m in found):
        raise ConfigError(
            f"{named}: expected models that differ in their seeds alone, and of the given split"
        )
    return first.config, sorted({about.seed for about in found})


def _refuse_others(asked: Mapping[str, object], config: Any) -> None:
    """Raises ConfigError where an option would be passed over: of another task or evaluation."""
    from jaxeval.config import fields

    goes_with = {"samples": "mean", "dynamic_rate": "dynamic"}
    for name, value in asked.items():
        if value is None or value is False or value == () or value == []:  # not given; 0 is
            continue
        if config.task != "language":
            said = f"for language models only; this config's task is {config.task}"
            raise ConfigError(f"{argument(name)}: {said}")
        if name in goes_with and not asked[goes_with[name]]:
            raise ConfigError(f"{argument(name)}: goes with {argument(goes_with[name])}")
    if asked["mean"] and not fields.active(config.model):
        raise ConfigError(
            f"{argument('mean')}: the config has no dropout, so there are no masks to average over"
        )


def _number(name: str, value: str | float, most: float, whole: bool = False) -> float:
    """A number above 0 and below `most`, of a list or beside words."""
    try:
        number = int(value) if whole else float(value)
    except ValueError:
        number = 0
    if not 0 < number < most:
        expected = (
            "expected whole numbers from 1" if whole else "expected a number above 0, or search"
        )
        raise ConfigError(f"{argument(name)}: {expected}, got {value!r:.60}")
    return number


def _conditions(
    models: "saved.Models",
    streams: list[int],
    temperature: float | None,
    search: bool,
    means: Sequence[Any],
    samples: int | None,
    dynamic_rate: float | None,
) -> "Iterator[Condition | None]":
    """The plain evaluations first; then, in as many streams as the first, those asked for."""
    from jaxeval.studies import saved
    from jaxeval.tasks.language_evaluation import Averaging

    training = models.prepared.config.training
    streams = streams or sorted({1, training.batch_size})
    for rows in streams:
        yield saved.Condition(rows)
    first = saved.Condition(streams[0])
    if search:
        temperature = saved.best_temperature(models, training.evaluation_batch_size)
    if temperature is not None:
        yield first._replace(temperature=temperature)
    for mean in means:
        yield first._replace(averaging=Averaging(mean, samples or 20))
    if dynamic_rate is not None:
        yield first._replace(dynamic=dynamic_rate)


def _rows(
    models: "saved.Models", scores: "saved.Scores", condition: str, part: str
) -> list[dict[str, Json]]:
    """The rows of a score table, one a member."""
    record = models.prepared.record
    return [
        {
            "model": f"{record.name}, {condition}",
            "condition": condition,
            "seed": who.seed,
            "part": part,
            "metric": record.metric,
            "higher_is_better": record.higher_is_better,
            "score": of_member[record.metric],
        }
        for who, of_member in zip(models.members, scores, strict=True)
    ]


COMMANDS: parsers.Commands = {"": evaluate}
