"""`jaxeval evaluate`: scores saved models again, language models also in other ways."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jaxeval import backend, cli, parameters
from jaxeval.errors import ConfigError, argument
from jaxeval.files import Json
from jaxeval.parameters import Changes, Count, NonNegative, Quiet, Seeds
from jaxeval.report import Document, Result

if TYPE_CHECKING:
    from jaxeval.config.reading import Source
    from jaxeval.studies import saved
    from jaxeval.studies.saved import Condition

_SEEDS = 8  # of a config
_MASKS = 20  # of a mean


@dataclasses.dataclass(frozen=True, repr=False)
class Evaluation(Result):
    """Scores of saved models, a row each: condition, seed, part, metric, score."""

    scores: Sequence[dict[str, Json]]

    def document(self) -> Document:
        """A line a condition, and how it differs from the first, seed by seed."""
        from jaxeval.report import runs as report

        return report.conditions_document(self.scores)

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
    dynamic: NonNegative | None = None,
    quiet: Quiet = False,
) -> Evaluation:
    """Scores models that were trained with training.save_models=true.

    Language models can also be scored with another softmax temperature (searched on dev), averaged
    over dropout masks, or by dynamic evaluation. `compare` reads what --json writes.

    Args:
      seeds: N (seeds 1 to N) or a list such as 3,5,8 (8; with --experiment all saved seeds).
      experiment: an experiment: its name, its id, or 4 or more first digits of its id;
        instead of CONFIG.
      part: part of the data to score.
      input: file to score instead, in the format of the training data, with labels.
      streams: language: numbers of streams (1, and that of the recorded scores).
      temperature: language: a number, or search (on dev).
      mean: language: mean over dropout masks: arithmetic, geometric or both.
      samples: number of dropout masks (20).
      dynamic: language: learning rate of dynamic evaluation (Krause et al. 2018), such as 0.001.

    Examples:
      jaxeval evaluate CONFIG --data DIR --input FILE       # your own file, with labels
      jaxeval evaluate --out RUNS --experiment 3f2a         # all saved seeds
      jaxeval evaluate CONFIG --data DIR --temperature search --mean arithmetic --samples 200
    """
    others = {"streams": streams, "temperature": temperature, "mean": mean, "dynamic": dynamic}
    if input is not None and part == "dev":
        raise ConfigError(f"{argument('input')}: expected no {argument('part', part)} beside it")
    if wrong := [each for each in mean if each not in ("arithmetic", "geometric")]:
        expected = "expected arithmetic or geometric"
        raise ConfigError(f"{argument('mean')}: {expected}, got {wrong[0]!r:.60}")
    rows = [int(_number("streams", count, parameters.MOST, whole=True)) for count in streams]
    if temperature is not None and temperature != "search":
        temperature = _number("temperature", temperature, 100)
    backend.prepare()
    from jaxeval import studies
    from jaxeval.studies import cohorts, prepared, saved

    source, numbers = config, seeds or _SEEDS
    if experiment is not None:
        source, found = _experiment(Path(out), experiment, config, [*changes])
        numbers = seeds or found
    whole = studies.read(source, [*changes], data)
    _refuse_unused({**others, "samples": samples}, whole)
    trials = prepared.seeds_by_splits(whole, parameters.numbers(numbers))
    (cohort,) = cohorts.by_program(cohorts.entries(trials, studies.Session().loader))
    models = saved.load(cohort, Path(out))
    models = models if input is None else saved.with_test_file(models, str(input))
    conditions: Iterator[Condition | None] = iter([None])  # as in training
    if whole.task == "language":
        conditions = _conditions(models, rows, temperature, mean, samples or _MASKS, dynamic)
    return _scored(models, conditions, part, str(input or part), quiet)


def _number(name: str, value: str | float, most: float, whole: bool = False) -> float:
    """A number above 0 and below `most`, of a list or beside words."""
    try:
        number = int(value) if whole else float(value)
    except ValueError:
        number = 0
    if 0 < number < most:
        return number
    kind = "whole numbers from 1" if whole else "a number above 0, or search"
    raise ConfigError(f"{argument(name)}: expected {kind}, got {value!r:.60}")


def _experiment(
    folder: Path, experiment: str, config: "Source", changes: Sequence[str]
) -> "tuple[Source, list[int]]":
    """The config of an experiment, and the seeds of its saved models."""
    from jaxeval.studies import saved

    if config or changes:
        beside = config or changes[0]
        raise ConfigError(f"{argument('experiment')}: expected no CONFIG beside it, got {beside}")
    found = [of.about for of in saved.choose(folder, experiment) if not of.about.split]
    if len({repr((about.config, about.hparams)) for about in found}) != 1:
        expected = "expected models that differ in their seeds alone, and of the given split"
        raise ConfigError(f"{argument('experiment', experiment)}: {expected}")
    return found[0].config, sorted({about.seed for about in found})


def _refuse_unused(others: Mapping[str, object], config: Any) -> None:
    """Raises ConfigError for an option that would have no effect."""
    from jaxeval.config import fields

    for name, value in others.items():
        given = value is not None and value != [] and value != ()  # 0 is given
        if given and config.task != "language":
            said = f"for language models only; this config's task is {config.task}"
            raise ConfigError(f"{argument(name)}: {said}")
    if others["samples"] is not None and not others["mean"]:
        raise ConfigError(f"{argument('samples')}: goes with {argument('mean')}")
    if others["mean"] and not fields.active(config.model):
        said = "the config has no dropout, so there are no masks to average over"
        raise ConfigError(f"{argument('mean')}: {said}")


def _conditions(
    models: "saved.Models",
    streams: Sequence[int],
    temperature: str | float | None,
    means: Sequence[Any],
    samples: int,
    dynamic: float | None,
) -> "Iterator[Condition | None]":
    """The plain evaluations first; the others in as many streams as the first."""
    from jaxeval.studies import saved
    from jaxeval.tasks.language_evaluation import Averaging

    training = models.prepared.config.training
    streams = streams or sorted({1, training.evaluation_batch_size})
    for rows in dict.fromkeys(streams):
        yield saved.Condition(rows)
    first = saved.Condition(streams[0])
    if temperature == "search":
        temperature = saved.best_temperature(models, training.evaluation_batch_size)
    if temperature is not None:
        yield first._replace(temperature=float(temperature))
    for mean in dict.fromkeys(means):
        yield first._replace(averaging=Averaging(mean, samples))
    if dynamic is not None:
        yield first._replace(dynamic=dynamic)


def _scored(
    models: "saved.Models",
    conditions: "Iterator[Condition | None]",
    part: Literal["test", "dev"],
    shown_part: str,
    quiet: bool,
) -> Evaluation:
    """Scores the models under each condition: a row a member."""
    from jaxeval.report import runs as report
    from jaxeval.studies import saved

    record, rows = models.prepared.record, list[dict[str, Json]]()
    for condition in conditions:
        named = "as in training" if condition is None else str(condition)
        cli.say(f"{named} ...", quiet)
        scores = saved.scores(models, condition, part)
        rows += [
            {
                "model": f"{record.name}, {named}",
                "condition": named,
                "seed": member.seed,
                "part": shown_part,
                "metric": record.metric,
                "higher_is_better": record.higher_is_better,
                "score": by_metric[record.metric],
            }
            for member, by_metric in zip(models.members, scores, strict=True)
        ]
        cli.say(report.condition_line(rows, named), quiet)
    return Evaluation(rows)
