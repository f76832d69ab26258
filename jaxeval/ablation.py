"""`jaxeval ablation`: a config and its variants, trained with the same seeds."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import pydantic

from jaxeval import parameters, parsers
from jaxeval.compare import compare
from jaxeval.comparisons import Comparison, ItemComparison
from jaxeval.config import reading
from jaxeval.errors import ConfigError
from jaxeval.parameters import Changes, Quiet, Seeds

if TYPE_CHECKING:
    from jaxeval.config.reading import Source

_RECORDED = ("seed", "dev", "status", "metric", "higher_is_better")


@reading.settings
class Variant:
    """A config with some keys changed."""

    name: Annotated[str, pydantic.Field(min_length=1)]
    changes: Annotated[tuple[str, ...], pydantic.Field(min_length=1)]


@reading.settings
class Variants:
    """What a file of variants holds."""

    variant: Annotated[tuple[Variant, ...], pydantic.Field(min_length=1)]


@parameters.verb
def ablation(
    config: "Source" = None,
    changes: Changes = (),
    *,
    variants: str | Path,
    seeds: Seeds = 8,
    data: str | Path | None = None,
    out: str | Path = "runs",
    again: bool = False,
    quiet: Quiet = False,
) -> Comparison | ItemComparison:
    """Trains a config and its variants with the same seeds, and compares their test scores.

    As in Table 4 of Melis et al. (2018); nothing is tuned anew for a variant. The same command
    continues what was interrupted.

    Args:
      config: TOML file or shipped name; absent: the embedded default.
      changes: change a config's key; key= unsets it.
      variants: TOML, a table [[variant]] for each, with name = "untied" and changes =
        ["model.tied=false"].
      seeds: N for seeds 1 .. N, or a list such as 3,5,8.
      data: the corpus: a folder, for a text also a file, or tfds:NAME.
      out: the runs folder.
      again: train also those that have ended without the saved model that is asked for.
      quiet: without progress.

    Examples:
      jaxeval ablation melis2018/enwik8_lstm_small \\
          --variants melis2018/ablations/small --data FILE --seeds 8

    Raises:
      ConfigError, DataError, RunError: of the config, the variants, the data.
    """
    named = read_variants(str(variants))
    from jaxeval import backend

    backend.prepare()
    from jaxeval import files, observe, studies
    from jaxeval.studies import cohorts, proposers

    words, place = parameters.changed_keys(changes), None if data is None else str(data)
    configs = {}
    for name, changed in (("", ()), *((of.name, of.changes) for of in named)):
        # what is wrong without a variant's changes was said of the config alone
        origin = f"{variants}: variant {name!r}" if name else ""
        whole = studies.read(config, [*words, *changed], place, origin)
        title = f"{whole.name}, {name}" if name else whole.name
        configs[title] = dataclasses.replace(whole, name=title)
    session = studies.Session()
    trials = proposers.variants(configs, parameters.numbers(seeds))
    entries = cohorts.entries(trials, session.loader)  # all are checked before one is trained
    first: dict[str, str] = {}
    for entry in entries:
        title = entry.trial.labels["model"]
        if (same := first.setdefault(entry.record.id, title)) != title:
            raise ConfigError(f"{variants}: {title!r} is the same as {same!r}")
    programs = cohorts.by_program(entries)
    rows = observe.train_cohorts(programs, Path(out), again=again, session=session, quiet=quiet)
    by_key = {(row.experiment, row.seed): row for row in rows}
    ended = [(of.trial.labels["model"], by_key[of.record.id, of.trial.seed]) for of in entries]
    records = [
        {"model": model, "score": row.test, **{k: getattr(row, k) for k in _RECORDED}}
        for model, row in ended
    ]
    table = Path(out) / "ablations" / f"{entries[0].record.id}.json"
    files.write_json(str(table), records)
    return compare(table, *configs)


def read_variants(file: str) -> Sequence[Variant]:
    """The variants of a file, each under a name of its own in one line."""
    variants = reading.read(Variants, file).variant
    names = [variant.name for variant in variants]
    for name in names:
        if name.splitlines() != [name] or names.count(name) > 1:
            raise ConfigError(f"{file}: expected names of a line, each another, got {name!r}")
    return variants


COMMANDS: parsers.Commands = {"": ablation}
