"""`jaxeval VERB`, also `python -m jaxeval VERB`: all verbs as one command."""

import difflib
import functools
import importlib
import sys
from collections.abc import Sequence
from typing import NoReturn

from jaxeval import __version__, cli, parsers
from jaxeval.errors import ConfigError

VERBS = {  # verb -> (module that holds its COMMANDS, what it does)
    "train": ("jaxeval.train", "train a population, show the distribution of its scores"),
    "report": ("jaxeval.results", "show what a runs folder holds: tables, figures, a page"),
    "serve": ("jaxeval.serve.__main__", "show a runs folder in a browser, while it grows"),
    "mirror": (
        "jaxeval.mirror",
        "show runs in TensorBoard, W&B, MLflow or trackio, as they train",
    ),
    "runs": ("jaxeval.runs.__main__", "list and export what a runs folder holds"),
    "compare": ("jaxeval.compare", "is A better than B? from any table of scores, or logs"),
    "select": ("jaxeval.select.__main__", "find the best of several models in few evaluations"),
    "settle": ("jaxeval.settle.__main__", "better, worse or equal? asked as often as one likes"),
    "sweep": ("jaxeval.sweep", "train random settings drawn from a search space"),
    "tune": ("jaxeval.tune.__main__", "find the best setting of a search space in few trainings"),
    "sensitivity": ("jaxeval.sensitivity.__main__", "how much scores depend on the settings"),
    "noise": ("jaxeval.noise", "how much of the spread is the split's, the seed's, the machine's"),
    "plan": ("jaxeval.plan", "how many items, samples or runs show a difference of two models"),
    "neighbourhood": ("jaxeval.neighbourhood", "train random settings near that of a config"),
    "ablation": ("jaxeval.ablation", "train a config and its variants, compare them"),
    "evaluate": ("jaxeval.evaluate", "score saved models again, language models in other ways"),
    "predict": ("jaxeval.predict", "tag, generate or score text of your own with saved models"),
    "vectors": (
        "jaxeval.vectors.__main__",
        "judge word vectors: tasks, similarity, analogies; make some",
    ),
    "configs": ("jaxeval.configs", "list the configs that come with jaxeval, or print one"),
}
_DESCRIPTION = """\
Is model A really better than B? Trains populations of neural networks, compares their scores.

verbs:
""" + "\n".join(f"  {verb:15}{about}" for verb, (_, about) in VERBS.items())
_EXAMPLES = """\
examples:
  jaxeval train                              # 8 small taggers on a generated corpus
  jaxeval train reimers2017/wnut17_ner --data DIR --seeds 8
  jaxeval train --help                       # what a verb takes, with examples
"""


def main(words: Sequence[str]) -> int:
    """Hands all words but the first to the verb that the first one names; without any, shows help.

    Raises:
      ConfigError: no such verb; names the nearest.
    """
    parser = cli.parser("", _DESCRIPTION, _EXAMPLES)
    parser.usage = "%(prog)s VERB [arguments of the verb]"
    parser.add_argument("--version", action="version", version=f"jaxeval {__version__}")
    parser.add_argument("verb", metavar="VERB", help="one of those above")
    if not words:
        parser.print_help()
        return 2
    verb = parser.parse_args(words[:1]).verb
    if verb not in VERBS:
        near = difflib.get_close_matches(verb, VERBS, 1)
        hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(VERBS)}"
        raise ConfigError(f"{verb}: no such verb; {hint}")
    module = importlib.import_module(VERBS[verb][0])
    return parsers.main(verb, module.COMMANDS, words[1:])


def command(*verb: str) -> NoReturn:
    """Runs the console script, or that of a verb: `python -m jaxeval.train`."""
    cli.run(functools.partial(main, [*verb, *sys.argv[1:]]))


if __name__ == "__main__":
    command()
