"""`python -m jaxeval.train`: trains a population and shows its score distribution."""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxeval import cli, files, outputs
from jaxeval.config import arguments as limits
from jaxeval.errors import ConfigError

if TYPE_CHECKING:
    from jaxeval import studies
    from jaxeval.config import listing

_DESCRIPTION = """\
Trains one member a seed (and split) of an experiment, all in one compiled program, and shows the
distribution of their dev and test scores.

Without CONFIG it trains eight small taggers on a generated corpus: nothing is downloaded.
"""
_EXAMPLES = """\
examples:
  python -m jaxeval.train                              # the embedded default, 8 seeds
  python -m jaxeval.train training.batch_size=8 --seeds 16
  python -m jaxeval.train reimers2017/wnut17_ner --data DIR --seeds 8
  python -m jaxeval.train CONFIG --splits 5 --seeds 4  # 5 random splits x 4 seeds
  python -m jaxeval.train CONFIG --dry-run             # the plan, and the whole config as TOML
  python -m jaxeval.train --help-config                # every key a config may hold

The same command continues what was interrupted and never trains a finished member again.
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    parser = cli.parser("train", _DESCRIPTION, _EXAMPLES)
    cli.add_config(parser)
    cli.add_seeds(parser)
    cli.add_splits(parser)
    parser.add_argument("--store", metavar="URL", help="database instead of RUNS/runs.sqlite")
    cli.add_again(parser)
    parser.add_argument(
        "--outputs",
        action="store_true",
        help="keep what each member gets right or wrong, item by item (compare --runs reads it)",
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and stop")
    parser.add_argument("--help-config", action="store_true", help="list all keys of a config")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Parses, prepares, trains, prints."""
    args = cli.parse_config(parser(), arguments)
    from jaxeval import backend

    backend.prepare()
    from jaxeval import studies
    from jaxeval.config import listing, reading
    from jaxeval.studies import prepared, proposers
    from jaxeval.tasks import registry

    if args.help_config:
        task = reading.peek(args.config, args.changes, "task") or "tagging"
        _print_keys(listing.keys(registry.kind(task).Config))
        return 0
    config = studies.read(args.config, args.changes, args.data)
    outputs.refuse_replaced([args.json], prepared.files_of(config))
    seeds, splits = cli.seeds_of(args), cli.splits_of(args)
    if len(seeds) * len(splits) > limits.MOST:
        raise ConfigError(
            f"--splits: expected at most {limits.MOST} members, got {len(seeds)} seeds on "
            f"{len(splits)} splits"
        )
    trials = proposers.seeds_by_splits(config, seeds, splits)
    return _dry_run(trials, args.json) if args.dry_run else _train(trials, args)


def _print_keys(keys: Iterable["listing.Key"]) -> None:
    from rich.console import Console

    from jaxeval.report import tables

    rows = [(key.name, key.kind, key.default, key.about) for key in keys]
    tables.print_wrapped(Console(), ("key", "kind", "default", "what it means"), rows)


def _dry_run(trials: "Sequence[studies.Trial]", json_path: str | None) -> int:
    """Prints the plan as comments above the config, a file that trains the same."""
    from jaxeval.config import writing
    from jaxeval.studies import cohorts, plan, prepared, running

    (cohort,) = cohorts.by_program(cohorts.entries(trials, prepared.Loader()))
    running.refuse_impossible([cohort])
    described = plan.describe(cohort)
    if json_path:
        files.write_json(json_path, described)
    if json_path != "-":
        for key, value in described.items():
            if key != "config":
                print(f"# {key}: {value}")
        print(f"\n{writing.to_toml(cohort.config)}", end="")
    return 0


def _train(trials: "Sequence[studies.Trial]", args: argparse.Namespace) -> int:
    from jaxeval import observe
    from jaxeval.report.runs import summary, terminal

    options: dict[str, bool] = {"again": args.again, "outputs": args.outputs}
    rows = observe.train(trials, Path(args.out), args.store, **options)
    scores = summary.of_members(rows)
    if args.json:
        files.write_json(args.json, summary.to_dict(scores))
    if args.json != "-":
        terminal.print_summary(scores)
    return 0


if __name__ == "__main__":
    cli.run(main)
