"""`python -m jaxeval.evaluate`: scores saved models again, language models in other ways."""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxeval import cli, files
from jaxeval.errors import ConfigError
from jaxeval.files import Json

if TYPE_CHECKING:
    from jaxeval.config import reading
    from jaxeval.studies import evaluation

_DESCRIPTION = """\
Scores models that `train` has saved (training.save_models=true). Language models: in one stream
and in as many as in training, and, where asked for, with another softmax temperature, averaged
over dropout masks, or by dynamic evaluation. CONFIG, changes, data and seeds are as for train.
"""
_EXAMPLES = """\
examples:
  python -m jaxeval.evaluate CONFIG --data DIR --part dev         # models of any task
  python -m jaxeval.evaluate CONFIG --data DIR --input FILE       # your own, with labels
  python -m jaxeval.evaluate --out RUNS --experiment 3f2a         # all seeds that are saved of it
  python -m jaxeval.evaluate CONFIG --data DIR --seeds 4          # batch 1, and that of training
  python -m jaxeval.evaluate CONFIG --data DIR --temperature search
  python -m jaxeval.evaluate CONFIG --data DIR --mean arithmetic --samples 200 --rate-factor 0.8
  python -m jaxeval.evaluate CONFIG --data DIR --dynamic --json scores.json

Temperatures are searched on dev; try rates of dynamic evaluation with --part dev. What --json
writes is a score table that `python -m jaxeval.compare` reads.
"""


_DEFAULTS = {  # None until it is known whether they were given
    "samples": 20,
    "rate_factor": 0.8,
    "dynamic_rate": 0.001,
    "dynamic_decay": 0.02,
    "dynamic_epsilon": 1.0,
}
_OF_LANGUAGE = {  # the option that they go with -> options
    "": ("batch", "temperature", "mean", "dynamic"),
    "mean": ("samples", "rate_factor"),
    "dynamic": ("dynamic_rate", "dynamic_decay", "dynamic_epsilon"),
}


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    verb = cli.parser("evaluate", _DESCRIPTION, _EXAMPLES)
    cli.add_config(verb)
    cli.add_seeds(verb)
    verb.set_defaults(seeds=None)  # 8 of a config, all that are saved of an experiment
    verb.add_argument(
        "--experiment",
        metavar="ID",
        help="its id, the id's begin, or its name, instead of CONFIG: of models that --out keeps",
    )
    which = verb.add_mutually_exclusive_group()
    which.add_argument("--part", choices=("test", "dev"), default="test", help="scored (test)")
    which.add_argument(
        "--input", metavar="FILE", help="scored instead: a file like those trained on, with labels"
    )
    verb.add_argument(
        "--batch", type=_batches, metavar="A,B,..", help="streams (1 and as many as in training)"
    )
    verb.add_argument("--temperature", type=_temperature, metavar="T", help="a number, or search")
    verb.add_argument(
        "--mean", choices=("arithmetic", "geometric"), action="append", help="over dropout masks"
    )
    verb.add_argument("--samples", type=cli.positive, metavar="K", help="masks of a mean (20)")
    verb.add_argument(
        "--rate-factor",
        type=cli.number(0),
        metavar="F",
        help="of a mean's rates (0.8)",
    )
    _add_dynamic(verb)
    return verb


def _add_dynamic(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--dynamic", action="store_true", help="dynamic evaluation (Krause et al. 2018)"
    )
    verb.add_argument("--dynamic-rate", type=cli.number(0, 1000), metavar="R", help="(0.001)")
    verb.add_argument("--dynamic-decay", type=cli.number(0, 1), metavar="D", help="(0.02)")
    verb.add_argument(
        "--dynamic-epsilon",
        type=cli.number(0),
        metavar="E",
        help="of the mean root mean square (1)",
    )


def _batches(text: str) -> list[int]:
    return list(dict.fromkeys(cli.positive(part) for part in text.split(",")))


def _temperature(text: str) -> float | str:
    if text == "search":
        return text
    try:
        temperature = float(text)
    except ValueError:
        temperature = 0.0
    if not 0 < temperature < 100:
        raise argparse.ArgumentTypeError(f"expected a number above 0, or search, got {text!r}")
    return temperature


