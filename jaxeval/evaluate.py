"""`python -m jaxeval.evaluate`: scores saved models again, language models in other ways."""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxeval import cli
from jaxeval.errors import ConfigError

if TYPE_CHECKING:
    from jaxeval.studies import evaluation

_DESCRIPTION = """\
Scores models that `train` has kept (training.keep_models=true). Language models: by one reader and
by as many as read in training, and, where asked for, with another softmax temperature, averaged
over dropout masks, or learning while they are tested. CONFIG, changes, data, seeds as for train.
"""
_EXAMPLES = """\
examples:
  python -m jaxeval.evaluate CONFIG --data DIR --part dev         # models of any task
  python -m jaxeval.evaluate CONFIG --data DIR --seeds 4          # batch 1, and that of training
  python -m jaxeval.evaluate CONFIG --data DIR --temperature search
  python -m jaxeval.evaluate CONFIG --data DIR --mean arithmetic --samples 200 --rate-factor 0.8
  python -m jaxeval.evaluate CONFIG --data DIR --dynamic --json scores.json

Temperatures are searched on dev; try rates of dynamic evaluation with --part dev. What --json
writes is a score table that `python -m jaxeval.compare` reads.
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    made = cli.parser("evaluate", _DESCRIPTION, _EXAMPLES)
    cli.add_config(made)
    cli.add_seeds(made)
    made.add_argument("--part", choices=("test", "dev"), default="test", help="scored (test)")
    made.add_argument(
        "--batch", type=_batches, metavar="A,B,..", help="readers (1 and those of training)"
    )
    made.add_argument("--temperature", type=_temperature, metavar="T", help="a number, or search")
    made.add_argument(
        "--mean", choices=("arithmetic", "geometric"), action="append", help="over dropout masks"
    )
    made.add_argument(
        "--samples", type=cli.positive, default=20, metavar="K", help="masks of a mean (20)"
    )
    made.add_argument(
        "--rate-factor",
        type=cli.number(0),
        default=0.8,
        metavar="F",
        help="of a mean's rates (0.8)",
    )
    made.add_argument(
        "--dynamic", action="store_true", help="dynamic evaluation (Krause et al. 2018)"
    )
    made.add_argument(
        "--dynamic-rate", type=cli.number(0, 1000), default=0.001, metavar="R", help="(0.001)"
    )
    made.add_argument(
        "--dynamic-decay", type=cli.number(0, 1), default=0.02, metavar="D", help="(0.02)"
    )
    made.add_argument(
        "--dynamic-epsilon",
        type=cli.number(0),
        default=1.0,
        metavar="E",
        help="of the mean root mean square (1)",
    )
    return made


def _batches(text: str) -> list[int]:
    return list(dict.fromkeys(cli.positive(part) for part in text.split(",")))


def _temperature(text: str) -> float | str:
    try:
        found = text if text == "search" else float(text)
    except ValueError:
        found = 0.0
    if found != "search" and not 0 < float(found) < 100:
        raise argparse.ArgumentTypeError(f"expected a number above 0, or search, got {text!r}")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Parses, loads, scores, prints."""
    given = cli.parse_config(parser(), arguments)
    from jaxeval import backend

    backend.prepare()
    from jaxeval import studies
    from jaxeval.config import markers
    from jaxeval.report.runs import conditions
    from jaxeval.studies import cohorts, evaluation, proposers

    config = studies.read(given.config, given.changes, given.data)
    if config.task != "language":
        _refuse_readings(given, config.task)
    if given.mean:
        _refuse_rates(markers.active(config.model), given.rate_factor)
    trials = proposers.seeds_by_splits(config, cli.seeds_of(given))
    (cohort,) = cohorts.by_program(cohorts.entries(trials, studies.Session().loader))
    models = evaluation.load(cohort, Path(given.out))
    (record,) = cohort.records
    rows, name = [], record.metric
    for condition in _conditions(given, models):
        said = "as in training" if condition is None else str(condition)
        print(f"{said} ...", file=sys.stderr, flush=True)
        if condition is None:
            found = evaluation.as_trained(models, given.part)
        else:
            found = evaluation.scores(models, condition, given.part)
        rows += [
            {
                "model": f"{config.name}, {said}",
                "condition": said,
                "seed": who.seed,
                "part": given.part,
                "metric": name,
                "higher_is_better": record.higher_is_better,
                "score": one[name],
            }
            for who, one in zip(cohort.members, found, strict=True)
        ]
        # at once: later conditions may take hours
        if given.json and given.json != "-":
            cli.write_json(given.json, rows)
        print(conditions.line(rows, said), file=sys.stderr, flush=True)
    if given.json == "-":
        cli.write_json(given.json, rows)
    if given.json != "-":
        conditions.show(rows)
    return 0


def _refuse_readings(given: argparse.Namespace, task: str) -> None:
    """Raises ConfigError where a text is asked to be read in other ways, and there is none."""
    for name in ("batch", "temperature", "mean", "dynamic"):
        if getattr(given, name):
            raise ConfigError(f"--{name}: of language models; this config's task is {task}")


def _refuse_rates(rates: Mapping[str, float], factor: float) -> None:
    """Raises ConfigError where a mean over masks would drop nothing, or everything."""
    if not any(rates.values()) or not factor:
        raise ConfigError("--mean: the config has no dropout rates; there is one mask only")
    if factor * max(rates.values()) >= 1:
        raise ConfigError(
            f"--rate-factor: {factor:g} times {max(rates.values()):g} is no rate; expected less"
        )


def _conditions(
    given: argparse.Namespace, models: "evaluation.Models"
) -> "Iterator[evaluation.Condition | None]":
    """The plain readings first; then, by as many readers as the first, each that was asked for.

    None: as in training, of other tasks than language.
    """
    if models.prepared.config.task != "language":
        yield None
        return
    from jaxeval.studies import evaluation
    from jaxeval.tasks.dynamic_evaluation import Dynamic
    from jaxeval.tasks.language_averaging import Averaging

    batches = given.batch or sorted({1, models.prepared.config.training.batch_size})
    for rows in batches:
        yield evaluation.Condition(rows)
    first = evaluation.Condition(batches[0])
    if given.temperature == "search":
        most = models.prepared.config.training.evaluation_batch_size
        yield first._replace(temperature=evaluation.best_temperature(models, most))
    elif given.temperature is not None:
        yield first._replace(temperature=given.temperature)
    for mean in dict.fromkeys(given.mean or []):
        averaging = Averaging(mean, given.samples)
        yield first._replace(averaging=averaging, rate_factor=given.rate_factor)
    if given.dynamic:
        how = Dynamic(given.dynamic_rate, given.dynamic_decay, given.dynamic_epsilon)
        yield first._replace(dynamic=how)


if __name__ == "__main__":
    cli.run(main)
