"""`jaxeval VERB`, also `python -m jaxeval VERB`: all verbs as one command."""

import functools
import gc
import sys
from collections.abc import Sequence
from typing import NoReturn

import jaxeval
from jaxeval import __version__, cli, parsers
from jaxeval.errors import ConfigError, meant

VERBS = {  # verb -> what it does
    "train": "train a population and show the distribution of its scores",
    "report": "show a runs folder: tables, figures, a page",
    "serve": "show runs in a browser, also during training; and logs",
    "mirror": "show runs in TensorBoard, W&B, MLflow or trackio",
    "runs": "export a runs folder as CSV or Parquet",
    "compare": "is A better than B? reads any table of scores, or logs",
    "select": "find the best of several models with few evaluations",
    "settle": "better, worse or equal? valid however often you look",
    "sweep": "train random settings of a search space",
    "tune": "find the best setting of a search space with few runs",
    "sensitivity": "how much scores depend on hyperparameters",
    "noise": "how much variance comes from splits, seeds and the machine",
    "plan": "how many items, samples or runs detect a difference",
    "neighbourhood": "train random settings near that of a config",
    "ablation": "train a config and its variants, and compare each with it",
    "evaluate": "score saved models again, language models in further ways",
    "predict": "tag, generate or score your own text with saved models",
    "vectors": "evaluate word vectors on tasks, similarity, analogies",
    "configs": "list the shipped configs, or print one",
}
_DESCRIPTION = """\
Is model A really better than B? Trains populations of neural networks and compares their scores.

verbs:
""" + "\n".join(f"  {verb:15}{about}" for verb, about in VERBS.items())
_EXAMPLES = """\
examples:
  jaxeval train                              # 8 small taggers on a generated corpus
  jaxeval train reimers2017/wnut17_ner --data DIR --seeds 8
  jaxeval train --help                       # arguments of a verb, with examples
"""


def main(words: Sequence[str]) -> int:
    """Runs the verb that the first word names with the other words; without words shows the help.

    Raises:
      ConfigError: no such verb; names the nearest.
    """
    parser = cli.parser("", _DESCRIPTION, _EXAMPLES)
    parser.usage = "%(prog)s VERB [arguments of the verb]"
    parser.add_argument("--version", action="version", version=f"jaxeval {__version__}")
    parser.add_argument("verb", metavar="VERB", help="one of the verbs above")
    if not words:
        parser.print_help()
        return 2
    verb = parser.parse_args(words[:1]).verb
    if verb not in VERBS:
        hint = meant(verb, VERBS, f"expected one of {', '.join(VERBS)}")
        raise ConfigError(f"{verb}: no such verb; {hint}")
    return parsers.main(verb, commands(verb), words[1:])


def commands(verb: str) -> parsers.Commands:
    """Returns what imports the functions of a verb, by subcommand; "" is the verb's own."""
    if verb == "report":
        return {"": lambda: jaxeval.load}
    names = [name for name in jaxeval.MODULES if name.partition("_")[0] == verb]
    return {name.partition("_")[2]: functools.partial(getattr, jaxeval, name) for name in names}


def command(*verb: str) -> NoReturn:
    """Runs the console script, or that of a verb: `python -m jaxeval.train`."""
    gc.set_threshold(50_000, 20, 20)  # what imports and tracing make stays: .5 s of `train`
    cli.run(lambda: main([*verb, *sys.argv[1:]]))


if __name__ == "__main__":
    command()
