"""`python -m jaxeval.vectors`: judges word vectors by themselves, makes a baseline of counts."""

import argparse
import functools
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from jaxeval import cli, files, outputs
from jaxeval.errors import ConfigError
from jaxeval.runs import arguments
from jaxeval.vectors import judge_options, options

_DESCRIPTION = """\
Judges files of word vectors, and makes a baseline of a corpus. Files are text (GloVe, word2vec),
word2vec binary; plain or gzip.
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
_SVD = """\
Vectors of a corpus (a sentence a line, words between blanks) without training: counts of words
near one another, positive pointwise mutual information, a truncated singular value decomposition,
as hyperwords does (Levy, Goldberg & Dagan 2015). The options' names there stand in brackets.
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
    options.add_svd(_sub(verbs, "svd", "make a baseline of a corpus by counting", _SVD))
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
    parser.add_argument("--seed", type=arguments.seed, default=0, help="of the resamples (0)")
    parser.add_argument("--json", metavar="PATH", help="everything as JSON, - for stdout")


def main(words: Sequence[str] | None = None) -> int:
    """Parses, then hands on."""
    args, later = parser().parse_known_args(words)
    while args.verb == "judge" and later and not later[0].startswith("-"):
        args.files.append(later.pop(0))  # may stand after options, as in `train`
    if later:
        parser().error(f"unrecognized arguments: {' '.join(later)}")
    made = args.out if args.verb == "svd" else None
    outputs.refuse_unwritable(args.json, made, reads=_read(args))
    handlers = {
        "similarity": _similarity,
        "analogies": _analogies,
        "judge": _judge,
        "svd": _svd,
    }
    return handlers[args.verb](args)


def _read(args: argparse.Namespace) -> Iterator[Path]:
    """The files that a verb reads; of judge `judge.command` knows them."""
    from jaxeval.vectors import questions

    if args.verb == "judge":
        return
    if args.verb == "svd":
        yield Path(args.corpus)
        return
    for vectors in (args.vectors, *args.against):
        yield Path(vectors)
    for questioned in args.sets:
        yield from questions.files_of(questioned)


def _judge(args: argparse.Namespace) -> int:
    # by name: this room has no jax, and what trains has
    status: int = importlib.import_module("jaxeval.judge.command").run(args)
    return status


def _similarity(args: argparse.Namespace) -> int:
    from jaxeval.data import vectors
    from jaxeval.report.vectors import terminal
    from jaxeval.vectors import lookup, pairs, similarity
    from jaxeval.vectors.differences import Resampling

    if args.column < 3:
        raise ConfigError("--column: expected 3 or more; the first two hold the words")
    files = _named([args.vectors, *args.against], "vectors")
    sets = []
    for name, path in _named(args.sets, "pairs").items():
        sets.append(pairs.read(path, args.column)._replace(name=name))
        if header := sets[-1].header:
            print(f"{name}: taken as a header: {vectors.shown(header)}", file=sys.stderr)
    needed, lower = similarity.words(sets), not args.keep_case
    read = {}
    for name, path in files.items():
        with cli.waiting(f"reading {path}"):
            read[name] = lookup.read(path, needed, lower_case=lower)
    resampling = Resampling(args.resamples, args.seed)
    rules = similarity.Rules(args.missing, lower, resampling)
    with cli.waiting("resampling"):
        results = similarity.evaluate(sets, read, rules)
    zeros = {name: file.zeros for name, file in read.items()}
    show = functools.partial(terminal.print_similarity, results, args.missing, zeros)
    result = {"files": files, "zero_vectors": zeros, "rules": rules, "results": results}
    return _tell(args, result, show)


def _analogies(args: argparse.Namespace) -> int:
    from jaxeval.report.vectors import terminal
    from jaxeval.vectors import accuracy, analogies, differences, lookup, questions

    files, lower = _named([args.vectors, *args.against], "vectors"), not args.keep_case
    named = _named(args.sets, "questions")
    sets = [questions.read(path)._replace(name=name) for name, path in named.items()]
    cases = [(question_set, method) for question_set in sets for method in analogies.METHODS]
    answered: list[dict[str, accuracy.Answered]] = [{} for _ in cases]
    zeros = {}
    for name, path in files.items():  # one file in memory at a time
        with cli.waiting(f"reading {path}"):
            read = lookup.read(path, lower_case=lower, most=args.most)
        zeros[name] = read.zeros
        for known, (question_set, method) in zip(answered, cases, strict=True):
            with cli.waiting(f"answering {question_set.name} with {name}, {method}"):
                known[name] = accuracy.answer(question_set, read, method, lower)
        del read
    resampling = differences.Resampling(args.resamples, args.seed)
    with cli.waiting("resampling"):
        results = differences.adjusted(
            [
                accuracy.evaluate(question_set, method, known, resampling)
                for known, (question_set, method) in zip(answered, cases, strict=True)
            ]
        )
    show = functools.partial(terminal.print_analogies, results, zeros, args.details)
    rules = {"lower_case": lower, "most": args.most, "resampling": resampling}
    result = {"files": files, "zero_vectors": zeros, "rules": rules, "results": results}
    return _tell(args, result, show)


def _svd(args: argparse.Namespace) -> int:
    from jaxeval.report.vectors import terminal
    from jaxeval.vectors import baseline

    settings = options.svd(args)
    if args.out == "-":
        raise ConfigError("--out -: expected a file; vectors do not go to stdout")
    summary = baseline.make(
        args.corpus, args.out, settings, args.processes, args.scratch, cli.waiting
    )
    show = functools.partial(terminal.print_baseline, summary, args.out)
    return _tell(args, {**summary._asdict(), "options": settings}, show)


def _named(paths: Sequence[str], what: str) -> dict[str, str]:
    """Path of every file by the shortest name that tells them apart.

    Args:
      what: they hold.

    Raises:
      ConfigError: a file named twice, by whatever path.
    """
    known: dict[Path, str] = {}
    for path in paths:
        place = Path(path).resolve()
        if place in known:
            message = f"{known[place]} and {path} are the same file of {what}"
            raise ConfigError(f"{message}; expected different ones")
        known[place] = path
    names = [Path(path).name for path in paths]
    return dict(zip(names if len({*names}) == len(names) else paths, paths, strict=True))


def _tell(args: argparse.Namespace, result: Mapping[str, object], show: Callable[[], None]) -> int:
    """Writes a result as JSON, shows it, or both."""
    from jaxeval.report import text
    from jaxeval.report.plain import plain

    if args.json:
        files.write_json(args.json, plain({**result, "signature": text.versions()}))
    if args.json != "-":
        show()
    return 0


if __name__ == "__main__":
    cli.run(main)
