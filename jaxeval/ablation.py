"""`python -m jaxeval.ablation`: a config and its variants, trained with the same seeds."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import pydantic

from jaxeval import cli
from jaxeval.config import reading
from jaxeval.errors import ConfigError

_DESCRIPTION = """\
Trains CONFIG and every variant of a file (as in Table 4 of Melis et al. 2018), each with the same
seeds, and compares their test scores. Nothing is tuned anew for a variant.
"""
_EXAMPLES = """\
examples:
  python -m jaxeval.ablation configs/melis2018/enwik8_lstm_small.toml \\
      --variants configs/melis2018/ablations/small.toml --data FILE --seeds 8

a file of variants:
  [[variant]]
  name = "without shared embeddings"
  changes = ["model.tied=false"]

The same command continues what was interrupted.
"""


@reading.settings
class Variant:
    """A config with some keys changed."""

    name: Annotated[str, pydantic.Field(min_length=1)]
    changes: Annotated[tuple[str, ...], pydantic.Field(min_length=1)]


@reading.settings
class Variants:
    """What a file of variants holds."""

    variant: Annotated[tuple[Variant, ...], pydantic.Field(min_length=1)]


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    made = cli.parser("ablation", _DESCRIPTION, _EXAMPLES)
    cli.add_config(made)
    cli.add_seeds(made)
    made.add_argument("--variants", required=True, metavar="FILE", help="TOML, as below")
    made.add_argument("--figures", metavar="DIR", help="of the comparison")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Parses, trains one after the other, compares."""
    given = cli.parse_config(parser(), arguments)
    variants = reading.read(Variants, given.variants).variant
    from jaxeval import backend

    backend.prepare()
    from jaxeval import experiment
    from jaxeval.compare.__main__ import main as compare
    from jaxeval.experiment import running

    whole = experiment.read(given.config, given.changes, given.data)
    configs = [whole]
    for variant in variants:
        named = [*given.changes, *variant.changes, f"name={json.dumps(_name(whole, variant))}"]
        configs.append(experiment.read(given.config, named, given.data))
    names = [config.name for config in configs]
    if len(set(names)) < len(names):
        raise ConfigError(f"variants: expected a name each, got {', '.join(names)}")
    for config in configs:
        members = experiment.members(config, cli.seeds_of(given), [0])
        if running.run(experiment.prepare(config), members, Path(given.out)) is None:
            return running.STOPPED
    wanted = ["--figures", given.figures] if given.figures else []
    wanted += ["--json", given.json] if given.json else []
    return compare(["--runs", given.out, *wanted, *names])


def _name(whole: Any, variant: Variant) -> str:
    return f"{whole.name}, {variant.name}"


if __name__ == "__main__":
    cli.run(main)
