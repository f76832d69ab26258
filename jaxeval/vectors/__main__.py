"""`python -m jaxeval.vectors`: judges word vectors by themselves, makes a baseline of counts."""

import argparse
import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from jaxeval import cli
from jaxeval.errors import ConfigError
from jaxeval.runs import arguments
from jaxeval.vectors import judge_options

_DESCRIPTION = """\
Judges files of word vectors, and makes a baseline of a corpus. Files are text (GloVe, word2vec),
word2vec binary, or .npy with its words in NAME.vocab; plain, gzip or zstd.
"""
_EPILOG = """\
examples:
  python -m jaxeval.vectors similarity glove.txt.gz EN-WS-353-ALL.txt EN-MEN-TR-3k.txt
  python -m jaxeval.vectors similarity glove.txt SimLex-999.txt --column 4 --against svd.txt
  python -m jaxeval.vectors analogies glove.txt questions-words.txt --against svd.txt w2v.bin
  python -m jaxeval.vectors analogies glove.txt BATS_3.0 --most 200000 --json -
  python -m jaxeval.vectors svd corpus.txt --out svd.txt --dimension 100 --smoothing .75
  python -m jaxeval.vectors judge glove.txt svd.txt --data DIR --baseline svd.txt
  python -m jaxeval.vectors similarity --help

docs/vectors.md says what is computed.
"""
_SIMILARITY = """\
Spearman's correlation of cosines with the scores people gave pairs of words. Coverage is always
shown, with both rules for pairs of which a word has no vector: left out, or similarity 0. Several
files are compared on the same pairs, by a paired bootstrap.
"""
_ANALOGIES = """\
Analogy questions answered by 3CosAdd and 3CosMul: shares of the questions covered, and of all.
Several files are compared on the questions that all of them cover, by a paired bootstrap of the
pairs of words that the questions are made of.
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    parser = cli.parser("vectors", _DESCRIPTION, _EPILOG)
    verbs = parser.add_subparsers(dest="verb", required=True)
    similarity = _sub(verbs, "similarity", "rank pairs of words as people do?", _SIMILARITY)
    _add_files(similarity, "pairs of words with scores, a line each")
    similarity.add_argument(
        "--column", type=cli.positive, default=3, help="that holds the score (3)"
    )
    similarity.add_argument(
        "--missing",
        choices=("skip", "zero"),
        default="skip",
        help="pairs without a vector, in intervals and differences: left out, or 0 (skip)",
    )
    analogies = _sub(verbs, "analogies", "a is to b as c is to what?", _ANALOGIES)
    _add_files(analogies, "Google's questions-words.txt, or a folder of BATS")
    analogies.add_argument(
        "--most", type=cli.positive, metavar="N", help="only the first N words of each file"
    )
    analogies.add_argument("--details", action="store_true", help="print every section")
    about = "what do small models make of them?"
    judge_options.add(_sub(verbs, "judge", about, judge_options.DESCRIPTION))
    return parser


def _sub(
    verbs: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    about: str,
    description: str,
) -> argparse.ArgumentParser:
    return verbs.add_parser(
        name,
        help=about,
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _add_files(parser: argparse.ArgumentParser, about: str) -> None:
    parser.add_argument("vectors", metavar="VECTORS", help="file of word vectors")
    parser.add_argument("sets", nargs="+", metavar="FILE", help=about)
    parser.add_argument(
        "--against", nargs="+", default=[], metavar="VECTORS", help="other files of vectors"
    )
    parser.add_argument(
        "--keep-case", action="store_true", help="do not take all words in lower case"
    )
    parser.add_argument(
        "--resamples", type=arguments.whole, default=9999, help="of the bootstrap (9999)"
    )
    parser.add_argument("--seed", type=arguments.count, default=0, help="of the resamples (0)")
    parser.add_argument("--json", metavar="PATH", help="everything as JSON, - for stdout")


def main(words: Sequence[str] | None = None) -> int:
    """Parses, then hands on."""
    args = parser().parse_args(words)
    handlers = {"similarity": _similarity, "analogies": _analogies, "judge": _judge}
    return handlers[args.verb](args)


def _judge(args: argparse.Namespace) -> int:
    # by name: this room has no jax, and what trains has
    status: int = importlib.import_module("jaxeval.judge.command").run(args)
    return status


def _similarity(args: argparse.Namespace) -> int:
    from jaxeval.report.vectors import terminal
    from jaxeval.vectors import lookup, pairs, similarity
    from jaxeval.vectors.differences import Resampling

    if args.column < 3:
        raise ConfigError("--column: expected 3 or more; the first two hold the words")
    files = _files(args)
    sets = [pairs.read(path, args.column) for path in args.sets]
    needed, lower = similarity.words(sets), not args.keep_case
    read = {name: lookup.read(path, needed, lower_case=lower) for name, path in files.items()}
    resampling = Resampling(args.resamples, args.seed)
    results = similarity.evaluate(sets, read, similarity.Rules(args.missing, lower, resampling))
    if args.json:
        _write(args, files, {"missing": args.missing}, results)
    if args.json != "-":
        terminal.print_similarity(results, args.missing)
    return 0


def _analogies(args: argparse.Namespace) -> int:
    from jaxeval.report.vectors import terminal
    from jaxeval.vectors import accuracy, analogies, differences, lookup, questions

    files, lower = _files(args), not args.keep_case
    sets = [questions.read(path) for path in args.sets]
    cases = [(asked, method) for asked in sets for method in analogies.METHODS]
    answered: list[dict[str, accuracy.Answered]] = [{} for _ in cases]
    for name, path in files.items():  # one file in memory at a time
        read = lookup.read(path, lower_case=lower, most=args.most)
        for known, (asked, method) in zip(answered, cases, strict=True):
            known[name] = accuracy.answer(asked, read, method, lower)
        del read
    resampling = differences.Resampling(args.resamples, args.seed)
    results = differences.adjusted(
        [
            accuracy.evaluate(asked, method, known, resampling)
            for known, (asked, method) in zip(answered, cases, strict=True)
        ]
    )
    if args.json:
        _write(args, files, {"most": args.most}, results)
    if args.json != "-":
        terminal.print_analogies(results, args.details)
    return 0


def _files(args: argparse.Namespace) -> dict[str, str]:
    """Path of every vector file by the shortest name that tells them apart.

    Raises:
      ConfigError: a file named twice.
    """
    paths = [args.vectors, *args.against]
    names = [Path(path).name for path in paths]
    names = names if len({*names}) == len(names) else paths
    if len({*names}) < len(names):
        raise ConfigError("the same file of vectors twice; expected different ones")
    return dict(zip(names, paths, strict=True))


def _write(
    args: argparse.Namespace,
    files: Mapping[str, str],
    rules: Mapping[str, object],
    results: Sequence[object],
) -> None:
    from jaxeval.report import text
    from jaxeval.report.plain import plain

    common = {"lower_case": not args.keep_case, "resamples": args.resamples, "seed": args.seed}
    tree = {
        "files": files,
        "rules": {**common, **rules},
        "results": results,
        "signature": text.versions(),
    }
    cli.write_json(args.json, plain(tree))


if __name__ == "__main__":
    cli.run(main)
