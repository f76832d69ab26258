"""`python -m jaxeval.ablation`: a config and its variants, trained with the same seeds."""

import argparse
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import pydantic

from jaxeval import cli, files
from jaxeval.config import reading
from jaxeval.errors import ConfigError
from jaxeval.files import Json

if TYPE_CHECKING:
    from jaxeval import runs
    from jaxeval.studies import cohorts

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
    parser = cli.parser("ablation", _DESCRIPTION, _EXAMPLES)
    cli.add_config(parser)
    cli.add_seeds(parser)
    parser.add_argument("--variants", required=True, metavar="FILE", help="TOML, as below")
    cli.add_again(parser)
    parser.add_argument("--figures", metavar="DIR", help="of the comparison")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Parses, trains one after the other, compares."""
    args = cli.parse_config(parser(), arguments, reads=("variants",))
    variants = _variants(args.variants)
    from jaxeval import backend

    backend.prepare()
    from jaxeval import observe, studies
    from jaxeval.compare import studying
    from jaxeval.runs import layout, tables
    from jaxeval.studies import cohorts, proposers

    cli.say_default(args)
    changes = {"": (), **{variant.name: variant.changes for variant in variants}}
    configs = {}
    for name, changed in changes.items():
        # what is wrong without a variant's changes was said of the config alone
        origin = f"{args.variants}: variant {name!r}" if name else None
        config = studies.read(args.config, [*args.changes, *changed], args.data, origin)
        whole = f"{config.name}, {name}" if name else config.name
        configs[whole] = dataclasses.replace(config, name=whole)
    session = studies.Session()
    trials = proposers.variants(configs, cli.seeds_of(args))
    entries = cohorts.entries(trials, session.loader)  # all are checked before one is trained
    _refuse_equals(entries, args.variants)
    rows = observe.train_cohorts(
        cohorts.by_program(entries), Path(args.out), again=args.again, session=session
    )
    by_key = {(row.experiment, row.seed): row for row in rows}
    records = [
        _record(entry.trial.labels["model"], by_key[entry.record.id, entry.trial.seed])
        for entry in entries
    ]
    table = Path(args.out) / "ablations" / f"{entries[0].record.id}.json"
    files.write_json(str(table), records)
    scores = tables.read(str(table), layout.Layout(models=[*configs]))
    destinations = studying.Destinations(json=args.json, figures=args.figures)
    studying.write(studying.study(scores), destinations)
    return 0


def _variants(file: str) -> Sequence[Variant]:
    """The variants of a file; ConfigError where a name is no line, or stands twice."""
    variants = reading.read(Variants, file).variant
    names = [variant.name for variant in variants]
    unfit = [name for name in names if not name.strip() or name.splitlines() != [name]]
    if unfit:
        raise ConfigError(f"{file}: expected names of one line, got {unfit[0]!r}")
    if len({*names}) < len(names):
        raise ConfigError(f"{file}: expected a different name for each variant")
    return variants


def _refuse_equals(entries: "Sequence[cohorts.Entry]", file: str) -> None:
    """Raises ConfigError if a variant changes nothing, or two are the same."""
    first: dict[str, str] = {}
    for entry in entries:
        name = entry.trial.labels["model"]
        same = first.setdefault(entry.record.id, name)
        if same != name:
            raise ConfigError(f"{file}: {name!r} is the same as {same!r}")


def _record(name: str, row: "runs.MemberRow") -> dict[str, Json]:
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
