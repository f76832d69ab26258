"""`python -m jaxeval.neighbourhood`: random settings near a config's, as one population."""

import argparse
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxeval import cli
from jaxeval.errors import ConfigError
from jaxeval.sensitivity.neighbourhood import LEAST, Range, describe, draw, parse_range

_DESCRIPTION = """\
Trains random settings near that of CONFIG (Melis et al. 2018, section 7.3): each traced
hyperparameter (learning rate, decay, dropout rates ...) is drawn from an interval of --width times
its range around the config's value. All settings are one population and one compilation. Shows the
score against each hyperparameter, and the share of settings near the best.
"""
_EXAMPLES = """\
examples:
  python -m jaxeval.neighbourhood CONFIG --data DIR --settings 64 --figures figures
  python -m jaxeval.neighbourhood CONFIG --data DIR --width 0.15 --within 3
  python -m jaxeval.neighbourhood CONFIG --data DIR --range learning_rate=0.001:0.01:log

Ranges that are not given (the authors did not publish theirs): learning rates .0001 to .1 and l2
1e-7 to .001, both logarithmic; dropout rates 0 to .9. A value of 0 of l2 stays 0.
"""
RANGES = {"learning_rate": Range(1e-4, 0.1, True), "l2": Range(1e-7, 1e-3, True)}
_RATE = Range(0.0, 0.9)


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    made = cli.parser("neighbourhood", _DESCRIPTION, _EXAMPLES)
    cli.add_config(made)
    made.add_argument("--settings", type=cli.positive, default=64, metavar="N", help="(64)")
    made.add_argument(
        "--seed", type=cli.positive, default=1, metavar="N", help="of the settings drawn (1)"
    )
    made.add_argument(
        "--width", type=cli.number(1e-6, 1), default=0.2, metavar="W", help="of each range (0.2)"
    )
    made.add_argument(
        "--within",
        type=cli.number(0),
        metavar="X",
        help="of the best is near (the metric's equivalence margin)",
    )
    made.add_argument(
        "--range", action="append", default=[], metavar="NAME=LOW:HIGH[:log]", help="of one"
    )
    made.add_argument("--part", choices=("dev", "test"), default="dev", help="compared (dev)")
    made.add_argument("--figures", metavar="DIR", help="writes neighbourhood.svg and .png")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Parses, draws, trains, shows."""
    made = parser()
    given = cli.parse_config(made, arguments)
    if given.settings < LEAST:
        made.error(f"--settings: expected at least {LEAST}, got {given.settings}")
    from jaxeval import backend

    backend.prepare()
    from jaxeval import experiment
    from jaxeval.contracts import Member
    from jaxeval.experiment import running

    config = experiment.read(given.config, given.changes, given.data)
    centre = dict(experiment.members(config, [1], [0])[0].hparams)
    ranges = ranges_of(centre, config.model.rates(), given.range)
    settings = draw(centre, ranges, given.width, given.settings, given.seed)
    prepared = experiment.study(experiment.prepare(config), "neighbourhood")
    members = [
        Member(k, 0, tuple(sorted({**centre, **setting}.items())))
        for k, setting in enumerate(settings, 1)
    ]
    rows = running.run(prepared, members, Path(given.out))
    by_key = {(row.seed, row.hparams): getattr(row, given.part) for row in rows}
    scores = [by_key[who.seed, experiment.hparams_json(config, who)] for who in members]
    _answer(scores, settings, ranges, given, prepared.record)
    return 0


def ranges_of(
    centre: Mapping[str, float], rates: Mapping[str, float], given: Sequence[str]
) -> dict[str, Range]:
    """The range of each hyperparameter that is varied.

    Args:
      centre: all that may be varied.
      rates: those of them that are dropout rates.
      given: NAME=RANGE each, before the defaults.

    Raises:
      ConfigError: no such hyperparameter, or no range.
    """
    found = {}
    for text in given:
        name, equals, span = text.partition("=")
        if not equals or name not in centre:
            raise ConfigError(f"range: expected one of {', '.join(centre)}, got {text!r}")
        found[name] = parse_range(span)
        _possible(name, found[name], name in rates)
    for name in centre:
        default = _RATE if name in rates else RANGES.get(name)
        if name not in found and default is not None and not (default.log and centre[name] == 0):
            found[name] = default
    return {name: found[name] for name in centre if name in found}


def _possible(name: str, span: Range, rate: bool) -> None:
    """Raises ConfigError if a range has values that its hyperparameter cannot have."""
    from jaxeval.population import optimisers

    limits = optimisers.FRACTION if rate else optimisers.LIMITS.get(name, optimisers.NOT_NEGATIVE)
    if span.low < limits.low or span.high > limits.high or (rate and span.high == limits.high):
        raise ConfigError(f"range: {name}: expected {limits}, got {span.low:g} to {span.high:g}")


def _answer(
    scores: Sequence[float | None],
    settings: Sequence[Mapping[str, float]],
    ranges: Mapping[str, Range],
    given: argparse.Namespace,
    record: Any,
) -> None:
    from jaxeval.report import figures
    from jaxeval.report.sweep import neighbourhood

    near = record.margin if given.within is None else given.within
    found = describe(scores, settings, near, record.higher_is_better)
    if given.figures:
        metric = f"{given.part} {record.metric}"
        drawn = neighbourhood.draw(scores, settings, ranges, metric, record.unit, found)
        figures.save_all([drawn], Path(given.figures))
    if given.json:
        points = [
            {"score": score, **setting} for score, setting in zip(scores, settings, strict=True)
        ]
        whole = {"metric": record.metric, "part": given.part, "width": given.width}
        cli.write_json(given.json, {**whole, **dataclasses.asdict(found), "points": points})
    if given.json != "-":
        neighbourhood.show(found, f"{given.part} {record.metric}", record.unit, ranges)


if __name__ == "__main__":
    cli.run(main)
