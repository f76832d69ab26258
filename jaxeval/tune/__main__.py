"""`python -m jaxeval.tune`: the best setting of a search space in few trainings."""

import argparse
from collections.abc import Sequence

from jaxeval import cli
from jaxeval.tune import options

_DESCRIPTION = """\
Searches a space for the best setting: proposes settings, trains each batch of them as populations,
and learns from their scores which to propose next. Failures are results. In the end the best
setting is trained again with fresh seeds, which says what its score is worth.
"""
_EPILOG = """\
examples:
  python -m jaxeval.tune wiemerslage2024/georgian_attentive_lstm_small --data DIR \\
      --space wiemerslage2024/space_attentive_lstm_small --trials 48 --parallel 12
  python -m jaxeval.tune CONFIG --space FILE --data DIR --dry-run            # the plan
  python -m jaxeval.tune CONFIG --space FILE --data DIR --method random      # the baseline
  python -m jaxeval.tune --space FILE --trials 200 --parallel 4 --lower-is-better \\
      --command "./train.sh --rate={rate} --layers={layers} --seed={seed}"

Scores of configs are those of dev. A command prints its score in its last line (or in --json-field
of the JSON it prints); no shell runs it; a word that names an inactive hyperparameter is left out.
Proposals are on disk before they run: kill the process at any time, and the same command goes on;
with more --trials it goes on where it ended. docs/tuning.md says more.
"""


_RUNS = "runs"  # as `cli.add_config` says


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    parser = cli.parser("tune", _DESCRIPTION, _EPILOG)
    cli.add_config(parser)
    parser.set_defaults(out=None)  # a command has no runs folder
    options.add_search(parser.add_argument_group("the search"))
    options.add_end(parser.add_argument_group("when it ends, and what then"))
    options.add_config(parser.add_argument_group("a config, trained in this process"))
    options.add_command(parser.add_argument_group("any program instead"))
    parser.add_argument(
        "--state", metavar="FILE", help="of the search (RUNS/tunings/..., of commands tuning.json)"
    )
    parser.add_argument("--html", metavar="FILE", help="also write a page, which opens offline")
    parser.add_argument("--figures", metavar="DIR", help="also draw figures, as SVG, PDF, PNG")
    cli.add_details(parser)
    return parser


def main(words: Sequence[str] | None = None) -> int:
    """Parses, searches, prints."""
    args = cli.parse_config(parser(), words, outputs=("html",), reads=("space", "state"))
    search = options.search(args)
    if args.command is not None:
        from jaxeval.tune import programs

        return programs.run(args, search)
    cli.say_default(args)
    from jaxeval import backend

    backend.prepare()
    from jaxeval.tune import training

    args.out = args.out or _RUNS
    return training.run(args, search)


if __name__ == "__main__":
    cli.run(main)
