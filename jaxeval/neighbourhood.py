"""`python -m jaxeval.neighbourhood`: random settings near a config's, as one population."""

import argparse
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxeval import cli
from jaxeval.errors import ConfigError
from jaxeval.sensitivity.neighbourhood import LEAST, describe, draw, parse_range

if TYPE_CHECKING:
    from jaxeval import runs
    from jaxeval.config import markers

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
    from jaxeval import observe, studies
    from jaxeval.config import markers
    from jaxeval.studies import proposers

    config = studies.read(given.config, given.changes, given.data)
    # in an order that stays when keys move: every draw depends on those before it
    traced = {name: h for name, h in sorted(markers.traced(config).items()) if h.active}
    ranges = ranges_of(traced, given.range)
    centre = {name: h.value for name, h in traced.items()}
    settings = draw(centre, ranges, given.width, given.settings, given.seed)
    rows = observe.train(proposers.neighbourhood(config, settings), Path(given.out))
    scores = [getattr(row, given.part) for row in rows]
    _answer(scores, settings, ranges, given, rows[0])
    return 0


def ranges_of(
    traced: "Mapping[str, markers.Hyperparameter]", given: Sequence[str]
) -> "dict[str, markers.Range]":
    """The range of each hyperparameter that is varied.

    Args:
      traced: all that may be varied.
      given: NAME=RANGE each, before the defaults.

    Raises:
      ConfigError: no such hyperparameter, or no range.
    """
    asked = {}
    for text in given:
        name, equals, span = text.partition("=")
        if not equals or name not in traced:
            raise ConfigError(f"range: expected one of {', '.join(traced)}, got {text!r}")
        asked[name] = parse_range(span)
        _possible(name, asked[name], traced[name].marker.limits)
    for name, hyperparameter in traced.items():
        default = hyperparameter.marker.range
        if name in asked or default is None or (default.log and hyperparameter.value == 0):
            continue
        asked[name] = default
    return {name: asked[name] for name in traced if name in asked}


def _possible(name: str, span: "markers.Range", limits: "markers.Limits") -> None:
    """Raises ConfigError if a range has values that its hyperparameter cannot have."""
    if not (limits.allow(span.low) and limits.allow(span.high)):
        raise ConfigError(f"range: {name}: expected {limits}, got {span.low:g} to {span.high:g}")


def _answer(
    scores: Sequence[float | None],
    settings: Sequence[Mapping[str, float]],
    ranges: "Mapping[str, markers.Range]",
    given: argparse.Namespace,
    record: "runs.MemberRow",
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