def main(arguments: Sequence[str] | None = None) -> int:
    """Parses, loads, scores, prints."""
    args = cli.parse_config(parser(), arguments, reads=("input",))
    from jaxeval import backend

    backend.prepare()
    from jaxeval import studies
    from jaxeval.config import markers
    from jaxeval.report.runs import conditions
    from jaxeval.studies import cohorts, evaluation, proposers

    source = _experiment(args)
    config = studies.read(source or args.config, args.changes, args.data)
    _refuse_readings(args, config.task)
    vars(args).update({k: v for k, v in _DEFAULTS.items() if getattr(args, k) is None})
    if args.mean:
        _refuse_rates(markers.active(config.model), args.rate_factor)
    trials = proposers.seeds_by_splits(config, cli.seeds_of(args))
    (cohort,) = cohorts.by_program(cohorts.entries(trials, studies.Session().loader))
    models = evaluation.load(cohort, Path(args.out))
    models = evaluation.on_file(models, args.input) if args.input else models
    rows: list[dict[str, Json]] = []
    for condition in _conditions(args, models):
        described = "as in training" if condition is None else str(condition)
        print(f"{described} ...", file=sys.stderr, flush=True)
        if condition is None:
            scores = evaluation.as_trained(models, args.part)
        else:
            scores = evaluation.scores(models, condition, args.part)
        rows += _rows(models, scores, described, args.input or args.part)
        # at once: later conditions may take hours
        if args.json and args.json != "-":
            files.write_json(args.json, rows)
        print(conditions.line(rows, described), file=sys.stderr, flush=True)
    if args.json == "-":
        files.write_json(args.json, rows)
    if args.json != "-":
        conditions.show(rows)
    return 0


def _experiment(args: argparse.Namespace) -> "reading.Source | None":
    """The config of the experiment that is asked for, of which all saved seeds are meant.

    None: a config is.

    Raises:
      ConfigError: a config too, or members whose configs differ.
      RunError: no such saved models; says which there are.
    """
    if args.experiment is None:
        cli.say_default(args)
        args.seeds = args.seeds or cli.SEEDS
        return None
    if args.config or args.changes:
        given = args.config or args.changes[0]
        raise ConfigError(f"--experiment: expected no CONFIG beside it, got {given}")
    from jaxeval.studies import saved

    models = saved.choose(Path(args.out), "all", args.experiment).used
    found = [model.about for model in models if not model.about.split]
    first = next(iter(found), None)
    if first is None or any((m.config, m.hparams) != (first.config, first.hparams) for m in found):
        raise ConfigError(
            f"--experiment {args.experiment}: expected models that differ in their seeds alone, "
            "and of the given split"
        )
    if args.seeds is None and args.seed_list is None:
        args.seed_list = sorted({about.seed for about in found})
    return first.config


def _rows(
    models: "evaluation.Models", scores: "evaluation.Scores", condition: str, part: str
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


def _refuse_readings(args: argparse.Namespace, task: str) -> None:
    """Raises ConfigError where options would be passed over: of another task or evaluation."""
    for goes_with, names in _OF_LANGUAGE.items():
        for name in names:
            value = getattr(args, name)
            if value is None or value is False:  # not given; 0 is
                continue
            flag = f"--{name.replace('_', '-')}"
            if task != "language":
                said = f"for language models only; this config's task is {task}"
                raise ConfigError(f"{flag}: {said}")
            if goes_with and not getattr(args, goes_with):
                raise ConfigError(f"{flag}: goes with --{goes_with}")


def _refuse_rates(rates: Mapping[str, float], factor: float) -> None:
    """Raises ConfigError where a mean over masks would drop nothing, or everything."""
    if not any(rates.values()) or not factor:
        raise ConfigError(
            "--mean: the config has no dropout, so there are no masks to average over"
        )
    if factor * max(rates.values()) >= 1:
        raise ConfigError(
            f"--rate-factor: {factor:g} times {max(rates.values()):g} is not a dropout rate; "
            "expected less than 1"
        )


def _conditions(
    args: argparse.Namespace, models: "evaluation.Models"
) -> "Iterator[evaluation.Condition | None]":
    """The plain evaluations first; then, in as many streams as the first, those asked for.

    None: as in training, of other tasks than language.
    """
    if models.prepared.config.task != "language":
        yield None
        return
    from jaxeval.studies import evaluation
    from jaxeval.tasks.dynamic_evaluation import Dynamic
    from jaxeval.tasks.language_averaging import Averaging

    batches = args.batch or sorted({1, models.prepared.config.training.batch_size})
    for rows in batches:
        yield evaluation.Condition(rows)
    first = evaluation.Condition(batches[0])
    if args.temperature == "search":
        most = models.prepared.config.training.evaluation_batch_size
        yield first._replace(temperature=evaluation.best_temperature(models, most))
    elif args.temperature is not None:
        yield first._replace(temperature=args.temperature)
    for mean in dict.fromkeys(args.mean or []):
        averaging = Averaging(mean, args.samples)
        yield first._replace(averaging=averaging, rate_factor=args.rate_factor)
    if args.dynamic:
        how = Dynamic(args.dynamic_rate, args.dynamic_decay, args.dynamic_epsilon)
        yield first._replace(dynamic=how)


if __name__ == "__main__":
    cli.run(main)
