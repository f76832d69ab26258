"""`python -m jaxeval.neighbourhood`: random settings near a config's, as one population."""

import argparse
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxeval import cli, files
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
    parser = cli.parser("neighbourhood", _DESCRIPTION, _EXAMPLES)
    cli.add_config(parser)
    parser.add_argument("--settings", type=cli.positive, default=64, metavar="N", help="(64)")
    parser.add_argument(
        "--seed", type=cli.positive, default=1, metavar="N", help="of the settings drawn (1)"
    )
    parser.add_argument(
        "--width", type=cli.number(1e-6, 1), default=0.2, metavar="W", help="of each range (0.2)"
    )
    parser.add_argument(
        "--within",
        type=cli.number(0),
        metavar="X",
        help="of the best is near (the metric's equivalence margin)",
    )
    parser.add_argument(
        "--range", action="append", default=[], metavar="NAME=LOW:HIGH[:log]", help="of one"
    )
    parser.add_argument("--part", choices=("dev", "test"), default="dev", help="compared (dev)")
    parser.add_argument("--figures", metavar="DIR", help="writes neighbourhood.svg, .pdf, .png")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Parses, draws, trains, shows."""
    command = parser()
    args = cli.parse_config(command, arguments)
    if args.settings < LEAST:
        command.error(f"--settings: expected at least {LEAST}, got {args.settings}")
    from jaxeval import backend

    backend.prepare()
    from jaxeval import observe, studies
    from jaxeval.config import markers
    from jaxeval.runs import metrics
    from jaxeval.studies import cohorts, proposers

    cli.say_default(args)
    config = studies.read(args.config, args.changes, args.data)
    traced = {name: h for name, h in markers.traced(config).items() if h.active}
    # every draw depends on those before it: of language models, sites stand among the others
    prefix = "dropout_" if config.task == "language" else ""
    traced = {name: traced[name] for name in sorted(traced, key=lambda n: n.removeprefix(prefix))}
    ranges = ranges_of(traced, args.range)
    centre = {name: h.value for name, h in traced.items()}
    settings = draw(centre, ranges, args.width, args.settings, args.seed)
    session = studies.Session()
    entries = cohorts.entries(proposers.neighbourhood(config, settings), session.loader)
    metrics.refuse_points("within", args.within or 0.0, entries[0].record.unit)
    rows = observe.train_cohorts(cohorts.by_program(entries), Path(args.out), session=session)
    scores = [getattr(row, args.part) for row in rows]
    _answer(scores, settings, ranges, args, rows[0])
    return 0


def ranges_of(
    traced: "Mapping[str, markers.Hyperparameter]", spans: Sequence[str]
) -> "dict[str, markers.Range]":
    """The range of each hyperparameter that is varied.

    Args:
      traced: all that may be varied.
      spans: NAME=RANGE each, before the defaults.

    Raises:
      ConfigError: no such hyperparameter, or no range.
    """
    ranges = {}
    for text in spans:
        name, equals, span = text.partition("=")
        if not equals or name not in traced:
            raise ConfigError(f"range: expected one of {', '.join(traced)}, got {text!r}")
        ranges[name] = parse_range(span)
        _possible(name, ranges[name], traced[name].marker.limits)
    for name, hyperparameter in traced.items():
        default = hyperparameter.marker.range
        if name in ranges or default is None or (default.log and hyperparameter.value == 0):
            continue
        ranges[name] = default
    return {name: ranges[name] for name in traced if name in ranges}


def _possible(name: str, span: "markers.Range", limits: "markers.Limits") -> None:
    """Raises ConfigError if a range has values that its hyperparameter cannot have."""
    if not (limits.allow(span.low) and limits.allow(span.high)):
        raise ConfigError(f"range: {name}: expected {limits}, got {span.low:g} to {span.high:g}")


def _answer(
    scores: Sequence[float | None],
    settings: Sequence[Mapping[str, float]],
    ranges: "Mapping[str, markers.Range]",
    args: argparse.Namespace,
    record: "runs.MemberRow",
) -> None:
    from jaxeval.report import figures
    from jaxeval.report.sweep import neighbourhood

    near = record.margin if args.within is None else args.within
    around = describe(scores, settings, near, record.higher_is_better)
    if args.figures:
        metric = f"{args.part} {record.metric}"
        drawn = neighbourhood.draw(scores, settings, ranges, metric, record.unit, around)
        figures.save_all([drawn], Path(args.figures))
    if args.json:
        points = [
            {"score": score, **setting} for score, setting in zip(scores, settings, strict=True)
        ]
        whole = {"metric": record.metric, "part": args.part, "width": args.width}
        files.write_json(args.json, {**whole, **dataclasses.asdict(around), "points": points})
    if args.json != "-":
        neighbourhood.show(around, f"{args.part} {record.metric}", record.unit, ranges)


if __name__ == "__main__":
    cli.run(main)
