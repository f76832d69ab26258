"""Arguments of a search, and what they ask for."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from jaxeval import cli
from jaxeval.errors import ConfigError, RunError
from jaxeval.runs import arguments
from jaxeval.tuning import methods

if TYPE_CHECKING:
    from jaxeval.report.tuning.as_json import Result
    from jaxeval.tuning.history import History
    from jaxeval.tuning.saved import Saved
    from jaxeval.tuning.search import Search


def add_search(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--space", required=True, metavar="FILE", help="the search space (TOML)")
    group.add_argument(
        "--method",
        choices=methods.NAMES,
        default="gp",
        help="what proposes: a Gaussian process, a Sobol sequence, random draws (gp)",
    )
    group.add_argument(
        "--trials", type=cli.positive, default=64, metavar="N", help="settings in all (64)"
    )
    group.add_argument(
        "--parallel",
        type=cli.positive,
        metavar="P",
        help="settings at once: a batch that is trained together (8), or commands (1)",
    )
    group.add_argument(
        "--seeds", type=cli.positive, default=1, metavar="K", help="of each setting (1)"
    )
    group.add_argument(
        "--seed", type=arguments.count, default=0, metavar="S", help="of the proposals (0)"
    )
    group.add_argument(
        "--seconds",
        type=arguments.positive,
        metavar="S",
        help="of wall time, all calls of this command together; then nothing more is proposed",
    )
    group.add_argument(
        "--retrain",
        type=arguments.count,
        default=8,
        metavar="M",
        help="fresh seeds that the best setting is trained with in the end; 0: not at all (8)",
    )


def add_config(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--store", metavar="URL", help="database instead of RUNS/runs.sqlite")
    group.add_argument("--dry-run", action="store_true", help="show the plan, and stop")


def add_command(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--command",
        metavar="TEXT",
        help="with {values}, all of them as JSON, or each hyperparameter's {name}; and {seed}",
    )
    group.add_argument("--json-field", metavar="PATH", help="where the score is, e.g. dev.f1")
    group.add_argument("--lower-is-better", action="store_true", help="a loss, a perplexity ...")
    group.add_argument(
        "--time-limit", type=arguments.positive, metavar="S", help="seconds that one seed may take"
    )
    group.add_argument(
        "--retries", type=arguments.count, default=0, metavar="N", help="of a failed seed (0)"
    )


def search(args: argparse.Namespace) -> "Search":
    """What is asked for.

    Raises:
      ConfigError: arguments that do not go together, or more runs than there are seeds.
    """
    from jaxeval.space import space
    from jaxeval.tuning.search import Search

    if args.trials * args.seeds > cli.MOST:
        raise ConfigError(f"--trials: expected at most {cli.MOST} runs in all")
    if args.command is None:
        of_commands = ("json_field", "time_limit", "retries", "lower_is_better")
        named = [name for name in of_commands if getattr(args, name)]
        if named:
            raise ConfigError(f"--{named[0].replace('_', '-')}: goes with --command")
    elif args.config or args.changes or args.data or args.dry_run or args.store:
        raise ConfigError("--command: expected no CONFIG, key=value, --data, --store or --dry-run")
    return Search(space.read(args.space), args.method, args.seed, args.seeds)


def stopper(args: argparse.Namespace, saved: "Saved") -> "Callable[[History], str]":
    """Why nothing more is to be proposed, of a history; "" while more is."""

    def stop(history: "History") -> str:
        if args.seconds is not None and saved.seconds >= args.seconds:
            return "the time is spent"
        return ""

    return stop


def reason(args: argparse.Namespace, saved: "Saved") -> str:
    """Why a search has ended."""
    if len(saved.history.evaluations) >= args.trials:
        return "all trials have ended"
    return stopper(args, saved)(saved.history) or "the space has no more settings"


def write(tree: "Result", args: argparse.Namespace) -> int:
    """Writes the outcome as JSON and figures, prints it, or all of these.

    Raises:
      RunError: no setting has a score.
    """
    from jaxeval.report.plain import plain
    from jaxeval.report.tuning import terminal

    if args.json:
        cli.write_json(args.json, plain(tree))
    if tree["best"] is None:
        causes = "; ".join(f"{count} x {cause}" for cause, count in tree["failures"].items())
        raise RunError(f"no setting has a score: {causes or tree['reason']}")
    if args.figures:
        from jaxeval.report import figures
        from jaxeval.report.tuning import figures as drawing

        for path in figures.save_all(drawing.draw(tree), Path(args.figures)):
            print(f"figure: {path}", file=sys.stderr)
    if args.json != "-":
        terminal.print_result(tree)
    return 0
