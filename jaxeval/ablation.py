"""`jaxeval ablation`: a config and its variants, trained with the same seeds."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pydantic

from jaxeval import launchers, parameters, parsers
from jaxeval.compare import compare
from jaxeval.config import reading
from jaxeval.errors import ConfigError
from jaxeval.parameters import Changes, Quiet, Seeds
from jaxeval.report.comparison import Comparison

if TYPE_CHECKING:
    from jaxeval.config.reading import Source
    from jaxeval.studies.cohorts import Entry

_RECORDED = ("seed", "dev", "status", "metric", "higher_is_better")


@reading.settings
class _Variant:
    name: Annotated[str, pydantic.Field(min_length=1)]
    changes: Annotated[tuple[str, ...], pydantic.Field(min_length=1)]


@reading.settings
class _Variants:
    variant: Annotated[tuple[_Variant, ...], pydantic.Field(min_length=1)]


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
    launch: str = launchers.HERE,
    quiet: Quiet = False,
) -> Comparison:
    """Trains a config and its variants with the same seeds, and compares their test scores.

    As in Table 4 of Melis et al. (2018); nothing is tuned anew for a variant. The same command
    continues what was interrupted.

    Args:
      variants: TOML, a table [[variant]] for each, with name = "untied" and changes =
        ["model.tied=false"].

    Examples:
      jaxeval ablation melis2018/enwik8_lstm_small \\
          --variants melis2018/ablations/small --data FILE --seeds 8
    """
    named = _read_variants(str(variants))
    from jaxeval import backend

    backend.prepare()
    launcher = launchers.parse(launch)
    from jaxeval import files, observe, studies
    from jaxeval.studies import prepared

    configs: dict[str, Any] = {}
    for name, changed in {"": (), **named}.items():
        # the config alone is checked first: what is then wrong is a variant's
        origin = f"{variants}: variant {name!r}" if name else ""
        whole = studies.read(config, [*changes, *changed], data, origin)
        title = f"{whole.name}, {name}" if name else whole.name
        configs[title] = dataclasses.replace(whole, name=title)
    numbers, title_of = parameters.numbers(seeds), dict[str, str]()  # by experiment
    trials = [
        trial
        for name, whole in configs.items()
        for trial in prepared.seeds_by_splits(whole, numbers, model=name)
    ]

    def check(entries: "Sequence[Entry]") -> None:
        for entry in entries:
            title = entry.trial.labels["model"]
            if (same := title_of.setdefault(entry.record.id, title)) != title:
                raise ConfigError(f"{variants}: {title!r} is the same as {same!r}")

    how: Any = {"again": again, "launcher": launcher, "quiet": quiet}
    rows = observe.train(trials, Path(out), check=check, **how)
    records = []
    for row in rows:
        recorded = {key: getattr(row, key) for key in _RECORDED}
        records.append({"model": title_of[row.experiment], "score": row.test, **recorded})
    table = Path(out) / "ablations" / f"{rows[0].experiment}.json"
    files.write_json(str(table), records)
    return compare(table, *configs)


def _read_variants(file: str) -> Mapping[str, Sequence[str]]:
    """The changes of each variant of a file by its name."""
    variants = reading.read(_Variants, file).variant
    names = [variant.name for variant in variants]
    for name in names:
        if name.splitlines() != [name] or names.count(name) > 1:
            raise ConfigError(f"{file}: expected names of a line, each another, got {name!r}")
    return {variant.name: variant.changes for variant in variants}


COMMANDS: parsers.Commands = {"": ablation}
