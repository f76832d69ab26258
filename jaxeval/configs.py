"""`jaxeval configs`: the shipped configs, and the keys of a config."""

import dataclasses
import tomllib
from typing import TYPE_CHECKING, NamedTuple

from jaxeval import parameters
from jaxeval.config import reading
from jaxeval.report import Block, Document, Heading, Result, Table

if TYPE_CHECKING:
    from jaxeval.config.fields import Key


class _Shipped(NamedTuple):
    """One shipped file."""

    name: str  # PAPER/NAME
    use: str  # the argument that takes it: CONFIG, --space or --variants
    about: str  # a sentence


@dataclasses.dataclass(frozen=True, repr=False)
class _Configs(Result):
    """The configs that come with jaxeval."""

    configs: tuple[_Shipped, ...]

    def document(self) -> Document:
        """A table a paper."""
        by_paper: dict[str, list[_Shipped]] = {}
        for entry in self.configs:
            by_paper.setdefault(entry.name.partition("/")[0], []).append(entry)
        blocks: list[Block] = []
        for paper, entries in by_paper.items():
            table = Table(("name", "for", "what it is"), [*map(tuple, entries)], words=3)
            blocks += [Heading(paper), table]
        answer = "Every verb takes these names where it takes a file."
        return Document((answer,), blocks, title="Configs")


@dataclasses.dataclass(frozen=True, repr=False)
class _Keys(Result):
    """All keys that a config of a task may hold."""

    task: str
    keys: "tuple[Key, ...]"

    def document(self) -> Document:
        """A row a key."""
        head = ("key", "kind", "default", "what it means")
        table = Table(head, [*map(tuple, self.keys)], words=4)
        return Document((f"task {self.task}: {len(self.keys)} keys",), (table,), title="Keys")


@parameters.verb
def configs(name: str | None = None) -> _Configs | str:
    """Lists the shipped configs, paper by paper, or prints one of them.

    You can use a name wherever a command takes a file: CONFIG, --space FILE, --variants FILE.

    Args:
      name: the config to print; without it, all are listed.

    Examples:
      jaxeval configs
      jaxeval configs reimers2017/wnut17_ner > mine.toml
      jaxeval train reimers2017/wnut17_ner --data DIR
    """
    if name is None:
        return _Configs(tuple(map(_shipped, reading.shipped_names())))
    return reading.read_text(name)


def _shipped(name: str) -> _Shipped:
    """Describes a file; its first line is a comment that says what it is."""
    text = reading.read_text(name)
    tables = tomllib.loads(text)
    use = "--variants" if "variant" in tables else "CONFIG" if "name" in tables else "--space"
    return _Shipped(name, use, text.partition("\n")[0].lstrip("# "))


@parameters.verb
def configs_keys(task: str = "tagging") -> _Keys:
    """Lists all keys that a config of a task may hold, with their defaults.

    Args:
      task: tagging, language, seq2seq, pairs or sentiment.

    Examples:
      jaxeval configs keys seq2seq
    """
    from jaxeval import backend

    backend.prepare()
    from jaxeval import tasks
    from jaxeval.config import fields

    return _Keys(task, tuple(fields.describe(tasks.kind_of(task).Config)))
