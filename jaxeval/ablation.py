"""`python -m jaxeval.ablation`: a config and its variants, trained with the same seeds."""

import argparse
import dataclasses
from collections.abc import Mapping, Sequence
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
  python -m jaxeval.ablation melis2018/enwik8_lstm_small \\
      --variants melis2018/ablations/small --data FILE --seeds 8

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
    cli.add_again(made)
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

    changes = {"": (), **{variant.name: variant.changes for variant in variants}}
    if len(changes) <= len(variants):
        raise ConfigError(f"{given.variants}: expected another name for each variant")
    prepared = {}
    for name, changed in changes.items():  # all, before the first is trained
        config = experiment.read(given.config, [*given.changes, *changed], given.data)
        whole = f"{config.name}, {name}" if name else config.name
        config = dataclasses.replace(config, name=whole)
        prepared[whole] = experiment.prepare(config)
    _refuse_equals(prepared, given.variants)
    seeds = cli.seeds_of(given)
    parts = [(one, experiment.members(one.config, seeds, [0])) for one in prepared.values()]
    by_variant = running.run_all(parts, Path(given.out), again=given.again)
    records = [
        _record(name, row) for name, rows in zip(prepared, by_variant, strict=True) for row in rows
    ]
    table = Path(given.out) / "ablations" / f"{next(iter(prepared.values())).record.id}.json"
    cli.write_json(str(table), records)
    wanted = ["--figures", given.figures] if given.figures else []
    wanted += ["--json", given.json] if given.json else []
    return compare(["--table", str(table), *wanted, *prepared])


def _refuse_equals(prepared: Mapping[str, Any], file: str) -> None:
    """Raises ConfigError if a variant changes nothing, or two are the same."""
    first: dict[str, str] = {}
    for name, one in prepared.items():
        same = first.setdefault(one.record.id, name)
        if same != name:
            raise ConfigError(f"{file}: {name!r} is the same as {same!r}")


def _record(name: str, row: Any) -> dict[str, Any]:
    """A row of a score table."""
    return {
        "model": name,
        "seed": row.seed,
        "score": row.test,
        "dev": row.dev,
        "status": row.status,
        "metric": row.metric,
        "higher_is_better": row.higher_is_better,
    }


if __name__ == "__main__":
    cli.run(main)
