"""`python -m jaxeval.predict`: what saved models make of a file of one's own."""

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxeval import cli, files, outputs
from jaxeval.errors import DataError
from jaxeval.runs import arguments as given

if TYPE_CHECKING:
    from jaxeval.studies.saved import Choice, Which

_DESCRIPTION = """\
Uses models that `train` or `sweep` has kept in a runs folder (training.save_models=true): taggers
add a column of tags to CoNLL columns, sequence-to-sequence models a column to lines of sources,
language models tell how likely each line is, classifiers write JSON lines of texts, targets or
pairs and their labels.
The corpus they were trained on is not read.
"""
_EXAMPLES = """\
examples:
  python -m jaxeval.predict RUNS --input FILE               # the best model of dev
  python -m jaxeval.predict RUNS --seed 3 --input FILE
  python -m jaxeval.predict RUNS --vote --input - < FILE    # the majority of all models
  python -m jaxeval.predict RUNS --experiment 3f2a --all --input FILE --output TAGS
  python -m jaxeval.predict RUNS --input WORDS --n-best 5   # seq2seq: with log-probabilities
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    parser = cli.parser("predict", _DESCRIPTION, _EXAMPLES)
    parser.add_argument("folder", metavar="RUNS", help="runs folder")
    parser.add_argument("--experiment", metavar="ID", help="its id, the id's begin, or its name")
    parser.add_argument("--seed", type=given.seed, metavar="N", help="models of this seed only")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--best", action="store_true", help="the best model of dev (default)")
    which.add_argument("--all", action="store_true", help="all models, a column each")
    which.add_argument(
        "--vote", action="store_true", help="the majority of all models; mean of probabilities"
    )
    parser.add_argument("--input", required=True, metavar="FILE", help="what is read, - for stdin")
    parser.add_argument("--output", default="-", metavar="FILE", help="what is written (stdout)")
    parser.add_argument(
        "--n-best", type=cli.positive, metavar="K", help="seq2seq: K hypotheses, log-probabilities"
    )
    parser.add_argument(
        "--beam", type=cli.positive, metavar="K", help="seq2seq: width (the config's model.beam)"
    )
    parser.add_argument(
        "--max-length",
        type=cli.positive,
        metavar="L",
        help="seq2seq: most symbols generated (the config's data.max_length)",
    )
    parser.add_argument(
        "--whole", action="store_true", help="language: the whole text instead of each line"
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Parses, loads, predicts, writes."""
    args = parser().parse_args(arguments)
    outputs.refuse_unwritable(args.output, reads=[args.input], runs=[args.folder])
    from jaxeval import backend

    backend.prepare()
    from jaxeval.studies import saved
    from jaxeval.tasks.prediction import Options

    which: Which = "vote" if args.vote else "all" if args.all else "best"
    chosen = saved.choose(Path(args.folder), which, args.experiment, args.seed)
    options = Options(args.vote, args.n_best, args.beam, args.max_length, args.whole)
    _say(chosen)
    with _file(args.input) as file:
        lines = saved.predictions(chosen.used, file, options)
        files.write_out(args.output, "".join(f"{line}\n" for line in lines))
    return 0


def _say(chosen: "Choice") -> None:
    """Which models are used, in the order of their columns."""
    names = [
        f"{path.stem} (dev {'unknown' if about.dev is None else format(about.dev, '.4g')})"
        for path, about in chosen.used[:8]
    ]
    more = ", ..." if len(chosen.used) > len(names) else ""
    about = chosen.used[0].about
    print(
        f"{about.name} ({about.experiment}): {', '.join(names)}{more}; {len(chosen.used)} of "
        f"{chosen.saved} saved models, by {about.metric} of dev",
        file=sys.stderr,
    )


@contextlib.contextmanager
def _file(name: str) -> Iterator[Path]:
    """A file to read; of stdin, which can be read but once, a copy."""
    if name != "-":
        yield Path(name)
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "stdin"
        copy.write_bytes(sys.stdin.buffer.read())
        try:
            yield copy
        except DataError as error:  # the copy's name says nothing
            raise DataError(str(error).replace(str(copy), "stdin")) from None


if __name__ == "__main__":
    cli.run(main)
