"""Arguments of a selection, and the rule that they ask for."""

import argparse
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from jaxeval import cli, files
from jaxeval.errors import ConfigError
from jaxeval.runs import arguments

if TYPE_CHECKING:
    from jaxeval.bandits import Rule
    from jaxeval.bandits.blocks import Blocks

BLOCK = 20  # items of an evaluation
# what each source of scores has use for, beside models, rule and --json
_OF_CONFIGS = ("data", "out", "store", "splits", "part", "seconds")
_OF_COMMANDS = ("json_field", "time_limit", "retries", "workers", "race", "block")
_OF_TABLES = ("missing", "score", "column", "metric", "replay", "pairing", "simulate")


def add_rule(group: argparse._ArgumentGroup) -> None:
    rules = ("top-two", "batch", "non-adaptive", "sequential-halving")
    group.add_argument("--rule", choices=rules, default="top-two")
    group.add_argument(
        "--delta",
        type=arguments.probability,
        metavar="D",
        help="stop where a model is the best with probability 1 - D (.05; for non-adaptive never "
        "where --budget is given)",
    )
    group.add_argument(
        "--budget",
        type=arguments.whole,
        metavar="N",
        help="most evaluations (--replay with: 20 times as many as there are scores)",
    )
    group.add_argument(
        "--batch",
        type=arguments.whole,
        metavar="B",
        help="evaluations between decisions of top-two and batch (as --workers; of configs one "
        "a device); a batch of the other rules is a round",
    )
    group.add_argument(
        "--epsilon",
        type=arguments.positive,
        default=0.0,
        help="models this near to the best are as good, so that equal ones end (0)",
    )
    group.add_argument(
        "--min-evaluations", type=arguments.whole, metavar="N", help="of each model first (3)"
    )
    _add_prior(group)
    group.add_argument(
        "--logit", action="store_true", help="take log(x / (1 - x)) of scores first"
    )
    group.add_argument("--seed", type=arguments.seed, default=0, help="of the rule's draws (0)")


def _add_prior(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--prior",
        type=cli.number(-5, 1),
        default=-0.5,
        metavar="A",
        help="exponent of the prior of a model's variance, (sigma^2)^(-1 - A) (-.5)",
    )
    group.add_argument("--alpha", type=_renamed, help=argparse.SUPPRESS)


def _renamed(text: str) -> float:
    """Refuses --alpha, which names a level elsewhere and named the prior here."""
    raise argparse.ArgumentTypeError(
        f"got {text}; expected --delta D, to stop where a model is the best with probability "
        "1 - D, or --prior A, the prior's exponent, which was called --alpha"
    )


