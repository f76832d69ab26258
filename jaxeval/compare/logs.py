"""`compare --log`: models compared item by item, over items, runs or both."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from jaxeval import cli, files
from jaxeval.errors import ConfigError
from jaxeval.runs import arguments

if TYPE_CHECKING:
    from jaxeval.stats.items.results import Factor
    from jaxeval.stats.items.study import ItemStudy, Over

# exit codes of --gate; 2 is that of bad input in all verbs
CODES = {"better": 0, "not shown": 1, "worse": 3}
_FACTORS: "tuple[Factor, ...]" = ("items", "runs")
# of other sources of scores, and of what is computed of them
_OTHER_SOURCES = ("table", "runs", "items", "score")
_OF_SCORES = ("unit", "control", "gamma", "latex", "figures")


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of logs."""
    group = parser.add_argument_group("what is read, logs of evaluations")
    arguments.add_logs(group)
    group.add_argument(
        "--over",
        type=_over,
        metavar="FACTORS",
        help="what is generalised over: items, runs or items,runs (all that the logs can say)",
    )
    group.add_argument(
        "--html", metavar="PATH", help="a leaderboard: one page, which opens offline"
    )
    gate = parser.add_argument_group("logs in continuous integration")
    gate.add_argument(
        "--gate",
        action="store_true",
        help="exit with 0 if the first model is better than the second (by more than --margin), "
        "with 1 if neither was shown, with 3 if it is worse",
    )
    gate.add_argument("--junit", metavar="PATH", help="a test a pair and task as JUnit XML")


def _over(text: str) -> "Over":
    chosen = [word.strip() for word in text.split(",")]
    if not chosen or not set(chosen) <= {*_FACTORS}:
        raise argparse.ArgumentTypeError(f"expected items, runs or items,runs, got {text!r}")
    return tuple(factor for factor in _FACTORS if factor in chosen)


def main(args: argparse.Namespace) -> int:
    """Reads, compares, prints; the exit code of --gate.

    Raises:
      ConfigError: arguments that do not go with logs.
      DataError, RunError: what is wrong with a log, or a file cannot be written.
    """
    _refuse(args)
    study, gated = _study(args)
    if not args.gate:
        write(study, args, gated=gated)
        return 0
    from jaxeval.report.items import verdict
    from jaxeval.stats.items import study as studies

    code = CODES[studies.decision(study).outcome]
    write(study, args, f"gate: {verdict.outcome(study)} (exit code {code})")
    return code


def write(
    study: "ItemStudy",
    args: argparse.Namespace,
    gate: str = "",
    gated: "ItemStudy | None" = None,
) -> None:
    """Writes and prints what is asked for.

    Args:
      gate: its last line, if there is one.
      gated: the study as a gate has it, where that may be another.

    Raises:
      RunError: a file cannot be written.
    """
    from jaxeval.report.items import as_json, ci, page, paste, terminal

    if args.json:
        files.write_json(args.json, as_json.to_dict(study, gated))
    if args.markdown:
        of_models = ci if len(study.models) == 2 else paste
        files.write_out(args.markdown, of_models.markdown(study))
    if args.junit:
        files.write_out(args.junit, ci.junit(study, gate))
    if args.html:
        files.write_text(Path(args.html), page.render(study, gate))
        print(f"page: {args.html}", file=sys.stderr)
    if "-" not in (args.json, args.markdown, args.junit):
        terminal.print_study(study, args.details, gate)


def refuse_without_logs(args: argparse.Namespace) -> None:
    """Refuses what only logs have.

    Raises:
      ConfigError: naming the argument.
    """
    flags = {"cluster": args.cluster, "over": args.over, "junit": args.junit, "html": args.html}
    flags |= {"task": args.task, "gate": args.gate or None}
    flags |= {"mismatched": None if args.mismatched == "error" else args.mismatched}
    for name, value in flags.items():
        if value is not None:
            raise ConfigError(f"--{name}: expected with --log")


def _refuse(args: argparse.Namespace) -> None:
    for name in _OTHER_SOURCES:
        if getattr(args, name) is not None:
            raise ConfigError(f"--log with --{name}: expected logs alone")
    refuse_unfit(args, "--log")


def refuse_unfit(args: argparse.Namespace, source: str) -> None:
    """Refuses what a comparison over items does not have, or cannot write.

    Args:
      source: of the items, in a message.

    Raises:
      ConfigError: naming the argument.
    """
    for name in _OF_SCORES:
        if getattr(args, name) is not None:
            raise ConfigError(f"{source} with --{name}: of scores of runs, not of items")
    if args.correction != "holm":
        raise ConfigError(f"{source} with --correction: pairs and tasks are corrected by Holm")
    if (args.json, args.markdown, args.junit).count("-") > 1:
        raise ConfigError("--json, --markdown, --junit: expected at most one to go to stdout")


def _study(args: argparse.Namespace) -> "tuple[ItemStudy, ItemStudy]":
    """What is shown, and what a gate says of it."""
    from jaxeval.report.comparison import progress
    from jaxeval.runs.logs import arguments as of_logs
    from jaxeval.stats.items import study as studies

    with cli.waiting("reading the logs"):
        source, paired = of_logs.read(args, args.models)
    whole = args.missing == "error"
    rules = studies.Rules(
        args.over,
        args.alpha,
        args.margin or 0.0,
        args.resamples,
        args.seed,
        complete=args.gate and whole,
    )
    if args.gate and len(paired.models) != 2:
        raise ConfigError(f"--gate: expected two models, found {len(paired.models)}; name them")
    study = studies.study(paired, rules, source, progress.shown(all_pairs=False))
    return study, studies.decided(study, paired) if whole else study
