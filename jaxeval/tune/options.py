"""Arguments of a search, and what they ask for."""

import argparse
import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from jaxeval import cli
from jaxeval.config import toml
from jaxeval.config.arguments import MOST, above_zero, whole
from jaxeval.errors import ConfigError, argument
from jaxeval.runs import arguments, metrics

if TYPE_CHECKING:
    from jaxeval.tuning.halving import Halving
    from jaxeval.tuning.history import History
    from jaxeval.tuning.saved import Saved
    from jaxeval.tuning.search import Search

# as `tuning.methods.NAMES`, which takes numpy to read
METHODS = ("gp", "sobol", "random", "optuna:tpe", "optuna:gp", "botorch")
_ADAPTIVE = "adaptive"
_OF_COMMANDS = ("json_field", "steps", "time_limit", "retries", "retry_failed", "most_failures")


def add_search(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--space", required=True, metavar="FILE", help="the search space (TOML)")
    group.add_argument(
        "--method",
        choices=METHODS,
        default="gp",
        help="what proposes: a Gaussian process, Sobol points, random draws, another package (gp)",
    )
    group.add_argument(
        "--parallel",
        type=cli.positive,
        metavar="P",
        help="settings at once: a batch that is trained together (8), or commands (1)",
    )
    group.add_argument(
        "--seeds",
        type=_seeds,
        default=1,
        metavar="K",
        help="of each setting; adaptive: one, and more where they change which is best (1)",
    )
    group.add_argument(
        "--halving",
        type=_factor,
        metavar="ETA",
        help="successive halving (ASHA): at each rung one of ETA trainings goes on, and lanes "
        "that become free get new settings",
    )
    group.add_argument(
        "--min-epochs",
        type=cli.positive,
        metavar="R",
        help="of --halving: its rungs are after R, R ETA, R ETA^2 ... epochs (1)",
    )
    group.add_argument(
        "--enqueue",
        action="append",
        default=[],
        metavar="'NAME=VALUE ...'",
        help="a setting that is evaluated before any other; may be repeated",
    )
    group.add_argument(
        "--seed", type=arguments.seed, default=0, metavar="S", help="of the proposals (0)"
    )
    group.add_argument(
        "--dry-run", action="store_true", help="show the first batch, and stop; nothing is written"
    )


def add_end(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--trials", type=cli.positive, default=64, metavar="N", help="settings in all (64)"
    )
    group.add_argument(
        "--seconds",
        type=arguments.positive,
        metavar="S",
        help="of wall time, all calls of this command together; then nothing more is proposed",
    )
    group.add_argument(
        "--stop-below",
        type=arguments.probability,
        metavar="P",
        help="stop when some setting is better, by more than --margin, with a probability below P",
    )
    group.add_argument(
        "--margin",
        type=cli.number(0.0),
        metavar="X",
        help="a difference that matters, in the score's own unit (the metric's; of commands 0)",
    )
    group.add_argument(
        "--retrain",
        type=arguments.count,
        metavar="M",
        help="fresh seeds that the best setting is trained with in the end; 0: not at all (8; of "
        "a command without {seed} 0)",
    )


def add_config(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--store", metavar="URL", help="database instead of RUNS/runs.sqlite")


def add_command(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--command",
        metavar="TEXT",
        help="with {values}, all of them as JSON, or each hyperparameter's {name}; and {seed}",
    )
    group.add_argument(
        "--steps",
        type=cli.positive,
        metavar="N",
        help='of --halving: steps of a whole run, which prints lines {"step": K, "score": X}',
    )
    group.add_argument("--json-field", metavar="PATH", help="where the score is, e.g. dev.f1")
    arguments.add_direction(group)
    group.add_argument(
        "--time-limit", type=arguments.positive, metavar="S", help="seconds that one seed may take"
    )
    group.add_argument(
        "--retries", type=arguments.count, default=0, metavar="N", help="of a failed seed (0)"
    )
    group.add_argument(
        "--retry-failed",
        action="store_true",
        help="try settings again that failed in earlier calls of this command",
    )
    group.add_argument(
        "--most-failures",
        type=cli.positive,
        metavar="N",
        help="the command counts as broken where so many of the first settings fail, all with "
        "one cause (as many as --parallel, at least 3)",
    )


def search(args: argparse.Namespace) -> "Search":
    """What is asked for.

    Raises:
      ConfigError: arguments that do not go together, or more runs than there are seeds.
    """
    from jaxeval.space import space
    from jaxeval.tuning.search import Search, setting

    if args.seeds != _ADAPTIVE and args.trials * args.seeds > MOST:
        raise ConfigError(f"--trials: expected at most {MOST} runs in all")
    if args.command is None:
        named = [name for name in _OF_COMMANDS if getattr(args, name)]
        if args.higher_is_better is not None:
            named.append(f"{'higher' if args.higher_is_better else 'lower'}_is_better")
        if named:
            raise ConfigError(f"--{named[0].replace('_', '-')}: goes with --command")
    else:
        _refuse_config(args)
    if args.method != "gp" and args.stop_below is not None:
        raise ConfigError("--stop-below: expected --method gp, which has a posterior")
    if args.margin is not None and args.stop_below is None:
        raise ConfigError("--margin: goes with --stop-below")
    adaptive = args.seeds == _ADAPTIVE
    seeds = 1 if adaptive else args.seeds
    stops, of = halving(args.halving, args.min_epochs), space.read(args.space)
    if args.command is not None and (args.steps is None) != (stops is None):
        raise ConfigError("--halving, --steps: expected both of a command, or neither")
    enqueued = tuple(setting(of, _assigned(text)) for text in args.enqueue)
    return Search(of, args.method, args.seed, seeds, adaptive, stops, enqueued)


def _assigned(text: str) -> dict[str, object]:
    """What a text such as 'rate=0.1 kind=cos' sets; values as of a config's changes."""
    tree: dict[str, object] = {}
    for word in shlex.split(text):
        name, equals, value = word.partition("=")
        if not equals:
            raise ConfigError(f"--enqueue: expected NAME=VALUE, got {word!r}")
        tree[name] = toml.value(value)
    return tree


def _refuse_config(args: argparse.Namespace) -> None:
    """Raises ConfigError where something of a config is given beside a command."""
    given = {
        "CONFIG": args.config,
        "key=value": " ".join(args.changes),
        "--data": args.data,
        "--store": args.store,
        "--out": args.out,
    }
    for name, value in given.items():
        if value:
            raise ConfigError(f"--command: expected no {name} beside it, got {value}")


def halving(factor: int | None, first: int | None) -> "Halving | None":
    """Successive halving, as it is asked for; None: it is not.

    Raises:
      ConfigError, DataError: a first rung without a factor, or numbers that are none of either.
    """
    from jaxeval.tuning.halving import Halving

    if factor is None:
        if first is not None:
            raise ConfigError(f"{argument('min_epochs')}: goes with {argument('halving')}")
        return None
    least = 1 if first is None else whole(argument("min_epochs"), first, 1, MOST)
    return Halving(whole(argument("halving"), factor, 2, MOST), least)


def _factor(text: str) -> int:
    factor = cli.positive(text)
    if factor < 2:
        raise argparse.ArgumentTypeError("expected a whole number of at least 2")
    return factor


def _seeds(text: str) -> int | str:
    return _ADAPTIVE if text == _ADAPTIVE else cli.positive(text)


class End(NamedTuple):
    """When a search ends, and what then; attributes as the arguments of `add_end`."""

    trials: int = 64
    seconds: float | None = None
    stop_below: float | None = None
    margin: float | None = None
    retrain: int = 8


def end(args: argparse.Namespace) -> End:
    """What is asked for."""
    asked = {name: getattr(args, name) for name in End._fields}
    return End(**{name: value for name, value in asked.items() if value is not None})


def called_end(trials: int, seconds: float | None, retrain: int, seeds: int) -> End:
    """What a call from Python asks for; refused is what the command refuses.

    Args:
      seeds: of each setting.

    Raises:
      ConfigError, DataError: naming the argument.
    """
    trials = whole("trials", trials, 1, MOST)
    if trials * seeds > MOST:
        raise ConfigError(f"trials: expected at most {MOST} runs in all")
    return End(trials, above_zero("seconds", seconds), retrain=whole("retrain", retrain, 0, MOST))


def stopper(
    end: End,
    search: "Search",
    saved: "Saved",
    margin: float = 0.0,
    metric: str | None = None,
) -> "Callable[[History], str]":
    """Why nothing more is to be proposed, of a history; "" while more is.

    It refuses a margin in points as soon as a score is a fraction (ConfigError).

    Args:
      margin: of the metric, where no other is asked for.
      metric: of a command's scores, where its name is known.
    """

    def stop(history: "History") -> str:
        if end.seconds is not None and saved.seconds >= end.seconds:
            return "the time is spent"
        if end.stop_below is None:
            return ""
        from jaxeval.tuning import posterior, threads

        least = margin if end.margin is None else end.margin
        if largest := largest_of(history):  # 0 has no unit
            metrics.refuse_points("margin", least, metrics.stored_unit(metric, largest))
        with threads.one():
            better = posterior.probability_of_better(search.space, history, least, search.seed)
        if better >= end.stop_below:
            return ""
        above = f" by more than {least:g}" if least else ""
        return f"a setting that is better{above} has probability {better:.3f}"

    return stop


def largest_of(history: "History") -> float:
    """Absolute score; 0 before the first."""
    results = (e.result for e in history.evaluations if e.result is not None)
    return max((abs(score) for result in results for score in result.scores), default=0.0)


def reason(trials: int, saved: "Saved", stop: "Callable[[History], str]") -> str:
    """Why a search has ended."""
    if len(saved.history.evaluations) >= trials:
        return "all trials have ended"
    return stop(saved.history) or "the space has no more settings"