def add_configs(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--data", metavar="PATH", help="the corpus of all of them, as for train")
    group.add_argument("--out", default="runs", metavar="RUNS", help="runs folder (runs)")
    group.add_argument("--store", metavar="URL", help="database instead of RUNS/runs.sqlite")
    group.add_argument(
        "--splits",
        choices=("random", "own"),
        help="evaluation k has random split k and seed k, or the data's own split and seed k "
        "(random where the task has them)",
    )
    group.add_argument(
        "--part",
        choices=("dev", "test"),
        help="whose score counts (test on random splits, dev on the data's own)",
    )
    group.add_argument(
        "--seconds",
        type=arguments.positive,
        metavar="S",
        help="of training, summed over all evaluations; then the leader is named",
    )


def add_command(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--command", metavar="TEXT", help="with {model}, {split}, {seed}, {items}")
    group.add_argument("--json-field", metavar="PATH", help="where the score is, e.g. test.f1")
    group.add_argument(
        "--time-limit", type=arguments.positive, metavar="S", help="seconds an evaluation may take"
    )
    group.add_argument(
        "--retries", type=arguments.count, default=1, help="of a failed evaluation (1)"
    )
    group.add_argument("--workers", type=arguments.whole, default=1, help="commands at once (1)")
    group.add_argument(
        "--race",
        type=arguments.whole,
        metavar="N",
        help="over N items: an evaluation is the mean score of a block, whose numbers (0 ... N - "
        "1) stand in {items}",
    )
    group.add_argument(
        "--block", type=arguments.whole, metavar="B", help="items of an evaluation of --race (20)"
    )


def refuse_of_others(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Refuses two sources of scores, and what the one that is named has no use for.

    Raises:
      ConfigError: naming the arguments, and what they go with.
    """
    sources = [args.command, args.table, args.runs]
    if sum(source is not None for source in sources) > 1:
        raise ConfigError("expected at most one of --command TEXT, --table FILE and --runs DIR")
    tables = args.table is not None or args.runs is not None
    if args.command is None:
        said = "expected with --command TEXT, which is run"
        arguments.refuse_given(parser, args, _OF_COMMANDS, said)
    if not tables:
        said = "expected with --table FILE or --runs DIR, recorded scores"
        arguments.refuse_given(parser, args, _OF_TABLES, said)
    if tables or args.command is not None:
        said = "expected with configs, which are trained"
        arguments.refuse_given(parser, args, _OF_CONFIGS, said)
    if tables:
        said = "expected with configs or --command TEXT: a replay has no state"
        arguments.refuse_given(parser, args, ["state"], said)


def rule(
    args: argparse.Namespace, higher_is_better: bool, default_batch: int | None = None
) -> "Rule":
    """The rule that is asked for.

    Raises:
      ConfigError: arguments that do not go together.
    """
    from jaxeval import bandits

    common: dict[str, Any] = {
        "higher_is_better": higher_is_better,
        "logit": args.logit,
        "seed": args.seed,
    }
    if args.rule == "sequential-halving":
        _check_halving(args)
        return bandits.SequentialHalving(budget=args.budget, **common)
    common |= {
        "delta": 0.05 if args.delta is None else args.delta,
        "budget": args.budget,
        "epsilon": args.epsilon,
        "alpha": args.prior,
        "min_evaluations": args.min_evaluations,
    }
    if args.rule == "non-adaptive":
        if args.batch:
            raise ConfigError("--rule non-adaptive: takes no --batch: a round is a batch")
        if args.delta is None and args.budget is not None:
            common["delta"] = None
        return bandits.NonAdaptive(**common)
    size = args.batch or default_batch
    if size is not None:
        common["batch_size"] = size
    if args.rule == "batch":
        return bandits.BatchThompson(**common)
    return bandits.TopTwoThompson(**common)


def refuse_points(rule: "Rule", unit: str) -> None:
    """Refuses an epsilon that no two fractions differ by; of their logits it may be meant.

    Raises:
      ConfigError: as `metrics.refuse_points`.
    """
    from jaxeval.bandits.fixed_confidence import Confident
    from jaxeval.runs import metrics

    if isinstance(rule, Confident) and not rule.logit:
        metrics.refuse_points("epsilon", rule.epsilon, unit)


def _check_halving(args: argparse.Namespace) -> None:
    """Raises ConfigError for arguments that sequential halving lacks, or has no use for."""
    from jaxeval.bandits import posterior

    if args.budget is None:
        raise ConfigError("--rule sequential-halving: expected --budget N")
    unused = ("delta", "batch", "epsilon", "min_evaluations")
    if any(getattr(args, name) for name in unused) or args.prior != posterior.FIESTA_ALPHA:
        raise ConfigError(
            "--rule sequential-halving: takes --budget, which sets its rounds (a round is a "
            "batch), but no --delta, --batch, --epsilon, --min-evaluations or --prior"
        )


def blocks(args: argparse.Namespace) -> "Blocks | None":
    """The items that models race over; None: none were named.

    Raises:
      ConfigError: --block without --race; fewer than three blocks.
    """
    from jaxeval.bandits.blocks import Blocks

    if args.race is None:
        if args.block is not None:
            raise ConfigError("--block: expected --race N, how many items there are")
        return None
    return Blocks(args.race, args.block or BLOCK, args.seed)


def write(tree: Mapping[str, object], show: Callable[[], None], args: argparse.Namespace) -> int:
    """Writes an answer as JSON, prints it, or both."""
    from jaxeval.report.plain import plain

    if args.json:
        files.write_json(args.json, plain(tree))
    if args.json != "-":
        show()
    return 0
