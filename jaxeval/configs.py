"""`python -m jaxeval.configs`: the configs that come with jaxeval."""

import argparse
import itertools
import sys
from collections.abc import Sequence
from typing import NamedTuple

from jaxeval import cli, files, outputs

_DESCRIPTION = """\
Lists the configs that come with jaxeval, paper by paper, or prints one of them. Every verb takes
their names where it takes a file: CONFIG, --space FILE, --variants FILE.
"""
_EXAMPLES = """\
examples:
  python -m jaxeval.configs
  python -m jaxeval.configs reimers2017/wnut17_ner > mine.toml
  python -m jaxeval.train reimers2017/wnut17_ner --data DIR
"""


class Shipped(NamedTuple):
    """One shipped file."""

    name: str  # PAPER/NAME
    use: str  # the argument that takes it: CONFIG, --space or --variants
    about: str  # a sentence


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    parser = cli.parser("configs", _DESCRIPTION, _EXAMPLES)
    parser.add_argument("name", nargs="?", help="print this one; absent: list all")
    parser.add_argument("--json", metavar="PATH", help="the list as JSON, - for stdout")
    return parser


def main(words: Sequence[str] | None = None) -> int:
    """Lists all, or prints one."""
    args = parser().parse_args(words)
    outputs.refuse_unwritable(args.json)
    from jaxeval.config import toml

    if args.name:
        sys.stdout.write(toml.read_text(args.name))
        return 0
    listed = [_described(name) for name in toml.shipped_names()]
    if args.json:
        files.write_json(args.json, [entry._asdict() for entry in listed])
    if args.json != "-":
        _print(listed)
    return 0


def _described(name: str) -> Shipped:
    """A file's first line is a comment that says what it is."""
    import tomllib

    from jaxeval.config import toml

    text = toml.find(name).read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    use = "--variants" if "variant" in tables else "CONFIG" if "name" in tables else "--space"
    return Shipped(name, use, text.partition("\n")[0].lstrip("# "))


def _print(listed: Sequence[Shipped]) -> None:
    """A paragraph for each paper; a file that is not a CONFIG says which argument takes it."""
    width = max(len(entry.name) for entry in listed)
    by_paper = itertools.groupby(listed, lambda entry: entry.name.partition("/")[0])
    paragraphs = (
        "\n".join(f"{entry.name:{width}}  {_use(entry)}{entry.about}" for entry in entries)
        for _, entries in by_paper
    )
    print("\n\n".join(paragraphs))


def _use(entry: Shipped) -> str:
    return "" if entry.use == "CONFIG" else f"{entry.use}: "


if __name__ == "__main__":
    cli.run(main)
